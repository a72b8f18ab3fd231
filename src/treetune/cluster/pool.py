"""A pool of Ray actors that work off tasks: in order, again when a worker is lost, each done once."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import treetune
from treetune.errors import ModelError

# So often a task is tried before it is given up, and so many workers may fail to start.
MOST_ATTEMPTS = 3
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Task(Protocol):
    """What a worker can be given; numbers tell tasks apart."""

    @property
    def number(self) -> int:
        """Its number."""
        ...


class Worker:
    """The base of actors: `work` does one task at a time."""

    def __init__(self, version: str) -> None:
        if version != treetune.__version__:
            raise ModelError(
                f"expected treetune {version} on every machine of the cluster, found {treetune.__version__} on one"
            )

    def ready(self) -> None:
        """Return when the worker has started."""

    def work(self, task: Any) -> Any:
        """Do a task and return what came of it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Done:
    """A task that was done."""

    task: Any
    result: Any


@dataclass(frozen=True)
class Lost:
    """A worker that was lost, or failed, with the reason; `task` is what it was at, None while it started.

    With `given_up` the task is not tried again.
    """

    task: Any
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
    """Workers of one kind; there are never more than tasks left to do, and `close` ends them.

    `arguments` are what they are made of, after the version of treetune; `threads` the processors that each takes.
    """

    def __init__(
        self, ray: Any, kind: type[Worker], arguments: Sequence[Any], *, threads: int, workers: int | None
    ) -> None:
        self._ray = ray
        cpus = int(ray.cluster_resources().get("CPU", 1))
        self.workers = workers or max(1, cpus // threads)
        # A task is repeated by this class and not by Ray, which knows nothing of the parts that are there.
        self._make = ray.remote(kind).options(num_cpus=threads, max_restarts=0, max_task_retries=0)
        self._arguments = arguments
        self._alive: list[Any] = []
        self._idle: list[Any] = []
        # What each reference that is waited for belongs to: a worker, and its task unless it is starting.
        self._pending: dict[Any, tuple[Any, Any]] = {}

    def run(self, tasks: Sequence[Task]) -> Generator[Done | Lost, None, None]:
        """Yield what becomes of tasks, until each is done or given up."""
        todo, attempts, failed_starts = deque(tasks), Counter[int](), 0
        while todo or self._running:
            self._start(todo)
            found, _ = self._ray.wait(list(self._pending), num_returns=1, timeout=1.0)
            for reference in found:
                worker, task = self._pending.pop(reference)
                result = self._result(reference)
                if not isinstance(result, _Failure):
                    failed_starts = 0
                    self._give(worker, todo)
                    if task is not None:
                        yield Done(task, result)
                elif task is None:
                    self._let_go(worker)
                    failed_starts += 1
                    if failed_starts >= MOST_ATTEMPTS:
                        if not self._alive:
                            raise ModelError(f"no worker of the cluster could start: {result.last_line}")
                        self.workers = len(self._alive)
                    yield Lost(None, result.reason)
                else:
                    attempts[task.number] += 1
                    given_up = attempts[task.number] >= MOST_ATTEMPTS
                    if not given_up:
                        # What was lost with its worker comes next, to keep the order; what failed by itself, last.
                        (todo.appendleft if result.is_gone else todo.append)(task)
                    if result.is_gone:
                        self._let_go(worker)
                    else:
                        self._give(worker, todo)
                    yield Lost(task, result.reason, given_up)

    def close(self) -> None:
        """End all workers."""
        for worker in list(self._alive):
            self._let_go(worker)
        self._idle.clear()
        self._pending.clear()

    @property
    def _running(self) -> int:
        """The number of tasks that are being done."""
        return sum(task is not None for _, task in self._pending.values())

    def _start(self, todo: deque[Task]) -> None:
        """Give tasks to idle workers, and start as many more as there is work for."""
        while todo and self._idle:
            self._give(self._idle.pop(), todo)
        while len(self._alive) - len(self._idle) < min(self.workers, len(todo) + self._running):
            worker = self._make.remote(treetune.__version__, *self._arguments)
            self._alive.append(worker)
            self._pending[worker.ready.remote()] = (worker, None)

    def _let_go(self, worker: Any) -> None:
        self._alive.remove(worker)
        self._ray.kill(worker)

    def _give(self, worker: Any, todo: deque[Task]) -> None:
        """Give a worker the next task, if there is one."""
        if todo:
            task = todo.popleft()
            self._pending[worker.work.remote(task)] = (worker, task)
        else:
            self._idle.append(worker)

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
