from __future__ import annotations

from evaluation_samples import example

import treetune
from treetune.corpus.sentence import Tree
from treetune.evaluation import (
    METRICS,
    evaluate_trees,
    format_comparison,
    format_labels,
    format_lengths,
    format_scores,
)
from treetune.evaluation.report import format_table

GOLD = [example("a b c .", [2, 0, 2, 2], "nsubj root obj punct"), example("d", [0], "root")]
FIRST = [Tree.of([2, 0, 1, 2], ["nsubj", "root", "obj", "punct"]), Tree.of([0], ["root"])]


def test_scores_table() -> None:
    lines = format_scores(evaluate_trees(GOLD, FIRST, punct=False)).splitlines()
    assert lines[0] == f"*|punct:no|subtypes:yes|sents:2|v:{treetune.__version__}  (4 words counted)"
    assert lines[1].split()[:2] == ["metric", "score"]
    assert [line.split()[0] for line in lines[3:]] == list(METRICS)
    assert lines[3].split(maxsplit=2) == ["UAS", "75.00", "unlabelled attachment"]


def test_scores_that_do_not_exist_are_not_numbers() -> None:
    table = format_scores(evaluate_trees([example("a", [0])], [Tree.of([0])]))
    assert "LAS           n/a  labelled attachment\n" in table
    assert "nan" not in table


def test_label_table_and_its_limit() -> None:
    scores = evaluate_trees(GOLD, FIRST)
    lines = format_labels(scores).splitlines()
    assert lines[0].split() == ["label", "gold", "predicted", "right", "precision", "recall", "F1"]
    assert lines[2].split() == ["root", "2", "2", "2", "100.00", "100.00", "100.00"]
    assert lines[4].split() == ["obj", "1", "1", "0", "0.00", "0.00", "0.00"]
    assert len(format_labels(scores, limit=1).splitlines()) == 3


def test_length_table() -> None:
    lines = format_lengths(evaluate_trees(GOLD, FIRST)).splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["root", "1", "2", "3-6", "7-10", ">10"]
    assert lines[3].split() == ["1", "2", "1", "1", "100.00", "50.00", "66.67"]
    assert lines[-1].split() == [">10", "0", "0", "0", "n/a", "n/a", "n/a"]


def test_comparison_table() -> None:
    a, b = evaluate_trees(GOLD, FIRST), evaluate_trees(GOLD, GOLD)
    lines = format_comparison(a, b, samples=200, seed=5).splitlines()
    assert lines[0] == f"*|punct:yes|subtypes:yes|sents:2|v:{treetune.__version__}  (200 samples, seed 5)"
    row = lines[3].split()
    assert row[:4] == ["UAS", "80.00", "100.00", "+20.00"]
    assert row[-1] == "1.0000"
    assert len(format_comparison(a, b, metrics=["LAS"], samples=10).splitlines()) == 4


def test_tiny_p_values_are_bounded() -> None:
    gold = [example("a b c", [2, 0, 2], "x root y")] * 30
    poor = [Tree.of([3, 0, 1], ["x", "root", "y"])] * 30
    row = format_comparison(evaluate_trees(gold, poor), evaluate_trees(gold, gold), metrics=["UAS"], samples=10)
    assert row.endswith("< 0.0001")


def test_table_aligns_and_leaves_no_blank_tail() -> None:
    table = format_table(("name", "n"), [("a", "1"), ("bb", "100")])
    assert table == "name    n\n----  ---\na       1\nbb    100"
    assert format_table(("name", "n"), []) == "name  n\n----  -"
