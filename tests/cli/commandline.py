"""Runs the entry point in this process, as a shell would, and gives back what it wrote."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

from treetune.cli import main


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


def _stream(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
