"""Training kernels of the arc-eager parser: beam search with gold beside it, dynamic oracle, online updates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.features._kernels import inner, lean_entry, mix
from treetune.models.transition._kernels import (
    ACTION,
    BELOW,
    CAN_LEFT,
    CAN_REDUCE,
    CAN_RIGHT,
    CAN_SHIFT,
    FRONT,
    LABEL,
    LEFT,
    NO_LABEL,
    PREVIOUS,
    SHIFT,
    TOP,
    WORD,
    Arcs,
    apply_action,
    clear_memo,
    collect_features,
    hash_state,
    label_is_legal,
    legal_moves,
    offer_moves,
    prepare_fixed,
    score_state,
    start_state,
)
from treetune.weights._kernels import (
    MIRA,
    ROUNDING,
    STEPS,
    apply_update,
    clear_margins,
    pair_slot,
    room_is_short,
    solve_update,
)

EARLY, MAX_VIOLATION = 0, 1


class Gold(NamedTuple):
    """Gold trees over all tokens, the root of heads as n + 1, and their canonical transitions."""

    heads: NDArray[np.int32]
    labels: NDArray[np.int32]
    actions: NDArray[np.int32]


class Options(NamedTuple):
    """The options of a learner as numbers; `update` is where beam search is corrected."""

    rule: int
    update: int
    clip: float
    explore: float
    seed: int


class Scratch(NamedTuple):
    """Working memory of training besides that of the search.

    `unknown` are the constraints of one sentence without any, `predicted` the transitions of a state, `candidates` the
    states that gold must lead, `on_stack` marks of words, `costs` and `chosen` those of a greedy step.
    """

    unknown: Arcs
    predicted: NDArray[np.int32]
    candidates: NDArray[np.int64]
    on_stack: NDArray[np.bool_]
    costs: NDArray[np.int64]
    chosen: NDArray[np.int64]


@inner
def trace_actions(work, state, count, actions):  # type: ignore[no-untyped-def]
    """Write the transitions that led to a state, `count` of them."""
    for step in range(count - 1, -1, -1):
        actions[step] = work.states[state, ACTION]
        state = work.states[state, PREVIOUS]


@inner
def find_violation(work, setup, columns, base, n, gold, update):  # type: ignore[no-untyped-def]
    """Search with the gold sequence beside; return where to update.

    That is (length of the prefixes, 0 for none; the gold state there, its score; the width of the beam there),
    the last three of whole sequences if there is none. Early update (Collins & Roark 2004): the step at which
    gold leaves the beam. Max-violation (Huang et al. 2012): the step at which the best state of the beam
    leads gold by most. Either way a whole sequence when gold stays in the beam but not first.
    """
    n_labels, beam = setup.labels.at_root.shape[0], setup.beam
    start_state(work, np.int64(0))
    if setup.memo:
        clear_memo(work.counters)
    width = 1
    gold_state = 0
    gold_rank = 0
    gold_score = 0.0
    beside = (2 * n + 1) * beam  # where states of a gold sequence that left the beam go
    violation_step, violation_state, violation_width = 0, 0, 0
    violation, violation_score = -np.inf, 0.0
    for step in range(2 * n):
        first = step * beam
        count = 0
        for state in range(first, first + width):
            moves = legal_moves(work, state, n)
            score_state(work, setup, state, columns, base, n, setup.memo)
            count = offer_moves(work, setup, state, moves, n, count)
            if state == gold_state:
                gold_score += work.sums[gold[step]]
        if gold_rank == -1:
            moves = legal_moves(work, gold_state, n)
            score_state(work, setup, gold_state, columns, base, n, setup.memo)
            gold_score += work.sums[gold[step]]
        previous_rank = gold_rank
        gold_rank = -1
        for i in range(count):
            apply_action(work, work.best_state[i], work.best_action[i], first + beam + i, n_labels)
            work.scores[first + beam + i] = work.best_score[i]
            if previous_rank != -1 and work.best_state[i] == gold_state and work.best_action[i] == gold[step]:
                gold_rank = i
        if gold_rank == -1:
            apply_action(work, gold_state, gold[step], beside + step, n_labels)
            gold_state = beside + step
        else:
            gold_state = first + beam + gold_rank
        width = count
        if gold_rank != 0 and work.best_score[0] - gold_score >= violation:
            violation = work.best_score[0] - gold_score
            violation_step, violation_state, violation_width = step + 1, gold_state, width
            violation_score = gold_score
        if gold_rank == -1 and update == EARLY:
            return step + 1, gold_state, gold_score, width
    if gold_rank == 0:
        return 0, gold_state, gold_score, width
    if update == EARLY:
        return 2 * n, gold_state, gold_score, width
    return violation_step, violation_state, violation_score, violation_width


@inner
def collect_update(work, templates, columns, base, n, n_labels, better, worse, length, update):  # type: ignore[no-untyped-def]
    """Fill `update` with +1 for the features of `better` and -1 for those of `worse`, common prefix left out."""
    same = 0
    while same < length and better[same] == worse[same]:
        same += 1
    half = collect_features(
        work, templates, columns, base, n, n_labels, better, same, length, update.features, update.outputs, 0
    )
    count = collect_features(
        work, templates, columns, base, n, n_labels, worse, same, length, update.features, update.outputs, half
    )
    update.deltas[:half] = 1.0
    update.deltas[half:count] = -1.0
    return count


@lean_entry
def train_perceptron(  # type: ignore[no-untyped-def]
    work, setup, averages, sentences, gold, options, order, first, last, scratch, update
):
    """Learn from sentences order[first:last]; return how many were done, how many led to an update.

    Stops early when the store must be enlarged; what is pending in `update` is then added by `finish_update`.
    """
    updated = 0
    store, templates, n_labels = setup.store, setup.templates, setup.labels.at_root.shape[0]
    for position in range(first, last):
        sentence = order[position]
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        if room_is_short(store, averages, 4 * n * templates.seeds.shape[0]):
            return position - first, updated
        averages.counters[STEPS] += 1
        actions = gold.actions[2 * base :]
        prepare_fixed(work, setup, scratch.unknown, 0, sentences, base, n)
        columns = sentences.columns
        length, _, _, _ = find_violation(work, setup, columns, base, n, actions, options.update)
        if length > 0:
            updated += 1
            trace_actions(work, length * setup.beam, length, scratch.predicted)
            count = collect_update(
                work, templates, columns, base, n, n_labels, actions, scratch.predicted, length, update
            )
            if not apply_update(store, averages, update, count):
                return position - first + 1, updated
    return last - first, updated


@inner
def lost_arcs(work, state, n, n_labels, gold_heads, gold_labels, on_stack):  # type: ignore[no-untyped-def]
    """Return how many gold arcs no completion of a state can have, whatever its number of roots.

    An arc is lost when its word has another head or label, when its word still waits but the head has gone by,
    or when its head has left the stack before the word came. `gold_heads` has the root as n + 1.
    """
    states, nodes = work.states, work.nodes
    front = states[state, FRONT]
    for word in range(1, front):
        on_stack[word] = False
    lost = 0
    node = states[state, TOP]
    while node != -1:
        word = nodes[node, WORD]
        on_stack[word] = True
        if nodes[node, LABEL] == NO_LABEL and gold_heads[word] < front:
            lost += 1
        node = nodes[node, BELOW]
    for word in range(front, n + 1):
        if gold_heads[word] < front and not on_stack[gold_heads[word]]:
            lost += 1
    while states[state, PREVIOUS] != -1:
        source, action = states[state, PREVIOUS], states[state, ACTION]
        before, top = states[source, FRONT], states[source, TOP]
        if action >= LEFT + n_labels:
            if gold_heads[before] != nodes[top, WORD] or gold_labels[before] != action - LEFT - n_labels:
                lost += 1
        elif action >= LEFT:
            word = nodes[top, WORD]
            if gold_heads[word] != before or gold_labels[word] != action - LEFT:
                lost += 1
        state = source
    return lost


@inner
def choose_candidates(  # type: ignore[no-untyped-def]
    work, n, n_labels, first, width, gold_state, gold_score, gold, base, scratch, wanted
):
    """Take the best of the states [first, first + width) but gold, and fill how far gold is from each margin.

    Gold should lead each by the arcs it has lost; by one if it has lost none, being another derivation of the same
    tree or a mistake that shows later. Returns the number of candidates.
    """
    chosen = 0
    for state in range(first, first + width):
        if state != gold_state and chosen < wanted.shape[0]:
            lost = lost_arcs(work, state, n, n_labels, gold.heads[base:], gold.labels[base:], scratch.on_stack)
            scratch.candidates[chosen] = state
            wanted[chosen] = max(1, lost) - (gold_score - work.scores[state])
            chosen += 1
    return chosen


@inner
def collect_margins(work, templates, columns, base, n, length, gold_state, candidates, count, margins):  # type: ignore[no-untyped-def]
    """Fill `margins` with the features of gold minus those of each candidate, all of `length` transitions.

    Goes back from all states at once. States that have come together are one state, so what candidates share is
    hashed once, and nothing is left when all have met gold.
    """
    states, counts, current = work.states, margins.counts, candidates
    clear_margins(margins)
    hashed = np.int64(-1)
    for _ in range(length):
        apart = False
        for leader in range(count):
            state = current[leader]
            if state == gold_state:
                continue
            apart = True
            is_new = True
            for other in range(leader):
                is_new = is_new and current[other] != state
            if is_new:
                source = np.int64(states[state, PREVIOUS])
                if source != hashed:
                    hash_state(work, source, templates, columns, base, n)
                    hashed = source
                for template in range(work.features.shape[0]):
                    slot = pair_slot(margins, work.features[template], states[state, ACTION])
                    for i in range(leader, count):
                        if current[i] == state:
                            counts[slot, i] -= np.float32(1)
        if not apart:
            return
        source = np.int64(states[gold_state, PREVIOUS])
        if source != hashed:
            hash_state(work, source, templates, columns, base, n)
            hashed = source
        for template in range(work.features.shape[0]):
            slot = pair_slot(margins, work.features[template], states[gold_state, ACTION])
            for i in range(count):
                if current[i] != gold_state:
                    counts[slot, i] += np.float32(1)
        for i in range(count):
            current[i] = states[current[i], PREVIOUS]
        gold_state = source


@inner
def is_short(wanted, count):  # type: ignore[no-untyped-def]
    """Say whether gold is short of any margin."""
    for i in range(count):
        if wanted[i] > ROUNDING:
            return True
    return False


@lean_entry
def train_mira(  # type: ignore[no-untyped-def]
    work, setup, averages, sentences, gold, options, order, first, last, scratch, margins, update
):
    """Learn by k-best MIRA from sentences order[first:last]; see `train_perceptron`.

    Where the search goes wrong, gold must lead the best states of the beam by their losses; where it does not,
    the complete ones.
    """
    updated = 0
    store, templates, n_labels = setup.store, setup.templates, setup.labels.at_root.shape[0]
    changes_a_word = 2 * (1 + margins.wanted.shape[0]) * templates.seeds.shape[0]
    for position in range(first, last):
        sentence = order[position]
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        if room_is_short(store, averages, changes_a_word * n):
            return position - first, updated
        averages.counters[STEPS] += 1
        columns = sentences.columns
        prepare_fixed(work, setup, scratch.unknown, 0, sentences, base, n)
        length, gold_state, gold_score, width = find_violation(
            work, setup, columns, base, n, gold.actions[2 * base :], options.update
        )
        if length == 0:
            length = 2 * n
        count = choose_candidates(
            work, n, n_labels, length * setup.beam, width, gold_state, gold_score, gold, base, scratch, margins.wanted
        )
        if is_short(margins.wanted, count):
            collect_margins(work, templates, columns, base, n, length, gold_state, scratch.candidates, count, margins)
            updated += 1
            changes = solve_update(margins, count, MIRA, options.clip, update)
            if not apply_update(store, averages, update, changes):
                return position - first + 1, updated
    return last - first, updated


@inner
def move_costs(work, state, n, gold_heads, costs):  # type: ignore[no-untyped-def]
    """Fill the number of gold arcs that each kind of transition loses (Goldberg & Nivre 2012).

    `gold_heads` has the root as n + 1. `costs` are of SHIFT, REDUCE, LEFT and RIGHT; a wrong label on a
    right arc costs one more, which the caller adds.
    """
    states, nodes = work.states, work.nodes
    top, front = states[state, TOP], states[state, FRONT]
    costs[:] = 0
    head_on_stack, waiting = 0, 0
    node = top
    while node != -1:
        word = nodes[node, WORD]
        if front <= n and gold_heads[front] == word:
            head_on_stack = 1
        if nodes[node, LABEL] == NO_LABEL and gold_heads[word] == front:
            waiting += 1
        node = nodes[node, BELOW]
    costs[0] = head_on_stack + waiting
    if top == -1:
        return
    word = nodes[top, WORD]
    dependents = 0
    for later in range(front, n + 1):
        if gold_heads[later] == word:
            dependents += 1
    costs[1] = dependents
    costs[2] = dependents
    if gold_heads[word] > front:
        costs[2] += 1
    costs[3] = waiting
    if front <= n and gold_heads[front] != word and (head_on_stack or gold_heads[front] > front):
        costs[3] += 1


ILLEGAL = -1


@inner
def cost_of(work, labels, action, moves, n, word, front, gold_heads, gold_labels, costs):  # type: ignore[no-untyped-def]
    """Return the cost of a transition, or ILLEGAL; `costs` are those of its kind, `word` is on top."""
    n_labels, tags = labels.at_root.shape[0], work.fixed.tags
    if action < LEFT:
        return costs[action] if moves & (CAN_SHIFT if action == SHIFT else CAN_REDUCE) else ILLEGAL
    if action < LEFT + n_labels:
        label = action - LEFT
        if not moves & CAN_LEFT or not label_is_legal(label, NO_LABEL, tags[word], front == n + 1, labels):
            return ILLEGAL
        return costs[2] + (gold_heads[word] == front and gold_labels[word] != label)
    label = action - LEFT - n_labels
    if not moves & CAN_RIGHT or not label_is_legal(label, NO_LABEL, tags[front], False, labels):
        return ILLEGAL
    return costs[3] + (gold_heads[front] == word and gold_labels[front] != label)


@inner
def choose_moves(work, labels, state, moves, n, gold_heads, gold_labels, costs, chosen):  # type: ignore[no-untyped-def]
    """Find the best-scoring legal transition and the best-scoring one of least cost.

    `chosen` receives (predicted, its cost, oracle, its cost).
    """
    sums = work.sums
    top, front = work.states[state, TOP], work.states[state, FRONT]
    word = work.nodes[top, WORD] if top != -1 else 0
    move_costs(work, state, n, gold_heads, costs)
    chosen[0] = -1
    chosen[2] = -1
    for action in range(sums.shape[0]):
        cost = cost_of(work, labels, action, moves, n, word, front, gold_heads, gold_labels, costs)
        if cost == ILLEGAL:
            continue
        if chosen[0] == -1 or sums[action] > sums[chosen[0]]:
            chosen[0] = action
            chosen[1] = cost
        if chosen[2] == -1 or cost < chosen[3] or (cost == chosen[3] and sums[action] > sums[chosen[2]]):
            chosen[2] = action
            chosen[3] = cost


@inner
def best_costlier(work, labels, state, moves, n, gold_heads, gold_labels, costs, least):  # type: ignore[no-untyped-def]
    """Return the best-scoring legal transition that costs more than the least, -1 if there is none."""
    sums = work.sums
    top, front = work.states[state, TOP], work.states[state, FRONT]
    word = work.nodes[top, WORD] if top != -1 else 0
    worse = -1
    for action in range(sums.shape[0]):
        cost = cost_of(work, labels, action, moves, n, word, front, gold_heads, gold_labels, costs)
        if cost > least and (worse == -1 or sums[action] > sums[worse]):
            worse = action
    return worse


@lean_entry
def train_greedy(  # type: ignore[no-untyped-def]
    work, setup, averages, sentences, gold, options, order, first, last, scratch, update
):
    """Learn greedy parsing by the dynamic oracle from sentences order[first:last]; see `train_perceptron`.

    With probability `explore` the parser continues from its own mistake, so that it learns what to do then.
    The perceptron learns from mistakes, by steps of one. With MIRA the oracle's transition must lead every worse one
    by one, and a step is as large as that asks for, at most `clip`.
    """
    updated = 0
    store, templates, labels = setup.store, setup.templates, setup.labels
    n_labels = labels.at_root.shape[0]
    n_templates = templates.seeds.shape[0]
    costs, chosen = scratch.costs, scratch.chosen
    for position in range(first, last):
        sentence = order[position]
        base = sentences.offsets[sentence]
        n = sentences.offsets[sentence + 1] - base - 1
        if room_is_short(store, averages, 4 * n * n_templates):
            return position - first, updated
        averages.counters[STEPS] += 1
        columns = sentences.columns
        gold_heads, gold_labels = gold.heads[base:], gold.labels[base:]
        prepare_fixed(work, setup, scratch.unknown, 0, sentences, base, n)
        start_state(work, np.int64(0))
        count = 0
        # Mixed before steps are added: neighbouring numbers would draw the same, one step later.
        draws = mix(mix(np.uint64(options.seed)) + np.uint64(position))
        for step in range(2 * n):
            moves = legal_moves(work, step, n)
            score_state(work, setup, step, columns, base, n, False)
            choose_moves(work, labels, step, moves, n, gold_heads, gold_labels, costs, chosen)
            action, oracle, worse = chosen[0], chosen[2], chosen[0]
            is_wrong = chosen[1] > chosen[3]
            size = 1.0 if is_wrong else 0.0
            if options.rule == MIRA:
                worse = best_costlier(work, labels, step, moves, n, gold_heads, gold_labels, costs, chosen[3])
                wanted = 0.0
                if worse != -1:
                    wanted = 1.0 - (np.float64(work.sums[oracle]) - np.float64(work.sums[worse]))
                # The two transitions share no weight, and each has one a template.
                size = min(wanted / (2.0 * n_templates), options.clip) if wanted > ROUNDING else 0.0
            if size > 0.0:
                for sign in range(2):
                    for template in range(n_templates):
                        update.features[count] = work.features[template]
                        update.outputs[count] = worse if sign else oracle
                        update.deltas[count] = -size if sign else size
                        count += 1
            if is_wrong:
                draw = mix(draws + np.uint64(step))
                if np.float64(draw >> np.uint64(11)) / 9007199254740992.0 >= options.explore:
                    action = oracle
            apply_action(work, step, action, step + 1, n_labels)
        if count > 0:
            updated += 1
            if not apply_update(store, averages, update, count):
                return position - first + 1, updated
    return last - first, updated
