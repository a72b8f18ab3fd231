"""Token roles, the events of arcs that they are, and the roles that a tree gives its words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treetune.filters import _kernels as kernels

# The eight roles of Cherry & Bergsma 2012, section 1, in the order of the kernels.
ROLES = ("NaH", "HtL1", "HtL5", "HtL*", "HtR1", "HtR5", "HtR*", "Root")
# The largest distance of the head, and its side (-1: left), of the roles that say where a head is.
HEAD_SIDES = {"HtL1": (-1, 1), "HtL5": (-1, 5), "HtL*": (-1, None), "HtR1": (1, 1), "HtR5": (1, 5), "HtR*": (1, None)}


def gold_roles(heads: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which roles the words of trees have, a row a token; the artificial roots have none.

    A head to the left or right is a word: the artificial root is neither. A word is Root if it depends on the
    artificial root and no arc passes over it, so that projectivity rules out no arc of a tree with crossing arcs.
    """
    roles = np.zeros((len(heads), len(ROLES)), np.bool_)
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    positions = np.arange(len(heads)) - starts
    is_word = positions > 0
    distance = heads - positions
    for name, (side, most) in HEAD_SIDES.items():
        length = side * distance
        there = (length > 0) & (heads > 0) & is_word
        roles[:, ROLES.index(name)] = there if most is None else there & (length <= most)
    has_dependent = np.zeros(len(heads), np.bool_)
    has_dependent[(starts + heads)[is_word]] = True
    roles[:, kernels.NOT_A_HEAD] = is_word & ~has_dependent
    # How many arcs between words pass over each token: +1 behind the left end, -1 at the right end.
    of_words = is_word & (heads > 0)
    first = np.minimum(positions, heads)[of_words] + starts[of_words] + 1
    last = np.maximum(positions, heads)[of_words] + starts[of_words]
    passing = np.zeros(len(heads) + 1, np.int64)
    np.add.at(passing, first, 1)
    np.add.at(passing, last, -1)
    roles[:, kernels.ROOT] = is_word & (heads == 0) & (np.cumsum(passing)[:-1] == 0)
    return roles


def make_work(longest: int, templates: int) -> kernels.FilterWork:
    """Return working memory for sentences of up to `longest` words."""
    return kernels.FilterWork(
        features=np.empty(templates, np.uint64),
        places=np.empty(templates, np.int64),
        scores=np.empty((longest + 1, kernels.ROLES), np.float32),
        bounds=np.empty((longest + 1, kernels.BOUNDS), np.float32),
        tags=np.empty(longest + 1, np.int32),
    )
