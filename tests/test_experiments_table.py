"""Tables of `experiments/` read from TOML: expansion of rows, what is refused, and every file that is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from experiments import table
from experiments.table import Table, merge
from experiments.training import build_loss

SMALL = """
title = "A trial"
paper = "Nobody 2000"
question = "Is it?"
answer = "It is."

[data]
folder = "ud"
train = ["{who}-train"]
dev = "{who}-dev"
tests = ["a-test", "b-test"]

[train]
epochs = 4

[each_objective]
loss = { name = "root" }
k = 3

[vary.size]
small = { model.beam = 1, text.word = "little" }
large = { model = { beam = 8, features = "own" } }

[vary.learner]
MIRA = { learner = { learner = "mira", k = 5 } }
perceptron = { learner.learner = "perceptron" }
"""


def read(folder: Path, text: str) -> Table:
    path = folder / "trial.toml"
    path.write_text(SMALL + text, encoding="utf-8")
    return table.read(path)


ROWS = '[[rows]]\nname = "{size}, {learner}"\n'


def test_a_template_stands_for_all_combinations_with_their_settings(tmp_path: Path) -> None:
    found = {row.name: row.config for row in read(tmp_path, ROWS).rows}
    assert list(found) == ["small, MIRA", "small, perceptron", "large, MIRA", "large, perceptron"]
    assert found["small, MIRA"]["model"] == {"beam": 1}
    assert found["large, perceptron"]["model"] == {"beam": 8, "features": "own"}
    assert found["large, perceptron"]["learner"] == {"learner": "perceptron"}
    assert found["large, MIRA"]["learner"] == {"learner": "mira", "k": 5}


def test_a_row_restricts_variants_and_overrides_their_settings(tmp_path: Path) -> None:
    rows = '[[rows]]\nname = "{size} one"\nsize = ["large"]\nmodel.beam = 2\ntrain.epochs = 8\ndata.dev = ""\n'
    [row] = read(tmp_path, rows).rows
    assert row.name == "large one"
    assert row.config["model"] == {"beam": 2, "features": "own"}
    assert row.config["train"] == {"epochs": 8}
    assert "dev" not in row.config["data"]


def test_placeholders_are_filled_everywhere_and_objectives_share_their_options(tmp_path: Path) -> None:
    rows = '[[rows]]\nname = "{size}"\nsize = ["small"]\nobjective = [{ data = "{word}-train", k = 9 }, { rate = 2 }]\n'
    [row] = read(tmp_path, rows).rows
    assert row.config["objective"] == [
        {"loss": {"name": "root"}, "k": 9, "data": "little-train"},
        {"loss": {"name": "root"}, "k": 3, "rate": 2},
    ]


def test_tables_are_merged_deeply_and_lists_replaced() -> None:
    first: dict[str, Any] = {"a": {"x": 1, "y": [1]}, "b": 1}
    assert merge(first, {"a": {"y": [2], "z": 3}}, {"b": {"c": 4}}) == {"a": {"x": 1, "y": [2], "z": 3}, "b": {"c": 4}}
    assert first == {"a": {"x": 1, "y": [1]}, "b": 1}


def test_comparisons_and_claims_are_expanded_over_variants_lists_and_tests(tmp_path: Path) -> None:
    text = ROWS + (
        '[[compare]]\nbetter = "{size}, MIRA"\nworse = "{size}, perceptron"\n'
        '[[claims]]\nbetter = "large, {learner}"\nworse = "small, {learner}"\nmetric = ["UAS", "LAS"]\n'
        '[[claims]]\nbetter = "large, MIRA"\non = "b-test"\nat_least = 80.0\n'
    )
    found = read(tmp_path, text)
    assert found.pairs == (("small, MIRA", "small, perceptron"), ("large, MIRA", "large, perceptron"))
    assert [claim.text for claim in found.claims] == [
        *(
            f"{test}: large, {learner} has a higher {metric} than small, {learner}"
            for learner in ("MIRA", "perceptron")
            for metric in ("UAS", "LAS")
            for test in ("a-test", "b-test")
        ),
        "b-test: large, MIRA has a UAS of at least 80.0",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROWS + "tests = 1\n", "trial.toml: row 'small, MIRA': unknown key 'tests'; known: name, data"),
        ('[[rows]]\nname = "one"\n[[rows]]\nname = "one"\n', "trial.toml: several rows are called one"),
        ('[[rows]]\nname = "one"\ndataset = "Latin"\n', "trial.toml: no data set 'Latin'; the data sets are: English"),
        (ROWS + '[[compare]]\nbetter = "huge"\nworse = "{size}, MIRA"\n', "trial.toml: no rows for {"),
        (ROWS + '[[claims]]\nbetter = "small, MIRA"\nwurse = "x"\n', "trial.toml: a claim has a wrong key: "),
        (
            ROWS + '[[claims]]\nbetter = "small, MIRA"\nworse = "large, MIRA"\non = "c-test"\n',
            "trial.toml: not all rows of a claim are evaluated on c-test: ",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SystemExit, match=f"^{re.escape(message)}"):
        read(tmp_path, text)


def test_an_unknown_key_of_a_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trial.toml"
    path.write_text('titel = "A trial"', encoding="utf-8")
    with pytest.raises(SystemExit, match=r"^trial.toml: unknown key 'titel'; known: title, paper"):
        table.read(path)


def test_an_unknown_table_is_named_with_those_there_are() -> None:
    with pytest.raises(SystemExit, match=r"^no table 'x'; the tables are: adaptation_gap, alshawi2011_table7, "):
        table.load("x")


@pytest.mark.parametrize("name", table.names())
def test_every_table_can_be_read_and_speaks_of_its_own_rows_and_tests(name: str) -> None:
    found = table.load(name)
    tests = {row.name: row.config["data"]["tests"] for row in found.rows}
    assert found.claims
    assert found.summary["rows"]
    for test, _ in found.summary["columns"]:
        assert any(test in tests[row] for row in found.summary["rows"])
    for better, worse in found.pairs:
        assert set(tests[better]) & set(tests[worse])
    quoted = re.findall(r"\[\[(.*?)\]\]", found.texts["answer"], flags=re.DOTALL)
    for test, _, rows in (re.sub(r"\s+", " ", one).split(" | ") for one in quoted):
        assert all(test in tests[row] for row in re.split(r" :: | // ", rows))


@pytest.mark.parametrize("name", table.names())
def test_no_row_is_trained_on_what_it_is_evaluated_on(name: str) -> None:
    for row in table.load(name).rows:
        data = row.config["data"]
        files = [*data["train"], *([data["dev"]] if "dev" in data else []), *data["tests"]]
        assert len(set(files)) == len(files)
        for objective in row.config.get("objective", ()):
            build_loss(objective["loss"]).close()
