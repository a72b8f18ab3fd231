"""Kernels of the scores of adjacent siblings, which are made when a search asks for them.

Those of grandparents are made in the same way: what is said of siblings holds for them, as the third word of a triple.
There are n^3 / 3 triples of a head, a dependent and its sibling; no search holds them all. What a group of templates
gives a triple is remembered under the classes of its three words (see `_arc_kernels`), and a search asks for one *row*
at a time: all siblings of one arc that are allowed. Arcs that are forbidden are never asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import inner, lean_part
from treetune.models.graph._arc_kernels import DEPENDENT, HEAD, LEFTWARD, NOT_KNOWN, THIRD, classify_all
from treetune.weights import _flat_kernels as flat

# Fields of `Siblings.layout`: where the scores of a group begin in the memo, how many there are for each direction
# (0: there is room for one row only, which is made anew each time), how many a row has, first and last template.
START, SIDE, WIDTH, FIRST, LAST = 0, 1, 2, 3, 4
LAYOUT = 5


class Siblings(NamedTuple):
    """The scores of the siblings of one sentence; `layout` has no rows where a model needs none.

    The score of a triple by group g is at the sum of three numbers in the memo: `classes[g, address, token]` of its
    head, its dependent and its sibling, the token `none` where there is none; rightward arcs are `SIDE` cells on.
    `rows` is room for the scores of two arcs, `thirds` for a list of siblings; `features`, `targets` and `indices` are
    a batch of look-ups.
    """

    layout: NDArray[np.int64]
    classes: NDArray[np.uint32]
    memo: NDArray[np.float32]
    rows: NDArray[np.float64]
    thirds: NDArray[np.int32]
    none: int
    parts: NDArray[np.uint64]
    extra: NDArray[np.uint64]
    features: NDArray[np.uint64]
    targets: NDArray[np.int64]
    indices: NDArray[np.int64]
    store: flat.FlatStore
    unit: float


@lean_part
def open_triples(templates, n, work, kind, layouts, all_classes, memo):  # type: ignore[no-untyped-def]
    """Classify the words for every group of a kind of triples, and forget all scores."""
    one = np.uint64(1)
    tokens = np.uint64(n) + np.uint64(2)
    groups = np.uint64(layouts.shape[0])
    cells = np.uint64(memo.shape[0])
    room, used, number = cells - groups * tokens, np.uint64(0), np.uint64(0)
    for group in range(np.uint64(templates.group_first.shape[0])):
        if templates.group_kind[group] != kind or number == groups:
            continue
        first, last = np.uint64(templates.group_first[group]), np.uint64(templates.group_last[group])
        heads, dependents, thirds = classify_all(templates, work, n, first, last)
        side = heads * dependents * thirds
        remembers = used + side + side <= room
        start = used if remembers else cells - (number + one) * tokens
        layout, classes = layouts[number], all_classes[number]
        layout[START], layout[SIDE] = np.int64(start), np.int64(side if remembers else 0)
        layout[WIDTH], layout[FIRST], layout[LAST] = np.int64(thirds), np.int64(first), np.int64(last)
        for token in range(tokens):
            classes[THIRD, token] = np.uint32(work.classes[THIRD, token])
        for token in range(tokens - one):
            head = np.uint64(work.classes[HEAD, token]) * dependents * thirds
            dependent = np.uint64(work.classes[DEPENDENT, token]) * thirds
            classes[HEAD, token] = np.uint32(start + head if remembers else start)
            classes[DEPENDENT, token] = np.uint32(dependent if remembers else 0)
        if remembers:
            used += side + side
        number += one
    for cell in range(used):
        memo[cell] = NOT_KNOWN


@inner
def base_of(siblings, group, head, dependent):  # type: ignore[no-untyped-def]
    """Return where the scores of an arc's siblings by one group are in the memo."""
    base = np.uint64(siblings.classes[group, HEAD, head]) + np.uint64(siblings.classes[group, DEPENDENT, dependent])
    return base + np.uint64(siblings.layout[group, SIDE]) if dependent > head else base


@inner
def forget_row(siblings, group):  # type: ignore[no-untyped-def]
    """Forget the scores of another arc by a group that has room for one."""
    if siblings.layout[group, SIDE] == 0:
        start = np.uint64(siblings.layout[group, START])
        for cell in range(start, start + np.uint64(siblings.layout[group, WIDTH])):
            siblings.memo[cell] = NOT_KNOWN


@inner
def ask_for_sibling(siblings, group, head, dependent, third, count):  # type: ignore[no-untyped-def]
    """Append the features of a sibling whose score is not known to a batch; return its new size."""
    cell = base_of(siblings, group, head, dependent) + np.uint64(siblings.classes[group, THIRD, third])
    if siblings.memo[cell] == siblings.memo[cell]:
        return count
    siblings.memo[cell] = np.float32(0)
    kind = np.uint64(LEFTWARD) + np.uint64(dependent > head)
    parts = siblings.parts
    for t in range(np.uint64(siblings.layout[group, FIRST]), np.uint64(siblings.layout[group, LAST])):
        siblings.features[count] = (
            parts[HEAD, head, t] + parts[DEPENDENT, dependent, t] + parts[THIRD, third, t] + siblings.extra[kind, t]
        )
        siblings.targets[count] = np.int64(cell)
        count += np.uint64(1)
    return count


@lean_part
def learn_siblings(siblings, head, dependent, thirds, many):  # type: ignore[no-untyped-def]
    """Make the scores of the first `many` of an arc's siblings `thirds`, and of none, known."""
    count, none = np.uint64(0), np.uint64(siblings.none)
    for group in range(np.uint64(siblings.layout.shape[0])):
        for i in range(many):
            count = ask_for_sibling(siblings, group, head, dependent, np.uint64(thirds[i]), count)
        count = ask_for_sibling(siblings, group, head, dependent, none, count)
    flat.sum_for_targets(
        siblings.store, siblings.features, siblings.targets, siblings.indices, count, siblings.memo
    )  # fmt: skip


@inner
def recall_row(siblings, head, dependent, thirds, many, row):  # type: ignore[no-untyped-def]
    """Write what is known of an arc's siblings `thirds` to `row`; return the score of none."""
    none = 0.0
    for group in range(np.uint64(siblings.layout.shape[0])):
        base, classes = base_of(siblings, group, head, dependent), siblings.classes[group, THIRD]
        if group == np.uint64(0):
            for i in range(many):
                third = np.uint64(thirds[i])
                row[third] = np.float64(siblings.memo[base + np.uint64(classes[third])])
        else:
            for i in range(many):
                third = np.uint64(thirds[i])
                row[third] += np.float64(siblings.memo[base + np.uint64(classes[third])])
        none += np.float64(siblings.memo[base + np.uint64(classes[np.uint64(siblings.none)])])
    return none


@inner
def is_bad(row, thirds, many, none):  # type: ignore[no-untyped-def]
    """Whether a score is not known, or neither finite nor -inf."""
    bad = np.uint64(not none < np.inf)
    for i in range(many):
        bad += np.uint64(not row[np.uint64(thirds[i])] < np.inf)
    return bad > np.uint64(0)


@lean_part
def score_row(siblings, head, dependent, thirds, many, row):  # type: ignore[no-untyped-def]
    """Write the scores of an arc's siblings, the first `many` of `thirds`, to their places in `row`.

    Return the score of none, NaN if one is bad. Siblings are allowed dependents of the head, between the two words.
    """
    head, dependent, many = np.uint64(head), np.uint64(dependent), np.uint64(many)
    for group in range(np.uint64(siblings.layout.shape[0])):
        forget_row(siblings, group)
    none = recall_row(siblings, head, dependent, thirds, many, row)
    if is_bad(row, thirds, many, none):
        learn_siblings(siblings, head, dependent, thirds, many)
        none = recall_row(siblings, head, dependent, thirds, many, row)
        if is_bad(row, thirds, many, none):
            return np.nan
    for i in range(many):
        row[np.uint64(thirds[i])] *= siblings.unit
    return none * siblings.unit


@inner
def recall_score(siblings, head, dependent, third):  # type: ignore[no-untyped-def]
    total = 0.0
    for group in range(np.uint64(siblings.layout.shape[0])):
        cell = base_of(siblings, group, head, dependent) + np.uint64(siblings.classes[group, THIRD, third])
        total += np.float64(siblings.memo[cell])
    return total


@lean_part
def sibling_score(siblings, head, dependent, third):  # type: ignore[no-untyped-def]
    """Return the score of a dependent whose next sibling towards the head is `third` (the head: there is none)."""
    head, dependent = np.uint64(head), np.uint64(dependent)
    third = np.uint64(siblings.none) if np.uint64(third) == head else np.uint64(third)
    for group in range(np.uint64(siblings.layout.shape[0])):
        if siblings.layout[group, SIDE] == 0:
            cell = base_of(siblings, group, head, dependent) + np.uint64(siblings.classes[group, THIRD, third])
            siblings.memo[cell] = NOT_KNOWN
    total = recall_score(siblings, head, dependent, third)
    if total != total:
        siblings.thirds[0] = np.int32(third)
        learn_siblings(siblings, head, dependent, siblings.thirds, np.uint64(1))
        total = recall_score(siblings, head, dependent, third)
    return total * siblings.unit
