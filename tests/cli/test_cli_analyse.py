"""``treetune analyse``: the report on stdout, as files and as JSON, and files that do not belong together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_samples import PLAIN
from commandline import run

WRONG = PLAIN.replace("1\tpunct", "1\tdep").replace("4\tnsubj", "2\tnsubj:pass").replace("4\taux", "4\taux:x")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    gold, wrong = tmp_path / "gold.conllu", tmp_path / "wrong.conllu"
    gold.write_text(PLAIN)
    wrong.write_text(WRONG)
    return gold, wrong


def test_the_report_of_one_system(files: tuple[Path, Path]) -> None:
    gold, wrong = files
    result = run("analyse", gold, wrong, "--train", gold)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(
        "Error analysis\n\n== What to fix next\n\n3 of 7 words have a wrong head or label, 1 a"
    )
    titles = [line[3:] for line in result.out.split("\n") if line.startswith("== ")]
    assert titles[1:] == [
        *("Scores", "Labels", "Tags (UPOS)", "Against the training data", "Where the errors are", "Error patterns"),
    ]
    assert "gold" in result.out.partition(" taken for ")[2]
    assert run("analyse", gold, "-", "--train", gold, stdin=WRONG).out == result.out
    assert "Against the training data" not in run("analyse", gold, wrong).out


def test_options_change_what_is_counted_and_shown(files: tuple[Path, Path]) -> None:
    gold, wrong = files

    def words(*options: str) -> tuple[int, int]:
        total = json.loads(run("analyse", gold, wrong, "--json", *options).out)["total"]
        return total["words"], total["errors"][0]

    assert (words(), words("--no-punct"), words("--no-subtypes")) == ((7, 3), (6, 2), (7, 2))
    assert json.loads(run("analyse", gold, wrong, "--json", "--tags", "xpos").out)["column"] == "xpos"
    assert "└─" in run("analyse", gold, wrong).out
    assert "└─" not in run("analyse", gold, wrong, "--examples", 0).out
    shorter = run("analyse", gold, wrong, "--limit", 1).out
    assert len(shorter.splitlines()) < len(run("analyse", gold, wrong).out.splitlines())


def test_files_and_json(files: tuple[Path, Path], tmp_path: Path) -> None:
    gold, wrong = files
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    result = run("analyse", gold, wrong, gold, "--html", page, "--markdown", text)
    assert (result.code, result.out, result.err) == (0, "", f"wrote {page}\nwrote {text}\n")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert "<svg " in page.read_text()
    assert text.read_text().startswith("# Error analysis\n\n## What to fix next\n\nSystem a is ")
    content = json.loads(run("analyse", gold, wrong, gold, "--json").out)
    assert content["total"]["errors"] == [3, 0]
    assert content["comparison"]["LAS"]["mcnemar"]["only_b"] == 3
    assert [one["times"] for one in content["patterns"]] == [[1, 0], [1, 0], [1, 0]]


def test_what_is_refused(files: tuple[Path, Path], tmp_path: Path) -> None:
    gold, wrong = files
    other = tmp_path / "other.conllu"
    other.write_text(PLAIN.replace("\tRun\t", "\tWalk\t"))
    result = run("analyse", gold, wrong, other)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(
        f"error: {other}: sentence 2 (sent_id s2): expected 'Run' as word 1, as in gold, found"
    )
    assert result.err.endswith("; 'treetune evaluate' scores a system with other tokens than gold\n")
    result = run("analyse", "-", "-", stdin=PLAIN)
    assert (result.code, result.err) == (2, "error: only one of GOLD, PRED, PRED2 and --train can be read from stdin\n")
    result = run("analyse", gold, wrong, "--tags", "feats")
    assert (result.code, result.err) == (2, "error: unknown column 'feats'; known: upos, xpos\n")
    result = run("analyse", gold, wrong, "--html", gold)
    assert result.code == 2
    assert result.err.startswith("error: --html")
    assert gold.read_text() == PLAIN
    page = tmp_path / "report"
    result = run("analyse", gold, wrong, "--html", page, "--markdown", page)
    assert result.err == f"error: --html and --markdown name the same file, {page}; give another name\n"
    assert (result.code, page.exists()) == (2, False)
    empty = tmp_path / "empty.conllu"
    empty.touch()
    result = run("analyse", gold, wrong, "--train", empty)
    assert result.err == f"error: {empty}: expected training data with at least one sentence, found none\n"
