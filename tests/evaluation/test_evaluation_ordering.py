"""Scores of word orders: by hand, against slow definitions, and their limits."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetune import __version__
from treetune.corpus.orders import WordOrder
from treetune.errors import ConfigError, DataError
from treetune.evaluation.ordering import (
    ORDER_METRICS,
    OrderCounts,
    compare_orders,
    comparison_to_dict,
    count_inversions,
    evaluate_orders,
    order_counts,
    shown,
)


@st.composite
def orders(draw: st.DrawFn) -> tuple[WordOrder, list[int]]:
    size = draw(st.integers(0, 7))
    predicted = draw(st.permutations(range(1, size + 1)))
    words = draw(st.permutations(range(1, size + 1)))
    links = draw(st.lists(st.tuples(st.integers(1, max(size, 1)), st.integers(1, 6)), max_size=8)) if size else []
    return WordOrder(tuple(words[: draw(st.integers(0, size))]), tuple(links)), predicted


def slow_counts(gold: WordOrder, predicted: list[int]) -> OrderCounts:
    matched = [word for word in predicted if word in gold.words]
    if len(matched) < 2:
        return OrderCounts()
    neighbours = set(zip((0, *gold.words), (*gold.words, 99), strict=True))
    kept = [pair for pair in zip((0, *matched), (*matched, 99), strict=True) if pair in neighbours]
    inner = [pair for pair in kept if pair[0] > 0 and pair[1] < 99]
    wrong = [pair for pair in combinations(matched, 2) if gold.words.index(pair[0]) > gold.words.index(pair[1])]
    at = predicted.index
    crossing = [
        (one, two) for one, two in combinations(gold.links, 2) if (at(one[0]) - at(two[0])) * (one[1] - two[1]) < 0
    ]
    return OrderCounts(
        matched=len(matched),
        chunks=len(matched) - len(inner),
        kept_neighbours=len(kept),
        inversions=len(wrong),
        crossings=len(crossing) if gold.links else len(wrong),
    )


@given(orders())
def test_counts_are_the_slow_ones(drawn: tuple[WordOrder, list[int]]) -> None:
    assert order_counts(*drawn) == slow_counts(*drawn)


@given(orders())
def test_scores_have_their_limits_and_gold_is_perfect(drawn: tuple[WordOrder, list[int]]) -> None:
    gold, predicted = drawn
    counts = order_counts(gold, predicted)
    assert 0 <= counts.reorder <= 1
    assert 0 <= counts.fuzzy <= 1
    assert -1 <= counts.tau <= 1
    rest = [word for word in predicted if word not in gold.words]
    perfect = order_counts(gold, [*gold.words, *rest])
    assert (perfect.reorder, perfect.fuzzy, perfect.tau, perfect.inversions) == (1, 1, 1, 0)
    assert (counts.chunks <= 1) == (counts.inversions == 0) == (counts == perfect or counts.chunks <= 1)


def test_a_sentence_by_hand() -> None:
    # 5 of 6 words are aligned; "1 2 | 5 | 3 4" are three chunks of them.
    counts = order_counts(WordOrder((1, 2, 3, 4, 5)), [1, 2, 5, 6, 3, 4])
    assert counts == OrderCounts(matched=5, chunks=3, kept_neighbours=3, inversions=2, crossings=2)
    assert (counts.reorder, counts.fuzzy, counts.tau) == (0.5, 0.5, 0.6)


def test_words_between_that_are_not_aligned_do_not_break_a_chunk() -> None:
    assert order_counts(WordOrder((3, 1)), [3, 2, 1]).chunks == 1


def test_crossing_links_are_counted_once_each() -> None:
    gold = WordOrder((1, 2, 3), ((1, 1), (1, 4), (2, 2), (3, 2), (3, 3)))
    # 1-4 crosses all of the others but 1-1; two links to one place do not cross.
    assert order_counts(gold, [1, 2, 3]).crossings == 3
    assert order_counts(gold, [1, 2, 3]).inversions == 0


@pytest.mark.parametrize("words", [(), (2,)])
def test_no_or_one_aligned_word_is_not_counted(words: tuple[int, ...]) -> None:
    gold = [WordOrder(words, ((2, 1), (1, 2))), WordOrder((2, 1))]
    scores = evaluate_orders(gold, [[1, 2], [1, 2]])
    assert scores.per_sentence[0] == OrderCounts()
    assert {name: scores[name] for name in ORDER_METRICS} == {
        "reorder": 0,
        "exact": 0,
        "fuzzy": 0,
        "tau": -1,
        "reorder_corpus": 0,
        "crossings": 1,
    }
    alone = evaluate_orders(gold[:1], [[1, 2]])
    assert all(math.isnan(alone[name]) for name in ORDER_METRICS)


def test_the_scores_of_a_corpus() -> None:
    gold = [WordOrder((1, 2, 3)), WordOrder((1, 2, 3, 4, 5)), WordOrder((1,))]
    scores = evaluate_orders(gold, [[1, 2, 3], [5, 1, 2, 3, 4], [1]])
    assert scores["exact"] == 0.5
    assert scores["reorder"] == (1 + 0.75) / 2
    assert scores["reorder_corpus"] == (2 + 3) / (2 + 4)
    assert scores["fuzzy"] == (1 + 3 / 6) / 2
    assert scores["tau"] == (1 + 0.2) / 2
    assert scores["crossings"] == 2
    assert scores.signed("reorder") == f"reorder|aligned:yes|sents:2/3|v:{__version__} = 87.50"
    assert scores.signed("crossings").endswith(" = 2.00")
    assert scores.to_dict()["scores"]["exact"] == 0.5
    assert scores.signature("*").startswith("*|")
    assert shown("tau", -0.5) == "-50.00"


def test_intervals_and_comparisons() -> None:
    gold = [WordOrder((1, 2, 3))] * 40
    bad = evaluate_orders(gold, [[3, 2, 1]] * 20 + [[1, 2, 3]] * 20)
    good = evaluate_orders(gold, [[1, 2, 3]] * 40)
    interval = bad.interval("reorder", samples=500)
    assert interval.score == 0.5
    assert 0.2 < interval.low < 0.5 < interval.high < 0.8
    assert bad.interval("reorder", samples=500) == interval
    tested = compare_orders(bad, good, samples=500)
    assert list(tested) == list(ORDER_METRICS)
    assert tested["reorder"].difference.score == 0.5
    assert tested["reorder"].p_value < 0.01
    assert compare_orders(bad, bad, samples=100)["exact"].p_value == 1
    assert comparison_to_dict(tested)["tau"]["score_b"] == 1


def test_what_does_not_fit_is_refused() -> None:
    gold = [WordOrder((1, 2))]
    for predicted, message in (
        ([], "expected an order for every gold order, found 0 and no more"),
        ([[1, 2], [1, 2]], "expected 1 predicted orders, as many as gold has, found more"),
        (
            [[1]],
            "sentence 1: expected the 2 words of the gold order once each in the prediction, found 1 places for them, "
            "none for word 2",
        ),
        (
            [[1, 2, 1]],
            "sentence 1: expected the 2 words of the gold order once each in the prediction, found 3 places for them",
        ),
    ):
        with pytest.raises(DataError) as caught:
            evaluate_orders(gold, predicted)
        assert str(caught.value) == message
    one, other = evaluate_orders(gold, [[1, 2]]), evaluate_orders([WordOrder((1, 2, 3))], [[1, 2, 3]])
    with pytest.raises(DataError, match=r"^sentence 1: the two systems were not scored against the same gold order$"):
        compare_orders(one, other)
    with pytest.raises(ConfigError, match=r"^unknown score of orders 'LAS'; known: crossings, exact, fuzzy"):
        one["LAS"]


@given(st.lists(st.integers(0, 5), max_size=9))
def test_inversions_are_pairs_with_the_larger_first(values: list[int]) -> None:
    assert count_inversions(values) == sum(a > b for a, b in combinations(values, 2))
