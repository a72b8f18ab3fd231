"""Row kernels of the parameter store, shared by all models: find rows, add to them, copy them to a larger table.

Beside them the online updates of all learners: the pending `Update`, and k-best MIRA, from sparse feature differences
between gold and k candidates to the smallest change of the weights that scores gold above each by its loss.

A table entry packs the upper 36 bits of a feature's hash above a 28-bit reference to its row; two features
share a row with probability 2^-36 a pair. A reference with `DENSE_BIT` names a dense row; any other is the
offset of a short row: a header (number of cells, size class), then its cells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from treetune.features._kernels import entry, inner, lean_entry

REF_BITS = np.uint64(28)
REF_MASK = np.uint64((1 << 28) - 1)
DENSE_BIT = np.int64(1 << 27)
DENSE = np.uint64(1 << 27)
MAX_OFFSET = (1 << 27) - 1
MISSING = np.int64(-1)
# Of the key of a cell, those of its output.
OUTPUT_BITS = np.uint64(16)

MAX_CELLS = 16  # a short row with this many cells becomes dense when one more output comes
CLASS_SHIFT = 8  # header: low byte = cells in use, next byte = size class; a class c row has 2 << c cells

# How full a table may be. The hash spreads well, so that even then a search is short.
FULLEST = 0.8

# Positions in the counters of a live store.
POOL_TOP, DENSE_TOP, ROWS, STEPS, FREE = 0, 1, 2, 3, 4
COUNTERS = 8


class Store(NamedTuple):
    """The arrays that scoring reads; `weights` and `dense` are float32 (live) or int16 (frozen).

    Frozen `outputs` and `weights` are views of one array, see `cell_step`.
    """

    table: NDArray[np.uint64]
    outputs: NDArray[np.uint16]
    weights: NDArray[Any]
    dense: NDArray[Any]


class Averages(NamedTuple):
    """What a live store has besides: sums for averaging (`U` of ``W - U/T``), counters, once-seen bits."""

    weights: NDArray[np.float32]
    dense: NDArray[np.float32]
    counters: NDArray[np.int64]
    seen_once: NDArray[np.uint64]


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask the processor to bring ``array[index]`` (one axis) into its cache."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        address = builder.gep(view.data, [args[1]])
        pointer = builder.bitcast(address, ir.IntType(8).as_pointer())
        flag = ir.IntType(32)
        signature_ = ir.FunctionType(ir.VoidType(), [pointer.type, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], signature_)
        builder.call(function, [pointer, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, types.uintp), generate


prefetch: Any = intrinsic(_prefetch)

CACHE_LINE = 64


def _item_bytes(typing_context: Any, array: Any) -> Any:
    """Return the size of an array's items, which the compiler knows (`itemsize` is read from the array)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_constant(types.uint64, signature.args[0].dtype.bitwidth // 8)

    return types.uint64(array), generate


item_bytes: Any = intrinsic(_item_bytes)


@inner
def cell_step(store):  # type: ignore[no-untyped-def]
    """Return 1 for live weights and 2 for frozen ones, whose outputs and weights are one array in turns.

    Cell i has its output at `i * step` of `outputs` and its weight at `i * step + step - 1` of `weights`.
    """
    return np.uint64(2) if item_bytes(store.weights) == np.uint64(2) else np.uint64(1)


@inner
def prefetch_dense(dense, row):  # type: ignore[no-untyped-def]
    """Bring a whole dense row into the cache."""
    width = np.uint64(dense.shape[1])
    for cell in range(row * width, (row + np.uint64(1)) * width, np.uint64(CACHE_LINE) // item_bytes(dense)):
        prefetch(dense, cell)


@inner
def prefetch_short(store, row):  # type: ignore[no-untyped-def]
    """Bring the start of a short row into the cache."""
    step = cell_step(store)
    prefetch(store.outputs, row * step)
    if step == np.uint64(1):
        prefetch(store.weights, row)


@inner
def home_slot(table, feature):  # type: ignore[no-untyped-def]
    """Return the table position where the search for a feature starts.

    The upper bits decide, so that features in order of their keys go into the table from front to back.
    Positions are unsigned: numba would test every signed index for "from the end".
    """
    return ((feature >> np.uint64(32)) * np.uint64(table.shape[0])) >> np.uint64(32)


@inner
def find_row(table, feature):  # type: ignore[no-untyped-def]
    """Return the reference of a feature's row, or MISSING."""
    mask = np.uint64(table.shape[0] - 1)
    slot = home_slot(table, feature)
    while True:
        entry = table[slot]
        if entry == np.uint64(0):
            return MISSING
        if (entry ^ feature) >> REF_BITS == np.uint64(0):
            return np.int64(entry & REF_MASK)
        slot = (slot + np.uint64(1)) & mask


@inner
def prefetch_slots(features, table, first, last):  # type: ignore[no-untyped-def]
    """Bring the table positions of features [first, last) into the cache."""
    for i in range(first, last):
        prefetch(table, home_slot(table, features[i]))


@inner
def find_rows(features, rows, store, first, last):  # type: ignore[no-untyped-def]
    """Look up the rows of features [first, last), and bring them into the cache."""
    for i in range(first, last):
        row = find_row(store.table, features[i])
        rows[i] = row
        if row == MISSING:
            continue
        if row & DENSE_BIT:
            prefetch_dense(store.dense, np.uint64(row ^ DENSE_BIT))
        else:
            prefetch_short(store, np.uint64(row))


@inner
def split_rows(features, rows, store, first, last):  # type: ignore[no-untyped-def]
    """Look up the rows of features [first, last), and bring them into the cache.

    Dense rows go to the front of this range of `rows`, short ones to its end; returns where the dense ones end and
    where the short ones start. What kind of row a feature has is nothing that a processor can predict: no branch
    depends on it, neither here nor where rows are added. For frozen weights, whose sums have no order.
    """
    table = store.table
    mask, one, none = np.uint64(table.shape[0] - 1), np.uint64(1), np.uint64(0)
    dense_end, short_start = first, last
    for i in range(first, last):
        feature = features[i]
        slot = home_slot(table, feature)
        home, following = table[slot], table[(slot + one) & mask]
        is_home, is_following = (home ^ feature) >> REF_BITS == none, (following ^ feature) >> REF_BITS == none
        found = home if is_home else following
        is_found = is_home | is_following
        if not is_found and home != none and following != none:
            row = find_row(table, feature)
            is_found, found = row != MISSING, np.uint64(row)
        reference, is_dense = found & (DENSE - one), np.uint64(found & DENSE != none)
        rows[dense_end] = np.int64(reference)
        rows[short_start - one] = np.int64(reference)
        dense_end += np.uint64(is_found) & is_dense
        short_start -= np.uint64(is_found) & (is_dense ^ one)
    for i in range(first, dense_end):
        prefetch_dense(store.dense, np.uint64(rows[i]))
    for i in range(short_start, last):
        prefetch_short(store, np.uint64(rows[i]))
    return dense_end, short_start


@entry
def weight_of(store, feature, output):  # type: ignore[no-untyped-def]
    """Return one weight; 0 where there is none."""
    reference = find_row(store.table, feature)
    if reference != MISSING:
        if reference & DENSE_BIT:
            return store.dense[reference ^ DENSE_BIT, output]
        step = cell_step(store)
        first = np.uint64(reference + 1)
        for cell in range(first, first + np.uint64(store.outputs[np.uint64(reference) * step] & np.uint16(0xFF))):
            if store.outputs[cell * step] == output:
                return store.weights[cell * step + step - np.uint64(1)]
    return store.weights[0]


@inner
def insert_entry(table, feature, reference):  # type: ignore[no-untyped-def]
    """Put a feature that is not in the table into it; the caller keeps the table from filling up."""
    mask = np.uint64(table.shape[0] - 1)
    slot = home_slot(table, feature)
    while table[slot] != np.uint64(0):
        slot = (slot + np.uint64(1)) & mask
    table[slot] = (feature & ~REF_MASK) | np.uint64(reference)


@inner
def _replace_reference(table, feature, reference):  # type: ignore[no-untyped-def]
    mask = np.uint64(table.shape[0] - 1)
    slot = home_slot(table, feature)
    while (table[slot] ^ feature) >> REF_BITS != np.uint64(0):
        slot = (slot + np.uint64(1)) & mask
    table[slot] = (feature & ~REF_MASK) | np.uint64(reference)


@inner
def _allocate(store, averages, size_class):  # type: ignore[no-untyped-def]
    """Return the offset of an empty short row: a freed one if there is one, else from the top of the pool."""
    counters = averages.counters
    offset = counters[FREE + size_class]
    if offset != 0:
        # A freed row keeps the next free one in its first two cells.
        low, high = np.int64(store.outputs[offset + 1]), np.int64(store.outputs[offset + 2])
        counters[FREE + size_class] = low | (high << 16)
    else:
        offset = counters[POOL_TOP]
        counters[POOL_TOP] += 1 + (np.int64(2) << size_class)
    store.outputs[offset] = np.uint16(size_class << CLASS_SHIFT)
    return offset


@inner
def _release(store, averages, offset, size_class):  # type: ignore[no-untyped-def]
    following = averages.counters[FREE + size_class]
    store.outputs[offset + 1] = np.uint16(following & 0xFFFF)
    store.outputs[offset + 2] = np.uint16(following >> 16)
    averages.counters[FREE + size_class] = offset


@inner
def _enlarge(store, averages, feature, offset):  # type: ignore[no-untyped-def]
    """Move a full short row to the next size, or make it dense; return its new reference."""
    header = np.int64(store.outputs[offset])
    used, size_class = header & 0xFF, header >> CLASS_SHIFT
    if used == MAX_CELLS:
        row = averages.counters[DENSE_TOP]
        averages.counters[DENSE_TOP] += 1
        for cell in range(offset + 1, offset + 1 + used):
            store.dense[row, store.outputs[cell]] = store.weights[cell]
            averages.dense[row, store.outputs[cell]] = averages.weights[cell]
        reference = row | DENSE_BIT
    else:
        reference = _allocate(store, averages, size_class + 1)
        store.outputs[reference] = np.uint16(((size_class + 1) << CLASS_SHIFT) | used)
        for cell in range(1, 1 + used):
            store.outputs[reference + cell] = store.outputs[offset + cell]
            store.weights[reference + cell] = store.weights[offset + cell]
            averages.weights[reference + cell] = averages.weights[offset + cell]
    _release(store, averages, offset, size_class)
    _replace_reference(store.table, feature, reference)
    return reference


@inner
def _add_to_row(store, averages, feature, reference, output, delta):  # type: ignore[no-untyped-def]
    step = np.float32(averages.counters[STEPS])
    if not reference & DENSE_BIT:
        header = np.int64(store.outputs[reference])
        used, size_class = header & 0xFF, header >> CLASS_SHIFT
        for cell in range(reference + 1, reference + 1 + used):
            if store.outputs[cell] == output:
                store.weights[cell] += delta
                averages.weights[cell] += step * delta
                return
        if used == np.int64(2) << size_class:
            reference = _enlarge(store, averages, feature, reference)
        if not reference & DENSE_BIT:
            store.outputs[reference] += np.uint16(1)
            cell = reference + 1 + used
            store.outputs[cell] = np.uint16(output)
            store.weights[cell] = delta
            averages.weights[cell] = step * delta
            return
    row = reference ^ DENSE_BIT
    store.dense[row, output] += delta
    averages.dense[row, output] += step * delta


@inner
def room_is_short(store, averages, changes):  # type: ignore[no-untyped-def]
    """Say whether `changes` additions might not fit; the caller then enlarges the store first."""
    counters = averages.counters
    pool_short = counters[POOL_TOP] + changes * 3 + (MAX_CELLS + 1) * 64 > store.outputs.shape[0]
    dense_short = counters[DENSE_TOP] + 64 > store.dense.shape[0]
    table_short = counters[ROWS] + changes > FULLEST * store.table.shape[0]
    return pool_short or dense_short or table_short


@entry
def add_features(store, averages, features, outputs, deltas, count, start):  # type: ignore[no-untyped-def]
    """Add ``deltas[i]`` to the weight of (features[i], outputs[i]) for i in [start, count).

    A feature gets a row at its second update: most features are met once and never matter. Returns the
    number of additions done: fewer than `count` when the store must be enlarged before going on. New rows
    are made in a first pass (only when start is 0), so that all changes of one update count or none does.
    """
    seen_once = averages.seen_once
    bits = np.uint64(seen_once.shape[0] * 64 - 1)
    if start == 0:
        for i in range(count):
            prefetch(store.table, home_slot(store.table, features[i]))
        for i in range(count):
            feature = features[i]
            if find_row(store.table, feature) == MISSING:
                bit = (feature >> np.uint64(20)) & bits
                if seen_once[bit >> np.uint64(6)] >> (bit & np.uint64(63)) & np.uint64(1):
                    insert_entry(store.table, feature, _allocate(store, averages, 0))
                    averages.counters[ROWS] += 1
    for i in range(start, count):
        if averages.counters[DENSE_TOP] + 1 > store.dense.shape[0]:
            return i
        if averages.counters[POOL_TOP] + MAX_CELLS + 1 > store.outputs.shape[0]:
            return i
        feature = features[i]
        reference = find_row(store.table, feature)
        if reference == MISSING:
            bit = (feature >> np.uint64(20)) & bits
            seen_once[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
        else:
            _add_to_row(store, averages, feature, reference, outputs[i], np.float32(deltas[i]))
    return count


# Update rules.
PERCEPTRON, MIRA, FACTORED_MIRA = 0, 1, 2
# Positions in `Update.counters`.
COUNT, DONE = 0, 1


class Update(NamedTuple):
    """The changes of one online update, pending until there is room for them: (feature, output, delta)."""

    features: NDArray[np.uint64]
    outputs: NDArray[np.uint16]
    deltas: NDArray[np.float32]
    counters: NDArray[np.int64]


@lean_entry
def finish_update(store, averages, update):  # type: ignore[no-untyped-def]
    """Add the pending changes; return whether there was room for all of them."""
    update.counters[DONE] = add_features(
        store, averages, update.features, update.outputs, update.deltas, update.counters[COUNT],
        update.counters[DONE],
    )  # fmt: skip
    return update.counters[DONE] == update.counters[COUNT]


@inner
def apply_update(store, averages, update, count):  # type: ignore[no-untyped-def]
    """Add the first `count` changes; return whether there was room for all of them."""
    update.counters[COUNT] = count
    update.counters[DONE] = 0
    return finish_update(store, averages, update)


@entry
def rehash(old_table, new_table):  # type: ignore[no-untyped-def]
    """Copy all entries of a table into a larger empty one."""
    for slot in range(old_table.shape[0]):
        entry = old_table[slot]
        if entry != np.uint64(0):
            insert_entry(new_table, entry, np.int64(entry & REF_MASK))


@entry
def copy_cells(store, averages, keys, weights, sums):  # type: ignore[no-untyped-def]
    """Copy the cells that are not zero, with their sums; a key is that of the row above the output. Return how many."""
    found = 0
    for slot in range(store.table.shape[0]):
        entry = store.table[slot]
        if entry == np.uint64(0):
            continue
        reference = np.int64(entry & REF_MASK)
        is_dense = reference & DENSE_BIT != 0
        row = reference ^ DENSE_BIT if is_dense else reference + 1
        for cell in range(store.dense.shape[1] if is_dense else np.int64(store.outputs[reference]) & 0xFF):
            weight = store.dense[row, cell] if is_dense else store.weights[row + cell]
            added = averages.dense[row, cell] if is_dense else averages.weights[row + cell]
            if weight != 0 or added != 0:
                output = np.uint64(cell) if is_dense else np.uint64(store.outputs[row + cell])
                keys[found] = entry >> REF_BITS << OUTPUT_BITS | output
                weights[found], sums[found] = weight, added
                found += 1
    return found


@entry
def add_cells(keys, weights, totals, more_keys, more_weights, more_totals):  # type: ignore[no-untyped-def]
    """Return two lists of cells, by ascending keys, as one; those that are in both are added up."""
    room = len(keys) + len(more_keys)
    all_keys, all_weights, all_totals = np.empty(room, np.uint64), np.empty(room), np.empty(room)
    one = other = found = 0
    while one < len(keys) or other < len(more_keys):
        is_one = other == len(more_keys) or (one < len(keys) and keys[one] <= more_keys[other])
        is_other = one == len(keys) or (other < len(more_keys) and more_keys[other] <= keys[one])
        all_keys[found] = keys[one] if is_one else more_keys[other]
        all_weights[found] = all_totals[found] = 0.0
        if is_one:
            all_weights[found] += weights[one]
            all_totals[found] += totals[one]
            one += 1
        if is_other:
            all_weights[found] += more_weights[other]
            all_totals[found] += more_totals[other]
            other += 1
        found += 1
    return all_keys[:found], all_weights[:found], all_totals[:found]


@entry
def count_kept(store, averages, steps, scale, floor):  # type: ignore[no-untyped-def]
    """Count the features and cells that survive freezing; see `freeze_rows`."""
    features = 0
    cells = 0
    for slot in range(store.table.shape[0]):
        entry = store.table[slot]
        if entry != np.uint64(0):
            kept = _freeze_row(store, averages, np.int64(entry & REF_MASK), steps, scale, floor, None, None)
            features += kept > 0
            cells += kept
    return features, cells


@inner
def _freeze_row(store, averages, reference, steps, scale, floor, outputs, weights):  # type: ignore[no-untyped-def]
    """Write the averaged, scaled, rounded weights of a row that reach the floor; return how many."""
    kept = 0
    if reference & DENSE_BIT:
        row = reference ^ DENSE_BIT
        for output in range(store.dense.shape[1]):
            value = np.rint((store.dense[row, output] - averages.dense[row, output] / steps) * scale)
            if abs(value) >= floor:
                if outputs is not None:
                    outputs[kept] = output
                    weights[kept] = np.int16(value)
                kept += 1
    else:
        used = np.int64(store.outputs[reference]) & 0xFF
        for cell in range(reference + 1, reference + 1 + used):
            value = np.rint((store.weights[cell] - averages.weights[cell] / steps) * scale)
            if abs(value) >= floor:
                if outputs is not None:
                    outputs[kept] = store.outputs[cell]
                    weights[kept] = np.int16(value)
                kept += 1
    return kept


@entry
def largest_average(store, averages, steps):  # type: ignore[no-untyped-def]
    """Return the largest absolute averaged weight."""
    largest = 0.0
    counters = averages.counters
    for row in range(counters[DENSE_TOP]):
        for output in range(store.dense.shape[1]):
            largest = max(largest, abs(store.dense[row, output] - averages.dense[row, output] / steps))
    for slot in range(store.table.shape[0]):
        entry = store.table[slot]
        reference = np.int64(entry & REF_MASK)
        if entry != np.uint64(0) and not reference & DENSE_BIT:
            for cell in range(reference + 1, reference + 1 + (np.int64(store.outputs[reference]) & 0xFF)):
                largest = max(largest, abs(store.weights[cell] - averages.weights[cell] / steps))
    return largest


@entry
def freeze_rows(store, averages, steps, scale, floor, keys, counts, outputs, weights):  # type: ignore[no-untyped-def]
    """Fill flat lists: per kept feature its key (36 bits) and number of cells; per cell output and weight."""
    feature = 0
    cell = 0
    for slot in range(store.table.shape[0]):
        entry = store.table[slot]
        if entry != np.uint64(0):
            reference = np.int64(entry & REF_MASK)
            kept = _freeze_row(store, averages, reference, steps, scale, floor, outputs[cell:], weights[cell:])
            if kept > 0:
                keys[feature] = entry >> REF_BITS
                counts[feature] = kept
                feature += 1
                cell += kept


@entry
def build_rows(keys, counts, cell_outputs, cell_weights, max_cells, line, store):  # type: ignore[no-untyped-def]
    """Build table, short rows and dense rows of a frozen store from flat lists; arrays come zeroed.

    A short row of up to `line` cells, its header counted, lies in one line of the processor's cache.
    """
    offset = np.int64(1)
    dense = np.int64(0)
    cell = np.int64(0)
    for feature in range(keys.shape[0]):
        count = np.int64(counts[feature])
        if count > max_cells:
            for i in range(cell, cell + count):
                store.dense[dense, cell_outputs[i]] = cell_weights[i]
            reference = dense | DENSE_BIT
            dense += 1
        else:
            if offset % line + 1 + count > line >= 1 + count:
                offset += line - offset % line
            store.outputs[2 * offset] = np.uint16(count)
            for i in range(count):
                store.outputs[2 * (offset + 1 + i)] = cell_outputs[cell + i]
                store.weights[2 * (offset + 1 + i) + 1] = cell_weights[cell + i]
            reference = offset
            offset += 1 + count
        insert_entry(store.table, np.uint64(keys[feature]) << REF_BITS, reference)
        cell += count


class Margins(NamedTuple):
    """Differences between gold and up to k candidates, as sparse vectors over (feature, output) pairs.

    `keys`, `features`, `outputs` and `counts` belong to the slots of one hash table (open addressing, a power
    of two; a key of 0 marks an empty slot). `counts[slot, candidate]` is gold minus candidate. `used` lists
    the slots in order of first use and `counters[0]` is their number. `wanted[i]` is what the lead of gold
    is short of: ``loss_i - (score(gold) - score(candidate_i))``.
    """

    keys: NDArray[np.uint64]
    features: NDArray[np.uint64]
    outputs: NDArray[np.uint16]
    counts: NDArray[np.float32]
    used: NDArray[np.int64]
    counters: NDArray[np.int64]
    gram: NDArray[np.float64]
    wanted: NDArray[np.float64]
    steps: NDArray[np.float64]


# Sums of float32 weights are off by up to about this; a margin that is short by less counts as reached.
ROUNDING = 1e-5

# Hildreth's algorithm ends when no step has moved by more than this part of the largest, or after so many sweeps.
STEP_TOLERANCE = 1e-7
MOST_SWEEPS = 200

# An odd number that spreads the outputs of one feature over the whole table.
SPREAD = np.uint64(0x9E3779B97F4A7C15)


@inner
def clear_margins(margins):  # type: ignore[no-untyped-def]
    """Forget all differences; touches only the slots in use."""
    for index in range(np.uint64(margins.counters[0])):
        slot = np.uint64(margins.used[index])
        margins.keys[slot] = np.uint64(0)
        for candidate in range(np.uint64(margins.counts.shape[1])):
            margins.counts[slot, candidate] = np.float32(0)
    margins.counters[0] = 0


@inner
def pair_slot(margins, feature, output):  # type: ignore[no-untyped-def]
    """Return the slot of a (feature, output) pair, a new one if need be; the caller guarantees room."""
    keys = margins.keys
    key = np.uint64(feature) + np.uint64(output) * SPREAD
    key = key if key != np.uint64(0) else np.uint64(1)
    mask = np.uint64(keys.shape[0] - 1)
    slot = home_slot(keys, key)
    while keys[slot] != key:
        if keys[slot] == np.uint64(0):
            keys[slot] = key
            margins.features[slot] = np.uint64(feature)
            margins.outputs[slot] = np.uint16(output)
            margins.used[np.uint64(margins.counters[0])] = np.int64(slot)
            margins.counters[0] += 1
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@inner
def add_difference(margins, candidate, feature, output, amount):  # type: ignore[no-untyped-def]
    """Add to the count of a (feature, output) pair in the difference to one candidate."""
    margins.counts[pair_slot(margins, feature, output), np.uint64(candidate)] += np.float32(amount)


@inner
def difference_of(margins, candidate, feature, output):  # type: ignore[no-untyped-def]
    """Return the count of a (feature, output) pair in the difference to one candidate; 0 if it has none."""
    keys = margins.keys
    key = np.uint64(feature) + np.uint64(output) * SPREAD
    key = key if key != np.uint64(0) else np.uint64(1)
    mask = np.uint64(keys.shape[0] - 1)
    slot = home_slot(keys, key)
    while keys[slot] != np.uint64(0):
        if keys[slot] == key:
            return np.float64(margins.counts[slot, np.uint64(candidate)])
        slot = (slot + np.uint64(1)) & mask
    return 0.0


@inner
def fill_gram(margins, candidates):  # type: ignore[no-untyped-def]
    """Fill the products of all pairs of differences; exact while counts are whole numbers."""
    gram, counts = margins.gram, margins.counts
    many = np.uint64(candidates)
    for i in range(many):
        for j in range(many):
            gram[i, j] = 0.0
    for index in range(np.uint64(margins.counters[0])):
        slot = np.uint64(margins.used[index])
        for i in range(many):
            count = np.float64(counts[slot, i])
            if count != 0.0:
                for j in range(i + np.uint64(1)):
                    gram[i, j] += count * np.float64(counts[slot, j])
    for i in range(many):
        for j in range(i):
            gram[j, i] = gram[i, j]


@inner
def solve_margins(gram, wanted, candidates, clip, steps):  # type: ignore[no-untyped-def]
    """Fill `steps`: the step along each difference so that every margin is reached (Hildreth's algorithm, 1957).

    They maximise the dual of "the smallest change whose product with difference i is at least wanted[i]", each between
    0 and `clip` (MIRA's C), by coordinate ascent. One candidate gets the passive-aggressive step. A candidate with
    the features of gold has no step.
    """
    many = np.uint64(candidates)
    for i in range(many):
        steps[i] = 0.0
    for _ in range(MOST_SWEEPS):
        largest_change = 0.0
        largest_step = 0.0
        for i in range(many):
            if gram[i, i] <= 0.0:
                continue
            missing = wanted[i]
            for j in range(many):
                missing -= gram[i, j] * steps[j]
            step = min(max(steps[i] + missing / gram[i, i], 0.0), clip)
            largest_change = max(largest_change, abs(step - steps[i]))
            largest_step = max(largest_step, step)
            steps[i] = step
        if largest_change <= STEP_TOLERANCE * largest_step:
            return


@inner
def combine_margins(margins, candidates, features, outputs, deltas):  # type: ignore[no-untyped-def]
    """Write the change of weights that the steps ask for, pair by pair; return how many pairs change."""
    many = np.uint64(candidates)
    written = np.uint64(0)
    for index in range(np.uint64(margins.counters[0])):
        slot = np.uint64(margins.used[index])
        total = 0.0
        for i in range(many):
            total += margins.steps[i] * np.float64(margins.counts[slot, i])
        delta = np.float32(total)
        if delta != np.float32(0):
            features[written] = margins.features[slot]
            outputs[written] = margins.outputs[slot]
            deltas[written] = delta
            written += np.uint64(1)
    return np.int64(written)


@inner
def solve_update(margins, candidates, rule, clip, update):  # type: ignore[no-untyped-def]
    """Write the perceptron or k-best MIRA update into `update`; return the number of its changes.

    The perceptron has one candidate and a step of 1.
    """
    if rule == PERCEPTRON:
        margins.steps[0] = 1.0
    else:
        fill_gram(margins, candidates)
        solve_margins(margins.gram, margins.wanted, candidates, clip, margins.steps)
    return combine_margins(margins, candidates, update.features, update.outputs, update.deltas)
