"""A treebank to trees, or tags, by models that have not seen it: each fold goes to a model trained on the others.

What one parser says of a sentence it has learned from is better than what it will say of a new one. A parser
that is to use this output must therefore be trained on jackknifed trees (Cherry and Bergsma 2012, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from treetune.corpus.sentence import Example
from treetune.corpus.tags import tagged, with_tags
from treetune.errors import ConfigError
from treetune.learning.progress import Progress
from treetune.learning.trainer import train
from treetune.models.base import Model
from treetune.models.learning_options import LearningOptions

if TYPE_CHECKING:
    from treetune.models.sequence.tagger import Tagger

# A fold is put together from at least so many places of the treebank.
RUNS_PER_FOLD = 4


class TrainOptions(LearningOptions, total=False):
    """The options of `train` that say how one of several models is trained."""

    epochs: int


@dataclass(frozen=True, slots=True)
class FoldProgress:
    """One report: model `fold` of `folds` is at work, and `parsed` of `total` sentences have their tree.

    `training` is what the trainer reports of this model, None when it has just parsed its fold. The last report
    has the trees of all sentences (of taggers, the tags), in the order of the treebank.
    """

    fold: int
    folds: int
    parsed: int
    total: int
    training: Progress | None = None
    trees: tuple[Any, ...] | None = None


def jackknife(
    make_model: Callable[[], Model[Any]],
    treebank: Sequence[Any],
    *,
    folds: int = 10,
    seed: int = 0,
    threads: int = 1,
    **options: Unpack[TrainOptions],
) -> Iterator[FoldProgress]:
    """Parse every sentence by a model trained without it, and yield progress; the last report has the trees.

    Args:
        make_model: Makes an untrained model, the same each time.
        treebank: Examples with complete trees, or whatever else the model learns from.
        folds: How many models to train; more folds, more like a model of the whole treebank.
        seed: Deals the sentences to folds and trains; the same seed gives the same trees.
        threads: For parsing only; the result does not depend on it.
        options: How each model is trained, as for `train`. There is no development data: the last epoch counts.
    """
    check_options(make_model(), options)
    parts = make_folds(treebank, folds=folds, seed=seed)
    return _all_folds(make_model, treebank, parts, seed=seed, threads=threads, options=options)


def jackknife_tags(
    make_tagger: Callable[[], Tagger],
    examples: Sequence[Example],
    *,
    folds: int = 10,
    seed: int = 0,
    threads: int = 1,
    on_progress: Callable[[FoldProgress], None] = lambda report: None,
    **options: Unpack[TrainOptions],
) -> list[Example]:
    """Return the examples with tags by taggers that have not seen them, in place of the gold tags they have.

    A parser trained on them meets the mistakes that the tagger will make. The arguments are those of `jackknife`;
    `on_progress` is called with every report.
    """
    columns = make_tagger().columns
    reports = jackknife(
        make_tagger, tagged(examples, columns), folds=folds, seed=seed, threads=threads, **options
    )  # fmt: skip
    found: Sequence[Any] = ()
    for report in reports:
        on_progress(report)
        found = report.trees or ()
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
    parts: Sequence[Sequence[int]],
    *,
    seed: int,
    threads: int,
    options: TrainOptions,
) -> Iterator[FoldProgress]:
    found: dict[int, Any] = {}
    for fold, part in enumerate(parts, start=1):
        held_out = set(part)
        others = [example for place, example in enumerate(treebank) if place not in held_out]
        model = make_model()
        for progress in train(model, others, seed=seed, threads=threads, **options):
            yield FoldProgress(fold, len(parts), len(found), len(treebank), training=progress)
        trees = model.predict_batch([treebank[place].sentence for place in part], threads=threads)
        found.update(zip(part, trees, strict=True))
        is_last = fold == len(parts)
        every_tree = tuple(found[place] for place in range(len(treebank))) if is_last else None
        yield FoldProgress(fold, len(parts), len(found), len(treebank), trees=every_tree)


def make_folds(treebank: Sequence[Any], *, folds: int, seed: int) -> list[list[int]]:
    """Return the places of each fold's sentences, in order; folds differ little in size.

    Neighbours stay together: a document repeats its words and names, and a model that has seen half of it is
    better on the other half than on new text. So not sentences are dealt at random but documents, where the
    treebank marks them (``# newdoc``), long ones in pieces; without marks, runs of sentences.
    """
    if folds < 2:
        raise ConfigError(f"folds must be at least 2, found {folds}")
    if folds > len(treebank):
        raise ConfigError(f"folds must be at most the number of sentences, {len(treebank)}, found {folds}")
    if seed < 0:
        raise ConfigError(f"seed must be at least 0, found {seed}")
    runs = _runs(treebank, longest=max(1, len(treebank) // (RUNS_PER_FOLD * folds)))
    shuffled = [runs[place] for place in np.random.default_rng(seed).permutation(len(runs))]
    dealt: list[list[int]] = [[] for _ in range(folds)]
    # The longest first, each to the smallest fold: that keeps the folds of nearly the same size.
    for run in sorted(shuffled, key=len, reverse=True):
        min(dealt, key=len).extend(run)
    return [sorted(part) for part in dealt]


def _runs(treebank: Sequence[Any], *, longest: int) -> list[range]:
    """Cut the treebank where documents begin, and wherever a run would get too long."""
    starts = [0]
    for place in range(1, len(treebank)):
        if place - starts[-1] == longest or _begins_document(treebank[place]):
            starts.append(place)
    return [range(start, end) for start, end in zip(starts, [*starts[1:], len(treebank)], strict=True)]


def _begins_document(example: Any) -> bool:
    return any(comment.lstrip("# ").startswith("newdoc") for comment in example.sentence.comments)
