"""Live weights for training and frozen weights for prediction; see the package docstring."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Arrays, check_positive, expected
from treetune.errors import ModelError
from treetune.weights import _kernels as kernels
from treetune.weights._kernels import Averages, Margins, Store, Update

LARGEST_INT16 = 32767
LARGEST_INT8 = 127
# A key is what is left of 64 bits when those of a reference to a row are taken off.
_KEY_BYTES = 5
ALL_BITS = np.uint64(2**64 - 1)
# Frozen dense rows of a model file that need more than this are none that training makes.
_LARGEST_DENSE = 1 << 32
# So many sorted keys are spread over as many slots of a table at least, or look-ups would take a time without bound.
_SPREAD = 4096
# A frozen table is at most this full: most look-ups are of features without a row, and then end at the first slot or
# the next. It has 20 to 40 bytes a feature.
FULLEST_FROZEN = 0.4


# So many frozen weights are in a line of the processor's cache.
_LINE = kernels.CACHE_LINE // 2


def table_size(entries: int, fullest: float = kernels.FULLEST) -> int:
    """Return the power of two that holds `entries` without being too full."""
    return 1 << max(10, int(np.ceil(np.log2(max(1, entries) / fullest))))


class LiveWeights:
    """Weights in training: they grow, and their average over all steps so far can be frozen.

    A step is one example seen, whether or not it led to an update; `restart_average` forgets the steps so
    far, so that later ones alone count.
    """

    def __init__(self, outputs: int) -> None:
        self.outputs = outputs
        width = -(-outputs // 8) * 8  # whole vector registers
        self.store = Store(
            table=np.zeros(1 << 16, np.uint64),
            outputs=np.zeros(1 << 17, np.uint16),
            weights=np.zeros(1 << 17, np.float32),
            dense=np.zeros((512, width), np.float32),
        )
        self.averages = Averages(
            weights=np.zeros(1 << 17, np.float32),
            dense=np.zeros((512, width), np.float32),
            counters=np.zeros(kernels.COUNTERS, np.int64),
            seen_once=np.zeros(1 << 21, np.uint64),
        )
        self.averages.counters[kernels.POOL_TOP] = 1
        self.averages.counters[kernels.STEPS] = 1

    @classmethod
    def thaw(cls, frozen: FrozenWeights, renumbered: NDArray[np.uint16] | None = None, more: int = 0) -> LiveWeights:
        """Return live weights that start from frozen ones, which count as the first step of the average.

        With `more` outputs than the frozen ones have, `renumbered` has the new number of each old one.
        """
        live = cls(frozen.outputs + more)
        # A feature's first change is usually only noted; here every feature is known to be worth a row.
        live.averages.seen_once.fill(ALL_BITS)
        features, outputs, weights = frozen.cells()
        live.add(features, outputs if renumbered is None else renumbered[outputs], weights)
        live.averages.seen_once.fill(0)
        live.restart_average()
        return live

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return everything, for a checkpoint."""
        return {**_named("store", self.store), **_named("averages", self.averages)}

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        """Become what `tensors` was taken from; ModelError if they are not what kernels rely on."""
        from treetune.weights.live_state import live_store

        width, seen = self.store.dense.shape[1], len(self.averages.seen_once)
        self.store, self.averages = live_store(Arrays(tensors), self.outputs, width, seen)

    @property
    def rows(self) -> int:
        """The number of features that have a row."""
        return int(self.averages.counters[kernels.ROWS])

    def grow(self, changes: int) -> None:
        """Make room for at least `changes` more additions."""
        counters = self.averages.counters
        store, averages = self.store, self.averages
        if counters[kernels.ROWS] + changes > kernels.FULLEST * store.table.shape[0]:
            size = table_size(int(counters[kernels.ROWS]) + changes)
            table = np.zeros(max(size, 2 * store.table.shape[0]), np.uint64)
            kernels.rehash(store.table, table)
            self.store = store._replace(table=table)
        margin = 17 * 128
        needed = int(counters[kernels.POOL_TOP]) + 3 * changes + margin
        if needed > store.outputs.shape[0]:
            size = needed + needed // 32
            if size > kernels.MAX_OFFSET:
                raise ModelError(
                    f"the model has grown past {kernels.MAX_OFFSET:,} weights; "
                    "train on less data or with fewer feature templates"
                )
            for array in (store.outputs, store.weights, averages.weights):
                _lengthen(array, size)
        if counters[kernels.DENSE_TOP] + 128 > store.dense.shape[0]:
            size = store.dense.shape[0] * 5 // 4 + 128
            for array in (store.dense, averages.dense):
                _lengthen(array, size)

    def add(self, features: NDArray[np.uint64], outputs: NDArray[np.uint16], deltas: NDArray[np.float32]) -> None:
        """Add `deltas` to the weights of (feature, output) pairs: one update."""
        done, count = 0, len(features)
        self.grow(count)
        while True:
            done = kernels.add_features(self.store, self.averages, features, outputs, deltas, count, done)
            if done == count:
                return
            self.grow(count)

    def step(self, count: int = 1) -> None:
        """Count `count` examples as seen."""
        self.averages.counters[kernels.STEPS] += count

    def decay(self, factor: float) -> None:
        """Multiply all weights by a factor (weight decay): one update, at the current step of the average."""
        step = float(self.averages.counters[kernels.STEPS])
        pool, dense = (int(self.averages.counters[index]) for index in (kernels.POOL_TOP, kernels.DENSE_TOP))
        for weights, sums in (
            (self.store.weights[:pool], self.averages.weights[:pool]),
            (self.store.dense[:dense], self.averages.dense[:dense]),
        ):
            change = weights * np.float32(factor - 1.0)
            weights += change
            change *= np.float32(step)
            sums += change

    def restart_average(self) -> None:
        """Restart the average of the weights."""
        self.averages.weights[:] = 0
        self.averages.dense[:] = 0
        self.averages.counters[kernels.STEPS] = 1

    def freeze(self, *, prune: float = 0.0, prune_share: float = 0.0, average: bool = True) -> FrozenWeights:
        """Return the averaged weights as integers; those that round to less than a bound are dropped.

        The bound is `prune`, in units of an update of size 1, or the part `prune_share` of the largest weight,
        whichever is more. Costs one pass over all rows.
        """
        steps = float(self.averages.counters[kernels.STEPS]) if average else float("inf")
        largest = kernels.largest_average(self.store, self.averages, steps)
        scale = LARGEST_INT16 / largest if largest > 0 else 1.0
        floor = max(1.0, prune * scale, prune_share * LARGEST_INT16)
        features, cells = kernels.count_kept(self.store, self.averages, steps, scale, floor)
        keys = np.empty(features, np.uint64)
        counts = np.empty(features, np.uint16)
        outputs = np.empty(cells, np.uint16)
        weights = np.empty(cells, np.int16)
        kernels.freeze_rows(self.store, self.averages, steps, scale, floor, keys, counts, outputs, weights)
        return FrozenWeights(self.outputs, scale, keys, counts, outputs, weights)


class FrozenWeights:
    """Averaged integer weights for prediction; a score in model units is an integer sum over `scale`."""

    def __init__(
        self,
        outputs: int,
        scale: float,
        keys: NDArray[np.uint64],
        counts: NDArray[np.uint16],
        cell_outputs: NDArray[np.uint16],
        cell_weights: NDArray[np.int16],
        *,
        is_quantized: bool = False,
    ) -> None:
        self.outputs = outputs
        self.scale = scale
        self.is_quantized = is_quantized
        self._lists = (keys, counts, cell_outputs, cell_weights)

    @cached_property
    def store(self) -> Store:
        """The rows as kernels read them, built when first needed."""
        keys, counts, cell_outputs, cell_weights = self._lists
        dense = counts > kernels.MAX_CELLS
        short = counts[~dense].astype(np.int64)
        width = -(-self.outputs // _LINE) * _LINE
        room = 1 + int(short.sum()) + len(short)
        # What is left of a line is less than the row that did not fit into it.
        line = _LINE // 2 if 2 * room <= kernels.MAX_OFFSET else 1
        cells = _aligned(2 * room * (2 if line > 1 else 1))
        store = Store(
            table=np.zeros(table_size(len(keys), FULLEST_FROZEN), np.uint64),
            outputs=cells.view(np.uint16),
            weights=cells,
            dense=_aligned(max(1, int(dense.sum())) * width).reshape(-1, width),
        )
        kernels.build_rows(keys, counts, cell_outputs, cell_weights, kernels.MAX_CELLS, line, store)
        return store

    def share(self) -> FrozenWeights:
        """Return the same weights with nothing built yet: what is built for them goes when they go."""
        return FrozenWeights(self.outputs, self.scale, *self._lists, is_quantized=self.is_quantized)

    @property
    def rows(self) -> int:
        """The number of features that have a row."""
        return len(self._lists[0])

    def cells(self) -> tuple[NDArray[np.uint64], NDArray[np.uint16], NDArray[np.float32]]:
        """Return all weights in model units, one a (feature, output) pair."""
        keys, counts, cell_outputs, cell_weights = self._lists
        features = np.repeat(keys << np.uint64(kernels.REF_BITS), counts.astype(np.int64))
        return features, cell_outputs, (cell_weights / self.scale).astype(np.float32)

    def quantize(self, *, prune: float) -> FrozenWeights:
        """Return the weights quantised to 8 bits, those below the share `prune` of the largest pruned.

        The largest is 127; of what is between two numbers the nearer one is taken, but no weight becomes 0.
        """
        keys, counts, cell_outputs, cell_weights = self._lists
        largest = max(1, int(np.abs(cell_weights.astype(np.int32)).max(initial=0)))
        step = max(1.0, largest / LARGEST_INT8)
        kept = np.abs(cell_weights.astype(np.int32)) >= prune * largest
        rounded = np.rint(cell_weights[kept] / step)
        weights = np.where(rounded == 0, np.sign(cell_weights[kept]), rounded).astype(np.int16)
        rows = np.repeat(np.arange(len(keys)), counts.astype(np.int64))
        left = np.bincount(rows[kept], minlength=len(keys))
        return FrozenWeights(
            self.outputs,
            self.scale / step,
            keys[left > 0],
            left[left > 0].astype(np.uint16),
            cell_outputs[kept],
            weights,
            is_quantized=True,
        )

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to keep in a model file; sorted, so that equal weights give equal bytes.

        Of quantised weights the keys are kept as differences, a byte an array, and numbers in one byte if they fit.
        """
        keys, counts, cell_outputs, cell_weights = self._lists
        order = np.argsort(keys, kind="stable")
        cells = np.lexsort((cell_outputs, np.repeat(keys, counts.astype(np.int64))))
        rest = {"counts": counts[order], "outputs": cell_outputs[cells], "weights": cell_weights[cells]}
        if not self.is_quantized:
            return {"keys": keys[order], **rest}
        gaps = np.diff(keys[order], prepend=np.uint64(0))
        return {
            **{f"gaps.{byte}": (gaps >> np.uint64(8 * byte)).astype(np.uint8) for byte in range(_KEY_BYTES)},
            **{name: _narrowed(values) for name, values in rest.items()},
        }

    @classmethod
    def from_tensors(cls, outputs: int, scale: float, tensors: dict[str, NDArray[Any]]) -> FrozenWeights:
        """Rebuild weights from `tensors()`, or raise ModelError: kernels rely on what is checked here."""
        return cls.from_arrays(outputs, scale, Arrays(tensors))

    @classmethod
    def from_arrays(cls, outputs: int, scale: float, arrays: Arrays) -> FrozenWeights:
        """Rebuild weights from the arrays of a model; see `from_tensors`."""
        check_positive(scale, "scale")
        is_quantized = "keys" not in arrays
        keys = _keys(arrays) if is_quantized else arrays.integers("keys", np.uint64)
        check_keys(keys, int(kernels.REF_BITS), table_size(len(keys), FULLEST_FROZEN), arrays)
        counts = arrays.bounded("counts", np.uint16, len(keys), 1, outputs)
        cells = int(counts.sum(dtype=np.int64))
        cell_outputs = arrays.bounded("outputs", np.uint16, cells, 0, outputs - 1)
        dense = int(np.count_nonzero(counts > kernels.MAX_CELLS)) * outputs * 2
        if dense > _LARGEST_DENSE or cells + len(keys) > kernels.MAX_OFFSET:
            raise ModelError(f"{arrays.path('counts')}: expected rows that fit into memory, found {cells:,} cells")
        weights = arrays.integers("weights", np.int16, cells)
        return cls(outputs, scale, keys, counts, cell_outputs, weights, is_quantized=is_quantized)


def _aligned(count: int) -> NDArray[np.int16]:
    """Return zeros that start with a line of the processor's cache."""
    room = np.zeros(count + _LINE, np.int16)
    first = -room.__array_interface__["data"][0] % kernels.CACHE_LINE // 2
    return room[first : first + count]


def _keys(arrays: Arrays) -> NDArray[np.uint64]:
    first = arrays.integers("gaps.0", np.uint8)
    gaps = first.astype(np.uint64)
    for byte in range(1, _KEY_BYTES):
        gaps |= arrays.integers(f"gaps.{byte}", np.uint8, len(first)).astype(np.uint64) << np.uint64(8 * byte)
    return np.cumsum(gaps, dtype=np.uint64)


def check_keys(keys: NDArray[np.uint64], shift: int, slots: int, arrays: Arrays) -> None:
    """Raise ModelError unless keys ascend, fit above `shift` bits, and are spread over the slots of their table."""
    if len(keys) and (int(keys[-1]) >> (64 - shift) or not (keys[1:] > keys[:-1]).all()):
        raise ModelError(f"{arrays.path('keys')}: expected ascending keys of {64 - shift} bits, found others")
    homes = ((keys[::_SPREAD] << np.uint64(shift)) >> np.uint64(32)) * np.uint64(slots) >> np.uint64(32)
    if (np.diff(homes) < _SPREAD).any():
        raise expected(arrays.path("keys"), "keys that are spread evenly", len(keys))


def _narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """Return integers in one byte each, if they fit."""
    narrow = np.int8 if values.dtype.kind == "i" else np.uint8
    limits = np.iinfo(narrow)
    fits = limits.min <= values.min(initial=0) and values.max(initial=0) <= limits.max
    return values.astype(narrow) if fits else values


def make_update(changes: int) -> Update:
    """Return room for the pending changes of one update."""
    return Update(
        features=np.empty(changes, np.uint64),
        outputs=np.empty(changes, np.uint16),
        deltas=np.empty(changes, np.float32),
        counters=np.zeros(2, np.int64),
    )


def _margin_slots(pairs: int) -> int:
    return 1 << max(4, (2 * pairs - 1).bit_length())


def margin_bytes(pairs: int, k: int) -> int:
    """Return the size of such room, so that a caller can refuse before it is taken."""
    return _margin_slots(pairs) * (18 + 4 * k) + 8 * pairs


def make_margins(pairs: int, k: int) -> Margins:
    """Return room for the differences to `k` candidates in up to `pairs` distinct (feature, output) pairs."""
    slots = _margin_slots(pairs)
    return Margins(
        keys=np.zeros(slots, np.uint64),
        features=np.empty(slots, np.uint64),
        outputs=np.empty(slots, np.uint16),
        counts=np.zeros((slots, k), np.float32),
        used=np.empty(pairs, np.int64),
        counters=np.zeros(1, np.int64),
        gram=np.zeros((k, k), np.float64),
        wanted=np.zeros(k, np.float64),
        steps=np.zeros(k, np.float64),
    )


def _named(prefix: str, arrays: Store | Averages) -> dict[str, NDArray[Any]]:
    return {f"{prefix}.{name}": array for name, array in arrays._asdict().items()}


def _lengthen(array: NDArray[Any], size: int) -> None:
    """Add zeroed rows in place: a large array is remapped, not copied, so that there are never two of it."""
    array.resize((size, *array.shape[1:]), refcheck=False)
