"""Kernels of the graph parsers' scores: features of arcs, of words between, of siblings and of labels.

A feature is the sum of 64-bit numbers, one for each place its template looks at: `parts[place, token, template]`
is filled once a sentence, so that a feature of the arc from h to d is two look-ups and two additions, done for
all templates at once by vector instructions. What belongs to the arc itself (direction, distance, base tree) is a
third number, `extra[kind of arc, template]`, made once a model.

Templates stand in one list: those of arcs, those of labels, then groups of triples (a head, a dependent and a
word between them, or the dependent's sibling). A triple's summed score is remembered within a sentence under
the *classes* of its three words: words whose parts are equal for a whole group are one class. Most groups
look at tags only, so that n^3 triples become a few hundred look-ups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import entry, inner, lean_part, mix, part
from treetune.models.graph import _kernels as search
from treetune.weights import _flat_kernels as flat
from treetune.weights import _kernels as rows
from treetune.weights._kernels import DENSE_BIT, MISSING, find_row, home_slot, prefetch, prefetch_dense

# Places a template can look at.
HEAD, DEPENDENT, THIRD, GRAND, FIRST_CHILD, LAST_CHILD = 0, 1, 2, 3, 4, 5
PLACES = ("H", "D", "X", "G", "Dl", "Dr")

# Kinds of arcs: distance (signed, in buckets) times what the base tree says; then the two directions for triples.
DISTANCES = 15
BASE_RELATIONS = 3
KINDS = DISTANCES * BASE_RELATIONS
LEFTWARD, RIGHTWARD = KINDS, KINDS + 1

# Shifts that are no distances: to the nearest word on the left or right that is not transparent, and to the head
# that the base parser gave.
LEFT_MARK, RIGHT_MARK, BASE_HEAD = -100, 100, 200

BETWEEN, SIBLING = 0, 1
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
    atom_place: NDArray[np.int32]
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


class Space(NamedTuple):
    """Working memory for one sentence; `siblings` is empty where a model needs none.

    `words` is what a head (first half) and a dependent score by themselves, by token and kind of arc. `classes` and
    `members` say of the three words of a triple which class each token has, and one token of each class; `met`,
    `reach` and `running` are of these classes (see `add_between`). `batch_*` are look-ups that wait for others.
    `family` is what the second stage looks at: nearest sibling, first and last child. `pair_*` and
    `gold_*` hold the features of one arc with their outputs, `steps` those of factored MIRA.
    """

    parts: NDArray[np.uint64]
    marks: NDArray[np.int32]
    features: NDArray[np.uint64]
    places: NDArray[np.int64]
    words: NDArray[np.float64]
    scores: NDArray[np.float64]
    siblings: NDArray[np.float64]
    best_labels: NDArray[np.int32]
    label_gaps: NDArray[np.float64]
    sums: NDArray[np.float32]
    memo: NDArray[np.float32]
    classes: NDArray[np.int32]
    members: NDArray[np.int32]
    seen: NDArray[np.int32]
    met: NDArray[np.int32]
    reach: NDArray[np.int32]
    running: NDArray[np.float64]
    batch_features: NDArray[np.uint64]
    batch_targets: NDArray[np.int64]
    batch_places: NDArray[np.int64]
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
def fill_parts(templates, columns, base, n, base_heads, space):  # type: ignore[no-untyped-def]
    """Compute the parts of all tokens; token n + 1 stands for "no word"."""
    zero, one = np.uint64(0), np.uint64(1)
    parts = space.parts
    size = np.int64(n) + 2
    find_marks(templates, columns, base, n, space.marks)
    for p in range(np.uint64(parts.shape[0])):
        for token in range(np.uint64(size)):
            for t in range(np.uint64(parts.shape[2])):
                parts[p, token, t] = zero
    for t in range(np.uint64(templates.starts.shape[0] - 1)):
        first, last = np.uint64(templates.starts[t]), np.uint64(templates.starts[t + one])
        for atom in range(first, last):
            place = np.uint64(templates.atom_place[atom])
            shift = np.int64(templates.atom_shift[atom])
            column = np.uint64(templates.atom_column[atom])
            seed = templates.atom_seed[atom]
            for token in range(np.uint64(size)):
                if shift == LEFT_MARK:
                    there = np.int64(space.marks[0, token])
                elif shift == RIGHT_MARK:
                    there = np.int64(space.marks[1, token])
                elif shift == BASE_HEAD:
                    there = np.int64(base_heads[token]) if np.int64(token) <= n else np.int64(-1)
                else:
                    there = np.int64(token) + shift
                value = np.uint64(0)
                if np.int64(token) <= n and 0 <= there <= n:
                    value = np.uint64(columns[column, np.uint64(base + there)])
                parts[place, token, t] += mix(value + seed)


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
def ask_for_word(templates, parts, place, token, kind, first, last, target, space, count):  # type: ignore[no-untyped-def]
    """Append the features of templates [first, last), which look at one word, to a batch; return its new size."""
    for i in range(last - first):
        space.batch_features[count + i] = parts[place, token, first + i] + templates.extra[kind, first + i]
        space.batch_targets[count + i] = np.int64(target)
    return count + last - first


@lean_part
def score_words(templates, store, base_heads, n, head, space):  # type: ignore[no-untyped-def]
    """Make known what each word of the arcs of a head scores by itself in that kind of arc."""
    size, kinds = np.uint64(n + 1), np.uint64(KINDS)
    middle, split, last = np.uint64(templates.alone[0]), np.uint64(templates.alone[1]), np.uint64(templates.bounds[0])
    words = space.words
    count = np.uint64(0)
    for dependent in range(np.uint64(1), size):
        kind = arc_kind(base_heads, head, dependent)
        as_head, as_dependent = head * kinds + kind, (size + dependent) * kinds + kind
        if words[as_head] != words[as_head]:
            words[as_head] = 0.0
            count = ask_for_word(
                templates, space.parts, np.uint64(HEAD), head, kind, middle, split, as_head, space, count
            )  # fmt: skip
        if words[as_dependent] != words[as_dependent]:
            words[as_dependent] = 0.0
            count = ask_for_word(
                templates, space.parts, np.uint64(DEPENDENT), dependent, kind, split, last, as_dependent, space, count
            )  # fmt: skip
    flat.sum_for_targets(store, space.batch_features, space.batch_targets, space.batch_places, count, words)


@lean_part
def score_arcs(templates, store, base_heads, n, space):  # type: ignore[no-untyped-def]
    """Write the scores of all arcs by the templates of arcs alone."""
    size, kinds = np.uint64(n + 1), np.uint64(KINDS)
    zero = np.uint64(0)
    last = np.uint64(templates.alone[0])
    for i in range(np.uint64(2) * size * kinds):
        space.words[i] = np.nan
    for head in range(size):
        score_words(templates, store, base_heads, n, head, space)
        for dependent in range(np.uint64(1), size):
            if head == dependent:
                space.scores[head * size + dependent] = -np.inf
                continue
            kind = arc_kind(base_heads, head, dependent)
            pair_features(templates, space.parts, head, dependent, kind, zero, last, space.features)
            score = flat.sum_weights(store, space.features, space.places, last)
            score += space.words[head * kinds + kind] + space.words[(size + dependent) * kinds + kind]
            space.scores[head * size + dependent] = score
        space.scores[head * size] = -np.inf


@inner
def classify(parts, place, count, first, last, space):  # type: ignore[no-untyped-def]
    """Give tokens 0..count - 1 the numbers of their classes at a place; return how many classes there are."""
    number = np.uint64(0)
    for token in range(count):
        chosen = np.uint64(number)
        for c in range(number):
            member = np.uint64(space.members[place, c])
            same = True
            for t in range(first, last):
                if parts[place, token, t] != parts[place, member, t]:
                    same = False
                    break
            if same:
                chosen = np.uint64(c)
                break
        if chosen == number:
            space.members[place, number] = np.int32(token)
            number += np.uint64(1)
        space.classes[place, token] = np.int32(chosen)
    return number


@lean_part
def triple_score(templates, store, space, head, dependent, third, kind, first, last):  # type: ignore[no-untyped-def]
    """Return the score of a triple by the templates of one group."""
    triple_features(templates, space.parts, head, dependent, third, kind, first, last, space.features)
    return flat.sum_weights(store, space.features, space.places, last - first)


@inner
def open_memo(space, classes):  # type: ignore[no-untyped-def]
    """Empty the memory of triple scores if it can hold that many; return whether it can."""
    if classes > np.uint64(space.memo.shape[0]):
        return False
    for i in range(classes):
        space.memo[i] = NOT_KNOWN
    return True


@inner
def recalled_score(templates, store, space, head, dependent, third, kind, place, remembers, first, last):  # type: ignore[no-untyped-def]
    """Return the score of a triple, remembered at `place` of the memory where it has been asked for before."""
    if remembers:
        value = space.memo[place]
        if value == value:
            return np.float64(value)
    score = triple_score(templates, store, space, head, dependent, third, kind, first, last)
    if remembers:
        space.memo[place] = np.float32(score)
    return np.float64(np.float32(score))


@inner
def classify_all(templates, space, n, first, last):  # type: ignore[no-untyped-def]
    """Classify heads, dependents and third words for one group; return the numbers of classes."""
    one = np.uint64(1)
    size = np.uint64(n) + one
    heads = classify(space.parts, np.uint64(HEAD), size, first, last, space)
    dependents = classify(space.parts, np.uint64(DEPENDENT), size, first, last, space)
    thirds = classify(space.parts, np.uint64(THIRD), size + one, first, last, space)
    return heads, dependents, thirds


@inner
def find_reach(n, direction, space):  # type: ignore[no-untyped-def]
    """Write for every class of dependents how far in a direction its words go."""
    for step in range(np.uint64(1), np.uint64(n + 1)):
        word = step if direction == np.uint64(1) else np.uint64(n + 1) - step
        space.reach[space.classes[DEPENDENT, word]] = np.int32(word)


@inner
def ask_for_row(templates, space, head, third, kind, dependents, first, last, row, count):  # type: ignore[no-untyped-def]
    """Append the features of a head and a third word with every class of dependents that has words beyond it.

    Their sums are to go from `memo[row]` on. Return the new number of features.
    """
    many = last - first
    for c in range(dependents):
        space.memo[row + c] = np.float32(0)
        far = np.int64(space.reach[c])
        if (far > np.int64(third)) if kind == np.uint64(RIGHTWARD) else (far < np.int64(third)):
            dependent = np.uint64(space.members[DEPENDENT, c])
            for i in range(many):
                t = first + i
                space.batch_features[count + i] = (
                    space.parts[HEAD, head, t] + space.parts[DEPENDENT, dependent, t] + space.parts[THIRD, third, t]
                    + templates.extra[kind, t]
                )  # fmt: skip
                space.batch_targets[count + i] = np.int64(row + c)
            count += many
    return count


@lean_part
def fill_rows(templates, store, space, n, head, kind, dependents, first, last, line):  # type: ignore[no-untyped-def]
    """Make the rows of a head and every class of words on one side of it known, many at a time."""
    one = np.uint64(1)
    width = dependents + one
    steps = np.int64(n) - np.int64(head) if kind == np.uint64(RIGHTWARD) else np.int64(head) - 1
    room = np.uint64(space.batch_features.shape[0]) - dependents * (last - first)
    count = np.uint64(0)
    # Nothing is beyond the last word.
    for step in range(1, steps):
        third = np.uint64(np.int64(head) + step if kind == np.uint64(RIGHTWARD) else np.int64(head) - step)
        row = (line + np.uint64(space.classes[THIRD, third])) * width
        if space.memo[row] != space.memo[row]:
            space.memo[row] = np.float32(0)
            count = ask_for_row(templates, space, head, third, kind, dependents, first, last, row + one, count)
            if count > room:
                flat.sum_for_targets(
                    store, space.batch_features, space.batch_targets, space.batch_places, count, space.memo
                )  # fmt: skip
                count = np.uint64(0)
    flat.sum_for_targets(store, space.batch_features, space.batch_targets, space.batch_places, count, space.memo)


@lean_part
def add_between(templates, store, n, space):  # type: ignore[no-untyped-def]
    """Add to all arcs the scores of the words between: every different class of words counts once.

    A head is left step by step. With every new class of words on the way, what it is worth to each class of
    dependents is added to running sums. These rows are remembered under the classes of head and word between, if
    there is room; heads with the most words beyond them come first, so that the first of a class needs the most.
    """
    size = np.uint64(n + 1)
    zero, one = np.uint64(0), np.uint64(1)
    for group in range(np.uint64(templates.group_first.shape[0])):
        if templates.group_kind[group] != BETWEEN:
            continue
        first, last = np.uint64(templates.group_first[group]), np.uint64(templates.group_last[group])
        heads, dependents, thirds = classify_all(templates, space, n, first, last)
        width = dependents + one
        remembers = heads * thirds * width <= np.uint64(space.memo.shape[0])
        for direction in range(np.uint64(2)):
            kind = np.uint64(LEFTWARD) + direction
            find_reach(n, direction, space)
            for i in range(heads * thirds if remembers else zero):
                space.memo[i * width] = NOT_KNOWN
            for c in range(thirds):
                space.met[c] = np.int32(-1)
            for turn in range(size):
                head = turn if direction == one else np.uint64(n) - turn
                steps = np.int64(n) - np.int64(head) if direction == one else np.int64(head) - 1
                line = np.uint64(space.classes[HEAD, head]) * thirds if remembers else zero
                for i in range(zero if remembers else thirds):
                    space.memo[i * width] = NOT_KNOWN
                fill_rows(templates, store, space, n, head, kind, dependents, first, last, line)
                for c in range(dependents):
                    space.running[c] = 0.0
                for step in range(1, steps + 1):
                    dependent = np.uint64(np.int64(head) + step if direction == one else np.int64(head) - step)
                    space.scores[head * size + dependent] += space.running[space.classes[DEPENDENT, dependent]]
                    third_class = np.uint64(space.classes[THIRD, dependent])
                    if step < steps and space.met[third_class] != np.int32(head):
                        space.met[third_class] = np.int32(head)
                        row = (line + third_class) * width + one
                        for c in range(dependents):
                            space.running[c] += np.float64(space.memo[row + c])


@lean_part
def score_siblings(templates, store, n, space):  # type: ignore[no-untyped-def]
    """Write the scores of all pairs of adjacent siblings; the sibling n + 1 is "none", kept at the head's place."""
    size = np.uint64(n + 1)
    one = np.uint64(1)
    none = size
    fresh = True
    for group in range(np.uint64(templates.group_first.shape[0])):
        if templates.group_kind[group] != SIBLING:
            continue
        first, last = np.uint64(templates.group_first[group]), np.uint64(templates.group_last[group])
        heads, dependents, thirds = classify_all(templates, space, n, first, last)
        remembers = open_memo(space, np.uint64(2) * heads * dependents * thirds)
        for head in range(size):
            for direction in range(np.uint64(2)):
                kind = np.uint64(LEFTWARD) + direction
                steps = np.int64(head) - 1 if direction == np.uint64(0) else np.int64(n) - np.int64(head)
                row = (direction * heads + np.uint64(space.classes[HEAD, head])) * dependents
                for step in range(1, steps + 1):
                    dependent = np.uint64(np.int64(head) + step if direction == one else np.int64(head) - step)
                    at = (row + np.uint64(space.classes[DEPENDENT, dependent])) * thirds
                    line = (head * size + dependent) * size
                    # The root has one dependent, so no siblings below it.
                    inner_steps = step if head > np.uint64(0) else 1
                    for gap in range(inner_steps):
                        place = np.uint64(np.int64(head) + gap if direction == one else np.int64(head) - gap)
                        third = none if gap == 0 else place
                        score = recalled_score(
                            templates, store, space, head, dependent, third, kind,
                            at + np.uint64(space.classes[THIRD, third]), remembers, first, last,
                        )  # fmt: skip
                        if fresh:
                            space.siblings[line + place] = score
                        else:
                            space.siblings[line + place] += score
        fresh = False


@lean_part
def sum_labels(store, features, count, places, sums):  # type: ignore[no-untyped-def]
    """Add the rows of `count` features into `sums`, one number a label."""
    for i in range(np.uint64(sums.shape[0])):
        sums[i] = np.float32(0)
    for i in range(count):
        prefetch(store.table, home_slot(store.table, features[i]))
    for i in range(count):
        row = find_row(store.table, features[i])
        places[i] = row
        if row == MISSING:
            continue
        if row & DENSE_BIT:
            prefetch_dense(store.dense, np.uint64(row ^ DENSE_BIT))
        else:
            prefetch(store.outputs, np.uint64(row))
            prefetch(store.weights, np.uint64(row))
    for i in range(count):
        row = places[i]
        if row == MISSING:
            continue
        if row & DENSE_BIT:
            dense = np.uint64(row ^ DENSE_BIT)
            for label in range(np.uint64(sums.shape[0])):
                sums[label] += np.float32(store.dense[dense, label])
        else:
            start = np.uint64(row + 1)
            for cell in range(start, start + np.uint64(store.outputs[np.uint64(row)] & np.uint16(0xFF))):
                sums[store.outputs[cell]] += np.float32(store.weights[cell])


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
def add_labels(templates, store, units, base_heads, n, masks, tags, fixed_labels, has_gold, cost, space):  # type: ignore[no-untyped-def]
    """Add to every arc the score of its best label, which is written to `best_labels`.

    If the right tree is known (`has_gold`), every label of a wrong arc and every wrong label of a right one is
    better by `cost`, and `label_gaps` gets what the right label is behind.
    """
    size = np.uint64(n + 1)
    first, last = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[1])
    for head in range(size):
        allowed = np.uint64(head != np.uint64(0))
        for dependent in range(np.uint64(1), size):
            if head == dependent:
                continue
            kind = arc_kind(base_heads, head, dependent)
            pair_features(templates, space.parts, head, dependent, kind, first, last, space.features)
            sum_labels(store, space.features, last - first, space.places, space.sums)
            at = head * size + dependent
            tag = np.uint64(tags[dependent])
            fixed = np.int64(NO_LABEL) if fixed_labels.shape[0] == 0 else np.int64(fixed_labels[dependent])
            if has_gold and np.int64(space.gold_heads[dependent]) == np.int64(head):
                right = np.uint64(space.gold_labels[dependent])
                right_score = space.sums[right]
                space.sums[right] -= np.float32(cost)
                label, score = best_label(space.sums, allowed, tag, masks, fixed)
                score += np.float32(cost)
                space.label_gaps[dependent] = np.float64(score) - np.float64(right_score)
                space.scores[at] += np.float64(score)
            else:
                label, score = best_label(space.sums, allowed, tag, masks, fixed)
                space.scores[at] += np.float64(score) * units[1] + cost
            space.best_labels[at] = np.int32(label)


@inner
def find_family(n, heads, space):  # type: ignore[no-untyped-def]
    """Write for every word its nearest sibling towards the head and its outermost children; n + 1 is none."""
    size = np.uint64(n + 1)
    none = np.int32(n + 1)
    one = np.uint64(1)
    for token in range(size + one):
        for field in range(np.uint64(3)):
            space.family[field, token] = none
        space.seen[token] = none
    for dependent in range(one, size):
        head = np.uint64(heads[dependent])
        if head < dependent:
            space.family[0, dependent] = space.seen[head]
            space.seen[head] = np.int32(dependent)
    for token in range(size):
        space.seen[token] = none
    for step in range(one, size):
        word = size - step
        head = np.uint64(heads[word])
        space.family[1, head] = np.int32(word)
        if space.family[2, head] == none:
            space.family[2, head] = np.int32(word)
        if head > word:
            space.family[0, word] = space.seen[head]
            space.seen[head] = np.int32(word)


@inner
def tree_label_features(templates, base_heads, n, heads, dependent, space):  # type: ignore[no-untyped-def]
    """Write the features of a word's label that look at the whole tree; return how many."""
    first, last = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[1])
    head = np.uint64(heads[dependent])
    grand = np.uint64(heads[head]) if head > np.uint64(0) else np.uint64(n + 1)
    third = np.uint64(space.family[0, dependent])
    first_child, last_child = np.uint64(space.family[1, dependent]), np.uint64(space.family[2, dependent])
    kind = arc_kind(base_heads, head, dependent)
    parts = space.parts
    for i in range(last - first):
        t = first + i
        feature = parts[HEAD, head, t] + parts[DEPENDENT, dependent, t] + templates.extra[kind, t]
        feature += parts[THIRD, third, t] + parts[GRAND, grand, t]
        space.features[i] = feature + parts[FIRST_CHILD, first_child, t] + parts[LAST_CHILD, last_child, t]
    return last - first


@lean_part
def label_tree(templates, store, base_heads, n, masks, tags, fixed_labels, heads, labels, space):  # type: ignore[no-untyped-def]
    """Second stage: write the best label of every arc of a tree; return the sum of their scores."""
    find_family(n, heads, space)
    total = 0.0
    for dependent in range(np.uint64(1), np.uint64(n + 1)):
        count = tree_label_features(templates, base_heads, n, heads, dependent, space)
        sum_labels(store, space.features, count, space.places, space.sums)
        fixed = np.int64(NO_LABEL) if fixed_labels.shape[0] == 0 else np.int64(fixed_labels[dependent])
        allowed, tag = np.uint64(heads[dependent] != 0), np.uint64(tags[dependent])
        label, score = best_label(space.sums, allowed, tag, masks, fixed)
        labels[dependent] = np.int32(label)
        total += np.float64(score)
    return total


# One sentence: all scores, then the search.


class ProjectiveLists(NamedTuple):
    """Working memory for several projective trees; see `_kernels`."""

    chart: search.Chart
    lists: search.Lists


class SpanningLists(NamedTuple):
    """Working memory for several trees with crossing arcs; see `_kernels`."""

    contraction: search.Contraction
    partition: search.Partition


class Options(NamedTuple):
    """What a parser does: its order, whether arcs may cross, whether labels are scored with arcs."""

    second_order: bool
    crossing: bool
    joint: bool


class Weights(NamedTuple):
    """Weights of arcs and of labels, and what one unit of each is worth."""

    arcs: flat.FlatStore
    labels: rows.Store
    units: NDArray[np.float64]


@inner
def score_sentence(  # type: ignore[no-untyped-def]
    templates, weights, options, columns, base, n, base_heads, masks, tags, fixed_labels, has_gold, cost, space
):
    """Write the scores of all arcs, labels and siblings of a sentence."""
    fill_parts(templates, columns, base, n, base_heads, space)
    score_arcs(templates, weights.arcs, base_heads, n, space)
    add_between(templates, weights.arcs, n, space)
    size = np.uint64(n + 1)
    unit = weights.units[0]
    if unit != 1.0:
        for i in range(size * size):
            space.scores[i] *= unit
    if options.second_order:
        score_siblings(templates, weights.arcs, n, space)
        if unit != 1.0:
            for i in range(size * size * size):
                space.siblings[i] *= unit
    if options.joint:
        add_labels(
            templates, weights.labels, weights.units, base_heads, n, masks, tags, fixed_labels, has_gold, cost, space
        )


@inner
def forbid_arcs(n, masks, fixed_heads, fixed_labels, space):  # type: ignore[no-untyped-def]
    """Forbid whatever goes against what is fixed; a fixed label without a head may say where its arc comes from."""
    size = np.uint64(n + 1)
    for dependent in range(np.uint64(1), size):
        head, label = np.int64(fixed_heads[dependent]), np.int64(fixed_labels[dependent])
        for other in range(size):
            allowed = np.uint64(other != np.uint64(0))
            if head >= 0:
                forbidden = np.int64(other) != head
            else:
                forbidden = label >= 0 and not masks[allowed, np.uint64(0), np.uint64(label)]
            if forbidden:
                space.scores[other * size + dependent] = -np.inf


@part
def search_trees(options, n, k, space, chart, lists, contraction, partition, climb, heads, out):  # type: ignore[no-untyped-def]
    """Write up to k different trees, best first, to `heads` (k rows of n + 1) and their scores; return how many.

    The working memory that a kind of search does not need is None, so that it is not even compiled: `chart` for
    the best projective tree, `lists` for several, `contraction` and `partition` for trees with crossing arcs,
    `climb` for changing projective trees into such.
    """
    size = n + 1
    scores = space.scores[: size * size].reshape(size, size)
    side = size if options.second_order else 0
    siblings = space.siblings[: side**3].reshape(side, side, side)
    count = 0
    if chart is not None:
        count = search.best_projective(scores, siblings, chart, heads, out)
    if lists is not None:
        count = search.k_best_projective(scores, siblings, lists.chart, lists.lists, heads, out)
    if contraction is not None:
        count = search.best_spanning(scores, siblings, contraction, heads, out)
    if partition is not None:
        count = search.k_best_spanning(scores, siblings, partition.contraction, partition.partition, heads, out)
    if climb is not None:
        count = rearrange_all(scores, siblings, space, climb, count, heads, out)
    return count


@part
def rearrange_all(scores, siblings, space, contraction, count, heads, out):  # type: ignore[no-untyped-def]
    """Improve `count` projective trees by letting arcs cross; return how many different ones come out."""
    size = scores.shape[0]
    if count == 0:
        # What is fixed may cross: climb from the best tree by arcs alone.
        none = space.siblings[:0].reshape(0, 0, 0)
        count = search.best_spanning(scores, none, contraction, heads, out)
    kept = 0
    for rank in range(count):
        for token in range(size):
            heads[kept, token] = heads[rank, token]
        if (
            search.rearrange(scores, siblings, contraction, space.marks, heads[kept : kept + 1], out[kept : kept + 1])
            == 0
        ):
            continue
        is_new = True
        for other in range(kept):
            differing = 0
            for token in range(size):
                differing += heads[other, token] != heads[kept, token]
            is_new &= differing > 0
        kept += is_new
    search.sort_trees(heads, out, kept)
    return kept


@entry
def parse_range(  # type: ignore[no-untyped-def]
    templates, weights, options, columns, offsets, all_base_heads, masks, tags, fixed, first, last, k, space,
    chart, lists, contraction, partition, climb, found_heads, found_labels, found_scores, counts,
):  # fmt: skip
    """Parse sentences [first, last); results go to `found_*[rank, token]`, `found_scores[sentence, rank]`.

    `fixed` are two rows over tokens, heads and labels (-1: free), or empty; `all_base_heads` are heads of base trees over tokens, or empty.
    """
    for sentence in range(first, last):
        base, end = offsets[sentence], offsets[sentence + 1]
        n = end - base - 1
        if n == 0:
            counts[sentence] = 1
            found_scores[sentence, 0] = 0.0
            continue
        base_heads = all_base_heads[base:end] if all_base_heads.shape[0] > 0 else all_base_heads
        is_fixed = fixed.shape[1] > 0
        fixed_labels = fixed[1, base:end] if is_fixed else fixed[1]
        score_sentence(
            templates, weights, options, columns, base, n, base_heads, masks, tags[base:end], fixed_labels, False, 0.0, space
        )  # fmt: skip
        if is_fixed:
            forbid_arcs(n, masks, fixed[0, base:end], fixed_labels, space)
        size = n + 1
        heads = space.heads[: k * size].reshape(k, size)
        count = search_trees(options, n, k, space, chart, lists, contraction, partition, climb, heads, space.out[:k])
        counts[sentence] = count
        for rank in range(count):
            for token in range(size):
                found_heads[rank, base + token] = heads[rank, token]
            found_scores[sentence, rank] = space.out[rank]
            labels = found_labels[rank, base:end]
            labels[0] = NO_LABEL
            if options.joint:
                for dependent in range(1, size):
                    labels[dependent] = space.best_labels[heads[rank, dependent] * size + dependent]
            else:
                label_tree(
                    templates,
                    weights.labels,
                    base_heads,
                    n,
                    masks,
                    tags[base:end],
                    fixed_labels,
                    heads[rank],
                    labels,
                    space,
                )


# Learning.

PERCEPTRON, MIRA, FACTORED = 0, 1, 2
COUNT, DONE = 0, 1

# A margin that is short by no more than this, the rounding of scores, counts as reached.
REACHED = 1e-5

# Factored MIRA ends when no margin was short by more than this, or after so many sweeps over all arcs.
FACTORED_TOLERANCE = 0.01
FACTORED_SWEEPS = 10


class Update(NamedTuple):
    """The changes of one update, waiting to be added: (feature, output, delta); those of arcs are added at once."""

    features: NDArray[np.uint64]
    outputs: NDArray[np.uint16]
    deltas: NDArray[np.float32]
    counters: NDArray[np.int64]


class Averages(NamedTuple):
    """The averages of both kinds of weights."""

    arcs: flat.FlatAverages
    labels: rows.Averages


class Lesson(NamedTuple):
    """How a learner learns: which rule, from how many trees, with steps of at most `clip`; `cost` for the search."""

    rule: int
    k: int
    clip: float
    cost: float


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
def collect_arc(templates, joint, base_heads, head, dependent, label, space, features, outputs, count):  # type: ignore[no-untyped-def]
    """Append the (feature, output) pairs of an arc, its label included if that is joint; return their number."""
    zero, one = np.uint64(0), np.uint64(1)
    kind = arc_kind(base_heads, head, dependent)
    arcs, labels = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[1])
    pair_features(templates, space.parts, head, dependent, kind, zero, arcs, space.features)
    count = write_pairs(features, outputs, count, arcs, ARC_OUTPUT, space.features)
    if joint:
        pair_features(templates, space.parts, head, dependent, kind, arcs, labels, space.features)
        count = write_pairs(features, outputs, count, labels - arcs, np.uint16(label), space.features)
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
                known |= same_parts(space.parts, np.uint64(space.seen[i]), middle, first, last)
            if known:
                continue
            space.seen[found] = np.int32(middle)
            found += one
            triple_features(templates, space.parts, head, dependent, middle, direction, first, last, space.features)
            count = write_pairs(features, outputs, count, last - first, ARC_OUTPUT, space.features)
    return count


@lean_part
def collect_siblings(templates, head, dependent, third, space, features, outputs, count):  # type: ignore[no-untyped-def]
    """Append the pairs of a dependent and its sibling towards the head; return their number."""
    direction = np.uint64(LEFTWARD) if dependent < head else np.uint64(RIGHTWARD)
    for group in range(np.uint64(templates.group_first.shape[0])):
        if templates.group_kind[group] != SIBLING:
            continue
        first, last = np.uint64(templates.group_first[group]), np.uint64(templates.group_last[group])
        triple_features(templates, space.parts, head, dependent, third, direction, first, last, space.features)
        count = write_pairs(features, outputs, count, last - first, ARC_OUTPUT, space.features)
    return count


@entry
def collect_tree(templates, options, columns, base_heads, n, heads, labels, space, features, outputs):  # type: ignore[no-untyped-def]
    """Write all (feature, output) pairs of a tree of the sentence whose tokens are `columns`; return their number."""
    fill_parts(templates, columns, 0, n, base_heads, space)
    find_family(n, heads, space)
    count = np.uint64(0)
    for dependent in range(np.uint64(1), np.uint64(n + 1)):
        head, label = np.uint64(heads[dependent]), labels[dependent]
        count = collect_arc(
            templates, options.joint, base_heads, head, dependent, label, space, features, outputs, count
        )  # fmt: skip
        if options.second_order:
            third = np.uint64(space.family[0, dependent])
            count = collect_siblings(templates, head, dependent, third, space, features, outputs, count)
        if not options.joint:
            many = tree_label_features(templates, base_heads, n, heads, dependent, space)
            count = write_pairs(features, outputs, count, many, np.uint16(label), space.features)
    return np.int64(count)


@entry
def sum_pairs(weights, features, outputs, count):  # type: ignore[no-untyped-def]
    """Return the summed weights of (feature, output) pairs: of arcs, and of labels."""
    arcs, labels = 0.0, 0.0
    for i in range(np.uint64(count)):
        if outputs[i] == ARC_OUTPUT:
            place = flat.find_entry(weights.arcs.keys, weights.arcs.mask[0], features[i])
            if place != flat.NOWHERE:
                arcs += weights.arcs.values[np.uint64(place)]
        else:
            labels += rows.weight_of(weights.labels, features[i], outputs[i])
    return arcs, labels


@entry
def score_labels_of(templates, weights, columns, base_heads, n, masks, tags, heads, dependents, space, scores):  # type: ignore[no-untyped-def]
    """Write the scores of all labels of some arcs, -inf for labels that cannot stand there; for joint labels."""
    fill_parts(templates, columns, 0, n, base_heads, space)
    first, last = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[1])
    for i in range(np.uint64(heads.shape[0])):
        head, dependent = np.uint64(heads[i]), np.uint64(dependents[i])
        kind = arc_kind(base_heads, head, dependent)
        pair_features(templates, space.parts, head, dependent, kind, first, last, space.features)
        sum_labels(weights.labels, space.features, last - first, space.places, space.sums)
        for label in range(np.uint64(masks.shape[2])):
            may = masks[np.uint64(head != np.uint64(0)), np.uint64(tags[dependent]), label]
            scores[i, label] = np.float64(space.sums[label]) * weights.units[1] if may else -np.inf


@inner
def add_collected(margins, candidate, amount, space, count):  # type: ignore[no-untyped-def]
    """Add collected pairs to the difference to a candidate."""
    for i in range(count):
        rows.add_difference(margins, candidate, space.pair_features[i], space.pair_outputs[i], amount)


@lean_part
def add_tree(  # type: ignore[no-untyped-def]
    templates, options, base_heads, n, heads, labels, others, other_labels, candidate, amount, space, margins
):  # fmt: skip
    """Add the features that a tree has and another one has not (by their arcs) to the difference to a candidate."""
    size = np.uint64(n + 1)
    zero, one = np.uint64(0), np.uint64(1)
    for dependent in range(one, size):
        if heads[dependent] != others[dependent] or labels[dependent] != other_labels[dependent]:
            head, label = np.uint64(heads[dependent]), labels[dependent]
            count = collect_arc(
                templates, options.joint, base_heads, head, dependent, label, space, space.pair_features,
                space.pair_outputs, zero,
            )  # fmt: skip
            add_collected(margins, candidate, amount, space, count)
    if options.second_order:
        find_family(n, heads, space)
        for dependent in range(one, size):
            head, third = np.uint64(heads[dependent]), np.uint64(space.family[0, dependent])
            count = collect_siblings(
                templates, head, dependent, third, space, space.pair_features, space.pair_outputs, zero
            )  # fmt: skip
            add_collected(margins, candidate, amount, space, count)


@inner
def count_wrong(n, heads, labels, space):  # type: ignore[no-untyped-def]
    """Return the loss of a tree: the number of words with a wrong head or label."""
    loss = 0.0
    for dependent in range(np.uint64(1), np.uint64(n + 1)):
        if heads[dependent] != space.gold_heads[dependent] or labels[dependent] != space.gold_labels[dependent]:
            loss += 1.0
    return loss


@inner
def add_costs(n, cost, space):  # type: ignore[no-untyped-def]
    """Make every wrong arc better by `cost`."""
    size = np.uint64(n + 1)
    for dependent in range(np.uint64(1), size):
        for head in range(size):
            if np.int64(head) != np.int64(space.gold_heads[dependent]):
                space.scores[head * size + dependent] += cost


@inner
def gather_labels(n, heads, options, space, labels):  # type: ignore[no-untyped-def]
    """Write the labels of a candidate tree; without joint labels they do not matter and are those of gold."""
    size = np.uint64(n + 1)
    labels[0] = NO_LABEL
    for dependent in range(np.uint64(1), size):
        if options.joint:
            labels[dependent] = space.best_labels[np.uint64(heads[dependent]) * size + dependent]
        else:
            labels[dependent] = space.gold_labels[dependent]


@part
def learn_trees(  # type: ignore[no-untyped-def]
    templates, options, lesson, base_heads, n, space, chart, lists, contraction, partition, climb, margins, update
):  # fmt: skip
    """Compare gold with the best trees; return how many changes wait in `update`."""
    size = n + 1
    k = lesson.k
    heads = space.heads[: k * size].reshape(k, size)
    count = search_trees(options, n, k, space, chart, lists, contraction, partition, climb, heads, space.out[:k])
    scores = space.scores[: size * size].reshape(size, size)
    side = size if options.second_order else 0
    siblings = space.siblings[: side**3].reshape(side, side, side)
    gold_heads = space.gold_heads
    gold_score = search.tree_score(scores, siblings, gold_heads, space.seen)
    if options.joint:
        for dependent in range(1, size):
            gold_score -= space.label_gaps[dependent]
    rows.clear_margins(margins)
    rivals = 0
    largest = 0.0
    labels, gold_labels = space.labels, space.gold_labels
    for rank in range(count):
        gather_labels(n, heads[rank], options, space, labels)
        loss = count_wrong(n, heads[rank], labels, space)
        if loss == 0.0:
            continue
        score = space.out[rank] - (loss if lesson.cost > 0.0 else 0.0)
        margins.wanted[rivals] = loss - (gold_score - score)
        # The perceptron learns from the best tree only; one found by its cost need not be ahead of gold.
        if lesson.rule == PERCEPTRON and (rank > 0 or (lesson.cost == 0.0 and score < gold_score)):
            continue
        largest = max(largest, margins.wanted[rivals])
        add_tree(
            templates, options, base_heads, n, gold_heads, gold_labels, heads[rank], labels, rivals, 1.0, space, margins
        )  # fmt: skip
        add_tree(
            templates, options, base_heads, n, heads[rank], labels, gold_heads, gold_labels, rivals, -1.0, space, margins
        )  # fmt: skip
        rivals += 1
    if rivals == 0 or (lesson.rule != PERCEPTRON and largest <= REACHED):
        return 0
    if lesson.rule == PERCEPTRON:
        margins.steps[0] = 1.0
    else:
        rows.fill_gram(margins, rivals)
        rows.solve_margins(margins.gram, margins.wanted, rivals, lesson.clip, margins.steps)
    return rows.combine_margins(margins, rivals, update.features, update.outputs, update.deltas)


@inner
def lead_of_gold(margins, gold_pairs, gold_outputs, gold_count, space, count):  # type: ignore[no-untyped-def]
    """Return what the changes so far add to the lead of a gold arc over the collected one."""
    lead = 0.0
    for i in range(gold_count):
        lead += rows.difference_of(margins, 0, gold_pairs[i], gold_outputs[i])
    for i in range(count):
        lead -= rows.difference_of(margins, 0, space.pair_features[i], space.pair_outputs[i])
    return lead


@inner
def squared_distance(gold_pairs, gold_outputs, gold_count, space, count):  # type: ignore[no-untyped-def]
    """Return in how many pairs two arcs differ; no pair is twice in one arc."""
    same = np.uint64(0)
    for i in range(gold_count):
        for j in range(count):
            if gold_pairs[i] == space.pair_features[j] and gold_outputs[i] == space.pair_outputs[j]:
                same += np.uint64(1)
    return np.float64(gold_count + count) - 2.0 * np.float64(same)


@lean_part
def learn_arcs(templates, options, lesson, base_heads, n, space, margins, update):  # type: ignore[no-untyped-def]
    """Factored MIRA: every gold arc before every other arc to the same word by 1; return how many changes wait.

    The constraints are too many for a table of their products, so Hildreth's steps are taken on the changes
    themselves, which are kept as the difference to a single candidate.
    """
    size = np.uint64(n + 1)
    zero, one = np.uint64(0), np.uint64(1)
    rows.clear_margins(margins)
    for i in range(size * size):
        space.steps[i] = 0.0
    for _ in range(FACTORED_SWEEPS):
        largest = 0.0
        for dependent in range(one, size):
            right = np.uint64(space.gold_heads[dependent])
            gold_score = space.scores[right * size + dependent]
            if options.joint:
                gold_score -= space.label_gaps[dependent]
            gold_count = collect_arc(
                templates, options.joint, base_heads, right, dependent, space.gold_labels[dependent], space,
                space.gold_features, space.gold_outputs, zero,
            )  # fmt: skip
            for head in range(size):
                at = head * size + dependent
                label = space.best_labels[at] if options.joint else space.gold_labels[dependent]
                if head == dependent or (head == right and label == space.gold_labels[dependent]):
                    continue
                count = collect_arc(
                    templates, options.joint, base_heads, head, dependent, label, space, space.pair_features,
                    space.pair_outputs, zero,
                )  # fmt: skip
                missing = 1.0 - (gold_score - space.scores[at])
                missing -= lead_of_gold(margins, space.gold_features, space.gold_outputs, gold_count, space, count)
                old = space.steps[at]
                room = margins.used.shape[0] - margins.counters[0]
                if (missing <= REACHED and old == 0.0) or room < np.int64(gold_count + count):
                    continue
                distance = squared_distance(space.gold_features, space.gold_outputs, gold_count, space, count)
                if distance == 0.0:
                    continue
                space.steps[at] = min(max(old + missing / distance, 0.0), lesson.clip)
                change = space.steps[at] - old
                if change == 0.0:
                    continue
                largest = max(largest, abs(change) * distance)
                for i in range(gold_count):
                    rows.add_difference(margins, 0, space.gold_features[i], space.gold_outputs[i], change)
                add_collected(margins, 0, -change, space, count)
        if largest < FACTORED_TOLERANCE:
            break
    margins.steps[0] = 1.0
    return rows.combine_margins(margins, 1, update.features, update.outputs, update.deltas)


@lean_part
def learn_labels(templates, weights, lesson, base_heads, n, masks, tags, space, update, count):  # type: ignore[no-untyped-def]
    """Second stage: append the changes of the labels of gold arcs to `update`; return how many wait now."""
    find_family(n, space.gold_heads, space)
    for dependent in range(np.uint64(1), np.uint64(n + 1)):
        features = tree_label_features(templates, base_heads, n, space.gold_heads, dependent, space)
        sum_labels(weights.labels, space.features, features, space.places, space.sums)
        right = np.uint64(space.gold_labels[dependent])
        right_score = space.sums[right]
        space.sums[right] = np.float32(-np.inf)
        allowed, tag = np.uint64(space.gold_heads[dependent] != 0), np.uint64(tags[dependent])
        wrong, score = best_label(space.sums, allowed, tag, masks, np.int64(NO_LABEL))
        if score == np.float32(-np.inf):
            continue
        missing = np.float64(score) - np.float64(right_score)
        if lesson.rule == PERCEPTRON:
            step = 1.0 if missing >= 0.0 else 0.0
        else:
            step = min(lesson.clip, (missing + 1.0) / (2.0 * np.float64(features))) if missing + 1.0 > REACHED else 0.0
        if step == 0.0:
            continue
        for i in range(features):
            place = np.uint64(count)
            update.features[place] = space.features[i]
            update.outputs[place] = np.uint16(right)
            update.deltas[place] = np.float32(step)
            update.features[place + np.uint64(1)] = space.features[i]
            update.outputs[place + np.uint64(1)] = np.uint16(wrong)
            update.deltas[place + np.uint64(1)] = np.float32(-step)
            count += 2
    return count


@inner
def add_to_arcs(weights, averages, update, count):  # type: ignore[no-untyped-def]
    """Add the changes of arcs to their weights; return how many others are left at the front of `update`."""
    left = np.uint64(0)
    for i in range(np.uint64(count)):
        prefetch(weights.arcs.keys, home_slot(weights.arcs.keys, update.features[i]))
    for i in range(np.uint64(count)):
        if update.outputs[i] == ARC_OUTPUT:
            flat.add_weight(weights.arcs, averages.arcs, update.features[i], update.deltas[i])
        else:
            update.features[left] = update.features[i]
            update.outputs[left] = update.outputs[i]
            update.deltas[left] = update.deltas[i]
            left += np.uint64(1)
    return np.int64(left)


@entry
def finish_update(weights, averages, update):  # type: ignore[no-untyped-def]
    """Add what waits; return whether all of it found room."""
    update.counters[DONE] = rows.add_features(
        weights.labels, averages.labels, update.features, update.outputs, update.deltas, update.counters[COUNT],
        update.counters[DONE],
    )  # fmt: skip
    return update.counters[DONE] == update.counters[COUNT]


@entry
def train_range(  # type: ignore[no-untyped-def]
    templates, weights, averages, options, lesson, columns, offsets, all_base_heads, masks, tags, gold, order, first, last,
    space, chart, lists, contraction, partition, climb, margins, update,
):  # fmt: skip
    """Learn from sentences order[first:last]; return how many were done, how many led to an update, and room wanted.

    Stops before a sentence whose changes might not fit; what waits in `update` is added by `finish_update`.
    """
    updated = 0
    no_labels = gold[0, :0]
    for position in range(first, last):
        sentence = order[position]
        base, end = offsets[sentence], offsets[sentence + 1]
        n = end - base - 1
        if n == 0:
            averages.arcs.counters[flat.STEPS] += 1
            averages.labels.counters[rows.STEPS] += 1
            continue
        base_heads = all_base_heads[base:end] if all_base_heads.shape[0] > 0 else all_base_heads
        for token in range(n + 1):
            space.gold_heads[token] = gold[0, base + token]
            space.gold_labels[token] = gold[1, base + token]
        score_sentence(
            templates, weights, options, columns, base, n, base_heads, masks, tags[base:end], no_labels, True, lesson.cost,
            space,
        )  # fmt: skip
        if lesson.cost > 0.0 and not options.joint:
            add_costs(n, lesson.cost, space)
        if lesson.rule == FACTORED:
            count = learn_arcs(templates, options, lesson, base_heads, n, space, margins, update)
        else:
            count = learn_trees(
                templates, options, lesson, base_heads, n, space, chart, lists, contraction, partition, climb, margins,
                update,
            )  # fmt: skip
        if not options.joint:
            count = learn_labels(templates, weights, lesson, base_heads, n, masks, tags[base:end], space, update, count)
        if flat.flat_is_short(weights.arcs, averages.arcs, count) or rows.room_is_short(
            weights.labels, averages.labels, count
        ):
            return position - first, updated, count
        averages.arcs.counters[flat.STEPS] += 1
        averages.labels.counters[rows.STEPS] += 1
        updated += count > 0
        update.counters[COUNT] = add_to_arcs(weights, averages, update, count)
        update.counters[DONE] = 0
        if not finish_update(weights, averages, update):
            return position - first + 1, updated, count
    return last - first, updated, 0
