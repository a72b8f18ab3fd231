"""Attachment scores of predicted trees: every metric, the counts behind it and its signature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

from treetune.corpus.document import ParsedSentence
from treetune.corpus.sentence import UNKNOWN_LABEL, Example, Tree
from treetune.evaluation.base import ComparableScores
from treetune.evaluation.breakdown import Breakdown, Tally
from treetune.evaluation.counts import Counts, PairedArc, attachment_counts, paired_arcs, punctuation
from treetune.evaluation.metrics import METRICS, Metric
from treetune.evaluation.pairing import pair_sentences

# What became of one counted word, as bits of `Scores.outcomes`.
RIGHT_HEAD, RIGHT_LABEL, LABELLED = 1, 2, 4

_RIGHT_WORD = {
    "UAS": (0, RIGHT_HEAD),
    "LAS": (LABELLED, RIGHT_HEAD | RIGHT_LABEL),
    "LA": (LABELLED, RIGHT_LABEL),
}
_RIGHT_SENTENCE = ("root", "UCM", "LCM")
# The metrics that are a share of right units, so that `Scores.right` and McNemar's test apply.
COUNTABLE = (*_RIGHT_WORD, *_RIGHT_SENTENCE)
SHOWN = ("LAS", "UAS", "root")
COMPARED = ("UAS", "LAS", "CLAS", "root", "LCM", "UALS", "LALS")


@dataclass(frozen=True, repr=False)
class Scores(ComparableScores):
    """The scores of one system on one corpus; `scores["LAS"]` is a fraction in [0, 1].

    A score with nothing to count (such as LAS when gold has no labels) is NaN. The counts of each sentence
    are kept, in corpus order, for resampling; `outcomes` has one byte a counted word, for McNemar's test.
    """

    per_sentence: tuple[Counts, ...]
    outcomes: bytes
    by_label: Mapping[str, Tally]
    by_length: Mapping[str, Tally]
    punct: bool
    subtypes: bool

    default: ClassVar[str] = "LAS"
    compared: ClassVar[tuple[str, ...]] = COMPARED
    countable: ClassVar[tuple[str, ...]] = COUNTABLE
    options: ClassVar[tuple[str, ...]] = ("punct", "subtypes")
    table: ClassVar[Mapping[str, Metric]] = METRICS
    shown: ClassVar[tuple[str, ...]] = SHOWN

    @cached_property
    def counts(self) -> Counts:
        """The sums over all sentences."""
        return Counts.total(self.per_sentence)

    @property
    def uas(self) -> float:
        """Share of words with the right head."""
        return self["UAS"]

    @property
    def las(self) -> float:
        """Share of words with the right head and label."""
        return self["LAS"]

    @property
    def conditions(self) -> str:
        """Whether punctuation and subtypes of labels count."""
        punct, subtypes = ("yes" if option else "no" for option in (self.punct, self.subtypes))
        return f"punct:{punct}|subtypes:{subtypes}"

    def outcomes_of(self, metric: str) -> list[bool]:
        """Return right or wrong for each word that counts, or for each sentence for root, UCM and LCM."""
        if metric in _RIGHT_WORD:
            counted, wanted = _RIGHT_WORD[metric]
            return [bits & wanted == wanted for bits in self.outcomes if bits & counted == counted]
        table = METRICS[metric]
        return [bool(table.part(counts)) for counts in self.per_sentence if table.whole(counts)]

    def gold_sides(self) -> list[tuple[int, ...]]:
        """Return for each sentence the counts that depend on gold alone."""
        return [
            (counts.words, counts.labelled_words, counts.content_gold, counts.gold_roots, counts.length)
            for counts in self.per_sentence
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single sentences and words, ready for JSON; NaN becomes None."""
        return super().to_dict() | {
            "counts": asdict(self.counts),
            "labels": {label: tally.to_dict() for label, tally in self.by_label.items()},
            "lengths": {length: tally.to_dict() for length, tally in self.by_length.items()},
        }


def evaluate_trees(
    gold: Iterable[Example],
    predicted: Iterable[Tree | ParsedSentence | Example],
    *,
    punct: bool = True,
    subtypes: bool = True,
) -> Scores:
    """Score predicted trees against gold, sentence by sentence in the same order.

    Both may be streams; only counts are kept. Words with an unknown gold head are not counted.

    Args:
        gold: sentences with their gold trees, whole or partial.
        predicted: trees, parsed sentences, or the sentences of a parser's output file.
        punct: whether punctuation counts; root scores regard every word in any case.
        subtypes: whether ``nmod:poss`` and ``nmod`` differ; the official UD scorer says they do not.

    Raises:
        DataError: the sentences are not the same; the message names the first one that differs.
    """
    per_sentence: list[Counts] = []
    outcomes = bytearray()
    breakdown = Breakdown()
    for example, answer in pair_sentences(gold, predicted):
        ignore: frozenset[int] = frozenset() if punct else punctuation(example.sentence)
        per_sentence.append(attachment_counts(example.gold, answer, ignore=ignore, subtypes=subtypes))
        pairs = paired_arcs(example.gold, answer, ignore=ignore, subtypes=subtypes)
        breakdown.add(pairs)
        outcomes.extend(map(_outcome, pairs))
    return Scores(
        per_sentence=tuple(per_sentence),
        outcomes=bytes(outcomes),
        by_label=breakdown.by_label(),
        by_length=breakdown.by_length(),
        punct=punct,
        subtypes=subtypes,
    )


def _outcome(pair: PairedArc) -> int:
    bits = RIGHT_HEAD if pair.head == pair.gold_head else 0
    if pair.gold_label == UNKNOWN_LABEL:
        return bits
    return bits | LABELLED | (RIGHT_LABEL if pair.label == pair.gold_label else 0)
