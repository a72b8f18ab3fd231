"""What moves on a terminal while a parser is trained, and the lines that stay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from commandline import run

from stub_parser import StubParser, stub_model_fixture
from treetune.cli.training_progress import epoch_lines, objective_line
from treetune.config import Config, TrainingRun
from treetune.config.run import Report, Stage
from treetune.corpus.treebank import write_trees
from treetune.learning import trainer
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


def lines(step: Progress) -> list[str]:
    return list(epoch_lines(Report(Stage("model", "", 300), training=step)))


def test_lines_of_an_epoch() -> None:
    assert lines(progress(objectives=(TREEBANK,))) == ["epoch 1/3  updated on 40 of 100 sentences  1.3 CPU-s"]
    late = ObjectiveProgress("late", 0)
    trees = ObjectiveProgress("more trees", 10, 3, 7)
    own_dev = ObjectiveProgress("q", 10, 1, 9, 0, cost=0.1, target_cost=0.0, dev_cost=0.125)
    assert lines(progress(objectives=(TREEBANK, QUESTIONS, late, trees, own_dev), best=True)) == [
        "epoch 1/3  updated on 40 of 100 sentences  1.3 CPU-s  best so far",
        "  questions   1,000 seen  200 updated  750 already best  50 no better candidate  cost 0.2500 -> 0.0512",
        "  more trees  10 seen  3 updated  7 already best",
        "  q           10 seen  1 updated  9 already best  0 no better candidate  cost 0.1000 -> 0.0000  "
        "dev cost 0.1250",
    ]


def test_without_a_treebank_the_first_objective_has_a_line_too() -> None:
    assert lines(progress(objectives=(QUESTIONS,)))[1] == f"  questions  {objective_line(QUESTIONS)}"


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([progress(1), progress(2), progress(3)], 3),
        ([progress(1, best=True), progress(2, best=True), progress(3)], 2),
        ([progress(1), progress(2, best=True), progress(3)], 2),
        # What was the best before an interruption may stay the best.
        ([progress(1, best=True, resumed=True), progress(2), progress(3)], 1),
        ([progress(1, best=True, resumed=True), progress(2), progress(3, best=True)], 3),
        ([progress(2, resumed=True), progress(3)], 3),
        # Nothing was left to do.
        ([progress(2, best=True, resumed=True)], 2),
        ([progress(3, resumed=True)], 3),
    ],
)
def test_the_epoch_that_is_kept(
    steps: list[Progress], kept: int, tmp_path: Path, stub_model: StubParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trees(generate(2), tmp_path / "t.conllu")
    config = Config.of({"model": {"parser": "stub"}, "train": {"treebank": str(tmp_path / "t.conllu")}})
    run = TrainingRun.prepare(config)
    monkeypatch.setattr(trainer, "train", lambda *args, **options: iter(steps))
    ends = [report.training for report in run.train() if report.is_epoch_end]
    assert run.last.epoch == kept
    assert ends == [step for step in steps if not step.resumed]


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
