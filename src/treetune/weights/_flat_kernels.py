"""Kernels of flat weights: one number a feature, in a table of its own.

A feature is 64 bits, of which the upper 40 (the lowest of them always set) are its key; two features share a
weight with probability 2^-39 a pair. The upper 32 bits decide where the search for it starts, and entries lie
in the order of their keys but for displacements. Frozen tables keep the lower 32 bits of the key only: the
position says the rest.

Most features that are asked for have no weight. A filter of a few bits a slot, small enough to stay in the processor's
cache, says so of nearly all of them without a branch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import entry, inner
from treetune.weights._kernels import home_slot, prefetch

KEY_SHIFT = np.uint64(24)
FULLEST = 0.7
NOWHERE = np.int64(-1)

# Words of the filter for this many slots of the table: four bits a slot.
SLOTS_PER_WORD = 16

# Positions in the counters of live weights.
ENTRIES, STEPS = 0, 1


class FlatStore(NamedTuple):
    """What scoring reads: `values` are float32 (live) or int16 (frozen); `mask` says which bits of keys are kept.

    `filter` has the bit of every feature that is in the table, and of some others.
    """

    keys: NDArray[Any]
    values: NDArray[Any]
    mask: NDArray[np.uint64]
    filter: NDArray[np.uint64]


class FlatAverages(NamedTuple):
    """What live weights have besides: sums for averaging (`U` of ``W - U/T``), counters, once-seen bits."""

    values: NDArray[np.float32]
    counters: NDArray[np.int64]
    seen_once: NDArray[np.uint64]


@inner
def find_entry(keys, mask, feature):  # type: ignore[no-untyped-def]
    """Return the index of a feature, or NOWHERE."""
    key = ((feature >> KEY_SHIFT) | np.uint64(1)) & mask
    last = np.uint64(keys.shape[0] - 1)
    slot = home_slot(keys, feature)
    while True:
        found = np.uint64(keys[slot])
        if found == key:
            return np.int64(slot)
        if found == np.uint64(0):
            return NOWHERE
        slot = (slot + np.uint64(1)) & last


@inner
def filter_bit(bits, feature):  # type: ignore[no-untyped-def]
    """Return the bit of a feature: the home slot of a table with a slot for each bit."""
    return ((feature >> np.uint64(32)) * (np.uint64(bits.shape[0]) << np.uint64(6))) >> np.uint64(32)


@inner
def mark(bits, feature):  # type: ignore[no-untyped-def]
    """Let a feature pass the filter."""
    bit = filter_bit(bits, feature)
    bits[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))


@inner
def may_have(bits, feature):  # type: ignore[no-untyped-def]
    """Return 1 if a feature may be in the table, 0 if it is not."""
    bit = filter_bit(bits, feature)
    return (bits[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1)


@inner
def prefetch_bits(bits, features, count):  # type: ignore[no-untyped-def]
    """Ask for the bits of the first `count` features."""
    for i in range(count):
        prefetch(bits, filter_bit(bits, features[i]) >> np.uint64(6))


@inner
def sum_weights(store, features, indices, count):  # type: ignore[no-untyped-def]
    """Return the sum of the weights of the first `count` features; `features` and `indices` are scratch arrays.

    First the bits of all features are asked for, then the keys of those that pass the filter, then their values:
    memory answers meanwhile. Sums of integers are exact in float64.
    """
    mask = store.mask[0]
    prefetch_bits(store.filter, features, count)
    passing = np.uint64(0)
    for i in range(count):
        feature = features[i]
        features[passing] = feature
        passing += may_have(store.filter, feature)
    for i in range(passing):
        prefetch(store.keys, home_slot(store.keys, features[i]))
    found = np.uint64(0)
    for i in range(passing):
        index = find_entry(store.keys, mask, features[i])
        if index != NOWHERE:
            indices[found] = index
            found += np.uint64(1)
            prefetch(store.values, np.uint64(index))
    total = 0.0
    for i in range(found):
        total += store.values[np.uint64(indices[i])]
    return total


@inner
def sum_for_targets(store, features, targets, indices, count, sums):  # type: ignore[no-untyped-def]
    """Write the summed weights of features that follow each other with one target to `sums[target]`.

    Targets whose features have no weight are left as they are; `features`, `targets` and `indices` are scratch arrays.
    """
    mask = store.mask[0]
    prefetch_bits(store.filter, features, count)
    passing = np.uint64(0)
    for i in range(count):
        feature = features[i]
        features[passing] = feature
        targets[passing] = targets[i]
        passing += may_have(store.filter, feature)
    for i in range(passing):
        prefetch(store.keys, home_slot(store.keys, features[i]))
    found = np.uint64(0)
    for i in range(passing):
        index = find_entry(store.keys, mask, features[i])
        if index != NOWHERE:
            indices[found] = index
            targets[found] = targets[i]
            found += np.uint64(1)
            prefetch(store.values, np.uint64(index))
    next_one = np.uint64(0)
    while next_one < found:
        target = targets[next_one]
        total = 0.0
        while next_one < found and targets[next_one] == target:
            total += store.values[np.uint64(indices[next_one])]
            next_one += np.uint64(1)
        sums[np.uint64(target)] = total


@inner
def flat_is_short(store, averages, changes):  # type: ignore[no-untyped-def]
    """Say whether `changes` new entries might not fit."""
    return averages.counters[ENTRIES] + changes > FULLEST * store.keys.shape[0]


@inner
def add_weight(store, averages, feature, delta):  # type: ignore[no-untyped-def]
    """Add to the weight of a feature, which gets an entry at its second update; there must be room."""
    index = find_entry(store.keys, store.mask[0], feature)
    if index == NOWHERE:
        seen_once = averages.seen_once
        bit = (feature >> np.uint64(20)) & np.uint64(seen_once.shape[0] * 64 - 1)
        word, flag = bit >> np.uint64(6), np.uint64(1) << (bit & np.uint64(63))
        if seen_once[word] & flag == np.uint64(0):
            seen_once[word] |= flag
            return
        slot = home_slot(store.keys, feature)
        last = np.uint64(store.keys.shape[0] - 1)
        while store.keys[slot] != np.uint64(0):
            slot = (slot + np.uint64(1)) & last
        store.keys[slot] = (feature >> KEY_SHIFT) | np.uint64(1)
        mark(store.filter, feature)
        averages.counters[ENTRIES] += 1
        index = np.int64(slot)
    slot = np.uint64(index)
    store.values[slot] += np.float32(delta)
    averages.values[slot] += np.float32(averages.counters[STEPS] * np.float64(delta))


@entry
def add_weights(store, averages, features, deltas, count):  # type: ignore[no-untyped-def]
    """Add `deltas` to the weights of features; there must be room."""
    for i in range(np.uint64(count)):
        prefetch(store.keys, home_slot(store.keys, features[i]))
    for i in range(np.uint64(count)):
        add_weight(store, averages, features[i], deltas[i])


@entry
def place_entries(keys, values, new_keys, new_values, mask):  # type: ignore[no-untyped-def]
    """Fill an empty table `new_keys` with (key, value) pairs; a key is the upper 40 bits of a feature."""
    last = np.uint64(new_keys.shape[0] - 1)
    for i in range(np.uint64(keys.shape[0])):
        key = np.uint64(keys[i])
        if key != np.uint64(0):
            slot = home_slot(new_keys, key << KEY_SHIFT)
            while new_keys[slot] != 0:
                slot = (slot + np.uint64(1)) & last
            new_keys[slot] = key & mask
            new_values[slot] = values[i]


@entry
def fill_filter(keys, bits):  # type: ignore[no-untyped-def]
    """Let all features of whole keys pass an empty filter."""
    for i in range(np.uint64(keys.shape[0])):
        if keys[i] != np.uint64(0):
            mark(bits, keys[i] << KEY_SHIFT)
