"""A treebank to a guided parser: jackknife the guide, train it on everything, train the main parser on both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from treetune.corpus.guides import with_guides
from treetune.corpus.sentence import Example, Tree
from treetune.learning.jackknife import FoldProgress, TrainOptions, check_options, jackknife
from treetune.learning.progress import Progress
from treetune.learning.trainer import train
from treetune.models.base import Parser
from treetune.models.guided import GuidedParser

Stage = Literal["jackknife", "guide", "main"]


@dataclass(frozen=True, slots=True)
class StackProgress:
    """One report of the stage at work: "jackknife", then "guide" on the whole treebank, then "main".

    `training` is what the trainer reports, if it is training that goes on, `fold` what the jackknife reports
    while it lasts. The last report has the trained `model`.
    """

    stage: Stage
    training: Progress | None
    fold: FoldProgress | None = None
    model: GuidedParser | None = None


def train_guided(
    make_guide: Callable[[], Parser],
    make_main: Callable[[], Parser],
    treebank: Sequence[Example],
    *,
    dev: Sequence[Example] = (),
    folds: int = 10,
    guide_options: TrainOptions | None = None,
    main_options: TrainOptions | None = None,
    seed: int = 0,
    threads: int = 1,
) -> Iterator[StackProgress]:
    """Train a parser guided by another and yield progress; the last report has the model.

    Args:
        make_guide: Makes an untrained guide parser, the same each time.
        make_main: Makes the untrained main parser, whose features look at the guide.
        treebank: Complete trees.
        dev: Examples to choose the best epoch of the main parser by. The guide takes its last epoch, as the
            jackknifed guides that the main parser learned from did.
        folds: How many times the guide is trained on a part of the treebank.
        guide_options: How the guide is trained, as for `train`.
        main_options: How the main parser is trained, as for `train`.
        seed: Deals the sentences to folds and orders them; the same seed gives the same model.
        threads: For parsing only; the result does not depend on it.
    """
    guide, main = make_guide(), make_main()
    # Wrong options show now, not after hours of jackknifing.
    check_options(guide, guide_options or {})
    check_options(main, main_options or {})
    reports = jackknife(make_guide, treebank, folds=folds, seed=seed, threads=threads, **(guide_options or {}))
    return _stages(
        GuidedParser(guide, main), treebank, dev, reports,
        guide_options=guide_options or {}, main_options=main_options or {}, seed=seed, threads=threads,
    )  # fmt: skip


def _stages(
    model: GuidedParser,
    treebank: Sequence[Example],
    dev: Sequence[Example],
    reports: Iterator[FoldProgress],
    *,
    guide_options: TrainOptions,
    main_options: TrainOptions,
    seed: int,
    threads: int,
) -> Iterator[StackProgress]:
    trees: Sequence[Tree] = ()
    for report in reports:
        trees = report.trees or ()
        yield StackProgress("jackknife", report.training, fold=report)
    for progress in train(model.guide, treebank, seed=seed, threads=threads, **guide_options):
        yield StackProgress("guide", progress)
    # The guide's trees of the development data are the same in every epoch.
    guided_dev = _guided(dev, model.guide.predict_batch([example.sentence for example in dev], threads=threads))
    guided = _guided(treebank, trees)
    for progress in train(model, guided, dev=guided_dev, seed=seed, threads=threads, **main_options):
        yield StackProgress("main", progress)
    yield StackProgress("main", None, model=model)


def _guided(examples: Sequence[Example], trees: Sequence[Tree]) -> list[Example]:
    sentences = with_guides([example.sentence for example in examples], trees)
    return [replace(example, sentence=sentence) for example, sentence in zip(examples, sentences, strict=True)]
