"""Changes as `--set` has them: table.key=value, objectives by name or number, values as TOML."""

from __future__ import annotations

import datetime
from copy import deepcopy
from typing import Any

import pytest

from treetune.config.tables import changed, objective_name
from treetune.errors import ConfigError

TABLES: dict[str, Any] = {
    "model": {"parser": "graph"},
    "train": {"epochs": 3},
    "objective": [
        {"name": "questions", "data": "q.conllu", "loss": "root"},
        {"data": "more/atis.train.conllu.gz", "loss": {"name": "attachment", "labelled": True}},
        {"name": "7", "data": "x"},
        {"name": "questions.hard", "data": "x"},
    ],
}


def test_keys_of_tables() -> None:
    before = deepcopy(TABLES)
    found = changed(TABLES, ["train.epochs=5", "model.beam = 4", "learner.learner=mira", "train.epochs=6"])
    assert found["train"] == {"epochs": 6}
    assert found["model"] == {"parser": "graph", "beam": 4}
    assert found["learner"] == {"learner": "mira"}
    assert before == TABLES


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("0.5", 0.5),
        ("true", True),
        ("inf", float("inf")),
        ('"a b"', "a b"),
        ("'5'", "5"),
        ('["upos", "xpos"]', ["upos", "xpos"]),
        ('{name = "root"}', {"name": "root"}),
        # What is no TOML is a text.
        ("dev.conllu", "dev.conllu"),
        (" a = b ", "a = b"),
        ("", ""),
        ("5\nepochs = 6", "5\nepochs = 6"),
        ("2026-01-01", datetime.date(2026, 1, 1)),
    ],
)
def test_values_are_toml_or_texts(text: str, value: Any) -> None:
    assert changed({}, [f"train.licence={text}"]) == {"train": {"licence": value}}


@pytest.mark.parametrize(
    ("selector", "place"),
    [
        ("questions", 0),
        ("1", 0),
        ("2", 1),
        ("atis.train", 1),
        # A name goes before a number, and a long name before a short one.
        ("7", 2),
        ("3", 2),
        ("questions.hard", 3),
    ],
)
def test_objectives_by_name_or_number(selector: str, place: int) -> None:
    found = changed(TABLES, [f"objective.{selector}.rate=2"])["objective"]
    assert [table.get("rate") for table in found] == [2 if number == place else None for number in range(4)]


def test_options_of_a_loss() -> None:
    changes = ["objective.1.loss.labelled=false", "objective.2.loss.labelled=false", "objective.3.loss.name=root"]
    found = changed(TABLES, changes)["objective"]
    assert [table.get("loss") for table in found] == [
        {"name": "root", "labelled": False},
        {"name": "attachment", "labelled": False},
        {"name": "root"},
        None,
    ]
    # Only losses have keys inside.
    assert changed(TABLES, ["train.a.b=1"])["train"] == {"epochs": 3, "a.b": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("train.epochs", "expected a change as table.key=value, found 'train.epochs'"),
        ("train=5", "expected a change as table.key=value, found 'train=5'"),
        (".epochs=5", "unknown table ''; known: learner, model, objective, pipeline, run, train"),
        (
            "trian.epochs=5",
            "unknown table 'trian'; known: learner, model, objective, pipeline, run, train (did you mean 'train'?)",
        ),
        ("objective.rate=2", "expected a change as objective.NAME.key=value, found 'objective.rate=2'"),
        (
            "objective.qestions.rate=2",
            "unknown objective 'qestions'; known: 7, atis.train, questions, questions.hard (did you mean 'questions'?)",
        ),
        ("objective.5.rate=2", "unknown objective '5'; known: 7, atis.train, questions, questions.hard"),
        ("objective.0.rate=2", "unknown objective '0'; known: 7, atis.train, questions, questions.hard"),
    ],
)
def test_wrong_changes(change: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        changed(TABLES, [change])
    assert str(caught.value) == message


def test_without_objectives_there_is_none_to_change() -> None:
    with pytest.raises(ConfigError, match=r"^there is no objective '1' to change: the configuration has none$"):
        changed({}, ["objective.1.rate=2"])


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ({"name": "mine", "data": "q.conllu"}, "mine"),
        ({"data": "folder/q.conllu.zst"}, "q"),
        ({"data": "q.train.conllu"}, "q.train"),
        ({"data": "q"}, "q"),
        ({"name": 3}, "2"),
        ({"name": "", "data": 5}, "2"),
        ({}, "2"),
    ],
)
def test_names(table: dict[str, Any], name: str) -> None:
    assert objective_name(table, 2) == name
