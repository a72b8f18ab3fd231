"""A pool of Ray actors that work off shards: ordered by number, repeated when a worker is lost, each done once."""

from __future__ import annotations

import pickle
import re
from collections import Counter, deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import treetune
from treetune.cluster.shards import Shard
from treetune.cluster.work import Record, ShardJob, parse_shard
from treetune.errors import ModelError

# So often a shard is tried before it is given up, and so many workers in a row may be lost while they start.
MOST_ATTEMPTS = 3
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class ShardWorker:
    """An actor: has the model, which it unpickles once, and parses one shard at a time."""

    def __init__(self, payload: bytes, version: str) -> None:
        if version != treetune.__version__:
            raise ModelError(
                f"expected treetune {version} on every machine of the cluster, found {treetune.__version__} on one"
            )
        self._job: ShardJob = pickle.loads(payload)

    def ready(self) -> None:
        """Return when the model is loaded."""

    def parse(self, shard: Shard, folder: str) -> Record:
        """Parse a shard into the folder; see `parse_shard`."""
        return parse_shard(self._job, shard, folder)


@dataclass(frozen=True)
class Done:
    """A shard that was parsed."""

    shard: Shard
    record: Record


@dataclass(frozen=True)
class Lost:
    """A worker that was lost, or failed, with the reason; `shard` is what it was at, None while it started.

    With `given_up` the shard is not tried again.
    """

    shard: Shard | None
    reason: str
    given_up: bool = False


@dataclass(frozen=True)
class _Failure:
    error: BaseException
    is_gone: bool

    @property
    def reason(self) -> str:
        """The kind of the error and the first line of its message, which says what happened to a worker."""
        return f"{type(self.error).__name__}: {_lines(self.error)[0]}"

    @property
    def last_line(self) -> str:
        """The last line of the message, which has the error of a worker that could not start."""
        return _lines(self.error)[-1]


class Pool:
    """Workers of one job; there are never more than shards left to do."""

    def __init__(self, ray: Any, job: ShardJob, folder: str, *, workers: int | None) -> None:
        self._ray = ray
        threads = job.parsing.threads
        cpus = int(ray.cluster_resources().get("CPU", 1))
        self.workers = workers or max(1, cpus // threads)
        # A shard is repeated by this class and not by Ray, which knows nothing of the parts that are there.
        self._make = ray.remote(ShardWorker).options(num_cpus=threads, max_restarts=0, max_task_retries=0)
        self._payload = ray.put(pickle.dumps(job))
        self._folder = folder
        self._alive: list[Any] = []
        # What each reference that is waited for belongs to: a worker, and its shard unless it is starting.
        self._pending: dict[Any, tuple[Any, Shard | None]] = {}

    def run(self, shards: Sequence[Shard]) -> Generator[Done | Lost, None, None]:
        """Yield what becomes of shards, until each is done or given up."""
        todo, attempts, failed_starts = deque(shards), Counter[int](), 0
        try:
            while todo or self._running:
                self._start(todo)
                found, _ = self._ray.wait(list(self._pending), num_returns=1, timeout=1.0)
                for reference in found:
                    worker, shard = self._pending.pop(reference)
                    result = self._result(reference)
                    if not isinstance(result, _Failure):
                        failed_starts = 0
                        self._give(worker, todo)
                        if shard is not None:
                            yield Done(shard, result)
                    elif shard is None:
                        self._let_go(worker)
                        failed_starts += 1
                        if failed_starts >= MOST_ATTEMPTS:
                            if not self._alive:
                                raise ModelError(f"no worker of the cluster could start: {result.last_line}")
                            self.workers = len(self._alive)
                        yield Lost(None, result.reason)
                    else:
                        attempts[shard.number] += 1
                        given_up = attempts[shard.number] >= MOST_ATTEMPTS
                        if not given_up:
                            # What was lost with its worker comes next, to keep the order; what failed by itself, last.
                            (todo.appendleft if result.is_gone else todo.append)(shard)
                        if result.is_gone:
                            self._let_go(worker)
                        else:
                            self._give(worker, todo)
                        yield Lost(shard, result.reason, given_up)
        finally:
            for worker in list(self._alive):
                self._let_go(worker)

    @property
    def _running(self) -> int:
        """The number of shards that are being parsed."""
        return sum(shard is not None for _, shard in self._pending.values())

    def _start(self, todo: deque[Shard]) -> None:
        """Start as many workers as there is work for."""
        while len(self._alive) < min(self.workers, len(todo) + self._running):
            worker = self._make.remote(self._payload, treetune.__version__)
            self._alive.append(worker)
            self._pending[worker.ready.remote()] = (worker, None)

    def _let_go(self, worker: Any) -> None:
        self._alive.remove(worker)
        self._ray.kill(worker)

    def _give(self, worker: Any, todo: deque[Shard]) -> None:
        """Give a worker the next shard, or let it go."""
        if todo:
            shard = todo.popleft()
            self._pending[worker.parse.remote(shard, self._folder)] = (worker, shard)
        else:
            self._let_go(worker)

    def _result(self, reference: Any) -> Any:
        """Return what a worker returned, or how it failed."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            cause = error.cause if getattr(error, "cause", None) is not None else error
            return _Failure(cause, is_gone=False)
        except errors.RayError as error:
            return _Failure(error, is_gone=True)


def _lines(error: BaseException) -> list[str]:
    """Return the lines of a message without the colours that Ray gives them."""
    return _COLOUR.sub("", str(error)).strip().split("\n")
