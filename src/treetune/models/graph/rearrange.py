"""A good tree with crossing arcs under sibling scores, for which exact search is intractable.

McDonald & Pereira 2006: begin with the best projective tree and change one head at a time, the most
profitable first, while the score rises. The dependent of the root stays.
"""

from __future__ import annotations

import numpy as np

from treetune.models.graph import _kernels as kernels
from treetune.models.graph.arcs import ArcScores, ScoredHeads, SiblingScores, make_candidates, prepare
from treetune.models.graph.eisner import ProjectiveSpace, best_projective
from treetune.models.graph.spanning import SpanningSpace, best_spanning, make_spanning_space


def best_rearranged(
    scores: ArcScores,
    siblings: SiblingScores,
    *,
    projective: ProjectiveSpace | None = None,
    spanning: SpanningSpace | None = None,
) -> ScoredHeads | None:
    """Return a tree no worse than the best projective one.

    Where the allowed arcs make no projective tree, the climb begins with the best tree by arc scores alone;
    None if that is forbidden by a sibling score, or if there is none.
    """
    scores, siblings = prepare(scores, siblings)
    start = best_projective(scores, siblings, space=projective) or best_spanning(scores, space=spanning)
    if start is None:
        return None
    if spanning is None:
        spanning = make_spanning_space(len(scores) - 1)
    heads, out = start.output.reshape(1, -1), np.empty(1)
    side = np.empty((2, len(scores)), np.int32)
    found = make_candidates(kernels.rearrange(scores, siblings, spanning.contraction, side, heads, out), heads, out)
    return found[0] if found else None
