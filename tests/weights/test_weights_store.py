from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray
from weights_twin import TwinWeights, cells_of

from treetune.errors import ModelError
from treetune.weights import _kernels as kernels
from treetune.weights.store import FrozenWeights, LiveWeights

OUTPUTS = 21

Changes = list[tuple[int, int, float]]


def feature_numbers(count: int, *, seed: int) -> list[int]:
    draw = random.Random(seed)
    return [draw.getrandbits(64) for _ in range(count)]


def add(live: LiveWeights, changes: Changes) -> None:
    live.add(
        np.array([feature for feature, _, _ in changes], np.uint64),
        np.array([output for _, output, _ in changes], np.uint16),
        np.array([delta for _, _, delta in changes], np.float32),
    )


class Pair:
    """Live weights beside their twin."""

    def __init__(self, outputs: int = OUTPUTS) -> None:
        self.live, self.twin = LiveWeights(outputs), TwinWeights()

    def add(self, changes: Changes) -> None:
        add(self.live, changes)
        self.twin.add(changes)

    def step(self, count: int = 1) -> None:
        self.live.step(count)
        self.twin.steps += count

    def restart_average(self) -> None:
        self.live.restart_average()
        self.twin.restart_average()

    def check(self, *, prune: float = 0.0, share: float = 0.0) -> None:
        assert self.live.rows == len(self.twin.rows)
        for average in (True, False):
            frozen = self.live.freeze(prune=prune, prune_share=share, average=average)
            scale, cells = self.twin.freeze(prune=prune, share=share, average=average)
            assert frozen.scale == scale
            assert cells_of(frozen.tensors()) == cells


def test_a_feature_has_no_row_until_its_second_update() -> None:
    pair = Pair()
    change: Changes = [(1 << 40, 3, 1.0), (1 << 40, 4, -1.0)]
    pair.add(change)
    assert pair.live.rows == 0
    pair.add(change)
    assert pair.live.rows == 1
    assert cells_of(pair.live.freeze(average=False).tensors()) == {(1 << 12, 3): 32767, (1 << 12, 4): -32767}
    pair.check()


def test_rows_grow_through_every_size_to_dense_and_freed_rows_are_used_again() -> None:
    pair = Pair()
    features = feature_numbers(40, seed=1)
    pair.add([(feature, 0, 1.0) for feature in features])
    for feature in features:
        for output in range(OUTPUTS):
            pair.add([(feature, output, float(output + 1))])
            pair.step()
        pair.check()
    # Each row leaves one freed row of each size for the next, so the pool holds little more than one of each.
    assert pair.live.averages.counters[kernels.POOL_TOP] < 3 * 40 + 60
    assert pair.live.averages.counters[kernels.DENSE_TOP] == 40


def test_more_dense_rows_than_there_was_room_for_in_one_update() -> None:
    pair = Pair()
    changes = [(feature, output, 1.0) for feature in feature_numbers(1500, seed=2) for output in range(18)]
    pair.add(changes)
    pair.step()
    pair.add(changes)
    pair.check()
    assert pair.live.averages.counters[kernels.DENSE_TOP] == 1500


def test_many_features_make_the_table_grow() -> None:
    pair = Pair(outputs=4)
    features = feature_numbers(120_000, seed=3)
    size = len(pair.live.store.table)
    for _ in range(2):
        pair.add([(feature, feature & 3, 1.0 + (feature & 7)) for feature in features])
        pair.step()
    assert pair.live.rows == len(features)
    assert len(pair.live.store.table) > size
    pair.check()


@given(st.data())
@settings(max_examples=25)
def test_any_sequence_of_changes_gives_the_weights_of_the_twin(data: st.DataObject) -> None:
    pair = Pair()
    features = feature_numbers(12, seed=data.draw(st.integers(0, 99)))
    change = st.tuples(st.sampled_from(features), st.integers(0, OUTPUTS - 1), st.sampled_from([1.0, -1.0, 0.5, 3.0]))
    for changes in data.draw(st.lists(st.lists(change, min_size=1, max_size=60), max_size=12)):
        pair.add(changes)
        pair.step(data.draw(st.integers(0, 3)))
        if data.draw(st.integers(0, 9)) == 0:
            pair.restart_average()
    pair.check(prune=data.draw(st.sampled_from([0.0, 0.1, 1.0])), share=data.draw(st.sampled_from([0.0, 0.2, 1.0])))


def test_average_is_that_of_the_weights_at_the_start_and_after_every_step() -> None:
    live, draw = LiveWeights(OUTPUTS), random.Random(4)
    features = feature_numbers(5, seed=4)
    current = np.zeros((len(features), OUTPUTS))
    add(live, [(feature, 0, 0.0) for feature in features])
    for restart in (False, True):
        if restart:
            live.restart_average()
        snapshots = [current.copy()]
        for _ in range(50):
            for _ in range(draw.randint(0, 6)):
                place, output, delta = draw.randrange(5), draw.randrange(OUTPUTS), draw.choice([1.0, -1.0])
                add(live, [(features[place], output, delta)])
                current[place, output] += delta
            live.step()
            snapshots.append(current.copy())
        frozen = live.freeze()
        average = np.mean(snapshots, axis=0)
        found = np.zeros_like(average)
        for (key, output), weight in cells_of(frozen.tensors()).items():
            found[[feature >> 28 for feature in features].index(key), output] = weight / frozen.scale
        np.testing.assert_allclose(found, average, atol=0.51 / frozen.scale)
        plain = live.freeze(average=False)
        assert plain.scale == 32767 / np.abs(current).max()


def test_pruning_drops_small_weights_and_whole_features() -> None:
    live = LiveWeights(OUTPUTS)
    changes: Changes = [(1 << 40, 0, 10.0), (1 << 40, 1, 0.1), (2 << 40, 0, 0.1)]
    add(live, changes)
    add(live, changes)
    assert len(cells_of(live.freeze(average=False).tensors())) == 3
    pruned = live.freeze(prune=0.2, average=False)
    assert cells_of(pruned.tensors()) == {(1 << 12, 0): 32767}
    assert pruned.rows == 1
    assert len(cells_of(live.freeze(prune_share=0.009, average=False).tensors())) == 3
    assert cells_of(live.freeze(prune_share=0.011, average=False).tensors()) == {(1 << 12, 0): 32767}


def test_no_weights_freeze_to_no_rows() -> None:
    frozen = LiveWeights(OUTPUTS).freeze()
    assert (frozen.rows, frozen.scale) == (0, 1.0)
    assert cells_of(frozen.tensors()) == {}
    again = FrozenWeights.from_tensors(OUTPUTS, frozen.scale, frozen.tensors())
    assert again.rows == 0


def lookups(weights: FrozenWeights, features: list[int]) -> list[list[int]]:
    return [
        [int(kernels.weight_of(weights.store, np.uint64(feature), output)) for output in range(OUTPUTS)]
        for feature in features
    ]


@njit
def split(features, rows, store, first, last):  # type: ignore[no-untyped-def]
    return kernels.split_rows(features, rows, store, np.uint64(first), np.uint64(last))


def find(table: NDArray[np.uint64], feature: int) -> int:
    """Return the reference of a feature's row, -1 if there is none."""
    slot = (feature >> 32) * len(table) >> 32
    while int(table[slot]) and int(table[slot]) >> 28 != feature >> 28:
        slot = (slot + 1) % len(table)
    return (int(table[slot]) & (2**28 - 1)) if table[slot] else -1


def frozen_of_sizes(sizes: list[int], *, seed: int) -> tuple[FrozenWeights, list[int]]:
    """Return weights with rows of so many cells, the cells of row i i, i + 1, …, and the features of the rows."""
    features = sorted(feature_numbers(len(sizes), seed=seed))
    outputs = [output for size in sizes for output in range(size)]
    weights = [row + cell for row, size in enumerate(sizes) for cell in range(size)]
    frozen = FrozenWeights(
        OUTPUTS,
        1.0,
        np.array(features, np.uint64) >> np.uint64(28),
        np.array(sizes, np.uint16),
        np.array(outputs, np.uint16),
        np.array(weights, np.int16),
    )
    return frozen, features


def test_split_rows_finds_each_row_among_those_of_its_kind() -> None:
    # The smallest table has 1,024 slots: at 1,000 rows many are not where their search starts.
    draw = random.Random(8)
    sizes = [draw.randint(1, OUTPUTS) for _ in range(1000)]
    frozen, known = frozen_of_sizes(sizes, seed=9)
    store = frozen.store._replace(table=np.zeros(1024, np.uint64))
    kernels.rehash(frozen.store.table, store.table)
    asked = [*draw.sample(known, 300), *feature_numbers(200, seed=10), 0, 2**64 - 1]
    draw.shuffle(asked)
    features, rows = np.array(asked, np.uint64), np.full(len(asked), -7, np.int64)
    first, last = 3, len(asked) - 2
    dense_end, short_start = split(features, rows, store, first, last)
    found = [find(store.table, feature) for feature in asked[first:last]]
    dense_bit = int(kernels.DENSE_BIT)
    assert rows[first:dense_end].tolist() == [row ^ dense_bit for row in found if row >= dense_bit]
    assert rows[short_start:last].tolist()[::-1] == [row for row in found if 0 <= row < dense_bit]
    assert len(found) > (dense_end - first) + (last - short_start) > 250
    assert set(rows[:first].tolist() + rows[last:].tolist()) == {-7}


@pytest.mark.parametrize("largest", [3, 15, 16])
def test_frozen_short_rows_lie_in_one_line_of_the_cache_where_they_fit(largest: int) -> None:
    draw = random.Random(largest)
    sizes = [draw.randint(1, largest) for _ in range(400)]
    frozen, features = frozen_of_sizes(sizes, seed=largest)
    assert frozen.store.weights.ctypes.data % kernels.CACHE_LINE == 0
    assert frozen.store.dense.ctypes.data % kernels.CACHE_LINE == 0
    taken: set[int] = set()
    for feature, size in zip(features, sizes, strict=True):
        start = find(frozen.store.table, feature)
        cells = range(start, start + 1 + size)
        assert cells[0] // 16 == cells[-1] // 16 or size == 16
        assert taken.isdisjoint(cells)
        taken.update(cells)
    assert lookups(frozen, features[:20]) == [
        [row + cell if cell < size else 0 for cell in range(OUTPUTS)] for row, size in enumerate(sizes[:20])
    ]


def test_rows_that_would_not_fit_with_gaps_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen, features = frozen_of_sizes([5] * 40, seed=3)
    usual = lookups(frozen, features)
    monkeypatch.setattr(kernels, "MAX_OFFSET", 300)
    tight = frozen.share()
    assert len(tight.store.weights) == 2 * (1 + 40 * 6) < len(frozen.store.weights)
    assert lookups(tight, features) == usual


def random_live(order: list[int], features: list[int]) -> LiveWeights:
    live = LiveWeights(OUTPUTS)
    cells = [(f, o, float((f * 7 + o * 3) % 11) - 5) for f in features for o in range(f % (OUTPUTS + 1))]
    add(live, [cells[i % len(cells)] for i in order])
    for i in order:
        add(live, [cells[i % len(cells)]])
    return live


def test_tensors_do_not_depend_on_the_order_of_updates_and_rebuild_the_weights() -> None:
    features = feature_numbers(60, seed=5)
    order = list(range(sum(f % (OUTPUTS + 1) for f in features)))
    tensors = random_live(order, features).freeze(average=False).tensors()
    assert set(tensors) == {"keys", "counts", "outputs", "weights"}
    assert (np.diff(tensors["keys"].astype(np.int64)) > 0).all()
    random.Random(5).shuffle(order)
    frozen = random_live(order, features).freeze(average=False)
    for name, values in frozen.tensors().items():
        assert values.tobytes() == tensors[name].tobytes(), name
        assert values.dtype == tensors[name].dtype
    again = FrozenWeights.from_tensors(OUTPUTS, frozen.scale, tensors)
    cells = cells_of(tensors)
    expected = [[cells.get((feature >> 28, output), 0) for output in range(OUTPUTS)] for feature in features]
    assert lookups(frozen, features) == lookups(again, features) == expected
    assert lookups(again, feature_numbers(20, seed=6)) == [[0] * OUTPUTS] * 20
    for name, values in again.tensors().items():
        assert values.tobytes() == tensors[name].tobytes()


@pytest.mark.parametrize("prune", [0.0, 0.3])
def test_quantized_weights_are_the_nearest_of_eight_bits(prune: float) -> None:
    features = feature_numbers(60, seed=5)
    frozen = random_live(list(range(3000)), features).freeze(average=False)
    quantized = frozen.quantize(prune=prune)
    before, after = cells_of(frozen.tensors()), cells_of_quantized(quantized)
    largest = max(map(abs, before.values()))
    step = max(1.0, largest / 127)
    assert set(after) == {cell for cell, weight in before.items() if abs(weight) >= prune * largest}
    for cell, weight in after.items():
        assert weight in (round(before[cell] / step), 1 if before[cell] > 0 else -1)
        assert abs(weight) <= 127
        # A score in model units is nearly what it was.
        assert weight / quantized.scale == pytest.approx(before[cell] / frozen.scale, abs=0.51 * step / frozen.scale)


def cells_of_quantized(weights: FrozenWeights) -> dict[tuple[int, int], int]:
    tensors = weights.tensors()
    assert {name: values.dtype.name for name, values in tensors.items()} == {
        **{f"gaps.{place}": "uint8" for place in range(5)},
        **{"counts": "uint8", "outputs": "uint8", "weights": "int8"},
    }
    again = FrozenWeights.from_tensors(OUTPUTS, weights.scale, tensors)
    assert again.is_quantized
    assert {name: values.tobytes() for name, values in again.tensors().items()} == {
        name: values.tobytes() for name, values in tensors.items()
    }
    features, outputs, values = again.cells()
    cells = zip((features >> np.uint64(28)).tolist(), outputs.tolist(), values.tolist(), strict=True)
    return {(key, output): round(value * weights.scale) for key, output, value in cells}


def test_live_weights_are_found_by_the_kernel() -> None:
    pair = Pair()
    features = feature_numbers(30, seed=7)
    draw = random.Random(7)
    for _ in range(400):
        pair.add([(draw.choice(features), draw.randrange(OUTPUTS), draw.choice([1.0, -1.0]))])
    found = {
        (feature >> 28, output): kernels.weight_of(pair.live.store, np.uint64(feature), output)
        for feature in features
        for output in range(OUTPUTS)
    }
    assert found == {cell: pair.twin.weights.get(cell, 0) for cell in found}


def test_too_many_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MAX_OFFSET", 200_000)
    with pytest.raises(
        ModelError,
        match=r"^the model has grown past 200,000 weights; train on less data or with fewer feature templates$",
    ):
        LiveWeights(OUTPUTS).grow(100_000)


def test_uint16_outputs_and_int16_weights() -> None:
    tensors: dict[str, NDArray[np.generic]] = LiveWeights(OUTPUTS).freeze().tensors()
    kinds = {name: values.dtype.name for name, values in tensors.items()}
    assert kinds == {"keys": "uint64", "counts": "uint16", "outputs": "uint16", "weights": "int16"}
