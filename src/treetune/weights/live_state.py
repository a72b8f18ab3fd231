"""Checks of the live weights of a checkpoint: kernels rely on every reference in them.

A pool of short rows is sound if the rows of the table and the lists of free ones are within it and do not overlap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Arrays
from treetune.errors import ModelError
from treetune.weights import _flat_kernels as flat
from treetune.weights import _kernels as kernels
from treetune.weights._flat_kernels import FlatAverages
from treetune.weights._kernels import Averages, Store

_CLASSES = kernels.COUNTERS - kernels.FREE
_LARGEST_STEPS = 1 << 53


def live_store(arrays: Arrays, outputs: int, width: int, seen: int) -> tuple[Store, Averages]:
    """Return the arrays of a live store with rows of `outputs` numbers, or raise ModelError."""
    own, sums = arrays.part("store"), arrays.part("averages")
    table, pool = own.exact("table", np.uint64, (None,)), own.exact("outputs", np.uint16, (None,))
    dense = own.exact("dense", np.float32, (None, width))
    store = Store(table, pool, own.exact("weights", np.float32, pool.shape), dense)
    averages = Averages(
        sums.exact("weights", np.float32, pool.shape),
        sums.exact("dense", np.float32, dense.shape),
        sums.exact("counters", np.int64, (kernels.COUNTERS,)),
        sums.exact("seen_once", np.uint64, (seen,)),
    )
    counters, path = averages.counters, sums.path("counters")
    _check_table(table, int(counters[kernels.ROWS]), kernels.FULLEST, own.path("table"))
    _check_range(int(counters[kernels.POOL_TOP]), 1, min(len(pool), kernels.MAX_OFFSET), path)
    _check_range(int(counters[kernels.DENSE_TOP]), 0, len(dense), path)
    _check_range(int(counters[kernels.STEPS]), 1, _LARGEST_STEPS, path)
    references = (table[table != 0] & kernels.REF_MASK).astype(np.int64)
    is_dense = references & kernels.DENSE_BIT != 0
    if (references[is_dense] ^ kernels.DENSE_BIT >= counters[kernels.DENSE_TOP]).any():
        raise ModelError(f"{own.path('table')}: expected references to rows, found others")
    _check_pool(store, counters, references[~is_dense], outputs, own.path("outputs"))
    return store, averages


def live_flat(arrays: Arrays, seen: int) -> tuple[NDArray[np.uint64], NDArray[np.float32], FlatAverages]:
    """Return keys, values and averages of live flat weights, or raise ModelError."""
    keys = arrays.exact("keys", np.uint64, (None,))
    values = arrays.exact("values", np.float32, keys.shape)
    averages = FlatAverages(
        arrays.exact("sums", np.float32, keys.shape),
        arrays.exact("counters", np.int64, (2,)),
        arrays.exact("seen_once", np.uint64, (seen,)),
    )
    _check_table(keys, int(averages.counters[flat.ENTRIES]), flat.FULLEST, arrays.path("keys"))
    _check_range(int(averages.counters[flat.STEPS]), 1, _LARGEST_STEPS, arrays.path("counters"))
    if (keys >> (np.uint64(64) - flat.KEY_SHIFT)).any():
        raise ModelError(f"{arrays.path('keys')}: expected keys of 40 bits, found others")
    return keys, values, averages


def _check_range(value: int, least: int, most: int, path: str) -> None:
    if not least <= value <= most:
        raise ModelError(f"{path}: expected a number from {least:,} to {most:,}, found {value:,}")


def _check_table(table: NDArray[np.uint64], entries: int, fullest: float, path: str) -> None:
    """A search in a table ends at a slot that is free."""
    size, used = len(table), int(np.count_nonzero(table))
    if size < 1 << 10 or size & (size - 1) or size > 1 << 32:
        raise ModelError(f"{path}: expected a power of two of slots, found {size:,}")
    if used != entries or used > fullest * size + 1:
        raise ModelError(f"{path}: expected {entries:,} entries in a table with room, found {used:,} in {size:,} slots")


def _check_pool(
    store: Store, counters: NDArray[np.int64], rows: NDArray[np.int64], outputs: int, path: str
) -> None:  # fmt: skip
    """Raise ModelError unless rows and free rows lie in the pool, apart from each other."""
    top, pool = int(counters[kernels.POOL_TOP]), store.outputs
    fault = ModelError(f"{path}: expected rows that lie apart in a pool, found others")
    if len(rows) and (rows.min() < 1 or rows.max() >= top):
        raise fault
    used, sizes = (pool[rows] & 0xFF).astype(np.int64), (pool[rows] >> kernels.CLASS_SHIFT).astype(np.int64)
    if (sizes >= _CLASSES).any() or (used > np.int64(2) << np.minimum(sizes, _CLASSES)).any():
        raise fault
    starts, lengths = [rows], [1 + (np.int64(2) << sizes)]
    for size in range(_CLASSES):
        free = _free_rows(pool, int(counters[kernels.FREE + size]), top, fault)
        starts.append(np.array(free, np.int64))
        lengths.append(np.full(len(free), 1 + (2 << size), np.int64))
    start, length = np.concatenate(starts), np.concatenate(lengths)
    order = np.argsort(start, kind="stable")
    start, end = start[order], (start + length)[order]
    if (end[:-1] > start[1:]).any() or (len(end) and end[-1] > top):
        raise fault
    cells = np.repeat(rows + 1, used) + counted(used)
    if len(cells) and pool[cells].max() >= outputs:
        raise ModelError(f"{path}: expected outputs below {outputs:,}, found {int(pool[cells].max()):,}")


def _free_rows(pool: NDArray[np.uint16], offset: int, top: int, fault: ModelError) -> list[int]:
    """Return the offsets of a list of free rows; a freed row keeps the next one in its first two cells."""
    found: list[int] = []
    while offset:
        if not 0 < offset < top - 2 or len(found) > top:
            raise fault
        found.append(offset)
        offset = int(pool[offset + 1]) | int(pool[offset + 2]) << 16
    return found


def counted(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0, 1, … anew for each length."""
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
