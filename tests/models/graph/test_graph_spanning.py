from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice

import networkx as nx
import numpy as np
import pytest
from graph_searches import best_projective, best_spanning, k_best_spanning
from graph_twins import KINDS, all_trees, draw_scores, is_tree, plain_score, plain_spanning, ranked_scores
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from treetune.models.graph.charts import make_spanning


def check_list(n: int, seed: int, *, kind: str, ks: tuple[int, ...]) -> None:
    """Compare lists of every length in `ks` with the enumeration of all trees."""
    scores, _ = draw_scores(n, seed, kind)
    expected = ranked_scores(scores, None, projective=False)
    for k in ks:
        found = k_best_spanning(scores, k)
        trees = [tuple(int(head) for head in tree.output) for tree in found]
        assert [tree.score for tree in found] == pytest.approx(expected[:k], abs=1e-9)
        assert [tree.score for tree in found] == sorted((tree.score for tree in found), reverse=True)
        assert len(set(trees)) == len(trees)
        assert all(is_tree(tree) for tree in trees)
        assert [tree.score for tree in found] == pytest.approx(
            [plain_score(scores, None, tree) for tree in trees], abs=1e-9
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", range(1, 6))
def test_lists_of_every_length_equal_the_enumeration(n: int, kind: str) -> None:
    count = len(all_trees(n, projective=False))
    every = tuple(range(1, count + 2))
    for seed in range(8):
        check_list(n, seed, kind=kind, ks=every if n < 4 else (1, 2, 5, 17, count - 1, count + 3))


@pytest.mark.parametrize("kind", KINDS)
def test_six_words_equal_the_enumeration(kind: str) -> None:
    check_list(6, 0, kind=kind, ks=(1, 10, len(all_trees(6, projective=False))))


@settings(max_examples=80, deadline=None)
@given(n=st.integers(1, 20), seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS))
def test_longer_sentences_equal_the_plain_recursion(n: int, seed: int, kind: str) -> None:
    scores, _ = draw_scores(n, seed, kind)
    best = best_spanning(scores)
    projective = best_projective(scores)
    assert (best.score if best else -np.inf) == pytest.approx(plain_spanning(scores), abs=1e-9)
    if projective is not None:
        assert best is not None
        assert best.score >= projective.score - 1e-9


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 30), seed=st.integers(0, 10**6), k=st.integers(2, 40), kind=st.sampled_from(KINDS))
def test_a_shorter_list_begins_a_longer_one(n: int, seed: int, k: int, kind: str) -> None:
    scores, _ = draw_scores(n, seed, kind)
    longer, shorter, best = k_best_spanning(scores, k), k_best_spanning(scores, k // 2), best_spanning(scores)
    assert [tree.score for tree in shorter] == pytest.approx([tree.score for tree in longer][: k // 2])
    assert (best is None) == (not longer)
    assert best is None or best.score == pytest.approx(longer[0].score)
    assert len({tuple(tree.output) for tree in longer}) == len(longer)
    assert all(is_tree(tuple(tree.output)) for tree in longer)


def networkx_scores(scores: NDArray[np.float64]) -> Iterator[float]:
    """Yield the scores of all trees, best first, by networkx: one iterator for each dependent of the root."""

    def rooted(r: int) -> Iterator[float]:
        graph = nx.DiGraph()
        graph.add_nodes_from(range(1, len(scores)))
        for h in range(1, len(scores)):
            for d in range(1, len(scores)):
                if h != d and d != r and scores[h, d] > -np.inf:
                    graph.add_edge(h, d, weight=float(scores[h, d]))
        for tree in nx.ArborescenceIterator(graph, minimum=False):
            yield float(scores[0, r]) + float(tree.size(weight="weight"))

    allowed = [r for r in range(1, len(scores)) if scores[0, r] > -np.inf]
    return heapq.merge(*(rooted(r) for r in allowed), reverse=True)


@pytest.mark.parametrize("n", [8, 10, 12])
@pytest.mark.parametrize("kind", ["real", "ties"])
def test_longer_lists_equal_those_of_networkx(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    scores = rng.random((n + 1, n + 1)) + 0.1
    if kind == "ties":
        scores = np.ceil(4 * scores)
    found = k_best_spanning(scores, 25)
    assert [tree.score for tree in found] == pytest.approx(list(islice(networkx_scores(scores), 25)))


def test_one_root_costs_no_digits() -> None:
    # The root's arcs are so large that a penalty on them would leave nothing of the others' differences.
    scores, _ = draw_scores(9, 2, "real")
    scores[0, 1:] = -1e15
    scores[0, 4] = 1e15
    scores[1:, 4] = -1e15
    below = scores.copy()
    below[0, 4] = 0.0
    found, expected = best_spanning(scores), best_spanning(below)
    assert found is not None
    assert expected is not None
    assert tuple(found.output) == tuple(expected.output)


def test_one_root_even_where_two_would_score_far_more() -> None:
    scores, _ = draw_scores(20, 3, "real")
    scores[0] += 1e6
    for tree in k_best_spanning(scores, 50):
        assert is_tree(tuple(tree.output))


def test_crossing_arcs_are_found() -> None:
    scores = np.zeros((5, 5))
    tree = (-1, 0, 3, 1, 2)
    for d in range(1, 5):
        scores[tree[d], d] = 1.0
    best = best_spanning(scores)
    assert best is not None
    assert tuple(best.output) == tree


def test_known_heads_are_said_by_forbidding_the_others() -> None:
    scores, _ = draw_scores(8, 4, "real")
    scores[np.arange(9) != 7, 3] = -np.inf
    assert {int(tree.output[3]) for tree in k_best_spanning(scores, 30)} == {7}


def test_no_tree_is_no_candidate() -> None:
    scores, _ = draw_scores(5, 0, "real")
    scores[:, 4] = -np.inf
    assert best_spanning(scores) is None
    assert k_best_spanning(scores, 3) == []
    two_islands, _ = draw_scores(4, 0, "real")
    two_islands[1:3, 3:] = two_islands[3:, 1:3] = -np.inf
    assert best_spanning(two_islands) is None


def test_working_memory_leaves_no_trace() -> None:
    space = make_spanning(25, k=12)
    for n, k in ((25, 12), (3, 2), (17, 12), (1, 1), (9, 5), (25, 1)):
        for kind in KINDS:
            scores, _ = draw_scores(n, 7, kind)
            again, fresh = k_best_spanning(scores, k, space=space), k_best_spanning(scores, k)
            assert [(tuple(a.output), a.score) for a in again] == [(tuple(a.output), a.score) for a in fresh]
