from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest
from evaluation_samples import LABELS, corpora, corrupt, example, random_tree, steady
from hypothesis import given
from hypothesis import strategies as st

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, DataError
from treetune.evaluation import (
    METRICS,
    Counts,
    Scores,
    bootstrap_interval,
    compare,
    evaluate_trees,
    mcnemar,
    paired_bootstrap,
    paired_bootstraps,
)
from treetune.evaluation.scores import COMPARED
from treetune.evaluation.significance import EXACT_UP_TO, chi_square_mcnemar, exact_mcnemar


def _systems(sentences: int = 60, *, rates: tuple[float, float] = (0.3, 0.1)) -> tuple[Scores, Scores]:
    rng = random.Random(7)
    trees = [random_tree(rng.randint(1, 12), rng) for _ in range(sentences)]
    gold = [Example(Sentence.of(["w"] * len(tree)), tree) for tree in trees]
    first, second = ([corrupt(t, rng, rate=rate, labels=LABELS) for t in trees] for rate in rates)
    return evaluate_trees(gold, first), evaluate_trees(gold, second)


def _enumerated(only_a: int, only_b: int) -> float:
    """The p-value from all sign patterns: how many are at least as uneven."""
    size = only_a + only_b
    patterns = itertools.product((0, 1), repeat=size)
    extreme = sum(abs(2 * sum(pattern) - size) >= abs(only_a - only_b) for pattern in patterns)
    return extreme / (1 << size)


@pytest.mark.parametrize(("only_a", "only_b"), list(itertools.product(range(6), range(7))))
def test_exact_mcnemar_equals_enumeration(only_a: int, only_b: int) -> None:
    assert exact_mcnemar(only_a, only_b) == pytest.approx(_enumerated(only_a, only_b), abs=1e-15)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p_value"),
    # (121, 59) is the textbook table with chi-square 20.67
    [(100, 100, 1.0), (101, 100, 1.0), (121, 59, 5.45e-06), (59, 121, 5.45e-06)],
)
def test_chi_square_mcnemar(only_a: int, only_b: int, p_value: float) -> None:
    assert chi_square_mcnemar(only_a, only_b) == pytest.approx(p_value, rel=1e-3)


def test_chi_square_tail_at_tabulated_points() -> None:
    # (|b - c| - 1)^2 / (b + c) = 3.8416 = 1.96^2 and 6.6358 = 2.576^2, both from round numbers
    assert chi_square_mcnemar(5000 + 98 + 1, 5000 - 98) == pytest.approx(0.05, abs=2e-4)
    assert chi_square_mcnemar(125_000 + 644 + 1, 125_000 - 644) == pytest.approx(0.01, abs=1e-4)


def test_both_forms_of_mcnemar_meet_where_they_change() -> None:
    for only_a in range(400, 500, 7):
        only_b = EXACT_UP_TO - only_a
        assert exact_mcnemar(only_a, only_b) == pytest.approx(chi_square_mcnemar(only_a, only_b), abs=1e-4)


def test_mcnemar_counts_disagreements() -> None:
    result = mcnemar([True, True, True, False, False], [True, False, False, True, False])
    assert (result.only_a, result.only_b, result.exact) == (2, 1, True)
    assert result.p_value == 1.0
    many = EXACT_UP_TO + 1
    assert not mcnemar([True] * many, [False] * many).exact


@steady
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40))
def test_mcnemar_is_symmetric(pairs: list[tuple[bool, bool]]) -> None:
    a, b = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    forth, back = mcnemar(a, b), mcnemar(b, a)
    assert forth.p_value == back.p_value
    assert (forth.only_a, forth.only_b) == (back.only_b, back.only_a)
    assert 0 < forth.p_value <= 1


def test_mcnemar_needs_equal_lists() -> None:
    with pytest.raises(DataError) as caught:
        mcnemar([True], [])
    assert str(caught.value) == (
        "McNemar's test needs the same units for both systems, found 1 and 0; "
        "score both against the same gold with the same options"
    )


def test_paired_bootstrap_tells_a_real_difference() -> None:
    worse, better = _systems()
    result = paired_bootstrap(worse.per_sentence, better.per_sentence, "LAS", samples=2000)
    assert (result.score_a, result.score_b) == (worse.las, better.las)
    assert result.difference.score == better.las - worse.las > 0
    assert 0 < result.difference.low < result.difference.score < result.difference.high
    assert result.p_value == 1 / 2001


def test_paired_bootstrap_of_a_system_with_itself() -> None:
    scores, _ = _systems()
    result = paired_bootstrap(scores.per_sentence, scores.per_sentence, "CLAS", samples=500)
    assert result.p_value == 1
    assert (result.difference.low, result.difference.score, result.difference.high) == (0, 0, 0)


def test_paired_bootstrap_is_blind_to_chance() -> None:
    """Systems of equal quality are called different at 5 % about once in twenty, not every time."""
    first, second = _systems(400, rates=(0.2, 0.2))
    found = 0
    for start in range(0, 400, 20):
        part = slice(start, start + 20)
        tested = paired_bootstrap(first.per_sentence[part], second.per_sentence[part], "UAS", samples=500)
        found += tested.p_value < 0.05
    assert found <= 4


@steady
@given(corpora(systems=2))
def test_paired_bootstrap_is_antisymmetric(drawn: tuple[list[Example], list[list[Tree]]]) -> None:
    gold, (first, second) = drawn
    a, b = evaluate_trees(gold, first), evaluate_trees(gold, second)
    if not a.counts.words:
        return
    forth = paired_bootstrap(a.per_sentence, b.per_sentence, "UAS", samples=50)
    back = paired_bootstrap(b.per_sentence, a.per_sentence, "UAS", samples=50)
    assert forth.p_value == back.p_value
    assert forth.difference.score == -back.difference.score
    assert forth.difference.low == pytest.approx(-back.difference.high, abs=1e-12)


def test_resampling_matches_a_plain_loop() -> None:
    """The same draws, taken one by one, give the same intervals for every metric, sentence means too."""
    first, second = _systems(20)
    draws = np.random.default_rng(3).integers(0, 20, size=(200, 20))
    for name, metric in METRICS.items():
        a, b = (np.array([metric.score([s.per_sentence[i] for i in r]) for r in draws]) for s in (first, second))
        one = bootstrap_interval(first.per_sentence, name, samples=200, seed=3)
        assert one.score == first[name]
        assert (one.low, one.high) == pytest.approx(tuple(np.quantile(a, (0.025, 0.975))), abs=1e-12)
        two = paired_bootstrap(first.per_sentence, second.per_sentence, name, samples=200, seed=3)
        wanted = tuple(np.quantile(b - a, (0.025, 0.975)))
        assert (two.difference.low, two.difference.high) == pytest.approx(wanted, abs=1e-12)
        shifted = np.abs(b - a - (b - a).mean())
        p_value = ((shifted >= abs(second[name] - first[name])).sum() + 1) / 201
        # one sample more or less: a tie may fall either way by the last bit of a sum
        assert two.p_value == pytest.approx(p_value, abs=1.5 / 201)


def test_seed_and_samples_decide_the_numbers() -> None:
    scores, _ = _systems()

    def interval(samples: int, seed: int) -> tuple[float, float]:
        found = bootstrap_interval(scores.per_sentence, "LAS", samples=samples, seed=seed)
        return found.low, found.high

    assert interval(300, 0) == interval(300, 0)
    assert interval(300, 0) != interval(300, 1)
    assert interval(300, 0) != interval(301, 0)


def test_several_metrics_share_their_samples() -> None:
    first, second = _systems()
    a, b = first.per_sentence, second.per_sentence
    together = paired_bootstraps(a, b, ["UAS", METRICS["root_F1"]], samples=300)
    assert together[0] == paired_bootstrap(a, b, "UAS", samples=300)
    assert together[1] == paired_bootstrap(a, b, "root_F1", samples=300)


def test_samples_with_nothing_to_count_are_left_out() -> None:
    counts = [Counts(sentences=1), Counts(sentences=1, words=2, right_heads=1)]
    better = [Counts(sentences=1), Counts(sentences=1, words=2, right_heads=2)]
    assert bootstrap_interval(counts, "UAS", samples=50).low == 0.5
    result = paired_bootstrap(counts, better, "UAS", samples=50)
    assert (result.difference.low, result.difference.high, result.samples) == (0.5, 0.5, 50)


def test_bootstrap_errors() -> None:
    scores, _ = _systems(5)
    counts = scores.per_sentence
    with pytest.raises(DataError) as data:
        paired_bootstrap(counts, counts[:3], "LAS")
    assert str(data.value) == "the paired bootstrap needs the same sentences for both systems, found 5 and 3"
    with pytest.raises(DataError, match=r"^LAS has nothing to count in these 0 sentences$"):
        bootstrap_interval([], "LAS")
    with pytest.raises(ConfigError, match=r"^expected at least 1 bootstrap sample, found 0$"):
        bootstrap_interval(counts, "LAS", samples=0)
    with pytest.raises(ConfigError, match=r"^unknown metric 'F'; known: "):
        bootstrap_interval(counts, "F")


def test_compare_runs_both_tests() -> None:
    worse, better = _systems()
    tested = compare(worse, better, samples=300)
    assert tuple(tested) == COMPARED
    assert tested["LAS"].bootstrap == paired_bootstrap(worse.per_sentence, better.per_sentence, "LAS", samples=300)
    assert tested["LAS"].mcnemar == mcnemar(worse.right("LAS"), better.right("LAS"))
    assert tested["CLAS"].mcnemar is None
    assert tested["LAS"].signature == worse.signature("LAS")
    found = json.loads(json.dumps(tested["LAS"].to_dict()))
    assert found["bootstrap"]["difference"]["score"] == better.las - worse.las
    assert list(compare(worse, better, metrics=["UCM"], samples=10)) == ["UCM"]


def test_compare_leaves_out_what_cannot_be_scored() -> None:
    scores = evaluate_trees([example("a b", [0, 1])], [Tree.of([0, 1])])
    assert list(compare(scores, scores, samples=10)) == ["UAS", "root", "UALS"]
    with pytest.raises(DataError, match=r"^LAS has nothing to count in these 1 sentences$"):
        compare(scores, scores, metrics=["LAS"])


def test_compare_refuses_what_is_not_comparable() -> None:
    gold = [example("a b", [0, 1], "root obj"), example("c d", [0, 1], "root obj")]
    other = [gold[0], example("c d", [2, 0], "obj root")]
    scores = evaluate_trees(gold, gold)
    for options, message in (
        (
            {"punct": False},
            "cannot compare scores with punct=True and punct=False; score both with the same options",
        ),
        (
            {"subtypes": False},
            "cannot compare scores with subtypes=True and subtypes=False; score both with the same options",
        ),
    ):
        with pytest.raises(ConfigError) as config:
            compare(scores, evaluate_trees(gold, gold, **options))
        assert str(config.value) == message
    with pytest.raises(DataError) as data:
        compare(scores, evaluate_trees(gold[:1], gold[:1]))
    assert str(data.value) == ("cannot compare scores of 2 and 1 sentences; score both systems against the same gold")
    with pytest.raises(DataError) as data:
        compare(scores, evaluate_trees(other, other))
    assert str(data.value) == (
        "sentence 2: the two systems were not scored against the same gold; score both against the same gold"
    )
