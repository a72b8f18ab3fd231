"""Working memory of the exact searches for trees, by the length of sentences and of k-best lists.

Projective trees: Eisner 1996, with adjacent siblings McDonald & Pereira 2006, with grandparents too Koo & Collins
2010, k-best lists Huang & Chiang 2005 (algorithm 3). Crossing arcs: Tarjan 1977, k-best lists Camerini, Fratta &
Maffioli 1980 as in Hall 2007; one root as in Zmigrod et al. 2021, by lexicographic scores. Crossing arcs with
siblings: McDonald & Pereira 2006, hill climbing from the projective tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treetune.models.graph import _kernels as search
from treetune.models.graph import _sentence_kernels as kernels
from treetune.models.graph._third_order_kernels import ARC_PLANES, ArcLists


def _vertices(longest: int, third_order: bool) -> int:
    """Return how many vertices a chart can have besides the goal."""
    size = longest + 1
    return ARC_PLANES * size**3 if third_order else search.VERTEX_PLANES * size**2


def _slots(longest: int, k: int, third_order: bool) -> int:
    """Return how many vertices can be asked for lists: those of k derivations, at most all of the chart."""
    return min((4 if third_order else 3) * longest * k, _vertices(longest, third_order)) + 1


def projective_bytes(longest: int, *, k: int = 1, third_order: bool = False) -> int:
    """Return the size of the working memory, so that a caller can refuse before it is taken."""
    area, slots = (longest + 1) ** 2, _slots(longest, k, third_order) if k > 1 else 0
    vertices = _vertices(longest, third_order)
    cells = vertices if third_order else search.PLANES * area
    chart = 8 * cells + 4 * area + 20 * (longest + 1) + 4 * (8 * longest + 8)
    arcs = 20 * area + 44 * (longest + 2) if third_order else 0
    lists = 4 * (vertices + 1) + slots * (16 + 60 * k) + 4 * (12 * longest + 12)
    return chart + arcs + (lists if k > 1 else 0)


def make_arcs(longest: int) -> ArcLists:
    """Take room for the allowed arcs of a third-order search."""
    size = longest + 1
    return ArcLists(
        first=np.empty(size + 1, np.int32),
        heads=np.empty(size**2, np.int32),
        targets=np.empty(size**2, np.int32),
        begin=np.empty(size + 1, np.int32),
        dependents=np.empty(size**2, np.int32),
        arcs=np.empty(size**2, np.int32),
        ranks=np.empty(size**2, np.int32),
        left=np.empty(size, np.int32),
        reach=np.empty((2, size), np.int32),
        rows=np.empty((3, size)),
    )


def make_projective(longest: int, *, k: int = 1, third_order: bool = False) -> kernels.ProjectiveLists:
    """Take working memory for projective trees; `projective_bytes` says how much."""
    area, slots = (longest + 1) ** 2, _slots(longest, k, third_order) if k > 1 else 0
    vertices, many = _vertices(longest, third_order), int(k > 1)
    return kernels.ProjectiveLists(
        search.Chart(
            cells=np.empty(vertices if third_order else search.PLANES * area),
            row=np.empty(longest + 1),
            stack=np.empty(8 * longest + 8, np.int32),
            rightward=np.empty(longest + 1, np.int32),
            leftward=np.empty(area, np.int32),
            counts=np.empty(longest + 1, np.int64),
        ),
        search.Lists(
            slots=np.empty(many * (vertices + 1), np.int32),
            about=np.empty((slots, 4), np.int32),
            entry_score=np.empty(slots * 3 * k),
            entry=np.empty((slots * 3 * k, 3), np.int32),
            stack=np.empty(many * (12 * longest + 12), np.int32),
        ),
    )


def spanning_bytes(longest: int, *, k: int = 1) -> int:
    """Return the size of the working memory, so that a caller can refuse before it is taken."""
    size = longest + 1
    return 20 * size * size + 4 * 10 * size + 8 * size + 16 * 2 * size + 20 * k + 9 * 2 * k


def make_spanning(longest: int, *, k: int = 1) -> kernels.SpanningLists:
    """Take working memory for trees with crossing arcs; `spanning_bytes` says how much."""
    size = longest + 1

    def numbers(length: int) -> NDArray[np.int32]:
        return np.empty(length, np.int32)

    return kernels.SpanningLists(
        search.Contraction(
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
        search.Partition(
            bound=np.empty(k),
            tree=numbers(k),
            decision=numbers(k),
            arc=numbers(k),
            decision_parent=numbers(2 * k),
            decision_arc=numbers(2 * k),
            decision_required=np.empty(2 * k, np.bool_),
        ),
    )


def make_charts(options: kernels.Options, longest: int, *, k: int) -> kernels.Charts:
    """Take working memory for the search that the options ask for; None for what it does not need."""
    chart = lists = arcs = contraction = partition = climb = None
    if options.second_order or not options.crossing:
        projective = make_projective(longest, k=k, third_order=options.third_order)
        arcs = make_arcs(longest) if options.third_order else None
        chart, lists = (projective.chart, None) if k == 1 else (None, projective)
    if options.crossing:
        spanning = make_spanning(longest, k=k)
        if options.second_order:
            climb = spanning.contraction
        elif k == 1:
            contraction = spanning.contraction
        else:
            partition = spanning
    return kernels.Charts(chart, lists, arcs, contraction, partition, climb)
