"""Which objective learns when: Sched(j, i) of Hall et al. (2011), Algorithm 2."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

Schedule: TypeAlias = Callable[[int, int], int]
"""How many steps objective j takes in round i, both counted from 0; a bool will do. The treebank, if there is one,
is objective 0. An objective that has not started yet is not asked."""


def by_rates(rates: Sequence[float]) -> Schedule:
    """Return the schedule in which objective j takes `rates[j]` steps a round, spread evenly over rounds."""

    def steps(objective: int, turn: int) -> int:
        rate = rates[objective]
        return math.floor((turn + 1) * rate) - math.floor(turn * rate)

    return steps


def round_robin(objectives: int) -> Schedule:
    """Return the schedule in which one objective takes one step a round, each in its turn."""

    def steps(objective: int, turn: int) -> int:
        return int(turn % objectives == objective)

    return steps
