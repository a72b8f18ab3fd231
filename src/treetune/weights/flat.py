"""One weight a feature: arcs need no rows over outputs, and one look-up in memory instead of three."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Arrays, check_positive
from treetune.weights import _flat_kernels as kernels
from treetune.weights._flat_kernels import FlatAverages, FlatStore
from treetune.weights.store import LARGEST_INT16, check_keys, table_size

ALL_BITS = np.array([2**64 - 1], np.uint64)
LOWER_BITS = np.array([2**32 - 1], np.uint64)


def empty_filter(size: int) -> NDArray[np.uint64]:
    """Return a filter for a table of `size` slots that nothing passes."""
    return np.zeros(size // kernels.SLOTS_PER_WORD, np.uint64)


def filter_of(keys: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Return the filter of a table of `size` slots that holds these whole keys; 0 is none."""
    bits = empty_filter(size)
    kernels.fill_filter(keys, bits)
    return bits


class FlatLiveWeights:
    """Flat weights in training: they grow, and their average over all steps so far can be frozen."""

    def __init__(self) -> None:
        size = 1 << 16
        self.store = FlatStore(np.zeros(size, np.uint64), np.zeros(size, np.float32), ALL_BITS, empty_filter(size))
        self.averages = FlatAverages(
            values=np.zeros(size, np.float32),
            counters=np.zeros(2, np.int64),
            seen_once=np.zeros(1 << 22, np.uint64),
        )
        self.averages.counters[kernels.STEPS] = 1

    @classmethod
    def thaw(cls, frozen: FlatFrozenWeights) -> FlatLiveWeights:
        """Return live weights that start from frozen ones, which count as the first step of the average."""
        live = cls()
        live.grow(len(frozen))
        keys, weights = frozen.entries()
        kernels.place_entries(keys, weights, live.store.keys, live.store.values, ALL_BITS[0])
        kernels.fill_filter(keys, live.store.filter)
        live.averages.counters[kernels.ENTRIES] = len(keys)
        return live

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return everything, for a checkpoint."""
        return {
            "keys": self.store.keys,
            "values": self.store.values,
            "sums": self.averages.values,
            "counters": self.averages.counters,
            "seen_once": self.averages.seen_once,
        }

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        """Become what `tensors` was taken from; ModelError if they are not what kernels rely on."""
        from treetune.weights.live_state import live_flat

        keys, values, self.averages = live_flat(Arrays(tensors), len(self.averages.seen_once))
        self.store = FlatStore(keys, values, ALL_BITS, filter_of(keys, len(keys)))

    def __len__(self) -> int:
        """Return the number of features that have a weight."""
        return int(self.averages.counters[kernels.ENTRIES])

    def grow(self, changes: int) -> None:
        """Make room for at least `changes` more features."""
        needed = len(self) + changes
        if needed <= kernels.FULLEST * len(self.store.keys):
            return
        size = max(table_size(needed, kernels.FULLEST), 2 * len(self.store.keys))
        old, sums = self.store, self.averages.values
        keys = np.zeros(size, np.uint64)
        values = np.zeros(size, np.float32)
        kernels.place_entries(old.keys, old.values, keys, values, ALL_BITS[0])
        self.store = FlatStore(keys, values, ALL_BITS, filter_of(old.keys, size))
        # The same keys in the same order fall on the same slots.
        averages = np.zeros(size, np.float32)
        kernels.place_entries(old.keys, sums, np.zeros(size, np.uint64), averages, ALL_BITS[0])
        self.averages = self.averages._replace(values=averages)

    def add(self, features: NDArray[np.uint64], deltas: NDArray[np.float32]) -> None:
        """Add `deltas` to the weights of features: one update."""
        self.grow(len(features))
        kernels.add_weights(self.store, self.averages, features, deltas, len(features))

    def step(self, count: int = 1) -> None:
        """Count `count` examples as seen."""
        self.averages.counters[kernels.STEPS] += count

    def restart_average(self) -> None:
        """Restart the average of the weights."""
        self.averages.values[:] = 0
        self.averages.counters[kernels.STEPS] = 1

    def freeze(self, *, prune: float = 0.0, average: bool = True) -> FlatFrozenWeights:
        """Return the averaged weights as integers; those smaller than `prune` times the largest are dropped."""
        used = self.store.keys != 0
        weights = self.store.values[used].astype(np.float64)
        if average:
            weights -= self.averages.values[used] / float(self.averages.counters[kernels.STEPS])
        largest = float(np.abs(weights).max(initial=0.0))
        scale = LARGEST_INT16 / largest if largest > 0 else 1.0
        rounded = np.rint(weights * scale).astype(np.int16)
        kept = np.abs(rounded) >= max(1.0, prune * LARGEST_INT16)
        keys = self.store.keys[used][kept]
        order = np.argsort(keys)
        return FlatFrozenWeights(scale, keys[order], rounded[kept][order])


class FlatFrozenWeights:
    """Averaged integer weights for prediction; a score in model units is an integer sum over `scale`."""

    def __init__(self, scale: float, keys: NDArray[np.uint64], weights: NDArray[np.int16]) -> None:
        self.scale = scale
        self._keys, self._weights = keys, weights

    def __len__(self) -> int:
        """Return the number of features that have a weight."""
        return len(self._keys)

    def entries(self) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
        """Return the keys and their weights in model units."""
        return self._keys, (self._weights / self.scale).astype(np.float32)

    @cached_property
    def store(self) -> FlatStore:
        """The table as kernels read it, built when first needed."""
        size = table_size(len(self._keys), kernels.FULLEST)
        keys, values = np.zeros(size, np.uint32), np.zeros(size, np.int16)
        kernels.place_entries(self._keys, self._weights, keys, values, LOWER_BITS[0])
        return FlatStore(keys, values, LOWER_BITS, filter_of(self._keys, size))

    def share(self) -> FlatFrozenWeights:
        """Return the same weights with nothing built yet: what is built for them goes when they go."""
        return FlatFrozenWeights(self.scale, self._keys, self._weights)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to keep in a model file: sorted keys as differences, which compress well."""
        gaps = np.diff(self._keys, prepend=np.uint64(0))
        return {
            "gaps": (gaps & np.uint64(2**32 - 1)).astype(np.uint32),
            "far_gaps": (gaps >> np.uint64(32)).astype(np.uint8),
            "weights": self._weights,
        }

    @classmethod
    def from_tensors(cls, scale: float, tensors: dict[str, NDArray[Any]]) -> FlatFrozenWeights:
        """Rebuild weights from `tensors()`, or raise ModelError: kernels rely on what is checked here."""
        return cls.from_arrays(scale, Arrays(tensors))

    @classmethod
    def from_arrays(cls, scale: float, arrays: Arrays) -> FlatFrozenWeights:
        """Rebuild weights from the arrays of a model; see `from_tensors`."""
        check_positive(scale, "scale")
        near = arrays.integers("gaps", np.uint32)
        far = arrays.integers("far_gaps", np.uint8, len(near))
        keys = np.cumsum(near.astype(np.uint64) + (far.astype(np.uint64) << np.uint64(32)), dtype=np.uint64)
        check_keys(keys, int(kernels.KEY_SHIFT), table_size(len(keys), kernels.FULLEST), arrays)
        return cls(scale, keys, arrays.integers("weights", np.int16, len(near)))
