"""A treebank to a stacked parser: jackknife the base parser, train it on everything, train the main parser on both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from treetune.corpus.base_trees import with_base_trees
from treetune.corpus.sentence import Example, Tree
from treetune.learning.jackknife import FoldProgress, TrainOptions, check_options, jackknife
from treetune.learning.progress import Progress
from treetune.learning.trainer import train
from treetune.models.base import Parser
from treetune.models.stacked import StackedParser

Stage = Literal["jackknife", "base", "main"]


@dataclass(frozen=True, slots=True)
class StackProgress:
    """One report of the stage at work: "jackknife", then "base" on the whole treebank, then "main".

    `training` is what the trainer reports, if it is training that goes on, `fold` what the jackknife reports
    while it lasts. The last report has the trained `model`.
    """

    stage: Stage
    training: Progress | None
    fold: FoldProgress | None = None
    model: StackedParser | None = None


def train_stacked(
    make_base: Callable[[], Parser],
    make_main: Callable[[], Parser],
    treebank: Sequence[Example],
    *,
    dev: Sequence[Example] = (),
    folds: int = 10,
    base_options: TrainOptions | None = None,
    main_options: TrainOptions | None = None,
    seed: int = 0,
    threads: int = 1,
) -> Iterator[StackProgress]:
    """Train a parser stacked on another and yield progress; the last report has the model.

    Args:
        make_base: Makes an untrained base parser, the same each time.
        make_main: Makes the untrained main parser, whose features look at the base tree.
        treebank: Complete trees.
        dev: Examples to choose the best epoch of the main parser by. The base parser takes its last epoch, as the
            jackknifed base trees that the main parser learned from did.
        folds: How many times the base parser is trained on a part of the treebank.
        base_options: How the base parser is trained, as for `train`.
        main_options: How the main parser is trained, as for `train`.
        seed: Deals the sentences to folds and orders them; the same seed gives the same model.
        threads: For parsing only; the result does not depend on it.
    """
    base, main = make_base(), make_main()
    # Wrong options show now, not after hours of jackknifing.
    check_options(base, base_options or {})
    check_options(main, main_options or {})
    reports = jackknife(make_base, treebank, folds=folds, seed=seed, threads=threads, **(base_options or {}))
    return _stages(
        StackedParser(base, main), treebank, dev, reports,
        base_options=base_options or {}, main_options=main_options or {}, seed=seed, threads=threads,
    )  # fmt: skip


def _stages(
    model: StackedParser,
    treebank: Sequence[Example],
    dev: Sequence[Example],
    reports: Iterator[FoldProgress],
    *,
    base_options: TrainOptions,
    main_options: TrainOptions,
    seed: int,
    threads: int,
) -> Iterator[StackProgress]:
    trees: Sequence[Tree] = ()
    for report in reports:
        trees = report.trees or ()
        yield StackProgress("jackknife", report.training, fold=report)
    for progress in train(model.base, treebank, seed=seed, threads=threads, **base_options):
        yield StackProgress("base", progress)
    # The base parser's trees of the development data are the same in every epoch.
    stacked_dev = _with_trees(dev, model.base.predict_batch([example.sentence for example in dev], threads=threads))
    stacked = _with_trees(treebank, trees)
    for progress in train(model, stacked, dev=stacked_dev, seed=seed, threads=threads, **main_options):
        yield StackProgress("main", progress)
    yield StackProgress("main", None, model=model)


def _with_trees(examples: Sequence[Example], trees: Sequence[Tree]) -> list[Example]:
    sentences = with_base_trees([example.sentence for example in examples], trees)
    return [replace(example, sentence=sentence) for example, sentence in zip(examples, sentences, strict=True)]
