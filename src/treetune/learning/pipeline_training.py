"""A treebank to a trained pipeline: the tokenizer, then the taggers, then a parser that has only seen predicted tags.

A tagger is better on what it has learned from than on anything else; a parser that learned from such tags, or from
gold ones, trusts tags too much. So its training data are tagged by taggers that have not seen them (Cherry and Bergsma
2012, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from treetune.corpus.sentence import Example
from treetune.corpus.tags import TAG_COLUMNS, Tags, tagged, with_tags
from treetune.errors import ConfigError, DataError
from treetune.learning.jackknife import FoldProgress, TrainOptions, jackknife
from treetune.learning.progress import Progress
from treetune.learning.tokenizer_training import EPOCHS as TOKENIZER_EPOCHS
from treetune.learning.tokenizer_training import SegmentProgress, train_tokenizer
from treetune.learning.trainer import train
from treetune.models.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class PipelineProgress:
    """One report of a stage ("tokenizer", "jackknife", "tagger" or "parser"), by what trains in it."""

    stage: str
    tokenizer: SegmentProgress | None = None
    fold: FoldProgress | None = None
    training: Progress | None = None


def tag_columns(treebank: Sequence[Example]) -> tuple[str, ...]:
    """Return the columns of tags that a treebank has for a tagger to learn: UPOS and XPOS, each if it is there."""
    names = [name for name in ("upos", "xpos") if _has(treebank, name)]
    if not names:
        raise DataError("expected tags to learn from in UPOS or XPOS, found none in the treebank")
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
    seed: int = 0,
    threads: int = 1,
    tokenizer_epochs: int = TOKENIZER_EPOCHS,
    tagger_options: TrainOptions | None = None,
    parser_options: TrainOptions | None = None,
) -> Iterator[PipelineProgress]:
    """Train all parts of a pipeline and yield progress; each part is kept as it was on its best epoch on `dev`.

    Args:
        pipeline: Untrained parts: any of a tokenizer, taggers and a parser.
        treebank: Sentences in the order of their text, with complete tags and trees.
        dev: Others, to choose epochs by; its tags are predicted before the parser sees it.
        make_tagger: Makes an untrained tagger like that of the pipeline, for the folds; there must be one tagger.
        folds: Parts of the treebank, each tagged by a tagger that learned from the others; 0 to let the parser learn
            from gold tags.
        seed: Orders the sentences and deals them to folds.
        threads: For prediction only; the result does not depend on it.
        tokenizer_epochs: Passes of the tokenizer over the treebank.
        tagger_options: How taggers learn, as for `train`.
        parser_options: How the parser learns, as for `train`.
    """
    if folds and len(pipeline.taggers) > 1:
        raise ConfigError(f"expected one tagger to jackknife with, found {len(pipeline.taggers)}; give folds=0")
    if folds and pipeline.taggers and make_tagger is None and pipeline.parser is not None:
        raise ConfigError("expected make_tagger, which makes the taggers of the folds, found None")
    return _train(
        pipeline, treebank, dev, make_tagger, folds=folds, seed=seed, threads=threads,
        tokenizer_epochs=tokenizer_epochs, tagger_options=tagger_options or {}, parser_options=parser_options or {},
    )  # fmt: skip


def _train(
    pipeline: Pipeline,
    treebank: Sequence[Example],
    dev: Sequence[Example],
    make_tagger: Callable[[], Any] | None,
    *,
    folds: int,
    seed: int,
    threads: int,
    tokenizer_epochs: int,
    tagger_options: TrainOptions,
    parser_options: TrainOptions,
) -> Iterator[PipelineProgress]:
    if pipeline.tokenizer is not None:
        tokenizer: Any = pipeline.tokenizer
        for report in train_tokenizer(tokenizer, treebank, dev=dev or None, epochs=tokenizer_epochs, seed=seed):
            yield PipelineProgress("tokenizer", tokenizer=report)
    seen = list(treebank)
    for part in pipeline.taggers:
        tagger: Any = part
        known, held_out = tagged(seen, tagger.columns), tagged(dev, tagger.columns)
        if pipeline.parser is not None and folds and make_tagger is not None:
            tags: tuple[Tags, ...] = ()
            for fold in jackknife(make_tagger, known, folds=folds, seed=seed, threads=threads, **tagger_options):
                yield PipelineProgress("jackknife", fold=fold)
                tags = cast(tuple[Tags, ...], fold.trees or tags)
            seen = [_retagged(example, found, tagger.columns) for example, found in zip(seen, tags, strict=True)]
        for step in train(tagger, known, dev=held_out, seed=seed, threads=threads, **tagger_options):
            yield PipelineProgress("tagger", training=step)
    if pipeline.parser is not None:
        yield from _train_parser(pipeline, seen, dev, seed=seed, threads=threads, options=parser_options)


def _train_parser(
    pipeline: Pipeline,
    treebank: Sequence[Example],
    dev: Sequence[Example],
    *,
    seed: int,
    threads: int,
    options: TrainOptions,
) -> Iterator[PipelineProgress]:
    """Train the parser on tags that are there when it is used: those of the taggers, if there are any."""
    assert pipeline.parser is not None
    given = {name for tagger in pipeline.taggers for name in tagger.columns}
    hidden = [name for name in TAG_COLUMNS if given and name not in given]
    sentences = pipeline.tag([example.sentence for example in dev], threads=threads)
    held_out = [
        replace(example, sentence=sentence.without(*hidden)) for example, sentence in zip(dev, sentences, strict=True)
    ]
    known = [replace(example, sentence=example.sentence.without(*hidden)) for example in treebank]
    for step in train(pipeline.parser, known, dev=held_out, seed=seed, threads=threads, **options):
        yield PipelineProgress("parser", training=step)


def _retagged(example: Example, tags: Tags, columns: Sequence[str]) -> Example:
    return replace(example, sentence=with_tags(example.sentence, tags, columns))
