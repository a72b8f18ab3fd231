"""Score whatever holds predictions against gold: documents, parsed sentences, trees or files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeAlias, overload

from treetune.corpus.document import ParsedSentence
from treetune.corpus.files import StrPath, display_name
from treetune.corpus.sentence import Example, Tree, tree_of
from treetune.corpus.treebank import read_trees
from treetune.errors import DataError, type_of
from treetune.evaluation.alignment import TextScores, evaluate_text
from treetune.evaluation.scores import Scores, evaluate_trees

# A treebank, a document, or the path of a treebank file.
Gold: TypeAlias = StrPath | Iterable[Example | ParsedSentence]
Predicted: TypeAlias = StrPath | Iterable[ParsedSentence | Example]


@overload
def evaluate(gold: Gold, predicted: Iterable[Tree], *, punct: bool = ..., subtypes: bool = ...) -> Scores: ...
@overload
def evaluate(gold: Gold, predicted: Predicted, *, punct: bool = ..., subtypes: bool = ...) -> Scores | TextScores: ...
def evaluate(
    gold: Gold, predicted: Predicted | Iterable[Tree], *, punct: bool = True, subtypes: bool = True
) -> Scores | TextScores:
    """Score predicted trees against gold trees; ``evaluate(gold, predicted)["LAS"]`` is a fraction in [0, 1].

    If both have the same sentences and words, the result is `Scores`: attachment scores over words. If a system has
    tokenized the same text otherwise, it is `TextScores`: F1 over aligned words, as in the CoNLL 2018 shared task.

    Args:
        gold: The reference: examples (`read_trees`), a `Document`, or the path of a treebank file.
        predicted: A `Document`, parsed sentences, trees in the order of gold, or the path of a parser's output.
        punct: Whether punctuation counts.
        subtypes: Whether ``nmod:poss`` and ``nmod`` differ; the official UD scorer says they do not.

    Raises:
        DataError: the two are not analyses of the same text; the message says where they differ.
    """
    reference = references_of(gold)
    answers = answers_of(predicted)
    try:
        return evaluate_trees(reference, answers, punct=punct, subtypes=subtypes)
    except DataError as error:
        parsed = [answer for answer in answers if not isinstance(answer, Tree)]
        if len(parsed) == len(answers):
            try:
                return evaluate_text(reference, parsed, punct=punct, subtypes=subtypes)
            except DataError:
                # Another text altogether: where the words differ says more.
                pass
        raise DataError(error.problem, path=path_of(predicted)) from None


def answers_of(source: object) -> list[Tree | ParsedSentence | Example]:
    """Return predictions as a list; those of a file are read."""
    predicted = read_trees(source) if isinstance(source, str | os.PathLike) else source
    found: list[Tree | ParsedSentence | Example] = []
    for answer in predicted if isinstance(predicted, Iterable) else [predicted]:
        if not isinstance(answer, Tree | ParsedSentence | Example):
            raise DataError(f"expected predicted trees, parsed sentences or a Document, found {type_of(answer)}")
        found.append(answer)
    return found


def references_of(source: object) -> list[Example]:
    """Return gold as a list of examples, those of a file if it is a path; DataError if there are none."""
    gold = read_trees(source, partial=True) if isinstance(source, str | os.PathLike) else source
    found = []
    for item in gold if isinstance(gold, Iterable) else [gold]:
        if not isinstance(item, ParsedSentence | Example):
            hint = "; gold comes first: evaluate(gold, predicted)" if isinstance(item, Tree) else ""
            raise DataError(f"expected gold examples, parsed sentences or a Document, found {type_of(item)}{hint}")
        found.append(Example(item.sentence, tree_of(item)))
    if not found:
        raise DataError("expected at least one gold sentence to evaluate on, found none", path=path_of(source))
    return found


def path_of(source: object) -> str | None:
    """Return how messages call a source: the name of a file, None for all else."""
    return display_name(source) if isinstance(source, str | os.PathLike) else None
