"""Calibrate the confidence of a parser on development data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import UNKNOWN_HEAD, Example, Sentence, Tree
from treetune.errors import DataError
from treetune.models.base import Candidate
from treetune.models.confidence import CONFIDENCE_K, PARAMETERS, Calibration, logistic, margin_features

_ITERATIONS, _PENALTY, _SMALLEST_STEP = 100, 1e-3, 1e-9


class KBestParser(Protocol):
    """What has k-best lists of trees."""

    def k_best_batch(
        self, sentences: Sequence[Sentence], k: int, *, threads: int = 1
    ) -> Sequence[Sequence[Candidate[Tree]]]:
        """Return the k-best list of each sentence."""
        ...


def calibrate(
    parser: KBestParser, dev: Sequence[Example], *, k: int = CONFIDENCE_K, threads: int = 1
) -> tuple[Calibration, NDArray[np.float64], NDArray[np.bool_]]:
    """Return the calibration, and for all words with a gold head the probability of the arc and whether it is right."""
    lists = parser.k_best_batch([example.sentence for example in dev], k, threads=threads)
    pairs = list(zip(lists, dev, strict=True))
    right = np.array([is_right for found, one in pairs for is_right in right_arcs(found[0].output, one.gold)], np.int8)
    known = right >= 0
    features = np.vstack([np.empty((0, PARAMETERS)), *(margin_features(found) for found in lists)])[known]
    correct = right[known] == 1
    if correct.all() or not correct.any():
        raise DataError("expected arcs that are right and arcs that are wrong to calibrate on, found one kind alone")
    calibration = Calibration(tuple(_fitted(features, correct).tolist()), k)
    return calibration, logistic(features @ np.array(calibration.parameters)), correct


def right_arcs(tree: Tree, gold: Tree) -> list[int]:
    """Return of each word whether head and label are right (1 or 0), -1 where the gold head is not known."""
    rows = zip(tree.heads[1:], tree.labels[1:], gold.heads[1:], gold.labels[1:], strict=True)
    return [-1 if true == UNKNOWN_HEAD else int((head, label) == (true, name)) for head, label, true, name in rows]


def _fitted(features: NDArray[np.float64], correct: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the parameters of the highest likelihood, by Newton's method."""
    parameters = np.zeros(PARAMETERS)
    penalty = _PENALTY * np.eye(PARAMETERS)
    for _ in range(_ITERATIONS):
        predicted = logistic(features @ parameters)
        curvature = features.T @ (features * (predicted * (1 - predicted))[:, None]) + penalty
        step = np.linalg.solve(curvature, features.T @ (correct - predicted) - _PENALTY * parameters)
        parameters += step
        if np.abs(step).max() < _SMALLEST_STEP:
            break
    return parameters
