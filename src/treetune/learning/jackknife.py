"""Jackknifing: predict each fold of a treebank by a model trained on the other folds.

A model is more accurate on its training data than on new text. What is trained on its outputs, as the parser of a
pipeline or a stacked parser, must therefore see jackknifed ones (Cherry and Bergsma 2012, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from treetune.corpus.sentence import Example, Sentence
from treetune.corpus.tags import tagged, with_tags
from treetune.errors import ConfigError
from treetune.learning.checkpoints import StageCheckpoints
from treetune.learning.progress import Progress
from treetune.learning.trainer import train
from treetune.models.base import Model
from treetune.models.learning_options import DEFAULT_SEED, LearningOptions

if TYPE_CHECKING:
    from treetune.models.sequence.tagger import Tagger

# A fold consists of at least so many runs of sentences.
RUNS_PER_FOLD = 4


class TrainOptions(LearningOptions, total=False):
    """The options of `train` that say how one of several models is trained."""

    epochs: int


@dataclass(frozen=True, slots=True)
class FoldProgress:
    """Progress on model `fold` of `folds`; `parsed` of `total` sentences have been predicted.

    `training` is the report of the trainer, None when the model has just predicted its fold. The last report has the
    `outputs` of all sentences (trees, or tags), in the order of the treebank.
    """

    fold: int
    folds: int
    parsed: int
    total: int
    training: Progress | None = None
    outputs: tuple[Any, ...] | None = None


def jackknife(
    make_model: Callable[[], Model[Any]],
    treebank: Sequence[Any],
    *,
    folds: int = 10,
    seed: int = DEFAULT_SEED,
    threads: int = 1,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    sentences: Sequence[Sentence] | None = None,
    **options: Unpack[TrainOptions],
) -> Iterator[FoldProgress]:
    """Predict every sentence by a model trained without it, and yield progress; the last report has the outputs.

    Args:
        make_model: Makes an untrained model, the same each time.
        treebank: Examples with complete trees, or other examples of the model.
        folds: The number of folds and models.
        seed: Assigns sentences to folds and shuffles them; the same seed gives the same outputs.
        threads: For prediction only; the result does not depend on it.
        checkpoint: A folder for the checkpoints of the folds.
        resume: Whether to resume from `checkpoint`, if it exists; the outputs are the same as without the interruption.
        sentences: What the models predict from, by default the sentences of the treebank: those with jackknifed tags,
            for a model that is trained on gold tags.
        options: The options of `train` for each model. Without development data, the last epoch is taken.
    """
    check_options(make_model(), options)
    parts = make_folds(treebank, folds=folds, seed=seed)
    stages = StageCheckpoints(checkpoint, resume=resume)
    given = [example.sentence for example in treebank] if sentences is None else sentences
    reports = _all_folds(make_model, treebank, given, parts, stages, seed=seed, threads=threads, options=options)
    return stages.held(reports)


def jackknife_tags(
    make_tagger: Callable[[], Tagger],
    examples: Sequence[Example],
    *,
    folds: int = 10,
    seed: int = DEFAULT_SEED,
    threads: int = 1,
    on_progress: Callable[[FoldProgress], None] = lambda report: None,
    **options: Unpack[TrainOptions],
) -> list[Example]:
    """Return the examples with jackknifed tags in place of gold tags, to train a parser on.

    The arguments are those of `jackknife`; `on_progress` is called with every report.
    """
    columns = make_tagger().columns
    reports = jackknife(
        make_tagger, tagged(examples, columns), folds=folds, seed=seed, threads=threads, **options
    )  # fmt: skip
    found: Sequence[Any] = ()
    for report in reports:
        on_progress(report)
        found = report.outputs or ()
    return [
        replace(example, sentence=with_tags(example.sentence, tags, columns))
        for example, tags in zip(examples, found, strict=True)
    ]


def check_options(model: Model[Any], options: TrainOptions) -> None:
    """Raise ConfigError if `train` would refuse these options for the model."""
    if options.get("epochs", 1) < 1:
        raise ConfigError(f"epochs must be at least 1, found {options['epochs']}")
    learning = {name: value for name, value in options.items() if name != "epochs"}
    model.check_learning(**cast(LearningOptions, learning))


def _all_folds(
    make_model: Callable[[], Model[Any]],
    treebank: Sequence[Any],
    sentences: Sequence[Sentence],
    parts: Sequence[Sequence[int]],
    stages: StageCheckpoints,
    *,
    seed: int,
    threads: int,
    options: TrainOptions,
) -> Iterator[FoldProgress]:
    outputs: dict[int, Any] = {}
    for fold, part in enumerate(parts, start=1):
        held_out = set(part)
        others = [example for index, example in enumerate(treebank) if index not in held_out]
        model = make_model()
        for progress in train(
            model, others, seed=seed, threads=threads, **stages.options(f"fold-{fold}"), **options
        ):  # fmt: skip
            yield FoldProgress(fold, len(parts), len(outputs), len(treebank), training=progress)
        predicted = model.predict_batch([sentences[index] for index in part], threads=threads)
        outputs.update(zip(part, predicted, strict=True))
        everything = tuple(outputs[index] for index in range(len(treebank))) if fold == len(parts) else None
        yield FoldProgress(fold, len(parts), len(outputs), len(treebank), outputs=everything)


def make_folds(treebank: Sequence[Any], *, folds: int, seed: int) -> list[list[int]]:
    """Return the indices of each fold's sentences, in order; folds differ little in size.

    Documents (``# newdoc``), long ones in pieces, are assigned at random; without marks, runs of sentences. A document
    repeats its words, so a model that has seen half of it is more accurate on the other half than on new text.
    """
    if folds < 2:
        raise ConfigError(f"folds must be at least 2, found {folds}")
    if folds > len(treebank):
        raise ConfigError(f"folds must be at most the number of sentences, {len(treebank)}, found {folds}")
    if seed < 0:
        raise ConfigError(f"seed must be at least 0, found {seed}")
    runs = _runs(treebank, longest=max(1, len(treebank) // (RUNS_PER_FOLD * folds)))
    shuffled = [runs[index] for index in np.random.default_rng(seed).permutation(len(runs))]
    dealt: list[list[int]] = [[] for _ in range(folds)]
    # The longest first, each to the smallest fold.
    for run in sorted(shuffled, key=len, reverse=True):
        min(dealt, key=len).extend(run)
    return [sorted(part) for part in dealt]


def _runs(treebank: Sequence[Any], *, longest: int) -> list[range]:
    """Cut the treebank at the starts of documents, and after `longest` sentences."""
    starts = [0]
    for index in range(1, len(treebank)):
        if index - starts[-1] == longest or _begins_document(treebank[index]):
            starts.append(index)
    return [range(start, end) for start, end in zip(starts, [*starts[1:], len(treebank)], strict=True)]


def _begins_document(example: Any) -> bool:
    return any(comment.lstrip("# ").startswith("newdoc") for comment in example.sentence.comments)
