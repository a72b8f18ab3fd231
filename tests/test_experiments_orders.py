"""The experiments on word order, from the command line to their result files, on generated English."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from config_samples import lab
from treetune import Objective, TransitionParser, train
from treetune.corpus import write_conllu
from treetune.corpus.orders import Ordered, WordOrder, write_orders
from treetune.losses import Reordering
from treetune.reorder import Reorderer, load_rules
from treetune.sample import generate

Record = dict[str, Any]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Treebanks, and sentences in the order of six languages; one of them has a single aligned word."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("ud", "reorder"):
        (folder / name).mkdir()
    for seed, name in enumerate(("en_ewt", "en_gum")):
        write_conllu(generate(30, seed=seed), folder / "ud" / f"{name}-train.conllu")
    for language in ("ja", "ko", "ar", "fr", "ru", "zh"):
        reorderer = Reorderer(load_rules(language))
        for seed, part in enumerate(("train", "dev", "test"), start=5):
            items = [
                Ordered(one.sentence, WordOrder(reorderer.order(one.sentence, one.gold)), one.gold)
                for one in generate(25, seed=seed)
            ]
            items[3] = Ordered(items[3].sentence, WordOrder((1,)), items[3].tree)
            write_orders(items, folder / "reorder" / f"en-{language}-{part}.jsonl")
            write_conllu(generate(25, seed=seed), folder / "reorder" / f"en-{language}-{part}.conllu")
    return folder


@pytest.fixture(scope="module")
def table1(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Record:
    """The result of a quick trial of some rows of Table 1."""
    out = tmp_path_factory.mktemp("results") / "table1.json"
    experiment, docstring = lab.hall2011_table1.EXPERIMENT, lab.hall2011_table1.__doc__
    rows = (
        "treebank alone",
        "1 × word orders, Japanese",
        "targeted self-training, Japanese",
        "gold trees of the same",
        "1 × word orders of both languages",
    )
    for row in rows:
        arguments = ["--data", str(data), "--quick", "--seeds", "1", "--out", str(out), "--only", f"transition, {row}"]
        lab.common.main(experiment, docstring, arguments)
    found: Record = json.loads(out.read_text(encoding="utf-8"))
    return found


def test_the_rows_of_table_1_are_scored_by_order_and_by_tree(table1: Record) -> None:
    by_name = {row["name"]: row for row in table1["rows"]}
    assert list(by_name) == [
        "transition, treebank alone",
        "transition, 1 × word orders, Japanese",
        "transition, targeted self-training, Japanese",
        "transition, gold trees of the same sentences, Japanese",
        "transition, gold trees of the same sentences, Korean",
        "transition, 1 × word orders of both languages",
    ]
    assert list(by_name["transition, treebank alone"]["tests"]) == ["reorder/en-ja-test", "reorder/en-ko-test"]
    outcomes = set()
    for row in table1["runs"]:
        for test in row["tests"].values():
            # The sentence without two words to order is not counted.
            assert len(lab.outcomes.unpack_numbers(test["costs"])) == 24
            assert test["reorder"] == pytest.approx(100 - test["cost"])
            assert 0 <= test["exact"] <= test["reorder"] <= 100
            outcomes.add(test["outcomes"]["words"])
    # Every way of learning makes another parser; both languages have the same orders here.
    assert len(outcomes) == 4
    text = lab.tables.section(table1)
    assert "| parser | exact | reorder | LAS | UAS |" in text
    (compared,) = table1["comparisons"]
    means = {name: by_name[name]["tests"]["reorder/en-ja-test"]["reorder"]["mean"] for name in list(by_name)[:2]}
    assert compared["reorder"]["score"] == pytest.approx(
        means["transition, 1 × word orders, Japanese"] - means["transition, treebank alone"], abs=0.01
    )
    assert "| difference | reorder | p, bootstrap | UAS | p, McNemar | p, bootstrap | LAS | p, bootstrap |" in text


def test_claims_of_table_1_are_judged_where_they_can_be(table1: Record) -> None:
    judged = {claim["claim"]: claim["holds"] for claim in table1["pattern"]}
    significant = "reorder/en-ja-test: transition, 1 × word orders, Japanese costs significantly less than transition, "
    assert judged[f"{significant}treebank alone (bootstrap, p < 0.05)"] in (True, False)
    assert judged["reorder/en-ko-test: graph: the reorder-score rises with the rate"] is None
    settings = [run["settings"] for run in table1["runs"]]
    assert set(settings[1]["orders"]) == {"reorder/en-ja-train", "reorder/en-ja-test"}
    assert settings[2]["recipe"]["targeted"]["options"]["k"] == 32
    assert "targeted" not in settings[0]["recipe"]


def test_targeted_self_training_shares_no_first_epochs(data: Path, tmp_path: Path) -> None:
    """Its second training has another treebank than the first, of which the warm start is."""
    name = "transition, targeted self-training, Japanese"
    row = next(row for row in lab.hall2011_table1.EXPERIMENT.rows if row.name == name)
    few = row.corpus.read(data, lab.corpora.Limits(train=20, test=5))
    assert lab.runs.run(row, few, epochs=4, seed=0, warm=tmp_path)["tests"]


def test_targeted_self_training_takes_the_cheapest_of_each_list() -> None:
    parser = TransitionParser(beam=8)
    for _ in train(parser, generate(30, seed=1), epochs=1):
        pass
    reorderer = Reorderer(load_rules("sov"))
    examples = generate(12, seed=3)
    items = [(one.sentence, WordOrder(reorderer.order(one.sentence, one.gold))) for one in examples]
    loss = Reordering()
    chosen = lab.targeting.best_of_lists(parser, Objective(items, loss, k=8))
    differs = False
    for example, (sentence, order) in zip(chosen, items, strict=True):
        trees = [candidate.output for candidate in parser.k_best(sentence, 8)]
        costs = loss.costs(sentence, trees, order)
        assert loss(sentence, example.gold, order) == min(costs)
        differs = differs or example.gold != trees[0]
    assert differs


def test_rules_are_compared_for_six_languages(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "rules.json"
    lab.reorder_rules.main(["--data", str(data), "--quick", "--out", str(out), "--part", "dev"])
    record = json.loads(out.read_text(encoding="utf-8"))
    assert list(record["languages"]) == ["ja", "ko", "ar", "fr", "ru", "zh"]
    for measured in record["languages"].values():
        scores = measured["gold trees"]["scores"]
        assert list(scores) == ["no reordering", "hand-written", "learned", "both"]
        assert scores["hand-written"]["reorder"] == 1
        assert scores["both"]["reorder"] >= scores["no reordering"]["reorder"]
        low, high = scores["learned"]["interval"]
        assert low <= scores["learned"]["reorder"] <= high
    assert len(record["pattern"]) == 12
    text = lab.tables.section(record)
    assert "A quick trial" in text
    assert text.count("| ja | ") == 2


def test_missing_orders_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        SystemExit, match=r"en-ja-test\.jsonl is missing; name the folder that holds reorder/ with --data$"
    ):
        lab.reorder_rules.parts(tmp_path, "ja", "test", None)
