"""``treetune models``: the models that can be called by name, and what their files say of them."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from treetune.cli.console import note, write, write_json
from treetune.errors import ModelError
from treetune.model_names import NamedModel, model_folder, named_models
from treetune.storage import Header, inspect

_LANGUAGE = re.compile(r"([a-z]{2,3})_\w+-")
_COLUMNS = ("name", "language", "parts", "MB", "licence", "path")


def models(json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False) -> None:
    """List the models that have a name: of treetune, of TREETUNE_HOME and of installed packages."""
    rows = [_row(found) for found in named_models()]
    taken: set[str] = set()
    for row in rows:
        row["hidden"] = row["name"] in taken
        taken.add(row["name"])
    if json:
        write_json({"folder": str(model_folder()), "models": rows})
        return
    lines = [_COLUMNS, *(_cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for cells in lines:
        write("  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip())
    note(f"Models of your own: {model_folder()} (TREETUNE_HOME)")


def _row(found: NamedModel) -> dict[str, Any]:
    row: dict[str, Any] = {"name": found.name, "place": found.place, "path": str(found.path)}
    try:
        header = inspect(found.path)
    except ModelError as error:
        return {**row, "error": str(error)}
    return {
        **row,
        "language": _language(header),
        "parts": header.config.get("order") or [header.kind],
        "size": header.file_size,
        "licence": str(header.info.get("licence", "")),
    }


def _language(header: Header) -> str:
    """Return what the file notes as language, or the code with which Universal Dependencies names begin."""
    if noted := header.info.get("language"):
        return str(noted)
    training = header.info.get("training")
    file = training.get("train") if isinstance(training, dict) else None
    name = file.get("name") if isinstance(file, dict) else None
    match = _LANGUAGE.match(name) if isinstance(name, str) else None
    return match[1] if match else ""


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    path = row["path"] + (" (hidden by the one above)" if row["hidden"] else "")
    if "error" in row:
        return (row["name"], "", "", "", row["error"], path)
    parts = "+".join(map(str, row["parts"])) if isinstance(row["parts"], list) else str(row["parts"])
    return (row["name"], row["language"], parts, f"{row['size'] / 1e6:.1f}", row["licence"], path)
