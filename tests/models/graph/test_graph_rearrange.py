from __future__ import annotations

import numpy as np
import pytest
from graph_searches import best_projective, best_rearranged, best_spanning
from graph_twins import KINDS, draw_scores, is_tree, plain_climb, plain_score, ranked_scores
from hypothesis import given, settings
from hypothesis import strategies as st

from treetune.models.graph.charts import make_projective, make_spanning


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 12), seed=st.integers(0, 10**6), kind=st.sampled_from(["real", "holes"]))
def test_the_climb_is_that_of_the_plain_twin(n: int, seed: int, kind: str) -> None:
    scores, siblings = draw_scores(n, seed, kind)
    start, found = best_projective(scores, siblings), best_rearranged(scores, siblings)
    if start is None:
        return
    assert found is not None
    assert found.score == pytest.approx(plain_climb(scores, siblings, tuple(map(int, start.output))), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 25), seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS))
def test_never_worse_than_projective_and_always_a_tree(n: int, seed: int, kind: str) -> None:
    scores, siblings = draw_scores(n, seed, kind)
    start, found = best_projective(scores, siblings), best_rearranged(scores, siblings)
    if found is None:
        assert start is None
        return
    heads = tuple(int(head) for head in found.output)
    assert is_tree(heads)
    assert np.isfinite(found.score)
    assert found.score == pytest.approx(plain_score(scores, siblings, heads), abs=1e-9)
    assert start is None or found.score >= start.score


def test_most_short_sentences_reach_the_best_tree_of_all() -> None:
    better, best = 0, 0
    for seed in range(60):
        scores, siblings = draw_scores(4, seed, "real")
        start, found = best_projective(scores, siblings), best_rearranged(scores, siblings)
        assert start is not None
        assert found is not None
        better += found.score > start.score
        best += found.score == pytest.approx(ranked_scores(scores, siblings, projective=False)[0], abs=1e-9)
    assert better >= 15
    assert best > 30


def test_known_crossing_heads_are_kept() -> None:
    scores, siblings = draw_scores(6, 1, "real")
    scores[np.arange(7) != 1, 3] = -np.inf
    scores[np.arange(7) != 2, 4] = -np.inf
    scores[np.arange(7) != 0, 5] = -np.inf
    assert best_projective(scores, siblings) is None
    found = best_rearranged(scores, siblings)
    assert found is not None
    assert [int(head) for head in found.output[3:6]] == [1, 2, 0]


def test_no_tree_is_no_candidate() -> None:
    scores, siblings = draw_scores(5, 0, "real")
    closed = np.full_like(siblings, -np.inf)
    assert best_spanning(scores) is not None
    assert best_rearranged(scores, closed) is None
    scores[:, 4] = -np.inf
    assert best_rearranged(scores, siblings) is None


def test_working_memory_leaves_no_trace() -> None:
    projective, spanning = make_projective(15), make_spanning(15)
    for n in (15, 2, 9):
        scores, siblings = draw_scores(n, 5, "real")
        again = best_rearranged(scores, siblings, projective=projective, spanning=spanning)
        fresh = best_rearranged(scores, siblings)
        assert again is not None
        assert fresh is not None
        assert (tuple(again.output), again.score) == (tuple(fresh.output), fresh.score)
