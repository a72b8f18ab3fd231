"""Probabilities and whether what they are about is right → expected calibration error (Guo et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from treetune.corpus.document import ParsedSentence
from treetune.corpus.sentence import UNKNOWN_HEAD, Example
from treetune.errors import DataError

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """The words with a confidence in [start, end): how many, their mean confidence and the share that is right."""

    start: float
    end: float
    words: int
    confidence: float
    right: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """How well confidence agrees with accuracy, in bins of equal width."""

    bins: tuple[Bin, ...]

    @property
    def words(self) -> int:
        """The number of words."""
        return sum(one.words for one in self.bins)

    @property
    def error(self) -> float:
        """The expected calibration error: the mean difference of confidence and accuracy, weighted by words."""
        return sum(one.words * abs(one.confidence - one.right) for one in self.bins) / self.words

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {"ECE": self.error, "words": self.words, "bins": [asdict(one) for one in self.bins]}

    def format(self) -> str:
        """Return a table of bins, and the expected calibration error."""
        lines = [f"{'confidence':<11} {'words':>7} {'mean':>6} {'right':>6}"]
        for one in self.bins:
            lines.append(
                f"{one.start:.1f} – {one.end:.1f}   {one.words:>7} {100 * one.confidence:>6.2f} {100 * one.right:>6.2f}"
            )
        return "\n".join([*lines, f"ECE = {100 * self.error:.2f}"])


def reliability(probabilities: Sequence[float], right: Sequence[bool], *, bins: int = BINS) -> Reliability:
    """Return how well probabilities agree with what is right."""
    groups: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for probability, is_right in zip(probabilities, right, strict=True):
        groups[min(int(probability * bins), bins - 1)].append((probability, is_right))
    return Reliability(tuple(_bin(number, bins, group) for number, group in enumerate(groups) if group))


def _bin(number: int, bins: int, group: Sequence[tuple[float, bool]]) -> Bin:
    confidence, right = (sum(values) / len(group) for values in zip(*group, strict=True))
    return Bin(number / bins, (number + 1) / bins, len(group), confidence, right)


def reliability_of_arcs(gold: Sequence[Example], predicted: Sequence[Example]) -> Reliability:
    """Return how well ``confidence`` in MISC agrees with heads and labels; DataError if a word has none."""
    probabilities, right = [], []
    for number, (expected, found) in enumerate(zip(gold, predicted, strict=True), start=1):
        for word in ParsedSentence(found.sentence, found.gold).words:
            if expected.gold.heads[word.id] == UNKNOWN_HEAD:
                continue
            if word.confidence is None:
                raise DataError(f"sentence {number}: word {word.id}: expected confidence=… in MISC, found none")
            probabilities.append(word.confidence)
            right.append((word.head, word.deprel) == (expected.gold.heads[word.id], expected.gold.labels[word.id]))
    return reliability(probabilities, right)
