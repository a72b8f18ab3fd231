"""The best ways to label a tree whose arcs are scored label by label."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray


def keep_fixed(scores: NDArray[np.float64], fixed: NDArray[np.int32]) -> None:
    """Forbid, in place, all labels but the fixed one of each word that has one (-1: none)."""
    for word in np.flatnonzero(fixed >= 0):
        kept = scores[word, fixed[word]]
        scores[word] = -np.inf
        scores[word, fixed[word]] = kept


def best_choices(scores: NDArray[np.float64], k: int) -> list[tuple[float, NDArray[np.int32]]]:
    """Return up to k different choices of one label a word, best first, each with its loss against the best one.

    `scores[word, label]` is -inf for a label that cannot be chosen; every word has one that can. A choice is
    reached by moving one word after the other to its next best label: each choice once, after one that is no worse.
    """
    words = len(scores)
    order = np.argsort(-scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    waiting: list[tuple[float, tuple[int, ...], int]] = [(0.0, (0,) * words, 0)]
    found: list[tuple[float, NDArray[np.int32]]] = []
    while waiting and len(found) < k:
        loss, ranks, first = heapq.heappop(waiting)
        found.append((loss, order[np.arange(words), list(ranks)].astype(np.int32)))
        # Only words from the last moved one on may move: so no choice is proposed twice.
        for word in range(first, words):
            rank = ranks[word] + 1
            if rank < scores.shape[1] and ordered[word, rank] > -np.inf:
                step = float(ordered[word, rank - 1] - ordered[word, rank])
                heapq.heappush(waiting, (loss + step, (*ranks[:word], rank, *ranks[word + 1 :]), word))
    return found
