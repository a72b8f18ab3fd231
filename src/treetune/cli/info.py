"""``treetune info``: what a model file says about itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any

import typer

from treetune.cli.console import write, write_json
from treetune.config.tables import stored_toml
from treetune.errors import ConfigError, ModelError
from treetune.storage import Header, inspect

LONGEST_LIST = 12
# Lines of a usual terminal, the prompt included, and how long one may be.
SCREEN, WIDTH = 23, 160


def info(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model: its file or its name.")],
    config: Annotated[
        bool, typer.Option("--config", help="Write the configuration file that trains this model again.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Write all rows, and the configuration.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Show what is inside a model: labels, training data, scores, licence, and its configuration."""
    if json and config:
        raise ConfigError("--config writes TOML, and --json has the configuration in it; leave one of them out")
    header = inspect(model)
    try:
        if config:
            write(_config_file(header, model))
        elif json:
            write_json(_content(header))
        else:
            write(_description(header) if everything else _screen(_description(header)))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelError(f"{model}: what it says of its training is not in the form of treetune ({error!r})") from None


def _description(header: Header) -> str:
    rows = _rows(header)
    width = max(len(name) for name, _ in rows)
    # A second line of a value must not look like another row.
    values = [(name, value.replace("\n", "\n" + " " * (width + 2))) for name, value in rows]
    text = "\n".join(f"{name:<{width}}  {value}".rstrip() for name, value in values)
    stored = stored_toml(header.info)
    return text if stored is None else f"{text}\n\nconfiguration\n" + indent(stored.rstrip(), "  ")


def _screen(text: str) -> str:
    """Return the first rows of a description, as many as fit on a screen."""
    lines = text.split("\n")
    if len(lines) <= SCREEN:
        return text
    shown = [line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in lines[: SCREEN - 1]]
    return "\n".join([*shown, f"… {len(lines) - len(shown):,} more lines: --all"])


def _config_file(header: Header, model: str) -> str:
    text = stored_toml(header.info)
    if text is None:
        raise ModelError(f"{model} stores no configuration: only models of 'treetune train' do")
    files = [f"# {file['name']}: sha256 {file['sha256']}" for file in _files(header.info["training"])]
    # Two keys may name one file.
    lines = [
        f"# Trains {Path(model).name} again: treetune train THIS.toml --model OUT (treetune {header.treetune}).",
        "# Paths are relative to this file. The files were:",
        *dict.fromkeys(files),
    ]
    return "\n".join([*lines, "", text.rstrip()])


def _files(content: Any) -> Iterator[dict[str, Any]]:
    """Yield the descriptions of files in what a model stores about its training."""
    if isinstance(content, dict):
        if "sha256" in content:
            yield content
        for value in content.values():
            yield from _files(value)
    elif isinstance(content, list):
        for value in content:
            yield from _files(value)


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
    # The configuration of the training is shown as TOML.
    info = {key: value for key, value in header.info.items() if key != "config"}
    return [*rows, *_flat("", info), *_flat("config", config)]


def _flat(prefix: str, content: Any) -> list[tuple[str, str]]:
    """Turn nested content into rows named by their path: ``training.seed``."""
    if isinstance(content, list) and content and all(map(_is_named, content)):
        content = {part["name"]: {key: value for key, value in part.items() if key != "name"} for part in content}
    if not isinstance(content, dict):
        return [(prefix, _text(content))]
    return [row for key, value in content.items() for row in _flat(f"{prefix}.{key}" if prefix else key, value)]


def _is_named(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("name"), str) and len(part) > 1


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
