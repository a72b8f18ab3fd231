"""An external program as a loss: one JSON object a line goes in, one number a line comes out.

The protocol is in docs/writing-losses.md.
"""

from __future__ import annotations

import json
import math
import shlex
import threading
import weakref
from collections.abc import Sequence
from typing import Any, ClassVar

from treetune.corpus.sentence import UNKNOWN_HEAD, UNKNOWN_LABEL, Sentence, Tree
from treetune.errors import ConfigError, DataError, LossError
from treetune.losses.base import Loss, not_a_cost, quote
from treetune.losses.process import ProgramError, RunningProgram

SENTENCE_COLUMNS = ("forms", "lemmas", "upos", "xpos", "feats", "misc", "comments")


class Program(Loss[Any, Any]):
    """An external program as a loss: it reads outputs and answers with costs.

    It is started when the first cost is asked for, and then kept. It stops by itself with the process that uses it;
    `close` stops it at once. A pickled loss takes its command along and starts a program of its own.

    Args:
        command: The program and its arguments, as a list, or as one string that is split as a shell would.
        timeout: How many seconds it may take to answer one list of candidates; for the first list that includes
            starting.

    Raises:
        ConfigError: the command is empty, or the timeout is not above 0.
    """

    name: ClassVar[str] = "program"

    def __init__(self, command: str | Sequence[str], *, timeout: float = 60.0) -> None:
        self._command = _as_command(command)
        self._timeout = _as_timeout(timeout)
        self._lock = threading.Lock()
        self._running: RunningProgram | None = None
        self._stop_at_exit: weakref.finalize[..., Any] | None = None

    def __repr__(self) -> str:
        return f"Program({self._command!r}, timeout={self._timeout!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self._command, self._timeout)

    def __call__(self, sentence: Sentence, output: Any, reference: Any) -> float:
        """Return the program's answer for one output."""
        return self.costs(sentence, (output,), reference)[0]

    def costs(self, sentence: Sentence, outputs: Sequence[Any], reference: Any) -> list[float]:
        """Return the program's answers; a LossError if it cannot start, dies, hangs or answers nonsense."""
        try:
            lines = request_lines(sentence, outputs, reference)
        except (TypeError, ValueError) as error:
            raise LossError(
                f"loss {self._title}: cannot write the sentence {quote(sentence)} as JSON: {error}"
            ) from error
        if not lines:
            return []
        with self._lock:
            return self._ask(lines, sentence)

    def check(self, sentence: Sentence, reference: Any) -> None:
        """Raise DataError unless JSON can hold the reference."""
        try:
            _as_json(reference)
        except (TypeError, ValueError) as error:
            raise DataError(f"loss {self.name} needs a reference that JSON can hold: {error}") from error

    def settings(self) -> dict[str, Any]:
        """Return the command, split, and the timeout."""
        return {"name": self.name, "command": list(self._command), "timeout": self._timeout}

    def close(self) -> None:
        """Let the program end; it is killed if it does not."""
        with self._lock:
            self._stop()

    @property
    def _title(self) -> str:
        return f"program {shlex.join(self._command)!r}"

    def _ask(self, lines: list[bytes], sentence: Sentence) -> list[float]:
        running = self._running or self._start()
        title = self._title
        try:
            return running.ask(
                lines, lambda answer: _as_cost(answer, of=title, sentence=sentence), timeout=self._timeout
            )
        except BaseException as error:
            self._stop()
            if isinstance(error, ProgramError):
                raise LossError(f"loss {title}, sentence {quote(sentence)}: it {error}") from None
            raise

    def _start(self) -> RunningProgram:
        try:
            running = RunningProgram(self._command)
        except (OSError, ValueError) as error:
            raise LossError(f"loss {self._title}: cannot start it: {error}") from error
        self._running = running
        self._stop_at_exit = weakref.finalize(self, running.close)
        return running

    def _stop(self) -> None:
        if self._stop_at_exit is not None:
            self._stop_at_exit()
        self._running = self._stop_at_exit = None


def _unpickle(command: tuple[str, ...], timeout: float) -> Program:
    return Program(command, timeout=timeout)


def request_lines(sentence: Sentence, outputs: Sequence[Any], reference: Any) -> list[bytes]:
    """Return the line for each output; TypeError or ValueError if JSON cannot hold something."""
    # What all lines share is written once.
    shared = f'{{"sentence": {_as_json(sentence)}, "reference": {_as_json(reference)}, "candidate": '
    return [f"{shared}{_as_json(output)}}}\n".encode("ascii") for output in outputs]


def _as_json(value: Any) -> str:
    # Only ASCII, so that the program's idea of an encoding does not matter, nor what else ends a line in Unicode.
    return json.dumps(value, default=_as_table, allow_nan=False)


def _as_table(value: Any) -> dict[str, Any]:
    if isinstance(value, Tree):
        return {
            "heads": [None if head == UNKNOWN_HEAD else head for head in value.heads],
            "labels": [None if label == UNKNOWN_LABEL else label for label in value.labels],
        }
    if isinstance(value, Sentence):
        return {column: getattr(value, column) for column in SENTENCE_COLUMNS}
    raise TypeError(f"found a value of type {type(value).__name__}")


def _as_cost(answer: str, *, of: str, sentence: Sentence) -> float:
    try:
        cost = math.nan if "_" in answer else float(answer)  # Python reads 1_0 as ten, nobody else does
    except ValueError:
        cost = math.nan
    if not (math.isfinite(cost) and cost >= 0):
        raise not_a_cost(repr(answer), of=of, sentence=sentence)
    return cost


def _as_command(command: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(command, str):
        try:
            command = shlex.split(command)
        except ValueError as error:
            raise ConfigError(f"command {command!r} cannot be split into words: {error}") from error
    if not (isinstance(command, list | tuple) and command and all(isinstance(word, str) and word for word in command)):
        raise ConfigError(
            f"command must be a program with its arguments, as in ['python', 'metric.py'], found {command!r}"
        )
    return tuple(command)


def _as_timeout(timeout: Any) -> float:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not (0 < timeout < math.inf):
        raise ConfigError(f"timeout must be a number of seconds above 0, found {timeout!r}")
    return float(timeout)
