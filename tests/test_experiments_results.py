"""What `experiments/` makes of finished runs: standard deviations, significance tests, claims, and what is stored."""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment_samples import Oracle
from experiments.claims import Claim
from experiments.results import TREE_METRICS, NotMeasuredError, Results, spread, tree_counts, tree_outcomes
from experiments.runner import score
from experiments.store import packed, unpacked
from experiments.tagging import ENTITY_METRICS
from strategies import trees
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.evaluation import evaluate_trees as evaluate
from treetune.evaluation import mcnemar, paired_bootstraps
from treetune.sample import generate

GOLD = generate(60, seed=3)
TEST = "some-test"
Make = Callable[..., Any]


def oracle(skill: float, seed: int, gold: list[Example] = GOLD) -> Any:
    return Oracle(gold, skill, seed)


def scores(skill: float, seed: int) -> Any:
    return evaluate(GOLD, oracle(skill, seed).predict_batch([example.sentence for example in GOLD]))


def make(rows: dict[str, dict[int, float]], *, seconds: dict[str, float] | None = None) -> Results:
    """Make results of rows given as {name: {seed: skill}}; 60 CPU seconds a run."""
    runs = [
        {
            "row": row,
            "settings": {"seed": seed},
            "cpu_seconds": (seconds or {}).get(row, 60.0),
            "epochs": [{"UAS": 1.0, "LAS": 1.0}],
            "tests": {TEST: score(oracle(skill, seed), GOLD)},
        }
        for row, by_seed in rows.items()
        for seed, skill in by_seed.items()
    ]
    return Results(runs, {TEST: GOLD})


def test_spread_of_several_values_of_one_and_of_none() -> None:
    assert spread([1.0, 3.0]) == {"mean": 2.0, "sd": 2**0.5, "raw": [1.0, 3.0]}
    assert spread([5.0]) == {"mean": 5.0, "sd": 0.0, "raw": [5.0]}
    assert spread([None, 1.0]) == {"mean": None, "sd": None, "raw": [None, 1.0]}


def test_comparing_tests_heads_seed_by_seed_and_pooled() -> None:
    found = make({"a": {0: 0.7, 1: 0.8}, "b": {0: 0.8, 1: 0.8}}).compare("b", "a", TEST)
    worse = [scores(0.7, 0).right("UAS"), scores(0.8, 1).right("UAS")]
    better = [scores(0.8, seed).right("UAS") for seed in (0, 1)]
    expected = [mcnemar(*pair) for pair in zip(worse, better, strict=True)]
    by_seed = found["mcnemar_heads"]["by_seed"]
    assert [one["p_value"] for one in by_seed] == [one.p_value for one in expected]
    assert [one["only_better_right"] for one in by_seed] == [one.only_b for one in expected]
    assert found["mcnemar_heads"]["median_p_value"] == statistics.median(one.p_value for one in expected)
    pooled = found["mcnemar_heads"]["pooled"]
    assert pooled["only_better_right"] == sum(one.only_b for one in expected)
    assert pooled["only_worse_right"] == sum(one.only_a for one in expected)
    assert json.loads(json.dumps(found)) == found


def test_the_bootstrap_speaks_of_the_mean_over_seeds() -> None:
    made = make({"a": {0: 0.7, 1: 0.8}, "b": {0: 0.9, 1: 0.95}})
    found = made.compare("b", "a", TEST)
    for metric in ("UAS", "LAS", "root", "UCM", "LCM"):
        difference = made.mean("b", TEST, metric) - made.mean("a", TEST, metric)
        assert found["bootstrap"][metric]["score"] == pytest.approx(difference)
    interval = found["bootstrap"]["UAS"]
    assert interval["low"] < interval["score"] < interval["high"]
    assert interval["p_value"] < 0.01


def test_counts_of_other_steps_are_summed_over_seeds_and_bootstrapped() -> None:
    draw = random.Random(1)
    counts = {
        (row, seed): [(gold := draw.randint(1, 4), draw.randint(1, 4), draw.randint(0, gold)) for _ in range(30)]
        for row in "ab"
        for seed in (0, 1)
    }
    runs = [
        {"row": row, "settings": {"seed": seed}, "tests": {TEST: {"outcomes": {"counts": np.array(found)}}}}
        for (row, seed), found in counts.items()
    ]
    found = Results(runs, {}, ENTITY_METRICS).compare("b", "a", TEST)
    sums = {
        row: [tuple(map(sum, zip(*pair, strict=True))) for pair in zip(counts[row, 0], counts[row, 1], strict=True)]
        for row in "ab"
    }
    [expected, *_] = paired_bootstraps(sums["a"], sums["b"], ENTITY_METRICS)
    assert found["bootstrap"]["F1"]["score"] == 100 * expected.difference.score
    assert found["bootstrap"]["F1"]["p_value"] == expected.p_value
    assert "mcnemar_heads" not in found


def test_costs_are_compared_as_a_plain_bootstrap_would() -> None:
    rng = np.random.default_rng(5)
    costs = {row: [rng.random(40) * 100 + shift for _ in range(2)] for row, shift in (("a", 20.0), ("b", 0.0))}
    runs = [
        {"row": row, "settings": {"seed": seed}, "tests": {TEST: {"outcomes": {"costs": one}}}}
        for row, found in costs.items()
        for seed, one in enumerate(found)
    ]
    found = Results(runs, {}).compare_costs("b", "a", TEST)
    means = [statistics.fmean(float(one[i]) for one in costs["b"]) for i in range(40)]
    others = [statistics.fmean(float(one[i]) for one in costs["a"]) for i in range(40)]
    differences = [one - other for one, other in zip(means, others, strict=True)]
    observed = statistics.fmean(differences)
    plain = random.Random(0)
    extreme = sum(
        abs(statistics.fmean(plain.choices(differences, k=40)) - observed) >= abs(observed) for _ in range(2000)
    )
    assert found["difference"] == pytest.approx(observed)
    assert found["p_value"] == pytest.approx(extreme / 2000, abs=0.02)


def test_rows_are_compared_on_the_seeds_both_have() -> None:
    made = make({"a": {0: 0.7, 1: 0.8}, "b": {1: 0.8, 2: 0.9}, "c": {5: 0.8}})
    assert made.compare("b", "a", TEST)["seeds"] == [1]
    assert made.compare("b", "a", TEST)["bootstrap"]["UAS"]["score"] == 0.0
    with pytest.raises(NotMeasuredError, match=r"^'c' and 'a' have no seed in common$"):
        made.compare("c", "a", TEST)


@pytest.mark.parametrize(("skill", "holds"), [(0.9, True), (0.701, False), (0.5, False)])
def test_significance_needs_a_difference_that_is_large_and_of_the_right_sign(skill: float, holds: bool) -> None:
    made = make({"a": {0: 0.7, 1: 0.7}, "b": {0: skill, 1: skill}})
    heads = Claim(better="b", worse="a", on=TEST, by="mcnemar").check(made)
    arcs = Claim(better="b", worse="a", on=TEST, by="bootstrap", metric="LAS").check(made)
    assert heads["claim"] == "some-test: b has a higher UAS than a (McNemar, p < 0.05)"
    assert arcs["claim"] == "some-test: b has a higher LAS than a (paired bootstrap, p < 0.05)"
    assert heads["holds"] is holds
    assert arcs["holds"] is holds
    assert set(heads["evidence"]) == {"difference", "median_mcnemar_p_value"}


@pytest.mark.parametrize(
    ("options", "text", "holds"),
    [
        ({"better": "b", "worse": "a"}, "b has a higher UAS than a", True),
        ({"better": "a", "worse": "b"}, "a has a higher UAS than b", False),
        ({"better": "a", "worse": "a"}, "a has a higher UAS than a", False),
        ({"better": "b", "worse": "a", "metric": "UCM"}, "b has a higher share of complete trees than a", True),
        ({"better": "b", "worse": "a", "margin": 5.0}, "b has a UAS of at least that of a + 5.0", True),
        ({"better": "b", "worse": "a", "margin": 50.0}, "b has a UAS of at least that of a + 50.0", False),
        ({"better": "a", "worse": "b", "margin": -50.0}, "a has a UAS of at least that of b − 50.0", True),
        ({"better": "a", "worse_of": ("a", "b")}, "a has a higher UAS than the best of the others", False),
        ({"better": "c", "worse_of": ("a", "b")}, "c has a higher UAS than the best of the others", True),
        ({"better": "b", "worse": "b", "margin": 0.0}, "b has a UAS of at least that of b", True),
        ({"better_of": ("a", "c"), "worse": "b", "group": "them"}, "the best of them has a higher UAS than b", True),
        ({"better": "b", "at_least": 60.0}, "b has a UAS of at least 60.0", True),
        ({"better": "b", "at_least": 99.0}, "b has a UAS of at least 99.0", False),
        ({"better": "b", "worse": "a", "above": "c"}, "b closes at least 50 % of the gap in UAS from a to c", True),
        ({"better": "a", "worse": "b", "above": "c"}, "a closes at least 50 % of the gap in UAS from b to c", False),
        ({"rises": ("a", "b", "c")}, "the UAS rises from a to c", True),
        ({"rises": ("a", "c", "b")}, "the UAS rises from a to b", False),
        ({"better": "c", "worse": "a", "metric": "cpu_seconds"}, "c has a higher training time than a", False),
    ],
)  # fmt: skip
def test_claims_about_means(options: dict[str, Any], text: str, holds: bool) -> None:
    made = make({"a": {0: 0.5}, "b": {0: 0.8}, "c": {0: 0.95}}, seconds={"c": 10.0})
    assert Claim(on=TEST, **options).check(made)["claim"] == f"{TEST}: {text}"
    assert Claim(on=TEST, **options).check(made)["holds"] is holds


@pytest.mark.parametrize(
    ("seconds", "holds"),
    [
        ((110.0, 120.0, 150.0, 200.0, 300.0), True),
        ((110.0, 120.0, 150.0, 140.0, 300.0), False),
        ((10.0, 20.0, 200.0, 210.0, 220.0), False),
    ],
)
def test_training_time_must_rise_on_a_line(seconds: tuple[float, ...], holds: bool) -> None:
    sizes = (1, 2, 5, 10, 20)
    rows = tuple(f"k = {k}" for k in sizes)
    made = make({row: {0: 0.8} for row in rows}, seconds=dict(zip(rows, seconds, strict=True)))
    claim = Claim(on=TEST, rises=rows, linear=sizes, metric="cpu_seconds")
    found = claim.check(made)
    assert found["holds"] is holds
    assert claim.text == "some-test: the training time rises from k = 1 to k = 20, on a line (R² of at least 0.95)"
    if holds:
        assert found["evidence"]["slope"] == pytest.approx(10.0)
        assert found["evidence"]["intercept"] == pytest.approx(100.0)


def test_a_claim_about_what_is_missing_is_neither_true_nor_false() -> None:
    made = make({"a": {0: 0.7}})
    found = Claim(better="b", worse="a", on=TEST).check(made)
    assert (found["holds"], found["evidence"]) == (None, {"missing": "no run of 'b' yet"})
    # Generated English has no crossing arcs.
    found = Claim(better="a", worse="a", on=TEST, metric="crossing_UAS").check(made)
    assert found["evidence"] == {"missing": "nothing to count for crossing_UAS in some-test"}


@st.composite
def scored_corpora(draw: st.DrawFn) -> tuple[list[Example], list[Tree]]:
    gold = draw(st.lists(trees(max_size=6), min_size=1, max_size=5))
    examples = [Example(Sentence.of(["w"] * len(tree)), tree) for tree in gold]
    # Half of the trees are right, otherwise there would hardly ever be a complete one.
    return examples, [draw(st.just(tree) | trees(size=len(tree))) for tree in gold]


@settings(max_examples=40)
@given(corpora=scored_corpora())
def test_stored_outcomes_give_the_same_scores(corpora: tuple[list[Example], list[Tree]]) -> None:
    gold, answers = corpora
    direct = evaluate(gold, answers)
    run = {"row": "a", "settings": {"seed": 0}, "tests": {TEST: {"UAS": 1.0, "outcomes": tree_outcomes(direct)}}}
    [back] = unpacked(json.loads(json.dumps(packed([run]))))
    outcomes = back["tests"][TEST]["outcomes"]
    counts = tree_counts(outcomes["words"], outcomes["roots"], gold)
    for metric in TREE_METRICS:
        [tested, *_] = paired_bootstraps(counts, direct.per_sentence, [metric], samples=5)
        assert tested.score_a == tested.score_b == pytest.approx(direct[metric], nan_ok=True)


def test_outcomes_of_several_runs_and_sizes_come_back_each_to_its_run() -> None:
    rng = np.random.default_rng(3)
    runs = [
        {
            "row": row,
            "settings": {"seed": seed},
            "tests": {
                "x": {
                    "outcomes": {"words": rng.integers(0, 8, size).astype(np.uint8), "costs": rng.random(4).round(3)}
                },
                "y": {"UAS": 2.0, "outcomes": {"counts": rng.integers(0, 9, (size, 3))}},
            },
        }
        for row, seed, size in (("a", 0, 5), ("a", 1, 5), ("b", 0, 7))
    ]
    stored = json.loads(json.dumps(packed(runs)))
    assert [run["tests"]["y"] for run in stored["runs"]] == [{"UAS": 2.0}] * 3
    for run, back in zip(runs, unpacked(stored), strict=True):
        tests: Any = run["tests"]
        for test, found in tests.items():
            for kind, values in found["outcomes"].items():
                assert np.array_equal(back["tests"][test]["outcomes"][kind], values)


def test_scores_of_sentences_with_crossing_arcs_stand_apart() -> None:
    crossing, plain = Tree.of([0, 4, 1, 1], ["a"] * 4), Tree.of([0, 1], ["a"] * 2)
    gold = [Example(Sentence.of(["w"] * len(tree)), tree) for tree in (crossing, plain)]

    class Fixed:
        def predict_batch(self, sentences: list[Sentence]) -> list[Tree]:
            return [Tree.of([0, 1, 1, 1], ["a"] * 4), Tree.of([0, 1], ["a", "b"])]

    parser: Any = Fixed()
    found = score(parser, gold)
    assert found["crossing_sentences"] == 1
    assert found["crossing_UAS"] == found["crossing_LAS"] == 75.0
    assert found["UAS"] == pytest.approx(500 / 6)
    assert found["LAS"] == pytest.approx(400 / 6)
    assert found["root"] == 100.0
    assert (found["UCM"], found["LCM"]) == (50.0, 0.0)
    assert score(oracle(1.0, 0, gold[1:]), gold[1:])["crossing_UAS"] is None
