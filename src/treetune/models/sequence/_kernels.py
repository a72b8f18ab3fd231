"""Kernels of linear chains: features of words and of neighbouring tags, exact search, k-best lists, updates.

Which tags a word may have is a *set*, a number into `Sets`; the root's place has a set of its own with nothing
but the boundary, one more than the last tag. A *state* of a position is the place of the tag in its set (first
order) or of the last two tags, ``previous * size + current`` (second order). So a move always leads from a state
`r` of the position before, whose last tag is ``r % previous_size``, to a tag `c`; the code for both orders is one.

Frozen weights are integers, and sums of them in float64 are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import inner, lean_entry, mix
from treetune.weights._kernels import (
    DENSE_BIT,
    MISSING,
    STEPS,
    add_features,
    clear_margins,
    combine_margins,
    fill_gram,
    find_row,
    home_slot,
    pair_slot,
    prefetch,
    prefetch_dense,
    room_is_short,
    solve_margins,
)

# Numbers of the sets that every model has.
BOUNDARY, ALL, OPEN = 0, 1, 2
# Positions in `Update.counters`.
COUNT, DONE = 0, 1
# How weights move.
PERCEPTRON, MIRA = 0, 1
# Sums of float32 weights are off by up to about this; whoever is short of a margin by less has reached it.
ROUNDING = 1e-5
NOWHERE = np.int64(-1)
# Changes of weights below this are not made.
SMALLEST_CHANGE = 1e-9


class Templates(NamedTuple):
    """Compiled templates: those of words alone, then those with the last tag, then those with the one before it.

    `bounds` are the ends of these three parts, and the number of atoms, which come first, that the last two need. An
    atom is a column at a shift from the word; `starts` and `atoms` list the atoms of words of each template.
    `looks[t, d]` is 1 if template t looks at the tag d + 1 back.
    """

    atom_column: NDArray[np.int32]
    atom_shift: NDArray[np.int32]
    atom_seed: NDArray[np.uint64]
    starts: NDArray[np.int32]
    atoms: NDArray[np.int32]
    seeds: NDArray[np.uint64]
    looks: NDArray[np.uint64]
    tag_seeds: NDArray[np.uint64]
    bounds: NDArray[np.int64]


class Sets(NamedTuple):
    """Sets of tags: those of set s are ``tags[starts[s] : starts[s + 1]]``, in order."""

    starts: NDArray[np.int32]
    tags: NDArray[np.int32]


class Sentences(NamedTuple):
    """Sentences as numbers: columns over all tokens, where each starts, and the set of each token."""

    columns: NDArray[np.int32]
    offsets: NDArray[np.int64]
    sets: NDArray[np.int32]


class Space(NamedTuple):
    """Working memory of one thread; sizes follow from the sets in use, see `search.make_space`."""

    atoms: NDArray[np.uint64]
    parts: NDArray[np.uint64]
    features: NDArray[np.uint64]
    rows: NDArray[np.int64]
    sums: NDArray[np.float64]
    emissions: NDArray[np.float64]
    bigrams: NDArray[np.float64]
    moves: NDArray[np.float64]
    scores: NDArray[np.float64]
    back: NDArray[np.int32]
    layers: NDArray[np.int64]
    best: NDArray[np.float64]
    ends: NDArray[np.int64]
    paths: NDArray[np.int32]


class Update(NamedTuple):
    """Changes of weights that wait to be made."""

    features: NDArray[np.uint64]
    outputs: NDArray[np.uint16]
    deltas: NDArray[np.float32]
    counters: NDArray[np.int64]


@inner
def hash_words(space, templates, columns, base, n, position, chain_only):  # type: ignore[no-untyped-def]
    """Fill `parts`: what the words around a position give to each template; and `features` of words alone.

    With `chain_only`, only for the templates that look at tags too.
    """
    atoms, parts, features = space.atoms, space.parts, space.features
    of_words, every = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[2])
    used = np.uint64(templates.bounds[3] if chain_only else templates.atom_seed.shape[0])
    for atom in range(used):
        place = position + np.int64(templates.atom_shift[atom])
        value = np.uint64(0)
        if 0 <= place <= n:
            value = np.uint64(columns[np.uint64(templates.atom_column[atom]), np.uint64(base + place)])
        atoms[atom] = mix(value + templates.atom_seed[atom])
    for template in range(of_words if chain_only else np.uint64(0), every):
        combined = templates.seeds[template]
        first, last = templates.starts[template], templates.starts[template + np.uint64(1)]
        for i in range(np.uint64(first), np.uint64(last)):
            combined += atoms[np.uint64(templates.atoms[i])]
        parts[template] = combined
        if template < of_words:
            features[template] = mix(combined)


@inner
def chain_feature(parts, templates, template, last_hash, hash_before):  # type: ignore[no-untyped-def]
    """Return the feature of a template that looks at tags, whose hashes are given."""
    looks = templates.looks
    return mix(
        parts[template] + looks[template, np.uint64(0)] * last_hash + looks[template, np.uint64(1)] * hash_before
    )


@inner
def hash_tag(templates, tag, back):  # type: ignore[no-untyped-def]
    """Return the hash of a tag that stands one (`back` 0) or two words before."""
    return mix(np.uint64(tag) + templates.tag_seeds[back])


@inner
def find_rows(space, store, first, last):  # type: ignore[no-untyped-def]
    """Look up the rows of features [first, last), and bring them into the cache."""
    features, rows, table = space.features, space.rows, store.table
    for i in range(first, last):
        row = find_row(table, features[i])
        rows[i] = row
        if row == MISSING:
            continue
        if row & DENSE_BIT:
            prefetch_dense(store.dense, np.uint64(row ^ DENSE_BIT))
        else:
            prefetch(store.outputs, np.uint64(row))
            prefetch(store.weights, np.uint64(row))


@inner
def fetch_rows(space, store, first, last):  # type: ignore[no-untyped-def]
    """Look up the rows of features [first, last): all slots are asked for, then all rows."""
    features, table = space.features, store.table
    for i in range(first, last):
        prefetch(table, home_slot(table, features[i]))
    find_rows(space, store, first, last)


@inner
def add_rows(space, store, first, last, tags, start, end):  # type: ignore[no-untyped-def]
    """Add rows [first, last) to `sums`, at least for tags[start:end]."""
    rows, sums = space.rows, space.sums
    every = np.uint64(sums.shape[0])
    is_wide = np.uint64(2) * (end - start) > every
    for i in range(first, last):
        row = rows[i]
        if row == MISSING:
            continue
        if row & DENSE_BIT:
            dense = np.uint64(row ^ DENSE_BIT)
            if is_wide:
                for tag in range(every):
                    sums[tag] += store.dense[dense, tag]
            else:
                for place in range(start, end):
                    wanted = np.uint64(tags[place])
                    sums[wanted] += store.dense[dense, wanted]
        else:
            first_cell = np.uint64(row + 1)
            for cell in range(first_cell, first_cell + np.uint64(store.outputs[np.uint64(row)] & np.uint16(0xFF))):
                sums[np.uint64(store.outputs[cell])] += store.weights[cell]


@inner
def clear_sums(sums, tags, start, end):  # type: ignore[no-untyped-def]
    """Set the sums of tags[start:end] to 0; what others hold does not matter."""
    for place in range(start, end):
        sums[np.uint64(tags[place])] = 0.0


@inner
def set_range(sets, number):  # type: ignore[no-untyped-def]
    """Return where the tags of a set start and end."""
    return np.uint64(sets.starts[np.uint64(number)]), np.uint64(sets.starts[np.uint64(number) + np.uint64(1)])


@inner
def set_at(sentences, base, position):  # type: ignore[no-untyped-def]
    """Return the set of a position; before the sentence there is the boundary."""
    return np.int64(sentences.sets[np.uint64(base + position)]) if position > 0 else np.int64(BOUNDARY)


@inner
def fill_emissions(space, templates, store, tags, start, end, is_needed):  # type: ignore[no-untyped-def]
    """Fill `emissions` with the scores of tags[start:end] by the features of words, which are hashed already."""
    emissions, sums = space.emissions, space.sums
    if not is_needed:
        emissions[0] = 0.0
        return
    of_words = np.uint64(templates.bounds[0])
    clear_sums(sums, tags, start, end)
    fetch_rows(space, store, np.uint64(0), of_words)
    add_rows(space, store, np.uint64(0), of_words, tags, start, end)
    for place in range(start, end):
        emissions[place - start] = sums[np.uint64(tags[place])]


@inner
def fill_bigrams(space, templates, store, sets, last_set, start, end):  # type: ignore[no-untyped-def]
    """Fill `bigrams`, a row for each tag of the set before: what templates with the last tag alone say.

    The features of all tags are hashed, then looked up, then added, so that their memory accesses overlap.
    """
    bigrams, sums, tags = space.bigrams, space.sums, sets.tags
    features, table = space.features, store.table
    size = end - start
    first, last = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[1])
    previous_start, previous_end = set_range(sets, last_set)
    # Beyond the templates themselves.
    begin = np.uint64(templates.bounds[2])
    place = begin
    for previous in range(previous_start, previous_end):
        last_hash = hash_tag(templates, tags[previous], 0)
        for template in range(first, last):
            features[place] = chain_feature(space.parts, templates, template, last_hash, np.uint64(0))
            prefetch(table, home_slot(table, features[place]))
            place += np.uint64(1)
    find_rows(space, store, begin, place)
    place = begin
    for previous in range(previous_start, previous_end):
        clear_sums(sums, tags, start, end)
        add_rows(space, store, place, place + (last - first), tags, start, end)
        place += last - first
        row = (previous - previous_start) * size
        for i in range(start, end):
            bigrams[row + (i - start)] = sums[np.uint64(tags[i])]


@inner
def fill_trigrams(space, templates, store, tags, start, end, last_tag, tag_before, row):  # type: ignore[no-untyped-def]
    """Fill the moves from one state: its row of `bigrams`, and what templates with the tag before that say."""
    moves, sums = space.moves, space.sums
    first, last = np.uint64(templates.bounds[1]), np.uint64(templates.bounds[2])
    last_hash, hash_before = hash_tag(templates, last_tag, 0), hash_tag(templates, tag_before, 1)
    clear_sums(sums, tags, start, end)
    for template in range(first, last):
        space.features[template] = chain_feature(space.parts, templates, template, last_hash, hash_before)
    fetch_rows(space, store, first, last)
    add_rows(space, store, first, last, tags, start, end)
    for place in range(start, end):
        moves[place - start] = space.bigrams[row + (place - start)] + sums[np.uint64(tags[place])]


@inner
def fill_moves(space, templates, store, sets, set_before, last_set, start, end, state, second_order):  # type: ignore[no-untyped-def]
    """Fill `moves` with the scores of all tags after one state of the position before."""
    size = end - start
    previous_start, previous_end = set_range(sets, last_set)
    previous_size = previous_end - previous_start
    last_place = state % previous_size
    row = last_place * size
    if second_order:
        before_start, _ = set_range(sets, set_before)
        tag_before = sets.tags[before_start + state // previous_size]
        last_tag = sets.tags[previous_start + last_place]
        fill_trigrams(space, templates, store, sets.tags, start, end, last_tag, tag_before, row)
    else:
        for place in range(size):
            space.moves[place] = space.bigrams[row + place]


@inner
def offer(scores, back, offset, k, score, source):  # type: ignore[no-untyped-def]
    """Keep a way if it is among the k best to a state; of equals the first offered stays first."""
    place = offset + k - np.uint64(1)
    if score <= scores[place]:
        return False
    while place > offset and scores[place - np.uint64(1)] < score:
        scores[place] = scores[place - np.uint64(1)]
        back[place] = back[place - np.uint64(1)]
        place -= np.uint64(1)
    scores[place] = score
    back[place] = np.int32(source)
    return True


@inner
def search(space, templates, store, sets, sentences, base, n, second_order, k, is_exact, gold):  # type: ignore[no-untyped-def]
    """Find the k best ways to every state of every position; return the score of the `gold` tags (0 if empty).

    Without `is_exact` what is the same in all outputs is not scored, so that the best is found all the same: a word
    with one tag and, after one state, the move to it. The layer of a position starts at `layers[position]` in
    `scores` and `back`.
    """
    scores, back, layers = space.scores, space.back, space.layers
    emissions, moves = space.emissions, space.moves
    has_gold = gold.shape[0] > 0
    gold_score = 0.0
    gold_state = np.uint64(0)
    many = np.uint64(k)
    for rank in range(many):
        scores[rank] = -np.inf
    scores[0] = 0.0
    layers[0] = 0
    layers[1] = k
    states = np.uint64(1)
    for position in range(1, n + 1):
        start, end = set_range(sets, set_at(sentences, base, position))
        last_set, set_before = set_at(sentences, base, position - 1), set_at(sentences, base, position - 2)
        size = end - start
        previous_start, previous_end = set_range(sets, last_set)
        previous_size = previous_end - previous_start
        has_choice = is_exact or size > np.uint64(1)
        has_moves = has_choice or states > np.uint64(1)
        if has_moves:
            hash_words(space, templates, sentences.columns, base, n, position, not has_choice)
            fill_bigrams(space, templates, store, sets, last_set, start, end)
        else:
            moves[0] = 0.0
        fill_emissions(space, templates, store, sets.tags, start, end, has_choice)
        source_layer = np.uint64(layers[position - 1])
        layer = np.uint64(layers[position])
        new_states = previous_size * size if second_order else size
        for place in range(layer, layer + new_states * many):
            scores[place] = -np.inf
        gold_place = np.uint64(0)
        if has_gold:
            while sets.tags[start + gold_place] != gold[np.uint64(base + position)]:
                gold_place += np.uint64(1)
        next_gold = gold_place
        for state in range(states):
            if has_moves:
                fill_moves(space, templates, store, sets, set_before, last_set, start, end, state, second_order)
            last_place = state % previous_size
            shift = last_place * size if second_order else np.uint64(0)
            source = source_layer + state * many
            for place in range(size):
                step = moves[place] + emissions[place]
                target = layer + (shift + place) * many
                if many == np.uint64(1):
                    if scores[source] + step > scores[target]:
                        scores[target] = scores[source] + step
                        back[target] = np.int32(state)
                    continue
                for rank in range(many):
                    if scores[source + rank] == -np.inf:
                        break
                    if not offer(scores, back, target, many, scores[source + rank] + step, state * many + rank):
                        break
            if has_gold and state == gold_state:
                gold_score += moves[gold_place] + emissions[gold_place]
                next_gold = shift + gold_place
        gold_state = next_gold
        states = new_states
        layers[position + 1] = np.int64(layer + new_states * many)
    return gold_score


@inner
def read_paths(space, sets, sentences, base, n, k):  # type: ignore[no-untyped-def]
    """Fill `best` and `paths` with the k best outputs, best first; return how many there are."""
    scores, back, layers, paths = space.scores, space.back, space.layers, space.paths
    many = np.uint64(k)
    best, ends = space.best, space.ends
    for rank in range(many):
        best[rank] = -np.inf
    for way in range(layers[n], layers[n + 1]):
        if scores[np.uint64(way)] > -np.inf:
            offer(best, ends, np.uint64(0), many, scores[np.uint64(way)], way - layers[n])
    found = 0
    while found < k and best[np.uint64(found)] > -np.inf:
        place = np.uint64(ends[np.uint64(found)])
        for position in range(n, 0, -1):
            start, end = set_range(sets, set_at(sentences, base, position))
            state = place // many
            paths[np.uint64(found), np.uint64(position)] = sets.tags[start + state % (end - start)]
            place = np.uint64(back[np.uint64(layers[position]) + place])
        found += 1
    return found


@lean_entry
def tag_range(  # type: ignore[no-untyped-def]
    space, templates, store, sets, sentences, second_order, k, is_exact, nothing, first, last, found, scores, counts,
):  # fmt: skip
    """Tag sentences [first, last): the k best outputs of each, their scores and how many there are."""
    for sentence in range(first, last):
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        search(space, templates, store, sets, sentences, base, n, second_order, k, is_exact, nothing)
        count = read_paths(space, sets, sentences, base, n, k)
        counts[sentence] = count
        for rank in range(count):
            scores[sentence, rank] = space.best[rank]
            for position in range(1, n + 1):
                found[rank, base + position] = space.paths[rank, position]


@inner
def tag_at(tags, place, boundary):  # type: ignore[no-untyped-def]
    """Return the tag of a position, or the boundary before the first word."""
    return np.int64(tags[np.uint64(place)]) if place > 0 else np.int64(boundary)


@inner
def hash_chain(space, templates, tags, position, boundary):  # type: ignore[no-untyped-def]
    """Fill `features` of the templates that look at tags; those of words are hashed already."""
    last_hash = hash_tag(templates, tag_at(tags, position - 1, boundary), 0)
    hash_before = hash_tag(templates, tag_at(tags, position - 2, boundary), 1)
    for template in range(np.uint64(templates.bounds[0]), np.uint64(templates.bounds[2])):
        space.features[template] = chain_feature(space.parts, templates, template, last_hash, hash_before)


@lean_entry
def collect_features(space, templates, columns, base, n, tags, boundary, features, outputs):  # type: ignore[no-untyped-def]
    """Write the (feature, tag) pairs of an output, position by position; return how many there are."""
    written = np.uint64(0)
    for position in range(1, n + 1):
        hash_words(space, templates, columns, base, n, position, False)
        hash_chain(space, templates, tags, position, boundary)
        for template in range(np.uint64(templates.bounds[2])):
            features[written] = space.features[template]
            outputs[written] = np.uint16(tags[np.uint64(position)])
            written += np.uint64(1)
    return np.int64(written)


@inner
def context_differs(gold, path, position):  # type: ignore[no-untyped-def]
    """Say whether two outputs differ at a position or at one of the two before it."""
    for place in range(max(1, position - 2), position + 1):
        if gold[np.uint64(place)] != path[np.uint64(place)]:
            return True
    return False


@inner
def collect_margins(space, templates, columns, base, n, gold, count, boundary, margins):  # type: ignore[no-untyped-def]
    """Fill `margins` with the features of gold minus those of each of `count` paths."""
    clear_margins(margins)
    paths, counts = space.paths, margins.counts
    of_words, every = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[2])
    for position in range(1, n + 1):
        differs = False
        for rank in range(np.uint64(count)):
            differs = differs or context_differs(gold, paths[rank], position)
        if not differs:
            continue
        hash_words(space, templates, columns, base, n, position, False)
        at = np.uint64(position)
        for template in range(of_words):
            for rank in range(np.uint64(count)):
                if paths[rank, at] != gold[at]:
                    counts[pair_slot(margins, space.features[template], gold[at]), rank] += np.float32(1)
                    counts[pair_slot(margins, space.features[template], paths[rank, at]), rank] -= np.float32(1)
        for rank in range(np.uint64(count)):
            if not context_differs(gold, paths[rank], position):
                continue
            hash_chain(space, templates, gold, position, boundary)
            for template in range(of_words, every):
                counts[pair_slot(margins, space.features[template], gold[at]), rank] += np.float32(1)
            hash_chain(space, templates, paths[rank], position, boundary)
            for template in range(of_words, every):
                counts[pair_slot(margins, space.features[template], paths[rank, at]), rank] -= np.float32(1)


@lean_entry
def finish_update(store, averages, update):  # type: ignore[no-untyped-def]
    """Add what waits; return whether all of it found room."""
    update.counters[DONE] = add_features(
        store, averages, update.features, update.outputs, update.deltas, update.counters[COUNT],
        update.counters[DONE],
    )  # fmt: skip
    return update.counters[DONE] == update.counters[COUNT]


@inner
def wrong_tags(gold, path, n):  # type: ignore[no-untyped-def]
    """Return the number of words with another tag than in gold."""
    wrong = 0
    for position in range(1, n + 1):
        wrong += gold[np.uint64(position)] != path[np.uint64(position)]
    return wrong


@inner
def has_lesson(space, margins, gold, gold_score, n, count, rule):  # type: ignore[no-untyped-def]
    """Say whether there is something to learn from `count` paths; `wanted` is how far gold is short of its lead.

    The perceptron learns from the best path alone, if it is not gold; MIRA from all, gold being to lead each by its
    wrong tags.
    """
    if rule == PERCEPTRON:
        return wrong_tags(gold, space.paths[0], n) > 0
    is_short = False
    for rank in range(np.uint64(count)):
        wrong = wrong_tags(gold, space.paths[rank], n)
        margins.wanted[rank] = wrong - (gold_score - space.best[rank])
        is_short = is_short or (wrong > 0 and margins.wanted[rank] > ROUNDING)
    return is_short


@lean_entry
def train_range(  # type: ignore[no-untyped-def]
    space, templates, store, averages, sets, sentences, gold, second_order, rule, k, clip, boundary, order, first,
    last, margins, update,
):  # fmt: skip
    """Learn from sentences order[first:last]; return how many were done and how many led to an update.

    Stops early when the store must be enlarged; what waits in `update` is then added by `finish_update`.
    """
    updated = 0
    for position in range(first, last):
        sentence = order[position]
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        if room_is_short(store, averages, (k + 1) * n * templates.seeds.shape[0]):
            return position - first, updated
        averages.counters[STEPS] += 1
        gold_score = search(space, templates, store, sets, sentences, base, n, second_order, k, rule == MIRA, gold)
        count = read_paths(space, sets, sentences, base, n, k)
        tags = gold[base:]
        if n == 0 or not has_lesson(space, margins, tags, gold_score, n, count, rule):
            continue
        collect_margins(space, templates, sentences.columns, base, n, tags, count, boundary, margins)
        if rule == PERCEPTRON:
            margins.steps[0] = 1.0
        else:
            fill_gram(margins, count)
            solve_margins(margins.gram, margins.wanted, count, clip, margins.steps)
        update.counters[COUNT] = combine_margins(margins, count, update.features, update.outputs, update.deltas)
        update.counters[DONE] = 0
        updated += 1
        if not finish_update(store, averages, update):
            return position - first + 1, updated
    return last - first, updated


class Chances(NamedTuple):
    """What forward-backward needs besides `Space`: probabilities instead of best ways."""

    betas: NDArray[np.float64]
    gaps: NDArray[np.float64]
    tags: NDArray[np.float64]
    pairs: NDArray[np.float64]
    states: NDArray[np.float64]
    places: NDArray[np.int32]


@inner
def add_log(tops, gaps, place, value):  # type: ignore[no-untyped-def]
    """Add the exponential of a value to one of several sums, kept as ``exp(top) * gap``."""
    if value > tops[place]:
        gaps[place] = gaps[place] * np.exp(tops[place] - value) + 1.0
        tops[place] = value
    else:
        gaps[place] += np.exp(value - tops[place])


@inner
def score_position(space, templates, store, sets, sentences, base, n, position):  # type: ignore[no-untyped-def]
    """Fill `emissions` and `bigrams` of a position; return its tags, the sets before it, and the size of the last."""
    start, end = set_range(sets, set_at(sentences, base, position))
    last_set, set_before = set_at(sentences, base, position - 1), set_at(sentences, base, position - 2)
    previous_start, previous_end = set_range(sets, last_set)
    hash_words(space, templates, sentences.columns, base, n, position, False)
    fill_bigrams(space, templates, store, sets, last_set, start, end)
    fill_emissions(space, templates, store, sets.tags, start, end, True)
    return start, end, last_set, set_before, previous_end - previous_start


@inner
def forward(space, chances, templates, store, sets, sentences, base, n, second_order, unit):  # type: ignore[no-untyped-def]
    """Fill `scores` with the logarithms of the summed ways to each state; return that of all ways.

    A score counts `unit` times. Layers are those of `search` with k = 1.
    """
    alphas, layers, gaps = space.scores, space.layers, chances.gaps
    alphas[0] = 0.0
    layers[0], layers[1] = 0, 1
    states = np.uint64(1)
    for position in range(1, n + 1):
        start, end, last_set, set_before, previous_size = score_position(
            space, templates, store, sets, sentences, base, n, position
        )
        size = end - start
        source, layer = np.uint64(layers[position - 1]), np.uint64(layers[position])
        new_states = previous_size * size if second_order else size
        for state in range(new_states):
            alphas[layer + state] = -np.inf
            gaps[layer + state] = 0.0
        for state in range(states):
            fill_moves(space, templates, store, sets, set_before, last_set, start, end, state, second_order)
            shift = (state % previous_size) * size if second_order else np.uint64(0)
            for place in range(size):
                step = unit * (space.moves[place] + space.emissions[place])
                add_log(alphas, gaps, layer + shift + place, alphas[source + state] + step)
        for state in range(new_states):
            alphas[layer + state] += np.log(gaps[layer + state])
        states = new_states
        layers[position + 1] = np.int64(layer + new_states)
    return sum_layer(alphas, layers[n], layers[n + 1])


@inner
def sum_layer(alphas, first, last):  # type: ignore[no-untyped-def]
    """Return the logarithm of the summed exponentials of alphas[first:last]."""
    highest = -np.inf
    for place in range(np.uint64(first), np.uint64(last)):
        highest = max(highest, alphas[place])
    total = 0.0
    for place in range(np.uint64(first), np.uint64(last)):
        total += np.exp(alphas[place] - highest)
    return highest + np.log(total)


@inner
def backward(  # type: ignore[no-untyped-def]
    space, chances, templates, store, sets, sentences, base, n, position, second_order, unit, log_sum, gold, update,
    rate, count,
):  # fmt: skip
    """Go back from one position to that before it: fill `betas` there, and the probabilities of tags and of pairs.

    With a `rate`, write that times the gradient of the log-likelihood of gold into `update`, from `count` on; return
    how many changes there are then, which may be more than there is room for.
    """
    alphas, layers, betas, gaps = space.scores, space.layers, chances.betas, chances.gaps
    start, end, last_set, set_before, previous_size = score_position(
        space, templates, store, sets, sentences, base, n, position
    )
    size = end - start
    source, layer = np.uint64(layers[position - 1]), np.uint64(layers[position])
    states = layer - source
    for place in range(size):
        chances.tags[place] = 0.0
        chances.places[np.uint64(sets.tags[start + place])] = np.int32(place)
    for pair in range(previous_size * size):
        chances.pairs[pair] = 0.0
    gold_place, gold_last, gold_before = NOWHERE, NOWHERE, NOWHERE
    if rate > 0.0:
        gold_place = place_of(sets, set_at(sentences, base, position), gold[np.uint64(base + position)])
        gold_last = place_of(sets, last_set, gold[np.uint64(base + position - 1)])
        before = gold[np.uint64(base + position - 2)] if position > 1 else gold[np.uint64(base)]
        gold_before = place_of(sets, set_before, before)
    for state in range(states):
        fill_moves(space, templates, store, sets, set_before, last_set, start, end, state, second_order)
        last_place = state % previous_size
        shift = last_place * size if second_order else np.uint64(0)
        betas[source + state] = -np.inf
        gaps[source + state] = 0.0
        for place in range(size):
            step = unit * (space.moves[place] + space.emissions[place]) + betas[layer + shift + place]
            add_log(betas, gaps, source + state, step)
            chance = np.exp(alphas[source + state] + step - log_sum)
            chances.states[place] = chance
            chances.tags[place] += chance
            chances.pairs[last_place * size + place] += chance
        betas[source + state] += np.log(gaps[source + state])
        if rate > 0.0 and second_order:
            is_gold = np.int64(last_place) == gold_last and np.int64(state // previous_size) == gold_before
            # `features` of these templates are still those of this state.
            for template in range(np.uint64(templates.bounds[1]), np.uint64(templates.bounds[2])):
                count = add_gradient(
                    store, sets.tags, start, end, space.features[template], chances.states, np.uint64(0),
                    chances.places, gold_place if is_gold else NOWHERE, rate, update, count,
                )  # fmt: skip
    if rate > 0.0:
        count = add_gradients(
            space, chances, templates, store, sets, last_set, start, end, gold_place, gold_last, rate, update, count
        )
    for place in range(size):
        chances.places[np.uint64(sets.tags[start + place])] = -1
    return count


@inner
def place_of(sets, number, tag):  # type: ignore[no-untyped-def]
    """Return the place of a tag in a set; it must be there."""
    start, _ = set_range(sets, number)
    place = np.int64(0)
    while sets.tags[start + np.uint64(place)] != tag:
        place += 1
    return place


@inner
def add_gradients(  # type: ignore[no-untyped-def]
    space, chances, templates, store, sets, last_set, start, end, gold_place, gold_last, rate, update, count,
):  # fmt: skip
    """Write the changes of features of words, and of those with the last tag."""
    size = end - start
    for template in range(np.uint64(templates.bounds[0])):
        count = add_gradient(
            store, sets.tags, start, end, space.features[template], chances.tags, np.uint64(0), chances.places,
            gold_place, rate, update, count,
        )  # fmt: skip
    previous_start, previous_end = set_range(sets, last_set)
    for previous in range(previous_start, previous_end):
        place = previous - previous_start
        last_hash = hash_tag(templates, sets.tags[previous], 0)
        for template in range(np.uint64(templates.bounds[0]), np.uint64(templates.bounds[1])):
            feature = chain_feature(space.parts, templates, template, last_hash, np.uint64(0))
            count = add_gradient(
                store, sets.tags, start, end, feature, chances.pairs, place * size, chances.places,
                gold_place if np.int64(place) == gold_last else NOWHERE, rate, update, count,
            )  # fmt: skip
    return count


@inner
def add_gradient(  # type: ignore[no-untyped-def]
    store, tags, start, end, feature, chances, offset, places, gold_place, rate, update, count,
):  # fmt: skip
    """Write ``rate * (gold - chance)`` for the weights of one feature: those there are, and that of the gold tag."""
    row = find_row(store.table, feature)
    met_gold = False
    if row != MISSING:
        if row & DENSE_BIT:
            dense = np.uint64(row ^ DENSE_BIT)
            for place in range(end - start):
                tag = tags[start + place]
                is_gold = np.int64(place) == gold_place
                if is_gold or store.dense[dense, np.uint64(tag)] != 0:
                    met_gold = met_gold or is_gold
                    count = put(update, count, feature, tag, rate * (is_gold - chances[offset + place]))
        else:
            first_cell = np.uint64(row + 1)
            for cell in range(first_cell, first_cell + np.uint64(store.outputs[np.uint64(row)] & np.uint16(0xFF))):
                at = np.int64(places[np.uint64(store.outputs[cell])])
                if at >= 0:
                    is_gold = at == gold_place
                    met_gold = met_gold or is_gold
                    delta = rate * (is_gold - chances[offset + np.uint64(at)])
                    count = put(update, count, feature, store.outputs[cell], delta)
    if gold_place >= 0 and not met_gold:
        delta = rate * (1.0 - chances[offset + np.uint64(gold_place)])
        count = put(update, count, feature, tags[start + np.uint64(gold_place)], delta)
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
def start_backward(space, chances, n):  # type: ignore[no-untyped-def]
    """Set the `betas` of the last position."""
    for place in range(np.uint64(space.layers[n]), np.uint64(space.layers[n + 1])):
        chances.betas[place] = 0.0


@lean_entry
def chance_range(  # type: ignore[no-untyped-def]
    space, chances, templates, store, sets, sentences, second_order, unit, update, first, last, found, sums,
):  # fmt: skip
    """Fill `found` with the probability of each tag of each token of sentences [first, last), `sums` with log-sums."""
    for sentence in range(first, last):
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        log_sum = forward(space, chances, templates, store, sets, sentences, base, n, second_order, unit)
        sums[sentence] = log_sum
        start_backward(space, chances, n)
        for position in range(n, 0, -1):
            backward(
                space, chances, templates, store, sets, sentences, base, n, position, second_order, unit, log_sum,
                sentences.sets, update, 0.0, 0,
            )  # fmt: skip
            start, end = set_range(sets, set_at(sentences, base, position))
            for place in range(end - start):
                found[np.uint64(base + position), np.uint64(sets.tags[start + place])] = chances.tags[place]


@lean_entry
def ascend_range(  # type: ignore[no-untyped-def]
    space, chances, templates, store, averages, sets, sentences, gold, second_order, rates, order, first, last, update,
):  # fmt: skip
    """Go up the gradient of the log-likelihood of sentences order[first:last], each by its rate.

    Returns how many were done, how many led to a change of weights and how much room in `update` the next one needs,
    0 if there is enough. Stops early as `train_range` does.
    """
    updated = 0
    for position in range(first, last):
        sentence = order[position]
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        log_sum = forward(space, chances, templates, store, sets, sentences, base, n, second_order, 1.0)
        start_backward(space, chances, n)
        count = 0
        for place in range(n, 0, -1):
            count = backward(
                space, chances, templates, store, sets, sentences, base, n, place, second_order, 1.0, log_sum, gold,
                update, rates[position], count,
            )  # fmt: skip
        if count > update.features.shape[0] or room_is_short(store, averages, count):
            return position - first, updated, count
        averages.counters[STEPS] += 1
        update.counters[COUNT] = count
        update.counters[DONE] = 0
        updated += count > 0
        if not finish_update(store, averages, update):
            return position - first + 1, updated, 0
    return last - first, updated, 0
