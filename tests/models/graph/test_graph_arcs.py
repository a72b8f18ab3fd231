"""What all searches share: shapes, faulty numbers, working memory and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from graph_twins import draw_scores, is_tree
from numpy.typing import NDArray

from treetune.errors import ConfigError, DataError
from treetune.models.graph.arcs import ScoredHeads
from treetune.models.graph.eisner import k_best_projective, make_projective_space, projective_bytes
from treetune.models.graph.rearrange import best_rearranged
from treetune.models.graph.spanning import k_best_spanning, make_spanning_space, spanning_bytes

Search = Callable[[NDArray[np.float64], int], list[ScoredHeads]]
SEARCHES: list[Search] = [k_best_projective, k_best_spanning]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (3, 4), (4,), (2, 2, 2), ()])
def test_shapes_that_are_no_sentence_are_refused(search: Search, shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError) as caught:
        search(np.zeros(shape), 1)
    assert str(caught.value) == (f"arc scores: expected shape (n + 1, n + 1) for n >= 1 words, found {shape}")


def test_siblings_of_another_sentence_are_refused() -> None:
    with pytest.raises(DataError) as caught:
        best_rearranged(np.zeros((4, 4)), np.zeros((4, 4, 5)))
    assert str(caught.value) == "sibling scores: expected shape (4, 4, 4), found (4, 4, 5)"


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("search", SEARCHES)
def test_scores_that_are_no_numbers_are_refused(search: Search, k: int, bad: float) -> None:
    for h, d in ((0, 2), (2, 1), (1, 3), (3, 1)):
        scores, _ = draw_scores(3, 0, "real")
        scores[h, d] = bad
        with pytest.raises(DataError) as caught:
            search(scores, k)
        assert str(caught.value) == (
            "arc scores: expected finite numbers, or -inf for a forbidden arc, found NaN or inf; "
            "the weights they come from are damaged"
        )


@pytest.mark.parametrize("place", [(0, 2, 0), (1, 3, 1), (1, 3, 2), (3, 1, 3), (3, 1, 2)])
def test_sibling_scores_that_are_no_numbers_are_refused(place: tuple[int, int, int]) -> None:
    scores, siblings = draw_scores(3, 0, "real")
    siblings[place] = np.nan
    with pytest.raises(DataError, match="found NaN or inf"):
        k_best_projective(scores, 1, siblings=siblings)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_list_of_no_trees_is_refused(search: Search) -> None:
    with pytest.raises(ConfigError) as caught:
        search(np.zeros((3, 3)), 0)
    assert str(caught.value) == "k: expected at least 1, found 0"


@pytest.mark.parametrize(("n", "k"), [(5, 1), (4, 3)])
def test_too_little_working_memory_is_refused(n: int, k: int) -> None:
    expected = f"working memory is for 4 words and 2 trees, found {n} words and {k} trees; make a larger one"
    with pytest.raises(ConfigError) as caught:
        k_best_projective(np.zeros((n + 1, n + 1)), k, space=make_projective_space(4, k=2))
    assert str(caught.value) == expected
    with pytest.raises(ConfigError) as caught:
        k_best_spanning(np.zeros((n + 1, n + 1)), k, space=make_spanning_space(4, k=2))
    assert str(caught.value) == expected


@pytest.mark.parametrize("k", [1, 2, 10])
@pytest.mark.parametrize("n", [1, 7, 40])
def test_the_size_of_working_memory_is_what_is_said(n: int, k: int) -> None:
    projective, spanning = make_projective_space(n, k=k), make_spanning_space(n, k=k)
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
    assert projective_bytes(2000) < 130e6
    assert projective_bytes(2000, k=10) < 220e6
    assert spanning_bytes(2000, k=10) < 81e6


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_layouts_and_types_are_taken(order: str, dtype: type[np.generic]) -> None:
    plain = np.round(np.nan_to_num(draw_scores(6, 0, "real")[0]) * 4)
    other = np.array(plain, dtype=dtype, order="F" if order == "F" else "C")
    for search in SEARCHES:
        same = [tuple(tree.output) for tree in search(other.astype(dtype, order="K"), 5)]
        assert same == [tuple(tree.output) for tree in search(plain, 5)]


def test_threads_with_their_own_memory_agree_with_one() -> None:
    inputs = [draw_scores(n, n, "real") for n in range(2, 30)]

    def work(pair: tuple[NDArray[np.float64], NDArray[np.float64]]) -> list[tuple[tuple[int, ...], float]]:
        scores, siblings = pair
        found = [*k_best_projective(scores, 5, siblings=siblings), *k_best_spanning(scores, 5)]
        return [(tuple(tree.output), tree.score) for tree in found]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, inputs)) == [work(pair) for pair in inputs]
