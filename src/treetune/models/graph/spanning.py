"""The best trees of a sentence from its arc scores, crossing arcs allowed.

One tree: Tarjan 1977. Lists: Camerini, Fratta & Maffioli 1980, as in Hall 2007. Both are exact; every tree
has exactly one dependent of the root (the problem of Zmigrod et al. 2021, solved by lexicographic scores).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treetune.models.graph import _kernels as kernels
from treetune.models.graph.arcs import ArcScores, ScoredHeads, check_room, make_candidates, prepare


@dataclass(frozen=True, slots=True)
class SpanningSpace:
    """Working memory for sentences of up to `longest` words and lists of up to `k` trees; one a thread."""

    longest: int
    k: int
    contraction: kernels.Contraction
    partition: kernels.Partition


def spanning_bytes(longest: int, *, k: int = 1) -> int:
    """Return the size of the working memory, so that a caller can refuse before it is taken."""
    size = longest + 1
    return 20 * size * size + 4 * 10 * size + 8 * size + 16 * 2 * size + 20 * k + 9 * 2 * k


def make_spanning_space(longest: int, *, k: int = 1) -> SpanningSpace:
    """Take working memory; `spanning_bytes` says how much."""
    size = longest + 1

    def numbers(length: int) -> NDArray[np.int32]:
        return np.empty(length, np.int32)

    return SpanningSpace(
        longest,
        k,
        kernels.Contraction(
            allowed=np.empty(size * size),
            weights=np.empty(size * size),
            arcs=numbers(size * size),
            state=numbers(size),
            path=numbers(size),
            node=numbers(size),
            entry=numbers(size),
            first=numbers(size),
            last=numbers(size),
            following=numbers(size),
            holder=numbers(size),
            offset=np.empty(size),
            begin=numbers(size),
            end=numbers(size),
            up=numbers(2 * size),
            enter=numbers(2 * size),
            enter_weight=np.empty(2 * size),
        ),
        kernels.Partition(
            bound=np.empty(k),
            tree=numbers(k),
            decision=numbers(k),
            arc=numbers(k),
            decision_parent=numbers(2 * k),
            decision_arc=numbers(2 * k),
            decision_required=np.empty(2 * k, np.bool_),
        ),
    )


def best_spanning(scores: ArcScores, *, space: SpanningSpace | None = None) -> ScoredHeads | None:
    """Return the best tree, or None if the allowed arcs make no tree with one root; O(n^2)."""
    found = k_best_spanning(scores, 1, space=space)
    return found[0] if found else None


def k_best_spanning(scores: ArcScores, k: int, *, space: SpanningSpace | None = None) -> list[ScoredHeads]:
    """Return up to `k` different trees, best first; fewer only if there are no more; O(k n^2)."""
    scores, siblings = prepare(scores)
    longest = len(scores) - 1
    if space is None:
        space = make_spanning_space(longest, k=max(k, 1))
    check_room(scores, k, longest=space.longest, most=space.k)
    heads, out = np.empty((k, longest + 1), np.int32), np.empty(k)
    if k == 1:
        count = kernels.best_spanning(scores, siblings, space.contraction, heads, out)
    else:
        count = kernels.k_best_spanning(scores, siblings, space.contraction, space.partition, heads, out)
    return make_candidates(count, heads, out)
