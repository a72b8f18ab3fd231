"""Precision and recall of each tag, and the confusion matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from treetune.corpus.tags import Tagged, Tags, part_of
from treetune.evaluation.breakdown import Tally
from treetune.evaluation.pairing import pair_tagged


@dataclass(frozen=True, slots=True)
class TagTable:
    """The tags of one column: `by_tag` the most frequent in gold first, `confusions` as (gold, predicted) pairs."""

    by_tag: dict[str, Tally]
    confusions: Counter[tuple[str, str]]


def tag_table(gold: Iterable[Tagged], predicted: Iterable[Tags | Tagged], *, part: int = 0) -> TagTable:
    """Count the tags of one part of joint tags; words whose gold tag is unknown do not count."""
    expected: Counter[str] = Counter()
    found: Counter[str] = Counter()
    right: Counter[str] = Counter()
    confusions: Counter[tuple[str, str]] = Counter()
    for tagged, answer in pair_tagged(gold, predicted):
        for value, other in zip(tagged.gold.values[1:], answer.values[1:], strict=True):
            tag, guess = part_of(value, part), part_of(other, part)
            if not tag:
                continue
            expected[tag] += 1
            if guess:
                found[guess] += 1
            if tag == guess:
                right[tag] += 1
            else:
                confusions[tag, guess] += 1
    names = sorted(expected.keys() | found.keys(), key=lambda name: (-expected[name], name))
    return TagTable({name: Tally(expected[name], found[name], right[name]) for name in names}, confusions)
