"""`treetune ask` and `treetune adapt`, from text to an adapted model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from commandline import run

import treetune
from pipeline_samples import small_pipeline
from treetune.corpus.sentence import Example, Tree
from treetune.corpus.treebank import read_trees, write_trees
from treetune.sample import generate
from treetune.storage import inspect

GOLD = generate(40, seed=44, kinds=("yes-no", "wh"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    treetune.save(small_pipeline(), "m.treetune", {"licence": "CC0"})
    write_trees(GOLD, "gold.conllu")
    write_trees(generate(40, seed=45), "home.conllu")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_from_questions_to_an_adapted_model() -> None:
    made = run("ask", "m.treetune", "gold.conllu", "-n", 20, "-o", "todo.conllu")
    assert made.code == 0
    assert made.err.endswith("questions about 20 sentences, about 12 min of work\n")
    by_forms = {example.sentence.forms: example.gold for example in GOLD}
    done = []
    for example in read_trees("todo.conllu", partial=True):
        gold, misc = by_forms[example.sentence.forms], example.sentence.misc
        asked = [word for word, cell in enumerate(misc) if "Ask=head:" in cell]
        assert len(asked) == 3
        kept = {*asked, *gold.roots}
        heads = tuple(head if word in kept else -1 for word, head in enumerate(gold.heads))
        labels = tuple(label if word in kept else "" for word, label in enumerate(gold.labels))
        done.append(replace(example, gold=Tree(heads, labels)))
    write_trees(done, "answers.conllu")
    result = run(
        "adapt", "m.treetune", "answers.conllu", "--treebank", "home.conllu", "-o", "new.treetune", "--folds", 2,
        "--html", "report.html", "--json", "report.json",
    )  # fmt: skip
    assert result.code == 0, result.err
    assert "cross-validation of 4 settings on 20 sentences in 2 folds" in result.err
    report = json.loads(Path("report.json").read_text())
    assert (report["sentences"], report["answers"] <= 80) == (20, True)
    assert f"wrote new.treetune: {'adapted by' if report['is_adapted'] else 'kept the model as it was'}" in result.err
    assert Path("report.html").read_text().startswith("<!DOCTYPE html>")
    info = inspect("new.treetune").info
    assert (info["licence"], info["adaptation"]["is_adapted"]) == ("CC0", report["is_adapted"])
    assert run("parse", "new.treetune", "gold.conllu", "-o", "out.conllu", "-q").code == 0


@pytest.mark.usefixtures("folder")
def test_questions_as_json() -> None:
    found = json.loads(run("ask", "m.treetune", "gold.conllu", "-n", 2, "--questions", "yes-no", "--json", "-q").out)
    assert [len(one["questions"]) for one in found] == [4, 4]
    assert {question["kind"] for one in found for question in one["questions"]} == {"main-verb", "yes-no"}


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_used_is_one_sentence() -> None:
    write_trees([Example(example.sentence, Tree.unknown(len(example.sentence))) for example in GOLD], "none.conllu")
    result = run("adapt", "m.treetune", "none.conllu", "-o", "new.treetune")
    assert (result.code, result.err) == (
        1,
        "error: expected answers to learn from (a main verb has HEAD 0, what is open has _), "
        "found none in any sentence\n",
    )
    assert not Path("new.treetune").exists()
    result = run("adapt", "m.treetune", "gold.conllu", "-o", "gold.conllu")
    assert result.code == 2
    assert treetune.evaluate("gold.conllu", "gold.conllu")["LAS"] == 1
    result = run("adapt", "m.treetune", "gold.conllu", "-o", "new.treetune", "--main-verb-convention", "x")
    assert result.code == 2
    assert "error: unknown convention 'x'; known" in result.err


@pytest.mark.usefixtures("folder")
def test_files_that_cannot_be_used_are_said_before_anything_is_trained() -> None:
    Path("empty.conllu").write_text("")
    for options, message in (
        (("--treebank", "empty.conllu"), "empty.conllu: expected sentences of the home domain, found none"),
        (("--html", "new.treetune"), "--output and --html name the same file, new.treetune"),
        (("--html", "r", "--json", "r"), "--html and --json name the same file, r"),
        (("--html", "no/where.html"), "--html: cannot write no/where.html: there is no folder no; create it"),
    ):
        result = run("adapt", "m.treetune", "gold.conllu", "-o", "new.treetune", *options)
        assert result.code in (1, 2)
        assert result.err.startswith(f"error: {message}")
        assert result.err.count("\n") == 1
    assert not Path("new.treetune").exists()


@pytest.mark.parametrize("command", ["ask", "annotate"])
def test_a_line_end_ends_a_question_without_a_full_stop(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.txt").write_text("what is the fare\nshow me hotels in Rome\r\nI called them. They said no.\n")
    if command == "ask":
        assert run("ask", "en", "q.txt", "-o", "out.conllu", "-q").code == 0
    else:
        assert run("annotate", "q.txt", "-o", "out.conllu", "-q", stdin="\n" * 4).code == 0
    found = {" ".join(example.sentence.forms[1:]) for example in read_trees("out.conllu", partial=True)}
    assert found == {"what is the fare", "show me hotels in Rome", "I called them .", "They said no ."}
    run("ask", "en", "q.txt", "-o", "wrapped.conllu", "-q", "--read", "wrapped")
    assert len(list(read_trees("wrapped.conllu", partial=True))) < 4
