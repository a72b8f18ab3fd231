"""The tables of an experiment as JSON holds them, in a model file, and back to TOML."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from treetune.config.toml_text import format_tables


def to_json(value: Any) -> Any:
    """Return tables as JSON can hold them: infinity, which JSON has no word for, becomes null."""
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


def experiment_text(info: Mapping[str, Any]) -> str | None:
    """Return the experiment that a model notes in its `info` as TOML, or None if it notes none."""
    found = info.get("experiment")
    if found is None:
        return None
    # A header has its keys sorted; a reader wants the tables in the order of the work.
    order = [name for name in ("model", "learner", "train", "objective") if name in found]
    return format_tables({name: _sorted(_from_json(found[name])) for name in order})


_FIRST = ("parser", "start_from", "name", "learner", "treebank", "data", "dev", "loss")


def _sorted(content: Any) -> Any:
    if isinstance(content, list):
        return [_sorted(part) for part in content]
    return dict(sorted(content.items(), key=lambda item: _FIRST.index(item[0]) if item[0] in _FIRST else 99))
