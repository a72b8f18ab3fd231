"""The kernels of Brown clustering: classes that are merged so that mutual information falls least.

Liang 2005, section 4 ("Semi-supervised learning for natural language", after Brown et al. 1992): a window of C + 1
classes, for every pair of which the loss of merging it is known. Adding a word and merging two classes change each of
the losses by a few terms, so that a word costs O(C²). Mutual information is taken times the number of bigrams: the
term of an ordered pair is ``n log(n N / (l r)) = n log n + n (log N - log l - log r)``, in which n log n comes from a
table and the logarithms of l and r are kept for each class.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from treetune.features._kernels import entry, inner, part


class Window(NamedTuple):
    """The classes there are at the moment, in slots; a slot that is not `used` is free.

    `follows[a, b]` is how often b follows a, `precedes[a, b]` how often it precedes a; `both[a, b]` is the sum of the
    two terms, `own[a]` the term of a followed by itself, and `losses[a, b]`, a < b, what merging the two would cost.
    `left` and `right` are how often a class is the first or the second of any two words, also of those that have no
    class yet. `slot` has the class of each word, -1 if it has none yet; `first` and `after` chain the words of a class.
    `logs` is the table of n log n, `change` and `old` are for numbers between two steps.
    """

    follows: Any
    precedes: Any
    both: Any
    own: Any
    losses: Any
    left: Any
    right: Any
    log_left: Any
    log_right: Any
    used: Any
    slot: Any
    first: Any
    after: Any
    logs: Any
    change: Any
    old: Any


@inner
def _n_log_n(window, count):  # type: ignore[no-untyped-def]
    if count < len(window.logs):
        return window.logs[count]
    return count * math.log(count)


@inner
def _log(count):  # type: ignore[no-untyped-def]
    """Return a logarithm; that of 0 is only ever taken 0 times."""
    return math.log(max(1, count))


@part
def _joined_with(window, follows, precedes, c, left, right, total):  # type: ignore[no-untyped-def]
    """Return the two terms with class c of a class with these counts and logarithms; `total` is one too."""
    there = _n_log_n(window, follows) + follows * (total - left - window.log_right[c])
    back = _n_log_n(window, precedes) + precedes * (total - window.log_left[c] - right)
    return there + back


@part
def _whole_loss(window, a, b, total):  # type: ignore[no-untyped-def]
    """Return what merging a and b costs, from scratch."""
    follows, precedes = window.follows, window.precedes
    left = _log(window.left[a] + window.left[b])
    right = _log(window.right[a] + window.right[b])
    inside = follows[a, a] + follows[a, b] + follows[b, a] + follows[b, b]
    loss = window.own[a] + window.own[b] + window.both[a, b]
    loss -= _n_log_n(window, inside) + inside * (total - left - right)
    for c in range(len(window.used)):
        if window.used[c] and c != a and c != b:
            there, back = follows[a, c] + follows[b, c], precedes[a, c] + precedes[b, c]
            if there + back > 0:
                loss += window.both[a, c] + window.both[b, c]
                loss -= _joined_with(window, there, back, c, left, right, total)
    return loss


@part
def _fill_terms(window, slot, total):  # type: ignore[no-untyped-def]
    """Put the terms of one class right."""
    left = window.log_left[slot] = _log(window.left[slot])
    right = window.log_right[slot] = _log(window.right[slot])
    for c in range(len(window.used)):
        if window.used[c] and c != slot:
            both = _joined_with(window, window.follows[slot, c], window.precedes[slot, c], c, left, right, total)
            window.both[slot, c] = both
            window.both[c, slot] = both
    own = window.follows[slot, slot]
    window.own[slot] = _n_log_n(window, own) + own * (total - left - right)


@part
def _fill_losses(window, slot, total):  # type: ignore[no-untyped-def]
    for c in range(len(window.used)):
        if window.used[c] and c != slot:
            window.losses[min(c, slot), max(c, slot)] = _whole_loss(window, min(c, slot), max(c, slot), total)


@part
def _place(window, word, slot, bigrams, total):  # type: ignore[no-untyped-def]
    """Make a word the only one of the class in a free slot."""
    starts, others, follows, precedes = bigrams
    window.slot[word] = slot
    window.first[slot] = word
    window.after[word] = -1
    window.used[slot] = True
    for c in range(len(window.used)):
        window.follows[slot, c] = 0
        window.follows[c, slot] = 0
        window.precedes[slot, c] = 0
        window.precedes[c, slot] = 0
    window.left[slot] = 0
    window.right[slot] = 0
    for place in range(starts[word], starts[word + 1]):
        window.left[slot] += follows[place]
        window.right[slot] += precedes[place]
        c = window.slot[others[place]]
        if c >= 0:
            window.follows[slot, c] += follows[place]
            window.precedes[slot, c] += precedes[place]
            if c != slot:
                window.precedes[c, slot] += follows[place]
                window.follows[c, slot] += precedes[place]
    _fill_terms(window, slot, total)


@part
def _add(window, word, slot, bigrams, total):  # type: ignore[no-untyped-def]
    """Put a word into a free slot, and the losses right."""
    _place(window, word, slot, bigrams, total)
    follows, precedes, size = window.follows, window.precedes, len(window.used)
    for a in range(size):
        if not window.used[a] or a == slot:
            continue
        for b in range(a + 1, size):
            there, back = follows[slot, a] + follows[slot, b], precedes[slot, a] + precedes[slot, b]
            if there + back > 0 and window.used[b] and b != slot:
                left = _log(window.left[a] + window.left[b])
                right = _log(window.right[a] + window.right[b])
                window.losses[a, b] += window.both[a, slot] + window.both[b, slot]
                window.losses[a, b] -= _joined_with(window, back, there, slot, left, right, total)
    _fill_losses(window, slot, total)


@part
def _cheapest(window):  # type: ignore[no-untyped-def]
    """Return the pair whose merging costs least, the first of equals."""
    best, best_a, best_b = np.inf, -1, -1
    size = len(window.used)
    for a in range(size):
        if window.used[a]:
            for b in range(a + 1, size):
                if window.losses[a, b] < best and window.used[b]:
                    best, best_a, best_b = window.losses[a, b], a, b
    return best_a, best_b


@part
def _merge(window, a, b, total):  # type: ignore[no-untyped-def]
    """Merge the class in slot b into that in slot a, and put all losses right.

    For another pair (c, d) the terms that it has with a and b, before and after it is merged itself, become those with
    the new class. What depends on c or d alone is collected in `change`; of the rest only n log n is left.
    """
    follows, precedes, used, change, old = window.follows, window.precedes, window.used, window.change, window.old
    size = len(used)
    window.used[b] = False
    for c in range(size):
        old[0, c], old[1, c] = follows[a, c], precedes[a, c]
        old[2, c], old[3, c] = follows[b, c], precedes[b, c]
        change[c] = -window.both[c, a] - window.both[c, b]
        change[c] -= follows[c, a] * window.log_right[a] + follows[c, b] * window.log_right[b]
        change[c] -= precedes[c, a] * window.log_left[a] + precedes[c, b] * window.log_left[b]
    for c in range(size):
        if c != a and c != b:
            follows[a, c] += follows[b, c]
            precedes[a, c] += precedes[b, c]
            follows[c, a] = precedes[a, c]
            precedes[c, a] = follows[a, c]
    inside = follows[a, a] + follows[a, b] + follows[b, a] + follows[b, b]
    follows[a, a], precedes[a, a] = inside, inside
    window.left[a] += window.left[b]
    window.right[a] += window.right[b]
    _move_words(window, a, b)
    _fill_terms(window, a, total)
    for c in range(size):
        change[c] += window.both[c, a]
        change[c] += follows[c, a] * window.log_right[a] + precedes[c, a] * window.log_left[a]
    for c in range(size):
        if used[c] and c != a:
            _change_losses(window, c, a)
    _fill_losses(window, a, total)


@part
def _change_losses(window, c, a):  # type: ignore[no-untyped-def]
    """Put the losses of the pairs (c, d), d > c, right after a merge into slot a."""
    old, change, losses = window.old, window.change, window.losses
    for d in range(c + 1, len(window.used)):
        loss = losses[c, d] + (change[c] + change[d])
        gone_there, gone_back = old[2, c] + old[2, d], old[3, c] + old[3, d]
        if gone_there > 0:
            kept = old[0, c] + old[0, d]
            loss += _n_log_n(window, kept) + _n_log_n(window, gone_there) - _n_log_n(window, kept + gone_there)
        if gone_back > 0:
            kept = old[1, c] + old[1, d]
            loss += _n_log_n(window, kept) + _n_log_n(window, gone_back) - _n_log_n(window, kept + gone_back)
        losses[c, d] = loss


@part
def _move_words(window, a, b):  # type: ignore[no-untyped-def]
    """Move the words of the class in slot b to that in slot a."""
    word = window.first[b]
    while True:
        window.slot[word] = a
        if window.after[word] < 0:
            break
        word = window.after[word]
    window.after[word] = window.first[a]
    window.first[a] = window.first[b]


@entry
def begin(window, bigrams, total):  # type: ignore[no-untyped-def]
    """Give the most frequent words a class each, and find the losses of all pairs; the last slot stays free."""
    classes = len(window.used) - 1
    for word in range(classes):
        _place(window, word, word, bigrams, total)
    for a in range(classes):
        for b in range(a + 1, classes):
            window.losses[a, b] = _whole_loss(window, a, b, total)


@entry
def add_words(window, first, last, free, bigrams, total):  # type: ignore[no-untyped-def]
    """Add words one by one, each followed by the cheapest merge; return the slot that is free then."""
    for word in range(first, last):
        _add(window, word, free, bigrams, total)
        a, b = _cheapest(window)
        _merge(window, a, b, total)
        free = b
    return free


@entry
def merge_all(window, merges, total):  # type: ignore[no-untyped-def]
    """Merge classes until one is left; write down which slot went into which, and return what each merge cost."""
    costs = np.zeros(len(merges))
    for step in range(len(merges)):
        a, b = _cheapest(window)
        costs[step] = window.losses[a, b]
        merges[step, 0] = a
        merges[step, 1] = b
        _merge(window, a, b, total)
    return costs
