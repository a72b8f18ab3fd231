"""Kernels of the arc-eager parser: states, features and beam search.

A state is O(1): stacks are shared linked lists. A *node* is one word on a stack with what is known of its
arcs; it never changes, a transition makes new nodes. A *state* is the top node, the first word of the
buffer with its left children, and where the state came from. The artificial root stands at the end of the
buffer (position n + 1), so that every word leaves the stack by LEFT or REDUCE and every complete sequence
has exactly 2n transitions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from treetune.features._kernels import INNER, entry, inner, lean_entry, mix
from treetune.weights._kernels import DENSE_BIT, MISSING, Store, find_rows, prefetch_slots, split_rows

SHIFT, REDUCE, LEFT = 0, 1, 2  # then one LEFT and one RIGHT per label

# Fields of a node: a word on a stack.
WORD, BELOW, LABEL, LEFT1, LEFT1_LABEL, LEFT2, LEFT2_LABEL = 0, 1, 2, 3, 4, 5, 6
RIGHT1, RIGHT1_LABEL, RIGHT2, RIGHT2_LABEL, LEFT_COUNT, RIGHT_COUNT = 7, 8, 9, 10, 11, 12
NODE_FIELDS = 13

# Fields of a state; those of the buffer's first word mirror a node's.
TOP, FRONT, HEADLESS, BOTTOM, PREVIOUS, ACTION = 0, 1, 2, 3, 4, 5
FRONT_LEFT1, FRONT_LEFT1_LABEL, FRONT_LEFT2, FRONT_LEFT2_LABEL, FRONT_LEFT_COUNT = 6, 7, 8, 9, 10
STATE_FIELDS = 11

# Addresses of features: positions in a state that hold a word (and a label).
ADDRESSES = (
    *("S0", "S1", "S2", "N0", "N1", "N2", "N3", "S0h", "S0hh"),
    *("S0l", "S0ll", "S0r", "S0rr", "N0l", "N0ll", "S1l", "S1r"),
)
# Values of an address that are no column of the corpus; numbered below zero.
A_LABEL, A_LEFT_COUNT, A_RIGHT_COUNT, A_LEFT_SET, A_RIGHT_SET, A_DISTANCE, A_BASE = -1, -2, -3, -4, -5, -6, -7

NO_WORD = -1
NO_LABEL = -1


class Sentences(NamedTuple):
    """A corpus as numbers: `columns[c, offsets[s] + i]` is column c of token i (0 = root) of sentence s.

    `tags[offsets[s] + i]` is the row of `Labels.at_word` for the arc to token i.
    """

    columns: NDArray[np.int32]
    offsets: NDArray[np.int64]
    tags: NDArray[np.int32]


class Labels(NamedTuple):
    """Which labels an arc from the root and an arc from a word may bear; the latter by the tag of its dependent.

    `lists` has the same labels as numbers, `lengths` of them a row: first those from the root, then those of each tag.
    """

    at_root: NDArray[np.bool_]
    at_word: NDArray[np.bool_]
    lists: NDArray[np.int32]
    lengths: NDArray[np.int32]


class Templates(NamedTuple):
    """Feature templates: atoms (address, column), templates as lists of atoms, groups as lists of both.

    The *parts* of a group are what its atoms depend on (see `read_parts`), so that its summed rows can be
    remembered without hashing the atoms. The last group holds all templates, for searches that remember none.
    """

    atom_address: NDArray[np.int32]
    atom_column: NDArray[np.int32]
    atom_seed: NDArray[np.uint64]
    starts: NDArray[np.int32]
    atoms: NDArray[np.int32]
    seeds: NDArray[np.uint64]
    group_first: NDArray[np.int32]
    group_last: NDArray[np.int32]
    group_atom_starts: NDArray[np.int32]
    group_atoms: NDArray[np.int32]
    group_part_starts: NDArray[np.int32]
    group_parts: NDArray[np.int32]
    part_seed: NDArray[np.uint64]


class Arcs(NamedTuple):
    """Heads and labels over tokens, -1 where unknown: constraints or gold trees."""

    heads: NDArray[np.int32]
    labels: NDArray[np.int32]


class Fixed(NamedTuple):
    """The constraints of one sentence; the root is n + 1 here. See `prepare_fixed`."""

    heads: NDArray[np.int32]
    labels: NDArray[np.int32]
    last_dependent: NDArray[np.int32]
    first_dependent: NDArray[np.int32]
    reach: NDArray[np.int32]
    may_be_root: NDArray[np.bool_]
    tags: NDArray[np.int32]


class Workspace(NamedTuple):
    """Working memory of one search.

    `memo` is a hash table: a key, then the stamp of its sentence above the number of its row of `memo_sums`.
    """

    fixed: Fixed
    nodes: NDArray[np.int32]
    node_sets: NDArray[np.int64]
    states: NDArray[np.int32]
    state_sets: NDArray[np.int64]
    scores: NDArray[np.float64]
    counters: NDArray[np.int64]
    words: NDArray[np.int32]
    labels: NDArray[np.int32]
    parts: NDArray[np.uint64]
    atoms: NDArray[np.uint64]
    features: NDArray[np.uint64]
    rows: NDArray[np.int64]
    sums: NDArray[Any]
    best_score: NDArray[np.float64]
    best_state: NDArray[np.int32]
    best_action: NDArray[np.int32]
    memo: NDArray[np.uint64]
    memo_sums: NDArray[Any]
    group_rows: NDArray[np.uint64]
    new_groups: NDArray[np.int64]
    dense_ends: NDArray[np.uint64]
    short_starts: NDArray[np.uint64]


class SearchSetup(NamedTuple):
    """Everything a search needs that is the same for all sentences.

    `root_labels` says which labels an arc from the root alone has, and which it never has. With `memo` partial sums are
    kept within a sentence. States more than `margin` behind the best of their beam are dropped, unless exact scores are
    wanted.
    """

    templates: Templates
    store: Store
    labels: Labels
    root_labels: NDArray[np.bool_]
    beam: int
    memo: bool
    margin: float


class SearchResult(NamedTuple):
    """The best trees of each sentence: heads and labels rank by token, scores and numbers of trees by sentence.

    `actions` are the derivations, rank by 2 x tokens; without rows, neither these nor exact scores are wanted.
    """

    heads: NDArray[np.int32]
    labels: NDArray[np.int32]
    scores: NDArray[np.float64]
    actions: NDArray[np.int32]
    widths: NDArray[np.int32]


NODES_USED, MEMO_USED, MEMO_STAMP, LAST_ROOT = 0, 1, 2, 3
MEMO_ROW = np.uint64((1 << 32) - 1)


@inner
def prepare_fixed(work, setup, known, start, sentences, base, length):  # type: ignore[no-untyped-def]
    """Derive from the arcs `known` from `start` on (heads: -1 unknown, 0 root) what the search must respect.

    `last_dependent[i]` / `first_dependent[i]`: the outermost words whose known head is i (0: none);
    `reach[i]`: the last word that must be under i, so that i stays on the stack until it has come;
    `may_be_root[i]`: whether i can be the one root.
    """
    n = length
    fixed = work.fixed
    heads, labels, tags = known.heads[start:], known.labels[start:], sentences.tags[base:]
    always_root, never_root = setup.root_labels[0], setup.root_labels[1]
    known_root = 0
    for i in range(1, n + 1):
        head, label = heads[i], labels[i]
        if head == 0 or (head == -1 and label != NO_LABEL and always_root[label]):
            head = n + 1
            known_root = i
        fixed.heads[i] = head
        fixed.labels[i] = label
        fixed.tags[i] = tags[i]
        fixed.last_dependent[i] = 0
        fixed.first_dependent[i] = 0
        fixed.reach[i] = i
        fixed.may_be_root[i] = True
    fixed.last_dependent[n + 1] = 0
    fixed.first_dependent[n + 1] = 0
    for i in range(1, n + 1):
        head = fixed.heads[i]
        if head == -1:
            label = fixed.labels[i]
            if label != NO_LABEL and never_root[label]:
                fixed.may_be_root[i] = False
        elif head <= n:
            fixed.may_be_root[i] = False
            fixed.last_dependent[head] = i
            if fixed.first_dependent[head] == 0:
                fixed.first_dependent[head] = i
            for covered in range(min(i, head) + 1, max(i, head)):
                fixed.may_be_root[covered] = False
            while head != -1 and head <= n and fixed.reach[head] < i:
                fixed.reach[head] = i
                head = fixed.heads[head]
    if known_root:
        fixed.reach[known_root] = n
        for i in range(1, n + 1):
            fixed.may_be_root[i] = i == known_root
    last_root = 0
    for i in range(1, n + 1):
        if fixed.may_be_root[i]:
            last_root = i
    work.counters[LAST_ROOT] = last_root


@inner
def start_state(work, state):  # type: ignore[no-untyped-def]
    """Write the initial state: nothing on the stack, the first word in front."""
    states = work.states
    states[state, TOP] = -1
    states[state, FRONT] = 1
    states[state, HEADLESS] = 0
    states[state, BOTTOM] = 0
    states[state, PREVIOUS] = -1
    states[state, ACTION] = -1
    clear_front(work, state)
    work.scores[state] = 0.0
    work.counters[NODES_USED] = 0


@inner
def clear_front(work, state):  # type: ignore[no-untyped-def]
    """Forget the left children of the buffer's first word: a new word is in front."""
    states = work.states
    states[state, FRONT_LEFT1] = NO_WORD
    states[state, FRONT_LEFT1_LABEL] = NO_LABEL
    states[state, FRONT_LEFT2] = NO_WORD
    states[state, FRONT_LEFT2_LABEL] = NO_LABEL
    states[state, FRONT_LEFT_COUNT] = 0
    work.state_sets[state] = 0


CAN_SHIFT, CAN_REDUCE, CAN_LEFT, CAN_RIGHT = 1, 2, 4, 8  # bit i: SHIFT, REDUCE, LEFT or RIGHT


@inner
def legal_moves(work, state, n):  # type: ignore[no-untyped-def]
    """Return the kinds of transition that keep a single-root tree with everything fixed in reach.

    The one root is the word left at the bottom of the stack. A word that must stay on the stack until the
    last word has come (`reach` = n; the last word itself always) can only be pushed when no other word
    below it still waits for a head, since none would ever get one.
    """
    states, nodes, fixed = work.states, work.nodes, work.fixed
    top, front = states[state, TOP], states[state, FRONT]
    if front == n + 1:
        if nodes[top, LABEL] == NO_LABEL:
            return CAN_LEFT
        return CAN_REDUCE
    moves = 0
    last_root = work.counters[LAST_ROOT]
    stays = fixed.reach[front] == n
    head = fixed.heads[front]
    waited_for = fixed.first_dependent[front]
    # Left children come from right to left, so whoever stands at or beyond the outermost known one has all.
    leftmost = states[state, FRONT_LEFT1]
    all_left_taken = waited_for == 0 or waited_for > front or (leftmost != NO_WORD and leftmost <= waited_for)
    bottom = states[state, BOTTOM]
    if top == -1:
        if all_left_taken and (fixed.may_be_root[front] or not (stays or front >= last_root)):
            moves |= CAN_SHIFT
        return moves
    word = nodes[top, WORD]
    bottom_is_root = fixed.may_be_root[bottom]
    if all_left_taken and (front != last_root or bottom_is_root):
        if not stays and (head == -1 or head > front):
            moves |= CAN_SHIFT
        if (head == -1 or head == word) and (not stays or (states[state, HEADLESS] == 1 and bottom_is_root)):
            moves |= CAN_RIGHT
    if fixed.last_dependent[word] < front:
        if nodes[top, LABEL] != NO_LABEL:
            moves |= CAN_REDUCE
        elif (fixed.heads[word] == -1 or fixed.heads[word] == front) and (
            nodes[top, BELOW] != -1 or last_root >= front
        ):
            moves |= CAN_LEFT
    return moves


@inner
def _copy_node(work, source):  # type: ignore[no-untyped-def]
    node = work.counters[NODES_USED]
    work.counters[NODES_USED] += 1
    for field in range(NODE_FIELDS):
        work.nodes[node, field] = work.nodes[source, field]
    work.node_sets[node, 0] = work.node_sets[source, 0]
    work.node_sets[node, 1] = work.node_sets[source, 1]
    return node


@inner
def _push_front(work, state, below, label):  # type: ignore[no-untyped-def]
    """Make the node of the buffer's first word, taking over its left children."""
    states, nodes = work.states, work.nodes
    node = work.counters[NODES_USED]
    work.counters[NODES_USED] += 1
    nodes[node, WORD] = states[state, FRONT]
    nodes[node, BELOW] = below
    nodes[node, LABEL] = label
    nodes[node, LEFT1] = states[state, FRONT_LEFT1]
    nodes[node, LEFT1_LABEL] = states[state, FRONT_LEFT1_LABEL]
    nodes[node, LEFT2] = states[state, FRONT_LEFT2]
    nodes[node, LEFT2_LABEL] = states[state, FRONT_LEFT2_LABEL]
    nodes[node, RIGHT1] = NO_WORD
    nodes[node, RIGHT1_LABEL] = NO_LABEL
    nodes[node, RIGHT2] = NO_WORD
    nodes[node, RIGHT2_LABEL] = NO_LABEL
    nodes[node, LEFT_COUNT] = states[state, FRONT_LEFT_COUNT]
    nodes[node, RIGHT_COUNT] = 0
    work.node_sets[node, 0] = work.state_sets[state]
    work.node_sets[node, 1] = 0
    return node


@inner
def apply_action(work, source, action, target, n_labels):  # type: ignore[no-untyped-def]
    """Write into state `target` what `action` makes of state `source`."""
    states, nodes = work.states, work.nodes
    for field in range(STATE_FIELDS):
        states[target, field] = states[source, field]
    work.state_sets[target] = work.state_sets[source]
    states[target, PREVIOUS] = source
    states[target, ACTION] = action
    top = states[source, TOP]
    if action == SHIFT:
        states[target, TOP] = _push_front(work, source, np.int64(top), np.int64(NO_LABEL))
        states[target, HEADLESS] += 1
        if top == -1:
            states[target, BOTTOM] = states[source, FRONT]
        states[target, FRONT] += 1
        clear_front(work, target)
    elif action == REDUCE:
        states[target, TOP] = nodes[top, BELOW]
    elif action < LEFT + n_labels:
        label = action - LEFT
        states[target, TOP] = nodes[top, BELOW]
        states[target, HEADLESS] -= 1
        states[target, FRONT_LEFT2] = states[source, FRONT_LEFT1]
        states[target, FRONT_LEFT2_LABEL] = states[source, FRONT_LEFT1_LABEL]
        states[target, FRONT_LEFT1] = nodes[top, WORD]
        states[target, FRONT_LEFT1_LABEL] = label
        states[target, FRONT_LEFT_COUNT] += 1
        work.state_sets[target] |= np.int64(1) << np.int64(label % 63)
    else:
        label = action - LEFT - n_labels
        head = _copy_node(work, top)
        nodes[head, RIGHT2] = nodes[top, RIGHT1]
        nodes[head, RIGHT2_LABEL] = nodes[top, RIGHT1_LABEL]
        nodes[head, RIGHT1] = states[source, FRONT]
        nodes[head, RIGHT1_LABEL] = label
        nodes[head, RIGHT_COUNT] += 1
        work.node_sets[head, 1] |= np.int64(1) << np.int64(label % 63)
        states[target, TOP] = _push_front(work, source, head, label)
        states[target, FRONT] += 1
        clear_front(work, target)


@inner
def read_addresses(work, state, n):  # type: ignore[no-untyped-def]
    """Fill the word and the label at each feature address; NO_WORD and NO_LABEL where there is none."""
    words, labels = work.words, work.labels
    states, nodes = work.states, work.nodes
    for address in range(words.shape[0]):
        words[address] = NO_WORD
        labels[address] = NO_LABEL
    front = states[state, FRONT]
    for ahead in range(4):
        if front + ahead <= n:
            words[3 + ahead] = front + ahead
        elif front + ahead == n + 1:
            words[3 + ahead] = 0
    words[13] = states[state, FRONT_LEFT1]
    labels[13] = states[state, FRONT_LEFT1_LABEL]
    words[14] = states[state, FRONT_LEFT2]
    labels[14] = states[state, FRONT_LEFT2_LABEL]
    top = states[state, TOP]
    if top == -1:
        return
    words[0] = nodes[top, WORD]
    labels[0] = nodes[top, LABEL]
    words[9] = nodes[top, LEFT1]
    labels[9] = nodes[top, LEFT1_LABEL]
    words[10] = nodes[top, LEFT2]
    labels[10] = nodes[top, LEFT2_LABEL]
    words[11] = nodes[top, RIGHT1]
    labels[11] = nodes[top, RIGHT1_LABEL]
    words[12] = nodes[top, RIGHT2]
    labels[12] = nodes[top, RIGHT2_LABEL]
    second = nodes[top, BELOW]
    if second == -1:
        return
    words[1] = nodes[second, WORD]
    labels[1] = nodes[second, LABEL]
    words[15] = nodes[second, LEFT1]
    labels[15] = nodes[second, LEFT1_LABEL]
    words[16] = nodes[second, RIGHT1]
    labels[16] = nodes[second, RIGHT1_LABEL]
    third = nodes[second, BELOW]
    if third != -1:
        words[2] = nodes[third, WORD]
        labels[2] = nodes[third, LABEL]
    # A word on the stack with a head has it directly below.
    if labels[0] != NO_LABEL:
        words[7] = words[1]
        labels[7] = labels[1]
        if labels[1] != NO_LABEL:
            words[8] = words[2]
            labels[8] = labels[2]


# Parts of a state: first the word at each address, then the label at each, then these.
PART_LABELS = len(ADDRESSES)
PART_LEFT_COUNT = 2 * len(ADDRESSES)
PART_RIGHT_COUNT, PART_LEFT_SET, PART_RIGHT_SET = (
    PART_LEFT_COUNT + 1,
    PART_LEFT_COUNT + 2,
    PART_LEFT_COUNT + 3,
)
PART_FRONT_COUNT, PART_FRONT_SET = PART_LEFT_COUNT + 4, PART_LEFT_COUNT + 5
PARTS = PART_LEFT_COUNT + 6


@inner
def read_parts(work, state, templates):  # type: ignore[no-untyped-def]
    """Fill `work.parts` with a state's raw numbers, each times a random odd number of its own.

    Any sum of some parts is a key for those numbers: two states differ in it unless they agree in them all
    (or by a chance of 2^-64).
    """
    parts, seeds = work.parts, templates.part_seed
    for address in range(len(ADDRESSES)):
        parts[address] = np.uint64(work.words[address] + 1) * seeds[address]
        parts[PART_LABELS + address] = np.uint64(work.labels[address] + 1) * seeds[PART_LABELS + address]
    top = work.states[state, TOP]
    for part in range(PART_LEFT_COUNT, PARTS):
        parts[part] = np.uint64(0)
    if top != -1:
        parts[PART_LEFT_COUNT] = np.uint64(work.nodes[top, LEFT_COUNT]) * seeds[PART_LEFT_COUNT]
        parts[PART_RIGHT_COUNT] = np.uint64(work.nodes[top, RIGHT_COUNT]) * seeds[PART_RIGHT_COUNT]
        parts[PART_LEFT_SET] = np.uint64(work.node_sets[top, 0]) * seeds[PART_LEFT_SET]
        parts[PART_RIGHT_SET] = np.uint64(work.node_sets[top, 1]) * seeds[PART_RIGHT_SET]
    front_count = np.uint64(work.states[state, FRONT_LEFT_COUNT])
    parts[PART_FRONT_COUNT] = front_count * seeds[PART_FRONT_COUNT]
    parts[PART_FRONT_SET] = np.uint64(work.state_sets[state]) * seeds[PART_FRONT_SET]


@inner
def base_relation(columns, base, top, front):  # type: ignore[no-untyped-def]
    """Return what the base tree says of the top of the stack and the first word of the buffer, as one number.

    Of each: its head is the other one, farther out on the other's side (the root counts as the end of the
    sentence), on its own side, or between the two. The heads of the base tree are the last row of the columns.
    """
    heads = np.uint64(columns.shape[0] - 1)
    of_top, of_front = np.int64(0), np.int64(0)
    if top != NO_WORD:
        head = np.int64(columns[heads, np.uint64(base + top)])
        if head == front:
            of_top = np.int64(1)
        elif head == 0 or (front != 0 and head > front):
            of_top = np.int64(2)
        elif head < top:
            of_top = np.int64(3)
        else:
            of_top = np.int64(4)
    if front != 0:
        head = np.int64(columns[heads, np.uint64(base + front)])
        if head == top:
            of_front = np.int64(1)
        elif head == 0 or head > front:
            of_front = np.int64(3)
        elif top != NO_WORD and head < top:
            of_front = np.int64(2)
        else:
            of_front = np.int64(4)
    return np.int64(1) + np.int64(5) * of_top + of_front


@inner
def fill_atoms(work, state, templates, columns, base, group):  # type: ignore[no-untyped-def]
    """Hash the values of the atoms (address, column) of a group, each with its own seed."""
    words, labels, atoms = work.words, work.labels, work.atoms
    front = work.states[state, FRONT]
    front_count, front_set = np.int64(work.states[state, FRONT_LEFT_COUNT]), work.state_sets[state]
    top = work.states[state, TOP]
    left_count, right_count, left_set, right_set = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    if top != -1:
        left_count, right_count = (
            np.int64(work.nodes[top, LEFT_COUNT]),
            np.int64(work.nodes[top, RIGHT_COUNT]),
        )
        left_set, right_set = work.node_sets[top, 0], work.node_sets[top, 1]
    start, end = templates.group_atom_starts[group], templates.group_atom_starts[group + 1]
    for i in range(np.uint64(start), np.uint64(end)):
        atom = np.uint64(templates.group_atoms[i])
        address, column = np.uint64(templates.atom_address[atom]), templates.atom_column[atom]
        value = np.int64(0)
        if column >= 0:
            if words[address] != NO_WORD:
                value = np.int64(columns[np.uint64(column), np.uint64(base + words[address])])
        elif column == A_LABEL:
            value = np.int64(labels[address]) + 1
        elif column == A_DISTANCE:
            if words[0] != NO_WORD:
                value = min(np.int64(front - words[0]), np.int64(10))
        elif column == A_BASE:
            value = base_relation(columns, base, words[0], words[3])
        elif column == A_LEFT_COUNT:
            value = front_count if address == np.uint64(3) else left_count
        elif column == A_LEFT_SET:
            value = front_set if address == np.uint64(3) else left_set
        elif column == A_RIGHT_COUNT:
            value = right_count
        else:
            value = right_set
        atoms[atom] = mix(np.uint64(value) + templates.atom_seed[atom])


@inner
def hash_templates(atoms, features, templates, first, last):  # type: ignore[no-untyped-def]
    """Combine the atoms of templates [first, last) into feature numbers."""
    for template in range(first, last):
        combined = templates.seeds[template]
        start, end = templates.starts[template], templates.starts[template + np.uint64(1)]
        for i in range(np.uint64(start), np.uint64(end)):
            combined += atoms[np.uint64(templates.atoms[i])]
        features[template] = combined
    # A loop of its own becomes vector instructions.
    for template in range(first, last):
        features[template] = mix(features[template])


def find_group(work: Any, store: Any, group: Any, first: Any, last: Any) -> None:
    """Look up the rows of the features [first, last), which are those of a group."""


def add_group(work: Any, store: Any, group: Any, first: Any, last: Any, target: Any) -> None:
    """Add the rows that were found for a group to row `target` of `memo_sums`."""


def _find_live(work, store, group, first, last):  # type: ignore[no-untyped-def]
    find_rows(work.features, work.rows, store, first, last)


def _find_frozen(work, store, group, first, last):  # type: ignore[no-untyped-def]
    work.dense_ends[group], work.short_starts[group] = split_rows(work.features, work.rows, store, first, last)


def _add_live(work, store, group, first, last, target):  # type: ignore[no-untyped-def]
    """Add rows in the order of their templates: sums of real numbers depend on it."""
    rows, sums = work.rows, work.memo_sums
    for i in range(first, last):
        row = rows[i]
        if row == MISSING:
            continue
        if row & DENSE_BIT:
            dense = np.uint64(row ^ DENSE_BIT)
            for output in range(np.uint64(sums.shape[1])):
                sums[target, output] += store.dense[dense, output]
        else:
            start = np.uint64(row + 1)
            for cell in range(start, start + np.uint64(store.outputs[np.uint64(row)] & np.uint16(0xFF))):
                sums[target, store.outputs[cell]] += store.weights[cell]


def _add_frozen(work, store, group, first, last, target):  # type: ignore[no-untyped-def]
    """Add the dense rows, four at a time, then the others; rows and sums are whole vector registers wide."""
    rows, sums, dense = work.rows, work.memo_sums, store.dense
    width, one, two, four = np.uint64(dense.shape[1]), np.uint64(1), np.uint64(2), np.uint64(4)
    end = work.dense_ends[group]
    rest = end - (end - first) % four
    for i in range(first, rest, four):
        a, b = np.uint64(rows[i]), np.uint64(rows[i + one])
        c, d = np.uint64(rows[i + two]), np.uint64(rows[i + two + one])
        for output in range(width):
            sums[target, output] += dense[a, output] + dense[b, output] + dense[c, output] + dense[d, output]
    for i in range(rest, end):
        row = np.uint64(rows[i])
        for output in range(width):
            sums[target, output] += dense[row, output]
    for i in range(work.short_starts[group], last):
        row = np.uint64(rows[i])
        start = row + one
        for cell in range(start, start + np.uint64(store.outputs[two * row])):
            sums[target, np.uint64(store.outputs[two * cell])] += store.weights[two * cell + one]


def _is_frozen(store: Any) -> bool:
    return bool(store[Store._fields.index("dense")].dtype == types.int16)


@overload(find_group, jit_options=INNER)
def _choose_find(work, store, group, first, last):  # type: ignore[no-untyped-def]
    return _find_frozen if _is_frozen(store) else _find_live


@overload(add_group, jit_options=INNER)
def _choose_add(work, store, group, first, last, target):  # type: ignore[no-untyped-def]
    return _add_frozen if _is_frozen(store) else _add_live


@inner
def hash_state(work, state, templates, columns, base, n):  # type: ignore[no-untyped-def]
    """Fill `work.features` with all feature numbers of a state."""
    read_addresses(work, state, n)
    fill_atoms(work, state, templates, columns, base, templates.group_first.shape[0] - 1)
    hash_templates(work.atoms, work.features, templates, np.uint64(0), np.uint64(templates.seeds.shape[0]))


@inner
def find_memo(memo, counters, key):  # type: ignore[no-untyped-def]
    """Return the remembered row of a key and whether it is new (then it must be filled)."""
    slots = np.uint64(memo.shape[0] - 1)
    slot = key & slots
    stamp, half = np.uint64(counters[MEMO_STAMP]), np.uint64(32)
    while memo[slot, np.uint64(1)] >> half == stamp:
        if memo[slot, np.uint64(0)] == key:
            return memo[slot, np.uint64(1)] & MEMO_ROW, False
        slot = (slot + np.uint64(1)) & slots
    row = np.uint64(counters[MEMO_USED])
    counters[MEMO_USED] += 1
    memo[slot, np.uint64(0)] = key
    memo[slot, np.uint64(1)] = stamp << half | row
    return row, True


@inner
def recall_groups(work, state, templates):  # type: ignore[no-untyped-def]
    """Find the remembered sums of every group; list the groups that are new and return their number."""
    groups = templates.group_first.shape[0] - 1
    if work.counters[MEMO_USED] + groups > work.memo_sums.shape[0]:
        clear_memo(work.counters)
    read_parts(work, state, templates)
    new = 0
    for group in range(groups):
        key = np.uint64(group)
        start, end = templates.group_part_starts[group], templates.group_part_starts[group + 1]
        for i in range(np.uint64(start), np.uint64(end)):
            key += work.parts[np.uint64(templates.group_parts[i])]
        row, is_new = find_memo(work.memo, work.counters, mix(key))
        work.group_rows[group] = row
        if is_new:
            work.new_groups[new] = group
            new += 1
    return new


@inner
def score_state(work, setup, state, columns, base, n, memo):  # type: ignore[no-untyped-def]
    """Fill `work.sums` with the scores of all transitions from a state.

    With `memo` the sums of each group of templates are remembered, under the raw numbers that the group looks at;
    without, the group of all templates is always new. The features of all new groups are hashed, then looked up, then
    added, so that their memory accesses overlap. (Rows are indexed where they are: an array made from a row would cost
    more than adding it.)
    """
    templates, store = setup.templates, setup.store
    memo_sums, features = work.memo_sums, work.features
    read_addresses(work, state, n)
    all_templates = templates.group_first.shape[0] - 1
    first_group, last_group, new = all_templates, all_templates + 1, 1
    if memo:
        new = recall_groups(work, state, templates)
        first_group, last_group = 0, all_templates
    else:
        work.group_rows[all_templates] = 0
        work.new_groups[0] = all_templates
    for i in range(new):
        group = work.new_groups[i]
        first, last = np.uint64(templates.group_first[group]), np.uint64(templates.group_last[group])
        fill_atoms(work, state, templates, columns, base, group)
        hash_templates(work.atoms, features, templates, first, last)
        prefetch_slots(features, store.table, first, last)
    for i in range(new):
        group = work.new_groups[i]
        first, last = np.uint64(templates.group_first[group]), np.uint64(templates.group_last[group])
        find_group(work, store, group, first, last)
    for i in range(new):
        group = work.new_groups[i]
        first, last = np.uint64(templates.group_first[group]), np.uint64(templates.group_last[group])
        row = work.group_rows[group]
        for output in range(memo_sums.shape[1]):
            memo_sums[row, output] = 0
        add_group(work, store, group, first, last, row)
    sum_groups(work, first_group, last_group)


@inner
def sum_groups(work, first, last):  # type: ignore[no-untyped-def]
    """Fill `work.sums` with the sum of the rows of groups [first, last), in their order; four at a time."""
    sums, memo_sums, group_rows = work.sums, work.memo_sums, work.group_rows
    for output in range(sums.shape[0]):
        sums[output] = 0
    rest = last - (last - first) % 4
    for group in range(first, rest, 4):
        a, b, c, d = group_rows[group], group_rows[group + 1], group_rows[group + 2], group_rows[group + 3]
        for output in range(sums.shape[0]):
            sums[output] = (
                sums[output] + memo_sums[a, output] + memo_sums[b, output] + memo_sums[c, output] + memo_sums[d, output]
            )
    for group in range(rest, last):
        row = group_rows[group]
        for output in range(sums.shape[0]):
            sums[output] += memo_sums[row, output]


@inner
def clear_memo(counters):  # type: ignore[no-untyped-def]
    """Forget all partial sums: a new sentence, or new weights."""
    counters[MEMO_STAMP] += 1
    counters[MEMO_USED] = 0


@inner
def label_is_legal(label, fixed_label, tag, from_root, labels):  # type: ignore[no-untyped-def]
    """Say whether an arc may bear a label: the fixed one, or any that suits its head and the tag of its word."""
    if fixed_label != NO_LABEL:
        return label == fixed_label
    if from_root:
        return labels.at_root[label]
    return labels.at_word[tag, label]


@inner
def _offer(work, count, beam, score, state, action):  # type: ignore[no-untyped-def]
    """Keep a candidate if it is among the best `beam` so far; of equals the first offered stays first."""
    if count == beam:
        if score <= work.best_score[count - 1]:
            return count
        count -= 1
    index = count
    while index > 0 and work.best_score[index - 1] < score:
        work.best_score[index] = work.best_score[index - 1]
        work.best_state[index] = work.best_state[index - 1]
        work.best_action[index] = work.best_action[index - 1]
        index -= 1
    work.best_score[index] = score
    work.best_state[index] = state
    work.best_action[index] = action
    return count + 1


@inner
def _offer_arcs(work, setup, state, first, word, from_root, count):  # type: ignore[no-untyped-def]
    """Offer the arcs of one direction to a word; their transitions start at `first`."""
    score = work.scores[state]
    sums, fixed, labels, beam = work.sums, work.fixed, setup.labels, setup.beam
    if fixed.labels[word] != NO_LABEL:
        action = first + fixed.labels[word]
        return _offer(work, count, beam, score + sums[action], state, action)
    if count == beam:
        # Most states have no arc good enough: one quick look at the best, allowed or not, tells.
        best = sums[first]
        for action in range(np.uint64(first), np.uint64(first + labels.at_root.shape[0])):
            best = sums[action] if sums[action] > best else best
        if score + best <= work.best_score[count - 1]:
            return count
    row = np.uint64(0) if from_root else np.uint64(fixed.tags[word] + 1)
    for i in range(np.uint64(labels.lengths[row])):
        action = np.uint64(first) + np.uint64(labels.lists[row, i])
        total = score + sums[action]
        if count < beam or total > work.best_score[count - 1]:
            count = _offer(work, count, beam, total, state, np.int64(action))
    return count


@inner
def offer_moves(work, setup, state, moves, n, count):  # type: ignore[no-untyped-def]
    """Offer every legal transition of a scored state to the next beam; return the candidates kept."""
    score, n_labels = work.scores[state], setup.labels.at_root.shape[0]
    # Loops, so that what is inlined is inlined once.
    for action in range(LEFT):
        if moves >> action & 1:
            count = _offer(work, count, setup.beam, score + work.sums[action], state, np.int64(action))
    front = work.states[state, FRONT]
    for side in range(2):
        if moves >> (LEFT + side) & 1:
            word = front if side else work.nodes[work.states[state, TOP], WORD]
            count = _offer_arcs(work, setup, state, LEFT + side * n_labels, word, front == n + 1, count)
    return count


@inner
def search(work, setup, columns, base, n, exact):  # type: ignore[no-untyped-def]
    """Beam search; leaves states of step t at t * beam, best first. Returns the width of the last beam.

    Unless scores must be `exact`, greedy search does not score a state that has only one way on.
    """
    n_labels, beam = setup.labels.at_root.shape[0], setup.beam
    start_state(work, np.int64(0))
    if setup.memo:
        clear_memo(work.counters)
    width = np.int64(1)
    for step in range(2 * n):
        first = step * beam
        count = np.int64(0)
        for state in range(first, first + width):
            moves = legal_moves(work, state, n)
            if exact or beam > 1 or (moves != CAN_SHIFT and moves != CAN_REDUCE):
                score_state(work, setup, state, columns, base, n, setup.memo)
            count = offer_moves(work, setup, state, moves, n, count)
        if not exact:
            least = work.best_score[0] - setup.margin
            while work.best_score[count - 1] < least:
                count -= 1
        for i in range(count):
            apply_action(work, work.best_state[i], work.best_action[i], first + beam + i, n_labels)
            work.scores[first + beam + i] = work.best_score[i]
        width = count
    return width


@inner
def read_tree(work, state, n, n_labels, heads, labels):  # type: ignore[no-untyped-def]
    """Write heads (root = 0) and labels that a complete state stands for, into token positions 1 to n."""
    states = work.states
    while states[state, PREVIOUS] != -1:
        source, action = states[state, PREVIOUS], states[state, ACTION]
        front = states[source, FRONT]
        if action >= LEFT + n_labels:
            heads[front] = work.nodes[states[source, TOP], WORD]
            labels[front] = action - LEFT - n_labels
        elif action >= LEFT:
            word = work.nodes[states[source, TOP], WORD]
            heads[word] = 0 if front == n + 1 else front
            labels[word] = action - LEFT
        state = source


@lean_entry
def parse_range(work, setup, sentences, known, first, last, k, result):  # type: ignore[no-untyped-def]
    """Parse sentences [first, last) under the constraints `known` and write up to `k` best trees of each."""
    n_labels, beam = setup.labels.at_root.shape[0], setup.beam
    for sentence in range(first, last):
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        if n == 0:
            result.widths[sentence] = 0
            continue
        prepare_fixed(work, setup, known, base, sentences, base, n)
        exact = result.actions.shape[0] > 0
        width = search(work, setup, sentences.columns, base, n, exact)
        result.widths[sentence] = min(k, width)
        for rank in range(min(k, width)):
            state = 2 * n * beam + rank
            read_tree(work, state, n, n_labels, result.heads[rank, base:], result.labels[rank, base:])
            result.scores[sentence, rank] = work.scores[state]
            if exact:
                for step in range(2 * n - 1, -1, -1):
                    result.actions[rank, 2 * base + step] = work.states[state, ACTION]
                    state = work.states[state, PREVIOUS]


@lean_entry
def collect_features(  # type: ignore[no-untyped-def]
    work, templates, columns, base, n, n_labels, actions, first, last, features, outputs, count
):
    """Replay a sequence and append the features of its transitions [first, last); return the new count."""
    start_state(work, np.int64(0))
    for step in range(last):
        action = actions[step]
        if step >= first:
            hash_state(work, step, templates, columns, base, n)
            for template in range(templates.seeds.shape[0]):
                features[count] = work.features[template]
                outputs[count] = action
                count += 1
        apply_action(work, step, action, step + 1, n_labels)
    return count


@lean_entry
def score_sequence(work, setup, columns, base, n, actions):  # type: ignore[no-untyped-def]
    """Return the model score of a complete transition sequence."""
    return replay(work, setup, columns, base, n, actions, False)


@inner
def replay(work, setup, columns, base, n, actions, memo):  # type: ignore[no-untyped-def]
    """Go through a complete transition sequence and return its score."""
    start_state(work, np.int64(0))
    total = 0.0
    for step in range(2 * n):
        score_state(work, setup, step, columns, base, n, memo)
        total += work.sums[actions[step]]
        apply_action(work, step, actions[step], step + 1, setup.labels.at_root.shape[0])
    return total


@lean_entry
def score_range(work, setup, sentences, actions, derived, first, last, scores):  # type: ignore[no-untyped-def]
    """Write the scores of the transition sequences of sentences [first, last), where there are any.

    `actions` has a row for each rank over 2 x tokens. The sequences of a sentence meet the same words in much the same
    states, so partial sums are remembered.
    """
    for sentence in range(first, last):
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        clear_memo(work.counters)
        for rank in range(actions.shape[0]):
            if derived[sentence, rank]:
                scores[sentence, rank] = replay(
                    work, setup, sentences.columns, base, n, actions[rank, 2 * base :], True
                )


@entry
def oracle_actions(heads, arc_labels, n, n_labels, stack, actions):  # type: ignore[no-untyped-def]
    """Write the canonical transitions of a projective tree (root = 0 in `heads`) and return their number.

    Of the orders that arc-eager leaves open, a finished word is reduced only when it stands in the way.
    Fewer than 2n transitions: the tree is not projective.
    """
    last_right = np.zeros(n + 2, np.int64)
    attached = np.zeros(n + 2, np.bool_)
    for i in range(1, n + 1):
        last_right[heads[i]] = max(last_right[heads[i]], i)
    depth = 0
    front = 1
    count = 0
    while count < 2 * n:
        word = stack[depth - 1] if depth > 0 else 0
        if depth > 0 and ((front <= n and heads[word] == front) or (front > n and heads[word] == 0)):
            actions[count] = LEFT + arc_labels[word]
            depth -= 1
        elif front <= n and depth > 0 and heads[front] == word:
            actions[count] = LEFT + n_labels + arc_labels[front]
            attached[front] = True
            stack[depth] = front
            depth += 1
            front += 1
        elif attached[word] and last_right[word] < front and _must_reduce(stack, depth, heads, front, n):
            actions[count] = REDUCE
            depth -= 1
        elif front <= n and (depth == 0 or (heads[front] != 0 and front < n)):
            actions[count] = SHIFT
            stack[depth] = front
            depth += 1
            front += 1
        else:
            return count
        count += 1
    return count


@inner
def _must_reduce(stack, depth, heads, front, n):  # type: ignore[no-untyped-def]
    """Say whether the next word must meet one below the top: as its head, its child, or as a lone root."""
    if front > n:
        return True
    if heads[front] == 0 or front == n:
        return True
    for i in range(depth - 1):
        if heads[front] == stack[i] or heads[stack[i]] == front:
            return True
    return False


@entry
def derive_trees(heads, arc_labels, offsets, n_labels, actions, derived):  # type: ignore[no-untyped-def]
    """Write the canonical transitions of the trees of all sentences, and of each whether there are any.

    Ranks by tokens as in `parse_range`. Trees with crossing arcs, several roots or unknown labels have none.
    """
    stack = np.empty(heads.shape[1] + 2, np.int64)
    for sentence in range(offsets.shape[0] - 1):
        base = offsets[sentence]
        n = offsets[sentence + 1] - base - 1
        for rank in range(heads.shape[0]):
            roots, unknown = 0, 0
            for token in range(base + 1, base + 1 + n):
                roots += heads[rank, token] == 0
                unknown += arc_labels[rank, token] == NO_LABEL
            derived[sentence, rank] = False
            if unknown == 0 and (roots == 1 or n == 0):
                done = oracle_actions(
                    heads[rank, base:], arc_labels[rank, base:], n, n_labels, stack, actions[rank, 2 * base :]
                )
                derived[sentence, rank] = done == 2 * n
