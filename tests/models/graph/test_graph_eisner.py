from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_searches import best_projective, k_best_projective
from graph_twins import (
    KINDS,
    Scores,
    all_trees,
    draw_grands,
    draw_scores,
    is_projective,
    is_tree,
    plain_projective,
    plain_score,
    plain_third,
    ranked_scores,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from treetune.models.graph.charts import make_projective

ORDERS = ("first order", "siblings", "grandparents")


def draw_factors(n: int, seed: int, kind: str, order: str) -> tuple[Scores, dict[str, Any]]:
    """Draw the scores of arcs, and those of what the order looks at besides."""
    scores, siblings = draw_scores(n, seed, kind)
    if order == "first order":
        return scores, {}
    if order == "siblings":
        return scores, {"siblings": siblings}
    return scores, {"siblings": siblings, "grands": draw_grands(n, seed, kind)}


def check_list(n: int, seed: int, *, kind: str, order: str, ks: tuple[int, ...]) -> None:
    """Compare lists of every length in `ks` with the enumeration of all trees."""
    scores, factors = draw_factors(n, seed, kind, order)
    expected = ranked_scores(scores, **factors, projective=True)
    for k in ks:
        found = k_best_projective(scores, k, **factors)
        trees = [tuple(int(head) for head in tree.output) for tree in found]
        assert [tree.score for tree in found] == pytest.approx(expected[:k], abs=1e-9)
        assert [tree.score for tree in found] == sorted((tree.score for tree in found), reverse=True)
        assert len(set(trees)) == len(trees)
        for tree, heads in zip(found, trees, strict=True):
            assert is_tree(heads)
            assert is_projective(heads)
            assert tree.score == pytest.approx(plain_score(scores, heads=heads, **factors), abs=1e-9)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", range(1, 6))
def test_lists_of_every_length_equal_the_enumeration(n: int, kind: str, order: str) -> None:
    count = len(all_trees(n, projective=True))
    every = tuple(range(1, count + 2))
    for seed in range(4):
        check_list(n, seed, kind=kind, order=order, ks=every if n < 5 else (1, 2, 5, 17, count - 1, count + 3))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_six_words_equal_the_enumeration(kind: str, order: str) -> None:
    count = len(all_trees(6, projective=True))
    check_list(6, 0, kind=kind, order=order, ks=(1, 10, count))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 16),
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(KINDS),
    order=st.sampled_from(ORDERS),
)
def test_longer_sentences_equal_the_plain_recursion(n: int, seed: int, kind: str, order: str) -> None:
    scores, factors = draw_factors(n, seed, kind, order)
    best = best_projective(scores, **factors)
    expected = plain_third(scores, **factors) if "grands" in factors else plain_projective(scores, **factors)
    assert (best.score if best else -np.inf) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(2, 30),
    seed=st.integers(0, 10**6),
    k=st.integers(2, 40),
    kind=st.sampled_from(KINDS),
    order=st.sampled_from(ORDERS),
)
def test_a_shorter_list_begins_a_longer_one(n: int, seed: int, k: int, kind: str, order: str) -> None:
    scores, factors = draw_factors(n, seed, kind, order)
    longer = k_best_projective(scores, k, **factors)
    shorter = k_best_projective(scores, k // 2, **factors)
    best = best_projective(scores, **factors)
    assert [tree.score for tree in shorter] == pytest.approx([tree.score for tree in longer][: k // 2])
    assert (best is None) == (not longer)
    assert best is None or best.score == pytest.approx(longer[0].score)
    assert len({tuple(tree.output) for tree in longer}) == len(longer)


def test_zero_siblings_change_nothing() -> None:
    scores, siblings = draw_scores(12, 1, "real")
    first = k_best_projective(scores, 20)
    second = k_best_projective(scores, 20, siblings=np.where(np.isnan(siblings), np.nan, 0.0))
    assert [tuple(tree.output) for tree in first] == [tuple(tree.output) for tree in second]


def test_every_sibling_score_that_a_tree_has_is_counted() -> None:
    # 2 -> 1, 2 -> 3, 2 -> 4: one dependent on the left, two on the right; each factor is a digit.
    scores = np.full((5, 5), -np.inf)
    for h, d in ((0, 2), (2, 1), (2, 3), (2, 4)):
        scores[h, d] = 0.0
    siblings = np.zeros((5, 5, 5))
    siblings[0, 2, 0], siblings[2, 1, 2], siblings[2, 3, 2], siblings[2, 4, 3] = 1000, 100, 10, 1
    best = best_projective(scores, siblings)
    assert best is not None
    assert best.score == 1111


def test_one_root_even_where_two_would_score_far_more() -> None:
    scores, _ = draw_scores(20, 3, "real")
    scores[0] += 1e6
    for tree in k_best_projective(scores, 50):
        assert is_tree(tuple(tree.output))


def test_known_heads_are_said_by_forbidding_the_others() -> None:
    scores, _ = draw_scores(8, 4, "real")
    free = best_projective(scores)
    scores[np.arange(9) != 7, 3] = -np.inf
    fixed = k_best_projective(scores, 30)
    assert free is not None
    assert free.output[3] != 7
    assert {int(tree.output[3]) for tree in fixed} == {7}


def test_no_tree_is_no_candidate() -> None:
    scores, siblings = draw_scores(5, 0, "real")
    scores[:, 4] = -np.inf
    assert best_projective(scores) is None
    assert best_projective(scores, siblings) is None
    assert k_best_projective(scores, 3) == []
    crossing = np.full((5, 5), -np.inf)
    for h, d in ((0, 1), (1, 3), (3, 2), (2, 4)):
        crossing[h, d] = 0.0
    assert best_projective(crossing) is None


@pytest.mark.parametrize("order", ORDERS)
def test_working_memory_leaves_no_trace(order: str) -> None:
    space = make_projective(25, k=12, third_order=order == "grandparents")
    for n, k in ((25, 12), (3, 2), (17, 12), (1, 1), (9, 5), (25, 1)):
        for kind in KINDS:
            scores, factors = draw_factors(n, 7, kind, order)
            again = k_best_projective(scores, k, **factors, space=space)
            fresh = k_best_projective(scores, k, **factors)
            assert [(tuple(a.output), a.score) for a in again] == [(tuple(a.output), a.score) for a in fresh]
