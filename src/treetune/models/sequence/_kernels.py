"""Kernels of linear chains: features of words and of neighbouring tags, Viterbi search, k-best lists.

Which tags a word may have is a *set*, a number into `Sets`; the root has a set of its own with nothing
but the boundary, one more than the last tag. A *state* of a position is the index of the tag in its set (first
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
    Store,
    cell_step,
    find_rows,
    home_slot,
    prefetch,
    prefetch_slots,
)

# Numbers of the sets that every model has.
BOUNDARY, ALL, OPEN = 0, 1, 2


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


class Parts(NamedTuple):
    """Parts that tags share, outputs beside the tags: those of tag t are ``outputs[starts[t] : starts[t + 1]]``."""

    starts: NDArray[np.int32]
    outputs: NDArray[np.int32]


class Workspace(NamedTuple):
    """Working memory of one thread; sizes follow from the sets in use, see `search.make_workspace`.

    `needed[1 : needed[0] + 1]` are the outputs that a position needs if tags have parts; `is_needed` marks them while
    they are collected.
    """

    atoms: NDArray[np.uint64]
    parts: NDArray[np.uint64]
    features: NDArray[np.uint64]
    rows: NDArray[np.int64]
    sums: NDArray[np.float64]
    needed: NDArray[np.int32]
    is_needed: NDArray[np.bool_]
    emissions: NDArray[np.float64]
    bigrams: NDArray[np.float64]
    moves: NDArray[np.float64]
    is_open: NDArray[np.bool_]
    scores: NDArray[np.float64]
    back: NDArray[np.int32]
    layers: NDArray[np.int64]
    best: NDArray[np.float64]
    ends: NDArray[np.int64]
    paths: NDArray[np.int32]


class SearchSetup(NamedTuple):
    """Everything a search needs besides sentences; `outputs` is the number of tags, and the boundary.

    `beam` is the number of states of a position that are continued, 0 for all.
    """

    templates: Templates
    store: Store
    sets: Sets
    parts: Parts
    outputs: int
    second_order: bool
    beam: int


class SearchResult(NamedTuple):
    """The best tags of each sentence: rank by token; scores and numbers of outputs by sentence."""

    tags: NDArray[np.int32]
    scores: NDArray[np.float64]
    counts: NDArray[np.int64]


@inner
def hash_words(work, templates, columns, base, n, position, chain_only):  # type: ignore[no-untyped-def]
    """Fill `parts`: what the words around a position give to each template; and `features` of words alone.

    With `chain_only`, only for the templates that look at tags too.
    """
    atoms, parts, features = work.atoms, work.parts, work.features
    of_words, every = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[2])
    used = np.uint64(templates.bounds[3] if chain_only else templates.atom_seed.shape[0])
    for atom in range(used):
        index = position + np.int64(templates.atom_shift[atom])
        value = np.uint64(0)
        if 0 <= index <= n:
            value = np.uint64(columns[np.uint64(templates.atom_column[atom]), np.uint64(base + index)])
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
def fetch_rows(work, store, first, last):  # type: ignore[no-untyped-def]
    """Look up the rows of features [first, last): all slots are asked for, then all rows."""
    prefetch_slots(work.features, store.table, first, last)
    find_rows(work.features, work.rows, store, first, last)


@inner
def add_rows(work, store, first, last, tags, start, end):  # type: ignore[no-untyped-def]
    """Add rows [first, last) to `sums`, at least for tags[start:end]."""
    rows, sums = work.rows, work.sums
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
                for index in range(start, end):
                    wanted = np.uint64(tags[index])
                    sums[wanted] += store.dense[dense, wanted]
        else:
            first_cell, step = np.uint64(row + 1), cell_step(store)
            cells = np.uint64(store.outputs[np.uint64(row) * step] & np.uint16(0xFF))
            for cell in range(first_cell, first_cell + cells):
                sums[np.uint64(store.outputs[cell * step])] += store.weights[cell * step + step - np.uint64(1)]


@inner
def clear_sums(sums, tags, start, end):  # type: ignore[no-untyped-def]
    """Set the sums of tags[start:end] to 0; what others hold does not matter."""
    for index in range(start, end):
        sums[np.uint64(tags[index])] = 0.0


@inner
def collect_needed(work, setup, start, end):  # type: ignore[no-untyped-def]
    """Fill `needed` with tags[start:end] of the sets and their parts, each once, if tags have parts."""
    parts, needed, is_needed = setup.parts, work.needed, work.is_needed
    if not parts.outputs.shape[0]:
        return
    count = np.uint64(0)
    for index in range(start, end):
        tag = np.uint64(setup.sets.tags[index])
        count += np.uint64(1)
        needed[count] = np.int32(tag)
        for i in range(np.uint64(parts.starts[tag]), np.uint64(parts.starts[tag + np.uint64(1)])):
            part = parts.outputs[i]
            if not is_needed[np.uint64(part)]:
                is_needed[np.uint64(part)] = True
                count += np.uint64(1)
                needed[count] = part
    needed[0] = np.int32(count)
    for index in range(np.uint64(1), count + np.uint64(1)):
        is_needed[np.uint64(needed[index])] = False


@inner
def sum_rows(work, setup, first, last, start, end):  # type: ignore[no-untyped-def]
    """Fill `sums` with the sums of rows [first, last), at least for tags[start:end] of the sets and their parts.

    `collect_needed` was called for these tags.
    """
    tags = setup.sets.tags
    if setup.parts.outputs.shape[0]:
        tags, start, end = work.needed, np.uint64(1), np.uint64(work.needed[0]) + np.uint64(1)
    clear_sums(work.sums, tags, start, end)
    add_rows(work, setup.store, first, last, tags, start, end)


@inner
def score_of(sums, parts, tag):  # type: ignore[no-untyped-def]
    """Return the sum of a tag and of its parts."""
    score = sums[np.uint64(tag)]
    if parts.outputs.shape[0]:
        for i in range(np.uint64(parts.starts[np.uint64(tag)]), np.uint64(parts.starts[np.uint64(tag) + np.uint64(1)])):
            score += sums[np.uint64(parts.outputs[i])]
    return score


@inner
def set_range(sets, number):  # type: ignore[no-untyped-def]
    """Return where the tags of a set start and end."""
    return np.uint64(sets.starts[np.uint64(number)]), np.uint64(sets.starts[np.uint64(number) + np.uint64(1)])


@inner
def set_at(sentences, base, position):  # type: ignore[no-untyped-def]
    """Return the set of a position; before the sentence there is the boundary."""
    return np.int64(sentences.sets[np.uint64(base + position)]) if position > 0 else np.int64(BOUNDARY)


@inner
def fill_emissions(work, setup, start, end, is_needed):  # type: ignore[no-untyped-def]
    """Fill `emissions` with the scores of tags[start:end] by the features of words, which are hashed already."""
    emissions, sums = work.emissions, work.sums
    templates, store, tags = setup.templates, setup.store, setup.sets.tags
    if not is_needed:
        emissions[0] = 0.0
        return
    of_words = np.uint64(templates.bounds[0])
    fetch_rows(work, store, np.uint64(0), of_words)
    sum_rows(work, setup, np.uint64(0), of_words, start, end)
    for index in range(start, end):
        emissions[index - start] = score_of(sums, setup.parts, tags[index])


@inner
def fill_bigrams(work, setup, last_set, start, end, is_pruned):  # type: ignore[no-untyped-def]
    """Fill `bigrams`, a row for each tag of the set before: what templates with the last tag alone say.

    The features of all tags are hashed, then looked up, then added, so that their memory accesses overlap. With
    `is_pruned`, only for the tags that are open.
    """
    templates, store, sets = setup.templates, setup.store, setup.sets
    bigrams, sums, tags = work.bigrams, work.sums, sets.tags
    features, table = work.features, store.table
    size = end - start
    first, last = np.uint64(templates.bounds[0]), np.uint64(templates.bounds[1])
    previous_start, previous_end = set_range(sets, last_set)
    # Beyond the templates themselves.
    begin = np.uint64(templates.bounds[2])
    index = begin
    for previous in range(previous_start, previous_end):
        if is_pruned and not work.is_open[previous - previous_start]:
            continue
        last_hash = hash_tag(templates, tags[previous], 0)
        for template in range(first, last):
            features[index] = chain_feature(work.parts, templates, template, last_hash, np.uint64(0))
            prefetch(table, home_slot(table, features[index]))
            index += np.uint64(1)
    find_rows(features, work.rows, store, begin, index)
    index = begin
    for previous in range(previous_start, previous_end):
        if is_pruned and not work.is_open[previous - previous_start]:
            continue
        sum_rows(work, setup, index, index + (last - first), start, end)
        index += last - first
        row = (previous - previous_start) * size
        for i in range(start, end):
            bigrams[row + (i - start)] = score_of(sums, setup.parts, tags[i])


@inner
def fill_trigrams(work, setup, start, end, last_tag, tag_before, row):  # type: ignore[no-untyped-def]
    """Fill the moves from one state: its row of `bigrams`, and what templates with the tag before that say."""
    templates, store, tags = setup.templates, setup.store, setup.sets.tags
    moves, sums = work.moves, work.sums
    first, last = np.uint64(templates.bounds[1]), np.uint64(templates.bounds[2])
    last_hash, hash_before = hash_tag(templates, last_tag, 0), hash_tag(templates, tag_before, 1)
    for template in range(first, last):
        work.features[template] = chain_feature(work.parts, templates, template, last_hash, hash_before)
    fetch_rows(work, store, first, last)
    sum_rows(work, setup, first, last, start, end)
    for index in range(start, end):
        moves[index - start] = work.bigrams[row + (index - start)] + score_of(sums, setup.parts, tags[index])


@inner
def fill_moves(work, setup, set_before, last_set, start, end, state):  # type: ignore[no-untyped-def]
    """Fill `moves` with the scores of all tags after one state of the position before."""
    sets = setup.sets
    size = end - start
    previous_start, previous_end = set_range(sets, last_set)
    previous_size = previous_end - previous_start
    last_index = state % previous_size
    row = last_index * size
    if setup.second_order:
        before_start, _ = set_range(sets, set_before)
        tag_before = sets.tags[before_start + state // previous_size]
        last_tag = sets.tags[previous_start + last_index]
        fill_trigrams(work, setup, start, end, last_tag, tag_before, row)
    else:
        for index in range(size):
            work.moves[index] = work.bigrams[row + index]


@inner
def offer(scores, back, offset, k, score, source):  # type: ignore[no-untyped-def]
    """Keep a way if it is among the k best to a state; of equals the first offered stays first."""
    index = offset + k - np.uint64(1)
    if score <= scores[index]:
        return False
    while index > offset and scores[index - np.uint64(1)] < score:
        scores[index] = scores[index - np.uint64(1)]
        back[index] = back[index - np.uint64(1)]
        index -= np.uint64(1)
    scores[index] = score
    back[index] = np.int32(source)
    return True


@inner
def close_states(work, layer, states, many, beam, gold_state):  # type: ignore[no-untyped-def]
    """Set `is_open` for the `beam` best states of a layer, more if they tie, and for that of gold.

    The others lose their ways.
    """
    scores, is_open, best = work.scores, work.is_open, work.moves
    for rank in range(beam):
        best[rank] = -np.inf
    for state in range(states):
        score = scores[layer + state * many]
        rank = beam
        while rank > np.uint64(0) and score > best[rank - np.uint64(1)]:
            rank -= np.uint64(1)
            if rank + np.uint64(1) < beam:
                best[rank + np.uint64(1)] = best[rank]
            best[rank] = score
    for state in range(states):
        is_open[state] = scores[layer + state * many] >= best[beam - np.uint64(1)] or state == gold_state
        if not is_open[state]:
            for rank in range(many):
                scores[layer + state * many + rank] = -np.inf


@inner
def search(work, setup, sentences, base, n, k, is_exact, gold):  # type: ignore[no-untyped-def]
    """Find the k best ways to every state of every position; return the score of the `gold` tags (0 if empty).

    Without `is_exact` what is the same in all outputs is not scored, so that the best is found all the same: a word
    with one tag and, after one state, the move to it. The layer of a position starts at `layers[position]` in
    `scores` and `back`.
    """
    templates, sets, second_order = setup.templates, setup.sets, setup.second_order
    scores, back, layers = work.scores, work.back, work.layers
    emissions, moves = work.emissions, work.moves
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
        is_pruned = has_moves and np.uint64(0) < np.uint64(setup.beam) < states
        if is_pruned:
            kept = gold_state if has_gold else states
            close_states(work, np.uint64(layers[position - 1]), states, many, np.uint64(setup.beam), kept)
        if has_moves:
            collect_needed(work, setup, start, end)
            hash_words(work, templates, sentences.columns, base, n, position, not has_choice)
            fill_bigrams(work, setup, last_set, start, end, is_pruned)
        else:
            moves[0] = 0.0
        fill_emissions(work, setup, start, end, has_choice)
        source_layer = np.uint64(layers[position - 1])
        layer = np.uint64(layers[position])
        new_states = previous_size * size if second_order else size
        for index in range(layer, layer + new_states * many):
            scores[index] = -np.inf
        gold_index = np.uint64(0)
        if has_gold:
            while sets.tags[start + gold_index] != gold[np.uint64(base + position)]:
                gold_index += np.uint64(1)
        next_gold = gold_index
        for state in range(states):
            if is_pruned and not work.is_open[state]:
                continue
            if has_moves:
                fill_moves(work, setup, set_before, last_set, start, end, state)
            last_index = state % previous_size
            shift = last_index * size if second_order else np.uint64(0)
            source = source_layer + state * many
            for index in range(size):
                step = moves[index] + emissions[index]
                target = layer + (shift + index) * many
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
                gold_score += moves[gold_index] + emissions[gold_index]
                next_gold = shift + gold_index
        gold_state = next_gold
        states = new_states
        layers[position + 1] = np.int64(layer + new_states * many)
    return gold_score


@inner
def read_paths(work, sets, sentences, base, n, k):  # type: ignore[no-untyped-def]
    """Fill `best` and `paths` with the k best outputs, best first; return how many there are."""
    scores, back, layers, paths = work.scores, work.back, work.layers, work.paths
    many = np.uint64(k)
    best, ends = work.best, work.ends
    for rank in range(many):
        best[rank] = -np.inf
    for way in range(layers[n], layers[n + 1]):
        if scores[np.uint64(way)] > -np.inf:
            offer(best, ends, np.uint64(0), many, scores[np.uint64(way)], way - layers[n])
    found = 0
    while found < k and best[np.uint64(found)] > -np.inf:
        index = np.uint64(ends[np.uint64(found)])
        for position in range(n, 0, -1):
            start, end = set_range(sets, set_at(sentences, base, position))
            state = index // many
            paths[np.uint64(found), np.uint64(position)] = sets.tags[start + state % (end - start)]
            index = np.uint64(back[np.uint64(layers[position]) + index])
        found += 1
    return found


@lean_entry
def tag_range(work, setup, sentences, k, is_exact, no_gold, first, last, result):  # type: ignore[no-untyped-def]
    """Tag sentences [first, last): the k best outputs of each, their scores and how many there are."""
    for sentence in range(first, last):
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        search(work, setup, sentences, base, n, k, is_exact, no_gold)
        count = read_paths(work, setup.sets, sentences, base, n, k)
        result.counts[sentence] = count
        for rank in range(count):
            result.scores[sentence, rank] = work.best[rank]
            for position in range(1, n + 1):
                result.tags[rank, base + position] = work.paths[rank, position]


@inner
def tag_at(tags, index, boundary):  # type: ignore[no-untyped-def]
    """Return the tag of a position, or the boundary before the first word."""
    return np.int64(tags[np.uint64(index)]) if index > 0 else np.int64(boundary)


@inner
def hash_chain(work, templates, tags, position, boundary):  # type: ignore[no-untyped-def]
    """Fill `features` of the templates that look at tags; those of words are hashed already."""
    last_hash = hash_tag(templates, tag_at(tags, position - 1, boundary), 0)
    hash_before = hash_tag(templates, tag_at(tags, position - 2, boundary), 1)
    for template in range(np.uint64(templates.bounds[0]), np.uint64(templates.bounds[2])):
        work.features[template] = chain_feature(work.parts, templates, template, last_hash, hash_before)


@lean_entry
def collect_features(work, setup, columns, base, n, tags, features, outputs):  # type: ignore[no-untyped-def]
    """Write the (feature, tag) pairs of an output, and those of the parts of tags; return how many there are."""
    templates, parts = setup.templates, setup.parts
    written = np.uint64(0)
    for position in range(1, n + 1):
        hash_words(work, templates, columns, base, n, position, False)
        hash_chain(work, templates, tags, position, setup.outputs)
        tag = np.uint64(tags[np.uint64(position)])
        for template in range(np.uint64(templates.bounds[2])):
            features[written] = work.features[template]
            outputs[written] = np.uint16(tag)
            written += np.uint64(1)
            for i in range(np.uint64(parts.starts[tag]), np.uint64(parts.starts[tag + np.uint64(1)])):
                features[written] = work.features[template]
                outputs[written] = np.uint16(parts.outputs[i])
                written += np.uint64(1)
    return np.int64(written)
