"""One process at a time compiles a kernel: others that need it too wait, and load what it wrote.

A lock ends with its process, however that ends. It saves work and nothing depends on it: where there are no locks, or
one is held for longer than compiling takes, processes compile the same kernel and write the same file.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from pathlib import Path

from treetune.corpus.locks import InUse, exclusive

# The largest kernel takes ten seconds on a processor of its own.
_PATIENCE = 60.0
_PAUSE = 0.02
_held: dict[str, ExitStack] = {}
# Processes that have held a lock for so long that they are not waited for again.
_given_up: set[str] = set()


def hold(path: Path) -> None:
    """Lock the file of a kernel when no other process holds it, or go on without a lock if that takes too long.

    Raises OSError if the folder cannot be written to.
    """
    end = time.monotonic() + _PATIENCE
    while path.name not in _held:
        lock = ExitStack()
        try:
            lock.enter_context(exclusive(path))
            _held[path.name] = lock
        except InUse as error:
            if time.monotonic() > end:
                _given_up.add(error.owner)
            if error.owner in _given_up:
                return
            time.sleep(_PAUSE)


def release(name: str) -> None:
    """Release the lock of a kernel's file, if it is held."""
    if name in _held:
        # The folder may have been removed, or made read-only.
        with suppress(OSError):
            _held.pop(name).close()


def release_all() -> None:
    """Release all locks: what they were taken for cannot be compiled."""
    for name in list(_held):
        release(name)
