"""A program that runs beside: lines go in, as many lines come out, or a `ProgramError` says why not.

Three threads serve its three pipes, so that no pipe can fill up and stop both sides, whatever the program does.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, TypeVar

Answer = TypeVar("Answer")

# How long a program may take to go when nothing is left to answer, and its pipes to end when it is gone.
GRACE_SECONDS = 2.0
CHUNK_BYTES = 65536
# A program that writes without end is stopped by its full pipe, not by our full memory.
WAITING_CHUNKS = 64
LONGEST_LINE = 65536
# How much of what it wrote to stderr is kept, and how much of that is quoted.
KEPT_BYTES = 8192
QUOTED_LINES = 8


class ProgramError(Exception):
    """A program that did not answer as it should; the text says what it did, as a sentence that begins with "it"."""


class RunningProgram:
    """One started program.

    `ask` may be called from one thread at a time. After any exception in it the program is stopped: its pipes may
    hold answers that nobody waits for.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Start the program; OSError if that is impossible."""
        self._process = _start(command)
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._chunks: queue.Queue[bytes] = queue.Queue(WAITING_CHUNKS)
        self._rest = b""
        self._complaints = bytearray()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._writer = threading.Thread(target=_write, args=(self._requests, self._process.stdin), daemon=True)
        self._reader = threading.Thread(target=_read, args=(self._process.stdout, self._chunks), daemon=True)
        self._keeper = threading.Thread(target=_keep, args=(self._process.stderr, self._complaints), daemon=True)
        for thread in (self._writer, self._reader, self._keeper):
            thread.start()

    def ask(self, lines: Sequence[bytes], read: Callable[[str], Answer], *, timeout: float) -> list[Answer]:
        """Write the lines and return one answer for each, as `read` understands it; it may raise what it likes.

        Raises:
            ProgramError: it is gone, is not done after `timeout` seconds, or says more than it was asked.
        """
        try:
            self._refuse_more("before it was asked")
            answers = self._exchange(lines, read, timeout)
            self._refuse_more(f"after its {len(lines)} answers")
        except BaseException:
            self.kill()
            raise
        return answers

    def _exchange(self, lines: Sequence[bytes], read: Callable[[str], Answer], timeout: float) -> list[Answer]:
        deadline = time.monotonic() + timeout
        self._requests.put(b"".join(lines))
        answers: list[Answer] = []
        while len(answers) < len(lines):
            line, newline, rest = self._rest.partition(b"\n")
            if newline:
                answers.append(read(_text(line)))
                self._rest = rest
                continue
            if len(self._rest) > LONGEST_LINE:
                raise ProgramError(f"wrote more than {LONGEST_LINE} bytes without a line end and was stopped")
            so_far = f"{len(answers)} of {len(lines)} answers"
            try:
                chunk = self._chunks.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise self._silence(so_far, timeout) from None
            if not chunk:
                raise self._death(f"after {so_far}")
            self._rest += chunk
        return answers

    def _refuse_more(self, when: str) -> None:
        """Raise if anything has arrived that nobody has asked for."""
        if not self._rest:
            with suppress(queue.Empty):
                self._rest = self._chunks.get_nowait()
                if not self._rest:
                    raise self._death(when)
        if self._rest:
            line = _text(self._rest.partition(b"\n")[0])
            raise ProgramError(f"wrote {line[:80]!r} {when}; it must write one line for each line it reads")

    def _silence(self, so_far: str, timeout: float) -> ProgramError:
        # What it has started may hold its output open when it is gone.
        if self._process.poll() is not None:
            return self._death(f"after {so_far}")
        return ProgramError(
            f"gave {so_far} within {timeout:g} seconds and was stopped; "
            f"it must answer every line and flush its output{self._last_words()}"
        )

    def _death(self, when: str) -> ProgramError:
        """Say how the program ended; its output has."""
        try:
            code = self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return ProgramError(f"closed its output {when} and was stopped{self._last_words()}")
        self._keeper.join(GRACE_SECONDS)
        return ProgramError(f"{_ending(code)} {when}{self._last_words()}")

    def _last_words(self) -> str:
        lines = _text(bytes(self._complaints)).splitlines()[-QUOTED_LINES:]
        return "; its stderr ends:\n  " + "\n  ".join(lines) if lines else "; it wrote nothing to stderr"

    def close(self) -> None:
        """End its input and let it go; kill it if it stays. Does nothing the second time."""
        self._requests.put(None)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Stop it and whatever it has started, and wait until it is gone. Does nothing the second time."""
        if self._process.poll() is None:
            _kill_group(self._process)
            self._process.wait()
        self._requests.put(None)
        deadline = time.monotonic() + GRACE_SECONDS
        while self._reader.is_alive() and time.monotonic() < deadline:
            with suppress(queue.Empty):  # it may wait for room in the queue
                self._chunks.get(timeout=0.01)
        for thread in (self._writer, self._reader, self._keeper):
            thread.join(max(0.0, deadline - time.monotonic()))


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    # A Python program that forgets to flush would seem to hang.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    pipe = subprocess.PIPE
    # Control-C is for us alone, who then stop the program: in a group of its own the terminal does not reach it,
    # and we reach what it has started, as a shell script does.
    if sys.platform == "win32":
        group = subprocess.CREATE_NEW_PROCESS_GROUP
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, creationflags=group)
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, process_group=0)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _write(requests: queue.SimpleQueue[bytes | None], pipe: IO[bytes]) -> None:
    """Write what is asked for until None comes; a program that no longer reads shows in its output."""
    with suppress(OSError), pipe:
        while (request := requests.get()) is not None:
            pipe.write(request)
            pipe.flush()


def _read(pipe: IO[bytes], chunks: queue.Queue[bytes]) -> None:
    """Pass on what arrives, and an empty chunk at the end."""
    with pipe:
        while chunk := os.read(pipe.fileno(), CHUNK_BYTES):
            chunks.put(chunk)
    chunks.put(b"")


def _keep(pipe: IO[bytes], last: bytearray) -> None:
    """Keep the last bytes that arrive."""
    with pipe:
        while chunk := os.read(pipe.fileno(), CHUNK_BYTES):
            last += chunk
            del last[:-KEPT_BYTES]


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").rstrip("\r\n")


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
