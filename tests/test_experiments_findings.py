"""What `experiments/` makes of finished runs: spreads, tests of significance, claims."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from config_samples import Oracle, lab
from treetune.corpus.sentence import Example
from treetune.evaluation import evaluate, mcnemar
from treetune.sample import generate

GOLD = generate(60, seed=3)
TEST = "some-test"
Make = Callable[..., Any]


def trees(skill: float, seed: int, gold: list[Example] = GOLD) -> Any:
    return Oracle(gold, skill, seed).predict_batch([example.sentence for example in gold])


@pytest.fixture
def results() -> Make:
    """Makes results of rows given as {name: {seed: skill}}; 60 CPU seconds a run."""

    def make(rows: dict[str, dict[int, float]], *, seconds: dict[str, float] | None = None) -> Any:
        runs = [
            {
                "row": row,
                "settings": {"seed": seed},
                "cpu_seconds": (seconds or {}).get(row, 60.0),
                "epochs": [{"UAS": 1.0, "LAS": 1.0}],
                "tests": {TEST: lab.runs.score(Oracle(GOLD, skill, seed), GOLD)},
            }
            for row, by_seed in rows.items()
            for seed, skill in by_seed.items()
        ]
        return lab.findings.Results(runs, {TEST: GOLD})

    return make


def test_spread_of_several_values_of_one_and_of_none() -> None:
    spread = lab.findings.spread
    assert spread([1.0, 3.0]) == {"mean": 2.0, "sd": 2**0.5, "raw": [1.0, 3.0]}
    assert spread([5.0]) == {"mean": 5.0, "sd": 0.0, "raw": [5.0]}
    assert spread([None, 1.0]) == {"mean": None, "sd": None, "raw": [None, 1.0]}


def test_comparing_tests_heads_seed_by_seed_and_pooled(results: Make) -> None:
    found = results({"a": {0: 0.7, 1: 0.8}, "b": {0: 0.8, 1: 0.8}}).compare("b", "a", TEST)
    right = {skill_seed: evaluate(GOLD, trees(*skill_seed)).right("UAS") for skill_seed in ((0.7, 0), (0.8, 1))}
    better = {seed: evaluate(GOLD, trees(0.8, seed)).right("UAS") for seed in (0, 1)}
    expected = [mcnemar(right[0.7, 0], better[0]), mcnemar(right[0.8, 1], better[1])]
    by_seed = found["mcnemar_heads"]["by_seed"]
    assert [one["p_value"] for one in by_seed] == [one.p_value for one in expected]
    assert [one["only_better_right"] for one in by_seed] == [one.only_b for one in expected]
    assert found["mcnemar_heads"]["median_p_value"] == statistics.median(one.p_value for one in expected)
    pooled = found["mcnemar_heads"]["pooled"]
    assert pooled["only_better_right"] == sum(one.only_b for one in expected)
    assert pooled["only_worse_right"] == sum(one.only_a for one in expected)
    json.dumps(found)


def test_the_bootstrap_speaks_of_the_mean_over_seeds(results: Make) -> None:
    made = results({"a": {0: 0.7, 1: 0.8}, "b": {0: 0.9, 1: 0.95}})
    found = made.compare("b", "a", TEST)
    for metric in ("UAS", "LAS", "root", "UCM", "LCM"):
        difference = made.mean("b", TEST, metric) - made.mean("a", TEST, metric)
        assert found["bootstrap"][metric]["score"] == pytest.approx(difference)
    interval = found["bootstrap"]["UAS"]
    assert interval["low"] < interval["score"] < interval["high"]
    assert interval["p_value"] < 0.01


def test_rows_are_compared_on_the_seeds_both_have(results: Make) -> None:
    made = results({"a": {0: 0.7, 1: 0.8}, "b": {1: 0.8, 2: 0.9}, "c": {5: 0.8}})
    assert made.compare("b", "a", TEST)["seeds"] == [1]
    assert made.compare("b", "a", TEST)["bootstrap"]["UAS"]["score"] == 0.0


def test_rows_without_a_common_seed_are_not_compared(results: Make) -> None:
    made = results({"a": {0: 0.7}, "c": {5: 0.8}})
    with pytest.raises(lab.findings.NotMeasuredError, match=r"^'c' and 'a' have no seed in common$"):
        made.compare("c", "a", TEST)


@pytest.mark.parametrize(("skill", "holds"), [(0.9, True), (0.701, False), (0.5, False)])
def test_significance_needs_a_difference_that_is_large_and_of_the_right_sign(
    results: Make, skill: float, holds: bool
) -> None:
    made = results({"a": {0: 0.7, 1: 0.7}, "b": {0: skill, 1: skill}})
    heads = lab.findings.more_right_heads("b", "a", TEST).judge(made)
    arcs = lab.findings.significantly_higher("b", "a", TEST, "LAS").judge(made)
    assert heads["claim"] == "some-test: b has significantly more right heads than a (McNemar, p < 0.05)"
    assert arcs["claim"] == "some-test: b has a significantly higher LAS than a (bootstrap, p < 0.05)"
    assert heads["holds"] is holds
    assert arcs["holds"] is holds
    assert set(heads["evidence"]) == {"difference", "median_mcnemar_p_value"}
    json.dumps([heads, arcs])


def test_higher_looks_at_the_means_alone(results: Make) -> None:
    made = results({"a": {0: 0.7}, "b": {0: 0.71}})
    assert lab.findings.higher("b", "a", TEST, "UAS").judge(made)["holds"] is True
    assert lab.findings.higher("a", "b", TEST, "UAS").judge(made)["holds"] is False
    # Not higher than itself.
    assert lab.findings.higher("a", "a", TEST, "UAS").judge(made)["holds"] is False


def test_claims_call_scores_by_words() -> None:
    claim = lab.findings.higher("b", "a", TEST, "UCM")
    assert claim.text == "some-test: b has a higher share of complete trees than a"


def test_a_claim_about_what_is_missing_is_neither_true_nor_false(results: Make) -> None:
    made = results({"a": {0: 0.7}})
    judged = lab.findings.higher("b", "a", TEST, "UAS").judge(made)
    assert (judged["holds"], judged["evidence"]) == (None, {"missing": "no run of 'b' yet"})
    # Generated English has no crossing arcs.
    judged = lab.findings.higher("a", "a", TEST, "crossing_UAS").judge(made)
    assert judged["evidence"] == {"missing": "nothing to count for crossing_UAS in some-test"}


@pytest.fixture
def table4(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = lab.mcdonald_table4
    monkeypatch.setattr(module, "TEST", TEST)
    return module


def by_k(values: tuple[float, ...]) -> dict[str, float]:
    return dict(zip(("k = 1", "k = 2", "k = 5", "k = 10", "k = 20"), values, strict=True))


@pytest.mark.parametrize(
    ("seconds", "holds"),
    [
        ((110.0, 120.0, 150.0, 200.0, 300.0), True),
        ((110.0, 120.0, 150.0, 140.0, 300.0), False),
        ((10.0, 20.0, 200.0, 210.0, 220.0), False),
    ],
)
def test_training_time_must_rise_on_a_line(table4: Any, results: Make, seconds: tuple[float, ...], holds: bool) -> None:
    made = results({row: {0: 0.8} for row in by_k(seconds)}, seconds=by_k(seconds))
    found, evidence = table4.time_is_linear(made)
    assert found is holds
    assert evidence["cpu_seconds"] == list(seconds)
    if holds:
        assert evidence["seconds_per_candidate"] == pytest.approx(10.0)
        assert evidence["seconds_at_0"] == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("skills", "five_is_enough", "twenty_is_not_better"),
    [
        ((0.5, 0.6, 0.9, 0.8, 0.7), True, True),
        ((0.5, 0.6, 0.7, 0.8, 0.9), False, False),
        ((0.5, 0.6, 0.7, 0.9, 0.8), False, True),
    ],
)
def test_claims_about_k(
    table4: Any, results: Make, skills: tuple[float, ...], five_is_enough: bool, twenty_is_not_better: bool
) -> None:
    made = results({row: {0: skill} for row, skill in by_k(skills).items()})
    assert table4.small_is_enough(made)[0] is five_is_enough
    assert table4.largest_is_not_better(made)[0] is twenty_is_not_better


def test_stacking_is_held_against_the_best_single_parser(results: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    module = lab.mcdonald_table3
    monkeypatch.setattr(module, "TEST", TEST)
    single = dict(zip(module.SINGLE, ({0: 0.6}, {0: 0.8}, {0: 0.7}, {0: 0.5}, {0: 0.5}, {0: 0.5}), strict=True))
    for skill, holds in ((0.95, True), (0.7, False)):
        made = results({**single, **{row: {0: skill} for row in module.STACKED}})
        for claim in (module.beats_every_single, module.has_more_right_heads):
            found, evidence = claim(made)
            assert found is holds
            assert evidence["single"] == "transition, beam 32"
            assert evidence["stacked"] == "graph, second order, stacked"


def test_factored_mira_must_be_slower_and_no_better(results: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    module = lab.orders
    monkeypatch.setattr(module, "TEST", TEST)
    for skill, seconds, holds in ((0.7, 90.0, True), (0.7, 30.0, False), (0.9, 90.0, False)):
        made = results({module.FIRST: {0: 0.8}, module.FACTORED: {0: skill}}, seconds={module.FACTORED: seconds})
        assert module.factored_does_not_pay(made)[0] is holds


def test_every_claim_and_pair_speaks_of_rows_that_are_there() -> None:
    nothing = lab.findings.Results([], {})
    for script in sorted(Path(lab.common.__file__).parent.glob("*.py")):
        experiment = getattr(getattr(lab, script.stem), "EXPERIMENT", None)
        if not isinstance(experiment, lab.common.Experiment):
            continue
        assert experiment.name == script.stem
        rows = {row.name: row for row in experiment.rows}
        assert len(rows) == len(experiment.rows)
        for better, worse in ((rows[one].corpus, rows[other].corpus) for one, other in experiment.pairs):
            # The one to compare with may know more trees and be tested on more.
            assert (better.dev, better.most) == (worse.dev, worse.most)
            assert set(better.train) <= set(worse.train)
            assert set(better.tests) <= set(worse.tests)
        reasons = {claim.judge(nothing)["evidence"]["missing"] for claim in experiment.claims}
        assert reasons <= {f"no run of {row!r} yet" for row in rows}
