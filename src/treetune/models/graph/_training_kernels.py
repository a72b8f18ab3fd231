"""Training kernels of graph parsers: perceptron, k-best MIRA and factored MIRA."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treetune.features._kernels import entry, inner, lean_part, part
from treetune.models.graph import _kernels as search
from treetune.models.graph._arc_kernels import (
    ARC_OUTPUT,
    NO_LABEL,
    best_label,
    collect_arc,
    collect_grandparent,
    collect_siblings,
    find_family,
    sum_labels,
    tree_label_features,
)
from treetune.models.graph._sentence_kernels import (
    allow_arcs,
    grandparents_of,
    score_sentence,
    search_trees,
    siblings_of,
)
from treetune.weights import _flat_kernels as flat
from treetune.weights import _kernels as rows
from treetune.weights._kernels import FACTORED_MIRA, PERCEPTRON, ROUNDING, home_slot, prefetch

# Factored MIRA ends when no margin was short by more than this, or after so many sweeps over all arcs.
FACTORED_TOLERANCE = 0.01
FACTORED_SWEEPS = 10


class Averages(NamedTuple):
    """The averages of both kinds of weights."""

    arcs: flat.FlatAverages
    labels: rows.Averages


class Learning(NamedTuple):
    """The options of a learner as numbers; `cost` is that of a wrong arc in cost-augmented decoding, else 0."""

    rule: int
    k: int
    clip: float
    cost: float


@inner
def add_collected(margins, candidate, amount, work, count):  # type: ignore[no-untyped-def]
    """Add collected pairs to the difference to a candidate."""
    for i in range(count):
        rows.add_difference(margins, candidate, work.pair_features[i], work.pair_outputs[i], amount)


@lean_part
def add_tree(  # type: ignore[no-untyped-def]
    setup, base_heads, n, heads, labels, others, other_labels, candidate, amount, work, margins
):
    """Add the features that a tree has and another one has not (by their arcs) to the difference to a candidate."""
    templates, options = setup.templates, setup.options
    size = np.uint64(n + 1)
    zero, one = np.uint64(0), np.uint64(1)
    for dependent in range(one, size):
        if heads[dependent] != others[dependent] or labels[dependent] != other_labels[dependent]:
            head, label = np.uint64(heads[dependent]), labels[dependent]
            count = collect_arc(
                templates, options.joint, base_heads, head, dependent, label, work, work.pair_features,
                work.pair_outputs, zero,
            )  # fmt: skip
            add_collected(margins, candidate, amount, work, count)
    if options.second_order:
        find_family(n, heads, work)
        for dependent in range(one, size):
            head, third = np.uint64(heads[dependent]), np.uint64(work.family[0, dependent])
            count = collect_siblings(
                templates, head, dependent, third, work, work.pair_features, work.pair_outputs, zero
            )  # fmt: skip
            add_collected(margins, candidate, amount, work, count)
    if options.third_order:
        for dependent in range(one, size):
            head = np.uint64(heads[dependent])
            if head == zero or (heads[dependent] == others[dependent] and heads[head] == others[head]):
                continue
            count = collect_grandparent(
                templates, head, dependent, np.uint64(heads[head]), work, work.pair_features, work.pair_outputs, zero
            )  # fmt: skip
            add_collected(margins, candidate, amount, work, count)


@inner
def count_wrong(n, heads, labels, work):  # type: ignore[no-untyped-def]
    """Return the loss of a tree: the number of words with a wrong head or label."""
    loss = 0.0
    for dependent in range(np.uint64(1), np.uint64(n + 1)):
        if heads[dependent] != work.gold_heads[dependent] or labels[dependent] != work.gold_labels[dependent]:
            loss += 1.0
    return loss


@inner
def add_costs(n, cost, work):  # type: ignore[no-untyped-def]
    """Make every wrong arc better by `cost`."""
    size = np.uint64(n + 1)
    for dependent in range(np.uint64(1), size):
        for head in range(size):
            if np.int64(head) != np.int64(work.gold_heads[dependent]):
                work.scores[head * size + dependent] += cost


@inner
def gather_labels(n, heads, options, work, labels):  # type: ignore[no-untyped-def]
    """Write the labels of a candidate tree; without joint labels they do not matter and are those of gold."""
    size = np.uint64(n + 1)
    labels[0] = NO_LABEL
    for dependent in range(np.uint64(1), size):
        if options.joint:
            labels[dependent] = work.best_labels[np.uint64(heads[dependent]) * size + dependent]
        else:
            labels[dependent] = work.gold_labels[dependent]


@part
def learn_trees(setup, learning, base_heads, n, work, charts, margins, update):  # type: ignore[no-untyped-def]
    """Perceptron and k-best MIRA: compare gold with the best trees; return how many changes are in `update`."""
    options = setup.options
    size = n + 1
    k = learning.k
    heads, siblings = work.heads[: k * size].reshape(k, size), siblings_of(setup, n, work)
    third = grandparents_of(setup, n, work, charts.arcs)
    count = search_trees(
        siblings, third, n, k, work, charts.chart, charts.lists, charts.contraction, charts.partition, charts.climb,
        heads, work.out[:k],
    )  # fmt: skip
    scores = work.scores[: size * size].reshape(size, size)
    gold_heads = work.gold_heads
    gold_score = search.tree_score(scores, siblings, third, gold_heads, work.seen)
    if options.joint:
        for dependent in range(1, size):
            gold_score -= work.label_gaps[dependent]
    rows.clear_margins(margins)
    candidates = 0
    largest = 0.0
    labels, gold_labels = work.labels, work.gold_labels
    for rank in range(count):
        gather_labels(n, heads[rank], options, work, labels)
        loss = count_wrong(n, heads[rank], labels, work)
        if loss == 0.0:
            continue
        score = work.out[rank] - (loss if learning.cost > 0.0 else 0.0)
        margins.wanted[candidates] = loss - (gold_score - score)
        # The perceptron learns from the best tree only; one found by its cost need not be ahead of gold.
        if learning.rule == PERCEPTRON and (rank > 0 or (learning.cost == 0.0 and score < gold_score)):
            continue
        largest = max(largest, margins.wanted[candidates])
        add_tree(setup, base_heads, n, gold_heads, gold_labels, heads[rank], labels, candidates, 1.0, work, margins)
        add_tree(setup, base_heads, n, heads[rank], labels, gold_heads, gold_labels, candidates, -1.0, work, margins)
        candidates += 1
    if candidates == 0 or (learning.rule != PERCEPTRON and largest <= ROUNDING):
        return 0
    return rows.solve_update(margins, candidates, learning.rule, learning.clip, update)


@inner
def lead_of_gold(margins, gold_pairs, gold_outputs, gold_count, work, count):  # type: ignore[no-untyped-def]
    """Return what the changes so far add to the lead of a gold arc over the collected one."""
    lead = 0.0
    for i in range(gold_count):
        lead += rows.difference_of(margins, 0, gold_pairs[i], gold_outputs[i])
    for i in range(count):
        lead -= rows.difference_of(margins, 0, work.pair_features[i], work.pair_outputs[i])
    return lead


@inner
def squared_distance(gold_pairs, gold_outputs, gold_count, work, count):  # type: ignore[no-untyped-def]
    """Return in how many pairs two arcs differ; no pair is twice in one arc."""
    same = np.uint64(0)
    for i in range(gold_count):
        for j in range(count):
            if gold_pairs[i] == work.pair_features[j] and gold_outputs[i] == work.pair_outputs[j]:
                same += np.uint64(1)
    return np.float64(gold_count + count) - 2.0 * np.float64(same)


@lean_part
def learn_arcs(setup, learning, base_heads, n, work, margins, update):  # type: ignore[no-untyped-def]
    """Factored MIRA: every gold arc before every other arc to the same word by 1; return how many changes wait.

    The constraints are too many for a table of their products, so Hildreth's steps are taken on the changes
    themselves, which are kept as the difference to a single candidate.
    """
    templates, options = setup.templates, setup.options
    size = np.uint64(n + 1)
    zero, one = np.uint64(0), np.uint64(1)
    rows.clear_margins(margins)
    for i in range(size * size):
        work.steps[i] = 0.0
    for _ in range(FACTORED_SWEEPS):
        largest = 0.0
        for dependent in range(one, size):
            right = np.uint64(work.gold_heads[dependent])
            gold_score = work.scores[right * size + dependent]
            if options.joint:
                gold_score -= work.label_gaps[dependent]
            gold_count = collect_arc(
                templates, options.joint, base_heads, right, dependent, work.gold_labels[dependent], work,
                work.gold_features, work.gold_outputs, zero,
            )  # fmt: skip
            for head in range(size):
                at = head * size + dependent
                if work.allowed[at] == np.uint8(0):
                    continue
                label = work.best_labels[at] if options.joint else work.gold_labels[dependent]
                if head == right and label == work.gold_labels[dependent]:
                    continue
                count = collect_arc(
                    templates, options.joint, base_heads, head, dependent, label, work, work.pair_features,
                    work.pair_outputs, zero,
                )  # fmt: skip
                missing = 1.0 - (gold_score - work.scores[at])
                missing -= lead_of_gold(margins, work.gold_features, work.gold_outputs, gold_count, work, count)
                old = work.steps[at]
                room = margins.used.shape[0] - margins.counters[0]
                if (missing <= ROUNDING and old == 0.0) or room < np.int64(gold_count + count):
                    continue
                distance = squared_distance(work.gold_features, work.gold_outputs, gold_count, work, count)
                if distance == 0.0:
                    continue
                work.steps[at] = min(max(old + missing / distance, 0.0), learning.clip)
                change = work.steps[at] - old
                if change == 0.0:
                    continue
                largest = max(largest, abs(change) * distance)
                for i in range(gold_count):
                    rows.add_difference(margins, 0, work.gold_features[i], work.gold_outputs[i], change)
                add_collected(margins, 0, -change, work, count)
        if largest < FACTORED_TOLERANCE:
            break
    margins.steps[0] = 1.0
    return rows.combine_margins(margins, 1, update.features, update.outputs, update.deltas)


@lean_part
def learn_labels(setup, learning, base_heads, n, tags, work, update, count):  # type: ignore[no-untyped-def]
    """Second stage: append the changes of the labels of gold arcs to `update`; return how many wait now."""
    templates, weights, masks = setup.templates, setup.weights, setup.masks
    find_family(n, work.gold_heads, work)
    for dependent in range(np.uint64(1), np.uint64(n + 1)):
        features = tree_label_features(templates, base_heads, n, work.gold_heads, dependent, work)
        sum_labels(weights.labels, work.features, features, work.indices, work.sums)
        right = np.uint64(work.gold_labels[dependent])
        right_score = work.sums[right]
        work.sums[right] = np.float32(-np.inf)
        allowed, tag = np.uint64(work.gold_heads[dependent] != 0), np.uint64(tags[dependent])
        wrong, score = best_label(work.sums, allowed, tag, masks, np.int64(NO_LABEL))
        if score == np.float32(-np.inf):
            continue
        missing = np.float64(score) - np.float64(right_score)
        if learning.rule == PERCEPTRON:
            step = 1.0 if missing >= 0.0 else 0.0
        else:
            step = (
                min(learning.clip, (missing + 1.0) / (2.0 * np.float64(features))) if missing + 1.0 > ROUNDING else 0.0
            )
        if step == 0.0:
            continue
        for i in range(features):
            index = np.uint64(count)
            update.features[index] = work.features[i]
            update.outputs[index] = np.uint16(right)
            update.deltas[index] = np.float32(step)
            update.features[index + np.uint64(1)] = work.features[i]
            update.outputs[index + np.uint64(1)] = np.uint16(wrong)
            update.deltas[index + np.uint64(1)] = np.float32(-step)
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
def train_range(  # type: ignore[no-untyped-def]
    setup, averages, learning, sentences, gold, order, first, last, work, charts, margins, update
):
    """Learn from sentences order[first:last]; return how many were done, how many led to an update, and room wanted.

    Stops before a sentence whose changes might not fit; what is pending in `update` is added by `finish_update`.
    """
    updated = 0
    weights, options, all_base_heads = setup.weights, setup.options, sentences.base_heads
    no_labels = gold[0, :0]
    for position in range(first, last):
        sentence = order[position]
        base, end = sentences.offsets[sentence], sentences.offsets[sentence + 1]
        n = end - base - 1
        if n == 0:
            averages.arcs.counters[flat.STEPS] += 1
            averages.labels.counters[rows.STEPS] += 1
            continue
        base_heads = all_base_heads[base:end] if all_base_heads.shape[0] > 0 else all_base_heads
        for token in range(n + 1):
            work.gold_heads[token] = gold[0, base + token]
            work.gold_labels[token] = gold[1, base + token]
        allow_arcs(setup, sentences, base, n, setup.filter.rows.shape[0] > 0, work)
        for token in range(1, n + 1):
            work.allowed[work.gold_heads[token] * (n + 1) + token] = np.uint8(1)
        score_sentence(setup, sentences, base, n, base_heads, no_labels, True, learning.cost, work)
        if learning.cost > 0.0 and not options.joint:
            add_costs(n, learning.cost, work)
        if learning.rule == FACTORED_MIRA:
            count = learn_arcs(setup, learning, base_heads, n, work, margins, update)
        else:
            count = learn_trees(setup, learning, base_heads, n, work, charts, margins, update)
        if not options.joint:
            count = learn_labels(setup, learning, base_heads, n, sentences.tags[base:end], work, update, count)
        if flat.flat_is_short(weights.arcs, averages.arcs, count) or rows.room_is_short(
            weights.labels, averages.labels, count
        ):
            return position - first, updated, count
        averages.arcs.counters[flat.STEPS] += 1
        averages.labels.counters[rows.STEPS] += 1
        updated += count > 0
        left = add_to_arcs(weights, averages, update, count)
        if not rows.apply_update(weights.labels, averages.labels, update, left):
            return position - first + 1, updated, count
    return last - first, updated, 0
