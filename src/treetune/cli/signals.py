"""SIGTERM and SIGHUP end a command as Ctrl-C does: what is not complete is removed, and one line says so."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from treetune.cli.console import INTERRUPTED

# There is no SIGHUP on Windows.
_HANDLED = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Ending:
    """Which signal ends the command; none, or Ctrl-C, by default."""

    def __init__(self) -> None:
        self._number: int | None = None

    @property
    def title(self) -> str:
        """How the line about it begins."""
        return "interrupted" if self._number is None else f"ended by {signal.Signals(self._number).name}"

    @property
    def code(self) -> int:
        """The exit code: 128 and the number of the signal."""
        return INTERRUPTED if self._number is None else 128 + self._number

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the command by the first signal; those after it must not interrupt the cleaning up."""
        if self._number is None:
            self._number = number
            raise KeyboardInterrupt


@contextmanager
def orderly_ending() -> Iterator[Ending]:
    """Turn signals in the block into KeyboardInterrupt; those that are ignored (`nohup`) or handled stay so."""
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield ending
        return
    ours = [number for number in _HANDLED if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, ending.handle)
    try:
        yield ending
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
