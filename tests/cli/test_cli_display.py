"""What moves on a terminal while a parser is trained, and the lines that stay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from commandline import run

from stub_parser import StubParser, stub_model_fixture
from treetune.cli.training_progress import epoch_lines, follow, objective_line
from treetune.config.run import Report, Stage
from treetune.corpus.treebank import write_trees
from treetune.learning.progress import ObjectiveProgress, Progress
from treetune.sample import generate

__all__ = ["stub_model_fixture"]

TREEBANK = ObjectiveProgress("treebank", 100, 40, 60)
QUESTIONS = ObjectiveProgress("questions", 1000, 200, 750, 50, cost=0.25, target_cost=0.0512)


def progress(epoch: int = 1, **values: Any) -> Progress:
    base: dict[str, Any] = {
        **{"epoch": epoch, "epochs": 3, "seen": 100, "total": 100, "updated": 40, "words": 900, "cpu_seconds": 1.26},
        **{"settings": {"learner": "perceptron"}, "is_epoch_end": True},
    }
    return Progress(**{**base, **values})


def report(epoch: int = 1, **values: Any) -> Report:
    return Report(Stage("train", "", 300), training=progress(epoch, **values))


def test_lines_of_an_epoch() -> None:
    assert list(epoch_lines(report(objectives=(TREEBANK,)))) == ["epoch 1/3  updated on 40 of 100 sentences  1.3 CPU-s"]
    late = ObjectiveProgress("late", 0)
    trees = ObjectiveProgress("more trees", 10, 3, 7)
    own_dev = ObjectiveProgress("q", 10, 1, 9, 0, cost=0.1, target_cost=0.0, dev_cost=0.125)
    assert list(epoch_lines(report(objectives=(TREEBANK, QUESTIONS, late, trees, own_dev), best=True))) == [
        "epoch 1/3  updated on 40 of 100 sentences  1.3 CPU-s  best so far",
        "  questions   1,000 seen  200 updated  750 already best  50 no better candidate  cost 0.2500 -> 0.0512",
        "  more trees  10 seen  3 updated  7 already best",
        "  q           10 seen  1 updated  9 already best  0 no better candidate  cost 0.1000 -> 0.0000  "
        "dev cost 0.1250",
    ]


def test_without_a_treebank_the_first_objective_has_a_line_too() -> None:
    assert list(epoch_lines(report(objectives=(QUESTIONS,))))[1] == f"  questions  {objective_line(QUESTIONS)}"


def test_the_ends_of_epochs_are_reported_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ends: list[Report] = []
    reports = [report(1, best=True, resumed=True), report(2, is_epoch_end=False), report(2), report(3, best=True)]
    follow(reports, on_epoch=ends.append, quiet=False)
    assert ends == reports[2:]
    assert capsys.readouterr().err.splitlines() == [
        "resumed; best so far: epoch 1/3",
        "epoch 2/3  updated on 40 of 100 sentences  1.3 CPU-s",
        "epoch 3/3  updated on 40 of 100 sentences  1.3 CPU-s  best so far",
    ]


def test_a_terminal_sees_a_bar_and_a_table(
    tmp_path: Path, stub_model: StubParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    write_trees(generate(20), tmp_path / "t.conllu")
    base = ("train", tmp_path / "t.conllu", "--parser", "stub", "--model", tmp_path / "m", "--epochs", 2)
    plain = run(*base, terminal=True)
    assert "training" in plain.err
    assert "words/s" in plain.err
    assert "already best" not in plain.err
    result = run(*base, "--also", f"root:{tmp_path / 't.conllu'}@2", terminal=True)
    assert result.code == 0
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", result.err)
    head = r"objective +seen +updated +already best +no better candidate +cost +after"
    assert re.search(head, shown)
    assert re.search(r"treebank +20 +20 +0 *\n", shown)
    assert re.search(r"t +40 +\d+ +\d+ +\d+ +\d\.\d{4} +\d\.\d{4}", shown)
    # The lines stay, above what moves.
    assert "epoch 2/2  updated on 20 of 20 sentences" in shown
    assert "  t  40 seen  " in shown
    assert run(*base, "--quiet", terminal=True).err == ""
