"""The states of a beam to a list of distinct trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Tree
from treetune.models.base import Candidate
from treetune.models.labels import LabelTable
from treetune.models.transition.search import Found

# A k-best list is searched with at least this many times k states, since some trees come twice.
STATES_PER_CANDIDATE = 1.25


def first_beam(beam: int, k: int) -> int:
    """Return the beam with which to look for k distinct trees; if it finds fewer, it is to be doubled."""
    return max(beam, int(k * STATES_PER_CANDIDATE) if k > 1 else 1)


def distinct(
    found: Found,
    place: int,
    offsets: NDArray[np.int64],
    k: int,
    *,
    labels: LabelTable,
    fixed_heads: NDArray[np.int32],
    scale: float,
) -> list[Candidate[Tree]]:
    """Return up to k distinct trees of one sentence, best first; scores are divided by `scale`."""
    start, end = int(offsets[place]), int(offsets[place + 1])
    if end - start == 1:
        return [Candidate(Tree.unknown(0), 0.0)]
    steps = slice(2 * start, 2 * start + 2 * (end - start - 1))
    words = slice(start, end)
    candidates: dict[Tree, Candidate[Tree]] = {}
    for rank in range(int(found.widths[place])):
        tree = labels.tree(found.heads[rank, words], found.labels[rank, words], fixed_heads[words])
        if tree not in candidates:
            score = float(found.scores[place, rank]) / scale
            candidates[tree] = Candidate(tree, score, tuple(found.actions[rank, steps].tolist()))
        if len(candidates) == k:
            break
    return list(candidates.values())
