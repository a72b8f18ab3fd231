"""The searches of the kernels as functions of score matrices.

`scores[h, d]` is the score of the arc from h to d, both counted from the root 0; -inf forbids an arc.
`siblings[h, d, s]` is added when s is the dependent of h that is nearest to d between h and d; `siblings[h, d, h]` when
there is none. `grands[h, d, g]` is added when g is the head of h, which is not the root.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treetune.models.base import Candidate
from treetune.models.graph import _kernels as kernels
from treetune.models.graph._arc_kernels import DIRECTIONS, KINDS
from treetune.models.graph._sentence_kernels import ProjectiveLists, SpanningLists
from treetune.models.graph._sibling_kernels import LAYOUT, Siblings
from treetune.models.graph._third_order_kernels import Grandparents
from treetune.models.graph.charts import make_arcs, make_projective, make_spanning
from treetune.weights._flat_kernels import FlatStore

ScoredHeads = Candidate[NDArray[np.int32]]
Scores = NDArray[np.float64]
EMPTY_STORE = FlatStore(np.zeros(2, np.uint64), np.zeros(2, np.int16), np.ones(1, np.uint64), np.zeros(1, np.uint64))


def remembered(siblings: Scores | None, size: int) -> Siblings:
    """Return sibling scores of which every one is known: one group, each word in a class of its own."""
    groups = int(siblings is not None)
    cells = np.full((2 * groups, size, size, size + 1), np.nan)
    if siblings is not None:
        h, d, s = np.indices(siblings.shape)
        cells[(d > h).astype(int), h, d, np.where(s == h, size, s)] = siblings
    token = np.arange(size + 1)
    classes = np.stack([token * size * (size + 1), token * (size + 1), token]).astype(np.uint32)
    layout = np.array([[0, size * size * (size + 1), size + 1, 0, 0]], np.int64)
    assert layout.shape[1] == LAYOUT
    return Siblings(
        layout=layout[:groups],
        classes=classes[None][:groups],
        memo=cells.ravel(),
        rows=np.full((2, size + 1), np.nan),
        thirds=np.zeros(size + 1, np.int32),
        none=size,
        parts=np.zeros((6, size + 1, 0), np.uint64),
        extra=np.zeros((KINDS + DIRECTIONS, 0), np.uint64),
        features=np.zeros(0, np.uint64),
        targets=np.zeros(0, np.int64),
        indices=np.zeros(0, np.int64),
        store=EMPTY_STORE,
        unit=1.0,
    )


def prepare(scores: Scores, siblings: Scores | None = None) -> tuple[Scores, Siblings]:
    """Return the scores as the kernels want them: float64, rows one after another; siblings by class."""
    return np.ascontiguousarray(scores, np.float64), remembered(siblings, len(scores))


def found(count: int, heads: NDArray[np.int32], out: Scores) -> list[ScoredHeads]:
    assert count >= 0, "a score is not a number"
    return [Candidate(heads[rank], float(out[rank])) for rank in range(count)]


def k_best_projective(
    scores: Scores,
    k: int,
    *,
    siblings: Scores | None = None,
    grands: Scores | None = None,
    space: ProjectiveLists | None = None,
) -> list[ScoredHeads]:
    """Return up to `k` different projective trees, best first."""
    scores, known = prepare(scores, siblings)
    third_order = grands is not None
    chart, lists = make_projective(len(scores) - 1, k=k, third_order=third_order) if space is None else space
    third = None
    if grands is not None:
        # Scores of the two sides of a head are kept apart.
        sides = remembered(grands, len(scores)), remembered(grands, len(scores))
        third = Grandparents(make_arcs(len(scores) - 1), *sides)
    heads, out = np.empty((k, len(scores)), np.int32), np.empty(k)
    if k == 1:
        return found(kernels.best_projective(scores, known, third, chart, heads, out), heads, out)
    return found(kernels.k_best_projective(scores, known, third, chart, lists, heads, out), heads, out)


def best_projective(
    scores: Scores,
    siblings: Scores | None = None,
    *,
    grands: Scores | None = None,
    space: ProjectiveLists | None = None,
) -> ScoredHeads | None:
    """Return the best projective tree, or None if the allowed arcs make no such tree."""
    return next(iter(k_best_projective(scores, 1, siblings=siblings, grands=grands, space=space)), None)


def k_best_spanning(scores: Scores, k: int, *, space: SpanningLists | None = None) -> list[ScoredHeads]:
    """Return up to `k` different trees, best first, crossing arcs allowed."""
    scores, _ = prepare(scores)
    contraction, partition = make_spanning(len(scores) - 1, k=k) if space is None else space
    heads, out = np.empty((k, len(scores)), np.int32), np.empty(k)
    if k == 1:
        return found(kernels.best_spanning(scores, contraction, heads, out), heads, out)
    return found(kernels.k_best_spanning(scores, contraction, partition, heads, out), heads, out)


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
    scores, known = prepare(scores, siblings)
    start = best_projective(scores, siblings, space=projective) or best_spanning(scores, space=spanning)
    if start is None:
        return None
    spanning = make_spanning(len(scores) - 1) if spanning is None else spanning
    heads, out = start.output.reshape(1, -1), np.empty(1)
    side = np.empty((2, len(scores)), np.int32)
    count = kernels.rearrange(scores, known, spanning.contraction, side, heads, out)
    return next(iter(found(count, heads, out)), None)
