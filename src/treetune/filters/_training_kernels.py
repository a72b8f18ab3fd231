"""Kernels that train arc filters: linear SVMs by dual coordinate descent, the latent SVM by stochastic subgradients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import entry, inner, lean_part
from treetune.filters._kernels import (
    BETWEEN,
    LEFT,
    LEFT_1,
    NEVER,
    NOT_A_HEAD,
    RIGHT,
    RIGHT_1,
    ROLES,
    ROOT,
    VINE,
    Events,
    bucket_of,
    fill_bounds,
    mark_kept,
    pair_index,
    read_tags,
)


class Treebank(NamedTuple):
    """Sentences to train on: features of tokens (-1: none; the first is the bias), tags, heads, where arcs begin."""

    features: NDArray[np.int32]
    tags: NDArray[np.int32]
    heads: NDArray[np.int32]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]


class JointWeights(NamedTuple):
    """Weights of the latent SVM, all of them times `scale[0]`; `uses` says whether Vine and None have features."""

    roles: NDArray[np.float32]
    vine: NDArray[np.float32]
    none: NDArray[np.float32]
    biases: NDArray[np.float32]
    scale: NDArray[np.float64]
    uses: NDArray[np.bool_]


@lean_part
def _dot(weights, features):  # type: ignore[no-untyped-def]
    total = 0.0
    for index in features:
        if index >= 0:
            total += weights[index]
    return total


@entry
def train_svm(features, labels, costs, order, weights, alphas):  # type: ignore[no-untyped-def]
    """One pass of dual coordinate descent (Hsieh et al. 2008, L1 loss) over examples with binary features.

    `labels` are 1 or -1, `costs` those of a wrong -1 and of a wrong 1. Return the largest projected gradient.
    """
    largest = 0.0
    for i in order:
        label = np.float64(labels[i])
        cost = costs[1] if labels[i] > 0 else costs[0]
        gradient = label * _dot(weights, features[i]) - 1.0
        old = alphas[i]
        if (old == 0.0 and gradient >= 0.0) or (old == cost and gradient <= 0.0):
            continue
        largest = max(largest, abs(gradient))
        norm = 0.0
        for index in features[i]:
            norm += index >= 0
        alphas[i] = min(max(old - gradient / norm, 0.0), cost)
        step = (alphas[i] - old) * label
        for index in features[i]:
            if index >= 0:
                weights[index] += step
    return largest


@entry
def train_vine(treebank, costs, order, vine, bias, alphas):  # type: ignore[no-untyped-def]
    """One such pass over all arcs of sentences: an arc is to be removed (1) unless it is gold (-1)."""
    for sentence in order:
        base = treebank.offsets[sentence]
        size = treebank.offsets[sentence + 1] - base
        for dependent in range(1, size):
            for head in range(size):
                if head == dependent:
                    continue
                is_gold = treebank.heads[base + dependent] == head
                label = -1.0 if is_gold else 1.0
                cost = costs[0] if is_gold else costs[1]
                length = np.float64(abs(head - dependent))
                side, first, second = int(dependent > head), treebank.tags[base + head], treebank.tags[base + dependent]
                gradient = label * (bias[0] + vine[side, first, second] * length) - 1.0
                at = treebank.starts[sentence] + head * size + dependent
                old = np.float64(alphas[at])
                new = min(max(old - gradient / (1.0 + length * length), 0.0), cost)
                alphas[at] = np.float32(new)
                step = (new - old) * label
                bias[0] += step
                vine[side, first, second] += step * length


@entry
def train_pairs(filter_, columns, treebank, kept, costs, order, weights, alphas):  # type: ignore[no-untyped-def]
    """One such pass over the kept arcs of sentences, with the features of the quadratic filter."""
    pairs = filter_.pairs.shape[0]
    indices = np.empty(pairs, np.uint64)
    for sentence in order:
        base = treebank.offsets[sentence]
        n = treebank.offsets[sentence + 1] - base - 1
        size = n + 1
        for head in range(size):
            for dependent in range(1, size):
                at = treebank.starts[sentence] + head * size + dependent
                if kept[at] == 0:
                    continue
                is_gold = treebank.heads[base + dependent] == head
                label = -1.0 if is_gold else 1.0
                cost = costs[0] if is_gold else costs[1]
                total = 0.0
                for pair in range(pairs):
                    indices[pair] = pair_index(filter_, pair, columns, base, n, np.uint64(head), np.uint64(dependent))
                    total += weights[indices[pair]]
                old = np.float64(alphas[at])
                new = min(max(old - (label * total - 1.0) / pairs, 0.0), cost)
                if new != old:
                    alphas[at] = np.float32(new)
                    for pair in range(pairs):
                        weights[indices[pair]] += np.float32((new - old) * label)


@inner
def score_tokens(treebank, base, size, weights, scores):  # type: ignore[no-untyped-def]
    """Write the scores of the roles of all words of a sentence."""
    scale = np.float32(weights.scale[0])
    for token in range(1, size):
        for role in range(ROLES):
            scores[token, role] = np.float32(0)
        for index in treebank.features[base + token]:
            if index >= 0:
                for role in range(ROLES):
                    scores[token, role] += weights.roles[index, role]
        for role in range(ROLES):
            scores[token, role] *= scale


@inner
def role_removes(role, head_is_left, bucket):  # type: ignore[no-untyped-def]
    """Whether a role of a dependent that says where its head is removes an arc in a bucket of distances."""
    if role <= LEFT:
        return not head_is_left or bucket > role - LEFT_1
    return head_is_left or bucket > role - RIGHT_1


@lean_part
def best_event(scores, head, dependent, vine):  # type: ignore[no-untyped-def]
    """Return the best event of an arc and its score, words between and other roots left out."""
    score, event = vine, VINE
    if head > 0 and scores[head, NOT_A_HEAD] > score:
        score, event = scores[head, NOT_A_HEAD], NOT_A_HEAD
    if head > 0 and scores[dependent, ROOT] > score:
        score, event = scores[dependent, ROOT], ROOT
    bucket = np.int64(bucket_of(abs(dependent - head)))
    for role in range(LEFT_1, RIGHT + 1):
        if scores[dependent, role] > score and (head == 0 or role_removes(role, head < dependent, bucket)):
            score, event = scores[dependent, role], role
    return score, event


@lean_part
def event_score(scores, head, dependent, event, vine):  # type: ignore[no-untyped-def]
    """Return the score of an event of an arc."""
    if event >= BETWEEN:
        return scores[event - BETWEEN, ROOT]
    if event == VINE:
        return vine
    return scores[head if event == NOT_A_HEAD else dependent, event]


@lean_part
def arc_scores(weights, tags, base, head, dependent):  # type: ignore[no-untyped-def]
    """Return the scores of None and Vine of an arc."""
    side, first, second = int(dependent > head), tags[base + head], tags[base + dependent]
    length, scale = np.float32(abs(dependent - head)), np.float32(weights.scale[0])
    none, vine = np.float32(0), NEVER
    if weights.uses[1]:
        none = scale * (weights.biases[0] + weights.none[side, first, second] * length)
    if weights.uses[0]:
        vine = scale * (weights.biases[1] + weights.vine[side, first, second] * length)
    return none, vine


@lean_part
def next_roots(scores, size, head, roots):  # type: ignore[no-untyped-def]
    """Write for each dependent of a head which other word's role Root removes the arc with the best score (0: none)."""
    if head == 0:
        best, second = 0, 0
        for token in range(1, size):
            if best == 0 or scores[token, ROOT] > scores[best, ROOT]:
                best, second = token, best
            elif second == 0 or scores[token, ROOT] > scores[second, ROOT]:
                second = token
        for token in range(1, size):
            roots[token] = second if token == best else best
        return
    for direction in (1, -1):
        best = 0
        token = head + direction
        while 0 < token < size:
            roots[token] = best
            if best == 0 or scores[token, ROOT] > scores[best, ROOT]:
                best = token
            token += direction


@lean_part
def full_event(scores, roots, head, dependent, vine):  # type: ignore[no-untyped-def]
    """Return the best of all events of an arc and its score; `roots` are those of its head (`next_roots`)."""
    score, event = best_event(scores, head, dependent, vine)
    if roots[dependent] > 0 and scores[roots[dependent], ROOT] > score:
        return scores[roots[dependent], ROOT], BETWEEN + roots[dependent]
    return score, event


@lean_part
def move_arc(weights, tags, base, head, dependent, event, amount, gradients):  # type: ignore[no-untyped-def]
    """Add `amount` to the score of an event's features and take it from those of None."""
    scale = weights.scale[0]
    length = np.float32(abs(dependent - head))
    side, first, second = int(dependent > head), tags[base + head], tags[base + dependent]
    own = np.float32(amount / scale)
    if weights.uses[1]:
        weights.biases[0] -= own
        weights.none[side, first, second] -= own * length
    if event == VINE:
        weights.biases[1] += own
        weights.vine[side, first, second] += own * length
    elif event >= BETWEEN:
        gradients[event - BETWEEN, ROOT] += np.float32(amount)
    else:
        gradients[head if event == NOT_A_HEAD else dependent, event] += np.float32(amount)


@entry
def train_joint(treebank, assigned, costs, order, weights, scores, gradients, roots, clock):  # type: ignore[no-untyped-def]
    """One pass of stochastic subgradient descent on equation (2) with fixed events (Shalev-Shwartz et al. 2007).

    A step is a sentence; with S sentences, step t has the rate S / t. The step of one arc is at most the one that would
    give it its margin. `clock[0]` is t; `scores`, `gradients` and `roots` are scratch.
    """
    sentences = np.float64(treebank.offsets.shape[0] - 1)
    templates = np.float64(treebank.features.shape[1])
    for sentence in order:
        base = treebank.offsets[sentence]
        size = treebank.offsets[sentence + 1] - base
        rate = sentences / clock[0]
        weights.scale[0] *= 1.0 - 1.0 / clock[0]
        clock[0] += 1.0
        score_tokens(treebank, base, size, weights, scores)
        for token in range(size):
            for role in range(ROLES):
                gradients[token, role] = np.float32(0)
        for head in range(size):
            next_roots(scores, size, head, roots)
            for dependent in range(1, size):
                if head == dependent:
                    continue
                none, vine = arc_scores(weights, treebank.tags, base, head, dependent)
                if treebank.heads[base + dependent] == head:
                    score, event = full_event(scores, roots, head, dependent, vine)
                    sign, cost, margin = -1.0, costs[0], np.float64(none - score)
                else:
                    event = np.int64(assigned[treebank.starts[sentence] + head * size + dependent])
                    score = event_score(scores, head, dependent, event, vine)
                    sign, cost, margin = 1.0, costs[1], np.float64(score - none)
                if margin >= 1.0:
                    continue
                length = np.float64(abs(head - dependent))
                of_arc = 1.0 + length * length
                norm = (of_arc if event == VINE else templates) + (of_arc if weights.uses[1] else 0.0)
                amount = sign * min(rate * cost, (1.0 - margin) / norm)
                move_arc(weights, treebank.tags, base, head, dependent, event, amount, gradients)
        add_gradients(treebank, base, size, weights, gradients)
        if weights.scale[0] < 1e-3:
            rescale(weights)


@lean_part
def add_gradients(treebank, base, size, weights, gradients):  # type: ignore[no-untyped-def]
    """Add what the arcs of a sentence want of its words to the weights of their features."""
    scale = np.float32(weights.scale[0])
    for token in range(1, size):
        wanted = np.float32(0)
        for role in range(ROLES):
            gradients[token, role] /= scale
            wanted += abs(gradients[token, role])
        if wanted > 0:
            for index in treebank.features[base + token]:
                if index >= 0:
                    for role in range(ROLES):
                        weights.roles[index, role] += gradients[token, role]


@lean_part
def rescale(weights):  # type: ignore[no-untyped-def]
    """Multiply all weights by their scale, which becomes 1."""
    scale = np.float32(weights.scale[0])
    for i in range(weights.roles.shape[0]):
        for role in range(ROLES):
            weights.roles[i, role] *= scale
    for side in range(2):
        for first in range(weights.none.shape[1]):
            for second in range(weights.none.shape[2]):
                weights.none[side, first, second] *= scale
                weights.vine[side, first, second] *= scale
    for i in range(2):
        weights.biases[i] *= scale
    weights.scale[0] = 1.0


@entry
def joint_loss(treebank, assigned, costs, weights, scores, roots, assign):  # type: ignore[no-untyped-def]
    """Return the summed hinge losses of equation (2); with `assign`, choose the best event of every wrong arc first.

    Return also how many events have changed.
    """
    total, changed = 0.0, 0
    for sentence in range(treebank.offsets.shape[0] - 1):
        base = treebank.offsets[sentence]
        size = treebank.offsets[sentence + 1] - base
        score_tokens(treebank, base, size, weights, scores)
        for head in range(size):
            next_roots(scores, size, head, roots)
            for dependent in range(1, size):
                if head == dependent:
                    continue
                none, vine = arc_scores(weights, treebank.tags, base, head, dependent)
                at = treebank.starts[sentence] + head * size + dependent
                if treebank.heads[base + dependent] == head:
                    score, event = full_event(scores, roots, head, dependent, vine)
                    total += costs[0] * max(0.0, 1.0 - np.float64(none - score))
                    continue
                if assign:
                    score, event = full_event(scores, roots, head, dependent, vine)
                    changed += assigned[at] != event
                    assigned[at] = event
                else:
                    score = event_score(scores, head, dependent, np.int64(assigned[at]), vine)
                total += costs[1] * max(0.0, 1.0 - np.float64(score - none))
    return total, changed


@entry
def count_kept(scores, columns, offsets, heads, filter_, wanted, work, kept, counts):  # type: ignore[no-untyped-def]
    """Count gold arcs, kept gold arcs, arcs and kept arcs (`counts`), when only the `wanted` roles remove arcs."""
    for sentence in range(offsets.shape[0] - 1):
        base = offsets[sentence]
        size = offsets[sentence + 1] - base
        read_tags(filter_.tag_column[0], filter_.rules.shape[0], columns, base, size - 1, work.tags)
        for token in range(1, size):
            for role in range(ROLES):
                work.scores[token, role] = scores[base + token, role] if wanted[role] else NEVER
        fill_bounds(size - 1, work.scores, work.bounds)
        events = Events(work.scores, work.bounds, work.tags, filter_.vine, filter_.none, filter_.biases)
        mark_kept(events, size - 1, kept)
        for dependent in range(1, size):
            counts[0] += 1
            counts[1] += kept[heads[base + dependent] * size + dependent]
            for head in range(size):
                counts[2] += head != dependent
                counts[3] += kept[head * size + dependent]
