"""Which objective is updated when: Sched(j, i) of Hall et al. (2011), Algorithm 2."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from typing import TypeAlias

from treetune.errors import ConfigError

Schedule: TypeAlias = Callable[[int, int], int]
"""How many steps objective j takes in round i, both counted from 0; a bool will do. The treebank, if there is one,
is objective 0. An objective that has not started yet is not asked."""

# A schedule that gives the first objective no step in so many rounds never will.
MOST_IDLE_ROUNDS = 1_000_000


def by_rates(rates: Sequence[float]) -> Schedule:
    """Return the schedule in which objective j takes `rates[j]` steps a round, spread evenly over rounds."""

    def steps(objective: int, turn: int) -> int:
        rate = rates[objective]
        return math.floor((turn + 1) * rate) - math.floor(turn * rate)

    return steps


class Rounds:
    """The rounds of a training as its schedule and the first epochs (`starts`) of the objectives give them.

    `count` is the number of rounds so far, and `checksum` one of all numbers of steps that the schedule returned.
    """

    def __init__(self, schedule: Schedule, starts: Sequence[int], names: Sequence[str]) -> None:
        self._schedule = schedule
        self._starts = starts
        self._names = names
        self.count = 0
        self.checksum = 0

    def plan(self, epoch: int, left: int, enough: int) -> list[tuple[int, int]]:
        """Plan rounds until the first objective has `enough` steps, or all that are `left` for it in this epoch.

        Returns which objective takes how many steps. Successive steps of one objective are merged: a kernel is much
        faster on many sentences.
        """
        turns: list[tuple[int, int]] = []
        active = self._active(epoch)
        planned = idle = 0
        while planned < min(left, enough):
            idle += 1
            if idle > MOST_IDLE_ROUNDS:
                raise ConfigError(f"the schedule never takes a step on {self._names[0]!r}, which ends the epoch")
            for number in active:
                steps = self._steps(number)
                if number == 0 and steps:
                    steps = min(steps, left - planned)
                    planned += steps
                    idle = 0
                if turns and turns[-1][0] == number:
                    steps += turns.pop()[1]
                if steps:
                    turns.append((number, steps))
            self.count += 1
        return turns

    def replay(self, ends: Sequence[int], checksum: int) -> None:
        """Repeat the rounds of finished epochs, which ended after `ends` rounds, so that a stateful schedule continues.

        Raises ConfigError for another schedule than that of the `checksum`.
        """
        for epoch, end in enumerate(ends, start=1):
            active = self._active(epoch)
            while self.count < end:
                for number in active:
                    self._steps(number)
                self.count += 1
        if self.checksum != checksum:
            raise ConfigError(
                "the checkpoint is of a training with another schedule; "
                "resume with the same one, or remove it to start from the beginning"
            )

    def _active(self, epoch: int) -> list[int]:
        return [number for number, start in enumerate(self._starts) if epoch >= start]

    def _steps(self, number: int) -> int:
        steps = int(self._schedule(number, self.count))
        if steps < 0:
            raise ConfigError(
                f"the schedule gives {self._names[number]!r} {steps} steps in round {self.count}, expected 0 or more"
            )
        self.checksum = zlib.crc32(f"{number} {steps};".encode(), self.checksum)
        return steps
