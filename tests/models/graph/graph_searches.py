"""The searches of the kernels as functions of score matrices.

`scores[h, d]` is the score of the arc from h to d, both counted from the root 0; -inf forbids an arc.
`siblings[h, d, s]` is added when s is the dependent of h that is nearest to d between h and d; `siblings[h, d, h]` when
there is none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treetune.models.base import Candidate
from treetune.models.graph import _kernels as kernels
from treetune.models.graph._arc_kernels import ProjectiveLists, SpanningLists
from treetune.models.graph.charts import make_projective, make_spanning

ScoredHeads = Candidate[NDArray[np.int32]]
Scores = NDArray[np.float64]
NO_SIBLINGS = np.empty((0, 0, 0))


def prepare(scores: Scores, siblings: Scores | None = None) -> tuple[Scores, Scores]:
    """Return the arrays as the kernels want them: float64, rows one after another."""
    siblings = NO_SIBLINGS if siblings is None else siblings
    return np.ascontiguousarray(scores, np.float64), np.ascontiguousarray(siblings, np.float64)


def found(count: int, heads: NDArray[np.int32], out: Scores) -> list[ScoredHeads]:
    assert count >= 0, "a score is not a number"
    return [Candidate(heads[rank], float(out[rank])) for rank in range(count)]


def k_best_projective(
    scores: Scores, k: int, *, siblings: Scores | None = None, space: ProjectiveLists | None = None
) -> list[ScoredHeads]:
    """Return up to `k` different projective trees, best first."""
    scores, siblings = prepare(scores, siblings)
    chart, lists = make_projective(len(scores) - 1, k=k) if space is None else space
    heads, out = np.empty((k, len(scores)), np.int32), np.empty(k)
    if k == 1:
        return found(kernels.best_projective(scores, siblings, chart, heads, out), heads, out)
    return found(kernels.k_best_projective(scores, siblings, chart, lists, heads, out), heads, out)


def best_projective(
    scores: Scores, siblings: Scores | None = None, *, space: ProjectiveLists | None = None
) -> ScoredHeads | None:
    """Return the best projective tree, or None if the allowed arcs make no such tree."""
    return next(iter(k_best_projective(scores, 1, siblings=siblings, space=space)), None)


def k_best_spanning(scores: Scores, k: int, *, space: SpanningLists | None = None) -> list[ScoredHeads]:
    """Return up to `k` different trees, best first, crossing arcs allowed."""
    scores, siblings = prepare(scores)
    contraction, partition = make_spanning(len(scores) - 1, k=k) if space is None else space
    heads, out = np.empty((k, len(scores)), np.int32), np.empty(k)
    if k == 1:
        return found(kernels.best_spanning(scores, siblings, contraction, heads, out), heads, out)
    return found(kernels.k_best_spanning(scores, siblings, contraction, partition, heads, out), heads, out)


def best_spanning(scores: Scores, *, space: SpanningLists | None = None) -> ScoredHeads | None:
    """Return the best tree, or None if the allowed arcs make no tree with one root."""
    return next(iter(k_best_spanning(scores, 1, space=space)), None)


def best_rearranged(
    scores: Scores,
    siblings: Scores,
    *,
    projective: ProjectiveLists | None = None,
    spanning: SpanningLists | None = None,
) -> ScoredHeads | None:
    """Return a tree with crossing arcs no worse than the best projective one, by changing one head at a time."""
    scores, siblings = prepare(scores, siblings)
    start = best_projective(scores, siblings, space=projective) or best_spanning(scores, space=spanning)
    if start is None:
        return None
    spanning = make_spanning(len(scores) - 1) if spanning is None else spanning
    heads, out = start.output.reshape(1, -1), np.empty(1)
    side = np.empty((2, len(scores)), np.int32)
    count = kernels.rearrange(scores, siblings, spanning.contraction, side, heads, out)
    return next(iter(found(count, heads, out)), None)
