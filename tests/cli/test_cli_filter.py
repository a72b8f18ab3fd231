"""`treetune filter train` and `evaluate`, and `treetune train --filter`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import run

import treetune
from treetune.corpus.treebank import write_trees
from treetune.sample import generate


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_trees(generate(60, seed=41), "train.conllu")
    write_trees(generate(20, seed=42), "dev.conllu")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_filter_is_trained_evaluated_and_used() -> None:
    made = run(
        "filter", "train", "train.conllu", "--dev", "dev.conllu", "--model", "f.treetune", "--remove-cost", "0.01"
    )
    assert made.code == 0
    assert made.err.splitlines()[-1] == "wrote f.treetune"
    assert "dev.conllu: coverage" in made.err
    text = run("filter", "evaluate", "f.treetune", "dev.conllu").out
    content = json.loads(run("filter", "evaluate", "f.treetune", "dev.conllu", "--json").out)
    assert text.splitlines()[1] == f"reduction {content['reduction']:6.2f}"
    assert treetune.load("f.treetune").config.remove_cost == 0.01
    for given in ("f.treetune", "joint"):
        done = run(
            "train", "train.conllu", "--parser", "graph", "--filter", given, "--epochs", "1", "--model",
            "p.treetune", "-q",
        )  # fmt: skip
        assert (done.code, done.err) == (0, "")
        same = json.loads(run("filter", "evaluate", "p.treetune", "dev.conllu", "--json").out)
        assert (same["reduction"] == content["reduction"]) == (given == "f.treetune")


@pytest.mark.usefixtures("folder")
def test_options_of_training_reach_the_filter() -> None:
    run(
        "filter", "train", "train.conllu", "--model", "f.treetune", "-q", "--kind", "independent", "--no-vine",
        "--rules", "--quadratic", "--features", "default", "--seed", "3",
    )  # fmt: skip
    config = treetune.load("f.treetune").config
    assert (config.kind, config.vine, config.rules, config.quadratic) == ("independent", False, True, True)
    run("filter", "train", "train.conllu", "--model", "g.treetune", "-q", "--keep-cost", "0.5", "--no-threshold")
    config = treetune.load("g.treetune").config
    assert (config.kind, config.keep_cost, config.threshold) == ("joint", 0.5, False)


@pytest.mark.usefixtures("folder")
def test_mistakes_are_named() -> None:
    wrong = run("filter", "train", "train.conllu", "--model", "f.treetune", "--kind", "jont")
    assert (wrong.code, wrong.err.strip()) == (
        2, "error: unknown kind of filter 'jont'; known: independent, joint (did you mean 'joint'?)",
    )  # fmt: skip
    wrong = run("filter", "train", "train.conllu", "--model", "f.treetune", "--kind", "independent", "--keep-cost", "1")
    assert (wrong.code, wrong.err.strip()) == (
        2, "error: --keep-cost is for joint filters, and --kind is independent; leave one of the two out",
    )  # fmt: skip
    wrong = run("train", "train.conllu", "--parser", "graph", "--filter", "jont", "--model", "p.treetune")
    assert "unknown arc filter 'jont'; known: independent, joint" in wrong.err
    wrong = run("train", "train.conllu", "--filter", "joint", "--model", "p.treetune")
    assert "--filter is an option of graph parsers; the parser is transition" in wrong.err
    run("train", "train.conllu", "--parser", "graph", "--epochs", "1", "--model", "p.treetune", "-q")
    wrong = run("filter", "evaluate", "p.treetune", "dev.conllu")
    assert wrong.err.strip() == (
        "error: p.treetune has no arc filter; name a filter, or a graph parser that was trained with one"
    )
    wrong = run("train", "train.conllu", "--parser", "graph", "--filter", "p.treetune", "--model", "q.treetune")
    assert "--filter: expected an arc filter, found the graph p.treetune" in wrong.err


AS_A_MODEL = [
    ("parse", "f.treetune", "dev.conllu"),
    ("tag", "f.treetune", "dev.conllu"),
    ("calibrate", "f.treetune", "dev.conllu", "--model", "m"),
    ("rerank", "f.treetune", "f.treetune", "--model", "m"),
    ("ask", "f.treetune", "dev.conllu"),
    ("uptrain", "dev.conllu", "--base", "f.treetune", "--model", "m"),
    ("reorder", "f.treetune", "dev.conllu", "--to", "ja"),
    ("nlf", "map", "f.treetune", "dev.conllu"),
    ("nlf", "find", "dog", "dev.conllu", "--model", "f.treetune"),
    ("nlf", "evaluate", "dev.conllu", "f.treetune"),
]


def test_a_filter_does_not_parse(folder: Path) -> None:
    run("filter", "train", "train.conllu", "--model", "f.treetune", "-q")
    expected = (
        "f.treetune: expected a parser, a tagger or a pipeline, found an arc filter; train a graph parser with it"
    )
    for arguments in AS_A_MODEL:
        result = run(*arguments)
        assert (result.code, result.out) == (1, ""), arguments
        assert result.err.startswith(f"error: {expected}"), arguments
    assert not (folder / "m").exists()
