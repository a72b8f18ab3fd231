"""Text of models and of input never reaches a terminal as commands: control characters are shown as escapes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commandline import run

from stub_parser import StubParser, stub_model_fixture, trained
from treetune import storage

__all__ = ["stub_model_fixture"]

ATTACK = "\x1b]0;owned\x07\r\x1b[2J\x9b31m"
SHOWN = r"\x1b]0;owned\x07\x0d\x1b[2J\x9b31m"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def test_escape_sequences_of_a_model_are_shown_by_info(tmp_path: Path) -> None:
    path = tmp_path / "m.treetune"
    storage.save(trained(), path, {"licence": f"free{ATTACK}", f"key{ATTACK}": [{"name": ATTACK, "x": 1}]})
    result = run("info", path)
    assert result.code == 0
    assert f"free{SHOWN}" in result.out
    assert f"key{SHOWN}.{SHOWN}.x" in result.out
    assert not CONTROL.search(result.out)
    assert not CONTROL.search(run("info", path, "--json").out)


def test_a_second_line_of_a_value_is_no_row_of_info(tmp_path: Path) -> None:
    path = tmp_path / "m.treetune"
    storage.save(trained(), path, {"licence": "free\nkind  transition"})
    lines = run("info", path).out.splitlines()
    assert [line for line in lines if line.startswith("kind")] == [lines[0]]


def test_escape_sequences_in_errors_are_shown(tmp_path: Path) -> None:
    result = run("info", f"{tmp_path}/{ATTACK}.treetune")
    assert result.code == 1
    assert r"\x1b]0;owned\x07" in result.err
    assert not CONTROL.search(result.err)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_parsed_input_is_changed_for_a_terminal_only(tmp_path: Path, stub_model: StubParser, is_terminal: bool) -> None:
    path = tmp_path / "m.treetune"
    storage.save(stub_model, path)
    text = "# text = a\n1\ta\x1b[2J\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    result = run("parse", path, "-", "--read", "conllu", "--quiet", stdin=text, shown=is_terminal)
    assert result.code == 0, result.err
    assert ("1\ta\\x1b[2J\t" if is_terminal else "1\ta\x1b[2J\t") in result.out
