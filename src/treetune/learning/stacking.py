"""Train a stacked parser: jackknife the base parser, train it on the whole treebank, then train the main parser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from treetune.corpus.base_trees import with_base_trees
from treetune.corpus.sentence import Example, Tree
from treetune.learning.checkpoints import StageCheckpoints
from treetune.learning.jackknife import FoldProgress, TrainOptions, check_options, jackknife
from treetune.learning.progress import Progress
from treetune.learning.trainer import train
from treetune.models.base import Parser
from treetune.models.learning_options import DEFAULT_SEED
from treetune.models.stacked import StackedParser

Stage = Literal["jackknife", "base", "main"]


@dataclass(frozen=True, slots=True)
class StackProgress:
    """Progress of one stage: "jackknife", then "base" on the whole treebank, then "main".

    `training` is the report of the trainer, `fold` that of the jackknife. The last report has the trained `model`.
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
    seed: int = DEFAULT_SEED,
    threads: int = 1,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Iterator[StackProgress]:
    """Train a parser stacked on another and yield progress; the last report has the model.

    Args:
        make_base: Makes an untrained base parser, the same each time.
        make_main: Makes the untrained main parser, whose features look at the base tree.
        treebank: Complete trees.
        dev: Examples to choose the best epoch of the main parser by. The base parser takes its last epoch, as its
            jackknifed models do.
        folds: The number of folds of the jackknife.
        base_options: The options of `train` for the base parser.
        main_options: The options of `train` for the main parser.
        seed: Assigns sentences to folds and shuffles them; the same seed gives the same model.
        threads: For parsing only; the result does not depend on it.
        checkpoint: A folder for the checkpoints of all stages.
        resume: Whether to resume from `checkpoint`, if it exists; the model is the same as without the interruption.
    """
    base, main = make_base(), make_main()
    # Before hours of jackknifing.
    check_options(base, base_options or {})
    check_options(main, main_options or {})
    stages = StageCheckpoints(checkpoint, resume=resume)
    reports = jackknife(
        make_base, treebank, folds=folds, seed=seed, threads=threads,
        **stages.options("jackknife"), **(base_options or {}),
    )  # fmt: skip
    training = _stages(
        StackedParser(base, main), treebank, dev, reports, stages,
        base_options=base_options or {}, main_options=main_options or {}, seed=seed, threads=threads,
    )  # fmt: skip
    return stages.held(training)


def _stages(
    model: StackedParser,
    treebank: Sequence[Example],
    dev: Sequence[Example],
    reports: Iterator[FoldProgress],
    stages: StageCheckpoints,
    *,
    base_options: TrainOptions,
    main_options: TrainOptions,
    seed: int,
    threads: int,
) -> Iterator[StackProgress]:
    trees: Sequence[Tree] = ()
    for report in reports:
        trees = report.outputs or ()
        yield StackProgress("jackknife", report.training, fold=report)
    for progress in train(model.base, treebank, seed=seed, threads=threads, **stages.options("base"), **base_options):
        yield StackProgress("base", progress)
    # The base parser's trees of the development data are the same in every epoch.
    stacked_dev = _with_trees(dev, model.base.predict_batch([example.sentence for example in dev], threads=threads))
    stacked = _with_trees(treebank, trees)
    for progress in train(
        model, stacked, dev=stacked_dev, seed=seed, threads=threads, **stages.options("main"), **main_options
    ):
        yield StackProgress("main", progress)
    yield StackProgress("main", None, model=model)


def _with_trees(examples: Sequence[Example], trees: Sequence[Tree]) -> list[Example]:
    sentences = with_base_trees([example.sentence for example in examples], trees)
    return [replace(example, sentence=sentence) for example, sentence in zip(examples, sentences, strict=True)]
