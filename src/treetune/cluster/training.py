"""The shards of a training on a cluster: `RayPool` trains them, and `treetune.train` mixes their weights.

A shard's turn depends on nothing but the mixed weights and its own state, so that the model is that of one machine,
also when workers are lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.cluster.pool import Lost, Pool, Worker
from treetune.cluster.session import connected
from treetune.errors import ModelError
from treetune.learning.epochs import LearnerEpochs
from treetune.learning.mixing import MakePool, ShardOutcome, ShardWork, Turn, Weights, train_shard
from treetune.models.base import Learner


@dataclass(frozen=True)
class ShardTask:
    """A turn of one shard; `start` is a reference to the mixed weights and the progress of their learner."""

    number: int
    turn: Turn
    start: Any
    state: dict[str, Any] | None


class MixingWorker(Worker):
    """An actor: encodes the data once, and trains turns of any shard."""

    def __init__(self, version: str, payload: bytes) -> None:
        super().__init__(version)
        from ray import cloudpickle

        self._work: ShardWork = cloudpickle.loads(payload)
        self._learner = self._work.learner()
        self._epochs: dict[int, LearnerEpochs] = {}

    def work(self, task: ShardTask) -> ShardOutcome:
        """Train a turn of a shard."""
        import ray

        weights, progress = ray.get(task.start)
        # Taken out meanwhile: what fails begins anew.
        epochs = self._epochs.pop(task.number, None) or self._work.epochs(self._learner, task.number)
        outcome = train_shard(epochs, task.turn, weights, progress, task.state)
        self._epochs[task.number] = epochs
        return outcome


class RayPool:
    """Trains shards on the workers of a cluster, at most one a shard; `lost` is told why a worker was lost."""

    def __init__(
        self, work: ShardWork, learner: Learner[Any], *, address: str, lost: Callable[[str], None] = lambda reason: None
    ) -> None:
        self._stack = ExitStack()
        self._lost = lost
        self._ray: Any = None
        self._address, self._work = address, work

    def _connect(self) -> Pool:
        from ray import cloudpickle

        self._ray = self._stack.enter_context(connected(self._address, cpus=None))
        payload = self._ray.put(cloudpickle.dumps(self._work))
        cpus = int(self._ray.cluster_resources().get("CPU", 1))
        pool = Pool(self._ray, MixingWorker, [payload], threads=1, workers=min(self._work.shards, cpus))
        self._stack.callback(pool.close)
        return pool

    def train(
        self, turn: Turn, weights: Weights, progress: NDArray[np.int64], states: Sequence[dict[str, Any] | None]
    ) -> Iterator[tuple[int, ShardOutcome]]:
        """Train a turn on every shard; yield (number, outcome) as they end."""
        if self._ray is None:
            self._pool = self._connect()
        start = self._ray.put((weights, progress))
        # In a list, so that a worker is given the reference and takes the weights when it needs them.
        tasks = [ShardTask(index, turn, start, state) for index, state in enumerate(states)]
        with closing(self._pool.run(tasks)) as events:
            for event in events:
                if not isinstance(event, Lost):
                    yield event.task.number, event.result
                    continue
                place = "starting" if event.task is None else f"at shard {event.task.number + 1} of epoch {turn.epoch}"
                if event.given_up:
                    raise ModelError(f"a shard could not be trained; a worker was lost {place}: {event.reason}")
                self._lost(f"{place}: {event.reason}")

    def close(self) -> None:
        """End the workers, and leave the cluster."""
        self._stack.close()


def ray_pool(address: str, *, lost: Callable[[str], None] = lambda reason: None) -> MakePool:
    """Return what `treetune.train` takes as `make_pool`, to train shards on the cluster at an address."""
    return partial(RayPool, address=address, lost=lost)
