"""The types of questions: what is asked about sentences, which answers are allowed, and what they mean for trees.

The content of a question and the value of an answer, as they are stored:

========= ======================================= ===================================================================
type      content                                 value
========= ======================================= ===================================================================
main-verb guess: word                             word
arc       word, head, label                       "yes" or "no"
trees     candidates: heads and labels of each    number of the candidate from 0, or "none"
fix-arcs  heads, labels                           heads: {word: head} that are changed, all_right: whether all are right
========= ======================================= ===================================================================
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from treetune.corpus.conllu import format_conllu, read_conllu
from treetune.corpus.sentence import UNKNOWN_HEAD, UNKNOWN_LABEL, Sentence, Tree
from treetune.corpus.wellformed import find_cycle
from treetune.errors import DataError, ModelError
from treetune.learning.answers import Answers
from treetune.learning.questions import questions_about
from treetune.models.base import Candidate
from treetune.models.pipeline import Pipeline

MAIN_VERB, ARC, TREES, FIX_ARCS = "main-verb", "arc", "trees", "fix-arcs"
TITLES = {
    MAIN_VERB: "Which word is the main verb?",
    TREES: "Which tree is right?",
    ARC: "Is this arc right?",
    FIX_ARCS: "Which arcs are wrong?",
}
MARGIN, AS_GIVEN = "margin", "as-given"
ORDERS = {MARGIN: "smallest margin first", AS_GIVEN: "as given"}
# Trees that are shown side by side, of a k-best list so long; and arcs that are asked for in a sentence.
CANDIDATES, LISTED, ARCS = 3, 16, 2


class NewItem(NamedTuple):
    """A question: about which sentence, from 1; how certain the model is of its own answer, from 0 to 1."""

    number: int
    certainty: float
    conllu: str
    content: dict[str, Any]


def make_items(pipeline: Pipeline, sentences: Sequence[Sentence], question: str, order: str) -> list[NewItem]:
    """Return the questions about sentences, in the order in which they are asked."""
    if pipeline.parser is None:
        raise ModelError("this model has no parser, and so no guesses to ask about; choose a model with a parser")
    items = [
        NewItem(number, certainty, conllu, content)
        for number, (conllu, asked) in enumerate(_asked(pipeline, sentences, question), start=1)
        for certainty, content in asked
    ]
    return sorted(items, key=lambda item: item.certainty) if order == MARGIN else items


def _asked(
    pipeline: Pipeline, sentences: Sequence[Sentence], question: str
) -> Iterable[tuple[str, list[tuple[float, dict[str, Any]]]]]:
    if question == TREES:
        assert pipeline.parser is not None
        tagged = list(pipeline.tag(sentences))
        for sentence, found in zip(tagged, pipeline.parser.k_best_batch(tagged, LISTED), strict=True):
            # Trees with other heads: labels alone are not what an annotator sees.
            by_heads: dict[tuple[int, ...], Candidate[Tree]] = {}
            for one in found:
                by_heads.setdefault(one.output.heads, one)
            distinct = list(by_heads.values())[:CANDIDATES]
            if len(distinct) > 1:
                trees = [{"heads": one.output.heads, "labels": one.output.labels} for one in distinct]
                margin = distinct[0].score - distinct[1].score
                yield _stored(sentence), [(1 / (1 + math.exp(-min(margin, 500))), {"candidates": trees})]
            else:
                yield _stored(sentence), []
        return
    count = {MAIN_VERB: 1, ARC: 1 + ARCS, FIX_ARCS: 4}[question]
    for about in questions_about(pipeline, sentences, answers=count, kind="yes-no"):
        tree, (root, *others) = about.tree, about.questions
        asked: list[tuple[float, dict[str, Any]]]
        if question == MAIN_VERB:
            asked = [(root.probability, {"guess": root.heads[0]})]
        elif question == ARC:
            asked = [
                (arc.probability, {"word": arc.word, "head": arc.heads[0], "label": tree.labels[arc.word]})
                for arc in others
            ]
        else:
            certainty = min(arc.probability for arc in about.questions)
            asked = [(certainty, {"heads": tree.heads, "labels": tree.labels})]
        yield _stored(about.sentence), asked


def _stored(sentence: Sentence) -> str:
    return format_conllu(sentence, Tree.unknown(len(sentence)))


def sentence_of(conllu: str) -> Sentence:
    """Return the sentence of a stored question."""
    (example,) = read_conllu(conllu.split("\n"), partial=True)
    return example.sentence


def check_value(question: str, content: Mapping[str, Any], length: int, value: Any) -> Any:
    """Return the value of an answer as it is stored; DataError for one that the question does not allow."""
    if question == MAIN_VERB and _is_word(value, 1, length):
        return value
    if question == ARC and value in ("yes", "no"):
        return value
    if question == TREES and (value == "none" or _is_word(value, 0, len(content["candidates"]) - 1)):
        return value
    if question == FIX_ARCS and isinstance(value, dict) and isinstance(value.get("heads"), dict):
        heads = {int(word): head for word, head in value["heads"].items() if str(word).isdecimal()}
        if len(heads) == len(value["heads"]) and all(
            _is_word(word, 1, length) and _is_word(head, 0, length) and head != word for word, head in heads.items()
        ):
            changed = [heads.get(word, head) for word, head in enumerate(content["heads"])]
            if sum(head == 0 for head in changed) != 1:
                raise DataError("expected one word without a head, the root, found none or several; fix them together")
            if cycle := find_cycle(changed):
                raise DataError(
                    f"expected a tree, found a cycle of the words {', '.join(map(str, cycle))}; fix one more"
                )
            return {
                "heads": {str(word): head for word, head in sorted(heads.items()) if head != content["heads"][word]},
                "all_right": bool(value.get("all_right")),
            }
    allowed = {
        MAIN_VERB: f"the number of a word from 1 to {length}",
        ARC: "yes or no",
        TREES: "the number of a tree, or none",
        FIX_ARCS: "heads by words",
    }
    raise DataError(f"expected {allowed[question]} as the answer, found {value!r}")


def _is_word(value: object, first: int, last: int) -> bool:
    return type(value) is int and first <= value <= last


def meaning(question: str, content: Mapping[str, Any], sentence: Sentence, value: Any) -> Answers:
    """Return what an answer says of a tree.

    The choice of a tree says something about the words alone in which the trees differ; it says nothing of those that
    nobody had to look at. Corrected arcs are learned; the others too if the annotator said that all are right now.
    """
    heads, labels = [UNKNOWN_HEAD] * (len(sentence) + 1), [UNKNOWN_LABEL] * (len(sentence) + 1)
    excluded: dict[int, frozenset[int]] = {}
    if question == MAIN_VERB:
        heads[value] = 0
    elif question == ARC and value == "yes":
        heads[content["word"]] = content["head"]
    elif question == ARC:
        excluded[content["word"]] = frozenset((content["head"],))
    elif question == TREES and value != "none":
        candidates = [list(zip(one["heads"], one["labels"], strict=True)) for one in content["candidates"]]
        for word in range(1, len(heads)):
            if len({one[word] for one in candidates}) > 1:
                heads[word], labels[word] = candidates[value][word]
    elif question == FIX_ARCS:
        changed = {int(word): head for word, head in value["heads"].items()}
        for word in range(1, len(heads)):
            if word in changed or value["all_right"]:
                heads[word] = changed.get(word, content["heads"][word])
    return Answers(sentence, Tree(tuple(heads), tuple(labels)), excluded)


def joined(parts: Sequence[Answers]) -> Answers:
    """Return the answers to several questions about one sentence as one; DataError if they contradict each other."""
    heads, labels = list(parts[0].known.heads), list(parts[0].known.labels)
    excluded = dict(parts[0].excluded)
    for one in parts[1:]:
        for word in one.words:
            heads[word], labels[word] = one.known.heads[word], one.known.labels[word]
        for word, others in one.excluded.items():
            excluded[word] = excluded.get(word, frozenset()) | others
    found = Answers(parts[0].sentence, Tree(tuple(heads), tuple(labels)), excluded)
    found.check()
    return found


def decisions(question: str, content: Mapping[str, Any], length: int, value: Any) -> list[Hashable]:
    """Return the single decisions of an answer, for the agreement of annotators.

    For main verbs each word is one, marked or not, so that agreement by chance is that of a random word; for arcs that
    are fixed, each word is one, its head.
    """
    if question == MAIN_VERB:
        return [word == value for word in range(1, length + 1)]
    if question == FIX_ARCS:
        return [value["heads"].get(str(word), content["heads"][word]) for word in range(1, length + 1)]
    return [value]
