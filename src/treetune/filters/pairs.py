"""Templates of the quadratic filter: features of single arcs, which the filter looks at after all roles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Columns of the head, then of the dependent, each with a shift: the tag patterns of McDonald et al. 2005.
PAIRS = (
    "H.t D.t",
    "H.w D.t",
    "H.t D.w",
    "H.w D.w",
    "H.t H+1.t D.t D-1.t",
    "H.t H-1.t D.t D-1.t",
    "H.t H+1.t D.t D+1.t",
    "H.t H-1.t D.t D+1.t",
    "H.t H+1.t D.t",
    "H.t H-1.t D.t",
    "H.t D.t D-1.t",
    "H.t D.t D+1.t",
)
# Weights of hashed features.
PAIR_WEIGHTS = 1 << 20


def compile_pairs(columns: Sequence[str]) -> NDArray[np.int32]:
    """Return (column, shift) of the four places of every template; the column is -1 where there is none."""
    compiled = np.zeros((len(PAIRS), 4, 2), np.int32)
    compiled[:, :, 0] = -1
    for number, template in enumerate(PAIRS):
        used = {"H": 0, "D": 2}
        for atom in template.split():
            place, _, column = atom.partition(".")
            if column in columns:
                compiled[number, used[place[0]]] = list(columns).index(column), int(place[1:] or 0)
            used[place[0]] += 1
    return compiled
