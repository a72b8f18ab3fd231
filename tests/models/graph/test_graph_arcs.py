"""What all searches share: faulty numbers, working memory and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from graph_searches import ScoredHeads, k_best_projective, k_best_spanning
from graph_twins import draw_scores, is_tree
from numpy.typing import NDArray

from treetune.models.graph.charts import make_projective, make_spanning, projective_bytes, spanning_bytes

Search = Callable[[NDArray[np.float64], int], list[ScoredHeads]]
SEARCHES: list[Search] = [k_best_projective, k_best_spanning]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("search", SEARCHES)
def test_scores_that_are_no_numbers_are_refused(search: Search, k: int, bad: float) -> None:
    for h, d in ((0, 2), (2, 1), (1, 3), (3, 1)):
        scores, _ = draw_scores(3, 0, "real")
        scores[h, d] = bad
        with pytest.raises(AssertionError, match="not a number"):
            search(scores, k)


@pytest.mark.parametrize("place", [(0, 2, 0), (1, 3, 1), (1, 3, 2), (3, 1, 3), (3, 1, 2)])
def test_sibling_scores_that_are_no_numbers_are_refused(place: tuple[int, int, int]) -> None:
    scores, siblings = draw_scores(3, 0, "real")
    siblings[place] = np.inf
    with pytest.raises(AssertionError, match="not a number"):
        k_best_projective(scores, 1, siblings=siblings)


@pytest.mark.parametrize("k", [1, 2, 10])
@pytest.mark.parametrize("n", [1, 7, 40])
def test_the_size_of_working_memory_is_what_is_said(n: int, k: int) -> None:
    projective, spanning = make_projective(n, k=k), make_spanning(n, k=k)
    assert _bytes(projective.chart) + _bytes(projective.lists) == projective_bytes(n, k=k)
    assert _bytes(spanning.contraction) + _bytes(spanning.partition) == spanning_bytes(n, k=k)


def _bytes(arrays: Iterable[Any]) -> int:
    return sum(array.nbytes for array in arrays)


@pytest.mark.parametrize("step", [1, -1, 2])
def test_deep_trees_of_long_sentences_fit_the_working_memory(step: int) -> None:
    # A chain of dependents is as deep as a tree can be; with step 2 its arcs cross.
    n, k = 120, 12
    scores, siblings = draw_scores(n, 0, "real")
    order = [*range(1, n + 1)][::step] if step != 2 else [*range(1, n + 1, 2), *range(2, n + 1, 2)]
    for h, d in pairwise([0, *order]):
        scores[h, d] += 100.0
    for found in (
        k_best_projective(scores, k),
        k_best_projective(scores, k, siblings=siblings),
        k_best_spanning(scores, k),
    ):
        assert len({tuple(tree.output) for tree in found}) == k
        assert all(is_tree(tuple(tree.output)) for tree in found)
    crossing = k_best_spanning(scores, 1)[0].output
    assert [int(crossing[d]) for d in order] == [0, *order[:-1]]


def test_a_sentence_of_2000_words_has_a_bounded_size() -> None:
    assert projective_bytes(2000) < 150e6
    assert projective_bytes(2000, k=10) < 240e6
    assert spanning_bytes(2000, k=10) < 81e6


def test_threads_with_their_own_memory_agree_with_one() -> None:
    inputs = [draw_scores(n, n, "real") for n in range(2, 30)]

    def work(pair: tuple[NDArray[np.float64], NDArray[np.float64]]) -> list[tuple[tuple[int, ...], float]]:
        scores, siblings = pair
        found = [*k_best_projective(scores, 5, siblings=siblings), *k_best_spanning(scores, 5)]
        return [(tuple(tree.output), tree.score) for tree in found]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, inputs)) == [work(pair) for pair in inputs]
