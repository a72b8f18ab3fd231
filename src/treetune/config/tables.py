"""The tables of a configuration: read from TOML, changed by ``table.key=value``, written as TOML and as JSON."""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treetune.corpus.files import StrPath, read_lines
from treetune.errors import ConfigError, unknown_name
from treetune.model_names import find_model, is_name
from treetune.models.registry import PARSERS

Tables = dict[str, Any]
# In the order in which they are written.
TABLES = ("model", "learner", "train", "pipeline", "run", "objective")
# The settings with a flag of their own in `treetune train`.
FLAG_NAMES = {
    "train.treebank": "TRAIN",
    "model.start_from": "--start-from",
    **{f"model.{key}": f"--{key}" for key in ("task", "parser", "beam", "features", "filter")},
    **{f"train.{key}": f"--{key}" for key in ("dev", "epochs", "seed")},
    "pipeline.entities": "--entities",
    **{f"run.{key}": f"--{key}" for key in ("model", "threads")},
}
# The keys that are shown first; the others follow in alphabetical order.
_FIRST = ("task", "parser", "start_from", "name", "learner", "treebank", "data", "dev", "loss")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a configuration was written: what messages call its keys, and the folder its paths are relative to.

    A file called `name`; with `flags`, the options of a command; without either, tables made in Python. The keys
    `changed` were given as ``table.key=value``.
    """

    name: str = ""
    folder: Path = Path()
    flags: bool = False
    changed: frozenset[str] = frozenset()

    def key(self, table: str, key: str) -> str:
        """Return what messages call a key: ``file: [table] key``; on the command line its flag, or ``table.key``."""
        if self.flags and f"{table}.{key}" in self.changed:
            return f"{table}.{key}"
        if self.flags:
            return FLAG_NAMES.get(f"{table}.{key}", f"{table}.{key}")
        return f"{self._start}[{table}] {key}"

    def short_key(self, table: str, key: str) -> str:
        """Return the same without the name of the file."""
        return self.key(table, key).removeprefix(self._start)

    def error(self, table: str, key: str, problem: str) -> ConfigError:
        """Return the error about the value of a key."""
        return ConfigError(f"{self.key(table, key)}: {problem}")

    def whole(self, message: str) -> ConfigError:
        """Return the error about several tables, or about the file as a whole."""
        return ConfigError(f"{self._start}{message}")

    @contextmanager
    def within(self, table: str) -> Iterator[None]:
        """Add the name of the table to every ConfigError in the block."""
        try:
            yield
        except ConfigError as error:
            if self.flags:
                raise
            raise ConfigError(f"{self._start}[{table}]: {error}") from None

    @property
    def _start(self) -> str:
        return f"{self.name}: " if self.name else ""

    def path(self, path: str) -> str:
        """Return a path as this process must call it."""
        return path if self.folder == Path() else str(self.folder / path)

    def model_path(self, name: str) -> str:
        """Return the path of a model, named or a file, as this process must call it."""
        return str(find_model(name)) if is_name(name) else self.path(name)

    def stored_paths(self, paths: Iterable[str]) -> dict[str, str]:
        """Return what a model stores for each path.

        Paths of a file stay as they are. Those of a command line become relative to the folder that they have in
        common: the same files give the same model, wherever they are and whatever the current folder is.
        """
        found = list(paths)
        if not self.flags:
            return {path: path for path in found}
        full = {path: os.path.abspath(path) for path in found}  # noqa: PTH100 - `resolve` would follow links
        try:
            base = os.path.commonpath([os.path.dirname(path) for path in full.values()])  # noqa: PTH120
        except ValueError:  # no paths, or on different drives
            return {path: path for path in found}
        if base == os.path.dirname(base):  # noqa: PTH120 - nothing in common but the root of all folders
            return {path: Path(path).name for path in found}
        return {path: Path(os.path.relpath(absolute, base)).as_posix() for path, absolute in full.items()}


FLAGS = Source(flags=True)
# The keys whose values are files.
_PATHS = {
    "model": ("start_from", "features", "clusters"),
    "train": ("treebank", "dev", "base", "dev_base", "tagger"),
    "pipeline": ("entities", "entities_dev", "tagger_clusters"),
    "run": ("model", "checkpoint", "log", "plot"),
    "objective": ("data", "dev"),
}


def path_places(tables: Tables) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield (name of the table, table, key) of every value that is a path, and not the name of a model or the like."""
    for name, keys in _PATHS.items():
        content = tables.get(name, {})
        for table in content if isinstance(content, list) else [content]:
            for key in keys:
                value = table.get(key)
                if isinstance(value, str) and not _is_name(key, value):
                    yield name, table, key


def _is_name(key: str, value: str) -> bool:
    """Whether a value that may be a path is the name of a model, of a parser or of a feature set."""
    if key in ("start_from", "tagger"):
        return is_name(value)
    return value in PARSERS if key == "base" else key == "features" and not value.endswith(".txt")


def read_toml(path: StrPath) -> Tables:
    """Read the tables of a TOML file."""
    try:
        return tomllib.loads("\n".join(read_lines(path)))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: expected a TOML file: {error}") from None


def check_shape(tables: Any, source: Source) -> None:
    """Raise ConfigError for unknown tables, and for what is no table."""
    for name, content in tables.items():
        if name not in TABLES:
            raise source.whole(str(unknown_name("table", name, TABLES)))
        if name != "objective" and not isinstance(content, dict):
            raise source.whole(f"expected a table [{name}], found a value")
        if name == "objective" and not (isinstance(content, list) and all(isinstance(part, dict) for part in content)):
            raise source.whole("expected each objective as a table [[objective]], in double brackets")


def merged(tables: Tables, others: Tables) -> Tables:
    """Return the tables with the keys of others in place of their own, and the objectives of both."""
    result = deepcopy(tables)
    for name, content in others.items():
        if name == "objective":
            result[name] = [*result.get(name, []), *content]
        else:
            result[name] = {**result.get(name, {}), **content}
    return result


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
    names = [objective_name(table, number) for number, table in enumerate(objectives, start=1)]
    for name in sorted(names, key=len, reverse=True):
        if rest.startswith(f"{name}."):
            return objectives[names.index(name)], rest.removeprefix(f"{name}.")
    name, dot, key = rest.partition(".")
    if not dot:
        raise ConfigError(f"expected a change as objective.NAME.key=value, found {change!r}")
    if name.isdecimal() and 1 <= int(name) <= len(objectives):
        return objectives[int(name) - 1], key
    if not names:
        raise ConfigError(f"there is no objective {name!r} to change: the configuration has none")
    raise unknown_name("objective", name, names)


def objective_name(table: Mapping[str, Any], number: int) -> str:
    """Return the name of an objective: its own, or that of its data without suffixes, or its number."""
    name, data = table.get("name"), table.get("data")
    if isinstance(name, str) and name:
        return name
    stem = Path(Path(data).name.removesuffix(".gz").removesuffix(".zst")).stem if isinstance(data, str) else ""
    return stem or str(number)


def _value(text: str) -> Any:
    try:
        found = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text.strip()
    # More than one key: the text went on after its value.
    return found["value"] if len(found) == 1 else text.strip()


def to_json(value: Any) -> Any:
    """Return tables as JSON can hold them: infinity becomes null."""
    if isinstance(value, Mapping):
        return {key: to_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(part) for part in value]
    return None if value == math.inf else value


def _from_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _from_json(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_from_json(part) for part in value]
    return math.inf if value is None else value


def stored_toml(info: Mapping[str, Any]) -> str | None:
    """Return the configuration that a model stores in its `info` as TOML, or None if it stores none."""
    found = info.get("config")
    if found is None:
        return None
    # The keys of a header are sorted by name.
    return format_tables({name: _sorted(_from_json(found[name])) for name in TABLES if name in found})


def _sorted(content: Any) -> Any:
    if isinstance(content, list):
        return [_sorted(part) for part in content]
    return dict(sorted(content.items(), key=lambda item: _FIRST.index(item[0]) if item[0] in _FIRST else 99))


def format_tables(tables: Mapping[str, Any]) -> str:
    """Return tables, and lists of tables, as TOML."""
    blocks = []
    for name, content in tables.items():
        if isinstance(content, Mapping):
            blocks.append(_block(f"[{_key(name)}]", content))
        else:
            blocks.extend(_block(f"[[{_key(name)}]]", part) for part in content)
    return "\n".join(blocks)


def _block(title: str, content: Mapping[str, Any]) -> str:
    return "".join(f"{line}\n" for line in (title, *(f"{_key(key)} = {value_text(content[key])}" for key in content)))


def value_text(value: Any) -> str:
    """Return one value as TOML; what TOML has no word for, as Python has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # The escapes of JSON are among those of TOML, which wants one more character escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {value_text(part)}" for key, part in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    return repr(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else value_text(name)
