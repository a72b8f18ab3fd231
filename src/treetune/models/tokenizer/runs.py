"""Runs of letters within which words meet, as in ``cannot``; and their suffixes and prefixes, for runs never seen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from treetune.models.tokenizer import _kernels as kernels
from treetune.models.tokenizer.characters import KIND, Text

# Scripts in which so large a part of tokens ends between letters have no spaces between words.
DENSE = 0.05
# A suffix or prefix is productive if so many different runs, and so large a part of all that have it, were split at it.
LEAST_RUNS = 2
LEAST_SHARE = 0.05


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
        dense=between_letters > DENSE * tokens,
    )


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
