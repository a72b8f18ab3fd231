"""Live weights of several learners to their mean: iterative parameter mixing (McDonald, Hall & Mann 2010).

What is exchanged are cells, sorted by key, with the weights and the sums of their averages; rows and tables, which
differ from learner to learner, are built again. The average of the mixed weights is the mean of the averages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treetune.weights import _flat_kernels as flat
from treetune.weights import _kernels as kernels
from treetune.weights.flat import ALL_BITS as FLAT_BITS
from treetune.weights.flat import FlatLiveWeights, filter_of
from treetune.weights.live_state import counted
from treetune.weights.store import ALL_BITS, LiveWeights

# A key of a cell is that of its row above the number of its output.
_OUTPUT_BITS, _OUTPUT_MASK = np.uint64(16), np.uint64((1 << 16) - 1)


@dataclass(frozen=True)
class Cells:
    """Live weights apart from how they are stored: keys ascend, `steps` and `seen_once` are as in `LiveWeights`."""

    keys: NDArray[np.uint64]
    weights: NDArray[np.float32]
    sums: NDArray[np.float32]
    steps: int
    seen_once: NDArray[np.uint64]


def mix(parts: Sequence[Cells]) -> Cells:
    """Return the mean of weights, and of averages by the steps that they are over; equal parts give equal bytes."""
    keys = np.concatenate([part.keys for part in parts])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.empty(0, np.int64)
    # What a part adds up over its steps is steps * weights - sums (the average is W - U/T).
    totals = [part.steps * part.weights.astype(np.float64) - part.sums for part in parts]
    weights = _added([part.weights.astype(np.float64) for part in parts], order, starts) / len(parts)
    averages = _added(totals, order, starts) / sum(part.steps for part in parts)
    steps = round(sum(part.steps for part in parts) / len(parts))
    # No zero is negative, so that equal sums are equal bytes.
    mixed = weights.astype(np.float32) + np.float32(0)
    sums = (steps * (mixed.astype(np.float64) - averages)).astype(np.float32) + np.float32(0)
    seen = parts[0].seen_once.copy()
    for part in parts[1:]:
        seen |= part.seen_once
    return Cells(keys[starts], mixed, sums, steps, seen)


def _added(
    values: Sequence[NDArray[np.float64]], order: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    joined = np.concatenate(values)[order]
    return np.add.reduceat(joined, starts) if len(starts) else joined


def cells_of(live: LiveWeights | FlatLiveWeights) -> Cells:
    """Return the cells of live weights that are not zero."""
    averages = live.averages
    if isinstance(live, FlatLiveWeights):
        used = np.flatnonzero(live.store.keys)
        used = used[np.argsort(live.store.keys[used])]
        keys, weights, sums = live.store.keys[used], live.store.values[used], live.averages.values[used]
        steps = int(averages.counters[flat.STEPS])
    else:
        places = _Places.of(live)
        order = np.argsort(places.keys)
        keys = places.keys[order]
        weights = places.values(live.store.weights, live.store.dense)[order]
        sums = places.values(live.averages.weights, live.averages.dense)[order]
        steps = int(averages.counters[kernels.STEPS])
    kept = (weights != 0) | (sums != 0)
    return Cells(keys[kept], weights[kept], sums[kept], steps, averages.seen_once.copy())


def set_cells(live: LiveWeights | FlatLiveWeights, cells: Cells) -> None:
    """Let live weights continue from these cells; equal cells give equal bytes."""
    if isinstance(live, FlatLiveWeights):
        _set_flat(live, cells)
        return
    made = LiveWeights(live.outputs)
    # A feature's first change is usually only noted; here each has a cell. At step 0 nothing is added to the sums.
    made.averages.seen_once.fill(ALL_BITS)
    made.averages.counters[kernels.STEPS] = 0
    features = cells.keys >> _OUTPUT_BITS << kernels.REF_BITS
    outputs = (cells.keys & _OUTPUT_MASK).astype(np.uint16)
    # All at once: in a table that is too small for all, ascending keys would crowd at its front.
    made.add(features, outputs, cells.weights.copy())
    made.grow(0)
    store, averages = made.store, made.averages
    # Once more, with the sums in place of the weights.
    sums = store._replace(weights=averages.weights, dense=averages.dense)
    unused = averages._replace(weights=np.zeros_like(averages.weights), dense=np.zeros_like(averages.dense))
    added = kernels.add_features(sums, unused, features, outputs, cells.sums.copy(), len(features), 0)
    assert added == len(features), "every cell has its place"
    averages.counters[kernels.STEPS] = cells.steps
    averages.seen_once[:] = cells.seen_once
    live.store, live.averages = store, averages


def _set_flat(live: FlatLiveWeights, cells: Cells) -> None:
    made = FlatLiveWeights()
    made.grow(len(cells.keys))
    size = len(made.store.keys)
    keys, values, sums = np.zeros(size, np.uint64), np.zeros(size, np.float32), np.zeros(size, np.float32)
    # Copies: what comes from another process may be read-only, which kernels would be compiled for.
    own = cells.keys.copy()
    flat.place_entries(own, cells.weights.copy(), keys, values, FLAT_BITS[0])
    flat.place_entries(own, cells.sums.copy(), np.zeros(size, np.uint64), sums, FLAT_BITS[0])
    made.averages.counters[flat.ENTRIES], made.averages.counters[flat.STEPS] = len(cells.keys), cells.steps
    made.averages.seen_once[:] = cells.seen_once
    live.store = made.store._replace(keys=keys, values=values, filter=filter_of(keys, size))
    live.averages = made.averages._replace(values=sums)


@dataclass(frozen=True)
class _Places:
    """Where the cells of a store are, with their keys: those of short rows in the pool, then those of dense rows."""

    keys: NDArray[np.uint64]
    pool: NDArray[np.int64]
    dense: NDArray[np.int64]

    @classmethod
    def of(cls, live: LiveWeights) -> _Places:
        table, pool = live.store.table, live.store.outputs
        entries = table[table != 0]
        references = (entries & kernels.REF_MASK).astype(np.int64)
        rows = entries >> kernels.REF_BITS << _OUTPUT_BITS
        is_dense = references & kernels.DENSE_BIT != 0
        starts = references[~is_dense]
        used = (pool[starts] & 0xFF).astype(np.int64)
        cells = np.repeat(starts + 1, used) + counted(used)
        short = np.repeat(rows[~is_dense], used) | pool[cells].astype(np.uint64)
        outputs = np.arange(live.outputs)
        dense = (references[is_dense] ^ kernels.DENSE_BIT)[:, None] * live.store.dense.shape[1] + outputs
        long = rows[is_dense][:, None] | outputs.astype(np.uint64)
        return cls(np.concatenate([short, long.ravel()]), cells, dense.ravel())

    def values(self, pool: NDArray[np.float32], dense: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.concatenate([pool[self.pool], dense.reshape(-1)[self.dense]])
