"""The epochs of one learner: whose turn it is, by the schedule, and the state from which they continue."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from treetune.learning.objectives import Objective
from treetune.learning.progress import ObjectiveProgress
from treetune.learning.schedule import Rounds, Schedule, by_rates
from treetune.learning.streams import WHOLE, Shard, Stream
from treetune.models.base import Learner

# A report is made after this many sentences of the first objective.
REPORT_EVERY = 256


class LearnerEpochs:
    """Trains a learner on all data of the objectives, or on a shard of them; `starts` are their first epochs."""

    def __init__(
        self,
        learner: Learner[Any],
        objectives: Sequence[Objective],
        schedule: Schedule | None,
        starts: Sequence[int],
        *,
        seed: int,
        shard: Shard = WHOLE,
    ) -> None:
        self.learner = learner
        self._starts = starts
        self._streams = _make_streams(objectives, learner, seed, shard)
        self._rounds = Rounds(
            schedule or by_rates([objective.rate_beside(len(objectives[0].data)) for objective in objectives]),
            starts,
            [objective.name for objective in objectives],
        )
        self._rounds_by_epoch: list[int] = []
        self.cpu_seconds = 0.0

    @property
    def total(self) -> int:
        """The number of examples of the first objective, which are an epoch."""
        return len(self._streams[0])

    @property
    def seen(self) -> int:
        """How many of them were taken in this epoch."""
        return self._streams[0].seen

    @property
    def words(self) -> int:
        """The words of all examples in this epoch."""
        return sum(stream.words for stream in self._streams)

    def tallies(self) -> tuple[ObjectiveProgress, ...]:
        """Return the updates on each objective since the start of the epoch."""
        return tuple(stream.progress() for stream in self._streams)

    def train(self, epoch: int, *, turn: int = 0, turns: int = 1) -> Iterator[None]:
        """Train an epoch or one of its turns, a part before each yield, at least one; counts are of the turn."""
        if turn == 0 and epoch > 1 and epoch in self._starts:
            self.learner.restart_average()
        for stream in self._streams:
            stream.start_epoch()
        main = self._streams[0]
        total = len(main) * (turn + 1) // turns - len(main) * turn // turns
        started = time.process_time()
        while main.seen < total:
            for number, steps in self._rounds.plan(epoch, total - main.seen, REPORT_EVERY):
                self._streams[number].take(steps)
            self.cpu_seconds = time.process_time() - started
            yield
        self._rounds_by_epoch[epoch - 1 :] = [self._rounds.count]

    def state(self) -> dict[str, Any]:
        """Return where it is at the end of an epoch or turn, but for the learner, as JSON can hold it."""
        return {
            "rounds_by_epoch": list(self._rounds_by_epoch),
            "schedule_checksum": self._rounds.checksum,
            "streams": [stream.state() for stream in self._streams],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from where `state` was taken; this one may have come as far already, but no further."""
        self._rounds_by_epoch = list(state["rounds_by_epoch"])
        self._rounds.replay(self._rounds_by_epoch, state["schedule_checksum"])
        # A pretraining cache knows nothing of objectives that were yet to start.
        for stream, position in zip(self._streams, state["streams"], strict=False):
            stream.restore(position)


def _make_streams(objectives: Sequence[Objective], learner: Learner[Any], seed: int, shard: Shard) -> list[Stream]:
    streams, first = [], 0
    for number, objective in enumerate(objectives):
        streams.append(Stream(objective, learner, seed=seed, number=number, first=first, shard=shard))
        first += len(objective.data) if objective.is_intrinsic else 0
    return streams
