"""Kernels of the graph parsers' scores: features of arcs, of words between, of siblings and of labels.

A feature is the sum of 64-bit numbers, one for each address its template looks at: `parts[address, token, template]`
is filled once a sentence, so that a feature of the arc from h to d is two look-ups and two additions, done for
all templates at once by vector instructions. What belongs to the arc itself (direction, distance, base tree) is a
third number, `extra[kind of arc, template]`, made once a model.

Templates stand in one list: those of arcs, those of labels, then groups of triples (a head, a dependent and a word
between them, the dependent's sibling, or the head's head). A triple's summed score is remembered within a sentence
under the *classes* of its three words: words whose parts are equal for a whole group are one class. Most groups
look at tags only, so that n^3 triples become a few hundred look-ups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import inner, lean_part, mix
from treetune.filters._kernels import FilterWork
from treetune.weights import _flat_kernels as flat
from treetune.weights._kernels import (
    DENSE_BIT,
    MISSING,
    cell_step,
    find_row,
    home_slot,
    prefetch,
    prefetch_dense,
    prefetch_short,
)

# Addresses a template can look at.
HEAD, DEPENDENT, THIRD, GRAND, FIRST_CHILD, LAST_CHILD = 0, 1, 2, 3, 4, 5
ADDRESSES = ("H", "D", "X", "G", "Dl", "Dr")

# Kinds of arcs: distance (signed, in buckets) times what the base tree says; then the directions of triples, those with
# a grandparent right of the head last.
DISTANCES = 15
BASE_RELATIONS = 3
KINDS = DISTANCES * BASE_RELATIONS
LEFTWARD, RIGHTWARD = KINDS, KINDS + 1
DIRECTIONS = 4

# Shifts that are no distances: to the nearest word on the left or right that is not transparent, and to the head
# that the base parser gave.
LEFT_MARK, RIGHT_MARK, BASE_HEAD = -100, 100, 200

BETWEEN, SIBLING, GRANDPARENT = 0, 1, 2
NOT_KNOWN = np.float32(np.nan)
NO_LABEL = -1
ARC_OUTPUT = np.uint16(0xFFFF)


class Templates(NamedTuple):
    """Templates as arrays.

    Template t has the atoms starts[t]..starts[t + 1]. `extra[kind, t]` holds its seed and what it makes of the
    kind of arc. Templates below `bounds[0]` are of arcs, below `bounds[1]` of labels. Of those of arcs, the ones from
    `alone[0]` on look at the head alone, those from `alone[1]` on at the dependent alone. Group g of triples is
    group_first[g]..group_last[g], of the kind group_kind[g]. `transparent` says which values of the column
    `coarse_column[0]` (coarse tags; -1 if there is none) a search for marks sees through.
    """

    starts: NDArray[np.int32]
    atom_address: NDArray[np.int32]
    atom_shift: NDArray[np.int32]
    atom_column: NDArray[np.int32]
    atom_seed: NDArray[np.uint64]
    extra: NDArray[np.uint64]
    bounds: NDArray[np.int64]
    alone: NDArray[np.int64]
    group_first: NDArray[np.int64]
    group_last: NDArray[np.int64]
    group_kind: NDArray[np.int64]
    coarse_column: NDArray[np.int64]
    transparent: NDArray[np.bool_]


class Workspace(NamedTuple):
    """Working memory for one sentence; the layout of siblings has no rows where a model needs none.

    `allowed` says which arcs may be considered (1 at head * size + dependent), `filtering` is for the filter that does.
    `words` is what a head (first half) and a dependent score by themselves, by token and kind of arc. `classes` and
    `members` say of the three words of a triple which class each token has, and one token of each class; `met`,
    `reach` and `running` are of these classes (see `add_between`). `batch_*` are look-ups that wait for others.
    `sibling_*` are parts of `Siblings`, `grand_*` of those of grandparents (a memo for each side).
    `family` is what the second stage looks at: nearest sibling, first and last child. `pair_*` and
    `gold_*` hold the features of one arc with their outputs, `steps` those of factored MIRA.
    """

    parts: NDArray[np.uint64]
    marks: NDArray[np.int32]
    features: NDArray[np.uint64]
    indices: NDArray[np.int64]
    words: NDArray[np.float64]
    scores: NDArray[np.float64]
    allowed: NDArray[np.uint8]
    filtering: FilterWork
    best_labels: NDArray[np.int32]
    label_gaps: NDArray[np.float64]
    sums: NDArray[np.float32]
    memo: NDArray[np.float32]
    classes: NDArray[np.int32]
    members: NDArray[np.int32]
    sibling_layout: NDArray[np.int64]
    sibling_classes: NDArray[np.uint32]
    sibling_rows: NDArray[np.float64]
    grand_layout: NDArray[np.int64]
    grand_classes: NDArray[np.uint32]
    grand_memo: NDArray[np.float32]
    thirds: NDArray[np.int32]
    seen: NDArray[np.int32]
    met: NDArray[np.int32]
    reach: NDArray[np.int32]
    running: NDArray[np.float64]
    batch_features: NDArray[np.uint64]
    batch_targets: NDArray[np.int64]
    batch_indices: NDArray[np.int64]
    family: NDArray[np.int32]
    heads: NDArray[np.int32]
    labels: NDArray[np.int32]
    out: NDArray[np.float64]
    gold_heads: NDArray[np.int32]
    gold_labels: NDArray[np.int32]
    pair_features: NDArray[np.uint64]
    pair_outputs: NDArray[np.uint16]
    gold_features: NDArray[np.uint64]
    gold_outputs: NDArray[np.uint16]
    steps: NDArray[np.float64]


@inner
def distance_bucket(head, dependent):  # type: ignore[no-untyped-def]
    """Return 0..14: the signed distance 1, 2, 3, 4, 5, 6 to 10, more; the middle is for arcs of the root."""
    if head == 0:
        return np.uint64(7)
    length = abs(np.int64(dependent) - np.int64(head))
    bucket = length if length <= 5 else 6 if length <= 10 else 7
    return np.uint64(7 + bucket) if dependent > head else np.uint64(7 - bucket)


@inner
def arc_kind(base_heads, head, dependent):  # type: ignore[no-untyped-def]
    """Return the kind of an arc: its distance, and whether the base tree has it, has its reverse, or neither."""
    relation = np.uint64(0)
    if base_heads.shape[0] > 0:
        if np.int64(base_heads[dependent]) == np.int64(head):
            relation = np.uint64(1)
        elif head > 0 and np.int64(base_heads[head]) == np.int64(dependent):
            relation = np.uint64(2)
    return distance_bucket(head, dependent) * np.uint64(BASE_RELATIONS) + relation


@inner
def find_marks(templates, columns, base, n, marks):  # type: ignore[no-untyped-def]
    """Write for every token the nearest ones to its left and right that are not transparent; n + 1 is none."""
    size = np.uint64(n + 1)
    column = templates.coarse_column[0]
    if column < 0:
        return
    for token in range(size + np.uint64(1)):
        marks[0, token] = np.int32(n + 1)
        marks[1, token] = np.int32(n + 1)
    last = np.int32(n + 1)
    for token in range(np.uint64(1), size):
        marks[0, token] = last
        if not templates.transparent[columns[np.uint64(column), np.uint64(base) + token]]:
            last = np.int32(token)
    last = np.int32(n + 1)
    for step in range(np.uint64(1), size):
        word = size - step
        marks[1, word] = last
        if not templates.transparent[columns[np.uint64(column), np.uint64(base) + word]]:
            last = np.int32(word)


@lean_part
def fill_parts(templates, columns, base, n, base_heads, work):  # type: ignore[no-untyped-def]
    """Compute the parts of all tokens; token n + 1 stands for "no word"."""
    zero, one = np.uint64(0), np.uint64(1)
    parts = work.parts
    size = np.int64(n) + 2
    find_marks(templates, columns, base, n, work.marks)
    for p in range(np.uint64(parts.shape[0])):
        for token in range(np.uint64(size)):
            for t in range(np.uint64(parts.shape[2])):
                parts[p, token, t] = zero
    for t in range(np.uint64(templates.starts.shape[0] - 1)):
        first, last = np.uint64(templates.starts[t]), np.uint64(templates.starts[t + one])
        for atom in range(first, last):
            address = np.uint64(templates.atom_address[atom])
            shift = np.int64(templates.atom_shift[atom])
            column = np.uint64(templates.atom_column[atom])
            seed = templates.atom_seed[atom]
            for token in range(np.uint64(size)):
                if shift == LEFT_MARK:
                    there = np.int64(work.marks[0, token])
                elif shift == RIGHT_MARK:
                    there = np.int64(work.marks[1, token])
                elif shift == BASE_HEAD:
                    there = np.int64(base_heads[token]) if np.int64(token) <= n else np.int64(-1)
                else:
                    there = np.int64(token) + shift
                value = np.uint64(0)
                if np.int64(token) <= n and 0 <= there <= n:
                    value = np.uint64(columns[column, np.uint64(base + there)])
                parts[address, token, t] += mix(value + seed)


@inner
def pair_features(templates, parts, head, dependent, kind, first, last, features):  # type: ignore[no-untyped-def]
    """Write the features of templates [first, last) of an arc to the front of `features`."""
    for i in range(last - first):
        t = first + i
        features[i] = parts[HEAD, head, t] + parts[DEPENDENT, dependent, t] + templates.extra[kind, t]


@inner
def triple_features(templates, parts, head, dependent, third, kind, first, last, features):  # type: ignore[no-untyped-def]
    """Write the features of templates [first, last) of a triple to the front of `features`."""
    for i in range(last - first):
        t = first + i
        features[i] = (
            parts[HEAD, head, t] + parts[DEPENDENT, dependent, t] + parts[THIRD, third, t] + templates.extra[kind, t]
        )


@inner
def ask_for_word(templates, parts, address, token, kind, first, last, target, work, count):  # type: ignore[no-untyped-def]
    """Append the features of templates [first, last), which look at one word, to a batch; return its new size."""
    for i in range(last - first):
        work.batch_features[count + i] = parts[address, token, first + i] + templates.extra[kind, first + i]
        work.batch_targets[count + i] = np.int64(target)
    return count + last - first


@lean_part
def score_words(templates, store, base_heads, n, head, work):  # type: ignore[no-untyped-def]
    """Make known what each word of the arcs of a head scores by itself in that kind of arc."""
    size, kinds = np.uint64(n + 1), np.uint64(KINDS)
    middle, split, last = np.uint64(templates.alone[0]), np.uint64(templates.alone[1]), np.uint64(templates.bounds[0])
    words = work.words
    count = np.uint64(0)
    for dependent in range(np.uint64(1), size):
        if work.allowed[head * size + dependent] == np.uint8(0):
            continue
        kind = arc_kind(base_heads, head, dependent)
        as_head, as_dependent = head * kinds + kind, (size + dependent) * kinds + kind
        if words[as_head] != words[as_head]:
            words[as_head] = 0.0
            count = ask_for_word(
                templates, work.parts, np.uint64(HEAD), head, kind, middle, split, as_head, work, count
            )  # fmt: skip
        if words[as_dependent] != words[as_dependent]:
            words[as_dependent] = 0.0
            count = ask_for_word(
                templates, work.parts, np.uint64(DEPENDENT), dependent, kind, split, last, as_dependent, work, count
            )  # fmt: skip
    flat.sum_for_targets(store, work.batch_features, work.batch_targets, work.batch_indices, count, words)


@lean_part
def score_arcs(templates, store, base_heads, n, work):  # type: ignore[no-untyped-def]
    """Write the scores of all allowed arcs by the templates of arcs alone; of others, -inf."""
    size, kinds = np.uint64(n + 1), np.uint64(KINDS)
    zero = np.uint64(0)
    last = np.uint64(templates.alone[0])
    for i in range(np.uint64(2) * size * kinds):
        work.words[i] = np.nan
    for head in range(size):
        score_words(templates, store, base_heads, n, head, work)
        for dependent in range(np.uint64(1), size):
            if work.allowed[head * size + dependent] == np.uint8(0):
                work.scores[head * size + dependent] = -np.inf
                continue
            kind = arc_kind(base_heads, head, dependent)
            pair_features(templates, work.parts, head, dependent, kind, zero, last, work.features)
            score = flat.sum_weights(store, work.features, work.indices, last)
            score += work.words[head * kinds + kind] + work.words[(size + dependent) * kinds + kind]
            work.scores[head * size + dependent] = score
        work.scores[head * size] = -np.inf


@inner
def classify(parts, address, count, first, last, work):  # type: ignore[no-untyped-def]
    """Give tokens 0..count - 1 the numbers of their classes at a address; return how many classes there are."""
    number = np.uint64(0)
    for token in range(count):
        chosen = np.uint64(number)
        for c in range(number):
            member = np.uint64(work.members[address, c])
            same = True
            for t in range(first, last):
                if parts[address, token, t] != parts[address, member, t]:
                    same = False
                    break
            if same:
                chosen = np.uint64(c)
                break
        if chosen == number:
            work.members[address, number] = np.int32(token)
            number += np.uint64(1)
        work.classes[address, token] = np.int32(chosen)
    return number


@inner
def classify_all(templates, work, n, first, last):  # type: ignore[no-untyped-def]
    """Classify heads, dependents and third words for one group; return the numbers of classes."""
    one = np.uint64(1)
    size = np.uint64(n) + one
    heads = classify(work.parts, np.uint64(HEAD), size, first, last, work)
    dependents = classify(work.parts, np.uint64(DEPENDENT), size, first, last, work)
    thirds = classify(work.parts, np.uint64(THIRD), size + one, first, last, work)
    return heads, dependents, thirds


@inner
def find_reach(n, head, direction, dependents, work):  # type: ignore[no-untyped-def]
    """Note the classes of a head's allowed dependents in a direction, and how many steps each class goes.

    Return how many classes there are (in `seen`), and the steps to the last dependent.
    """
    size, one = np.uint64(n + 1), np.uint64(1)
    for c in range(dependents):
        work.reach[c] = np.int32(0)
    count, furthest = np.uint64(0), np.uint64(0)
    steps = np.uint64(n) - head if direction == one else (head - one if head > np.uint64(0) else np.uint64(0))
    for step in range(one, steps + one):
        dependent = head + step if direction == one else head - step
        if work.allowed[head * size + dependent] != np.uint8(0):
            c = work.classes[DEPENDENT, dependent]
            if work.reach[c] == np.int32(0):
                work.seen[count] = c
                count += one
            work.reach[c] = np.int32(step)
            furthest = step  # type: ignore[assignment]
    return count, furthest


@inner
def ask_for_row(templates, work, head, third, step, kind, active, first, last, row, count):  # type: ignore[no-untyped-def]
    """Append the features of a head and a third word with the head's classes of dependents that go beyond it.

    Their sums are to go from `memo[row]` on, as far as they are not known. Return the new number of features.
    """
    for i in range(active):
        c = np.uint64(work.seen[i])
        if np.uint64(work.reach[c]) > step and work.memo[row + c] != work.memo[row + c]:
            work.memo[row + c] = np.float32(0)
            dependent = np.uint64(work.members[DEPENDENT, c])
            for t in range(first, last):
                work.batch_features[count] = (
                    work.parts[HEAD, head, t] + work.parts[DEPENDENT, dependent, t] + work.parts[THIRD, third, t]
                    + templates.extra[kind, t]
                )  # fmt: skip
                work.batch_targets[count] = np.int64(row + c)
                count += np.uint64(1)
    return count


@lean_part
def fill_rows(templates, store, work, head, kind, active, furthest, first, last, line, width):  # type: ignore[no-untyped-def]
    """Make the rows of a head and every class of words before its last dependent known, many at a time."""
    one = np.uint64(1)
    room = np.uint64(work.batch_features.shape[0]) - width * (last - first)
    count = np.uint64(0)
    # Nothing is beyond the last dependent.
    for step in range(one, furthest):
        third = head + step if kind == np.uint64(RIGHTWARD) else head - step
        third_class = np.uint64(work.classes[THIRD, third])
        if work.met[third_class] == np.int32(np.uint64(2) * head):
            continue
        work.met[third_class] = np.int32(np.uint64(2) * head)
        row = (line + third_class) * width
        count = ask_for_row(templates, work, head, third, step, kind, active, first, last, row, count)
        if count > room:
            flat.sum_for_targets(
                store, work.batch_features, work.batch_targets, work.batch_indices, count, work.memo
            )  # fmt: skip
            count = np.uint64(0)
    flat.sum_for_targets(store, work.batch_features, work.batch_targets, work.batch_indices, count, work.memo)


@lean_part
def add_between(templates, store, n, work):  # type: ignore[no-untyped-def]
    """Add to all allowed arcs the scores of the words between: every different class of words counts once.

    A head is left step by step. With every new class of words on the way, what it is worth to each class of
    dependents is added to running sums. What is known is remembered under the classes of all three, if there is room.
    """
    size = np.uint64(n + 1)
    zero, one = np.uint64(0), np.uint64(1)
    for group in range(np.uint64(templates.group_first.shape[0])):
        if templates.group_kind[group] != BETWEEN:
            continue
        first, last = np.uint64(templates.group_first[group]), np.uint64(templates.group_last[group])
        heads, width, thirds = classify_all(templates, work, n, first, last)
        remembers = heads * thirds * width <= np.uint64(work.memo.shape[0])
        for direction in range(np.uint64(2)):
            kind = np.uint64(LEFTWARD) + direction
            for i in range(heads * thirds * width if remembers else zero):
                work.memo[i] = NOT_KNOWN
            for c in range(thirds):
                work.met[c] = np.int32(-1)
            for head in range(size):
                active, furthest = find_reach(n, head, direction, width, work)
                if furthest < np.uint64(2):
                    continue
                line = np.uint64(work.classes[HEAD, head]) * thirds if remembers else zero
                for i in range(zero if remembers else thirds * width):
                    work.memo[i] = NOT_KNOWN
                fill_rows(templates, store, work, head, kind, active, furthest, first, last, line, width)
                for c in range(width):
                    work.running[c] = 0.0
                for step in range(one, furthest + one):
                    dependent = head + step if direction == one else head - step
                    if work.allowed[head * size + dependent] != np.uint8(0):
                        work.scores[head * size + dependent] += work.running[work.classes[DEPENDENT, dependent]]
                    third_class = np.uint64(work.classes[THIRD, dependent])
                    if work.met[third_class] != np.int32(np.uint64(2) * head + one):
                        work.met[third_class] = np.int32(np.uint64(2) * head + one)
                        row = (line + third_class) * width
                        # A class that ends before this word is not known here, and not asked for again.
                        for i in range(active):
                            c = np.uint64(work.seen[i])  # type: ignore[assignment]
                            work.running[c] += np.float64(work.memo[row + c])


@lean_part
def sum_labels(store, features, count, indices, sums):  # type: ignore[no-untyped-def]
    """Add the rows of `count` features into `sums`, one number a label."""
    for i in range(np.uint64(sums.shape[0])):
        sums[i] = np.float32(0)
    for i in range(count):
        prefetch(store.table, home_slot(store.table, features[i]))
    for i in range(count):
        row = find_row(store.table, features[i])
        indices[i] = row
        if row == MISSING:
            continue
        if row & DENSE_BIT:
            prefetch_dense(store.dense, np.uint64(row ^ DENSE_BIT))
        else:
            prefetch_short(store, np.uint64(row))
    for i in range(count):
        row = indices[i]
        if row == MISSING:
            continue
        if row & DENSE_BIT:
            dense = np.uint64(row ^ DENSE_BIT)
            for label in range(np.uint64(sums.shape[0])):
                sums[label] += np.float32(store.dense[dense, label])
        else:
            start, step = np.uint64(row + 1), cell_step(store)
            for cell in range(start, start + np.uint64(store.outputs[np.uint64(row) * step] & np.uint16(0xFF))):
                sums[store.outputs[cell * step]] += np.float32(store.weights[cell * step + step - np.uint64(1)])


@inner
def best_label(sums, allowed, tag, masks, fixed):  # type: ignore[no-untyped-def]
    """Return the best label that `masks[allowed, tag]` lets through, or the fixed one, and its sum."""
    if fixed >= 0:
        return np.int64(fixed), sums[np.uint64(fixed)]
    best, score = np.uint64(0), np.float32(-np.inf)
    for label in range(np.uint64(masks.shape[2])):
        if masks[allowed, tag, label] and sums[label] > score:
            best, score = np.uint64(label), sums[label]
    return np.int64(best), score


@lean_part
def add_labels(setup, base_heads, n, tags, fixed_labels, has_gold, cost, work):  # type: ignore[no-untyped-def]
    """Add to every arc the score of its best label, which is written to `best_labels`.

    If the right tree is known (`has_gold`), every label of a wrong arc and every wrong label of a right one is
    better by `cost`, and `label_gaps` gets what the right label is behind.
    """
    templates, masks = setup.templates, setup.masks
    store, units = setup.weights.labels, setup.weights.units
    size = np.uint64(n + 1)
    first, last = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[1])
    for head in range(size):
        allowed = np.uint64(head != np.uint64(0))
        for dependent in range(np.uint64(1), size):
            if work.allowed[head * size + dependent] == np.uint8(0):
                continue
            kind = arc_kind(base_heads, head, dependent)
            pair_features(templates, work.parts, head, dependent, kind, first, last, work.features)
            sum_labels(store, work.features, last - first, work.indices, work.sums)
            at = head * size + dependent
            tag = np.uint64(tags[dependent])
            fixed = np.int64(NO_LABEL) if fixed_labels.shape[0] == 0 else np.int64(fixed_labels[dependent])
            if has_gold and np.int64(work.gold_heads[dependent]) == np.int64(head):
                right = np.uint64(work.gold_labels[dependent])
                right_score = work.sums[right]
                work.sums[right] -= np.float32(cost)
                label, score = best_label(work.sums, allowed, tag, masks, fixed)
                score += np.float32(cost)
                work.label_gaps[dependent] = np.float64(score) - np.float64(right_score)
                work.scores[at] += np.float64(score)
            else:
                label, score = best_label(work.sums, allowed, tag, masks, fixed)
                work.scores[at] += np.float64(score) * units[1] + cost
            work.best_labels[at] = np.int32(label)


@inner
def find_family(n, heads, work):  # type: ignore[no-untyped-def]
    """Write for every word its nearest sibling towards the head and its outermost children; n + 1 is none."""
    size = np.uint64(n + 1)
    none = np.int32(n + 1)
    one = np.uint64(1)
    for token in range(size + one):
        for field in range(np.uint64(3)):
            work.family[field, token] = none
        work.seen[token] = none
    for dependent in range(one, size):
        head = np.uint64(heads[dependent])
        if head < dependent:
            work.family[0, dependent] = work.seen[head]
            work.seen[head] = np.int32(dependent)
    for token in range(size):
        work.seen[token] = none
    for step in range(one, size):
        word = size - step
        head = np.uint64(heads[word])
        work.family[1, head] = np.int32(word)
        if work.family[2, head] == none:
            work.family[2, head] = np.int32(word)
        if head > word:
            work.family[0, word] = work.seen[head]
            work.seen[head] = np.int32(word)


@inner
def tree_label_features(templates, base_heads, n, heads, dependent, work):  # type: ignore[no-untyped-def]
    """Write the features of a word's label that look at the whole tree; return how many."""
    first, last = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[1])
    head = np.uint64(heads[dependent])
    grand = np.uint64(heads[head]) if head > np.uint64(0) else np.uint64(n + 1)
    third = np.uint64(work.family[0, dependent])
    first_child, last_child = np.uint64(work.family[1, dependent]), np.uint64(work.family[2, dependent])
    kind = arc_kind(base_heads, head, dependent)
    parts = work.parts
    for i in range(last - first):
        t = first + i
        feature = parts[HEAD, head, t] + parts[DEPENDENT, dependent, t] + templates.extra[kind, t]
        feature += parts[THIRD, third, t] + parts[GRAND, grand, t]
        work.features[i] = feature + parts[FIRST_CHILD, first_child, t] + parts[LAST_CHILD, last_child, t]
    return last - first


@lean_part
def label_tree(templates, store, base_heads, n, masks, tags, fixed_labels, heads, labels, work):  # type: ignore[no-untyped-def]
    """Second stage: write the best label of every arc of a tree; return the sum of their scores."""
    find_family(n, heads, work)
    total = 0.0
    for dependent in range(np.uint64(1), np.uint64(n + 1)):
        count = tree_label_features(templates, base_heads, n, heads, dependent, work)
        sum_labels(store, work.features, count, work.indices, work.sums)
        fixed = np.int64(NO_LABEL) if fixed_labels.shape[0] == 0 else np.int64(fixed_labels[dependent])
        allowed, tag = np.uint64(heads[dependent] != 0), np.uint64(tags[dependent])
        label, score = best_label(work.sums, allowed, tag, masks, fixed)
        labels[dependent] = np.int32(label)
        total += np.float64(score)
    return total


@inner
def same_parts(parts, token, other, first, last):  # type: ignore[no-untyped-def]
    """Whether two tokens are the same as third word of a triple."""
    differing = np.uint64(0)
    for t in range(first, last):
        differing += np.uint64(parts[THIRD, token, t] != parts[THIRD, other, t])
    return differing == np.uint64(0)


@inner
def write_pairs(features, outputs, count, many, output, buffer):  # type: ignore[no-untyped-def]
    """Append the first `many` features of a buffer with one output; return the new number of pairs."""
    for i in range(many):
        features[count] = buffer[i]
        outputs[count] = output
        count += np.uint64(1)
    return count


@lean_part
def collect_arc(templates, joint, base_heads, head, dependent, label, work, features, outputs, count):  # type: ignore[no-untyped-def]
    """Append the (feature, output) pairs of an arc, its label included if that is joint; return their number."""
    zero, one = np.uint64(0), np.uint64(1)
    kind = arc_kind(base_heads, head, dependent)
    arcs, labels = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[1])
    pair_features(templates, work.parts, head, dependent, kind, zero, arcs, work.features)
    count = write_pairs(features, outputs, count, arcs, ARC_OUTPUT, work.features)
    if joint:
        pair_features(templates, work.parts, head, dependent, kind, arcs, labels, work.features)
        count = write_pairs(features, outputs, count, labels - arcs, np.uint16(label), work.features)
    direction = np.uint64(LEFTWARD) if dependent < head else np.uint64(RIGHTWARD)
    low, high = (dependent, head) if dependent < head else (head, dependent)
    for group in range(np.uint64(templates.group_first.shape[0])):
        if templates.group_kind[group] != BETWEEN:
            continue
        first, last = np.uint64(templates.group_first[group]), np.uint64(templates.group_last[group])
        found = zero
        for middle in range(low + one, high):
            known = False
            for i in range(found):
                known |= same_parts(work.parts, np.uint64(work.seen[i]), middle, first, last)
            if known:
                continue
            work.seen[found] = np.int32(middle)
            found += one
            triple_features(templates, work.parts, head, dependent, middle, direction, first, last, work.features)
            count = write_pairs(features, outputs, count, last - first, ARC_OUTPUT, work.features)
    return count


@lean_part
def collect_siblings(templates, head, dependent, third, work, features, outputs, count):  # type: ignore[no-untyped-def]
    """Append the pairs of a dependent and its sibling towards the head; return their number."""
    direction = np.uint64(LEFTWARD) if dependent < head else np.uint64(RIGHTWARD)
    for group in range(np.uint64(templates.group_first.shape[0])):
        if templates.group_kind[group] != SIBLING:
            continue
        first, last = np.uint64(templates.group_first[group]), np.uint64(templates.group_last[group])
        triple_features(templates, work.parts, head, dependent, third, direction, first, last, work.features)
        count = write_pairs(features, outputs, count, last - first, ARC_OUTPUT, work.features)
    return count


@lean_part
def collect_grandparent(templates, head, dependent, grand, work, features, outputs, count):  # type: ignore[no-untyped-def]
    """Append the pairs of a dependent and the head of its head; return their number."""
    direction = np.uint64(LEFTWARD) + np.uint64(dependent > head) + np.uint64(2) * np.uint64(grand > head)
    for group in range(np.uint64(templates.group_first.shape[0])):
        if templates.group_kind[group] != GRANDPARENT:
            continue
        first, last = np.uint64(templates.group_first[group]), np.uint64(templates.group_last[group])
        triple_features(templates, work.parts, head, dependent, grand, direction, first, last, work.features)
        count = write_pairs(features, outputs, count, last - first, ARC_OUTPUT, work.features)
    return count
