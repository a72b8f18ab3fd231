"""The best projective trees of a sentence from its arc scores, and optionally scores of adjacent siblings.

First order: Eisner 1996. Siblings: McDonald & Pereira 2006. Lists: Huang & Chiang 2005, algorithm 3. All are
exact, and every tree has exactly one dependent of the root.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treetune.models.graph import _kernels as kernels
from treetune.models.graph.arcs import (
    ArcScores,
    ScoredHeads,
    SiblingScores,
    check_room,
    make_candidates,
    prepare,
)


@dataclass(frozen=True, slots=True)
class ProjectiveSpace:
    """Working memory for sentences of up to `longest` words and lists of up to `k` trees; one a thread."""

    longest: int
    k: int
    chart: kernels.Chart
    lists: kernels.Lists


def _slots(longest: int, k: int) -> int:
    """Return how many vertices can be asked for lists: those of k derivations, at most all of the chart."""
    return min(3 * longest * k, kernels.VERTEX_PLANES * (longest + 1) ** 2) + 1


def projective_bytes(longest: int, *, k: int = 1) -> int:
    """Return the size of the working memory, so that a caller can refuse before it is taken."""
    area, slots = (longest + 1) ** 2, _slots(longest, k) if k > 1 else 0
    chart = 8 * kernels.PLANES * area + 8 * (longest + 1) + 4 * (6 * longest + 6)
    lists = 4 * (kernels.VERTEX_PLANES * area + 1) + slots * (16 + 60 * k) + 4 * (9 * longest + 9)
    return chart + (lists if k > 1 else 0)


def make_projective_space(longest: int, *, k: int = 1) -> ProjectiveSpace:
    """Take working memory; `projective_bytes` says how much."""
    area, slots = (longest + 1) ** 2, _slots(longest, k) if k > 1 else 0
    many = int(k > 1)
    return ProjectiveSpace(
        longest,
        k,
        kernels.Chart(
            cells=np.empty(kernels.PLANES * area),
            row=np.empty(longest + 1),
            stack=np.empty(6 * longest + 6, np.int32),
        ),
        kernels.Lists(
            slots=np.empty(many * (kernels.VERTEX_PLANES * area + 1), np.int32),
            about=np.empty((slots, 4), np.int32),
            entry_score=np.empty(slots * 3 * k),
            entry=np.empty((slots * 3 * k, 3), np.int32),
            stack=np.empty(many * (9 * longest + 9), np.int32),
        ),
    )


def best_projective(
    scores: ArcScores, siblings: SiblingScores | None = None, *, space: ProjectiveSpace | None = None
) -> ScoredHeads | None:
    """Return the best projective tree, or None if the allowed arcs make no such tree; O(n^3)."""
    found = k_best_projective(scores, 1, siblings=siblings, space=space)
    return found[0] if found else None


def k_best_projective(
    scores: ArcScores, k: int, *, siblings: SiblingScores | None = None, space: ProjectiveSpace | None = None
) -> list[ScoredHeads]:
    """Return up to `k` different projective trees, best first; fewer only if there are no more."""
    scores, siblings = prepare(scores, siblings)
    longest = len(scores) - 1
    if space is None:
        space = make_projective_space(longest, k=max(k, 1))
    check_room(scores, k, longest=space.longest, most=space.k)
    heads, out = np.empty((k, longest + 1), np.int32), np.empty(k)
    if k == 1:
        count = kernels.best_projective(scores, siblings, space.chart, heads, out)
    else:
        count = kernels.k_best_projective(scores, siblings, space.chart, space.lists, heads, out)
    return make_candidates(count, heads, out)
