"""The page on writing losses tells the truth: its snippets run, and its tables, lists and examples are complete."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import treetune
from treetune.corpus import write_conllu
from treetune.losses import LOSSES, Loss, Program, make_loss
from treetune.losses.program import SENTENCE_COLUMNS, request_lines
from treetune.sample import generate

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "writing-losses.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(name="run", scope="module")
def run_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the snippets define, run in order; a snippet that begins with the name of a file is that file."""
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        write_conllu(generate(40, seed=1), "train.conllu")
        for snippet in blocks("python"):
            named = re.match(r"# (\S+\.py)\n", snippet)
            if named:
                Path(named[1]).write_text(snippet, encoding="utf-8")
            else:
                with_this_python = snippet.replace('["python",', f"[{sys.executable!r},")
                exec(compile(with_this_python, "writing-losses.md", "exec"), names)
        yield names


def test_the_snippets_run_and_the_program_is_the_function(run: dict[str, Any]) -> None:
    assert run["parser"].is_trained
    pairs = [("reads", "Who"), ("reads", "it")]
    trees = [candidate.output for candidate in run["parser"].k_best(run["question"], 8)]
    program = Program([sys.executable, "metric.py"])
    asked = program.costs(run["question"], [run["tree"], run["other"], *trees], pairs)
    program.close()
    assert asked == treetune.losses.as_loss(run["missed"]).costs(
        run["question"], [run["tree"], run["other"], *trees], pairs
    )
    assert asked[:2] == [0.5, 0.5]
    assert run["objective"].cost.settings()["name"] == "python"


def test_the_class_does_what_it_says(run: dict[str, Any]) -> None:
    loss = run["SecondWord"]()
    assert loss.costs(run["question"], [run["tree"], treetune.Tree.of([0, 1, 1, 1])], True) == [0.0, 1.0]
    known = loss.known(run["question"], True)
    assert known == treetune.Tree.of([-1, 0, -1, -1])
    assert loss.known(run["question"], False) is None
    with pytest.raises(treetune.TreetuneError, match="expected at least two words, found one"):
        loss.check(treetune.Sentence.of(["Who"]), True)


def test_both_ways_are_ten_lines() -> None:
    function, program = blocks("python")[0], next(block for block in blocks("python") if "sys.stdin" in block)
    assert len([line for line in function.splitlines() if line]) <= 10
    assert len([line for line in program.splitlines() if line]) <= 10


def test_the_line_of_the_example_is_what_a_program_reads(run: dict[str, Any]) -> None:
    (line,) = blocks("json")
    assert request_lines(run["question"], [run["tree"]], [("reads", "Who")]) == [line.encode()]
    assert set(json.loads(line)) == {"sentence", "candidate", "reference"}


def test_every_column_is_named() -> None:
    assert [column for column in SENTENCE_COLUMNS if f"`{column}`" not in PAGE] == []


def test_the_tables_of_experiment_files_make_losses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_losses.py").write_text("def missed(sentence, tree, pairs): return 0\n")
    made = []
    for block in blocks("toml"):
        (table,) = tomllib.loads(block)["objective"]
        assert set(table) == {"data", "loss"}
        made.append(make_loss(**table["loss"]).settings())
    assert made == [
        {"name": "attachment", "labelled": False},
        {"name": "python", "function": "my_losses.py:missed"},
        {"name": "program", "command": ["python", "metric.py"], "timeout": 60.0},
        {
            "name": "weighted",
            "parts": [
                {"weight": 2.0, "name": "root"},
                {"weight": 1.0, "name": "partial-tree", "labelled": False},
            ],
        },
    ]


def test_the_table_of_losses_is_complete() -> None:
    listed = re.findall(r"^\| `([a-z0-9-]+)` \| `(\w+)\(", PAGE, flags=re.MULTILINE)
    assert listed == [(name, kind.__name__) for name, kind in LOSSES.items()]


def test_the_table_of_methods_is_complete() -> None:
    listed = re.findall(r"^\| `(\w+)\(.*?\)` \| [a-z]", PAGE, flags=re.MULTILINE)
    public = [
        name
        for name in vars(Loss)
        if name == "__call__" or (not name.startswith("_") and name not in ("name", "output", "reference"))
    ]
    assert listed == public


@pytest.mark.parametrize("anchor", re.findall(r"\]\(#([a-z-]+)\)", PAGE))
def test_links_within_the_page_lead_somewhere(anchor: str) -> None:
    headings = re.findall(r"^## (.*)$", PAGE, flags=re.MULTILINE)
    assert anchor in [heading.lower().replace(" ", "-") for heading in headings]
