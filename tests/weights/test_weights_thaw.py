"""Frozen weights that are trained again, and live weights restored from a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flat_weights_twin import flat_cells
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from weights_twin import cells_of

from treetune.weights.flat import FlatFrozenWeights, FlatLiveWeights
from treetune.weights.store import FrozenWeights, LiveWeights

OUTPUTS = 40
FEATURES = np.arange(1, 60, dtype=np.uint64) << np.uint64(30)

# (feature, output, weight) with at most one weight a pair; a feature may have more outputs than a short row holds.
Cells = dict[tuple[int, int], int]
some_cells = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, OUTPUTS - 1)), st.integers(-32767, 32767).filter(bool), max_size=120
)


def frozen_of(cells: Cells, scale: float) -> FrozenWeights:
    ordered = sorted(cells)
    keys = sorted({key for key, _ in ordered})
    return FrozenWeights.from_tensors(
        OUTPUTS,
        scale,
        {
            "keys": np.array([int(FEATURES[key]) >> 28 for key in keys], np.uint64),
            "counts": np.array([sum(one == key for one, _ in ordered) for key in keys], np.uint16),
            "outputs": np.array([output for _, output in ordered], np.uint16),
            "weights": np.array([cells[pair] for pair in ordered], np.int16),
        },
    )


def with_largest(cells: Cells) -> Cells:
    """The largest weight of frozen ones is the largest integer there is."""
    return {**cells, (0, 0): 32767}


@settings(max_examples=30, deadline=None)
@given(cells=some_cells, scale=st.floats(0.5, 1e5))
def test_thawed_rows_freeze_to_what_they_were(cells: Cells, scale: float) -> None:
    frozen = frozen_of(with_largest(cells), scale)
    live = LiveWeights.thaw(frozen)
    assert live.rows == frozen.rows
    for average in (True, False):
        again = live.freeze(average=average)
        assert cells_of(again.tensors()) == cells_of(frozen.tensors())
        assert again.scale == pytest.approx(frozen.scale, rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(weights=st.dictionaries(st.integers(1, 2**39 - 1), st.integers(-32767, 32767).filter(bool), max_size=80))
def test_thawed_flat_weights_freeze_to_what_they_were(weights: dict[int, int]) -> None:
    cells = {**{2 * key + 1: weight for key, weight in weights.items()}, 1: 32767}
    keys = sorted(cells)
    frozen = FlatFrozenWeights(7.0, np.array(keys, np.uint64), np.array([cells[key] for key in keys], np.int16))
    live = FlatLiveWeights.thaw(frozen)
    assert len(live) == len(frozen)
    for average in (True, False):
        assert flat_cells(live.freeze(average=average).tensors()) == cells
    assert live.freeze().scale == pytest.approx(7.0, rel=1e-6)


def test_many_weights_thaw() -> None:
    """More than a new table holds."""
    rng = np.random.default_rng(1)
    keys = np.unique(rng.integers(1, 2**39, 120_000, dtype=np.uint64) * np.uint64(2) + np.uint64(1))
    weights = rng.integers(1, 32767, len(keys)).astype(np.int16)
    weights[0] = 32767
    flat = FlatFrozenWeights(3.0, keys, weights)
    assert flat_cells(FlatLiveWeights.thaw(flat).freeze().tensors()) == dict(
        zip(keys.tolist(), weights.tolist(), strict=True)
    )
    rows = np.unique(keys >> np.uint64(4))
    frozen = FrozenWeights(
        8, 3.0, rows, np.ones(len(rows), np.uint16), np.full(len(rows), 5, np.uint16), weights[: len(rows)]
    )
    assert cells_of(LiveWeights.thaw(frozen).freeze().tensors()) == cells_of(frozen.tensors())


def test_what_is_thawed_is_the_first_of_the_steps() -> None:
    """The average begins with the weights that there are."""
    live = LiveWeights.thaw(frozen_of({(0, 0): 32767, (1, 3): 16384}, 32767.0))
    feature, output = FEATURES[1:2], np.array([3], np.uint16)
    live.step()
    live.add(feature, output, np.array([1.0], np.float32))
    live.step()
    # Three vectors: at the start, met by the first example, met by the second.
    half = 16384 / 32767
    found = cells_in_units(live.freeze())
    assert found[int(feature[0]) >> 28, 3] == pytest.approx((half + half + half + 1) / 3, rel=1e-4)
    assert found[int(FEATURES[0]) >> 28, 0] == pytest.approx(1.0, rel=1e-4)


def cells_in_units(frozen: FrozenWeights) -> dict[tuple[int, int], float]:
    return {pair: weight / frozen.scale for pair, weight in cells_of(frozen.tensors()).items()}


def test_new_features_of_thawed_weights_wait_for_their_second_update() -> None:
    live = LiveWeights.thaw(frozen_of({(0, 0): 32767}, 1.0))
    new, one = FEATURES[7:8], np.ones(1, np.float32)
    live.add(new, np.array([2], np.uint16), one)
    assert live.rows == 1
    live.add(new, np.array([2], np.uint16), one)
    assert live.rows == 2
    # One that is known moves at once, to an output that is new too.
    live.add(FEATURES[:1], np.array([9], np.uint16), one)
    assert cells_in_units(live.freeze(average=False))[int(FEATURES[0]) >> 28, 9] == pytest.approx(1.0)
    flat = FlatLiveWeights.thaw(FlatFrozenWeights(1.0, np.array([3], np.uint64), np.array([32767], np.int16)))
    flat.add(new, one)
    assert len(flat) == 1
    flat.add(new, one)
    assert len(flat) == 2


def random_changes(seed: int, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint16], NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 5000, count).astype(np.uint64) << np.uint64(29)
    return features, rng.integers(0, OUTPUTS, count).astype(np.uint16), rng.normal(size=count).astype(np.float32)


def add_rows(live: LiveWeights, seed: int, count: int) -> None:
    live.step()
    live.add(*random_changes(seed, count))


def add_flat(live: FlatLiveWeights, seed: int, count: int) -> None:
    live.step()
    features, _, deltas = random_changes(seed, count)
    live.add(features, deltas)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("make", "add"), [(lambda: LiveWeights(OUTPUTS), add_rows), (FlatLiveWeights, add_flat)], ids=["rows", "flat"]
)
def test_restored_weights_are_updated_as_if_nothing_had_happened(
    make: Callable[[], Any], add: Callable[[Any, int, int], None], read_only: bool
) -> None:
    """Also where they must grow: an array of a file cannot."""
    live = make()
    for seed in range(4):
        add(live, seed, 2000)
    kept = {name: array.copy() for name, array in live.tensors().items()}
    for array in kept.values():
        array.flags.writeable = not read_only
    other = make()
    add(other, 99, 3000)
    other.restore(kept)
    for seed in range(4, 7):
        for one in (live, other):
            add(one, seed, 60_000)
    live.restart_average()
    other.restart_average()
    for one in (live, other):
        add(one, 8, 2000)
    ours, theirs = live.tensors(), other.tensors()
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    # What was kept is still what it was.
    third = make()
    third.restore(kept)
    assert all(np.array_equal(third.tensors()[name], array) for name, array in kept.items())
