"""Settings by ``--set``: the list of them, those of another model or learner, and flags that do not exist."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_samples import PLAIN
from commandline import Result, run, sets

from stub_parser import StubParser, stub_model_fixture
from treetune import storage
from treetune.config.schema import PipelineTable, RunTable, TrainTable, all_settings, settings_of
from treetune.errors import ConfigError
from treetune.learning.objectives import Objective
from treetune.models.learning_options import LearnerConfig
from treetune.models.registry import PARSERS, TAGGERS, make_model, make_parser, preset

__all__ = ["stub_model_fixture"]


def train(tmp_path: Path, *options: object) -> Result:
    """Train on a file that does not exist: whatever is said about an option is said before it is looked for."""
    return run("train", tmp_path / "none.conllu", "--model", tmp_path / "m", *options)


def listed() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("train", "--list-settings", "--json").out)
    return found


def test_the_list_has_every_declared_option_and_no_others() -> None:
    found = {(one["table"], one["key"]) for one in listed()}
    declared = {("model", key) for key in ("task", "parser", "start_from")}
    for name in (*PARSERS, *TAGGERS):
        options = set(settings_of(make_model(name).config, "model")) - set(preset(name).fixed)  # type: ignore[attr-defined]
        declared |= {("model", key) for key in options}
    tables = {"learner": LearnerConfig, "train": TrainTable, "pipeline": PipelineTable, "run": RunTable}
    for table, config in {**tables, "objective": Objective}.items():
        declared |= {(table, key) for key in settings_of(config, table)}
    assert found == declared


def test_the_list_tells_type_default_and_help() -> None:
    rows = [one for one in listed() if (one["table"], one["key"]) == ("model", "min_count")]
    assert [(one["type"], one["default"], one["minimum"], one["models"]) for one in rows] == [
        ("integer", 2, 1, ["transition", "backward", "graph", "graph2", "graph3"]),
        ("integer", 1, 1, ["tag", "ner"]),
    ]
    assert all(one.help.endswith(".") and one.help[0] != " " for one in all_settings())
    result = run("train", "--list-settings")
    assert (result.code, result.err) == (0, "")
    lines = result.out.split("\n")
    assert [line for line in lines if line.startswith("[")] == [
        *("[model]", "[learner]", "[train]", "[pipeline]", "[run]", "[[objective]]"),
    ]
    (seed,) = [line.split(maxsplit=3) for line in lines if line.startswith("  seed")]
    assert seed == ["seed", "integer", "1", "Seed of the order of examples."]
    assert len(lines) > len(all_settings())


@pytest.mark.parametrize(
    ("flag", "hint"),
    [
        (("--clip", 3), "; use --set learner.clip=…"),
        (("--max-memory", 3), "; use --set model.max_memory=…"),
        (("--log", "x"), "; use --set run.log=…"),
        (("--no-projectivize",), "; use --set train.projectivize=false"),
        (("--nonsense",), ""),
    ],
)
def test_a_setting_without_a_flag_is_told_how_to_set(tmp_path: Path, flag: tuple[object, ...], hint: str) -> None:
    result = train(tmp_path, *flag)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: No such option: {flag[0]}")
    assert result.err.endswith(f"{hint} (see 'treetune train --help')\n")
    assert "--set" not in run("parse", "x", "--clip", 3).err


@pytest.mark.parametrize(
    ("parser", "options", "message"),
    [
        ("graph", ("--beam", 4), "--beam is an option of transition parsers; the parser is graph"),
        ("graph2", ("--beam", 4), "--beam is an option of transition parsers; the parser is graph2"),
        ("graph", sets("learner.update=early"), "update is an option of transition parsers, not of graph parsers"),
        (
            "transition",
            sets("model.decoder=projective"),
            "model.decoder is an option of graph parsers; the parser is transition",
        ),
        (
            "transition",
            sets("model.max_memory=3"),
            "model.max_memory is an option of graph parsers and taggers; the parser is transition",
        ),
        (
            "transition",
            sets("learner.cost_augmented=true"),
            "cost_augmented is an option of graph parsers, not of transition parsers",
        ),
        (
            "transition",
            sets("learner.learner=factored-mira"),
            "the learner factored-mira is not for transition parsers, which have perceptron, mira",
        ),
        (
            "transition",
            sets("learner.learner=mirra"),
            "unknown learner 'mirra'; known: crf, factored-mira, mira, perceptron (did you mean 'mira'?)",
        ),
        ("transition", sets("learner.clip=0"), "clip must be more than 0, found 0.0"),
        ("transition", sets("learner.clip=nan"), "learner.clip: expected a number, found nan"),
        ("transition", sets("learner.k=0"), "learner.k: expected a whole number of at least 1, found 0"),
        ("transition", sets("learner.k=two"), 'learner.k: expected a whole number of at least 1, found "two"'),
        (
            "transition",
            sets("learner.cilp=2"),
            "unknown key of [learner] 'cilp'; known: clip, cost_augmented, k, learner, learning_rate, update "
            "(did you mean 'clip'?)",
        ),
    ],
)
def test_settings_that_are_wrong(tmp_path: Path, parser: str, options: list[object], message: str) -> None:
    result = train(tmp_path, "--parser", parser, *options)
    assert (result.code, result.out, result.err) == (2, "", f"error: {message}\n")


def test_right_settings_are_not_refused(tmp_path: Path) -> None:
    for options in (("--beam", 4), sets("learner.update=early"), sets("learner.learner=mira", "learner.k=3")):
        result = train(tmp_path, *options)
        assert result.code == 1
        assert "expected a file, found nothing under this name" in result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (sets("learner.k=3"), "learner.k is an option of mira; the learner is perceptron"),
        (sets("learner.clip=3"), "learner.clip is an option of mira and factored-mira; the learner is perceptron"),
        (
            sets("learner.learner=perceptron", "learner.k=3"),
            "learner.k is an option of mira; the learner is perceptron",
        ),
        (sets("learner.learner=mira", "learner.k=3", "learner.clip=3"), None),
    ],
)
def test_options_of_another_learner(
    tmp_path: Path, stub_model: StubParser, options: list[object], message: str | None
) -> None:
    treebank = tmp_path / "train.conllu"
    treebank.write_text(PLAIN)
    result = run("train", treebank, "--model", tmp_path / "m", "--parser", "stub", "-q", *options)
    if message is None:
        assert (result.code, result.err) == (0, "")
    else:
        assert (result.code, result.err) == (2, f"error: {message}\n")
        assert not (tmp_path / "m").exists()


def test_the_settings_of_the_learner_are_stored(tmp_path: Path, stub_model: StubParser) -> None:
    treebank = tmp_path / "train.conllu"
    treebank.write_text(PLAIN)
    base = ("train", treebank, "--model", tmp_path / "m", "--parser", "stub", "--epochs", 2)
    noted = []
    for options in (
        sets(),
        sets("learner.learner=mira", "learner.k=7", "learner.cost_augmented=true"),
        sets("learner.update=early"),
    ):
        assert run(*base, *options).code == 0
        noted.append(storage.inspect(tmp_path / "m").info["training"])
    assert [{key: value for key, value in entry.items() if key != "train"} for entry in noted] == [
        {"epochs": 2, "best_epoch": 2, "seed": 1, "projectivize": True, **settings}
        for settings in (
            {"learner": "perceptron"},
            {"learner": "mira", "k": 7, "clip": None, "cost_augmented": True},
            {"learner": "perceptron", "update": "early"},
        )
    ]


def test_search_options_of_another_model(tmp_path: Path, stub_model: StubParser) -> None:
    storage.save(stub_model, tmp_path / "m")
    result = run("parse", tmp_path / "m", tmp_path / "none.conllu", "--decoder", "projective")
    assert (result.code, result.err) == (2, "error: unknown search option of stubs 'decoder'; known: beam\n")


def test_transition_parsers_change_only_options_of_their_search() -> None:
    parser = make_parser("transition", beam=3)
    other = parser.with_options(beam=5)
    assert (other.config.beam, parser.config.beam) == (5, 3)  # type: ignore[attr-defined]
    with pytest.raises(ConfigError) as caught:
        parser.with_options(beem=4)
    assert str(caught.value) == (
        "unknown search option of transition parsers 'beem'; known: beam, margin (did you mean 'beam'?)"
    )
    with pytest.raises(ConfigError, match=r"^beam must be at least 1, found 0$"):
        parser.with_options(beam=0)
