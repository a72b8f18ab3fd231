"""Precision, recall and F1 of named entities, as computed by `conlleval`.

An entity is right if its first word, its last word and its type are. Tags may be in any scheme that
`corpus.spans` reads, and need not be consistent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

from treetune.corpus.spans import OUTSIDE, spans_of
from treetune.corpus.tags import Tagged, Tags
from treetune.errors import DataError
from treetune.evaluation.base import ComparableScores
from treetune.evaluation.breakdown import Tallies, Tally
from treetune.evaluation.metrics import Metric
from treetune.evaluation.pairing import pair_tagged
from treetune.evaluation.scorers import Scorer


@dataclass(frozen=True, slots=True)
class EntityCounts:
    """What was counted in one sentence or, after adding, in many; words with an unknown gold tag are left out."""

    sentences: int = 0
    words: int = 0
    right_tags: int = 0
    gold: int = 0
    """Entities in gold."""
    predicted: int = 0
    right: int = 0
    complete: int = 0
    """Sentences in which every entity is right and none was added."""

    def __add__(self, other: EntityCounts) -> EntityCounts:
        mine, theirs = asdict(self), asdict(other)
        return EntityCounts(**{name: mine[name] + theirs[name] for name in mine})


def entity_counts(gold: Tags, predicted: Tags) -> EntityCounts:
    """Count what is right and wrong in the predicted tags of one sentence.

    Raises:
        DataError: the two differ in length.
    """
    if len(gold) != len(predicted):
        raise DataError(f"expected predicted tags of {len(gold)} words, as in gold, found {len(predicted)}")
    expected, found = set(spans_of(gold.values)), set(spans_of(predicted.values))
    known = [(tag, answer) for tag, answer in zip(gold.values[1:], predicted.values[1:], strict=True) if tag]
    return EntityCounts(
        sentences=1,
        words=len(known),
        right_tags=sum(tag == (answer or OUTSIDE) for tag, answer in known),
        gold=len(expected),
        predicted=len(found),
        right=len(expected & found),
        complete=int(expected == found),
    )


_TABLE = (
    Metric("F1", "entity F1", lambda c: 2 * c.right, lambda c: c.gold + c.predicted),
    Metric("precision", "right of the entities predicted", lambda c: c.right, lambda c: c.predicted),
    Metric("recall", "right of the entities in gold", lambda c: c.right, lambda c: c.gold),
    Metric("accuracy", "words with the right tag", lambda c: c.right_tags, lambda c: c.words),
    Metric("complete", "sentences with exactly the gold entities", lambda c: c.complete, lambda c: c.sentences),
)

ENTITY_METRICS: dict[str, Metric] = {metric.name: metric for metric in _TABLE}


@dataclass(frozen=True, repr=False)
class EntityScores(ComparableScores):
    """The entity scores of one system on one corpus; `scores["F1"]` is a fraction in [0, 1].

    The counts of each sentence are kept, in corpus order, for resampling. A score with nothing to count is NaN.
    """

    per_sentence: tuple[EntityCounts, ...]
    by_type: Mapping[str, Tally]

    default: ClassVar[str] = "F1"
    compared: ClassVar[tuple[str, ...]] = ("F1", "precision", "recall", "accuracy", "complete")
    countable: ClassVar[tuple[str, ...]] = ("complete",)
    options: ClassVar[tuple[str, ...]] = ()
    table: ClassVar[Mapping[str, Metric]] = ENTITY_METRICS
    shown: ClassVar[tuple[str, ...]] = ("F1", "precision", "recall")
    conditions: ClassVar[str] = "entities:exact"

    @cached_property
    def counts(self) -> EntityCounts:
        """The sums over all sentences."""
        return sum(self.per_sentence, EntityCounts())

    def outcomes_of(self, metric: str) -> list[bool]:
        """Return whether each sentence is right; entities are not units that two systems share."""
        return [bool(counts.complete) for counts in self.per_sentence]

    def gold_sides(self) -> list[tuple[int, ...]]:
        """Return for each sentence the counts that depend on gold alone."""
        return [(counts.words, counts.gold) for counts in self.per_sentence]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single sentences, ready for JSON; NaN becomes None."""
        return super().to_dict() | {
            "counts": asdict(self.counts),
            "types": {name: tally.to_dict() for name, tally in self.by_type.items()},
        }


def evaluate_entities(gold: Iterable[Tagged], predicted: Iterable[Tags | Tagged]) -> EntityScores:
    """Score predicted entity tags against gold, sentence by sentence in the same order; both may be streams.

    Raises:
        DataError: the sentences are not the same; the message names the first one that differs.
    """
    per_sentence: list[EntityCounts] = []
    types = Tallies()
    for tagged, answer in pair_tagged(gold, predicted):
        per_sentence.append(entity_counts(tagged.gold, answer))
        gold_spans, answer_spans = spans_of(tagged.gold.values), spans_of(answer.values)
        types.gold.update(span.label for span in gold_spans)
        types.predicted.update(span.label for span in answer_spans)
        types.right.update(span.label for span in set(gold_spans) & set(answer_spans))
    return EntityScores(tuple(per_sentence), types.by_frequency())


ENTITIES = Scorer(tuple(ENTITY_METRICS), "F1", evaluate_entities)
