"""The documentation knows every command and every option, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commandline import run

DOCS = Path(__file__).parents[2] / "docs"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


@pytest.mark.parametrize(
    "command", ["train", "parse", "tag", "evaluate", "reorder", "jackknife", "rerank", "clusters", "info", "demo"]
)
def test_every_option_is_documented(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Wide enough that no name is cut in two.
    monkeypatch.setenv("COLUMNS", "200")
    pages = (DOCS / "command-line.md").read_text(encoding="utf-8")
    section = pages.partition(f"\n## treetune {command}\n")[2].partition("\n## ")[0]
    general = pages.partition("\n## Exit codes")[0]
    # The commands of a command are told in its section.
    parts = ("apply", "learn", "evaluate", "align", "rules") if command == "reorder" else ("",)
    help_text = "".join(run(command, *filter(None, (part,)), "--help").out for part in parts)
    # What needs no word of its own: the default side of a switch.
    offered = set(OPTION.findall(help_text)) - {"--help", "--punct", "--subtypes"}
    assert offered <= set(OPTION.findall(section + general))
    assert set(OPTION.findall(section)) <= offered
