"""The names by which a user asks for a parser, to parsers that are not trained yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treetune.errors import unknown_name
from treetune.models.base import Parser
from treetune.models.kinds import model_class

# What can be asked for, as (kind of `models.kinds`, options that the name stands for).
PARSERS: dict[str, tuple[str, dict[str, Any]]] = {
    "transition": ("transition", {}),
    "backward": ("transition", {"backward": True}),
    "graph": ("graph", {"order": 1}),
    "graph2": ("graph", {"order": 2}),
}


def parser_kind(name: str) -> str:
    """Return the kind of the parsers called `name`; an unknown name is a `ConfigError` with the table."""
    if name not in PARSERS:
        raise unknown_name("parser", name, PARSERS)
    return PARSERS[name][0]


def make_parser(name: str, **options: Any) -> Parser:
    """Return an untrained parser; a wrong name or option is a `ConfigError`, None stands for the model's default."""
    kind = parser_kind(name)
    given = {option: value for option, value in options.items() if value is not None}
    make: Callable[..., Parser] = model_class(kind)
    return make(**{**given, **PARSERS[name][1]})
