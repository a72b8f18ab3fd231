"""Every experiment from the command line to its result file, with parsers that are really trained."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from config_samples import EXPERIMENTS, lab, write_treebanks

SCRIPTS = (
    "mcdonald_table2", "mcdonald_table4", "mcdonald_table3", "orders",
    "hall2011_table2", "hall2011_table3", "augmented_study", "external_metric",
    "labels_by_tag",
)  # fmt: skip
Records = dict[str, dict[str, Any]]


def run_script(name: str, *arguments: str) -> None:
    module = getattr(lab, name)
    lab.common.main(module.EXPERIMENT, module.__doc__, arguments)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Records:
    """The results of quick trials of all experiments, in one folder, on generated English."""
    data = write_treebanks(tmp_path_factory.mktemp("data"), sizes=(60, 15, 20))
    folder = tmp_path_factory.mktemp("results")
    found = {}
    for name in SCRIPTS:
        out = folder / f"{name}.json"
        run_script(name, "--data", str(data), "--quick", "--seeds", "1", "--out", str(out))
        found[name] = json.loads(out.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_row_is_trained_and_scored(records: Records, name: str) -> None:
    record, experiment = records[name], getattr(lab, name).EXPERIMENT
    assert [row["name"] for row in record["rows"]] == [row.name for row in experiment.rows]
    assert record["settings"] == {"epochs": 2, "quick": True, "seeds": [0]}
    for row in record["rows"]:
        assert row["cpu_seconds"]["mean"] > 0
        # Tags of questions are mostly wrong if the tagger has seen a few declaratives.
        least = 10 if "predicted tags" in row["name"] else 40
        for scores in row["tests"].values():
            # Far more than chance, after two epochs on so little.
            assert least < scores["LAS"]["mean"] <= scores["UAS"]["mean"] <= 100


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_claim_is_judged(records: Records, name: str) -> None:
    pattern = records[name]["pattern"]
    assert len(pattern) == len(getattr(lab, name).EXPERIMENT.claims)
    # Generated English has no crossing arcs to measure.
    assert all("crossing arcs" in claim["claim"] for claim in pattern if claim["holds"] is None)


@pytest.mark.parametrize("name", SCRIPTS)
def test_results_can_be_shown(records: Records, name: str) -> None:
    text = lab.tables.section(records[name])
    assert text.startswith(f"## {getattr(lab, name).EXPERIMENT.title}\n")
    assert all(f"| {row['name']} | " in text for row in records[name]["rows"])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("mcdonald_table2: English, projective, perceptron", "mcdonald_table2: English, projective, MIRA"),
        ("mcdonald_table2: Czech, projective, MIRA", "mcdonald_table2: Czech, non-projective, MIRA"),
        ("mcdonald_table4: k = 1", "mcdonald_table4: k = 20"),
        ("mcdonald_table3: transition, beam 8", "mcdonald_table3: transition, beam 32"),
        ("mcdonald_table3: graph, first order", "mcdonald_table3: graph, second order"),
        ("mcdonald_table3: graph, second order", "mcdonald_table3: graph, second order, stacked"),
        ("mcdonald_table4: k = 5", "orders: English, first order, projective, factored MIRA"),
        ("hall2011_table2: transition, (a) source", "hall2011_table2: transition, augmented by main verbs, target"),
        ("hall2011_table3: graph, unlabelled ALS", "hall2011_table3: graph, labelled ALS"),
        ("hall2011_table3: transition, treebank", "hall2011_table3: transition, treebank, twice the epochs"),
        ("augmented_study: lists of 2", "augmented_study: lists of 64"),
        ("augmented_study: target: 1 known arc", "augmented_study: target: 5 known arcs"),
        ("augmented_study: treebank alone", "augmented_study: then main verbs without the treebank, 1 pass"),
        ("labels_by_tag: transition, any label", "labels_by_tag: transition, labels by tag"),
        ("external_metric: transition, treebank", "external_metric: transition, treebank and the program"),
    ],
)
def test_learner_k_beam_order_search_and_base_tree_reach_the_parser(records: Records, first: str, second: str) -> None:
    runs = {f"{name}: {run['row']}": run for name, record in records.items() for run in record["runs"]}
    outcomes = [
        [runs[row]["epochs"], [test["outcomes"] for test in runs[row]["tests"].values()]] for row in (first, second)
    ]
    assert outcomes[0] != outcomes[1]


def test_what_two_experiments_have_in_common_is_made_once(records: Records) -> None:
    taken = {
        (name, run["row"]): run["taken_from"]
        for name, record in records.items()
        for run in record["runs"]
        if "taken_from" in run
    }
    assert taken["mcdonald_table4", "k = 5"] == "mcdonald_table2"
    assert taken["mcdonald_table3", "graph, first order"] == "mcdonald_table2"
    assert taken["orders", "English, second order, projective"] == "mcdonald_table3"


@pytest.mark.parametrize("name", SCRIPTS)
def test_records_name_no_place_of_this_machine(records: Records, name: str) -> None:
    text = json.dumps(records[name])
    assert sys.executable not in text
    assert str(EXPERIMENTS) not in text


def test_seeds_must_be_positive(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_script("orders", "--seeds", "0")
    assert capsys.readouterr().err.endswith("error: --seeds must be at least 1, found 0\n")
