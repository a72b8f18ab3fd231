"""Requests for models, which wait for their turn; texts for the same model that wait together are parsed together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
# Texts that are parsed together.
BATCH = 64


class TooManyRequests(Exception):  # noqa: N818 - an answer to a client, not a fault
    """The queue is full."""


class RequestQueue:
    """A queue before one thread that computes; kernels release the lock of Python, so that the server still answers.

    Args:
        limit: How many requests may wait.
        seconds: How long one may take, the wait included; TimeoutError after that.
    """

    def __init__(self, limit: int, seconds: float) -> None:
        self._limit, self._seconds = limit, seconds
        self._waiting = 0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="models")
        self._tasks: set[asyncio.Task[None]] = set()
        self._batches: dict[Hashable, list[tuple[Any, asyncio.Future[Any]]]] = {}

    async def run(self, work: Callable[[], T]) -> T:
        """Return the result of a function."""
        return await self._waited(asyncio.get_running_loop().run_in_executor(self._pool, work))

    async def run_with_others(self, key: Hashable, item: Any, work: Callable[[Sequence[Any]], Sequence[Any]]) -> Any:
        """Return the result for one item; `work` is called with all items of the same `key` that wait by then.

        A result that is an exception is raised.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        waiting = self._batches.setdefault(key, [])
        waiting.append((item, future))
        if len(waiting) == 1:
            task = loop.create_task(self._work_off(key, work))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        found = await self._waited(future)
        if isinstance(found, Exception):
            raise found
        return found

    async def _work_off(self, key: Hashable, work: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        loop = asyncio.get_running_loop()
        while self._batches.get(key):
            # What came while the last batch was computed is the next one.
            taken = self._batches[key][:BATCH]
            batch = [pair for pair in taken if not pair[1].done()]
            found: Sequence[Any]
            try:
                found = await loop.run_in_executor(self._pool, work, [item for item, _ in batch]) if batch else ()
            except Exception as error:
                found = [error] * len(batch)
            del self._batches[key][: len(taken)]
            for (_, future), one in zip(batch, found, strict=True):
                if not future.done():
                    future.set_result(one)
        self._batches.pop(key, None)

    async def _waited(self, future: asyncio.Future[T]) -> T:
        if self._waiting >= self._limit:
            future.cancel()
            raise TooManyRequests
        self._waiting += 1
        try:
            return await asyncio.wait_for(future, self._seconds)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End the thread; what still waits is dropped."""
        self._pool.shutdown(wait=False, cancel_futures=True)
