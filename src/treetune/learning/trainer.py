"""Train a parser on a treebank, epoch by epoch, as a generator of progress reports."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from treetune.corpus.sentence import Example
from treetune.errors import ConfigError
from treetune.evaluate.scores import Scores, evaluate
from treetune.learning.progress import Progress
from treetune.models.transition.learner import TransitionLearner
from treetune.models.transition.parser import TransitionParser

# A report is made after this many sentences.
REPORT_EVERY = 256


def train(
    parser: TransitionParser,
    treebank: Sequence[Example],
    *,
    dev: Sequence[Example] = (),
    epochs: int = 10,
    update: str | None = None,
    seed: int = 0,
    threads: int = 1,
) -> Iterator[Progress]:
    """Train `parser` on `treebank` and yield progress; consume it all, or the parser stays as it was.

    Args:
        parser: Is given the averaged weights of the epoch with the best labelled attachment score on `dev`,
            of the last epoch without `dev`.
        treebank: Complete trees; non-projective ones are lifted.
        dev: Examples to choose the best epoch by.
        epochs: How many times to go through the treebank.
        update: "max-violation", "early" or "dynamic"; by default what suits the beam.
        seed: Orders the sentences; the same seed gives the same weights.
        threads: For parsing `dev` only; the result does not depend on it.
    """
    if epochs < 1:
        raise ConfigError(f"epochs must be at least 1, found {epochs}")
    if seed < 0:
        raise ConfigError(f"seed must be at least 0, found {seed}")
    learner = TransitionLearner(parser, treebank, update=update, seed=seed)
    return _epochs(parser, learner, dev, epochs=epochs, seed=seed, threads=threads)


def _epochs(
    parser: TransitionParser,
    learner: TransitionLearner,
    dev: Sequence[Example],
    *,
    epochs: int,
    seed: int,
    threads: int,
) -> Iterator[Progress]:
    shuffle = np.random.default_rng(seed)
    best_las = -1.0
    best_weights = None
    candidate = TransitionParser(parser.config)
    for epoch in range(1, epochs + 1):
        report = Progress(epoch, epochs, 0, len(learner), 0, 0, 0.0)
        for report in _one_epoch(learner, shuffle, epoch, epochs):
            yield report
        weights = learner.freeze() if dev or epoch == epochs else None
        scores, is_best = None, False
        if weights is not None and dev:
            candidate.fit(learner.grammar, weights)
            scores = _score(candidate, dev, threads)
            is_best = scores.las > best_las
        if weights is not None and (is_best or best_weights is None):
            best_weights = weights
            best_las = scores.las if scores else best_las
        if epoch == epochs and best_weights is not None:
            parser.fit(learner.grammar, best_weights)
        yield Progress(
            epoch, epochs, report.seen, report.total, report.updated, report.words, report.cpu_seconds,
            is_epoch_end=True, dev=scores, best=is_best,
        )  # fmt: skip


def _one_epoch(
    learner: TransitionLearner, shuffle: np.random.Generator, epoch: int, epochs: int
) -> Iterator[Progress]:
    order = shuffle.permutation(len(learner))
    updated = words = 0
    start = time.process_time()
    for first in range(0, len(order), REPORT_EVERY):
        part = order[first : first + REPORT_EVERY]
        updated += learner.learn(part)
        words += learner.words(part)
        seen = first + len(part)
        yield Progress(epoch, epochs, seen, len(order), updated, words, time.process_time() - start)


def _score(parser: TransitionParser, dev: Sequence[Example], threads: int) -> Scores:
    trees = parser.predict_batch([example.sentence for example in dev], threads=threads)
    return evaluate(dev, trees)
