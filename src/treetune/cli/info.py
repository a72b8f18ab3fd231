"""``treetune info``: what a model file says about itself."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from treetune.cli.console import write, write_json
from treetune.storage import Header, inspect

LONGEST_LIST = 12


def info(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Show what is inside a model: configuration, labels, training data, scores, licence."""
    header = inspect(model)
    if json:
        write_json(_content(header))
    else:
        rows = _rows(header)
        width = max(len(name) for name, _ in rows)
        write("\n".join(f"{name:<{width}}  {value}".rstrip() for name, value in rows))


def _content(header: Header) -> dict[str, Any]:
    return {
        "format": header.format,
        "treetune": header.treetune,
        "kind": header.kind,
        "file_size": header.file_size,
        "parameters": header.parameters,
        "labels": list(header.labels),
        "config": header.config,
        "tensors": header.tensors,
        "info": header.info,
    }


def _rows(header: Header) -> list[tuple[str, str]]:
    rows = [
        ("kind", header.kind),
        ("treetune", f"{header.treetune} (model format {header.format})"),
        ("size", f"{header.file_size / 1e6:,.2f} MB, {header.parameters:,} values"),
        (f"labels ({len(header.labels)})", " ".join(header.labels)),
    ]
    config = {key: value for key, value in header.config.items() if key != "labels"}
    return [*rows, *_flat("", header.info), *_flat("config", config)]


def _flat(prefix: str, content: Any) -> list[tuple[str, str]]:
    """Turn nested content into rows named by their path: ``training.seed``."""
    if not isinstance(content, dict):
        return [(prefix, _text(content))]
    return [row for key, value in content.items() for row in _flat(f"{prefix}.{key}" if prefix else key, value)]


def _text(value: Any) -> str:
    if isinstance(value, list):
        # A vocabulary is for --json.
        long = len(value) > LONGEST_LIST or any(isinstance(item, dict | list) for item in value)
        return f"({len(value):,} entries)" if long else " ".join(map(_text, value))
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
