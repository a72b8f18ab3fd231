"""Main verbs as people mark them, and the root of Universal Dependencies.

In "the fare is low" the root is *low*, and *is* its copula; people mark *is*. In "what is the fare" the root is *what*;
people mark *is* or *fare*. Such marks are no mistakes, but a model that learns them beside others that follow UD gets
worse at both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from treetune.corpus.sentence import Tree
from treetune.errors import unknown_name
from treetune.learning.answers import Answers

Convention = Literal["auto", "ud", "verb"]
CONVENTIONS: tuple[Convention, ...] = ("auto", "ud", "verb")
# A convention is systematic if no fewer than this share of the marks follow it, and so many are there.
SYSTEMATIC, LEAST = 0.9, 3
FUNCTION_VERBS = ("cop", "aux")
# What people mark in place of the root, and whether it is a verb.
CONSTRUCTIONS = (("a copula or auxiliary", True), ("the subject of a copula", False))
MAPPED, LEARNED, OPEN = "mapped to the root of UD", "learned", "left open"


@dataclass(frozen=True)
class ConventionCount:
    """How one construction was marked, and what became of the marks.

    Attributes:
        construction: What is marked in place of the root.
        root: The root of such sentences by the model, in lower case; empty for all of them together.
        marked: Sentences in which it is marked.
        possible: Sentences with this construction and a mark on it or on the root.
        treatment: What was done: "learned", "mapped to the root of UD" or "left open".
    """

    construction: str
    root: str
    marked: int
    possible: int
    treatment: str


def settle_conventions(
    answers: Sequence[Answers], trees: Sequence[Tree], convention: Convention = "auto"
) -> tuple[list[Answers], list[str], list[ConventionCount]]:
    """Return the answers with main verbs that a model can learn together, and what was done with those that changed.

    With "ud" all marks are taken as they are. With "verb" a mark on a copula or auxiliary stands for the word that it
    belongs to. With "auto" this is so if copulas are marked systematically. Other marks on them, and marks on the
    subject of a copula, are learned where sentences with the same root are marked so systematically ("are" in "what
    flights are there"), and left open where some are and some are not.

    Args:
        answers: The answers.
        trees: The trees of the model, which say what is a copula.
        convention: What a mark means.
    """
    if convention not in CONVENTIONS:
        raise unknown_name("convention", convention, CONVENTIONS)
    kept, reasons = list(answers), [""] * len(answers)
    counts: list[ConventionCount] = []
    for construction, is_verb in () if convention == "ud" else CONSTRUCTIONS:
        marked, others = _marked(answers, trees, is_verb=is_verb)
        total, possible = sum(map(len, marked.values())), sum(map(len, marked.values())) + others.total()
        if is_verb and (convention == "verb" or _is_systematic(total, possible)):
            if total:
                counts.append(ConventionCount(construction, "", total, possible, MAPPED))
            for index in (index for part in marked.values() for index in part):
                kept[index] = answers[index].with_main_verb(trees[index].heads[answers[index].main_verb])
                reasons[index] = f"marks {construction} as the main verb: {MAPPED}"
            continue
        for root, part in marked.items() if convention == "auto" else ():
            learn = _is_systematic(len(part), len(part) + others[root])
            treatment = LEARNED if learn else OPEN
            counts.append(ConventionCount(construction, root, len(part), len(part) + others[root], treatment))
            for index in () if learn else part:
                kept[index] = answers[index].without(answers[index].main_verb)
                reasons[index] = (
                    f"marks {construction} as the main verb, as {len(part)} of {len(part) + others[root]} sentences in "
                    f"which the model has the root {root!r} do: {treatment}"
                )
    return kept, reasons, counts


def _marked(
    answers: Sequence[Answers], trees: Sequence[Tree], *, is_verb: bool
) -> tuple[dict[str, list[int]], Counter[str]]:
    """Return, by the root of the model, the sentences in which an alternative is marked, and how often the root is."""
    marked: dict[str, list[int]] = {}
    others: Counter[str] = Counter()
    for index, (one, tree) in enumerate(zip(answers, trees, strict=True)):
        alternatives, root = list(_alternatives(tree, is_verb=is_verb)), _root(tree)
        form = one.sentence.forms[root].lower()
        if one.main_verb and one.main_verb in alternatives:
            marked.setdefault(form, []).append(index)
        elif one.main_verb and one.main_verb == root and alternatives:
            others[form] += 1
    return marked, others


def _is_systematic(part: int, whole: int) -> bool:
    return part >= LEAST and part >= SYSTEMATIC * whole


def _alternatives(tree: Tree, *, is_verb: bool) -> Iterator[int]:
    """Yield what may be marked in place of the root: its copula and auxiliaries, or its subject if it has a copula."""
    root = _root(tree)
    labels = [label.partition(":")[0] for label in tree.labels]
    below = [(word, labels[word]) for word in range(1, len(labels)) if tree.heads[word] == root]
    if is_verb:
        yield from (word for word, label in below if label in FUNCTION_VERBS)
    elif any(label == "cop" for _, label in below):
        yield from (word for word, label in below if label == "nsubj")


def _root(tree: Tree) -> int:
    return next(iter(tree.roots), 0)
