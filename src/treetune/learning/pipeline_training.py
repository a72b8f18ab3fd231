"""Train a pipeline: the tokenizer, then the taggers, then a parser on jackknifed tags.

A tagger is more accurate on its training data than on new text, and a parser trained on such tags, or on gold tags,
relies on them too much. So the parser is trained on tags of taggers that have not seen the sentence (Cherry and Bergsma
2012, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from treetune.corpus.sentence import Example
from treetune.corpus.tags import TAG_COLUMNS, Tags, tagged, with_tags
from treetune.errors import ConfigError, DataError
from treetune.learning.checkpoints import StageCheckpoints
from treetune.learning.jackknife import FoldProgress, TrainOptions, check_options, jackknife
from treetune.learning.progress import Progress
from treetune.learning.tokenizer_training import EPOCHS as TOKENIZER_EPOCHS
from treetune.learning.tokenizer_training import TokenizerProgress, train_tokenizer
from treetune.learning.trainer import train
from treetune.models.learning_options import DEFAULT_SEED
from treetune.models.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class PipelineProgress:
    """Progress of one stage, "tokenizer", "jackknife", "tagger" or "parser", with the report of its trainer."""

    stage: str
    tokenizer: TokenizerProgress | None = None
    fold: FoldProgress | None = None
    training: Progress | None = None


def tag_columns(treebank: Sequence[Example]) -> tuple[str, ...]:
    """Return the columns of tags that a treebank has for a tagger to learn: UPOS and XPOS, each if present."""
    names = [name for name in ("upos", "xpos") if _has(treebank, name)]
    if not names:
        raise DataError("expected tags to train on in UPOS or XPOS, found none in the treebank")
    return tuple(names)


def _has(treebank: Sequence[Example], name: str) -> bool:
    return any(set(getattr(example.sentence, name)[1:]) - {"_"} for example in treebank)


def train_pipeline(
    pipeline: Pipeline,
    treebank: Sequence[Example],
    *,
    dev: Sequence[Example] = (),
    make_tagger: Callable[[], Any] | None = None,
    folds: int = 10,
    seed: int = DEFAULT_SEED,
    threads: int = 1,
    tokenizer_epochs: int = TOKENIZER_EPOCHS,
    tagger_options: TrainOptions | None = None,
    parser_options: TrainOptions | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Iterator[PipelineProgress]:
    """Train all parts of a pipeline and yield progress; taggers and parser are those of their best epoch on `dev`.

    Args:
        pipeline: Untrained parts: any of a tokenizer, taggers and a parser.
        treebank: Sentences in the order of their text, with complete tags and trees.
        dev: Others, to choose epochs by; its tags are predicted before the parser sees it.
        make_tagger: Makes an untrained tagger like that of the pipeline, for the folds; there must be one tagger.
        folds: The number of folds of the jackknife; 0 to train the parser on gold tags.
        seed: Shuffles the sentences and assigns them to folds.
        threads: For prediction only; the result does not depend on it.
        tokenizer_epochs: Passes of the tokenizer over the treebank.
        tagger_options: The options of `train` for taggers.
        parser_options: The options of `train` for the parser.
        checkpoint: A folder for the checkpoints of all stages.
        resume: Whether to resume from `checkpoint`, if it exists; the pipeline is the same as without the interruption.
    """
    if folds and len(pipeline.taggers) > 1:
        raise ConfigError(f"expected one tagger to jackknife with, found {len(pipeline.taggers)}; give folds=0")
    if folds and pipeline.taggers and make_tagger is None and pipeline.parser is not None:
        raise ConfigError("expected make_tagger, which makes the taggers of the folds, found None")
    # Before hours of jackknifing.
    for tagger in pipeline.taggers:
        check_options(cast(Any, tagger), tagger_options or {})
    if pipeline.parser is not None:
        check_options(pipeline.parser, parser_options or {})
    training = _PipelineTraining(
        pipeline, list(treebank), dev, StageCheckpoints(checkpoint, resume=resume), seed, threads
    )
    return training.run(
        make_tagger if pipeline.parser is not None else None,
        folds,
        tokenizer_epochs,
        tagger_options or {},
        parser_options or {},
    )


@dataclass
class _PipelineTraining:
    """One run of `train_pipeline`; `treebank` gets jackknifed tags on the way."""

    pipeline: Pipeline
    treebank: list[Example]
    dev: Sequence[Example]
    stages: StageCheckpoints
    seed: int
    threads: int

    def run(
        self,
        make_tagger: Callable[[], Any] | None,
        folds: int,
        tokenizer_epochs: int,
        tagger_options: TrainOptions,
        parser_options: TrainOptions,
    ) -> Iterator[PipelineProgress]:
        if self.pipeline.tokenizer is not None:
            yield from self._tokenizer(self.pipeline.tokenizer, tokenizer_epochs)
        for number, tagger in enumerate(self.pipeline.taggers, start=1):
            known = tagged(self.treebank, tagger.columns)
            if folds and make_tagger is not None:
                yield from self._jackknife(make_tagger, known, folds, tagger.columns, tagger_options)
            held_out = tagged(self.dev, tagger.columns)
            for report in self._train(tagger, known, held_out, f"tagger-{number}", tagger_options):
                yield PipelineProgress("tagger", training=report)
        if self.pipeline.parser is not None:
            yield from self._parser(self.pipeline.parser, parser_options)

    def _tokenizer(self, tokenizer: Any, epochs: int) -> Iterator[PipelineProgress]:
        for report in train_tokenizer(
            tokenizer, self.treebank, dev=self.dev or None, epochs=epochs, seed=self.seed,
            **self.stages.options("tokenizer"),
        ):  # fmt: skip
            yield PipelineProgress("tokenizer", tokenizer=report)

    def _jackknife(
        self,
        make_tagger: Callable[[], Any],
        known: Sequence[Any],
        folds: int,
        columns: Sequence[str],
        options: TrainOptions,
    ) -> Iterator[PipelineProgress]:
        tags: tuple[Tags, ...] = ()
        for fold in jackknife(
            make_tagger, known, folds=folds, seed=self.seed, threads=self.threads,
            **self.stages.options("jackknife"), **options,
        ):  # fmt: skip
            yield PipelineProgress("jackknife", fold=fold)
            tags = fold.outputs or tags
        self.treebank = [
            replace(example, sentence=with_tags(example.sentence, found, columns))
            for example, found in zip(self.treebank, tags, strict=True)
        ]

    def _parser(self, parser: Any, options: TrainOptions) -> Iterator[PipelineProgress]:
        """Train the parser on the columns that it will have: those of the taggers, if there are any."""
        given = {name for tagger in self.pipeline.taggers for name in tagger.columns}
        missing = [name for name in TAG_COLUMNS if given and name not in given]
        sentences = self.pipeline.tag([example.sentence for example in self.dev], threads=self.threads)
        held_out = [
            replace(example, sentence=sentence.without(*missing))
            for example, sentence in zip(self.dev, sentences, strict=True)
        ]
        known = [replace(example, sentence=example.sentence.without(*missing)) for example in self.treebank]
        for report in self._train(parser, known, held_out, "parser", options):
            yield PipelineProgress("parser", training=report)

    def _train(
        self, model: Any, treebank: Sequence[Any], dev: Sequence[Any], stage: str, options: TrainOptions
    ) -> Iterator[Progress]:
        return train(
            model, treebank, dev=dev, seed=self.seed, threads=self.threads, **self.stages.options(stage), **options
        )
