"""Working memory of the exact searches for trees, by the length of sentences and of k-best lists.

Projective trees: Eisner 1996, with adjacent siblings McDonald & Pereira 2006, k-best lists Huang & Chiang 2005
(algorithm 3). Crossing arcs: Tarjan 1977, k-best lists Camerini, Fratta & Maffioli 1980 as in Hall 2007; one root as
in Zmigrod et al. 2021, by lexicographic scores. Crossing arcs with siblings: McDonald & Pereira 2006, hill climbing
from the projective tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treetune.models.graph import _kernels as search
from treetune.models.graph import _sentence_kernels as kernels


def _slots(longest: int, k: int) -> int:
    """Return how many vertices can be asked for lists: those of k derivations, at most all of the chart."""
    return min(3 * longest * k, search.VERTEX_PLANES * (longest + 1) ** 2) + 1


def projective_bytes(longest: int, *, k: int = 1) -> int:
    """Return the size of the working memory, so that a caller can refuse before it is taken."""
    area, slots = (longest + 1) ** 2, _slots(longest, k) if k > 1 else 0
    chart = (8 * search.PLANES + 4) * area + 20 * (longest + 1) + 4 * (6 * longest + 6)
    lists = 4 * (search.VERTEX_PLANES * area + 1) + slots * (16 + 60 * k) + 4 * (9 * longest + 9)
    return chart + (lists if k > 1 else 0)


def make_projective(longest: int, *, k: int = 1) -> kernels.ProjectiveLists:
    """Take working memory for projective trees; `projective_bytes` says how much."""
    area, slots = (longest + 1) ** 2, _slots(longest, k) if k > 1 else 0
    many = int(k > 1)
    return kernels.ProjectiveLists(
        search.Chart(
            cells=np.empty(search.PLANES * area),
            row=np.empty(longest + 1),
            stack=np.empty(6 * longest + 6, np.int32),
            rightward=np.empty(longest + 1, np.int32),
            leftward=np.empty(area, np.int32),
            counts=np.empty(longest + 1, np.int64),
        ),
        search.Lists(
            slots=np.empty(many * (search.VERTEX_PLANES * area + 1), np.int32),
            about=np.empty((slots, 4), np.int32),
            entry_score=np.empty(slots * 3 * k),
            entry=np.empty((slots * 3 * k, 3), np.int32),
            stack=np.empty(many * (9 * longest + 9), np.int32),
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
    chart = lists = contraction = partition = climb = None
    if options.second_order or not options.crossing:
        projective = make_projective(longest, k=k)
        chart, lists = (projective.chart, None) if k == 1 else (None, projective)
    if options.crossing:
        spanning = make_spanning(longest, k=k)
        if options.second_order:
            climb = spanning.contraction
        elif k == 1:
            contraction = spanning.contraction
        else:
            partition = spanning
    return kernels.Charts(chart, lists, contraction, partition, climb)
