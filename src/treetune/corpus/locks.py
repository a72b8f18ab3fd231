"""Locks on files that the kernel releases however a process ends, and the temporary files of output.

A temporary file is locked while it is written, and its name says which process of which machine writes it. A process
that was killed cannot remove its own; the next one that writes to the folder does.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_NODE = os.uname().nodename if sys.platform != "win32" else ""
_HOST = f"{zlib.crc32(_NODE.encode()):08x}"
_TEMPORARY = re.compile(r"\..*\.treetune-([0-9a-f]{8})-([0-9]{1,9})-[0-9a-f]{8}\.part", re.DOTALL)
_OWNER = re.compile(r"process [0-9]+ on [-.\w]+")
# Folders in which this process has looked for what others left.
_tidied: set[Path] = set()


class InUse(Exception):  # noqa: N818 - what to do about it is for the caller to say
    """Another process holds the lock; `owner` is what it says about itself."""

    def __init__(self, owner: str) -> None:
        super().__init__(owner)
        self.owner = owner


def try_lock(handle: int) -> bool | None:
    """Lock an open file; return whether that was possible, None where there are no locks (Windows, some networks)."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextmanager
def exclusive(path: str | Path) -> Iterator[None]:
    """Hold a lock on what `path` names, by a hidden file beside it that is removed at the end.

    Raises InUse if another process, or another block of this one, holds it.
    """
    if sys.platform == "win32":
        yield
        return
    final = Path(path).resolve()
    # All of the name in few bytes: a name can be as long as a system allows.
    lock = final.with_name(f".{final.name[:40]}.{zlib.crc32(os.fsencode(final.name)):08x}.lock")
    handle = _open_locked(lock)
    try:
        os.truncate(handle, 0)
        os.write(handle, f"process {os.getpid()} on {_NODE}".encode())
        yield
    finally:
        # Before the lock is released, so that it is not the file of another process.
        lock.unlink(missing_ok=True)
        os.close(handle)


def _open_locked(lock: Path) -> int:
    for _ in range(1000):
        handle = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o666)
        if try_lock(handle) is False:
            owner = os.read(handle, 1000).decode("ascii", "replace")
            os.close(handle)
            raise InUse(owner if _OWNER.fullmatch(owner) else "another process")
        # Its owner may have removed the file between the two lines above: then nobody else would see this lock.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), lock.lstat()):
                return handle
        os.close(handle)
    raise OSError(errno.ENOLCK, "No locks in this file system", str(lock))


def temporary_name(final: Path) -> Path:
    """Return a new name beside `final` for what is not complete yet."""
    own = f"treetune-{_HOST}-{os.getpid()}-{os.urandom(4).hex()}"
    return final.with_name(f".{final.name[:40]}.{own}.part")


def remove_stale(folder: Path) -> None:
    """Remove temporary files of processes of this machine that have ended; once in a process for each folder."""
    if sys.platform == "win32" or folder in _tidied:
        return
    _tidied.add(folder)
    # What cannot be read, locked or removed stays.
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _TEMPORARY.fullmatch(entry.name)
            if match and match[1] == _HOST and not _is_running(int(match[2])):
                with suppress(OSError):
                    _remove_unlocked(Path(entry))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _remove_unlocked(path: Path) -> None:
    # Locked, it is of a process that cannot be seen from here: another container has numbers of its own.
    handle = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        if try_lock(handle):
            path.unlink()
    finally:
        os.close(handle)
