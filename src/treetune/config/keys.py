"""The tables of an experiment: which keys they have, and of which kind the values are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from treetune.config.source import Source
from treetune.config.toml_text import value_text
from treetune.errors import unknown_name
from treetune.models.learning_options import LearningOptions

TABLES = ("model", "learner", "train", "objective")
# What is about the run and not about the model that comes of it.
NOT_STORED = ("model", "threads")
EPOCHS, SEED = 10, 1
# The smallest values, where there is one that is not left to the model.
LEAST = {"epochs": 1, "seed": 0, "threads": 1, "folds": 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainTable:
    """The table [train]; the names are those of the options of `treetune train`."""

    treebank: str | None = None
    dev: str | None = None
    epochs: int = EPOCHS
    seed: int = SEED
    threads: int = 1
    choose_by: str | None = None
    projectivize: bool = True
    lenient: bool = False
    base: str | None = None
    dev_base: str | None = None
    tagger: str | None = None
    folds: int | None = None
    licence: str | None = None
    model: str | None = None


class Kind(NamedTuple):
    """What a value must be, in words and as a test; `convert` makes it what Python code expects."""

    title: str
    fits: Callable[[Any], bool]
    convert: Callable[[Any], Any] = lambda value: value


_KINDS: dict[Any, Kind] = {
    str: Kind("a text", lambda value: isinstance(value, str)),
    bool: Kind("true or false", lambda value: isinstance(value, bool)),
    int: Kind("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    float: Kind(
        "a number",
        # Not a number is none.
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value == value,
        float,
    ),
    tuple: Kind(
        "a list of texts",
        lambda value: isinstance(value, list | tuple) and all(isinstance(part, str) for part in value),
        tuple,
    ),
    dict: Kind("a table", lambda value: isinstance(value, dict)),
    Any: Kind("anything", lambda value: True),
}

Hints = Mapping[str, Any]


def hints_of(config: type) -> dict[str, Any]:
    """Return the type of each field that a dataclass is made from."""
    hints = get_type_hints(config)
    return {field.name: hints[field.name] for field in fields(config) if field.init}


LEARNER_HINTS: Hints = get_type_hints(LearningOptions)


def checked(
    content: Mapping[str, Any], hints: Hints, *, table: str, source: Source, known: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the values of a table, each of the type that `hints` has for its key.

    An unknown key is a ConfigError that names the `known` ones, by default those of `hints`.
    """
    for key in content:
        if key not in hints:
            with source.within(table):
                raise unknown_name("key", key, known or hints)
    return {key: _checked(value, hints[key], key=key, table=table, source=source) for key, value in content.items()}


def _checked(value: Any, hint: Any, *, key: str, table: str, source: Source) -> Any:
    least = LEAST.get(key)
    kinds = list(_kinds_of(hint))
    for kind in kinds:
        if kind.fits(value) and (least is None or value >= least):
            return kind.convert(value)
    wanted = " or ".join(kind.title for kind in kinds) + ("" if least is None else f" of at least {least}")
    raise source.error(table, key, f"expected {wanted}, found {value_text(value)}")


def _kinds_of(hint: Any) -> Iterable[Kind]:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        for part in get_args(hint):
            if part is not NoneType:
                yield from _kinds_of(part)
    else:
        # Which of some names it is, is for whoever knows them to say.
        yield _KINDS[str if origin is Literal else origin or hint]
