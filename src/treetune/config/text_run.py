"""Trainings from raw text: pipelines and tokenizers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from treetune.config.config import Config
from treetune.config.run import Report, Stage, TrainingRun, numbers
from treetune.config.schema import PIPELINE, TOKENIZER
from treetune.corpus.rawtext import raw_text
from treetune.errors import DataError
from treetune.evaluation.alignment import evaluate_text
from treetune.learning.pipeline_training import (
    entities_of,
    has_lemmas,
    has_rich_morphology,
    lemmatizer_inputs,
    tagger_columns,
    train_pipeline,
)
from treetune.learning.tokenizer_training import train_tokenizer
from treetune.models.pipeline import Pipeline, finds_entities
from treetune.models.quantize import quantize
from treetune.models.registry import MODELS, find, make_model, preset, stored_class


class TextRun(TrainingRun):
    """A training whose result reads raw text: a pipeline or a tokenizer."""

    def _scores(self) -> dict[str, Any]:
        scores: dict[str, Any] = {stage: numbers(best.dev) for stage, best in self.best.items() if best.dev is not None}
        pipeline = Pipeline.of(self.model)
        if self.dev and pipeline.tokenizer is not None:
            text = raw_text(example.sentence for example in self.dev)
            found = evaluate_text(self.dev, pipeline.parse_text(text, threads=self.config.run.threads))
            values = {name: found[name] for name in _metrics(pipeline) if name in found.tallies}
            scores["text"] = {name: value for name, value in values.items() if not math.isnan(value)}
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
    """The training of a pipeline: tokenizer, taggers, lemmatizer, and a parser on jackknifed tags."""

    @staticmethod
    def make(config: Config, treebank: list[Any]) -> Any:
        """Return an untrained pipeline; its taggers predict the columns that the treebank has."""
        table = config.pipeline
        tokenizer: Any = stored_class(TOKENIZER)() if table.tokenizer else None
        try:
            columns = tagger_columns(treebank)
        except DataError as error:
            raise DataError(error.problem, path=config.train.treebank) from None
        if not table.feats:
            columns = [kept for more in columns if (kept := tuple(name for name in more if name != "feats"))]
        lemmatizer: Any = None
        if table.lemmas and has_lemmas(treebank):
            lemmatizer = find(MODELS["lemmatizer"])(lemmatizer_inputs(columns))
        clusters = None if table.tagger_clusters is None else config.source.path(table.tagger_clusters)
        taggers = [_make_tagger(treebank, columns, more, clusters) for more in columns]
        if isinstance(table.entities, str) or (table.entities and entities_of(one.sentence for one in treebank)):
            taggers.append(make_model("ner", clusters=clusters))
        return Pipeline(tokenizer, taggers, _make_parser(config, treebank, columns), lemmatizer)

    def train(self, *, checkpoint: str | Path | None = None, resume: bool = False) -> Iterator[Report]:
        """Train all parts and yield reports."""
        config, table = self.config, self.config.pipeline
        tagger_options: Any = {"epochs": table.tagger_epochs, "learner": table.tagger_learner}
        parser_options: Any = {"epochs": config.epochs, **config.model.learning}
        reports = train_pipeline(
            self.model, self.treebank, dev=self.dev, others=self.objectives, convert=table.convert,
            entities=self.entities, entities_dev=self.entities_dev,
            folds=table.jackknife, seed=config.train.seed,
            threads=config.run.threads, tokenizer_epochs=table.tokenizer_epochs, tagger_options=tagger_options,
            lemmatizer_options={"epochs": table.tagger_epochs}, parser_options=parser_options, checkpoint=checkpoint,
            resume=resume,
        )  # fmt: skip
        yield from self._stage_reports(self._stages(), reports)
        if table.quantize:
            self.model = quantize(self.model, prune_parser=table.prune)

    def _stages(self) -> list[Stage]:
        table, size = self.config.pipeline, len(self.treebank)
        stages, epochs = [Stage("tokenizer", "tokenizer:", 0)], size * table.tagger_epochs
        for number, tagger in enumerate(self.model.taggers, start=1):
            if finds_entities(tagger):
                count = len(self.entities or entities_of(example.sentence for example in self.treebank))
                stages.append(Stage("entity_tagger", "entity tagger:", count * table.tagger_epochs))
                continue
            mark, name = ("", "tagger") if number == 1 else (str(number), f"tagger of {_names(tagger.columns)}")
            stages.append(Stage(f"jackknife{mark}", f"{name}, jackknifed:", epochs * (table.jackknife - 1)))
            if self.objectives:
                stages.append(Stage(f"plain{mark}", f"{name}, on the treebank alone:", epochs))
            stages.append(Stage(f"tagger{mark}", f"{name}, on the whole treebank:", epochs))
        stages.append(Stage("conversion", "conversion of other data:", 0))
        stages.append(Stage("lemmatizer", "lemmatizer:", 0))
        return [*stages, Stage("parser", "parser:", size * self.config.epochs)]

    def _settings(self) -> dict[str, Any]:
        return dict(self.best["parser"].settings)

    def _objective_tables(self) -> list[dict[str, Any]]:
        settings = {table["name"]: table for table in self._settings().get("objectives", ())}
        return [one.table(settings[one.name]) for one in self.config.objectives]

    def _model_table(self) -> dict[str, Any]:
        return self.config.model.table(self.model.parser)

    def _training(self) -> dict[str, Any]:
        parts = {
            name: {"epochs": best.epochs, "best_epoch": best.epoch, **best.settings} for name, best in self.best.items()
        }
        for part in parts.values():
            part.pop("objectives", None)
        columns = [name for tagger in self.model.taggers for name in tagger.columns]
        return {"task": PIPELINE, "columns": columns, **parts}


def _make_parser(config: Config, treebank: list[Any], columns: list[tuple[str, ...]]) -> Any:
    """Return an untrained parser; a transition parser of a language with rich morphology has features for it."""
    model = config.model
    has_choice = "features" not in model.options and preset(model.name).kind == "transition"
    if has_choice and has_rich_morphology(treebank, columns):
        model = replace(model, options={**model.options, "features": "morphology"})
    return model.make()


def _make_tagger(
    treebank: list[Any], columns: list[tuple[str, ...]], own: tuple[str, ...], clusters: str | None
) -> Any:
    """Return an untrained tagger; a second one sees the tags of the first, which looks at endings if they say much."""
    if own == columns[0] and has_rich_morphology(treebank, columns):
        return make_model("tag", columns=own, clusters=clusters, features="suffixes", dictionary=20, rare_words=1)
    if own == columns[0]:
        return make_model("tag", columns=own, clusters=clusters)
    return make_model(
        "tag", columns=own, clusters=clusters, inputs=columns[0], features="morphology", given=True, shared=True,
        dictionary=10, rare_words=1, tag_beam=24,
    )  # fmt: skip


def _names(columns: tuple[str, ...]) -> str:
    return " and ".join(name.upper() for name in columns)


def _metrics(pipeline: Pipeline) -> list[str]:
    """Return the metrics on raw text that the parts of a pipeline have a say in."""
    columns = {name for tagger in pipeline.taggers for name in tagger.columns}
    wanted = {"upos": "UPOS", "xpos": "XPOS", "feats": "UFeats"}
    found = ["Tokens", "Words", "Sentences", *(metric for name, metric in wanted.items() if name in columns)]
    if pipeline.entity_tagger is not None:
        found.append("Entities")
    if pipeline.lemmatizer is not None:
        found.append("Lemmas")
    if pipeline.parser is None:
        return found
    trees = {"UAS": True, "LAS": True, "CLAS": True, "MLAS": "UFeats" in found, "BLEX": "Lemmas" in found}
    return [*found, *(name for name, has in trees.items() if has)]
