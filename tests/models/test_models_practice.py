"""What moves are made of: sparse differences, sizes of steps, trees between two trees."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import trees
from treetune.corpus.sentence import Tree
from treetune.models.practice import Difference, Pairs, step_size, with_labels_of

Cells = list[tuple[int, int]]
cells = st.lists(st.tuples(st.integers(2**64 - 4, 2**64 - 1) | st.integers(0, 3), st.integers(0, 3)), max_size=20)


def pairs(cells: Cells) -> Pairs:
    return np.array([feature for feature, _ in cells], np.uint64), np.array([out for _, out in cells], np.uint16)


@given(better=cells, worse=cells)
def test_a_difference_is_that_of_counters(better: Cells, worse: Cells) -> None:
    expected = Counter(better)
    expected.subtract(Counter(worse))
    found = Difference.between(pairs(better), pairs(worse))
    kept = [(pair, count) for pair, count in sorted(expected.items()) if count]
    assert list(zip(found.features.tolist(), found.outputs.tolist(), strict=True)) == [pair for pair, _ in kept]
    assert found.counts.tolist() == [count for _, count in kept]
    assert found.squared_norm == sum(count * count for _, count in kept)
    assert (found.features.dtype, found.outputs.dtype, found.counts.dtype) == (np.uint64, np.uint16, np.float32)


@settings(max_examples=200)
@given(
    learner=st.sampled_from(["perceptron", "mira", "factored-mira"]),
    clip=st.floats(1e-3, 10) | st.just(float("inf")),
    margin=st.floats(1e-3, 5),
    lead=st.floats(-50, 50),
    norm=st.integers(0, 400),
)
def test_a_step_is_the_smallest_that_is_enough(
    learner: str, clip: float, margin: float, lead: float, norm: int
) -> None:
    size = step_size(learner, clip=clip, margin=margin, lead=lead, squared_norm=float(norm))
    if norm == 0:
        assert size == 0
    elif learner == "perceptron":
        assert size == (1.0 if lead <= 0 else 0.0)
    elif lead >= margin:
        assert size == 0
    else:
        assert 0 < size <= clip
        assert size == clip or lead + size * norm == pytest.approx(margin)


@given(data=st.data(), size=st.integers(1, 6))
def test_labels_are_those_of_the_other_tree_except_at_roots(data: st.DataObject, size: int) -> None:
    better, worse = data.draw(trees(size=size)), data.draw(trees(size=size))
    found = with_labels_of(better, worse)
    assert found.heads == better.heads
    for word in range(1, size + 1):
        moved = (better.heads[word] == 0) != (worse.heads[word] == 0)
        assert found.labels[word] == (better if moved else worse).labels[word]
    assert with_labels_of(better, better) == better


def test_labels_of_an_empty_sentence() -> None:
    assert with_labels_of(Tree.unknown(0), Tree.unknown(0)) == Tree.unknown(0)
