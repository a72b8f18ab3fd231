"""What moves are made of: sparse differences, and sizes of steps."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treetune.models.online import Difference, Pairs, step_size

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
    assert [array.dtype.name for array in (found.features, found.outputs, found.counts)] == [
        "uint64",
        "uint16",
        "float32",
    ]


@settings(max_examples=200)
@given(
    largest=st.floats(1e-3, 10) | st.just(float("inf")),
    margin=st.none() | st.floats(1e-3, 5),
    lead=st.floats(-50, 50),
    norm=st.integers(0, 400),
)
def test_a_step_is_the_smallest_that_is_enough_or_a_whole_one(
    largest: float, margin: float | None, lead: float, norm: int
) -> None:
    size = step_size(largest=largest, margin=margin, lead=lead, squared_norm=float(norm))
    if norm == 0:
        assert size == 0
    elif margin is None:
        assert size == (min(1.0, largest) if lead <= 0 else 0.0)
    elif lead >= margin:
        assert size == 0
    else:
        assert 0 < size <= largest
        assert size == largest or lead + size * norm == pytest.approx(margin)
