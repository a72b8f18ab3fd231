"""What to fix next: the causes of errors, ranked by how many errors each explains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treetune.evaluation.metrics import ratio
from treetune.evaluation.shift import Shift
from treetune.evaluation.word_errors import Arc, TagPair, WordErrors

# A finding explains at least this share of the errors; so many labels may be among the findings, and so many are named.
_LEAST_SHARE = 0.01
_LABELS, _NAMED = 3, 5
# A label is rare in the training data if it is so many times as frequent here.
_RARE, _LEAST_WORDS = 2, 5
_LONG_ARCS, _LONG_SENTENCES = ("7-10", ">10"), ("31-40", ">40")


@dataclass(frozen=True, slots=True)
class Finding:
    """Words with a common cause of errors: how many they are, how many are wrong, and what might help.

    `explained` are the errors beyond the error rate of all other words. Findings overlap.
    """

    cause: str
    words: int
    errors: int
    explained: int
    advice: str


def find_causes(
    words: Sequence[WordErrors], shift: Shift | None, patterns: Mapping[tuple[Arc, Arc], int]
) -> list[Finding]:
    """Return the causes of the errors of the last system, the one that explains most of them first."""
    total = sum(word.wrong[-1] for word in words)
    found = [*_conditions(words), *([] if shift is None else _against_training(words, shift))]
    labels = sorted(_labels(words, patterns), key=lambda finding: -finding.explained)
    ranked = sorted([*found, *labels[:_LABELS]], key=lambda finding: -finding.explained)
    return [finding for finding in ranked if finding.explained >= max(1, _LEAST_SHARE * total)]


def _finding(words: Sequence[WordErrors], is_member: Callable[[WordErrors], bool], cause: str, advice: str) -> Finding:
    members = [word for word in words if is_member(word)]
    errors = sum(word.wrong[-1] for word in members)
    others = sum(word.wrong[-1] for word in words) - errors
    # Where there are no other words, there is nothing to compare with, and every error counts.
    expected = len(members) * others / (len(words) - len(members)) if len(members) < len(words) else 0
    return Finding(cause, len(members), errors, max(0, round(errors - expected)), advice)


def _conditions(words: Sequence[WordErrors]) -> Iterator[Finding]:
    pairs: Counter[TagPair] = Counter(word.own_tag[-1] for word in words if word.own_tag[-1] is not None)
    named = ", ".join(f"{gold} taken for {guess} ({times})" for (gold, guess), times in pairs.most_common(3))
    yield _finding(
        words,
        lambda word: bool(word.tag_errors[-1]),
        f"words whose own tag or whose head's tag is wrong; most often {named}",
        "train the tagger on such text, and the parser on predicted tags (--task pipeline)",
    )
    rooted = {word.sentence for word in words if not word.gold.direction}
    wrong = {word.sentence for word in words if not word.gold.direction and word.wrong_head[-1]}
    yield _finding(
        words,
        lambda word: word.sentence in wrong,
        f"sentences whose root is wrong ({len(wrong)} of {len(rooted)})",
        "mark the main word of such sentences and train with --also root:FILE",
    )
    yield _finding(
        words,
        lambda word: word.buckets[0] in _LONG_ARCS,
        "words more than 6 words from their head",
        "a wider beam, a reranker, or --also arc-length:FILE",
    )
    yield _finding(
        words,
        lambda word: word.buckets[-1] in _LONG_SENTENCES,
        "sentences of more than 30 words",
        "a wider beam, or training data with such sentences",
    )


def _against_training(words: Sequence[WordErrors], shift: Shift) -> Iterator[Finding]:
    unknown = shift.unknown
    rate = 100 * ratio(unknown.words, len(words))
    yield _finding(
        words,
        lambda word: word.is_unknown,
        f"words that the training data do not have ({rate:.1f} % of all)",
        "word clusters of such text (treetune clusters), or trees of such text by a better parser",
    )
    rare = [one for one in shift.labels if one.here >= _RARE * one.train and one.group.words >= _LEAST_WORDS]
    names = {one.name for one in rare}
    named = ", ".join(one.name for one in rare[:_NAMED]) + (", …" if len(rare) > _NAMED else "")
    yield _finding(
        words,
        lambda word: word.gold.label in names,
        f"labels at least {_RARE} times as frequent as in the training data ({named})",
        "trees of sentences that have these labels, or partial trees: --also partial-tree:FILE",
    )


def _labels(words: Sequence[WordErrors], patterns: Mapping[tuple[Arc, Arc], int]) -> Iterator[Finding]:
    most: dict[str, tuple[int, str]] = {}
    for (gold, guess), times in patterns.items():
        most[gold.label] = max(most.get(gold.label, (0, "")), (times, f"{gold} taken for {guess.beside(gold)}"))
    for label, (times, pattern) in most.items():
        if not label:
            continue
        yield _finding(
            words,
            lambda word, label=label: word.gold.label == label,  # type: ignore[misc]
            f"the label {label}; most often {pattern} ({times})",
            "look at its patterns, and whether the training data annotate it alike",
        )
