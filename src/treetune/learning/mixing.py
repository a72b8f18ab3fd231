"""Iterative parameter mixing: each turn, a learner a shard of the data, from the same weights; then their mean.

McDonald, Hall & Mann (2010), with uniform mixing weights; a turn is an epoch, or a part of one. What is mixed are
weights and the sums of their averages, so that the averaged weights are the mean over all turns and shards. A shard's
turn depends on nothing but the mixed weights and its own state, so that it can be trained anywhere, and again after a
machine was lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from treetune.errors import ConfigError, type_of
from treetune.learning.epochs import LearnerEpochs
from treetune.learning.objectives import Objective
from treetune.learning.progress import ObjectiveProgress
from treetune.learning.schedule import Schedule
from treetune.learning.streams import Shard
from treetune.models.base import Learner, Model
from treetune.models.learning_options import CRF
from treetune.weights.mixing import Cells, mix

# The cells of all stores of a learner, by their names.
Weights: TypeAlias = dict[str, Cells]


@dataclass(frozen=True)
class ShardWork:
    """What the shards of a training have in common; with it, each can be trained on another machine."""

    model: Model[Any]
    objectives: Sequence[Objective]
    starts: Sequence[int]
    shards: int
    mixes: int
    options: dict[str, Any]

    def learner(self) -> Any:
        """Return a learner as the trainer makes it: vocabulary and labels are those of all data."""
        gold = [example for one in self.objectives if one.is_intrinsic for example in one.data]
        return self.model.learner(gold, **self.options)

    def epochs(self, learner: Learner[Any], index: int) -> LearnerEpochs:
        """Return the epochs of one shard."""
        shard = Shard(index, self.shards)
        seed = self.options["seed"]
        return LearnerEpochs(learner, self.objectives, None, self.starts, seed=seed, shard=shard)


@dataclass(frozen=True, slots=True)
class Turn:
    """Part `index` of `count` of an epoch, after which the weights are mixed."""

    epoch: int
    index: int
    count: int


@dataclass(frozen=True)
class ShardOutcome:
    """The outcome of one turn on a shard: weights and progress of the learner, state, and counts to report."""

    weights: Weights
    progress: NDArray[np.int64]
    state: dict[str, Any]
    tallies: tuple[ObjectiveProgress, ...]
    words: int
    cpu_seconds: float


def train_shard(
    epochs: LearnerEpochs, turn: Turn, weights: Weights, progress: NDArray[np.int64], state: dict[str, Any] | None
) -> ShardOutcome:
    """Train a turn on one shard from the mixed weights; `state` is that of its last turn, None in the first."""
    learner: Any = epochs.learner
    learner.set_cells(weights, progress)
    if state is not None:
        epochs.restore(state)
    for _ in epochs.train(turn.epoch, turn=turn.index, turns=turn.count):
        pass
    progress = learner.tensors()["progress"]
    return ShardOutcome(learner.cells(), progress, epochs.state(), epochs.tallies(), epochs.words, epochs.cpu_seconds)


class ShardPool(Protocol):
    """Where shards are trained."""

    def train(
        self, turn: Turn, weights: Weights, progress: NDArray[np.int64], states: Sequence[dict[str, Any] | None]
    ) -> Iterator[tuple[int, ShardOutcome]]:
        """Train a turn on every shard from the same weights; yield (number, outcome) in any order."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


MakePool: TypeAlias = Callable[[ShardWork, Any], ShardPool]


class LocalPool:
    """Trains shards in this process, one after the other, all with one learner."""

    def __init__(self, work: ShardWork, learner: Learner[Any]) -> None:
        self._epochs = [work.epochs(learner, index) for index in range(work.shards)]

    def train(
        self, turn: Turn, weights: Weights, progress: NDArray[np.int64], states: Sequence[dict[str, Any] | None]
    ) -> Iterator[tuple[int, ShardOutcome]]:
        """Train the shards in order."""
        for index, (epochs, state) in enumerate(zip(self._epochs, states, strict=True)):
            yield index, train_shard(epochs, turn, weights, progress, state)

    def close(self) -> None:
        """Do nothing: what it has goes with the process."""


class MixedEpochs:
    """Epochs of a training in shards; the learner has the mixed weights after each of their turns."""

    def __init__(self, learner: Learner[Any], work: ShardWork, make_pool: MakePool) -> None:
        self._learner: Any = learner
        self._pool = make_pool(work, learner)
        self._states: list[dict[str, Any] | None] = [None] * work.shards
        self._mixes = work.mixes
        # By turn and shard, in this epoch.
        self._done: dict[tuple[int, int], ShardOutcome] = {}
        self.total = len(work.objectives[0].data)
        self._names = [objective.name for objective in work.objectives]

    @property
    def seen(self) -> int:
        """How many examples of the first objective were taken in this epoch, in the turns of shards that have ended."""
        return self.tallies()[0].seen

    @property
    def words(self) -> int:
        """The words of all their examples."""
        return sum(one.words for one in self._done.values())

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of these turns."""
        return sum(one.cpu_seconds for one in self._done.values())

    def tallies(self) -> tuple[ObjectiveProgress, ...]:
        """Return the updates on each objective, of all these turns together."""
        done = [self._done[key].tallies for key in sorted(self._done)]
        return tuple(_together(name, [one[number] for one in done]) for number, name in enumerate(self._names))

    def train(self, epoch: int) -> Iterator[None]:
        """Train an epoch, a turn of a shard before each yield, and mix the weights after each turn of all."""
        self._done = {}
        weights, progress = self._learner.cells(), self._learner.tensors()["progress"].copy()
        for turn in range(self._mixes):
            trained = self._pool.train(Turn(epoch, turn, self._mixes), weights, progress, self._states)
            for count, (index, outcome) in enumerate(trained, start=1):
                self._done[turn, index] = outcome
                if count == len(self._states):
                    weights, progress = self._mix(turn, progress)
                    if turn + 1 == self._mixes:
                        self._learner.set_cells(weights, progress)
                yield

    def _mix(self, turn: int, progress: NDArray[np.int64]) -> tuple[Weights, NDArray[np.int64]]:
        """Return the mixed weights and progress after a turn of all shards, and keep their states."""
        outcomes = [self._done[turn, index] for index in range(len(self._states))]
        mixed = {name: mix([one.weights[name] for one in outcomes]) for name in outcomes[0].weights}
        # Seeds that a learner draws from its passes must not come again.
        passes = max(int(one.progress[0]) for one in outcomes)
        seen = sum(one.tallies[0].seen for one in outcomes)
        self._states = [one.state for one in outcomes]
        self._done |= {(turn, index): replace(one, weights={}, state={}) for index, one in enumerate(outcomes)}
        return mixed, np.array([passes, progress[1] + seen])

    def state(self) -> dict[str, Any]:
        """Return where each shard is, as JSON can hold it."""
        return {"shards": self._states}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from where `state` was taken."""
        if len(state["shards"]) != len(self._states):
            raise ValueError("other shards")
        self._states = list(state["shards"])

    def close(self) -> None:
        """Release the pool."""
        self._pool.close()


def _together(name: str, parts: Sequence[ObjectiveProgress]) -> ObjectiveProgress:
    """Return the counts of all shards; costs are means over the examples seen."""
    counts = {
        one.name: sum(getattr(part, one.name) for part in parts)
        for one in fields(ObjectiveProgress)
        if one.name in ("seen", "updated", "already_best", "no_better")
    }
    found = ObjectiveProgress(name, **counts)
    costed = [part for part in parts if part.cost is not None and part.target_cost is not None]
    if not costed or not counts["seen"]:
        return found
    cost = sum((part.cost or 0.0) * part.seen for part in costed) / counts["seen"]
    target = sum((part.target_cost or 0.0) * part.seen for part in costed) / counts["seen"]
    return replace(found, cost=cost, target_cost=target)


def check_mixing(
    learner: Any, objectives: Sequence[Objective], shards: int, mixes: int, schedule: Schedule | None
) -> None:
    """Raise ConfigError for a learner whose weights cannot be mixed, or data that are too few."""
    if schedule is not None:
        raise ConfigError("shards: objectives are mixed at their rates; leave the schedule out, or train with shards=1")
    if not hasattr(learner, "set_cells"):
        raise ConfigError(f"shards: the weights of {type_of(learner)} cannot be mixed; train with shards=1")
    if learner.settings().get("learner") == CRF:
        raise ConfigError("shards: the learner crf is not mixed, its steps depend on each other; train with shards=1")
    for objective in objectives:
        if len(objective.data) < shards:
            raise ConfigError(
                f"{objective.name}: expected an example or more for each of {shards} shards, "
                f"found {len(objective.data)}; use fewer shards"
            )
    if (least := len(objectives[0].data) // shards) < mixes:
        raise ConfigError(
            f"mixes: expected at most {least}, the examples of the smallest shard, found {mixes}; mix less often"
        )
