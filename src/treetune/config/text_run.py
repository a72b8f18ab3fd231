"""Trainings from raw text: pipelines and tokenizers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from treetune.config.config import Config
from treetune.config.run import Report, Stage, TrainingRun, numbers
from treetune.config.schema import PIPELINE, TOKENIZER
from treetune.corpus.rawtext import raw_text
from treetune.evaluation.alignment import evaluate_text
from treetune.learning.pipeline_training import tag_columns, train_pipeline
from treetune.learning.tokenizer_training import train_tokenizer
from treetune.models.pipeline import Pipeline
from treetune.models.quantize import quantize
from treetune.models.registry import make_model, stored_class


class TextRun(TrainingRun):
    """A training whose result reads raw text: a pipeline or a tokenizer."""

    def _scores(self) -> dict[str, Any]:
        scores: dict[str, Any] = {stage: numbers(best.dev) for stage, best in self.best.items() if best.dev is not None}
        pipeline = Pipeline.of(self.model)
        if self.dev and pipeline.tokenizer is not None:
            text = raw_text(example.sentence for example in self.dev)
            found = evaluate_text(self.dev, pipeline.parse_text(text, threads=self.config.run.threads))
            scores["text"] = {name: found[name] for name in _metrics(pipeline)}
            scores["text_signature"] = found.signature("*")
        return scores


class TokenizerRun(TextRun):
    """The training of a tokenizer."""

    @staticmethod
    def make(config: Config, treebank: list[Any]) -> Any:
        """Return an untrained tokenizer."""
        return stored_class(TOKENIZER)()

    def train(self, *, checkpoint: str | Path | None = None, resume: bool = False) -> Iterator[Report]:
        """Train the tokenizer and yield reports."""
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
        config, table, size = self.config, self.config.pipeline, len(self.treebank)
        tagger_options: Any = {"epochs": table.tagger_epochs, "learner": table.tagger_learner}
        parser_options: Any = {"epochs": config.epochs, **config.model.learning}
        stages = [
            Stage("tokenizer", "tokenizer:", 0),
            Stage("jackknife", "tagger, jackknifed:", size * table.tagger_epochs * (table.jackknife - 1)),
            Stage("tagger", "tagger, on the whole treebank:", size * table.tagger_epochs),
            Stage("parser", "parser:", size * config.epochs),
        ]
        reports = train_pipeline(
            self.model, self.treebank, dev=self.dev, make_tagger=_make_tagger(self.treebank), folds=table.jackknife,
            seed=config.train.seed, threads=config.run.threads, tokenizer_epochs=table.tokenizer_epochs,
            tagger_options=tagger_options, parser_options=parser_options, checkpoint=checkpoint, resume=resume,
        )  # fmt: skip
        yield from self._stage_reports(stages, reports)
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


def _make_tagger(treebank: list[Any]) -> Callable[[], Any]:
    return partial(make_model, "tag", columns=tag_columns(treebank))


def _metrics(pipeline: Pipeline) -> list[str]:
    """Return the metrics on raw text that the parts of a pipeline have a say in."""
    tags = [name.upper() for tagger in pipeline.taggers for name in tagger.columns if name in ("upos", "xpos")]
    return ["Tokens", "Words", "Sentences", *tags, *(["UAS", "LAS", "CLAS"] if pipeline.parser is not None else [])]
