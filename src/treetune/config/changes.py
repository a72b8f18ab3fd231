"""Changes to the tables of an experiment, as ``table.key=value``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

from treetune.config.keys import TABLES
from treetune.config.source import Source
from treetune.errors import ConfigError, unknown_name

Tables = dict[str, Any]


def changed(tables: Tables, changes: Iterable[str]) -> Tables:
    """Return the tables with every change made, one after the other; the tables themselves stay as they are.

    A change is ``train.epochs=5`` or ``objective.NAME.rate=2``, with an objective's name or its number from 1, and
    ``objective.NAME.loss.OPTION=…`` for an option of its loss. A value that is not TOML is taken for a text.
    """
    result = deepcopy(tables)
    for change in changes:
        _make(result, change)
    return result


def _make(tables: Tables, change: str) -> None:
    name, equals, text = change.partition("=")
    table, dot, key = name.strip().partition(".")
    if not (equals and dot and key):
        raise ConfigError(f"expected a change as table.key=value, found {change!r}")
    if table not in TABLES:
        raise unknown_name("table", table, TABLES)
    content: dict[str, Any]
    if table == "objective":
        content, key = _find_objective(tables.get("objective", []), key, change)
    else:
        content = tables.setdefault(table, {})
    outer, dot, inner = key.partition(".")
    if table == "objective" and outer == "loss" and dot:
        loss = content.get("loss", {})
        content["loss"] = {**({"name": loss} if isinstance(loss, str) else loss), inner: _value(text)}
    else:
        content[key] = _value(text)


def _find_objective(objectives: list[dict[str, Any]], rest: str, change: str) -> tuple[dict[str, Any], str]:
    """Return the table of the objective that `rest` begins with, by name or by number, and the key after it."""
    names = [name_of(table, number) for number, table in enumerate(objectives, start=1)]
    for name in sorted(names, key=len, reverse=True):
        if rest.startswith(f"{name}."):
            return objectives[names.index(name)], rest.removeprefix(f"{name}.")
    name, dot, key = rest.partition(".")
    if not dot:
        raise ConfigError(f"expected a change as objective.NAME.key=value, found {change!r}")
    if name.isdecimal() and 1 <= int(name) <= len(objectives):
        return objectives[int(name) - 1], key
    if not names:
        raise ConfigError(f"there is no objective {name!r} to change: the experiment has none")
    raise unknown_name("objective", name, names)


def name_of(table: dict[str, Any], number: int) -> str:
    """Return what an objective is called: its name, or that of its data without suffixes, or its number."""
    name, data = table.get("name"), table.get("data")
    if isinstance(name, str) and name:
        return name
    return (_stem(data) if isinstance(data, str) else "") or str(number)


def _stem(path: str) -> str:
    return Path(Path(path).name.removesuffix(".gz").removesuffix(".zst")).stem


def _value(text: str) -> Any:
    try:
        found = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text.strip()
    # More than one key: the text went on after its value.
    return found["value"] if len(found) == 1 else text.strip()


def check_shape(tables: Any, source: Source) -> None:
    """Raise ConfigError for unknown tables, and for what is no table."""
    for name, content in tables.items():
        if name not in TABLES:
            raise source.whole(str(unknown_name("table", name, TABLES)))
        if name != "objective" and not isinstance(content, dict):
            raise source.whole(f"expected a table [{name}], found a value")
        if name == "objective" and not (isinstance(content, list) and all(isinstance(part, dict) for part in content)):
            raise source.whole("expected each objective as a table [[objective]], in double brackets")
