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
class Breakdown:
    """Collects tallies over a corpus.

    An arc counts as right for its label if head and label are right, and for its length if the head is.
    """

    _labels: tuple[Counter[str], Counter[str], Counter[str]] = field(
        default_factory=lambda: (Counter(), Counter(), Counter())
    )
    _lengths: tuple[Counter[str], Counter[str], Counter[str]] = field(
        default_factory=lambda: (Counter(), Counter(), Counter())
    )

    def add(self, pairs: Iterable[PairedArc]) -> None:
        """Take in the counted words of one sentence."""
        gold_labels, labels, right_labels = self._labels
        gold_lengths, lengths, right_lengths = self._lengths
        for pair in pairs:
            bucket = length_bucket(pair.word, pair.gold_head)
            gold_lengths[bucket] += 1
            if pair.head != UNKNOWN_HEAD:
                lengths[length_bucket(pair.word, pair.head)] += 1
            if pair.head == pair.gold_head:
                right_lengths[bucket] += 1
            if pair.gold_label == UNKNOWN_LABEL:
                continue
            gold_labels[pair.gold_label] += 1
            if pair.label != UNKNOWN_LABEL:
                labels[pair.label] += 1
            if pair.head == pair.gold_head and pair.label == pair.gold_label:
                right_labels[pair.gold_label] += 1

    def by_label(self) -> dict[str, Tally]:
        """Return a tally for each label of gold or prediction, the most frequent in gold first."""
        gold, predicted, right = self._labels
        names = sorted(gold.keys() | predicted.keys(), key=lambda label: (-gold[label], label))
        return {name: Tally(gold[name], predicted[name], right[name]) for name in names}

    def by_length(self) -> dict[str, Tally]:
        """Return a tally for each bucket of `LENGTHS`, in that order."""
        gold, predicted, right = self._lengths
        return {name: Tally(gold[name], predicted[name], right[name]) for name in LENGTHS}


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
