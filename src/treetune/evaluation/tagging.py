"""Accuracy of predicted tags, by column, of known and of unknown words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from treetune.corpus.sentence import name_sentence
from treetune.corpus.tags import TAG_COLUMNS, Tagged, Tags, part_of
from treetune.errors import DataError
from treetune.evaluation.base import ComparableScores
from treetune.evaluation.metrics import Metric
from treetune.evaluation.scorers import Scorer

ACCURACY, KNOWN, UNKNOWN, SENTENCES = "accuracy", "known", "unknown", "sentences"
_OUTCOMES = (ACCURACY, KNOWN, UNKNOWN)

IsKnown = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class TagCounts:
    """What was counted in one sentence; words whose gold tag is not known do not count.

    `right` are the words all of whose parts are right, `columns` the right ones of each column, of `column_words`
    whose gold value there is known. Known words are those that the model met in training.
    """

    words: int = 0
    right: int = 0
    known: int = 0
    right_known: int = 0
    complete: int = 0
    column_words: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()


def metric_name(column: str) -> str:
    """Return how the accuracy of a column is called: ``UPOS``."""
    return column.upper() if column in TAG_COLUMNS else column


def tag_metrics(columns: Sequence[str]) -> dict[str, Metric]:
    """Return the scores of a tagger of these columns, by name."""
    table = [
        Metric(ACCURACY, "words with the right tag", lambda c: c.right, lambda c: c.words),
        Metric(KNOWN, "known words with the right tag", lambda c: c.right_known, lambda c: c.known),
        Metric(
            UNKNOWN,
            "unknown words with the right tag",
            lambda c: c.right - c.right_known,
            lambda c: c.words - c.known,
        ),
        Metric(SENTENCES, "sentences with all tags right", lambda c: c.complete, lambda c: int(c.words > 0)),
    ]
    of_columns = [_column_metric(number, column) for number, column in enumerate(columns)]
    return {metric.name: metric for metric in (*of_columns, *table)}


def _column_metric(number: int, column: str) -> Metric:
    name = metric_name(column)
    return Metric(name, f"right {name}", lambda c: c.columns[number], lambda c: c.column_words[number])


@dataclass(frozen=True, repr=False)
class TagScores(ComparableScores):
    """The scores of one tagger on one corpus; `scores["UPOS"]` is a fraction in [0, 1], NaN with nothing to count.

    `outcomes` has one byte a counted word, 1 if its tag is right, for McNemar's test.
    """

    columns: tuple[str, ...]
    per_sentence: tuple[TagCounts, ...]
    outcomes: bytes

    default: ClassVar[str] = ACCURACY
    countable: ClassVar[tuple[str, ...]] = (ACCURACY,)
    options: ClassVar[tuple[str, ...]] = ("columns",)

    @property
    def table(self) -> dict[str, Metric]:
        """All metrics, by name."""
        return tag_metrics(self.columns)

    @property
    def compared(self) -> tuple[str, ...]:
        """The metrics that two systems are compared by."""
        return (*map(metric_name, self.columns), ACCURACY, SENTENCES)

    @property
    def shown(self) -> tuple[str, ...]:
        """The names of the scores that progress reports show."""
        of_columns = tuple(map(metric_name, self.columns))
        return of_columns if len(of_columns) == 1 else (*of_columns, ACCURACY)

    @property
    def conditions(self) -> str:
        """Which columns are scored."""
        return f"columns:{'+'.join(self.columns)}"

    def outcomes_of(self, metric: str) -> list[bool]:
        """Return whether the tag of each word that counts is right."""
        return [bool(outcome) for outcome in self.outcomes]

    def gold_sides(self) -> list[tuple[int, ...]]:
        """Return for each sentence the counts that depend on gold alone."""
        return [(counts.words, *counts.column_words) for counts in self.per_sentence]


def evaluate_tags(
    gold: Sequence[Tagged],
    predicted: Sequence[Tags],
    columns: Sequence[str],
    *,
    is_known: IsKnown | None = None,
) -> TagScores:
    """Score predicted tags against gold, sentence by sentence in the same order.

    Args:
        gold: Sentences with their gold tags, whole or partial.
        predicted: The tags of the same sentences.
        columns: What the tags are of, the parts of joint ones in order.
        is_known: Whether a model met a word in training; without it all words count as known.

    Raises:
        DataError: the sentences are not the same; the message names the first one that differs.
    """
    if len(gold) != len(predicted):
        raise DataError(f"expected the tags of {len(gold)} sentences, as in gold, found {len(predicted)}")
    per_sentence: list[TagCounts] = []
    outcomes = bytearray()
    for number, (item, tags) in enumerate(zip(gold, predicted, strict=True), start=1):
        if not len(item.sentence) == len(item.gold) == len(tags):
            raise DataError(
                f"{name_sentence(number, item.sentence)}: expected tags of {len(item.sentence)} words, "
                f"found {len(item.gold)} in gold and {len(tags)} predicted"
            )
        known = [is_known is None or is_known(form) for form in item.sentence.forms[1:]]
        per_sentence.append(_count(item.gold, tags, known, len(columns)))
        pairs = zip(item.gold.values[1:], tags.values[1:], strict=True)
        outcomes.extend(value == found for value, found in pairs if all(value.split(" ")))
    return TagScores(tuple(columns), tuple(per_sentence), bytes(outcomes))


def _count(gold: Tags, predicted: Tags, known: Sequence[bool], columns: int) -> TagCounts:
    rows = zip(gold.values[1:], predicted.values[1:], known, strict=True)
    # A tag of which a part is not known is neither right nor wrong as a whole.
    whole = [(value == found, is_known) for value, found, is_known in rows if all(value.split(" "))]
    right = sum(is_right for is_right, _ in whole)
    words, rights = zip(*(_count_column(gold, predicted, number) for number in range(columns)), strict=True)
    return TagCounts(
        words=len(whole),
        right=right,
        known=sum(is_known for _, is_known in whole),
        right_known=sum(is_right and is_known for is_right, is_known in whole),
        complete=int(bool(whole) and right == len(whole)),
        column_words=words,
        columns=rights,
    )


def _count_column(gold: Tags, predicted: Tags, number: int) -> tuple[int, int]:
    pairs: Iterable[tuple[str, str]] = zip(gold.values[1:], predicted.values[1:], strict=True)
    parts = [(part_of(value, number), part_of(found, number)) for value, found in pairs]
    counted = [(value, found) for value, found in parts if value]
    return len(counted), sum(value == found for value, found in counted)


def tag_scorer(columns: Sequence[str], is_known: IsKnown | None = None) -> Scorer:
    """Return the scorer of taggers of these columns."""
    return Scorer(
        metrics=tuple(tag_metrics(columns)),
        usual=ACCURACY,
        score=lambda gold, outputs: evaluate_tags(gold, outputs, columns, is_known=is_known),
    )
