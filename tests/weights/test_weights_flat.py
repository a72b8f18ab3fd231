"""Flat weights against a dictionary: entries, growth, averages, freezing, files."""

from __future__ import annotations

import random

import numpy as np
import pytest
from flat_weights_twin import Changes, TwinFlatWeights, flat_cells, key_of
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from treetune.weights import _flat_kernels as kernels
from treetune.weights._flat_kernels import FlatStore
from treetune.weights.flat import FlatFrozenWeights, FlatLiveWeights


@njit
def weight_sum(store, features, places):  # type: ignore[no-untyped-def]
    return kernels.sum_weights(store, features, places, np.uint64(len(features)))


@njit
def target_sums(store, features, targets, places, sums):  # type: ignore[no-untyped-def]
    kernels.sum_for_targets(store, features, targets, places, np.uint64(len(features)), sums)


def look_up(store: FlatStore, features: list[int]) -> list[float]:
    places = np.empty(1, np.int64)
    return [float(weight_sum(store, np.array([feature], np.uint64), places)) for feature in features]


def feature_numbers(count: int, *, seed: int) -> list[int]:
    draw = random.Random(seed)
    return [draw.getrandbits(64) for _ in range(count)]


class Pair:
    """Live weights beside their twin."""

    def __init__(self) -> None:
        self.live, self.twin = FlatLiveWeights(), TwinFlatWeights()

    def add(self, changes: Changes) -> None:
        features, deltas = zip(*changes, strict=True)
        self.live.add(np.array(features, np.uint64), np.array(deltas, np.float32))
        self.twin.add(changes)

    def step(self, count: int = 1) -> None:
        self.live.step(count)
        self.twin.steps += count

    def restart_average(self) -> None:
        self.live.restart_average()
        self.twin.restart_average()

    def check(self, *, prune: float = 0.0) -> None:
        assert len(self.live) == len(self.twin.weights)
        for average in (True, False):
            frozen = self.live.freeze(prune=prune, average=average)
            scale, cells = self.twin.freeze(prune=prune, average=average)
            assert frozen.scale == scale
            assert flat_cells(frozen.tensors()) == cells
            assert len(frozen) == len(cells)


def frozen_of(cells: dict[int, int], *, scale: float = 1.0) -> FlatFrozenWeights:
    keys = sorted(cells)
    return FlatFrozenWeights(scale, np.array(keys, np.uint64), np.array([cells[key] for key in keys], np.int16))


def test_a_feature_has_no_weight_until_its_second_update() -> None:
    pair = Pair()
    feature = 7 << 40
    pair.add([(feature, 1.0)])
    assert len(pair.live) == 0
    assert look_up(pair.live.store, [feature]) == [0.0]
    pair.add([(feature, 0.5), (feature, 0.25)])
    assert len(pair.live) == 1
    assert look_up(pair.live.store, [feature, feature + (1 << 40)]) == [0.75, 0.0]
    assert flat_cells(pair.live.freeze(average=False).tensors()) == {key_of(feature): 32767}
    pair.check()


def test_twice_in_one_update_is_enough() -> None:
    pair = Pair()
    pair.add([(5 << 50, 1.0), (5 << 50, -3.0)])
    assert look_up(pair.live.store, [5 << 50]) == [-3.0]
    pair.check()


@given(st.data())
@settings(max_examples=40)
def test_any_sequence_of_changes_gives_the_weights_of_the_twin(data: st.DataObject) -> None:
    pair = Pair()
    features = feature_numbers(12, seed=data.draw(st.integers(0, 99)))
    change = st.tuples(st.sampled_from(features), st.sampled_from([1.0, -1.0, 0.3, 0.001, 7.0]))
    for changes in data.draw(st.lists(st.lists(change, min_size=1, max_size=30), max_size=10)):
        pair.add(changes)
        pair.step(data.draw(st.integers(0, 3)))
        if data.draw(st.integers(0, 9)) == 0:
            pair.restart_average()
    pair.check(prune=data.draw(st.sampled_from([0.0, 0.01, 0.2, 1.0])))
    live = look_up(pair.live.store, features)
    assert live == [float(pair.twin.weight(feature)) for feature in features]


def test_growth_keeps_weights_and_averages() -> None:
    pair = Pair()
    features = feature_numbers(100_000, seed=3)
    size = len(pair.live.store.keys)
    for first in (0, 30_000):
        part = features[first : first + 70_000]
        for times in (1.0, 2.0):
            pair.add([(feature, times + (feature & 7)) for feature in part])
            pair.step()
    assert len(pair.live.store.keys) >= 4 * size
    assert len(pair.live) == len(features)
    assert len(pair.live) <= kernels.FULLEST * len(pair.live.store.keys)
    pair.check()
    for feature in features[::5000]:
        assert look_up(pair.live.store, [feature]) == [float(pair.twin.weight(feature))]


def test_room_that_is_there_is_not_made_again() -> None:
    live = FlatLiveWeights()
    store = live.store
    live.grow(int(kernels.FULLEST * len(store.keys)))
    assert live.store is store
    live.grow(int(kernels.FULLEST * len(store.keys)) + 1)
    assert len(live.store.keys) == 2 * len(store.keys)


def test_average_is_that_of_the_weights_at_the_start_and_after_every_step() -> None:
    live, draw = FlatLiveWeights(), random.Random(4)
    features = feature_numbers(5, seed=4)
    current = np.zeros(5)
    numbers = np.array(features, np.uint64)
    live.add(numbers, np.zeros(5, np.float32))
    for restart in (False, True):
        if restart:
            live.restart_average()
        snapshots = [current.copy()]
        for _ in range(50):
            deltas = np.array([draw.choice([1.0, -1.0, 0.0]) for _ in features], np.float32)
            live.add(numbers, deltas)
            current += deltas
            live.step()
            snapshots.append(current.copy())
        frozen = live.freeze()
        cells = flat_cells(frozen.tensors())
        found = np.array([cells.get(key_of(feature), 0) for feature in features]) / frozen.scale
        np.testing.assert_allclose(found, np.mean(snapshots, axis=0), atol=0.51 / frozen.scale)


def test_the_largest_weight_fills_16_bits_and_pruning_is_relative_to_it() -> None:
    live = FlatLiveWeights()
    numbers = np.array([1 << 40, 2 << 40, 3 << 40, 4 << 40], np.uint64)
    for _ in range(2):
        live.add(numbers, np.array([-10.0, 0.1, 0.0001, 5.0], np.float32))
    frozen = live.freeze(average=False)
    assert frozen.scale == 3276.7
    # The third rounds to nothing.
    assert flat_cells(frozen.tensors()) == {65537: -32767, 131073: 328, 262145: 16384}
    assert len(live.freeze(average=False, prune=0.0099)) == 3
    assert flat_cells(live.freeze(average=False, prune=0.011).tensors()) == {65537: -32767, 262145: 16384}
    assert flat_cells(live.freeze(average=False, prune=1.0).tensors()) == {65537: -32767}


def test_no_weights_freeze_to_an_empty_table() -> None:
    frozen = FlatLiveWeights().freeze()
    assert (len(frozen), frozen.scale) == (0, 1.0)
    again = FlatFrozenWeights.from_tensors(1.0, frozen.tensors())
    assert len(again) == 0
    assert look_up(again.store, [0, 1, 2**64 - 1]) == [0.0] * 3


def test_tensors_do_not_depend_on_the_order_of_updates() -> None:
    features = feature_numbers(300, seed=5)
    made = []
    for _ in range(2):
        live = FlatLiveWeights()
        for _ in range(2):
            live.add(np.array(features, np.uint64), np.array([feature % 9 - 4 for feature in features], np.float32))
        made.append(live.freeze(average=False).tensors())
        random.Random(5).shuffle(features)
    for name, values in made[0].items():
        assert values.tobytes() == made[1][name].tobytes(), name
    assert {name: values.dtype.name for name, values in made[0].items()} == {
        "gaps": "uint32", "far_gaps": "uint8", "weights": "int16",
    }  # fmt: skip


LARGEST_KEY = 2**40 - 1
KEYS = st.integers(0, LARGEST_KEY // 2).map(lambda half: 2 * half + 1)
WEIGHTS = st.integers(-32767, 32767).filter(bool)
# A frozen table knows a key by its lower bits and its place: of neighbours, these must differ.
CELLS = st.dictionaries(KEYS, WEIGHTS, max_size=50).filter(
    lambda cells: len({key % 2**32 for key in cells}) == len(cells)
)


@given(CELLS)
@settings(max_examples=100)
def test_a_file_holds_keys_near_and_far(cells: dict[int, int]) -> None:
    frozen = frozen_of(cells, scale=2.5)
    again = FlatFrozenWeights.from_tensors(2.5, frozen.tensors())
    assert again.scale == 2.5
    assert flat_cells(again.tensors()) == cells
    for name, values in again.tensors().items():
        assert values.tobytes() == frozen.tensors()[name].tobytes()
    assert look_up(again.store, [key << 24 for key in cells]) == [float(weight) for weight in cells.values()]


@pytest.mark.parametrize(
    "keys", [[1], [LARGEST_KEY], [1, LARGEST_KEY], [1, 2**32 + 1, 2**33 + 1], [2**32 - 1, 2**32 + 1, 2**39 + 1]]
)
def test_gaps_of_more_than_32_bits(keys: list[int]) -> None:
    frozen = frozen_of({key: place + 1 for place, key in enumerate(keys)})
    again = FlatFrozenWeights.from_tensors(1.0, frozen.tensors())
    assert list(flat_cells(again.tensors())) == keys
    assert look_up(again.store, [key << 24 for key in keys]) == [place + 1.0 for place in range(len(keys))]


def test_look_ups_of_a_crowded_table() -> None:
    features = feature_numbers(700, seed=8)
    cells = {key_of(feature): 1 + feature % 1000 for feature in features}
    store = frozen_of(cells).store
    assert len(store.keys) == 1024
    assert store.keys.dtype == np.uint32
    assert look_up(store, features) == [float(cells[key_of(feature)]) for feature in features]
    assert look_up(store, feature_numbers(2000, seed=9)) == [0.0] * 2000
    # Entries of the last slots continue at the front.
    last = [(2**64 - 1) - (place << 25) for place in range(40)]
    crowded = {key_of(feature): place + 1 for place, feature in enumerate(last)}
    assert look_up(frozen_of(crowded).store, last) == [place + 1.0 for place in range(40)]


def test_sums_are_those_of_all_features() -> None:
    features = feature_numbers(50, seed=10)
    cells = {key_of(feature): place - 20 for place, feature in enumerate(features[:40])}
    total = weight_sum(frozen_of(cells).store, np.array(features, np.uint64), np.empty(50, np.int64))
    assert total == sum(cells.values())


def test_sums_for_targets_are_those_of_their_features() -> None:
    features = feature_numbers(300, seed=11)
    cells = {key_of(feature): place - 100 for place, feature in enumerate(features[::3])}
    store = frozen_of(cells).store
    draw = random.Random(11)
    for count in (0, 1, 7, 300):
        chosen = draw.sample(features, count)
        targets = sorted(draw.choices(range(40), k=count))
        sums = np.full(40, 0.5)
        target_sums(store, np.array(chosen, np.uint64), np.array(targets, np.int64), np.empty(count, np.int64), sums)
        for target in range(40):
            mine = [cells.get(key_of(f)) for f, at in zip(chosen, targets, strict=True) if at == target]
            known = [weight for weight in mine if weight is not None]
            # A target without any weight is left as it was.
            assert sums[target] == (sum(known) if known else 0.5)


def passing(store: FlatStore, features: list[int]) -> list[bool]:
    """Which features a filter lets pass, bit by bit in plain Python."""
    bits = 64 * len(store.filter)
    places = [(feature >> 32) * bits >> 32 for feature in features]
    return [bool(int(store.filter[place >> 6]) >> (place & 63) & 1) for place in places]


def test_the_filter_lets_all_weights_pass_and_little_else() -> None:
    features, others = feature_numbers(700, seed=12), feature_numbers(4000, seed=13)
    store = frozen_of({key_of(feature): 1 for feature in features}).store
    assert all(passing(store, features))
    # 700 entries, four bits for each of 1,024 slots.
    assert sum(passing(store, others)) < 0.25 * len(others)
    live = FlatLiveWeights()
    assert not any(passing(live.store, others))
    for _ in range(2):
        live.add(np.array(features, np.uint64), np.ones(700, np.float32))
    grown = FlatLiveWeights()
    grown.restore(live.tensors())
    for weights in (live, grown, FlatLiveWeights.thaw(live.freeze(average=False))):
        assert all(passing(weights.store, features))
        weights.grow(100_000)
        assert all(passing(weights.store, features))
        assert sum(passing(weights.store, others)) < 0.01 * len(others)


def test_shared_weights_build_their_own_table() -> None:
    frozen = frozen_of({5: 7})
    store = frozen.store
    assert frozen.store is store
    other = frozen.share()
    assert other.store is not store
    assert other.scale == frozen.scale
    assert look_up(other.store, [5 << 24]) == [7.0]
