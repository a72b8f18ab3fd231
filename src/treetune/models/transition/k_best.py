"""The states of a beam to a list of distinct trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Tree
from treetune.models.base import Candidate
from treetune.models.labels import LabelTable
from treetune.models.transition._kernels import Arcs, SearchResult

# A k-best list is searched with at least this many times k states, since some trees come twice.
STATES_PER_CANDIDATE = 1.25


def first_beam(beam: int, k: int) -> int:
    """Return the beam with which to look for k distinct trees; if it finds fewer, it is to be doubled."""
    return max(beam, int(k * STATES_PER_CANDIDATE) if k > 1 else 1)


def distinct(
    result: SearchResult,
    index: int,
    offsets: NDArray[np.int64],
    k: int,
    *,
    labels: LabelTable,
    fixed: Arcs,
    scale: float,
) -> list[Candidate[Tree]]:
    """Return up to k distinct trees of one sentence, best first; scores are divided by `scale`."""
    start, end = int(offsets[index]), int(offsets[index + 1])
    if end - start == 1:
        return [Candidate(Tree.unknown(0), 0.0)]
    steps = slice(2 * start, 2 * start + 2 * (end - start - 1))
    words = slice(start, end)
    candidates: dict[Tree, Candidate[Tree]] = {}
    for rank in range(int(result.widths[index])):
        tree = labels.tree(result.heads[rank, words], result.labels[rank, words], fixed.heads[words])
        if tree not in candidates:
            score = float(result.scores[index, rank]) / scale
            candidates[tree] = Candidate(tree, score, tuple(result.actions[rank, steps].tolist()))
        if len(candidates) == k:
            break
    return list(candidates.values())
