"""Live weights of several learners to their mean: iterative parameter mixing (McDonald, Hall & Mann 2010).

What is exchanged are cells, sorted by key, with the weights and the sums of their averages; rows and tables, which
differ from learner to learner, are built again. The average of the mixed weights is the mean of the averages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from treetune.weights import _flat_kernels as flat
from treetune.weights import _kernels as kernels
from treetune.weights._kernels import Averages, Store
from treetune.weights.flat import ALL_BITS as FLAT_BITS
from treetune.weights.flat import FlatLiveWeights, filter_of
from treetune.weights.store import ALL_BITS, LiveWeights

_OUTPUT_MASK = np.uint64((1 << kernels.OUTPUT_BITS) - 1)


@dataclass(frozen=True)
class Cells:
    """Live weights apart from how they are stored: keys ascend, `steps` and `seen_once` are as in `LiveWeights`."""

    keys: NDArray[np.uint64]
    weights: NDArray[np.float32]
    sums: NDArray[np.float32]
    steps: int
    seen_once: NDArray[np.uint64]
    # Live weights made of these cells, by their outputs: several shards begin with them.
    made: dict[int, LiveWeights] = field(default_factory=dict, compare=False, repr=False)


def mix(parts: Sequence[Cells]) -> Cells:
    """Return the mean of weights, and of averages by the steps that they are over; equal parts give equal bytes."""
    # What a part adds up over its steps is steps * weights - sums (the average is W - U/T).
    # Keys are copies: what comes from another process may be read-only, which kernels would be compiled for.
    first, *others = (
        (part.keys.copy(), wide := part.weights.astype(np.float64), part.steps * wide - part.sums) for part in parts
    )
    keys, added, totals = reduce(lambda one, other: kernels.add_cells(*one, *other), others, first)
    weights, averages = added / len(parts), totals / sum(part.steps for part in parts)
    steps = round(sum(part.steps for part in parts) / len(parts))
    # No zero is negative, so that equal sums are equal bytes.
    mixed = weights.astype(np.float32) + np.float32(0)
    sums = (steps * (mixed.astype(np.float64) - averages)).astype(np.float32) + np.float32(0)
    seen = parts[0].seen_once.copy()
    for part in parts[1:]:
        seen |= part.seen_once
    return Cells(keys, mixed, sums, steps, seen)


def cells_of(live: LiveWeights | FlatLiveWeights) -> Cells:
    """Return the cells of live weights that are not zero."""
    if isinstance(live, FlatLiveWeights):
        used = np.flatnonzero((live.store.values != 0) | (live.averages.values != 0))
        used = used[np.argsort(live.store.keys[used])]
        keys, weights, sums = live.store.keys[used], live.store.values[used], live.averages.values[used]
        steps = int(live.averages.counters[flat.STEPS])
    else:
        steps = int(live.averages.counters[kernels.STEPS])
        room = int(live.averages.counters[kernels.POOL_TOP]) + live.store.dense.size
        keys, weights, sums = np.empty(room, np.uint64), np.empty(room, np.float32), np.empty(room, np.float32)
        found = kernels.copy_cells(live.store, live.averages, keys, weights, sums)
        # Rows in a table are nearly sorted.
        order = np.argsort(keys[:found], kind="stable")
        keys, weights, sums = keys[order], weights[order], sums[order]
    return Cells(keys, weights, sums, steps, live.averages.seen_once.copy())


def set_cells(live: LiveWeights | FlatLiveWeights, cells: Cells) -> None:
    """Let live weights continue from these cells; equal cells give equal bytes."""
    if isinstance(live, FlatLiveWeights):
        _set_flat(live, cells)
        return
    if live.outputs not in cells.made:
        cells.made[live.outputs] = _live_rows(cells, live.outputs)
    made = cells.made[live.outputs]
    live.store = Store._make(array.copy() for array in made.store)
    live.averages = Averages._make(array.copy() for array in made.averages)


def _live_rows(cells: Cells, outputs: int) -> LiveWeights:
    made = LiveWeights(outputs)
    # A feature's first change is usually only noted; here each has a cell. At step 0 nothing is added to the sums.
    made.averages.seen_once.fill(ALL_BITS)
    made.averages.counters[kernels.STEPS] = 0
    features = cells.keys >> kernels.OUTPUT_BITS << kernels.REF_BITS
    numbers = (cells.keys & _OUTPUT_MASK).astype(np.uint16)
    # All at once: in a table that is too small for all, ascending keys would crowd at its front.
    made.add(features, numbers, cells.weights.copy())
    made.grow(0)
    store, averages = made.store, made.averages
    # Once more, with the sums in place of the weights.
    sums = store._replace(weights=averages.weights, dense=averages.dense)
    unused = averages._replace(weights=np.zeros_like(averages.weights), dense=np.zeros_like(averages.dense))
    added = kernels.add_features(sums, unused, features, numbers, cells.sums.copy(), len(features), 0)
    assert added == len(features), "every cell has its place"
    averages.counters[kernels.STEPS] = cells.steps
    averages.seen_once[:] = cells.seen_once
    return made


def _set_flat(live: FlatLiveWeights, cells: Cells) -> None:
    made = FlatLiveWeights()
    made.grow(len(cells.keys))
    size = len(made.store.keys)
    keys, values, sums = np.zeros(size, np.uint64), np.zeros(size, np.float32), np.zeros(size, np.float32)
    # A copy, as in `mix`.
    own = cells.keys.copy()
    flat.place_entries(own, cells.weights.copy(), keys, values, FLAT_BITS[0])
    flat.place_entries(own, cells.sums.copy(), np.zeros(size, np.uint64), sums, FLAT_BITS[0])
    made.averages.counters[flat.ENTRIES], made.averages.counters[flat.STEPS] = len(cells.keys), cells.steps
    made.averages.seen_once[:] = cells.seen_once
    live.store = made.store._replace(keys=keys, values=values, filter=filter_of(keys, size))
    live.averages = made.averages._replace(values=sums)
