"""Learning curves: what is drawn, in which formats, and what is said where nothing can be drawn."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from commandline import Result, run

from stub_parser import StubParser, stub_model_fixture
from treetune.cli import plots
from treetune.cli.plots import draw_curves
from treetune.corpus.treebank import write_trees
from treetune.sample import generate

__all__ = ["stub_model_fixture"]

STARTS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


def tally(name: str, epoch: int, **values: Any) -> dict[str, Any]:
    counts = {"seen": 100, "updated": 60 - 10 * epoch, "already_best": 30 + 10 * epoch, "no_better": 10}
    return {"name": name, **counts, "cost": None, "target_cost": None, "dev_cost": None, **values}


def record(epoch: int, *objectives: dict[str, Any], dev: dict[str, float] | None = None) -> dict[str, Any]:
    return {"epoch": epoch, "dev": dev, "objectives": list(objectives)}


def records() -> list[dict[str, Any]]:
    return [
        record(
            epoch,
            tally("treebank", epoch),
            tally("questions", epoch, cost=0.4 / epoch, target_cost=0.2 / epoch, dev_cost=0.3 / epoch),
            dev={"LAS": 0.8 + epoch / 100, "UAS": 0.85 + epoch / 100, "root": 0.9},
        )
        for epoch in range(1, 6)
    ]


def words_of(path: Path) -> list[str]:
    """Return the texts in a picture."""
    return re.findall(r"<text[^>]*>([^<]+)</text>", path.read_text())


def test_everything_there_is_to_see(tmp_path: Path) -> None:
    path = tmp_path / "p.svg"
    draw_curves(records(), str(path), best_epoch=4)
    words = words_of(path)
    for text in (
        *("LAS", "UAS", "root", "dev, per cent", "mean cost"),
        *("questions", "questions, better candidate", "questions, on its dev"),
        *("updated", "already best", "no better candidate"),
        *("treebank,", "questions,", "epoch (dotted: 4, whose weights were kept)"),
    ):
        assert text in words, text
    # Two lines of three scores, three costs; nothing is drawn of the treebank's costs, which it does not have.
    assert "treebank" not in words


def test_only_what_is_there_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "p.svg"
    draw_curves([record(1, tally("treebank", 1))], str(path), best_epoch=1)
    words = words_of(path)
    assert "treebank," in words
    assert "mean cost" not in words
    assert "dev, per cent" not in words
    # An objective that has not started yet, and a score that cannot be counted.
    draw_curves([record(1, tally("q", 1, seen=0), dev={"UAS": 0.5})], str(path), best_epoch=1)
    assert "LAS" not in words_of(path)


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "SVG"])
def test_formats_and_the_same_bytes_again(tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"1.{suffix}", tmp_path / f"2.{suffix}"
    for path in (first, second):
        draw_curves(records(), str(path), best_epoch=4)
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(STARTS[suffix.lower()])


def test_through_the_command(tmp_path: Path, stub_model: StubParser) -> None:
    write_trees(generate(5), tmp_path / "t.conllu")
    plot = tmp_path / "p.svg"
    plot.write_text("an older picture")
    base = ("train", tmp_path / "t.conllu", "--parser", "stub", "--model", tmp_path / "m", "--set", f"run.plot={plot}")
    result = run(*base, "--dev", tmp_path / "t.conllu", "--epochs", 2)
    assert result.code == 0
    assert result.err.endswith(f" MB\nwrote {plot}\n")
    assert {"LAS", "treebank,"} <= set(words_of(plot))
    assert run(*base, "-q") == Result(0, "", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "p.svg", "t.conllu"]


@pytest.mark.parametrize("name", ["p", "p.jpg", "p.svg.gz"])
def test_formats_that_are_not_known(tmp_path: Path, stub_model: StubParser, name: str) -> None:
    path = tmp_path / name
    result = run("train", tmp_path / "none", "--parser", "stub", "--model", tmp_path / "m", "--set", f"run.plot={path}")
    assert (result.code, result.err) == (
        2,
        f"error: run.plot: expected a file that ends in .svg, .png, .pdf, found {str(path)!r}\n",
    )


def test_without_matplotlib(tmp_path: Path, stub_model: StubParser, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> Any:
        return None if name == "matplotlib" else importlib.util.find_spec(name)

    monkeypatch.setattr(plots, "find_spec", find)
    result = run(
        "train",
        tmp_path / "none",
        "--parser",
        "stub",
        "--model",
        tmp_path / "m",
        "--set",
        f"run.plot={tmp_path / 'p.svg'}",
    )
    assert (result.code, result.err) == (
        2,
        "error: run.plot needs matplotlib, which is not installed; install it with pip install 'treetune[plots]'\n",
    )
