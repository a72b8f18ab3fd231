"""Training kernels of linear chains: perceptron and k-best MIRA."""

from __future__ import annotations

import numpy as np

from treetune.features._kernels import inner, lean_entry
from treetune.models.sequence._kernels import hash_chain, hash_words, read_paths, search
from treetune.weights._kernels import (
    MIRA,
    PERCEPTRON,
    ROUNDING,
    STEPS,
    apply_update,
    clear_margins,
    pair_slot,
    room_is_short,
    solve_update,
)


@inner
def context_differs(gold, path, position):  # type: ignore[no-untyped-def]
    """Say whether two outputs differ at a position or at one of the two before it."""
    for index in range(max(1, position - 2), position + 1):
        if gold[np.uint64(index)] != path[np.uint64(index)]:
            return True
    return False


@inner
def add_pair(margins, parts, feature, tag, rank, amount):  # type: ignore[no-untyped-def]
    """Add an amount to the count of a feature with a tag, and with each part of the tag."""
    margins.counts[pair_slot(margins, feature, tag), rank] += np.float32(amount)
    for i in range(np.uint64(parts.starts[np.uint64(tag)]), np.uint64(parts.starts[np.uint64(tag) + np.uint64(1)])):
        margins.counts[pair_slot(margins, feature, parts.outputs[i]), rank] += np.float32(amount)


@inner
def collect_margins(work, setup, columns, base, n, gold, count, margins):  # type: ignore[no-untyped-def]
    """Fill `margins` with the features of gold minus those of each of `count` paths."""
    clear_margins(margins)
    paths, templates, parts, boundary = work.paths, setup.templates, setup.parts, setup.outputs
    of_words, every = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[2])
    for position in range(1, n + 1):
        differs = False
        for rank in range(np.uint64(count)):
            differs = differs or context_differs(gold, paths[rank], position)
        if not differs:
            continue
        hash_words(work, templates, columns, base, n, position, False)
        at = np.uint64(position)
        for template in range(of_words):
            for rank in range(np.uint64(count)):
                if paths[rank, at] != gold[at]:
                    add_pair(margins, parts, work.features[template], gold[at], rank, 1)
                    add_pair(margins, parts, work.features[template], paths[rank, at], rank, -1)
        for rank in range(np.uint64(count)):
            if not context_differs(gold, paths[rank], position):
                continue
            hash_chain(work, templates, gold, position, boundary)
            for template in range(of_words, every):
                add_pair(margins, parts, work.features[template], gold[at], rank, 1)
            hash_chain(work, templates, paths[rank], position, boundary)
            for template in range(of_words, every):
                add_pair(margins, parts, work.features[template], paths[rank, at], rank, -1)


@inner
def wrong_tags(gold, path, n):  # type: ignore[no-untyped-def]
    """Return the number of words with another tag than in gold."""
    wrong = 0
    for position in range(1, n + 1):
        wrong += gold[np.uint64(position)] != path[np.uint64(position)]
    return wrong


@inner
def needs_update(work, margins, gold, gold_score, n, count, rule):  # type: ignore[no-untyped-def]
    """Say whether to update from `count` paths; fills `wanted`, how far gold is from each margin.

    The perceptron updates from the best path alone, if it is not gold; MIRA from all k, gold being to lead each by the
    number of its wrong tags.
    """
    if rule == PERCEPTRON:
        return wrong_tags(gold, work.paths[0], n) > 0
    is_short = False
    for rank in range(np.uint64(count)):
        wrong = wrong_tags(gold, work.paths[rank], n)
        margins.wanted[rank] = wrong - (gold_score - work.best[rank])
        is_short = is_short or (wrong > 0 and margins.wanted[rank] > ROUNDING)
    return is_short


@lean_entry
def train_range(  # type: ignore[no-untyped-def]
    work, setup, averages, sentences, gold, rule, k, clip, order, first, last, margins, update
):
    """Learn from sentences order[first:last]; return how many were done and how many led to an update.

    Stops early when the store must be enlarged; what is pending in `update` is then added by `finish_update`.
    """
    updated = 0
    store, templates, widest = setup.store, setup.templates, 1
    for tag in range(setup.outputs):
        widest = max(widest, 1 + setup.parts.starts[tag + 1] - setup.parts.starts[tag])
    for position in range(first, last):
        sentence = order[position]
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        if room_is_short(store, averages, (k + 1) * n * widest * templates.seeds.shape[0]):
            return position - first, updated
        averages.counters[STEPS] += 1
        gold_score = search(work, setup, sentences, base, n, k, rule == MIRA, gold)
        count = read_paths(work, setup.sets, sentences, base, n, k)
        tags = gold[base:]
        if n == 0 or not needs_update(work, margins, tags, gold_score, n, count, rule):
            continue
        collect_margins(work, setup, sentences.columns, base, n, tags, count, margins)
        updated += 1
        changes = solve_update(margins, count, rule, clip, update)
        if not apply_update(store, averages, update, changes):
            return position - first + 1, updated
    return last - first, updated
