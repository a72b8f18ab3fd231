"""Gold and predicted trees to an error analysis: what one system or two get wrong, where, and what to fix next.

The questions are those of Petrov et al. 2010, section 5, and McDonald & Nivre 2007. `analysis_report` has the report.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from treetune.corpus.document import ParsedSentence
from treetune.corpus.rawtext import sentence_text
from treetune.corpus.sentence import Example, Tree, comment_value, tree_of
from treetune.corpus.tags import tagged
from treetune.corpus.treebank import read_trees
from treetune.errors import DataError, unknown_name
from treetune.evaluation.base import ComparableScores
from treetune.evaluation.breakdown import Tally
from treetune.evaluation.comparison import Comparison, compare
from treetune.evaluation.documents import Gold, Predicted, answers_of, path_of, references_of
from treetune.evaluation.findings import Finding, find_causes
from treetune.evaluation.pairing import pair_sentences
from treetune.evaluation.scores import Scores, evaluate_trees
from treetune.evaluation.shift import Shift, TrainingCounts, measure_shift
from treetune.evaluation.tagging import TagScores, evaluate_tags, metric_name
from treetune.evaluation.word_errors import Arc, Group, TagPair, WordErrors, bucket_groups, tags_of, word_errors

COLUMNS = ("upos", "xpos")
EXAMPLES_KEPT = 3


@dataclass(frozen=True, slots=True)
class ErrorExample:
    """A word that was got wrong: its sentence (from 0) and index, gold, and what each system predicted."""

    sentence: int
    word: int
    gold: Example
    predicted: tuple[ParsedSentence, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return where the word is, ready for JSON."""
        sentence = self.gold.sentence
        sent_id, text = comment_value(sentence, "sent_id"), sentence_text(sentence)
        return {"sentence": self.sentence + 1, "sent_id": sent_id, "word": self.word, "text": text}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A kind of gold arc that was taken for another, how often by each system, and the shortest examples."""

    gold: Arc
    predicted: Arc
    times: tuple[int, ...]
    examples: tuple[ErrorExample, ...]


@dataclass(frozen=True, slots=True)
class Confusion:
    """A tag taken for another: at how many words, and how many errors it explains.

    These are the words with a wrong head, or with a wrong head or label, that have it or whose gold head has it.
    """

    gold: str
    predicted: str
    times: tuple[int, ...]
    wrong_heads: tuple[int, ...]
    errors: tuple[int, ...]


@dataclass(frozen=True)
class Analysis:
    """The errors of one system or two on one corpus; numbers of systems are tuples, in the order they were given.

    `findings` rank the causes of the errors of the last system. `near_tag_errors` are, for each system, the words whose
    own tag or whose gold head's tag is wrong; empty, as `tag_scores`, where no tag differs from gold. `untagged` names
    those of gold and the systems a and b that have no tags to compare.
    """

    column: str
    scores: tuple[Scores, ...]
    untagged: tuple[str, ...]
    tag_scores: tuple[TagScores, ...]
    comparison: Mapping[str, Comparison]
    total: Group
    findings: tuple[Finding, ...]
    labels: Mapping[str, tuple[Tally, ...]]
    near_tag_errors: tuple[Group, ...]
    confusions: tuple[Confusion, ...]
    shift: Shift | None
    groups: Mapping[str, Sequence[Group]]
    patterns: tuple[Pattern, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but trees and single words under the names of the fields, ready for JSON."""
        return {"signature": self.scores[0].signature("*")} | {
            name: _as_json(value) for name, value in vars(self).items()
        }


def analyse(
    gold: Gold,
    predicted: Predicted | Iterable[Tree],
    other: Predicted | Iterable[Tree] | None = None,
    train: Gold | None = None,
    *,
    punct: bool = True,
    subtypes: bool = True,
    column: str = "upos",
) -> Analysis:
    """Analyse the errors of predicted trees, of one system or of two on the same words.

    Args:
        gold: The reference: examples (`read_trees`), a `Document`, or the path of a treebank file.
        predicted: A `Document`, parsed sentences, trees in the order of gold, or the path of a parser's output.
        other: The output of a second system, to compare with the first.
        train: What the system was trained on: adds unknown words and the shift of tags and labels.
        punct: Whether punctuation counts.
        subtypes: Whether ``nmod:poss`` and ``nmod`` differ.
        column: Which tags to look at, ``"upos"`` or ``"xpos"``.

    Raises:
        DataError: a system has other words than gold; `evaluate` aligns them.
    """
    if column not in COLUMNS:
        raise unknown_name("column", column, COLUMNS)
    reference = references_of(gold)
    sources = [predicted] if other is None else [predicted, other]
    systems = [_parsed(reference, source) for source in sources]
    options = {"punct": punct, "subtypes": subtypes}
    scores = tuple(evaluate_trees(reference, system, **options) for system in systems)
    counts = None if train is None else TrainingCounts.of(_trees(train), column, subtypes=subtypes)
    if counts is not None and not counts.forms:
        raise DataError("expected training data with at least one sentence, found none", path=path_of(train))
    known = None if counts is None else counts.forms
    words = list(word_errors(reference, systems, column=column, known=known, **options))
    if not words:
        raise DataError("expected gold trees, found no head", path=path_of(gold))
    has_tag_errors = any(pair for word in words for pair in word.own_tag)
    tag_scores = _tag_scores(reference, systems, column, known) if has_tag_errors else ()
    shift = None if counts is None else measure_shift(counts, words, len(systems))
    patterns = tuple(_patterns(words, reference, systems))
    return Analysis(
        column=column,
        scores=scores,
        untagged=tuple(
            name
            for name, sentences in zip(
                ("gold", "a", "b"),
                [[one.sentence for one in reference], *([one.sentence for one in system] for system in systems)],
                strict=False,
            )
            if not any(any(tags_of(sentence, column)[1:]) for sentence in sentences)
        ),
        tag_scores=tag_scores,
        comparison=_compare(scores, tag_scores, column),
        total=Group.of("all", words, len(systems)),
        findings=tuple(find_causes(words, shift, {(one.gold, one.predicted): one.times[-1] for one in patterns})),
        labels=_labels(scores),
        near_tag_errors=tuple(
            Group.of("near a wrong tag", [word for word in words if word.tag_errors[system]], len(systems))
            for system in range(len(systems) if tag_scores else 0)
        ),
        confusions=tuple(_confusions(words, len(systems))),
        shift=shift,
        groups=bucket_groups(words, len(systems)),
        patterns=patterns,
    )


def _as_json(value: Any) -> Any:
    if isinstance(value, ComparableScores):
        return value.to_dict()["scores"]
    if isinstance(value, ErrorExample | Tally | Comparison):
        return value.to_dict()
    if isinstance(value, Arc):
        return value._asdict()
    if is_dataclass(value):
        return {one.name: _as_json(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: _as_json(one) for name, one in value.items()}
    return [_as_json(one) for one in value] if isinstance(value, list | tuple) else value


def _trees(source: Gold) -> Iterable[Example | ParsedSentence]:
    return read_trees(source, partial=True) if isinstance(source, str | os.PathLike) else source


def _parsed(gold: Sequence[Example], source: Predicted | Iterable[Tree]) -> list[ParsedSentence]:
    """Return the predictions with the words of gold, or raise if they have others."""
    answers = answers_of(source)
    try:
        for _ in pair_sentences(gold, answers):
            pass
    except DataError as error:
        problem = f"{error.problem}; 'treetune evaluate' scores a system with other tokens than gold"
        raise DataError(problem, path=path_of(source)) from None
    return [
        ParsedSentence(example.sentence, answer)
        if isinstance(answer, Tree)
        else ParsedSentence(answer.sentence, tree_of(answer))
        for example, answer in zip(gold, answers, strict=True)
    ]


def _tag_scores(
    gold: Sequence[Example], systems: Sequence[Sequence[ParsedSentence]], column: str, known: Container[str] | None
) -> tuple[TagScores, ...]:
    """Score the tags of all systems."""
    expected = tagged(gold, [column])
    answers = [[one.gold for one in tagged([one.sentence for one in system], [column])] for system in systems]
    is_known = None if known is None else known.__contains__
    return tuple(evaluate_tags(expected, one, [column], is_known=is_known) for one in answers)


def _compare(scores: Sequence[Scores], tag_scores: Sequence[TagScores], column: str) -> dict[str, Comparison]:
    if len(scores) < 2:
        return {}
    tags = compare(*tag_scores, metrics=[metric_name(column)]) if tag_scores else {}
    return compare(scores[0], scores[1]) | tags


def _labels(scores: Sequence[Scores]) -> dict[str, tuple[Tally, ...]]:
    """Return the tallies of each label, the most frequent in gold first."""
    names = dict.fromkeys(label for one in scores for label in one.by_label)
    rows = {name: tuple(one.by_label.get(name, Tally(0, 0, 0)) for one in scores) for name in names}
    return {name: rows[name] for name in sorted(rows, key=lambda name: (-rows[name][0].gold, name))}


def _confusions(words: Sequence[WordErrors], systems: int) -> list[Confusion]:
    """Return the confusions, those that explain most errors of the last system first."""
    times, wrong_heads, errors = ([Counter[TagPair]() for _ in range(systems)] for _ in range(3))
    for word in words:
        for system, found in enumerate(word.tag_errors):
            times[system].update(filter(None, [word.own_tag[system]]))
            wrong_heads[system].update(found if word.wrong_head[system] else ())
            errors[system].update(found if word.wrong[system] else ())
    confusions = [
        Confusion(*pair, *(tuple(one[pair] for one in counters) for counters in (times, wrong_heads, errors)))
        for pair in set().union(*times)
    ]
    return sorted(
        confusions, key=lambda one: (_descending(one.errors), _descending(one.times), one.gold, one.predicted)
    )


def _descending(counts: Sequence[int]) -> list[int]:
    """Return a key that sorts large counts first, those of the last system before others."""
    return [-count for count in reversed(counts)]


def _patterns(
    words: Sequence[WordErrors], gold: Sequence[Example], systems: Sequence[Sequence[ParsedSentence]]
) -> Iterator[Pattern]:
    """Yield the patterns of all errors, the most frequent of the last system first."""
    times: list[Counter[tuple[Arc, Arc]]] = [Counter() for _ in systems]
    places: dict[tuple[Arc, Arc], list[tuple[int, int, int]]] = {}
    # The last system first: its errors are the examples, those of the first only where it has none.
    for system in reversed(range(len(systems))):
        for word in words:
            if word.wrong[system]:
                pattern = (word.gold, word.arcs[system])
                times[system][pattern] += 1
                if system == len(systems) - 1 or not times[-1][pattern]:
                    places.setdefault(pattern, []).append((len(gold[word.sentence].sentence), word.sentence, word.word))
    for pattern in sorted(places, key=lambda one: (_descending([count[one] for count in times]), one)):
        examples = [
            ErrorExample(number, word, gold[number], tuple(system[number] for system in systems))
            for _, number, word in sorted(places[pattern])[:EXAMPLES_KEPT]
        ]
        yield Pattern(*pattern, tuple(count[pattern] for count in times), tuple(examples))
