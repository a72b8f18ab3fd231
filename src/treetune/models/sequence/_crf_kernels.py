"""Forward-backward kernels of linear chains: marginal probabilities, and the gradient of a CRF."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import inner, lean_entry
from treetune.models.sequence._kernels import (
    chain_feature,
    collect_needed,
    fill_bigrams,
    fill_emissions,
    fill_moves,
    hash_tag,
    hash_words,
    set_at,
    set_range,
)
from treetune.weights._kernels import DENSE_BIT, MISSING, STEPS, apply_update, find_row, room_is_short

NOWHERE = np.int64(-1)
# Changes of weights below this are not made.
SMALLEST_CHANGE = 1e-9


class Marginals(NamedTuple):
    """Working memory of forward-backward besides `Workspace`: probabilities instead of best paths."""

    betas: NDArray[np.float64]
    gaps: NDArray[np.float64]
    tags: NDArray[np.float64]
    pairs: NDArray[np.float64]
    states: NDArray[np.float64]
    indices: NDArray[np.int32]


@inner
def add_log(tops, gaps, index, value):  # type: ignore[no-untyped-def]
    """Add the exponential of a value to one of several sums, kept as ``exp(top) * gap``."""
    if value > tops[index]:
        gaps[index] = gaps[index] * np.exp(tops[index] - value) + 1.0
        tops[index] = value
    else:
        gaps[index] += np.exp(value - tops[index])


@inner
def score_position(work, setup, sentences, base, n, position):  # type: ignore[no-untyped-def]
    """Fill `emissions` and `bigrams` of a position; return its tags, the sets before it, and the size of the last."""
    sets = setup.sets
    start, end = set_range(sets, set_at(sentences, base, position))
    last_set, set_before = set_at(sentences, base, position - 1), set_at(sentences, base, position - 2)
    previous_start, previous_end = set_range(sets, last_set)
    hash_words(work, setup.templates, sentences.columns, base, n, position, False)
    collect_needed(work, setup, start, end)
    fill_bigrams(work, setup, last_set, start, end, False)
    fill_emissions(work, setup, start, end, True)
    return start, end, last_set, set_before, previous_end - previous_start


@inner
def forward(work, marginals, setup, sentences, base, n, unit):  # type: ignore[no-untyped-def]
    """Fill `scores` with the logarithms of the summed ways to each state; return that of all ways.

    A score counts `unit` times. Layers are those of `search` with k = 1.
    """
    second_order = setup.second_order
    alphas, layers, gaps = work.scores, work.layers, marginals.gaps
    alphas[0] = 0.0
    layers[0], layers[1] = 0, 1
    states = np.uint64(1)
    for position in range(1, n + 1):
        start, end, last_set, set_before, previous_size = score_position(work, setup, sentences, base, n, position)
        size = end - start
        source, layer = np.uint64(layers[position - 1]), np.uint64(layers[position])
        new_states = previous_size * size if second_order else size
        for state in range(new_states):
            alphas[layer + state] = -np.inf
            gaps[layer + state] = 0.0
        for state in range(states):
            fill_moves(work, setup, set_before, last_set, start, end, state)
            shift = (state % previous_size) * size if second_order else np.uint64(0)
            for index in range(size):
                step = unit * (work.moves[index] + work.emissions[index])
                add_log(alphas, gaps, layer + shift + index, alphas[source + state] + step)
        for state in range(new_states):
            alphas[layer + state] += np.log(gaps[layer + state])
        states = new_states
        layers[position + 1] = np.int64(layer + new_states)
    return sum_layer(alphas, layers[n], layers[n + 1])


@inner
def sum_layer(alphas, first, last):  # type: ignore[no-untyped-def]
    """Return the logarithm of the summed exponentials of alphas[first:last]."""
    highest = -np.inf
    for index in range(np.uint64(first), np.uint64(last)):
        highest = max(highest, alphas[index])
    total = 0.0
    for index in range(np.uint64(first), np.uint64(last)):
        total += np.exp(alphas[index] - highest)
    return highest + np.log(total)


@inner
def backward(  # type: ignore[no-untyped-def]
    work, marginals, setup, sentences, base, n, position, unit, log_sum, gold, update, rate, count
):
    """Go back from one position to that before it: fill `betas` there, and the probabilities of tags and of pairs.

    With a `rate`, write that times the gradient of the log-likelihood of gold into `update`, from `count` on; return
    how many changes there are then, which may be more than there is room for.
    """
    templates, store, sets, second_order = setup.templates, setup.store, setup.sets, setup.second_order
    alphas, layers, betas, gaps = work.scores, work.layers, marginals.betas, marginals.gaps
    start, end, last_set, set_before, previous_size = score_position(work, setup, sentences, base, n, position)
    size = end - start
    source, layer = np.uint64(layers[position - 1]), np.uint64(layers[position])
    states = layer - source
    for index in range(size):
        marginals.tags[index] = 0.0
        marginals.indices[np.uint64(sets.tags[start + index])] = np.int32(index)
    for pair in range(previous_size * size):
        marginals.pairs[pair] = 0.0
    gold_index, gold_last, gold_before = NOWHERE, NOWHERE, NOWHERE
    if rate > 0.0:
        gold_index = index_of(sets, set_at(sentences, base, position), gold[np.uint64(base + position)])
        gold_last = index_of(sets, last_set, gold[np.uint64(base + position - 1)])
        before = gold[np.uint64(base + position - 2)] if position > 1 else gold[np.uint64(base)]
        gold_before = index_of(sets, set_before, before)
    for state in range(states):
        fill_moves(work, setup, set_before, last_set, start, end, state)
        last_index = state % previous_size
        shift = last_index * size if second_order else np.uint64(0)
        betas[source + state] = -np.inf
        gaps[source + state] = 0.0
        for index in range(size):
            step = unit * (work.moves[index] + work.emissions[index]) + betas[layer + shift + index]
            add_log(betas, gaps, source + state, step)
            probability = np.exp(alphas[source + state] + step - log_sum)
            marginals.states[index] = probability
            marginals.tags[index] += probability
            marginals.pairs[last_index * size + index] += probability
        betas[source + state] += np.log(gaps[source + state])
        if rate > 0.0 and second_order:
            is_gold = np.int64(last_index) == gold_last and np.int64(state // previous_size) == gold_before
            # `features` of these templates are still those of this state.
            for template in range(np.uint64(templates.bounds[1]), np.uint64(templates.bounds[2])):
                count = add_gradient(
                    store, sets.tags, start, end, work.features[template], marginals.states, np.uint64(0),
                    marginals.indices, gold_index if is_gold else NOWHERE, rate, update, count,
                )  # fmt: skip
    if rate > 0.0:
        count = add_gradients(work, marginals, setup, last_set, start, end, gold_index, gold_last, rate, update, count)
    for index in range(size):
        marginals.indices[np.uint64(sets.tags[start + index])] = -1
    return count


@inner
def index_of(sets, number, tag):  # type: ignore[no-untyped-def]
    """Return the index of a tag in a set; it must be there."""
    start, _ = set_range(sets, number)
    index = np.int64(0)
    while sets.tags[start + np.uint64(index)] != tag:
        index += 1
    return index


@inner
def add_gradients(  # type: ignore[no-untyped-def]
    work, marginals, setup, last_set, start, end, gold_index, gold_last, rate, update, count
):
    """Write the changes of features of words, and of those with the last tag."""
    templates, store, sets = setup.templates, setup.store, setup.sets
    size = end - start
    for template in range(np.uint64(templates.bounds[0])):
        count = add_gradient(
            store, sets.tags, start, end, work.features[template], marginals.tags, np.uint64(0), marginals.indices,
            gold_index, rate, update, count,
        )  # fmt: skip
    previous_start, previous_end = set_range(sets, last_set)
    for previous in range(previous_start, previous_end):
        index = previous - previous_start
        last_hash = hash_tag(templates, sets.tags[previous], 0)
        for template in range(np.uint64(templates.bounds[0]), np.uint64(templates.bounds[1])):
            feature = chain_feature(work.parts, templates, template, last_hash, np.uint64(0))
            count = add_gradient(
                store, sets.tags, start, end, feature, marginals.pairs, index * size, marginals.indices,
                gold_index if np.int64(index) == gold_last else NOWHERE, rate, update, count,
            )  # fmt: skip
    return count


@inner
def add_gradient(  # type: ignore[no-untyped-def]
    store, tags, start, end, feature, marginals, offset, indices, gold_index, rate, update, count,
):  # fmt: skip
    """Write ``rate * (gold - probability)`` for the weights that a feature has, and that of the gold tag."""
    row = find_row(store.table, feature)
    met_gold = False
    if row != MISSING:
        if row & DENSE_BIT:
            dense = np.uint64(row ^ DENSE_BIT)
            for index in range(end - start):
                tag = tags[start + index]
                is_gold = np.int64(index) == gold_index
                if is_gold or store.dense[dense, np.uint64(tag)] != 0:
                    met_gold = met_gold or is_gold
                    count = put(update, count, feature, tag, rate * (is_gold - marginals[offset + index]))
        else:
            first_cell = np.uint64(row + 1)
            for cell in range(first_cell, first_cell + np.uint64(store.outputs[np.uint64(row)] & np.uint16(0xFF))):
                at = np.int64(indices[np.uint64(store.outputs[cell])])
                if at >= 0:
                    is_gold = at == gold_index
                    met_gold = met_gold or is_gold
                    delta = rate * (is_gold - marginals[offset + np.uint64(at)])
                    count = put(update, count, feature, store.outputs[cell], delta)
    if gold_index >= 0 and not met_gold:
        delta = rate * (1.0 - marginals[offset + np.uint64(gold_index)])
        count = put(update, count, feature, tags[start + np.uint64(gold_index)], delta)
    return count


@inner
def put(update, count, feature, output, delta):  # type: ignore[no-untyped-def]
    """Write one change if there is room and it is one; return the number of changes."""
    if abs(delta) < SMALLEST_CHANGE:
        return count
    if count < update.features.shape[0]:
        at = np.uint64(count)
        update.features[at] = feature
        update.outputs[at] = np.uint16(output)
        update.deltas[at] = np.float32(delta)
    return count + 1


@inner
def start_backward(work, marginals, n):  # type: ignore[no-untyped-def]
    """Set the `betas` of the last position."""
    for index in range(np.uint64(work.layers[n]), np.uint64(work.layers[n + 1])):
        marginals.betas[index] = 0.0


@lean_entry
def marginal_range(work, marginals, setup, sentences, unit, update, first, last, probabilities, log_sums):  # type: ignore[no-untyped-def]
    """Fill the probability of each tag of each token of sentences [first, last), and the log partition functions."""
    sets = setup.sets
    for sentence in range(first, last):
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        log_sum = forward(work, marginals, setup, sentences, base, n, unit)
        log_sums[sentence] = log_sum
        start_backward(work, marginals, n)
        for position in range(n, 0, -1):
            backward(
                work, marginals, setup, sentences, base, n, position, unit, log_sum, sentences.sets, update, 0.0, 0
            )
            start, end = set_range(sets, set_at(sentences, base, position))
            for index in range(end - start):
                probabilities[np.uint64(base + position), np.uint64(sets.tags[start + index])] = marginals.tags[index]


@lean_entry
def ascend_range(  # type: ignore[no-untyped-def]
    work, marginals, setup, averages, sentences, gold, rates, order, first, last, update
):
    """Stochastic gradient ascent on the log-likelihood of sentences order[first:last], each with its learning rate.

    Returns how many were done, how many led to a change of weights and how much room in `update` the next one needs,
    0 if there is enough. Stops early as `train_range` does.
    """
    updated = 0
    store = setup.store
    for position in range(first, last):
        sentence = order[position]
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        log_sum = forward(work, marginals, setup, sentences, base, n, 1.0)
        start_backward(work, marginals, n)
        count = 0
        for word in range(n, 0, -1):
            count = backward(
                work, marginals, setup, sentences, base, n, word, 1.0, log_sum, gold, update, rates[position], count
            )
        if count > update.features.shape[0] or room_is_short(store, averages, count):
            return position - first, updated, count
        averages.counters[STEPS] += 1
        updated += count > 0
        if not apply_update(store, averages, update, count):
            return position - first + 1, updated, 0
    return last - first, updated, 0
