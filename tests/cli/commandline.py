"""Runs the entry point in this process, as a shell would, and gives back what it wrote."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest

from treetune.cli import main
from treetune.config.task import Task
from treetune.learning.progress import Progress


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def run(*arguments: object, stdin: str | bytes = "", terminal: bool = False) -> Result:
    """Call `main` with these arguments; with `terminal`, stderr says that someone is watching."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = _stream(b""), _stream(b"")
    if terminal:
        err.isatty = lambda: True  # type: ignore[method-assign]
    with mock.patch.object(sys, "stdin", _stream(data)), redirect_stdout(out), redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return Result(code, _text(out), _text(err))


def stop_after(monkeypatch: pytest.MonkeyPatch, epochs: int, error: BaseException) -> None:
    """Let the next training end with `error` after some epochs."""
    original: Callable[..., Iterator[Progress]] = Task.train

    def train(self: Task, **options: Any) -> Iterator[Progress]:
        for step in original(self, **options):
            # The last report is before the end of the epoch, when its checkpoint is not written yet.
            if step.epoch > epochs and not step.resumed:
                raise error
            yield step

    monkeypatch.setattr(Task, "train", train)


def _stream(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
