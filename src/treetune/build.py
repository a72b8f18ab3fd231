"""The names by which a user asks for a parser or a tagger, to models that are not trained yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treetune.errors import unknown_name
from treetune.models.base import Model, Parser
from treetune.models.registry import model_class

# What can be asked for, as (kind of `models.registry`, options that the name stands for).
PARSERS: dict[str, tuple[str, dict[str, Any]]] = {
    "transition": ("transition", {}),
    "backward": ("transition", {"backward": True}),
    "graph": ("graph", {"order": 1}),
    "graph2": ("graph", {"order": 2}),
}

# The kind of taggers, and what it can be asked to do, as (options that the name stands for, other defaults).
TAGGER = "tagger"
TASKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tag": ({"spans": False}, {}),
    "ner": ({"spans": True}, {"columns": ("ner",), "features": "ner", "inputs": ("upos",)}),
}


def make_model(name: str, **options: Any) -> Model[Any]:
    """Return an untrained parser, or the tagger of a task; None stands for the default of an option."""
    if name not in TASKS:
        return make_parser(name, **options)
    fixed, defaults = TASKS[name]
    given = {option: value for option, value in options.items() if value is not None}
    make: Callable[..., Model[Any]] = model_class(TAGGER)
    return make(**{**defaults, **given, **fixed})


def fixed_options(name: str) -> dict[str, Any]:
    """Return the options that the name of a parser or a task stands for."""
    return TASKS[name][0] if name in TASKS else PARSERS[name][1]


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
