"""Runs of letters within which words meet, as in ``cannot``; their suffixes and prefixes; and runs that are words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Arrays
from treetune.errors import ModelError
from treetune.models.tokenizer import _kernels as kernels
from treetune.models.tokenizer.characters import KIND, Text

# Scripts in which so large a part of tokens ends between letters have no spaces between words.
DENSE = 0.05
# A suffix or prefix is productive if so many different runs, and so large a part of all that have it, were split at it.
LEAST_RUNS = 2
LEAST_SHARE = 0.05
# Sentences do not end between characters of two kinds if so many pairs were seen, and so small a part ended a sentence.
LEAST_PAIRS = 100
LEAST_ENDS = 0.005


def find_runs(text: Text, marks: NDArray[np.uint8]) -> kernels.Runs:
    """Return where words meet within the letters of a text; `marks` says what follows each character."""
    letters = np.isin(text.kinds, [KIND[name] for name in ("lower", "upper", "letter", "mark")])
    edges = np.flatnonzero(np.diff(letters, prepend=False, append=False))
    lower = "".join(map(chr, text.lower.tolist()))
    meets = np.flatnonzero(marks[:-1].astype(bool) & letters[:-1] & letters[1:])
    split: set[str] = set()
    suffixes: defaultdict[str, set[str]] = defaultdict(set)
    prefixes: defaultdict[str, set[str]] = defaultdict(set)
    for index, place in zip(meets.tolist(), np.searchsorted(edges, meets, side="right").tolist(), strict=True):
        first, last = int(edges[place - 1]), int(edges[place])
        split.add(lower[first:last])
        suffixes[lower[index + 1 : last]].add(lower[first:last])
        prefixes[lower[first : index + 1]].add(lower[first:last])
    runs = {lower[first:last] for first, last in edges.reshape(-1, 2).tolist()}
    having = Counter(run[at:] for run in runs for at in range(1, len(run)) if run[at:] in suffixes)
    begun = Counter(run[:at] for run in runs for at in range(1, len(run)) if run[:at] in prefixes)
    between_letters, tokens = (int((part >= kernels.TOKEN).sum()) for part in (marks[meets], marks))
    return kernels.Runs(
        runs=_hashes(split),
        suffixes=_hashes(_productive(suffixes, having)),
        prefixes=_hashes(_productive(prefixes, begun)),
        units=_units(text, marks, edges, lower),
        known=_filter(_hashes(_whole_words(text, marks, edges, lower))),
        splits=_seen_pairs(text, np.flatnonzero(marks == kernels.SPLIT)),
        ends=_ending_pairs(text, marks),
        dense=between_letters > DENSE * tokens,
    )


def _whole_words(text: Text, marks: NDArray[np.uint8], edges: NDArray[np.int64], lower: str) -> Iterable[str]:
    """Return the runs in lower case that were tokens more than once; a word seen once looks like those never seen."""
    starts, ends = edges[0::2], edges[1::2]
    begins = np.append(True, (marks >= kernels.TOKEN) | (text.kinds == KIND["space"]))[starts]
    is_word = begins & (marks[ends - 1] >= kernels.TOKEN) & (text.kinds[starts] == KIND["lower"])
    spans = zip(starts[is_word].tolist(), ends[is_word].tolist(), strict=True)
    counts = Counter(lower[start:end] for start, end in spans)
    return (word for word, count in counts.items() if count > 1)


def _units(text: Text, marks: NDArray[np.uint8], edges: NDArray[np.int64], lower: str) -> NDArray[np.uint64]:
    """Return the hashes of the runs that were cut off from digits."""
    is_digit = np.append(text.kinds == KIND["digit"], False)
    cut = np.append(marks > kernels.INSIDE, False)
    starts, ends = edges[0::2], edges[1::2]
    after = is_digit[starts - 1] & cut[starts - 1]
    before = is_digit[ends] & cut[ends - 1]
    spans = [zip(starts[chosen].tolist(), ends[chosen].tolist(), strict=True) for chosen in (after, before)]
    found = [{hash_word(lower[start:end][: kernels.LONGEST]) for start, end in part} for part in spans]
    return np.array(sorted(found[0] | {value ^ int(kernels.BEFORE_DIGITS) for value in found[1]}), np.uint64)


def _pairs(text: Text, ends: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how often characters of each pair of kinds stand at `ends` and `starts`."""
    return np.bincount(text.kinds[ends].astype(np.int64) * len(KIND) + text.kinds[starts], minlength=len(KIND) ** 2)


def _seen_pairs(text: Text, ends: NDArray[np.int64]) -> NDArray[np.uint8]:
    return (_pairs(text, ends, ends + 1) > 0).astype(np.uint8)


def _ending_pairs(text: Text, marks: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the pairs of kinds between which sentences end, or of which too few were seen to tell."""
    ends = np.flatnonzero((marks >= kernels.TOKEN)[: np.flatnonzero(marks)[-1]])
    spaces = np.append(text.kinds == KIND["space"], False)
    starts = ends + 1
    while spaces[starts].any():
        starts += spaces[starts]
    last = marks[ends] == kernels.SENTENCE
    seen, ended = _pairs(text, ends, starts), _pairs(text, ends[last], starts[last])
    return ((seen < LEAST_PAIRS) | (ended > LEAST_ENDS * seen)).astype(np.uint8)


def _filter(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a filter that few others than these words pass: 16 bits for each."""
    known = np.zeros(len(words) // 4 + 1, np.uint64)
    kernels.add_known(known, words)
    return known


def _productive(split: dict[str, set[str]], having: Counter[str]) -> Iterable[str]:
    """Return the suffixes, or prefixes, at which enough of the runs that have them are split."""
    return (
        affix for affix, runs in split.items() if len(runs) >= LEAST_RUNS and len(runs) >= LEAST_SHARE * having[affix]
    )


def _hashes(words: Iterable[str]) -> NDArray[np.uint64]:
    return np.array(sorted({hash_word(word) for word in words}), np.uint64)


def hash_word(word: str) -> int:
    """Return the hash of a word, as it is looked up, as the kernels make it; of a longer one its first characters."""
    value = 0xCBF29CE484222325
    for character in word[: kernels.LONGEST]:
        value = ((value ^ ord(character)) * 0x100000001B3) & (2**64 - 1)
    return value


def read_runs(arrays: Arrays, *, dense: bool) -> kernels.Runs:
    """Return the checked arrays of a model, of which those of earlier versions have only the first."""
    pairs = len(KIND) ** 2
    runs = arrays.integers("split_runs", np.uint64)
    if "split_known" not in arrays:
        none, anywhere = np.zeros(0, np.uint64), np.ones(pairs, np.uint8)
        return kernels.Runs(runs, none, none, none, np.zeros(1, np.uint64), anywhere, anywhere, dense)
    suffixes, prefixes, units, known = (
        arrays.integers(f"split_{name}", np.uint64) for name in ("suffixes", "prefixes", "units", "known")
    )
    if not len(known):
        raise ModelError("split_known: expected 1 number or more, found 0")
    splits, ends = (arrays.integers(f"split_{name}", np.uint8, pairs) for name in ("splits", "ends"))
    return kernels.Runs(runs, suffixes, prefixes, units, known, splits, ends, dense)
