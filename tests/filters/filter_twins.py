"""Plain twins of the kernels of arc filters: roles of a tree, events of an arc, which arcs are kept, the objective."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treetune.filters.roles import HEAD_SIDES, ROLES

Event = tuple[str, int]


def removes(role: str, token: int, head: int, dependent: int) -> bool:
    """Whether a role of a token removes an arc; heads to the left and right are words."""
    if role == "NaH":
        return head == token
    if role == "Root":
        is_other_root = head == 0 and dependent != token
        is_other_head = dependent == token and head != 0
        return is_other_root or is_other_head or (head > 0 and min(head, dependent) < token < max(head, dependent))
    side, most = HEAD_SIDES[role]
    if dependent != token:
        return False
    distance = side * (head - dependent)
    return head == 0 or distance < 0 or (most is not None and distance > most)


def events(head: int, dependent: int, words: int) -> set[Event]:
    """Return the set Z_a of an arc without Vine."""
    return {(role, token) for role in ROLES for token in range(1, words + 1) if removes(role, token, head, dependent)}


def roles_of(heads: Sequence[int]) -> NDArray[np.bool_]:
    """Return which roles the tokens of a tree have."""
    found = np.zeros((len(heads), len(ROLES)), np.bool_)
    for token in range(1, len(heads)):
        head = heads[token]
        found[token, ROLES.index("NaH")] = token not in heads[1:]
        for role, (side, most) in HEAD_SIDES.items():
            distance = side * (head - token)
            found[token, ROLES.index(role)] = head > 0 and 0 < distance <= (most or len(heads))
        over = any(
            heads[other] > 0 and min(other, heads[other]) < token < max(other, heads[other])
            for other in range(1, len(heads))
        )
        found[token, ROLES.index("Root")] = head == 0 and not over
    return found


def kept(scores: NDArray[np.float32], none: NDArray[np.float64], vine: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which arcs no event removes; `none` and `vine` are scores of arcs."""
    size = len(scores)
    result = np.zeros((size, size), np.bool_)
    for head in range(size):
        for dependent in range(1, size):
            if head != dependent:
                values = [scores[token, ROLES.index(role)] for role, token in events(head, dependent, size - 1)]
                result[head, dependent] = max([*values, vine[head, dependent]]) <= none[head, dependent]
    return result


def objective(
    scores: NDArray[np.float32], none: NDArray[np.float64], vine: NDArray[np.float64], heads: Sequence[int],
    costs: Sequence[float],
) -> float:  # fmt: skip
    """Return the hinge losses of equation (2) of one sentence, the best event chosen for every arc."""
    total = 0.0
    for head in range(len(heads)):
        for dependent in range(1, len(heads)):
            if head == dependent:
                continue
            values = [scores[token, ROLES.index(role)] for role, token in events(head, dependent, len(heads) - 1)]
            best = float(max([*values, vine[head, dependent]]))
            if heads[dependent] == head:
                total += costs[0] * max(0.0, 1 + best - none[head, dependent])
            else:
                total += costs[1] * max(0.0, 1 + none[head, dependent] - best)
    return total
