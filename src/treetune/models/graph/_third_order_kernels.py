"""Kernels of the third-order search: heads with their own head, and adjacent dependents (Koo & Collins 2010, model 1).

A factor is a word d, its head h, the head g of that, and the sibling s next to d towards h. Its score is that of the
arc, of the siblings, and of the grandparent. What is known of a head depends on its own head, so every span belongs
to an arc g -> h. Only allowed arcs have spans: they are numbered, sorted by dependent and head, and the dependents of
a head are known by their *rank* among those that are allowed. Three planes of cells, `arcs` rows of `size` each:

    COMPLETE [g -> h, e]    the half of h that ends at e, on the side of e (0 if e is h)
    PARTIAL  [g -> h, rank] the arc h -> d to the dependent of that rank, and what is inside of it
    PAIR     [h -> d, rank] what is between d and the sibling of that rank, two halves

A cell's position is the name of a vertex of the hypergraph; the goal follows the last one. Time is O(n) for each
pair of an allowed arc and a dependent that is allowed to its head.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import fast_part, inner, lean_part, part
from treetune.models.graph._sibling_kernels import Siblings, score_row, sibling_score

COMPLETE, PARTIAL, PAIR = 0, 1, 2
ARC_PLANES = 3
NO_VERTEX = -1


class ArcLists(NamedTuple):
    """The allowed arcs of a sentence.

    Arcs first[d]..first[d + 1] lead to d, from `heads`, to `targets`. At begin[h]..begin[h + 1] are the
    `dependents` of h and the numbers of the arcs to them (`arcs`), of which `left[h]` are left of h; `ranks` gives
    the rank of an arc. `reach` counts the dependents on each side that have been met, the rows are scratch.
    """

    first: NDArray[np.int32]
    heads: NDArray[np.int32]
    targets: NDArray[np.int32]
    begin: NDArray[np.int32]
    dependents: NDArray[np.int32]
    arcs: NDArray[np.int32]
    ranks: NDArray[np.int32]
    left: NDArray[np.int32]
    reach: NDArray[np.int32]
    rows: NDArray[np.float64]


class Grandparents(NamedTuple):
    """What a third-order search needs besides: arcs, and scores of grandparents left and right of the head."""

    arcs: ArcLists
    left: Siblings
    right: Siblings


@lean_part
def list_arcs(scores, arcs):  # type: ignore[no-untyped-def]
    """Number the allowed arcs."""
    size = scores.shape[0]
    count, listed = 0, 0
    for token in range(size):
        arcs.first[token] = count
        arcs.begin[token] = listed
        arcs.left[token] = 0
        arcs.reach[0, token] = 0
        arcs.reach[1, token] = 0
        for other in range(size):
            if token > 0 and other != token and scores[other, token] > -np.inf:
                arcs.heads[count] = other
                arcs.targets[count] = token
                count += 1
            if other > 0 and other != token and scores[token, other] > -np.inf:
                arcs.dependents[listed] = other
                arcs.left[token] += other < token
                listed += 1
    arcs.first[size] = count
    arcs.begin[size] = listed
    # Arcs are sorted by dependent, so those from one head come in the order of their ranks.
    for arc in range(count):
        head = arcs.heads[arc]
        rank = arcs.reach[0, head]
        arcs.ranks[arc] = rank
        arcs.arcs[arcs.begin[head] + rank] = arc
        arcs.reach[0, head] += 1
    for token in range(size):
        arcs.reach[0, token] = 0


@inner
def third_goal(arcs, size):  # type: ignore[no-untyped-def]
    """Return the vertex of whole trees, which is also the number of the others."""
    return ARC_PLANES * np.int64(arcs.first[size]) * size


@fast_part
def _best_split(complete, left, right, low, high):  # type: ignore[no-untyped-def]
    """Return the best score of two halves that meet after one of the words [low, high); NaN-free, for vectors."""
    best = -np.inf
    for m in range(low, high):
        value = complete[left, m] + complete[right, m + 1]
        if value > best:
            best = value
    return best


@fast_part
def _best_rank(partial, arc, row, low, high):  # type: ignore[no-untyped-def]
    """Return the largest sum of two numbers at the same one of the ranks [low, high); NaN-free, for vectors."""
    best = -np.inf
    for rank in range(low, high):
        value = partial[arc, rank] + row[rank]
        if value > best:
            best = value
    return best


@part
def _plane(cells, plane, arcs, size):  # type: ignore[no-untyped-def]
    """Return the cells of all arcs in a plane."""
    count = np.int64(arcs.first[size])
    return cells[plane * count * size : (plane + 1) * count * size].reshape(count, size)


@inner
def _ranks_between(arcs, head, end):  # type: ignore[no-untyped-def]
    """Return the range of the ranks of a head's dependents from it to `end`."""
    begin = arcs.begin[head]
    low = high = np.int64(arcs.left[head])
    if end > head:
        while begin + high < arcs.begin[head + 1] and arcs.dependents[begin + high] <= end:
            high += 1
    else:
        while low > 0 and arcs.dependents[begin + low - 1] >= end:
            low -= 1
    return low, high


@inner
def _grandparents_outside(arcs, head, end):  # type: ignore[no-untyped-def]
    """Return the numbers of a head's own arcs that come from the left of a half, and the first from the right of it."""
    low, high = min(head, end), max(head, end)
    middle = np.int64(arcs.first[head])
    while middle < arcs.first[head + 1] and arcs.heads[middle] < low:
        middle += 1
    right = middle
    while right < arcs.first[head + 1] and arcs.heads[right] < high:
        right += 1
    return middle, right


@part
def _fill_dependent(scores, siblings, third, complete, partial, pairs, head, rank, low, high):  # type: ignore[no-untyped-def]
    """Fill the cells of the dependent of a rank, with siblings of the ranks [low, high); return if scores are good."""
    arcs = third.arcs
    begin = np.int64(arcs.begin[head])
    arc, dependent = np.int64(arcs.arcs[begin + rank]), np.int64(arcs.dependents[begin + rank])
    row, inside, grand = arcs.rows[0], arcs.rows[1], arcs.rows[2]
    none = score_row(siblings, head, dependent, arcs.dependents[begin + low : begin + high], high - low, row)
    if not none < np.inf:
        return False
    score = scores[head, dependent]
    for other in range(low, high):
        sibling, near = np.int64(arcs.dependents[begin + other]), np.int64(arcs.arcs[begin + other])
        if dependent > head:
            best = _best_split(complete, near, arc, sibling, dependent)
        else:
            best = _best_split(complete, arc, near, dependent, sibling)
        pairs[arc, other] = best
        inside[other] = best + row[sibling] + score
    alone = complete[arc, head + 1 if dependent > head else head - 1] + none + score
    first, last = np.int64(arcs.first[head]), np.int64(arcs.first[head + 1])
    middle, right = _grandparents_outside(arcs, head, dependent)
    if middle > first:
        none = score_row(third.left, head, dependent, arcs.heads[first:middle], middle - first, grand)
        if none != none:
            return False
    if last > right:
        none = score_row(third.right, head, dependent, arcs.heads[right:last], last - right, grand)
        if none != none:
            return False
    for own in range(first, last):
        if own < middle or own >= right:
            best = max(alone, _best_rank(partial, own, inside, low, high))
            partial[own, rank] = best + grand[arcs.heads[own]]
    return True


@part
def _fill_half(third, complete, partial, head, end, low, high):  # type: ignore[no-untyped-def]
    """Fill the halves of a head that end at `end`, whose dependents have the ranks [low, high)."""
    arcs = third.arcs
    begin = np.int64(arcs.begin[head])
    below = arcs.rows[0]
    for rank in range(low, high):
        below[rank] = complete[np.int64(arcs.arcs[begin + rank]), end]
    middle, right = _grandparents_outside(arcs, head, end)
    for own in range(np.int64(arcs.first[head]), np.int64(arcs.first[head + 1])):
        if own < middle or own >= right:
            complete[own, end] = _best_rank(partial, own, below, low, high)


@part
def fill_third(scores, siblings, third, cells):  # type: ignore[no-untyped-def]
    """Compute the best score of every span, short ones first; return whether the scores of factors are good."""
    size, arcs = scores.shape[0], third.arcs
    list_arcs(scores, arcs)
    complete, partial = _plane(cells, COMPLETE, arcs, size), _plane(cells, PARTIAL, arcs, size)
    pairs = _plane(cells, PAIR, arcs, size)
    for arc in range(complete.shape[0]):
        complete[arc, arcs.targets[arc]] = 0.0
    for r in range(1, size):
        if scores[0, r] > -np.inf and not sibling_score(siblings, 0, r, 0) < np.inf:
            return False
    for width in range(1, size - 1):
        for head in range(1, size):
            if arcs.first[head] == arcs.first[head + 1]:
                continue
            for side in range(2):
                end = head - width if side == 0 else head + width
                if end < 1 or end >= size:
                    continue
                low = high = np.int64(arcs.left[head])
                if side == 0:
                    low -= np.int64(arcs.reach[0, head])
                else:
                    high += np.int64(arcs.reach[1, head])
                if scores[head, end] > -np.inf:
                    rank = low - 1 if side == 0 else high
                    if not _fill_dependent(
                        scores, siblings, third, complete, partial, pairs, head, rank, low, high
                    ):  # fmt: skip
                        return False
                    arcs.reach[side, head] += 1
                    low, high = min(low, rank), max(high, rank + 1)
                _fill_half(third, complete, partial, head, end, low, high)
    return True


@inner
def _half_vertex(arc, end, arcs, size):  # type: ignore[no-untyped-def]
    """Return the vertex of a half; a single word is a leaf and has none."""
    if arcs.targets[arc] == end:
        return np.int64(NO_VERTEX)
    return np.int64(arc) * size + end


@inner
def third_tails(vertex, m, size, arcs):  # type: ignore[no-untyped-def]
    """Return the two tails (or `NO_VERTEX`) of the hyperedge of a vertex with split m, which is a word or a rank."""
    vertex, m, none = np.int64(vertex), np.int64(m), np.int64(NO_VERTEX)
    count = np.int64(arcs.first[size])
    if vertex == ARC_PLANES * count * size:
        arc = np.int64(arcs.first[m])  # the root is the first of its heads
        return _half_vertex(arc, 1, arcs, size), _half_vertex(arc, size - 1, arcs, size)
    plane = vertex // (count * size)
    arc = vertex // size - plane * count
    at = vertex % size
    if plane == COMPLETE:
        below = arcs.arcs[arcs.begin[arcs.targets[arc]] + m]
        return (count + arc) * size + m, _half_vertex(below, at, arcs, size)
    if plane == PARTIAL:
        head = np.int64(arcs.targets[arc])
        below = np.int64(arcs.arcs[arcs.begin[head] + at])
        if m == at:
            return _half_vertex(below, head + 1 if arcs.targets[below] > head else head - 1, arcs, size), none
        return (count + arc) * size + m, (2 * count + below) * size + m
    near = np.int64(arcs.arcs[arcs.begin[arcs.heads[arc]] + at])
    first, second = (near, arc) if arcs.targets[arc] > arcs.heads[arc] else (arc, near)
    return _half_vertex(first, m, arcs, size), _half_vertex(second, m + 1, arcs, size)


@inner
def grand_score(third, grand, head, dependent):  # type: ignore[no-untyped-def]
    """Return the score of a dependent with the head of its head."""
    if grand < head:
        return sibling_score(third.left, head, dependent, grand)
    return sibling_score(third.right, head, dependent, grand)


@inner
def third_weight(vertex, m, scores, siblings, third):  # type: ignore[no-untyped-def]
    """Return the weight of the hyperedge of a vertex with split m."""
    size, arcs = scores.shape[0], third.arcs
    count = np.int64(arcs.first[size])
    if vertex == ARC_PLANES * count * size:
        return scores[0, m] + sibling_score(siblings, 0, m, 0)
    plane = vertex // (count * size)
    if plane != PARTIAL:
        return 0.0
    arc = vertex // size - count
    head = np.int64(arcs.targets[arc])
    begin = np.int64(arcs.begin[head])
    dependent = np.int64(arcs.dependents[begin + vertex % size])
    sibling = head if m == vertex % size else np.int64(arcs.dependents[begin + m])
    weight = scores[head, dependent] + sibling_score(siblings, head, dependent, sibling)
    return weight + grand_score(third, np.int64(arcs.heads[arc]), head, dependent)


@part
def third_split_scores(vertex, scores, siblings, third, cells, row):  # type: ignore[no-untyped-def]
    """Write to `row[m]` the best score of a vertex built by split m; return the range of its splits."""
    size, arcs = scores.shape[0], third.arcs
    count = np.int64(arcs.first[size])
    complete, partial = _plane(cells, COMPLETE, arcs, size), _plane(cells, PARTIAL, arcs, size)
    vertex = np.int64(vertex)
    if vertex == ARC_PLANES * count * size:
        for m in range(1, size):
            row[m] = -np.inf
            if scores[0, m] > -np.inf:
                arc = np.int64(arcs.first[m])
                row[m] = complete[arc, 1] + complete[arc, size - 1] + scores[0, m] + sibling_score(siblings, 0, m, 0)
        return np.int64(1), np.int64(size)
    plane = vertex // (count * size)
    arc = vertex // size - plane * count
    at = vertex % size
    if plane == COMPLETE:
        head = np.int64(arcs.targets[arc])
        low, high = _ranks_between(arcs, head, at)
        for m in range(low, high):
            row[m] = partial[arc, m] + complete[np.int64(arcs.arcs[arcs.begin[head] + m]), at]
        return low, high
    if plane == PARTIAL:
        head = np.int64(arcs.targets[arc])
        below = np.int64(arcs.arcs[arcs.begin[head] + at])
        dependent = np.int64(arcs.targets[below])
        low, high = _ranks_between(arcs, head, dependent)
        pairs = _plane(cells, PAIR, arcs, size)
        for m in range(low, high):
            row[m] = third_weight(vertex, m, scores, siblings, third)
            if m == at:
                row[m] += complete[below, head + 1 if dependent > head else head - 1]
            else:
                row[m] += partial[arc, m] + pairs[below, m]
        return low, high
    head, dependent = np.int64(arcs.heads[arc]), np.int64(arcs.targets[arc])
    near = np.int64(arcs.arcs[arcs.begin[head] + at])
    sibling = np.int64(arcs.targets[near])
    first, second = (near, arc) if dependent > head else (arc, near)
    low, high = min(sibling, dependent), max(sibling, dependent)
    for m in range(low, high):
        row[m] = complete[first, m] + complete[second, m + 1]
    return low, high


@inner
def third_set_head(vertex, m, heads, size, arcs):  # type: ignore[no-untyped-def]
    """Write the arc that a vertex makes, if it makes one."""
    count = np.int64(arcs.first[size])
    vertex = np.int64(vertex)
    if vertex == ARC_PLANES * count * size:
        heads[m] = 0
    elif vertex // (count * size) == PARTIAL:
        head = arcs.targets[vertex // size - count]
        heads[arcs.dependents[arcs.begin[head] + vertex % size]] = head


@part
def grands_score(third, heads, size):  # type: ignore[no-untyped-def]
    """Sum the scores of the grandparents of a tree word by word."""
    total = 0.0
    for dependent in range(1, size):
        head = heads[dependent]
        if head > 0:
            total += grand_score(third, heads[head], head, dependent)
    return total
