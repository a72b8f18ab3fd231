"""A configuration with its data: the training, stage by stage, and what the model stores about it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from treetune.config.config import Config
from treetune.config.reading import Say, check_readable, fingerprint, make_reader, silent, warn_of_missing_tags
from treetune.config.schema import LEARNER, PIPELINE, TOKENIZER
from treetune.config.tables import to_json
from treetune.corpus.tags import Tagged
from treetune.errors import ModelError
from treetune.evaluation.base import CorpusScores
from treetune.models.registry import find

if TYPE_CHECKING:
    from treetune.learning.jackknife import FoldProgress
    from treetune.learning.mixing import MakePool
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
        entities: What the entity tagger of a pipeline is trained on, if that is not the treebank.
        entities_dev: Development data of the entity tagger.
        best: By stage, the report on the epoch whose weights were kept.
        make_pool: Where shards are trained, as for `treetune.train`; by default here.
    """

    config: Config
    model: Any
    treebank: list[Any]
    dev: list[Any]
    objectives: list[Objective]
    files: dict[str, Any]
    objective_files: dict[str, dict[str, Any]]
    entities: list[Tagged] = field(default_factory=list)
    entities_dev: list[Tagged] = field(default_factory=list)
    best: dict[str, Progress] = field(default_factory=dict)
    make_pool: MakePool | None = None

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
        reader = make_reader(config, say)
        treebank, dev = reader.treebank(), reader.dev()
        objectives = [reader.objective(one) for one in config.objectives]
        warn_of_missing_tags(config, treebank, objectives)
        entities, entities_dev = (reader.entities(key) for key in ("entities", "entities_dev"))
        models = {"start_from": model.start_from, "tagger": config.train.tagger}
        named = {name: source.model_path(path) for name, path in models.items() if path is not None}
        clusters = {"clusters": model.options.get("clusters"), "tagger_clusters": config.pipeline.tagger_clusters}
        named |= {name: source.path(path) for name, path in clusters.items() if path is not None}
        found = {name: fingerprint(path) for name, path in named.items()}
        kind: type[TrainingRun] = ModelRun if config.stacking.base is None else StackedRun
        if model.task in _RUNS:
            kind = find(_RUNS[model.task])
        return kind(
            config, kind.make(config, treebank), treebank, dev, objectives, {**reader.files, **found},
            reader.objective_files, entities, entities_dev,
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
        pipeline = self.config.model.pipeline
        found: Storable = self.model if pipeline is None else pipeline.with_parser(self.model)
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
        return {**info, "config": to_json(config.stored_tables(self._model_table(), learner, objectives))}

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

    def _report(self, stage: Stage, step: Progress, *, is_main: bool = True) -> Report:
        """Return the report of a trainer; keep it if it is on the epoch whose weights are kept.

        The settings of the learner are those of the `is_main` stage.
        """
        if is_main:
            self.config.model.check_used(step)
        kept = self.best.get(stage.name)
        # The best so far; without development data, the last.
        if step.resumed or (step.is_epoch_end and (step.best or kept is None or not kept.best)):
            self.best[stage.name] = step if step.best else replace(step, epoch=step.epochs)
        return Report(stage, training=step)

    def _stage_reports(self, stages: list[Stage], reports: Iterable[Any]) -> Iterator[Report]:
        """Yield the reports of a training of several stages, of which the last is that of the configured model."""
        by_name = {stage.name: stage for stage in stages}
        for report in reports:
            stage = by_name[report.stage]
            if report.fold is not None:
                yield self._fold(stage, report.fold)
            elif report.training is not None:
                yield self._report(stage, report.training, is_main=stage is stages[-1])
            elif getattr(report, "tokenizer", None) is not None:
                yield Report(stage, tokenizer=report.tokenizer)
            else:
                self.model = report.model

    def _fold(self, stage: Stage, fold: FoldProgress) -> Report:
        return Report(stage, fold=fold)


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
        if train.shards is not None:
            options["shards"] = train.shards
        if train.mixes is not None:
            options["mixes"] = train.mixes
        if self.make_pool is not None:
            options["make_pool"] = self.make_pool
        steps = train_steps(
            self.model, self.treebank, dev=self.dev, epochs=self.config.epochs, seed=train.seed,
            threads=self.config.run.threads, **options,
        )  # fmt: skip
        stage = self._stage("model", "")
        return (self._report(stage, step) for step in steps)

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
        stages = [
            self._stage("jackknife", f"base parser ({base.name}), jackknifed:", times=stacking.folds - 1),
            self._stage("base", f"base parser ({base.name}), on the whole treebank:"),
            self._stage("main", f"stacked parser ({config.model.name}):"),
        ]
        options: Any = {"epochs": config.epochs, **config.model.learning}
        reports = train_stacked(
            base.make, config.model.make, self.treebank, dev=self.dev, folds=stacking.folds,
            base_options={"epochs": config.epochs}, main_options=options, seed=config.train.seed,
            threads=config.run.threads, checkpoint=checkpoint, resume=resume,
        )  # fmt: skip
        return self._stage_reports(stages, reports)

    def _fold(self, stage: Stage, fold: FoldProgress) -> Report:
        from treetune.evaluation.scores import evaluate_trees

        if fold.outputs is None:
            return Report(stage, fold=fold)
        scores, base = evaluate_trees(self.treebank, fold.outputs), self.config.train.base
        self.files["base"] = {"parser": base, "folds": fold.folds, "scores": numbers(scores)}
        return Report(stage, fold=fold, scores=scores)


# The trainings of other tasks than one model, as "module:name".
_RUNS = {
    TOKENIZER: "treetune.config.text_run:TokenizerRun",
    PIPELINE: "treetune.config.text_run:PipelineRun",
}


def numbers(scores: CorpusScores) -> dict[str, float]:
    """Return all scores but those with nothing to count, which are not a number and not in JSON."""
    return {name: scores[name] for name in scores.metrics if scores[name] == scores[name]}
