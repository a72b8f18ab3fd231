"""The options that commands share: which parser to train, and how."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from treetune.config.schema import TASKS, all_settings
from treetune.models.registry import PARSERS

TaskName = Annotated[
    str | None, typer.Option("--task", metavar="TASK", help=f"What to train: {', '.join(TASKS)}; parser by default.")
]
Name = Annotated[
    str | None,
    typer.Option("--parser", metavar="NAME", help=f"The parser: {', '.join(PARSERS)}; transition by default."),
]
Beam = Annotated[
    int | None, typer.Option("--beam", min=1, help="Beam width of a transition parser, 8; 1 is greedy search.")
]
Features = Annotated[
    str | None, typer.Option("--features", metavar="SET", help="Feature set: a name, or a file of templates (.txt).")
]
Filter = Annotated[
    str | None,
    typer.Option(
        "--filter", metavar="FILTER", help="Arc filter of a graph parser: joint, independent, or a trained one's file."
    ),
]
Epochs = Annotated[int | None, typer.Option("--epochs", min=1, help="Passes over TRAIN, 10.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the order of examples, 1.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="TABLE.KEY=VALUE",
        help="Any other setting, as in a configuration file; repeatable. See 'treetune train --list-settings'.",
    ),
]


def setting_hint(error: Exception) -> str:
    """Return how to give a setting that has no flag of its own, for a usage error about such a flag; else nothing."""
    flag = getattr(error, "option_name", "")
    command = getattr(getattr(error, "ctx", None), "command_path", "")
    if not flag or not command.endswith(("train", "jackknife")):
        return ""
    wanted = flag.lstrip("-").replace("-", "_")
    keys = {one.key: f"{one.table}.{one.key}" for one in all_settings() if one.table != "objective"}
    if wanted in keys:
        return f"; use --set {keys[wanted]}=…"
    return f"; use --set {keys[wanted[3:]]}=false" if wanted.startswith("no_") and wanted[3:] in keys else ""


def given(**options: Any) -> dict[str, Any]:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value is not None}
