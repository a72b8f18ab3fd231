"""Train a model on gold examples, epoch by epoch, as a generator of progress reports."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Example
from treetune.errors import ConfigError
from treetune.evaluate.scores import Scores, evaluate
from treetune.learning.progress import Progress
from treetune.models.base import Learner, Parser
from treetune.models.learners import LearningOptions

# A report is made after this many sentences.
REPORT_EVERY = 256


def train(
    model: Parser,
    treebank: Sequence[Example],
    *,
    dev: Sequence[Example] = (),
    epochs: int = 10,
    seed: int = 0,
    threads: int = 1,
    **learning: Unpack[LearningOptions],
) -> Iterator[Progress]:
    """Train `model` on `treebank` and yield progress; consume it all, or the model stays as it was.

    Args:
        model: Is given the averaged weights of the epoch with the best labelled attachment score on `dev`,
            of the last epoch without `dev`.
        treebank: Complete trees; crossing arcs are lifted for a parser that cannot make them.
        dev: Examples to choose the best epoch by.
        epochs: How many times to go through the treebank.
        seed: Orders the sentences; the same seed gives the same weights.
        threads: For parsing `dev` only; the result does not depend on it.
        learning: How weights move: `learner`, `k`, `clip`, `update`, `cost_augmented`; see `LearningOptions`.
    """
    if epochs < 1:
        raise ConfigError(f"epochs must be at least 1, found {epochs}")
    if seed < 0:
        raise ConfigError(f"seed must be at least 0, found {seed}")
    if threads < 1:
        raise ConfigError(f"threads must be at least 1, found {threads}")
    moving = model.learner(treebank, seed=seed, **learning)
    return _epochs(model, moving, dev, epochs=epochs, seed=seed, threads=threads)


def _epochs(
    model: Parser, learner: Learner, dev: Sequence[Example], *, epochs: int, seed: int, threads: int
) -> Iterator[Progress]:
    shuffle = np.random.default_rng(seed)
    settings = learner.settings()
    best_las, best_weights = -1.0, None
    for epoch in range(1, epochs + 1):
        report = Progress(epoch, epochs, 0, len(learner), 0, 0, 0.0, settings=settings)
        for step in _one_epoch(learner, shuffle.permutation(len(learner)), report):
            report = step
            yield report
        scores, is_best = None, False
        if dev:
            weights = learner.snapshot()
            scores = _score(model, learner, weights, dev, threads)
            is_best = scores.las > best_las
            if is_best:
                best_las, best_weights = scores.las, weights
            del weights  # not beside those of the next epoch
        if epoch == epochs:
            learner.install(model, best_weights if dev else learner.snapshot())
        yield replace(report, is_epoch_end=True, dev=scores, best=is_best)


def _one_epoch(learner: Learner, order: NDArray[np.int64], start: Progress) -> Iterator[Progress]:
    updated = words = 0
    started = time.process_time()
    for first in range(0, len(order), REPORT_EVERY):
        part = order[first : first + REPORT_EVERY]
        updated += learner.learn(part)
        words += learner.words(part)
        seconds = time.process_time() - started
        yield replace(start, seen=first + len(part), updated=updated, words=words, cpu_seconds=seconds)


def _score(model: Parser, learner: Learner, weights: Any, dev: Sequence[Example], threads: int) -> Scores:
    trial = copy.copy(model)
    learner.install(trial, weights)
    trees = trial.predict_batch([example.sentence for example in dev], threads=threads)
    return evaluate(dev, trees)
