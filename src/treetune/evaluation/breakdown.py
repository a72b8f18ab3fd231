"""Precision and recall by label and by arc length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from treetune.corpus.sentence import UNKNOWN_HEAD, UNKNOWN_LABEL
from treetune.evaluation.counts import PairedArc
from treetune.evaluation.metrics import json_number, ratio

# The buckets of the error analysis of McDonald & Nivre (2007); "root" is an arc from the artificial root.
LENGTHS = ("root", "1", "2", "3-6", "7-10", ">10")


@dataclass(frozen=True, slots=True)
class Tally:
    """How often something is in gold, was predicted, and was predicted rightly."""

    gold: int
    predicted: int
    right: int

    @property
    def precision(self) -> float:
        """Right of predicted; NaN if none was predicted."""
        return ratio(self.right, self.predicted)

    @property
    def recall(self) -> float:
        """Right of gold; NaN if gold has none."""
        return ratio(self.right, self.gold)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; NaN if neither gold nor prediction has any."""
        return ratio(2 * self.right, self.gold + self.predicted)

    def to_dict(self) -> dict[str, float | None]:
        """Return counts and ratios, ready for JSON."""
        return {
            "gold": self.gold,
            "predicted": self.predicted,
            "right": self.right,
            "precision": json_number(self.precision),
            "recall": json_number(self.recall),
            "f1": json_number(self.f1),
        }


@dataclass(slots=True)
class Tallies:
    """Collects the tallies of several names over a corpus."""

    gold: Counter[str] = field(default_factory=Counter)
    predicted: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)

    def of(self, names: Iterable[str]) -> dict[str, Tally]:
        """Return the tallies of these names, in this order."""
        return {name: Tally(self.gold[name], self.predicted[name], self.right[name]) for name in names}

    def by_frequency(self) -> dict[str, Tally]:
        """Return all tallies, the most frequent name in gold first."""
        return self.of(sorted(self.gold.keys() | self.predicted.keys(), key=lambda name: (-self.gold[name], name)))


@dataclass(slots=True)
class Breakdown:
    """Collects tallies by label and by arc length over a corpus.

    An arc counts as right for its label if head and label are right, and for its length if the head is.
    """

    _labels: Tallies = field(default_factory=Tallies)
    _lengths: Tallies = field(default_factory=Tallies)

    def add(self, pairs: Iterable[PairedArc]) -> None:
        """Add the counted words of one sentence."""
        for pair in pairs:
            bucket = length_bucket(pair.word, pair.gold_head)
            self._lengths.gold[bucket] += 1
            if pair.head != UNKNOWN_HEAD:
                self._lengths.predicted[length_bucket(pair.word, pair.head)] += 1
            if pair.head == pair.gold_head:
                self._lengths.right[bucket] += 1
            if pair.gold_label == UNKNOWN_LABEL:
                continue
            self._labels.gold[pair.gold_label] += 1
            if pair.label != UNKNOWN_LABEL:
                self._labels.predicted[pair.label] += 1
            if pair.head == pair.gold_head and pair.label == pair.gold_label:
                self._labels.right[pair.gold_label] += 1

    def by_label(self) -> dict[str, Tally]:
        """Return a tally for each label of gold or prediction, the most frequent in gold first."""
        return self._labels.by_frequency()

    def by_length(self) -> dict[str, Tally]:
        """Return a tally for each bucket of `LENGTHS`, in that order."""
        return self._lengths.of(LENGTHS)


def length_bucket(word: int, head: int) -> str:
    """Return the name of the bucket an arc falls into."""
    length = abs(word - head)
    if head == 0:
        return "root"
    if length <= 2:
        return str(length)
    if length <= 6:
        return "3-6"
    return "7-10" if length <= 10 else ">10"
