"""Kernels of flat weights: one number a feature, in a table of its own.

A feature is 64 bits, of which the upper 40 (the lowest of them always set) are its key; two features share a
weight with probability 2^-39 a pair. The upper 32 bits decide where the search for it starts, and entries lie
in the order of their keys but for displacements. Frozen tables keep the lower 32 bits of the key only: the
place says the rest.
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

# Positions in the counters of live weights.
ENTRIES, STEPS = 0, 1


class FlatStore(NamedTuple):
    """What scoring reads: `values` are float32 (live) or int16 (frozen); `mask` says which bits of keys are kept."""

    keys: NDArray[Any]
    values: NDArray[Any]
    mask: NDArray[np.uint64]


class FlatAverages(NamedTuple):
    """What live weights have besides: sums for averaging (`U` of ``W - U/T``), counters, once-seen bits."""

    values: NDArray[np.float32]
    counters: NDArray[np.int64]
    seen_once: NDArray[np.uint64]


@inner
def find_entry(keys, mask, feature):  # type: ignore[no-untyped-def]
    """Return the place of a feature, or NOWHERE."""
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
def sum_weights(store, features, places, count):  # type: ignore[no-untyped-def]
    """Return the sum of the weights of the first `count` features; `places` is work.

    First all keys are asked for, then all values, then they are added: memory answers meanwhile. Sums of
    integers are exact in float64.
    """
    mask = store.mask[0]
    for i in range(count):
        prefetch(store.keys, home_slot(store.keys, features[i]))
    found = np.uint64(0)
    for i in range(count):
        place = find_entry(store.keys, mask, features[i])
        if place != NOWHERE:
            places[found] = place
            found += np.uint64(1)
            prefetch(store.values, np.uint64(place))
    total = 0.0
    for i in range(found):
        total += store.values[np.uint64(places[i])]
    return total


@inner
def flat_is_short(store, averages, changes):  # type: ignore[no-untyped-def]
    """Say whether `changes` new entries might not fit."""
    return averages.counters[ENTRIES] + changes > FULLEST * store.keys.shape[0]


@inner
def add_weight(store, averages, feature, delta):  # type: ignore[no-untyped-def]
    """Add to the weight of a feature, which gets an entry at its second update; there must be room."""
    place = find_entry(store.keys, store.mask[0], feature)
    if place == NOWHERE:
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
        averages.counters[ENTRIES] += 1
        place = np.int64(slot)
    slot = np.uint64(place)
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
