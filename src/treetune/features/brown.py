"""Sentences to Brown clusters (Brown et al. 1992; the windowed algorithm of Liang 2005).

Words with similar neighbours share a class. Classes are merged greedily so that the mutual information of adjacent
classes falls least; the last merges form a binary tree, and the path from its root to a class is its bit string.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.errors import ConfigError, DataError
from treetune.features.clusters import Clusters
from treetune.features.encoding import normalise

CLASSES = 256
MIN_COUNT = 2
# How many words are added between two reports.
STEP = 100
# Up to here n log n is looked up.
LARGEST_LOG = 1 << 16

Report = Callable[[int, int], None]
"""Takes how many words have a class, and how many there are."""

# (where each word starts, its neighbours, how often each follows it, how often each precedes it)
Bigrams = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The words of a text, most frequent first, and which follow which."""

    words: list[str]
    counts: list[int]
    bigrams: Bigrams
    total: int


def learn_clusters(
    sentences: Iterable[Sequence[str]],
    *,
    classes: int = CLASSES,
    min_count: int = MIN_COUNT,
    report: Report = lambda done, total: None,
) -> Clusters:
    """Learn the Brown clusters of a text, in time O(V C²) for V different words and C classes.

    Digits are replaced by 0. Words below the count cut-off `min_count` get no class, and bigrams with them do not
    count. The result is deterministic.

    Raises:
        ConfigError: there are less than two classes, or `min_count` is not positive.
        DataError: the text has less than two words that are frequent enough, or no two of them in a row.
    """
    if classes < 2:
        raise ConfigError(f"expected at least 2 classes, found {classes}")
    if min_count < 1:
        raise ConfigError(f"min_count must be at least 1, found {min_count}")
    text = count_neighbours(sentences, min_count=min_count)
    if len(text.words) < 2 or not text.total:
        raise DataError(
            f"expected a text with at least two different words in a row, each seen at least {min_count} times"
        )
    slots, merges, _ = merge_classes(text, classes=min(classes, len(text.words)), report=report)
    paths = bit_strings(merges, size=min(classes, len(text.words)) + 1)
    by_word = {word: paths[slot] for word, slot in zip(text.words, slots.tolist(), strict=True)}
    return Clusters(by_word, dict(zip(text.words, text.counts, strict=True)))


def count_neighbours(sentences: Iterable[Sequence[str]], *, min_count: int) -> Neighbours:
    """Count the words and the pairs of neighbours within sentences; a rare word parts its neighbours."""
    numbers: dict[str, int] = {}
    stream = array("i")
    for sentence in sentences:
        stream.extend(numbers.setdefault(normalise(word), len(numbers)) for word in sentence)
        stream.append(-1)
    found = np.frombuffer(stream, np.int32) if stream else np.zeros(0, np.int32)
    counts = np.bincount(found[found >= 0], minlength=len(numbers))
    names = list(numbers)
    kept = [number for number in range(len(names)) if counts[number] >= min_count]
    kept.sort(key=lambda number: (-counts[number], names[number]))
    # The last entry is the one that -1, the end of a sentence, finds.
    ranks = np.full(len(names) + 1, -1, np.int64)
    ranks[kept] = np.arange(len(kept))
    ranked = ranks[found]
    first, second = ranked[:-1], ranked[1:]
    both = (first >= 0) & (second >= 0)
    codes, times = np.unique(first[both] * len(kept) + second[both], return_counts=True)
    bigrams = _both_ways(codes // max(1, len(kept)), codes % max(1, len(kept)), times, len(kept))
    return Neighbours([names[n] for n in kept], [int(counts[n]) for n in kept], bigrams, int(times.sum()))


def _both_ways(first: NDArray[np.int64], second: NDArray[np.int64], times: NDArray[np.int64], size: int) -> Bigrams:
    """Return for each word its neighbours, a neighbour once, with how often it follows and how often it precedes."""
    words = np.concatenate([first, second])
    others = np.concatenate([second, first])
    nothing = np.zeros(len(times), np.int64)
    follows, precedes = np.concatenate([times, nothing]), np.concatenate([nothing, times])
    codes, places = np.unique(words * size + others, return_inverse=True)
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(codes // size, minlength=size), out=starts[1:])
    return (
        starts,
        (codes % size).astype(np.int32),
        np.bincount(places, weights=follows, minlength=len(codes)).astype(np.int64),
        np.bincount(places, weights=precedes, minlength=len(codes)).astype(np.int64),
    )


def merge_classes(
    text: Neighbours, *, classes: int, report: Report = lambda done, total: None
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return the class of each word, the merges of all classes into one, and what each of those cost."""
    from treetune.features import _cluster_kernels as kernels

    window = make_window(classes, len(text.words))
    total = math.log(text.total)
    kernels.begin(window, text.bigrams, total)
    free = classes
    for first in range(classes, len(text.words), STEP):
        report(first, len(text.words))
        last = min(first + STEP, len(text.words))
        free = kernels.add_words(window, first, last, free, text.bigrams, total)
    slots = window.slot.copy()
    merges = np.zeros((classes - 1, 2), np.int32)
    costs = kernels.merge_all(window, merges, total)
    report(len(text.words), len(text.words))
    return slots, merges, costs


def make_window(classes: int, words: int) -> Any:
    """Return the working memory for so many classes: four matrices of (classes + 1)² numbers."""
    from treetune.features._cluster_kernels import Window

    size = classes + 1
    return Window(
        follows=np.zeros((size, size), np.int64),
        precedes=np.zeros((size, size), np.int64),
        both=np.zeros((size, size)),
        own=np.zeros(size),
        losses=np.zeros((size, size)),
        left=np.zeros(size, np.int64),
        right=np.zeros(size, np.int64),
        log_left=np.zeros(size),
        log_right=np.zeros(size),
        used=np.zeros(size, np.bool_),
        slot=np.full(words, -1, np.int32),
        first=np.full(size, -1, np.int32),
        after=np.full(words, -1, np.int32),
        logs=np.array([0.0, *(count * math.log(count) for count in range(1, LARGEST_LOG))]),
        change=np.zeros(size),
        old=np.zeros((4, size), np.int64),
    )


def bit_strings(merges: NDArray[np.int32], *, size: int) -> list[str]:
    """Return the bit string of each slot: the way from the root of the tree of merges, 0 where a slot was kept."""
    paths = [""] * size
    # The last merge is the root of the tree: unfold from there.
    for kept, gone in reversed(merges.tolist()):
        paths[gone] = paths[kept] + "1"
        paths[kept] += "0"
    return paths
