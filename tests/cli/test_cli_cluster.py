"""Options of `treetune parse --cluster` that do not go together; no cluster is started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commandline import run


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("Time flies.\n")
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "2"], "--workers is for --cluster; leave it out, or say --cluster local"),
        (["--column", "text"], "--column is for --cluster"),
        (["{text}"], "expected one IN, found {text} too; several are for --cluster"),
        (["--cluster", "local"], "--cluster writes shards to a folder; name it: -o OUT/"),
        (["--cluster", "local", "-o", "{out}", "--base", "b.conllu"], "--base does not go with --cluster"),
        (["--cluster", "local", "-o", "{out}", "-"], "--cluster reads files, and not stdin"),
        (["--cluster", "local", "-o", "{out}", "none.txt"], "none.txt: expected a file, found nothing under this name"),
        (["--cluster", "local", "-o", "{out}", "--column", "t"], "expected a file with a document a row"),
        (["--cluster", "local", "-o", "{out}", "--id-column", "t"], "--id-column is for documents in rows"),
    ],
)
def test_options_that_do_not_go_together(text: Path, tmp_path: Path, options: list[str], message: str) -> None:
    places = {"text": text, "out": tmp_path / "out"}
    result = run("parse", "en", text, *(option.format(**places) for option in options))
    assert result.code in (1, 2)
    assert message.format(**places) in result.err
    assert result.err.startswith("error: ")
    assert not (tmp_path / "out").exists()


def test_without_ray_it_is_said_how_to_get_it(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    result = run("parse", "en", text, "--cluster", "local", "-o", tmp_path / "out")
    assert (result.code, result.err) == (
        2,
        "error: --cluster needs Ray; install it by: pip install 'treetune[ray]'\n",
    )
    assert not (tmp_path / "out").exists()
