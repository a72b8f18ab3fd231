"""Tables to TOML text; Python's own `tomllib` reads but does not write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def format_tables(tables: Mapping[str, Any]) -> str:
    """Return tables, and lists of tables, as TOML; values are texts, numbers, truth values, lists and tables."""
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
    """Return one value as TOML has it; what TOML has no word for, as Python has it."""
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
