"""Precision and recall of each tag, and the confusion matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from treetune.corpus.tags import Tagged, Tags, part_of
from treetune.evaluation.breakdown import Tallies, Tally
from treetune.evaluation.pairing import pair_tagged


@dataclass(frozen=True, slots=True)
class TagTable:
    """The tags of one column: `by_tag` the most frequent in gold first, `confusions` as (gold, predicted) pairs."""

    by_tag: dict[str, Tally]
    confusions: Counter[tuple[str, str]]


def tag_table(gold: Iterable[Tagged], predicted: Iterable[Tags | Tagged], *, part: int = 0) -> TagTable:
    """Count the tags of one part of joint tags; words whose gold tag is unknown do not count."""
    tags = Tallies()
    confusions: Counter[tuple[str, str]] = Counter()
    for tagged, answer in pair_tagged(gold, predicted):
        for value, other in zip(tagged.gold.values[1:], answer.values[1:], strict=True):
            tag, guess = part_of(value, part), part_of(other, part)
            if not tag:
                continue
            tags.gold[tag] += 1
            if guess:
                tags.predicted[guess] += 1
            if tag == guess:
                tags.right[tag] += 1
            else:
                confusions[tag, guess] += 1
    return TagTable(tags.by_frequency(), confusions)
