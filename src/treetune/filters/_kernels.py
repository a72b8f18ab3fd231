"""Kernels of arc filters: scores of token roles, which arcs they remove, and how the scores are learned.

An arc is removed by an *event*: a role of its head or dependent, the role Root of a word between, or the arc's own
event Vine, when the event's score exceeds that of the arc's rejection event None (Cherry & Bergsma 2012, equation 1
with the dynamic threshold of section 3). The roles stand in the order of `roles.ROLES`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import entry, inner, lean_part, mix
from treetune.weights._flat_kernels import NOWHERE, find_entry
from treetune.weights._kernels import home_slot, prefetch

NOT_A_HEAD, LEFT_1, LEFT_5, LEFT, RIGHT_1, RIGHT_5, RIGHT, ROOT = 0, 1, 2, 3, 4, 5, 6, 7
ROLES = 8
# Events of arcs beside the roles of their words: Vine, and from BETWEEN on the role Root of a word other than the
# dependent, whose position is added.
VINE, BETWEEN = 8, 16
ALL_BITS = np.uint64(2**64 - 1)
# The score of an event that a rule detects.
CERTAIN = np.float32(1e6)
NEVER = np.float32(-1e30)
# Distances in which the roles of a dependent do not differ: 1, 2 to 5, more; leftward heads, then rightward ones, root.
BUCKETS = 3
FROM_ROOT = 2 * BUCKETS
BOUNDS = 2 * BUCKETS + 1


class TokenTemplates(NamedTuple):
    """Templates of tokens: template t has the atoms starts[t]..starts[t + 1], each a column at a shift."""

    starts: NDArray[np.int32]
    shift: NDArray[np.int32]
    column: NDArray[np.int32]
    seed: NDArray[np.uint64]
    template_seed: NDArray[np.uint64]


class Filter(NamedTuple):
    """A trained filter; one without rows removes nothing.

    `keys` and `places` say which of the `rows` (one number a role, in units of `unit`) a feature has; row 0 is that of
    the bias, which every word has. `vine` and `none`
    are weights of an arc's length by direction, tag of head and tag of dependent, `biases` their constants; tags are
    column `tag_column[0]` (-1: there are none), and a tag out of range counts as tag 0. `rules[tag, role]` says which
    roles a tag has for certain. `pairs` are templates of arcs, `pair_weights` their weights (by hashed feature).
    """

    templates: TokenTemplates
    keys: NDArray[np.uint64]
    places: NDArray[np.int32]
    rows: NDArray[np.int16]
    unit: NDArray[np.float32]
    tag_column: NDArray[np.int64]
    vine: NDArray[np.float32]
    none: NDArray[np.float32]
    biases: NDArray[np.float32]
    rules: NDArray[np.bool_]
    pairs: NDArray[np.int32]
    pair_weights: NDArray[np.float32]


class FilterWork(NamedTuple):
    """Working memory of a filter for one sentence: features and rows of a token, scores of roles, and their bounds."""

    features: NDArray[np.uint64]
    places: NDArray[np.int64]
    scores: NDArray[np.float32]
    bounds: NDArray[np.float32]
    tags: NDArray[np.int32]


class Events(NamedTuple):
    """What is known of a sentence before its arcs are looked at; see `Filter`."""

    scores: NDArray[np.float32]
    bounds: NDArray[np.float32]
    tags: NDArray[np.int32]
    vine: NDArray[np.float32]
    none: NDArray[np.float32]
    biases: NDArray[np.float32]


@inner
def token_feature(templates, t, columns, base, n, token):  # type: ignore[no-untyped-def]
    """Return the feature of a template at a token; positions outside of the sentence have the value 0."""
    feature = templates.template_seed[t]
    for atom in range(np.uint64(templates.starts[t]), np.uint64(templates.starts[t + np.uint64(1)])):
        there = np.int64(token) + np.int64(templates.shift[atom])
        value = np.uint64(0)
        if 0 <= there <= n:
            value = np.uint64(columns[np.uint64(templates.column[atom]), np.uint64(base + there)])
        feature += mix(value + templates.seed[atom])
    return feature


@entry
def token_features(templates, columns, offsets, features):  # type: ignore[no-untyped-def]
    """Write the features of all tokens of all sentences, a row a token."""
    for sentence in range(offsets.shape[0] - 1):
        base = offsets[sentence]
        n = offsets[sentence + 1] - base - 1
        for token in range(n + 1):
            for t in range(np.uint64(features.shape[1])):
                features[base + token, t] = token_feature(templates, t, columns, base, n, token)


@lean_part
def score_roles(filter_, columns, base, n, work):  # type: ignore[no-untyped-def]
    """Write the scores of all roles of all words."""
    count = np.uint64(filter_.templates.template_seed.shape[0])
    unit = filter_.unit[0]
    for token in range(np.uint64(1), np.uint64(n + 1)):
        for t in range(count):
            work.features[t] = token_feature(filter_.templates, t, columns, base, n, token)
            prefetch(filter_.keys, home_slot(filter_.keys, work.features[t]))
        found = np.uint64(0)
        for t in range(count):
            index = find_entry(filter_.keys, ALL_BITS, work.features[t])
            if index != NOWHERE:
                place = filter_.places[np.uint64(index)]
                work.places[found] = np.int64(place)
                found += np.uint64(1)
                prefetch(filter_.rows, np.uint64(place) * np.uint64(ROLES))
        for role in range(np.uint64(ROLES)):
            work.scores[token, role] = np.float32(filter_.rows[np.uint64(0), role])
        for i in range(found):
            place = np.uint64(work.places[i])
            for role in range(np.uint64(ROLES)):
                work.scores[token, role] += np.float32(filter_.rows[place, role])
        tag = np.uint64(work.tags[token])
        for role in range(np.uint64(ROLES)):
            work.scores[token, role] *= unit
            if filter_.rules[tag, role]:
                work.scores[token, role] = CERTAIN


@inner
def read_tags(tag_column, tags, columns, base, n, out):  # type: ignore[no-untyped-def]
    """Write the tags of all tokens, 0 for those out of range."""
    for token in range(np.uint64(n + 1)):
        out[token] = np.int32(0)
        if tag_column >= 0:
            tag = columns[np.uint64(tag_column), np.uint64(base) + token]
            if 0 <= tag < tags:
                out[token] = tag


@inner
def bucket_of(distance):  # type: ignore[no-untyped-def]
    """Return the bucket of a distance."""
    return np.uint64(0) if distance == 1 else np.uint64(1) if distance <= 5 else np.uint64(2)


@inner
def fill_bounds(n, scores, bounds):  # type: ignore[no-untyped-def]
    """Write for every dependent and bucket the best score of the dependent's own roles that remove such an arc."""
    for token in range(np.uint64(1), np.uint64(n + 1)):
        left = max(scores[token, LEFT_1], max(scores[token, LEFT_5], scores[token, LEFT]))
        right = max(scores[token, RIGHT_1], max(scores[token, RIGHT_5], scores[token, RIGHT]))
        root = scores[token, ROOT]
        # The head is on the left, then on the right.
        bounds[token, 0] = max(right, root)
        bounds[token, 1] = max(bounds[token, 0], scores[token, LEFT_1])
        bounds[token, 2] = max(bounds[token, 1], scores[token, LEFT_5])
        bounds[token, BUCKETS] = max(left, root)
        bounds[token, BUCKETS + 1] = max(bounds[token, BUCKETS], scores[token, RIGHT_1])
        bounds[token, BUCKETS + 2] = max(bounds[token, BUCKETS + 1], scores[token, RIGHT_5])
        bounds[token, FROM_ROOT] = max(left, right)


@inner
def two_roots(n, scores):  # type: ignore[no-untyped-def]
    """Return the best word as root, its score, and the score of the next best."""
    best, score, second = np.uint64(0), NEVER, NEVER
    for token in range(np.uint64(1), np.uint64(n + 1)):
        value = scores[token, ROOT]
        if value > score:
            best, score, second = token, value, score  # type: ignore[assignment]
        elif value > second:
            second = value
    return best, score, second


@inner
def threshold(events, side, head, dependent, length):  # type: ignore[no-untyped-def]
    """Return the scores of None and of Vine of an arc; `side` is 1 if it goes to the right."""
    first, second = np.uint64(events.tags[head]), np.uint64(events.tags[dependent])
    length = np.float32(length)
    none = events.biases[0] + events.none[side, first, second] * length
    return none, events.biases[1] + events.vine[side, first, second] * length


@lean_part
def mark_kept(events, n, kept):  # type: ignore[no-untyped-def]
    """Write 1 for every arc (head * size + dependent) that no event removes, else 0; O(n^2)."""
    size = np.uint64(n + 1)
    one = np.uint64(1)
    scores, bounds = events.scores, events.bounds
    best, best_root, second_root = two_roots(n, scores)
    kept[0] = np.uint8(0)
    for dependent in range(one, size):
        other = second_root if dependent == best else best_root
        none, vine = threshold(events, one, np.uint64(0), dependent, dependent)
        kept[dependent] = np.uint8(max(max(bounds[dependent, FROM_ROOT], other), vine) <= none)
    for head in range(one, size):
        row = head * size
        kept[row] = np.uint8(0)
        kept[row + head] = np.uint8(0)
        for side in range(np.uint64(2)):
            steps = np.uint64(n) - head if side == one else head - one
            over = scores[head, NOT_A_HEAD]
            for step in range(one, steps + one):
                dependent = head + step if side == one else head - step
                none, vine = threshold(events, side, head, dependent, step)
                bound = bounds[dependent, (one - side) * np.uint64(BUCKETS) + bucket_of(step)]
                kept[row + dependent] = np.uint8(max(max(bound, over), vine) <= none)
                over = max(over, scores[dependent, ROOT])


@inner
def pair_index(filter_, pair, columns, base, n, head, dependent):  # type: ignore[no-untyped-def]
    """Return where the weight of a template of arcs is.

    A template has two columns of the head and two of the dependent, each at a shift (-1: no column); the direction and
    the distance in buckets belong to every feature.
    """
    pairs = filter_.pairs
    feature = np.uint64(pair + 1)
    for place in range(4):
        there = np.int64(head if place < 2 else dependent) + np.int64(pairs[pair, place, 1])
        column = pairs[pair, place, 0]
        value = np.uint64(0)
        if column >= 0 and 0 <= there <= n:
            value = np.uint64(columns[np.uint64(column), np.uint64(base + there)]) + np.uint64(1)
        feature = mix(feature + value)
    length = abs(np.int64(head) - np.int64(dependent))
    bucket = length if length <= 5 else 6 if length <= 10 else 7
    feature = mix(feature + np.uint64(bucket * 2 + (dependent > head)))
    return feature & np.uint64(filter_.pair_weights.shape[0] - 1)


@lean_part
def drop_pairs(filter_, columns, base, n, kept):  # type: ignore[no-untyped-def]
    """Remove those of the kept arcs that the quadratic filter rejects."""
    size = np.uint64(n + 1)
    for head in range(size):
        for dependent in range(np.uint64(1), size):
            if kept[head * size + dependent] == np.uint8(0):
                continue
            total = np.float32(0)
            for pair in range(filter_.pairs.shape[0]):
                total += filter_.pair_weights[pair_index(filter_, pair, columns, base, n, head, dependent)]
            if total > np.float32(0):
                kept[head * size + dependent] = np.uint8(0)


@lean_part
def filter_sentence(filter_, columns, base, n, work, kept):  # type: ignore[no-untyped-def]
    """Write which arcs of a sentence are kept: 1 at head * (n + 1) + dependent, else 0."""
    read_tags(filter_.tag_column[0], filter_.rules.shape[0], columns, base, n, work.tags)
    score_roles(filter_, columns, base, n, work)
    fill_bounds(n, work.scores, work.bounds)
    mark_kept(Events(work.scores, work.bounds, work.tags, filter_.vine, filter_.none, filter_.biases), n, kept)
    if filter_.pairs.shape[0] > 0:
        drop_pairs(filter_, columns, base, n, kept)


@entry
def filter_range(filter_, columns, offsets, starts, first, last, work, kept):  # type: ignore[no-untyped-def]
    """Filter sentences [first, last); the arcs of each begin at its start in `kept`."""
    for sentence in range(first, last):
        base = offsets[sentence]
        n = offsets[sentence + 1] - base - 1
        filter_sentence(filter_, columns, base, n, work, kept[starts[sentence] : starts[sentence + 1]])


@entry
def role_scores(filter_, columns, offsets, work, scores):  # type: ignore[no-untyped-def]
    """Write the scores of the roles of all tokens."""
    for sentence in range(offsets.shape[0] - 1):
        base = offsets[sentence]
        n = offsets[sentence + 1] - base - 1
        read_tags(filter_.tag_column[0], filter_.rules.shape[0], columns, base, n, work.tags)
        score_roles(filter_, columns, base, n, work)
        for token in range(1, n + 1):
            for role in range(ROLES):
                scores[base + token, role] = work.scores[token, role]
