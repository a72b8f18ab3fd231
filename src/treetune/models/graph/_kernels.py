"""Kernels of the graph parsers: projective charts and their k-best lists, spanning trees, rearrangement.

Every search takes `scores[h, d]`, the score of the arc from h to d (0 is the root, -inf forbids the arc), and
some take `siblings`, of which `sibling_score(siblings, h, d, s)` is added when s is the dependent of h next to d on
d's side of h, between the two (s = h: there is none). Every tree has exactly one dependent of the root. A search
writes heads and scores, best first, and returns how many trees it wrote: 0 if there is none, `BAD_SCORE` if a score
that it would read is neither finite nor -inf.

**Charts.** (Eisner 1996; siblings as in McDonald & Pereira 2006.) Four square planes of cells. A cell of the
first three is a vertex of the hypergraph and its position is the vertex's name:

    RIGHT [i, j], i < j    complete span i..j, head i         RIGHT [d, h], h < d    arc h -> d and what is
    LEFT  [i, j], i < j    complete span i..j, head j         LEFT  [h, d], d < h    inside of it
    JOIN  [i, j], i < j    right half of i beside left half of j, no arc yet; JOIN [j, i] is a mirror
    ARC   [i, j], i < j    a copy of LEFT [j, i], so that the loop over j runs along a row

The root is no part of the chart: the goal joins LEFT [1, r] and RIGHT [r, n] over its one dependent r.

**Spanning trees.** (Tarjan 1977, in the dense O(n^2) form.) Arcs of the root are taken only where no other
arc is left, which is maximisation of (-number of root arcs, score) in lexicographic order: one root, exactly,
without a penalty that would swallow digits of the scores.

Small kernels are inlined by force: their working memory is a tuple of arrays, dear to pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import entry, fast_part, inner, part
from treetune.models.graph._sibling_kernels import score_row, sibling_score
from treetune.models.graph._third_order_kernels import (
    fill_third,
    grands_score,
    third_goal,
    third_set_head,
    third_split_scores,
    third_tails,
    third_weight,
)

BAD_SCORE = -1
RIGHT, LEFT, JOIN, ARC = 0, 1, 2, 3
PLANES = 4
VERTEX_PLANES = 3
NO_VERTEX = -1

UNSEEN, ON_PATH, DONE, MERGED = 0, 1, 2, 3
# Reduced scores are sums of many: two closer than this part of the largest score count as equal.
ROUNDING = 1e-11


class Chart(NamedTuple):
    """Working memory of a projective search; the last three are of siblings (see `fill_chart`)."""

    cells: NDArray[np.float64]
    row: NDArray[np.float64]
    stack: NDArray[np.int32]
    rightward: NDArray[np.int32]
    leftward: NDArray[np.int32]
    counts: NDArray[np.int64]


class Lists(NamedTuple):
    """Working memory of projective k-best lists. A slot is a vertex that has been asked for its derivations.

    `slots` gives the slot of a vertex; `about` the vertex of a slot and its numbers of derivations; of the 3k
    entries of a slot the first k are found, sorted, the others wait in a heap.
    """

    slots: NDArray[np.int32]
    about: NDArray[np.int32]
    entry_score: NDArray[np.float64]
    entry: NDArray[np.int32]
    stack: NDArray[np.int32]


VERTEX, FOUND, WAITING, USED = 0, 1, 2, 3  # fields of `Lists.about`; USED (number of slots) in its first row


class Contraction(NamedTuple):
    """Working memory of a spanning tree search.

    Three matrices [d, h]; then what is known of slots, of words, and of nodes of the forest of cycles.
    """

    allowed: NDArray[np.float64]
    weights: NDArray[np.float64]
    arcs: NDArray[np.int32]
    state: NDArray[np.int32]
    path: NDArray[np.int32]
    node: NDArray[np.int32]
    entry: NDArray[np.int32]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    following: NDArray[np.int32]
    holder: NDArray[np.int32]
    offset: NDArray[np.float64]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    up: NDArray[np.int32]
    enter: NDArray[np.int32]
    enter_weight: NDArray[np.float64]


class Partition(NamedTuple):
    """Working memory of k-best spanning trees: subsets of all trees, and the decisions that make them."""

    bound: NDArray[np.float64]
    tree: NDArray[np.int32]
    decision: NDArray[np.int32]
    arc: NDArray[np.int32]
    decision_parent: NDArray[np.int32]
    decision_arc: NDArray[np.int32]
    decision_required: NDArray[np.bool_]


@part
def scores_are_good(scores):  # type: ignore[no-untyped-def]
    """Whether every score that belongs to an arc is finite or -inf."""
    size = scores.shape[0]
    bad = 0
    for h in range(size):
        for d in range(1, h):
            bad += not scores[h, d] < np.inf
        for d in range(h + 1, size):
            bad += not scores[h, d] < np.inf
    return bad == 0


@part
def arcs_score(scores, heads):  # type: ignore[no-untyped-def]
    """Sum the scores of the arcs of one tree word by word."""
    total = 0.0
    for d in range(1, scores.shape[0]):
        total += scores[heads[d], d]
    return total


@part
def tree_score(scores, siblings, third, heads, nearest):  # type: ignore[no-untyped-def]
    """Sum the scores of one tree word by word; `nearest` has room for one number a token."""
    size = scores.shape[0]
    total = arcs_score(scores, heads)
    if third is not None:
        total += grands_score(third, heads, size)
    if siblings.layout.shape[0] == 0:
        return total
    for direction in (1, -1):
        for h in range(size):
            nearest[h] = h
        for step in range(1, size):
            d = step if direction == 1 else size - step
            h = heads[d]
            if (d > h) == (direction == 1):
                total += sibling_score(siblings, h, d, nearest[h])
                nearest[h] = d
    return total


@part
def sort_trees(heads, out, count):  # type: ignore[no-untyped-def]
    """Sort trees by score, best first; equal ones stay in order. They arrive sorted up to rounding."""
    for end in range(1, count):
        index = end
        while index > 0 and out[index] > out[index - 1]:
            for d in range(heads.shape[1]):
                heads[index, d], heads[index - 1, d] = heads[index - 1, d], heads[index, d]
            out[index], out[index - 1] = out[index - 1], out[index]
            index -= 1


# Projective charts.


@part
def _plane(chart, plane, size):  # type: ignore[no-untyped-def]
    return chart.cells[plane * size * size : (plane + 1) * size * size].reshape(size, size)


@fast_part
def _best_sum(first, second, third):  # type: ignore[no-untyped-def]
    """Return the largest sum of three numbers at the same index; NaN-free, so that the loop is vectorised."""
    best = -np.inf
    for k in range(first.shape[0]):
        value = first[k] + second[k] + third[k]
        if value > best:
            best = value
    return best


@inner
def _best_sibling(first, second, row, thirds, many, low, high):  # type: ignore[no-untyped-def]
    """Return the largest sum of three numbers at the same one of the first `many` places `thirds` in (low, high)."""
    if many == high - low - 1:
        inside = slice(low + 1, high)
        return _best_sum(first[inside], second[inside], row[inside])
    best = -np.inf
    for i in range(np.uint64(many)):
        k = np.uint64(thirds[i])
        value = first[k] + second[k] + row[k]
        if value > best:
            best = value
    return best


@part
def fill_chart(scores, siblings, chart):  # type: ignore[no-untyped-def]
    """Compute the best score of every span; O(n^3), with siblings too. Return whether the siblings' scores are good.

    For each start i from the right, a span i..m that is final is pushed into all longer ones at once, but for arcs
    that are forbidden. The allowed dependents of i to its right so far are in `chart.rightward`, those of m to its left
    in row m of `chart.leftward`: only these can be siblings.
    """
    size = scores.shape[0]
    right, left = _plane(chart, RIGHT, size), _plane(chart, LEFT, size)
    join, arc = _plane(chart, JOIN, size), _plane(chart, ARC, size)
    second_order = siblings.layout.shape[0] > 0
    own, row = chart.row, siblings.rows[0]
    rightward, leftward = chart.rightward, chart.leftward
    counts = chart.counts
    if second_order:
        for r in range(1, size):
            counts[r] = 0
            if scores[0, r] > -np.inf and not sibling_score(siblings, 0, r, 0) < np.inf:
                return False
    for i in range(size - 1, 0, -1):
        right[i, i] = 0.0
        left[i, i] = 0.0
        dependents = 0
        for j in range(i + 1, size):
            join[i, j] = left[i + 1, j]
            right[i, j] = -np.inf
            left[i, j] = -np.inf
        for m in range(i + 1, size):
            to_right = join[i, m]
            to_left = join[i, m]
            if second_order:
                join[m, i] = join[i, m]
                if scores[i, m] > -np.inf:
                    none = score_row(siblings, i, m, rightward, dependents, row)
                    if not none < np.inf:
                        return False
                    inside = _best_sibling(own, join[m], row, rightward, dependents, i, m)
                    to_right = max(left[i + 1, m] + none, inside)
                    rightward[dependents] = m
                    dependents += 1
                if scores[m, i] > -np.inf:
                    others = leftward[m * size : (m + 1) * size]
                    none = score_row(siblings, m, i, others, counts[m], row)
                    if not none < np.inf:
                        return False
                    inside = _best_sibling(join[i], left[m], row, others, counts[m], i, m)
                    to_left = max(right[i, m - 1] + none, inside)
                    others[counts[m]] = i
                    counts[m] += 1
            to_right += scores[i, m]
            to_left += scores[m, i]
            own[m] = to_right
            right[m, i] = to_right
            left[m, i] = to_left
            arc[i, m] = to_left
            whole_right = max(right[i, m], to_right)
            whole_left = max(left[i, m], to_left)
            right[i, m] = whole_right
            left[i, m] = whole_left
            if whole_right > -np.inf:
                for j in range(m + 1, size):
                    join[i, j] = max(join[i, j], whole_right + left[m + 1, j])
            if to_right > -np.inf:
                for j in range(m + 1, size):
                    right[i, j] = max(right[i, j], to_right + right[m, j])
            if whole_left > -np.inf:
                for j in range(m + 1, size):
                    left[i, j] = max(left[i, j], whole_left + arc[m, j])
    return True


@inner
def allowed_between(scores, head, dependent, thirds):  # type: ignore[no-untyped-def]
    """Write the allowed dependents of a head between it and another one; return how many there are."""
    count = 0
    for third in range(min(head, dependent) + 1, max(head, dependent)):
        if scores[head, third] > -np.inf:
            thirds[count] = third
            count += 1
    return count


@inner
def _complete(plane, i, j, size):  # type: ignore[no-untyped-def]
    """Return the vertex of a complete span; a single word is a leaf and has none."""
    if i == j:
        return NO_VERTEX
    return (plane * size + i) * size + j


@part
def _fill(scores, siblings, third, chart):  # type: ignore[no-untyped-def]
    """Compute the best score of every span; return whether all scores are good."""
    if not scores_are_good(scores):
        return False
    if third is not None:
        return fill_third(scores, siblings, third, chart.cells)
    return fill_chart(scores, siblings, chart)


@inner
def _goal(size, third):  # type: ignore[no-untyped-def]
    """Return the vertex of whole trees."""
    if third is not None:
        return third_goal(third.arcs, size)
    return VERTEX_PLANES * size * size


@inner
def _tails(vertex, m, size, second_order, third):  # type: ignore[no-untyped-def]
    """Return the two tails (or `NO_VERTEX`) of the hyperedge of a vertex with split m."""
    if third is not None:
        return third_tails(vertex, m, size, third.arcs)
    if vertex == VERTEX_PLANES * size * size:
        return _complete(LEFT, 1, m, size), _complete(RIGHT, m, size - 1, size)
    plane = vertex // (size * size)
    a = vertex // size - plane * size
    b = vertex % size
    if a < b:
        if plane == JOIN:
            return _complete(RIGHT, a, m, size), _complete(LEFT, m + 1, b, size)
        if plane == RIGHT:
            return m * size + a, _complete(RIGHT, m, b, size)
        return _complete(LEFT, a, m, size), (size + b) * size + m
    if not second_order:
        return (2 * size + b) * size + a, NO_VERTEX
    if plane == RIGHT:  # the arc from b to a
        if m == b:
            return _complete(LEFT, b + 1, a, size), NO_VERTEX
        return m * size + b, (2 * size + m) * size + a
    if m == a:  # the arc from a to b
        return _complete(RIGHT, b, a - 1, size), NO_VERTEX
    return (2 * size + b) * size + m, (size + a) * size + m


@inner
def _weight(vertex, m, scores, siblings, third):  # type: ignore[no-untyped-def]
    """Return the weight of the hyperedge of a vertex with split m."""
    if third is not None:
        return third_weight(vertex, m, scores, siblings, third)
    size = scores.shape[0]
    plane = vertex // (size * size)
    a = vertex // size - plane * size
    b = vertex % size
    head, dependent, sibling = (b, a, m) if plane == RIGHT else (a, b, m)
    if vertex == VERTEX_PLANES * size * size:
        head, dependent, sibling = 0, m, 0
    elif a < b:
        return 0.0
    weight = scores[head, dependent]
    if siblings.layout.shape[0] > 0:
        weight += sibling_score(siblings, head, dependent, sibling)
    return weight


@inner
def _split_scores(vertex, scores, siblings, third, chart):  # type: ignore[no-untyped-def]
    """Write to `chart.row[m]` the best score of a vertex built by split m; return the range of its splits.

    The same sums as in `_tails` and `_weight`, but one loop for each kind of vertex.
    """
    if third is not None:
        return third_split_scores(vertex, scores, siblings, third, chart.cells, chart.row)
    size = scores.shape[0]
    left, join = size * size, 2 * size * size
    cells, row = chart.cells, chart.row
    second_order = siblings.layout.shape[0] > 0
    if vertex == VERTEX_PLANES * size * size:
        for m in range(1, size):
            row[m] = cells[left + size + m] + cells[m * size + size - 1] + scores[0, m]
            if second_order:
                row[m] += sibling_score(siblings, 0, m, 0)
        return 1, size
    plane = vertex // (size * size)
    a = vertex // size - plane * size
    b = vertex % size
    if a < b and plane == JOIN:
        for m in range(a, b):
            row[m] = cells[a * size + m] + cells[left + (m + 1) * size + b]
        return a, b
    if a < b and plane == RIGHT:
        for m in range(a + 1, b + 1):
            row[m] = cells[m * size + a] + cells[m * size + b]
        return a + 1, b + 1
    if a < b:
        for m in range(a, b):
            row[m] = cells[left + a * size + m] + cells[left + b * size + m]
        return a, b
    if not second_order:
        row[b] = cells[join + b * size + a] + (scores[b, a] if plane == RIGHT else scores[a, b])
        return b, b + 1
    head, dependent = (b, a) if plane == RIGHT else (a, b)
    score, thirds, listed = scores[head, dependent], siblings.rows[1], siblings.thirds
    for m in range(b + 1, a):
        thirds[m] = -np.inf
    many = allowed_between(scores, head, dependent, listed)
    none = score_row(siblings, head, dependent, listed, many, thirds)
    if plane == RIGHT:
        row[b] = cells[left + (b + 1) * size + a] + (score + none)
        for m in range(b + 1, a):
            row[m] = cells[m * size + b] + cells[join + a * size + m] + (score + thirds[m])
        return b, a
    row[a] = cells[b * size + a - 1] + (score + none)
    for m in range(b + 1, a):
        row[m] = cells[join + b * size + m] + cells[left + a * size + m] + (score + thirds[m])
    return b + 1, a + 1


@inner
def _set_head(vertex, m, heads, size, third):  # type: ignore[no-untyped-def]
    """Write the arc that a vertex makes, if it makes one."""
    if third is not None:
        third_set_head(vertex, m, heads, size, third.arcs)
        return
    if vertex == VERTEX_PLANES * size * size:
        heads[m] = 0
        return
    plane = vertex // (size * size)
    a = vertex // size - plane * size
    b = vertex % size
    if a > b:
        if plane == RIGHT:
            heads[a] = b
        else:
            heads[b] = a


@entry
def best_projective(scores, siblings, third, chart, heads, out):  # type: ignore[no-untyped-def]
    """Write the best projective tree to `heads[0]` and its score to `out[0]`."""
    if not _fill(scores, siblings, third, chart):
        return BAD_SCORE
    size = scores.shape[0]
    stack = chart.stack
    stack[0] = _goal(size, third)
    height = 1
    heads[0, 0] = -1
    while height > 0:
        height -= 1
        vertex = stack[height]
        first_m, last_m = _split_scores(vertex, scores, siblings, third, chart)
        best, best_m = -np.inf, -1
        for m in range(first_m, last_m):
            if chart.row[m] > best:
                best, best_m = chart.row[m], m
        if best_m < 0:
            return 0
        _set_head(vertex, best_m, heads[0], size, third)
        first, second = _tails(vertex, best_m, size, siblings.layout.shape[0] > 0, third)
        if first != NO_VERTEX:
            stack[height] = first
            height += 1
        if second != NO_VERTEX:
            stack[height] = second
            height += 1
    out[0] = tree_score(scores, siblings, third, heads[0], stack)
    return 1


# Lazy k-best lists (Huang & Chiang 2005, algorithm 3). A derivation is (split, rank of the first tail, rank
# of the second tail). Ranks (a, b) are proposed by (a, b - 1), and (a, 0) by (a - 1, 0): each pair once,
# after one that is no worse.


@inner
def _put(lists, index, score, m, first_rank, second_rank):  # type: ignore[no-untyped-def]
    lists.entry_score[index] = score
    lists.entry[index, 0] = m
    lists.entry[index, 1] = first_rank
    lists.entry[index, 2] = second_rank


@inner
def _move(lists, target, source):  # type: ignore[no-untyped-def]
    lists.entry_score[target] = lists.entry_score[source]
    for field in range(3):
        lists.entry[target, field] = lists.entry[source, field]


@inner
def _propose(lists, slot, k, score, m, first_rank, second_rank):  # type: ignore[no-untyped-def]
    """Push a derivation onto the heap of a slot."""
    base = slot * 3 * k + k
    index = lists.about[slot, WAITING]
    lists.about[slot, WAITING] += 1
    while index > 0 and score > lists.entry_score[base + (index - 1) // 2]:
        _move(lists, base + index, base + (index - 1) // 2)
        index = (index - 1) // 2
    _put(lists, base + index, score, m, first_rank, second_rank)


@inner
def _accept(lists, slot, k):  # type: ignore[no-untyped-def]
    """Move the best derivation from the heap of a slot to its list; return False if there is none."""
    count = lists.about[slot, WAITING] - 1
    if count < 0:
        return False
    base = slot * 3 * k + k
    _move(lists, base - k + lists.about[slot, FOUND], base)
    lists.about[slot, FOUND] += 1
    lists.about[slot, WAITING] = count
    score = lists.entry_score[base + count]
    hole = 0
    while 2 * hole + 1 < count:
        child = 2 * hole + 1
        if child + 1 < count and lists.entry_score[base + child + 1] > lists.entry_score[base + child]:
            child += 1
        if score >= lists.entry_score[base + child]:
            break
        _move(lists, base + hole, base + child)
        hole = child
    _move(lists, base + hole, base + count)
    return True


@inner
def _visit(vertex, scores, siblings, third, chart, lists, k):  # type: ignore[no-untyped-def]
    """Return the slot of a vertex; on the first visit, propose its k best splits and accept the best one."""
    if lists.slots[vertex] >= 0:
        return lists.slots[vertex]
    slot = lists.about[0, USED]
    lists.about[0, USED] += 1
    lists.slots[vertex] = slot
    lists.about[slot, VERTEX] = vertex
    lists.about[slot, FOUND] = 0
    base = slot * 3 * k + k
    count = 0
    first_m, last_m = _split_scores(vertex, scores, siblings, third, chart)
    least = -np.inf
    for m in range(first_m, last_m):
        score = chart.row[m]
        if score <= least:
            continue
        index = count if count < k else k - 1
        count = min(count + 1, k)
        # A list in descending order is a heap.
        while index > 0 and score > lists.entry_score[base + index - 1]:
            _move(lists, base + index, base + index - 1)
            index -= 1
        _put(lists, base + index, score, m, 0, 0)
        if count == k:
            least = lists.entry_score[base + k - 1]
    lists.about[slot, WAITING] = count
    _accept(lists, slot, k)
    return slot


@inner
def _has(lists, vertex, rank):  # type: ignore[no-untyped-def]
    """Whether the derivation of that rank has been found."""
    return vertex != NO_VERTEX and lists.slots[vertex] >= 0 and lists.about[lists.slots[vertex], FOUND] > rank


@inner
def _ranked_score(vertex, rank, cells, lists, k):  # type: ignore[no-untyped-def]
    """Return the score of the derivation of that rank, which has been found if it is not the first."""
    if vertex == NO_VERTEX:
        return 0.0
    if rank == 0:
        return cells[vertex]
    return lists.entry_score[lists.slots[vertex] * 3 * k + rank]


@inner
def _propose_neighbours(slot, last, scores, siblings, third, cells, lists, k):  # type: ignore[no-untyped-def]
    """Propose the derivations that follow the `last` one found, as far as its tails have them."""
    m, first_rank, second_rank = lists.entry[last, 0], lists.entry[last, 1], lists.entry[last, 2]
    vertex = lists.about[slot, VERTEX]
    first, second = _tails(vertex, m, scores.shape[0], siblings.layout.shape[0] > 0, third)
    weight = _weight(vertex, m, scores, siblings, third)
    if second_rank == 0 and _has(lists, first, first_rank + 1):
        value = _ranked_score(first, first_rank + 1, cells, lists, k)
        value += _ranked_score(second, 0, cells, lists, k)
        _propose(lists, slot, k, weight + value, m, first_rank + 1, 0)
    if _has(lists, second, second_rank + 1):
        value = _ranked_score(first, first_rank, cells, lists, k)
        value += _ranked_score(second, second_rank + 1, cells, lists, k)
        _propose(lists, slot, k, weight + value, m, first_rank, second_rank + 1)


@part
def _extend(slot, wanted, scores, siblings, third, chart, lists, k):  # type: ignore[no-untyped-def]
    """Find derivations of a slot until it has `wanted` or all.

    A frame of the stack is (slot, wanted, stage): how many tails of the last derivation found have been asked
    for their next one.
    """
    stack = lists.stack
    stack[0], stack[1], stack[2] = slot, wanted, 0
    height = 1
    while height > 0:
        frame = 3 * (height - 1)
        current, stage = stack[frame], stack[frame + 2]
        if lists.about[current, FOUND] >= stack[frame + 1]:
            height -= 1
            continue
        last = current * 3 * k + lists.about[current, FOUND] - 1
        if stage == 2:
            _propose_neighbours(current, last, scores, siblings, third, chart.cells, lists, k)
            stack[frame + 2] = 0
            if not _accept(lists, current, k):
                height -= 1
            continue
        stack[frame + 2] = stage + 1
        vertex, m = lists.about[current, VERTEX], lists.entry[last, 0]
        first, second = _tails(vertex, m, scores.shape[0], siblings.layout.shape[0] > 0, third)
        tail, rank = (first, lists.entry[last, 1]) if stage == 0 else (second, lists.entry[last, 2])
        if tail != NO_VERTEX and rank + 2 <= k and (stage == 1 or lists.entry[last, 2] == 0):
            asked = _visit(tail, scores, siblings, third, chart, lists, k)
            if lists.about[asked, FOUND] < rank + 2:
                stack[frame + 3], stack[frame + 4], stack[frame + 5] = asked, rank + 2, 0
                height += 1


@part
def _read_derivation(goal, rank, scores, siblings, third, chart, lists, k, heads):  # type: ignore[no-untyped-def]
    """Write the heads of a derivation of the goal."""
    stack = chart.stack
    size = scores.shape[0]
    heads[0] = -1
    stack[0], stack[1] = goal, rank
    height = 1
    while height > 0:
        height -= 1
        vertex = stack[2 * height]
        slot = _visit(vertex, scores, siblings, third, chart, lists, k)
        index = slot * 3 * k + stack[2 * height + 1]
        m = lists.entry[index, 0]
        _set_head(vertex, m, heads, size, third)
        first, second = _tails(vertex, m, size, siblings.layout.shape[0] > 0, third)
        if first != NO_VERTEX:
            stack[2 * height], stack[2 * height + 1] = first, lists.entry[index, 1]
            height += 1
        if second != NO_VERTEX:
            stack[2 * height], stack[2 * height + 1] = second, lists.entry[index, 2]
            height += 1


@entry
def k_best_projective(scores, siblings, third, chart, lists, heads, out):  # type: ignore[no-untyped-def]
    """Write the best projective trees, as many as fit into `out`; all are different."""
    if not _fill(scores, siblings, third, chart):
        return BAD_SCORE
    size, k = scores.shape[0], out.shape[0]
    goal = _goal(size, third)
    lists.slots[: goal + 1] = -1
    lists.about[0, USED] = 0
    top = _visit(goal, scores, siblings, third, chart, lists, k)
    count = 0
    while count < k and lists.about[top, FOUND] > count:
        _read_derivation(goal, count, scores, siblings, third, chart, lists, k, heads[count])
        out[count] = tree_score(scores, siblings, third, heads[count], chart.stack)
        count += 1
        if count < k:
            _extend(top, count + 1, scores, siblings, third, chart, lists, k)
    sort_trees(heads, out, count)
    return count


# Spanning trees. A *slot* is a word or a contracted cycle, known by one of its words; a *node* of the forest
# is a word or a cycle, cycles numbered from `size` in the order they were made. An arc is the number
# d * size + h.


@part
def _load(scores, contraction):  # type: ignore[no-untyped-def]
    """Copy the scores to `allowed[d, h]`; return the largest finite size of a score."""
    size = scores.shape[0]
    allowed = contraction.allowed[: size * size].reshape(size, size)
    largest = 0.0
    for d in range(1, size):
        for h in range(size):
            value = scores[h, d] if h != d else -np.inf
            allowed[d, h] = value
            if value > -np.inf:
                largest = max(largest, abs(value))
    return largest


@inner
def _start(contraction, size):  # type: ignore[no-untyped-def]
    """Make every word a slot of its own."""
    for index in range(size, size * size):
        contraction.weights[index] = contraction.allowed[index]
        contraction.arcs[index] = index
    for v in range(size):
        contraction.state[v] = UNSEEN
        contraction.node[v] = v
        contraction.entry[v] = v
        contraction.first[v] = v
        contraction.last[v] = v
        contraction.following[v] = -1
        contraction.holder[v] = v
        contraction.offset[v] = 0.0
    for node in range(2 * size):
        contraction.up[node] = 0


@inner
def _choose(contraction, size, slot, known, tolerance):  # type: ignore[no-untyped-def]
    """Return the source slot, weight and number of the best arc into a slot; source -1 if there is none.

    An arc of the `known` best tree wins against equals, so that the search retraces that very tree.
    """
    row = contraction.weights[slot * size : (slot + 1) * size]
    source, weight = 0, -np.inf
    for h in range(1, size):
        if row[h] > weight:
            source, weight = h, row[h]
    if source == 0:
        weight = row[0]
        if weight == -np.inf:
            return -1, weight, 0
    arc = contraction.arcs[slot * size + source]
    if known.shape[0] > 0:
        d = contraction.entry[slot]
        h = known[d]
        value = contraction.allowed[d * size + h] - contraction.offset[d]
        if (h == 0) == (source == 0) and value >= weight - tolerance:
            source, weight, arc = contraction.holder[h], value, d * size + h
    return source, weight, arc


@inner
def _cheapest_swap(contraction, size, slot, source, weight, arc):  # type: ignore[no-untyped-def]
    """Return the least loss of entering a slot by another arc than `arc`, which is in the known tree.

    The other arc may not start below the slot in the tree, nor be a second arc of the root.
    """
    loss = np.inf
    top = arc // size
    if source != 0:
        for h in range(1, size):
            value = contraction.weights[slot * size + h]
            if h != source and value > -np.inf and weight - value < loss:
                begin = contraction.begin[contraction.arcs[slot * size + h] % size]
                if begin < contraction.begin[top] or begin > contraction.end[top]:
                    loss = weight - value
    # Between two slots only the best arc is kept in the matrix: look at all that run beside `arc`.
    d = contraction.first[slot]
    while d >= 0:
        h = contraction.first[source]
        while h >= 0:
            if d * size + h != arc:
                loss = min(loss, weight - (contraction.allowed[d * size + h] - contraction.offset[d]))
            h = contraction.following[h]
        d = contraction.following[d]
    return loss


@inner
def _contract(contraction, size, begin, length, node, known):  # type: ignore[no-untyped-def]
    """Merge the slots at `path[begin:length]`, which form a cycle, into the first of them."""
    weights, arcs = contraction.weights, contraction.arcs
    slot = contraction.path[begin]
    row = slot * size
    entry = contraction.entry[slot]
    for index in range(begin, length):
        member = contraction.path[index]
        inside = contraction.node[member]
        gain = contraction.enter_weight[inside]
        contraction.up[inside] = node
        if known.shape[0] > 0:
            arc = contraction.enter[inside]
            if known[arc // size] != arc % size:
                entry = contraction.entry[member]
            word = contraction.first[member]
            while word >= 0:
                contraction.offset[word] += gain
                contraction.holder[word] = slot
                word = contraction.following[word]
        if member == slot:
            for h in range(size):
                weights[row + h] -= gain
            continue
        contraction.state[member] = MERGED
        for h in range(size):
            value = weights[member * size + h] - gain
            if value > weights[row + h]:
                weights[row + h] = value
                arcs[row + h] = arcs[member * size + h]
        contraction.following[contraction.last[slot]] = contraction.first[member]
        contraction.last[slot] = contraction.last[member]
    for d in range(1, size):
        if d == slot or contraction.state[d] == MERGED or contraction.state[d] == DONE:
            continue
        target = d * size + slot
        for index in range(begin + 1, length):
            other = d * size + contraction.path[index]
            if weights[other] > weights[target]:
                weights[target] = weights[other]
                arcs[target] = arcs[other]
            weights[other] = -np.inf
    for index in range(begin, length):
        weights[row + contraction.path[index]] = -np.inf
    contraction.entry[slot] = entry
    contraction.node[slot] = node


@part
def _contract_all(contraction, size, known, tolerance):  # type: ignore[no-untyped-def]
    """Choose an arc into every slot, contracting cycles; grow a path against the arcs until it ends.

    Returns the number of nodes (0: no tree) and, if a best tree is `known`, the arc of it that the second
    best tree lacks (-1: there is no second) and the loss (Camerini, Fratta & Maffioli 1980).
    """
    _start(contraction, size)
    state, path = contraction.state, contraction.path
    nodes = size
    swapped, least = -1, np.inf
    rooted = False
    for start in range(1, size):
        if state[start] != UNSEEN:
            continue
        path[0] = start
        state[start] = ON_PATH
        length = 1
        while length > 0:
            slot = path[length - 1]
            source, weight, arc = _choose(contraction, size, slot, known, tolerance)
            if source < 0 or (source == 0 and rooted):
                return 0, swapped, least
            contraction.enter[contraction.node[slot]] = arc
            contraction.enter_weight[contraction.node[slot]] = weight
            if known.shape[0] > 0 and known[arc // size] == arc % size:
                loss = _cheapest_swap(contraction, size, slot, source, weight, arc)
                if loss < least:
                    least, swapped = loss, arc
            if source == 0 or state[source] == DONE:
                rooted = True
                for index in range(length):
                    state[path[index]] = DONE
                length = 0
            elif state[source] == UNSEEN:
                path[length] = source
                state[source] = ON_PATH
                length += 1
            else:
                begin = length - 1
                while path[begin] != source:
                    begin -= 1
                _contract(contraction, size, begin, length, nodes, known)
                nodes += 1
                length = begin + 1
    return nodes, swapped, least


@part
def _find_tree(contraction, size, heads):  # type: ignore[no-untyped-def]
    """Write the best tree of the allowed arcs; return False if there is none."""
    nodes, _, _ = _contract_all(contraction, size, heads[:0], 0.0)
    if nodes == 0:
        return False
    for node in range(nodes - 1, size - 1, -1):
        # The arc that enters a cycle replaces the cycle's arc to the same word.
        arc = contraction.enter[node]
        inside = arc // size
        while contraction.up[inside] != node:
            inside = contraction.up[inside]
        contraction.enter[inside] = arc
    heads[0] = -1
    for d in range(1, size):
        heads[d] = contraction.enter[d] % size
    return True


@entry
def best_spanning(scores, contraction, heads, out):  # type: ignore[no-untyped-def]
    """Write the best tree to `heads[0]` and its score to `out[0]`."""
    if not scores_are_good(scores):
        return BAD_SCORE
    _load(scores, contraction)
    if not _find_tree(contraction, scores.shape[0], heads[0]):
        return 0
    out[0] = arcs_score(scores, heads[0])
    return 1


@part
def number_subtrees(heads, begin, end, first, following):  # type: ignore[no-untyped-def]
    """Number the tokens so that those below v are exactly begin[v]..end[v]; the last two arrays are scratch."""
    size = heads.shape[0]
    for v in range(size):
        first[v] = -1
        begin[v] = -1
    for d in range(size - 1, 0, -1):
        following[d] = first[heads[d]]
        first[heads[d]] = d
    v, number = 0, 0
    while v >= 0:
        if begin[v] < 0:
            begin[v] = number
            number += 1
        child = first[v]
        if child >= 0:
            first[v] = following[child]
            v = child
        else:
            end[v] = number - 1
            v = heads[v]


@part
def _restrict(contraction, size, partition, decision):  # type: ignore[no-untyped-def]
    """Forbid the arcs that a chain of decisions rules out."""
    allowed = contraction.allowed[: size * size].reshape(size, size)
    while decision >= 0:
        arc = partition.decision_arc[decision]
        d, h = arc // size, arc % size
        if partition.decision_required[decision]:
            value = allowed[d, h]
            for other in range(size):
                allowed[d, other] = -np.inf
            allowed[d, h] = value
        else:
            allowed[d, h] = -np.inf
        decision = partition.decision_parent[decision]


@part
def _file_subset(scores, contraction, partition, item, heads, out, tree, decision):  # type: ignore[no-untyped-def]
    """File at `item` the subset of trees left by `decision`; its best is `tree`, its second is sought."""
    size = scores.shape[0]
    largest = _load(scores, contraction)
    _restrict(contraction, size, partition, decision)
    number_subtrees(heads[tree], contraction.begin, contraction.end, contraction.first, contraction.following)
    _, arc, loss = _contract_all(contraction, size, heads[tree], ROUNDING * largest)
    partition.bound[item] = out[tree] - loss if arc >= 0 else -np.inf
    partition.tree[item] = tree
    partition.decision[item] = decision
    partition.arc[item] = arc


@part
def _decide(partition, number, parent, arc, required):  # type: ignore[no-untyped-def]
    partition.decision_parent[number] = parent
    partition.decision_arc[number] = arc
    partition.decision_required[number] = required
    return number


@entry
def k_best_spanning(scores, contraction, partition, heads, out):  # type: ignore[no-untyped-def]
    """Write the best trees, as many as fit into `out`; all are different; O(k n^2).

    All trees are kept as subsets, each with its best tree known and filed under the score of its second best.
    Taking a subset's second best tree splits it in two by an arc that the two trees differ in.
    """
    count = best_spanning(scores, contraction, heads, out)
    k, size = out.shape[0], scores.shape[0]
    if count <= 0 or k == 1:
        return count
    _file_subset(scores, contraction, partition, 0, heads, out, 0, -1)
    items = 1
    while count < k:
        item = np.argmax(partition.bound[:items])
        if partition.bound[item] == -np.inf:
            break
        tree, parent, arc = partition.tree[item], partition.decision[item], partition.arc[item]
        without = _decide(partition, 2 * count - 2, parent, arc, False)
        _load(scores, contraction)
        _restrict(contraction, size, partition, without)
        partition.bound[item] = -np.inf
        if not _find_tree(contraction, size, heads[count]):
            continue
        out[count] = arcs_score(scores, heads[count])
        count += 1
        if count < k:
            required = _decide(partition, 2 * count - 3, parent, arc, True)
            _file_subset(scores, contraction, partition, item, heads, out, tree, required)
            _file_subset(scores, contraction, partition, items, heads, out, count - 1, without)
            items += 1
    sort_trees(heads, out, count)
    return count


# Rearrangement (McDonald & Pereira 2006): climb from a tree by changing one head at a time.


@part
def _gains_of_leaving(scores, siblings, heads, side, gains):  # type: ignore[no-untyped-def]
    """Write for each word what the score gains when it leaves its head; `side` is scratch, two rows."""
    size = scores.shape[0]
    for direction in (1, -1):
        nearest, before = side[0], side[1]
        for h in range(size):
            nearest[h] = h
        for step in range(1, size):
            d = step if direction == 1 else size - step
            h = heads[d]
            if (d > h) != (direction == 1):
                continue
            s = nearest[h]
            score = sibling_score(siblings, h, d, s)
            gains[d] = -scores[h, d] - score
            if s != h:
                gains[s] += sibling_score(siblings, h, d, before[s]) - score
            before[d] = s
            nearest[h] = d


@part
def _rate_moves(scores, siblings, heads, h, contraction, beyond):  # type: ignore[no-untyped-def]
    """Write what every word would score as a dependent of h beside its siblings; `beyond` is scratch.

    `contraction.weights[h, d]` is with the next sibling towards h, `contraction.allowed[h, d]` what the next one on the
    other side gains.
    """
    size, row = scores.shape[0], siblings.rows[0]
    nearer, further = contraction.weights[h * size :], contraction.allowed[h * size :]
    for direction in (1, -1):
        stop = size if direction == 1 else 0
        after = -1
        for d in range(stop - direction, h, -direction):
            beyond[d] = after
            if heads[d] == h:
                after = d
        s, present = h, 0.0
        for d in range(h + direction, stop, direction):
            if d == h + direction or heads[d] == h:
                s = d if heads[d] == h else h
                if beyond[d] >= 0:
                    many = allowed_between(scores, h, beyond[d], siblings.thirds)
                    none = score_row(siblings, h, beyond[d], siblings.thirds, many, row)
                    present = none if s == h else row[s]
            if heads[d] != h and scores[h, d] > -np.inf:
                nearer[d] = sibling_score(siblings, h, d, s)
                further[d] = row[d] - present if beyond[d] >= 0 else 0.0


@part
def _best_move(scores, siblings, heads, contraction, gains, side):  # type: ignore[no-untyped-def]
    """Return the word and the new head whose change gains most (0: none); the root keeps its dependent."""
    size = scores.shape[0]
    number_subtrees(heads, contraction.begin, contraction.end, contraction.first, contraction.following)
    _gains_of_leaving(scores, siblings, heads, side, gains)
    best, best_d, best_h = 0.0, 0, 0
    for h in range(1, size):
        nearer, further = contraction.weights[h * size :], contraction.allowed[h * size :]
        for direction in (1, -1):
            for d in range(h + direction, size if direction == 1 else 0, direction):
                if heads[d] == h or heads[d] == 0 or scores[h, d] == -np.inf:
                    continue
                if contraction.begin[d] <= contraction.begin[h] <= contraction.end[d]:
                    continue
                gain = gains[d] + scores[h, d] + nearer[d] + further[d]
                if gain > best:
                    best, best_d, best_h = gain, d, h
    return best_d, best_h


@entry
def rearrange(scores, siblings, contraction, side, heads, out):  # type: ignore[no-untyped-def]
    """Improve the tree in `heads[0]` by the best change of one head as long as the score rises."""
    tree = heads[0]
    out[0] = tree_score(scores, siblings, None, tree, contraction.path)
    if out[0] == -np.inf:
        return 0
    for h in range(1, scores.shape[0]):
        _rate_moves(scores, siblings, tree, h, contraction, side[0])
    while True:
        d, h = _best_move(scores, siblings, tree, contraction, contraction.offset, side)
        if d == 0:
            return 1
        old = tree[d]
        tree[d] = h
        score = tree_score(scores, siblings, None, tree, contraction.path)
        if not score > out[0]:
            # The gain was a matter of rounding.
            tree[d] = old
            return 1
        out[0] = score
        _rate_moves(scores, siblings, tree, old, contraction, side[0])
        _rate_moves(scores, siblings, tree, h, contraction, side[0])
