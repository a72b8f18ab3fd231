"""A configuration with its data: the training, stage by stage, and what the model stores about it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from treetune.config.build import ModelConfig
from treetune.config.config import Config
from treetune.config.reading import Say, check_readable, fingerprint, make_reader, silent
from treetune.config.schema import LEARNER, PIPELINE, TOKENIZER
from treetune.config.tables import to_json
from treetune.errors import ModelError
from treetune.evaluation.base import CorpusScores
from treetune.models.pipeline import Pipeline
from treetune.models.quantize import quantize
from treetune.models.registry import make_model, stored_class

if TYPE_CHECKING:
    from treetune.evaluation.alignment import TextScores
    from treetune.learning.jackknife import FoldProgress
    from treetune.learning.objectives import Objective
    from treetune.learning.progress import Progress
    from treetune.learning.tokenizer_training import TokenizerProgress
    from treetune.models.base import Storable


class Stage(NamedTuple):
    """A part of a training: one model on one treebank, or all folds of a jackknife."""

    name: str
    title: str
    """For users; empty if it is the only stage."""
    total: int
    """How many examples it goes through in all."""


@dataclass(frozen=True, slots=True)
class Report:
    """One report of a training: that of the trainer, of the jackknife or of the tokenizer's training.

    The last report of a jackknifed base parser has `scores` of its trees.
    """

    stage: Stage
    training: Progress | None = None
    fold: FoldProgress | None = None
    tokenizer: TokenizerProgress | None = None
    scores: CorpusScores | None = None

    @property
    def is_epoch_end(self) -> bool:
        """Whether it is the report at the end of an epoch."""
        return not self.is_resumed and (
            self.tokenizer is not None or bool(self.training and self.training.is_epoch_end)
        )

    @property
    def is_resumed(self) -> bool:
        """Whether it is the report on an epoch before an interruption."""
        return any(report is not None and report.resumed for report in (self.training, self.tokenizer))


@dataclass(slots=True)
class TrainingRun(ABC):
    """A configuration whose data has been read; `train` trains `model`, then `info` is what a model file stores.

    Attributes:
        config: The configuration.
        model: The model, pipeline or tokenizer.
        treebank: What it is trained on.
        dev: Development data.
        objectives: What it is trained on besides.
        files: Name, hash and size of each file.
        objective_files: The same for each objective.
        start: The pipeline whose parser is fine-tuned, if there is one.
        best: By stage, the report on the epoch whose weights were kept.
    """

    config: Config
    model: Any
    treebank: list[Any]
    dev: list[Any]
    objectives: list[Objective]
    files: dict[str, Any]
    objective_files: dict[str, dict[str, Any]]
    start: Pipeline | None = None
    best: dict[str, Progress] = field(default_factory=dict)

    @classmethod
    def prepare(cls, config: Config, *, say: Say = silent) -> TrainingRun:
        """Read all data of a configuration; `say` is told what was skipped or left out.

        All files are looked for first. Only then is Python code that the configuration names imported, and data read.
        """
        source, model = config.source, config.model
        for path in config.paths():
            check_readable(source.path(path))
        for one in config.objectives:
            one.check_loss("tags" if model.is_tagger else "tree")
        start = model.pipeline()
        reader = make_reader(config, start, say)
        treebank, dev = reader.treebank(), reader.dev()
        objectives = [reader.objective(one) for one in config.objectives]
        named = {
            "start_from": model.start_from, "clusters": model.options.get("clusters"), "tagger": config.train.tagger,
        }  # fmt: skip
        found = {name: fingerprint(source.model_path(path)) for name, path in named.items() if path is not None}
        kind = _RUNS.get(model.task, ModelRun if config.stacking.base is None else StackedRun)
        return kind(
            config, kind.make(config, treebank), treebank, dev, objectives, {**reader.files, **found},
            reader.objective_files, start,
        )  # fmt: skip

    @staticmethod
    def make(config: Config, treebank: list[Any]) -> Any:
        """Return what is to be trained."""
        return config.model.make()

    @abstractmethod
    def train(self, *, checkpoint: str | Path | None = None, resume: bool = False) -> Iterator[Report]:
        """Train `model` and yield reports; `checkpoint` and `resume` are as for `treetune.train`."""

    @property
    def stored(self) -> Storable:
        """What a model file is to hold: the model, or the pipeline it came from with this model as its parser."""
        found: Storable = self.model if self.start is None else self.start.with_parser(self.model)
        return found

    @property
    def last(self) -> Progress:
        """The report on the epoch that the last stage kept."""
        if not self.best:
            raise ModelError("this run has not been trained; consume its train() first")
        return list(self.best.values())[-1]

    def info(self) -> dict[str, Any]:
        """Return what the trained model stores about its training."""
        config, settings, scores = self.config, self._settings(), self._scores()
        training = {**self._training(), "seed": config.train.seed, **self.files}
        objectives = self._objective_tables()
        if objectives:
            training["objectives"] = [{**table, **self.objective_files[table["name"]]} for table in objectives]
        # JSON has no infinity.
        learner = {key: math.inf if value is None else value for key, value in settings.items() if key in LEARNER}
        info: dict[str, Any] = {"training": training, **({"scores": scores} if scores else {})}
        if config.train.licence is not None:
            info["licence"] = config.train.licence
        return {**info, "config": to_json(config.tables(self._model_table(), learner, objectives))}

    def _settings(self) -> dict[str, Any]:
        """Return the settings of the learner."""
        return {}

    def _model_table(self) -> dict[str, Any]:
        return self.config.model.table(self.model)

    def _objective_tables(self) -> list[dict[str, Any]]:
        return []

    @abstractmethod
    def _training(self) -> dict[str, Any]:
        """Return epochs and learner."""

    @abstractmethod
    def _scores(self) -> dict[str, Any]:
        """Return the scores on the development data."""

    def _report(self, stage: Stage, step: Progress, model: ModelConfig | None = None) -> Report:
        """Return the report of a trainer; keep it if it is on the epoch whose weights are kept."""
        if model is not None:
            model.check_used(step)
        kept = self.best.get(stage.name)
        # The best so far; without development data, the last.
        if step.resumed or (step.is_epoch_end and (step.best or kept is None or not kept.best)):
            self.best[stage.name] = step if step.best else replace(step, epoch=step.epochs)
        return Report(stage, training=step)


class ModelRun(TrainingRun):
    """The training of one model: a parser or a tagger."""

    def train(self, *, checkpoint: str | Path | None = None, resume: bool = False) -> Iterator[Report]:
        """Train `model` and yield reports."""
        from treetune.learning.trainer import train as train_steps

        train = self.config.train
        # What a plain training does not need is left out.
        options: dict[str, Any] = dict(self.config.model.learning)
        if self.objectives:
            options["objectives"] = self.objectives
        if train.choose_by is not None:
            options["choose_by"] = train.choose_by
        if self.config.model.start_from is not None:
            options["warm_start"] = True
        if checkpoint is not None:
            options |= {"checkpoint": checkpoint, "resume": resume}
        steps = train_steps(
            self.model, self.treebank, dev=self.dev, epochs=self.config.epochs, seed=train.seed,
            threads=self.config.run.threads, **options,
        )  # fmt: skip
        stage = self._stage("model", "")
        return (self._report(stage, step, self.config.model) for step in steps)

    def _stage(self, name: str, title: str, *, times: int = 1) -> Stage:
        # Without a treebank an epoch is a pass over the first objective.
        size = len(self.treebank) or len(self.objectives[0].data)
        return Stage(name, title, size * self.config.epochs * times)

    def _settings(self) -> dict[str, Any]:
        return {key: value for key, value in self.last.settings.items() if key != "objectives"}

    def _training(self) -> dict[str, Any]:
        projectivize = {} if self.config.model.is_tagger else {"projectivize": self.config.train.projectivize}
        epochs = {"epochs": self.config.epochs, "best_epoch": self.last.epoch}
        return {**epochs, **self._settings(), **projectivize}

    def _objective_tables(self) -> list[dict[str, Any]]:
        settings = {table["name"]: table for table in self.last.settings.get("objectives", ())}
        return [one.table(settings.get(one.name, {})) for one in self.config.objectives]

    def _scores(self) -> dict[str, Any]:
        dev = self.last.dev
        scores = {} if dev is None else {"dev": numbers(dev), "signature": dev.signature("*")}
        costs = {objective.name: self._mean_cost(objective) for objective in self.objectives if objective.dev}
        return {**scores, **({"costs": costs} if costs else {})}

    def _mean_cost(self, objective: Objective) -> float:
        from treetune.learning.objectives import sentence_and_reference

        assert objective.cost is not None
        items = [sentence_and_reference(item) for item in objective.dev]
        outputs = self.model.predict_batch([sentence for sentence, _ in items], threads=self.config.run.threads)
        costs = [
            objective.cost.costs(sentence, [output], reference)[0]
            for (sentence, reference), output in zip(items, outputs, strict=True)
        ]
        objective.cost.close()
        return sum(costs) / len(costs)


class StackedRun(ModelRun):
    """The training of a base parser, then of the parser that is stacked on it."""

    def train(self, *, checkpoint: str | Path | None = None, resume: bool = False) -> Iterator[Report]:
        """Train both parsers and yield reports."""
        from treetune.learning.stacking import train_stacked

        config, stacking, base = self.config, self.config.stacking, self.config.stacking.base
        assert base is not None
        stages = {
            "jackknife": self._stage("jackknife", f"base parser ({base.name}), jackknifed:", times=stacking.folds - 1),
            "base": self._stage("base", f"base parser ({base.name}), on the whole treebank:"),
            "main": self._stage("main", f"stacked parser ({config.model.name}):"),
        }
        options: Any = {"epochs": config.epochs, **config.model.learning}
        reports = train_stacked(
            base.make, config.model.make, self.treebank, dev=self.dev, folds=stacking.folds,
            base_options={"epochs": config.epochs}, main_options=options, seed=config.train.seed,
            threads=config.run.threads, checkpoint=checkpoint, resume=resume,
        )  # fmt: skip
        for report in reports:
            if report.fold is not None:
                yield self._fold(stages["jackknife"], report.fold, base)
            elif report.training is not None:
                yield self._report(
                    stages[report.stage], report.training, config.model if report.stage == "main" else None
                )
            else:
                self.model = report.model

    def _fold(self, stage: Stage, fold: FoldProgress, base: ModelConfig) -> Report:
        from treetune.evaluation.scores import evaluate_trees

        if fold.outputs is None:
            return Report(stage, fold=fold)
        scores = evaluate_trees(self.treebank, fold.outputs)
        self.files["base"] = {"parser": base.name, "folds": fold.folds, "scores": numbers(scores)}
        return Report(stage, fold=fold, scores=scores)


class TextRun(TrainingRun):
    """A training whose result reads raw text: a pipeline or a tokenizer."""

    def _scores(self) -> dict[str, Any]:
        scores: dict[str, Any] = {stage: numbers(best.dev) for stage, best in self.best.items() if best.dev is not None}
        pipeline = Pipeline.of(self.model)
        if self.dev and pipeline.tokenizer is not None:
            text = self._text_scores(pipeline)
            scores |= {"text": {name: text[name] for name in _metrics(pipeline)}, "text_signature": text.signature("*")}
        return scores

    def _text_scores(self, pipeline: Pipeline) -> TextScores:
        from treetune.corpus.rawtext import raw_text
        from treetune.evaluation.alignment import evaluate_text

        text = raw_text(example.sentence for example in self.dev)
        return evaluate_text(self.dev, pipeline.parse_text(text, threads=self.config.run.threads))


class TokenizerRun(TextRun):
    """The training of a tokenizer."""

    @staticmethod
    def make(config: Config, treebank: list[Any]) -> Any:
        """Return an untrained tokenizer."""
        return stored_class(TOKENIZER)()

    def train(self, *, checkpoint: str | Path | None = None, resume: bool = False) -> Iterator[Report]:
        """Train the tokenizer and yield reports."""
        from treetune.learning.tokenizer_training import train_tokenizer

        reports = train_tokenizer(
            self.model, self.treebank, dev=self.dev or None, epochs=self.config.epochs, seed=self.config.train.seed,
            checkpoint=checkpoint, resume=resume,
        )  # fmt: skip
        stage = Stage(TOKENIZER, "", 0)
        return (Report(stage, tokenizer=report) for report in reports)

    def _training(self) -> dict[str, Any]:
        return {"task": TOKENIZER, "epochs": self.config.epochs}

    def _model_table(self) -> dict[str, Any]:
        return {"task": TOKENIZER}


class PipelineRun(TextRun):
    """The training of a pipeline: tokenizer, tagger, and a parser on jackknifed tags."""

    @staticmethod
    def make(config: Config, treebank: list[Any]) -> Any:
        """Return an untrained pipeline; its tagger predicts the columns that the treebank has."""
        tokenizer: Any = stored_class(TOKENIZER)() if config.pipeline.tokenizer else None
        return Pipeline(tokenizer, [_make_tagger(treebank)()], config.model.make())

    def train(self, *, checkpoint: str | Path | None = None, resume: bool = False) -> Iterator[Report]:
        """Train all parts and yield reports."""
        from treetune.learning.pipeline_training import train_pipeline

        config, table, size = self.config, self.config.pipeline, len(self.treebank)
        tagger_options: Any = {"epochs": table.tagger_epochs, "learner": table.tagger_learner}
        parser_options: Any = {"epochs": config.epochs, **config.model.learning}
        stages = {
            "tokenizer": Stage("tokenizer", "tokenizer:", 0),
            "jackknife": Stage("jackknife", "tagger, jackknifed:", size * table.tagger_epochs * (table.jackknife - 1)),
            "tagger": Stage("tagger", "tagger, on the whole treebank:", size * table.tagger_epochs),
            "parser": Stage("parser", "parser:", size * config.epochs),
        }
        reports = train_pipeline(
            self.model, self.treebank, dev=self.dev, make_tagger=_make_tagger(self.treebank), folds=table.jackknife,
            seed=config.train.seed, threads=config.run.threads, tokenizer_epochs=table.tokenizer_epochs,
            tagger_options=tagger_options, parser_options=parser_options, checkpoint=checkpoint, resume=resume,
        )  # fmt: skip
        for report in reports:
            if report.training is not None:
                yield self._report(
                    stages[report.stage], report.training, config.model if report.stage == "parser" else None
                )
            else:
                yield Report(stages[report.stage], fold=report.fold, tokenizer=report.tokenizer)
        if table.quantize:
            self.model = quantize(self.model)

    def _settings(self) -> dict[str, Any]:
        return dict(self.best["parser"].settings)

    def _model_table(self) -> dict[str, Any]:
        return self.config.model.table(self.model.parser)

    def _training(self) -> dict[str, Any]:
        epochs = {"tagger": self.config.pipeline.tagger_epochs, "parser": self.config.epochs}
        parts = {
            name: {"epochs": epochs[name], "best_epoch": best.epoch, **best.settings}
            for name, best in self.best.items()
        }
        return {"task": PIPELINE, "columns": list(self.model.taggers[0].columns), **parts}


_RUNS: dict[str, type[TrainingRun]] = {TOKENIZER: TokenizerRun, PIPELINE: PipelineRun}


def _make_tagger(treebank: list[Any]) -> Callable[[], Any]:
    from treetune.learning.pipeline_training import tag_columns

    return partial(make_model, "tag", columns=tag_columns(treebank))


def _metrics(pipeline: Pipeline) -> list[str]:
    """Return the metrics on raw text that the parts of a pipeline have a say in."""
    tags = [name.upper() for tagger in pipeline.taggers for name in tagger.columns if name in ("upos", "xpos")]
    return ["Tokens", "Words", "Sentences", *tags, *(["UAS", "LAS", "CLAS"] if pipeline.parser is not None else [])]


def numbers(scores: CorpusScores) -> dict[str, float]:
    """Return all scores but those with nothing to count, which are not a number and not in JSON."""
    return {name: scores[name] for name in scores.metrics if scores[name] == scores[name]}
