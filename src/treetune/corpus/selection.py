"""Which sentences are worth training on: neither too short nor too long, none twice, and none of a test set."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from treetune.corpus.files import StrPath
from treetune.corpus.sentence import Sentence
from treetune.corpus.treebank import read_words
from treetune.errors import ConfigError

SHORT, LONG, REPEATED, EXCLUDED = "too short", "too long", "met before", "in a file to exclude"


@dataclass(slots=True)
class Selection:
    """Takes sentences one by one and says which to keep; `left_out` counts the others by reason.

    Texts are compared in lower case, by letters and digits alone.

    Attributes:
        min_length: The least number of words.
        max_length: The largest number of words.
        duplicates: Whether to keep sentences that were met before.
        excluded: Fingerprints of sentences to leave out; see `fingerprints`.
    """

    min_length: int = 1
    max_length: int = 100
    duplicates: bool = False
    excluded: frozenset[bytes] = frozenset()
    left_out: Counter[str] = field(default_factory=Counter)
    _met: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.min_length > self.max_length:
            raise ConfigError(
                f"the least length of a sentence, {self.min_length}, is above the largest, {self.max_length}; "
                "change one of them"
            )

    def keeps(self, sentence: Sentence) -> bool:
        """Whether to keep the next sentence."""
        reason = self._reason(sentence)
        if reason:
            self.left_out[reason] += 1
        return not reason

    def _reason(self, sentence: Sentence) -> str:
        if len(sentence) < self.min_length:
            return SHORT
        if len(sentence) > self.max_length:
            return LONG
        found = fingerprint(sentence.forms[1:])
        if found in self.excluded:
            return EXCLUDED
        if not self.duplicates:
            if found in self._met:
                return REPEATED
            self._met.add(found)
        return ""


def fingerprint(words: Iterable[str]) -> bytes:
    """Return eight bytes that are the same for words with the same letters and digits, whatever their case."""
    joined = "".join(words)
    letters = "".join(filter(str.isalnum, joined)) or joined
    return hashlib.blake2b(letters.lower().encode("utf-8", "replace"), digest_size=8).digest()


def fingerprints(paths: Iterable[StrPath]) -> frozenset[bytes]:
    """Return the fingerprints of all sentences of some files: treebanks, or text with a sentence a line."""
    return frozenset(fingerprint(words) for path in paths for words in read_words(path))
