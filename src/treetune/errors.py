"""The exceptions a user may meet.

::

    TreetuneError
    ├── DataError      a file or a sentence is not what it should be
    ├── ConfigError    an option, a name or a combination of them is wrong
    ├── ModelError     a model file cannot be used, or a model is not trained yet
    └── LossError      a loss, a user's function or program, failed or gave what is not a cost

A message says where, what was expected, what was found and what to do, in one sentence. The command line
prints it without a traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from numbers import Integral


class TreetuneError(Exception):
    """Base of everything this package raises on purpose."""


class DataError(TreetuneError):
    """Bad data; `where` is made here and nowhere else, as ``path:line: column NAME:``."""

    def __init__(
        self, problem: str, *, path: str | None = None, line: int | None = None, column: str | None = None
    ) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        self.column = column
        super().__init__(str(self))

    def __str__(self) -> str:
        place = ""
        if self.path is not None:
            place = f"{self.path}:{self.line}: " if self.line is not None else f"{self.path}: "
        elif self.line is not None:
            place = f"line {self.line}: "
        if self.column is not None:
            place += f"column {self.column}: "
        return place + self.problem


class ConfigError(TreetuneError):
    """A wrong option, name or combination."""


class ModelError(TreetuneError):
    """A model file that cannot be used, or a model asked for more than it has learned."""


class LossError(TreetuneError):
    """A loss that failed, or that gave something that is not a cost."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ConfigError:
    """Return the error for a name that is not in a table, listing the table and the nearest entry."""
    names = sorted(known)
    message = f"unknown {kind} {name!r}; known: {', '.join(names)}"
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        message += f" (did you mean {near[0]!r}?)"
    return ConfigError(message)


def check_minimum(name: str, value: object, minimum: int) -> None:
    """Raise ConfigError unless a value is a whole number of at least `minimum`."""
    if not isinstance(value, Integral):
        raise ConfigError(f"{name} must be a whole number, found {value!r}")
    if value < minimum:
        raise ConfigError(f"{name} must be at least {minimum}, found {value}")


def type_of(value: object) -> str:
    """Return the type of a value with its article, for messages: ``a list``, ``an Example``, ``None``."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
