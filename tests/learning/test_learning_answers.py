"""Answers of annotators: read, checked, compared with trees, and trees that contain them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treetune import train
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import DataError
from treetune.learning.answers import Answers, complete, read_answers
from treetune.learning.conventions import LEARNED, MAPPED, OPEN, settle_conventions
from treetune.models.base import Parser
from treetune.models.graph.parser import GraphParser
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

WORDS = Sentence.of(["what", "is", "the", "fare"])
UD = Tree.of([0, 1, 4, 1], ["root", "cop", "det", "nsubj"])


def with_misc(word: int, cell: str, tree: Tree | None = None) -> Example:
    misc = list(WORDS.misc)
    misc[word] = cell
    return Example(replace(WORDS, misc=tuple(misc)), tree or Tree.unknown(4))


def mark(word: int) -> Answers:
    return Answers(WORDS, Tree.of([0 if one == word else -1 for one in range(1, 5)]))


def test_heads_labels_and_excluded_heads_are_answers() -> None:
    (one,) = read_answers([with_misc(4, "SpaceAfter=No|NotHead=2,3", Tree.of([0, -1, -1, -1], ["", "cop", "", ""]))])
    assert len(one) == 3
    assert one.words == [1, 2]
    assert one.main_verb == 1
    assert one.excluded == {4: {2, 3}}
    assert one.wrong(UD) == 0
    assert one.wrong(Tree.of([2, 0, 4, 2], ["nsubj", "root", "det", "nsubj"])) == 3
    # A sentence without answers is no reason to stop.
    assert len(read_answers([Example(WORDS, Tree.unknown(4)), Example(WORDS, UD)])) == 1


@pytest.mark.parametrize(
    ("example", "problem"),
    [
        (Example(WORDS, Tree.of([0, 0, -1, -1])), "words 1 and 2 are both marked as the main verb, expected one"),
        (Example(WORDS, Tree.of([2, 1, -1, -1])), "the heads that are given form a cycle: 1 -> 2 -> 1"),
        (with_misc(2, "NotHead=1", UD), "word 2 has the head 1, which NotHead excludes"),
        (with_misc(2, "NotHead=7"), "word 2: expected NotHead=HEAD,… with other words from 0 to 4, found NotHead=7"),
        (with_misc(2, "NotHead=x"), "word 2: expected NotHead=HEAD,… with other words from 0 to 4, found NotHead=x"),
    ],
)
def test_impossible_answers_are_refused(example: Example, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        read_answers([example])
    assert str(caught.value) == f"sentence 1: {problem}"


def test_a_file_without_answers_is_refused() -> None:
    with pytest.raises(DataError, match=r"expected answers to learn from .* found none in any sentence"):
        read_answers([Example(WORDS, Tree.unknown(4))])


@pytest.mark.parametrize("make", [lambda: TransitionParser(beam=4), GraphParser])
def test_complete_trees_have_the_answers(make: type[Parser]) -> None:
    parser = make()
    examples = generate(40, seed=4)
    for _ in train(parser, examples, epochs=2):
        pass
    test = generate(10, seed=9)
    answers = [Answers(e.sentence, Tree.of([0 if h == 0 else -1 for h in e.gold.heads[1:]])) for e in test]
    best = parser.predict_batch([example.sentence for example in test])
    # A head that the parser would give is excluded.
    answers += [
        Answers(e.sentence, Tree.unknown(len(e.sentence)), {1: frozenset({tree.heads[1]})})
        for e, tree in zip(test, best, strict=True)
    ]
    # Nobody can have both arcs; the others are not lost with it.
    answers.append(Answers(Sentence.of(["a", "b", "c", "d"]), Tree.of([3, 4, 0, 1])))
    # A label that the parser has never seen.
    answers.append(Answers(test[0].sentence, Tree.of([-1] * len(best[0]), ["new"] + [""] * (len(best[0]) - 1))))
    with pytest.warns(UserWarning, match="'new', which is left open"):
        trees = complete(parser, answers)
    assert trees[-2] is None
    new = trees[-1]
    assert new is not None
    assert (new.labels[1] == "new") == parser.learns_labels  # type: ignore[attr-defined]
    for one, tree in zip(answers[:-2], trees[:-2], strict=True):
        assert tree is None or one.wrong(tree) == 0
    assert sum(tree is not None for tree in trees[:20]) >= 15


def test_marks_on_copulas_are_mapped_where_they_are_systematic() -> None:
    kept, reasons, counts = settle_conventions([mark(2)] * 5, [UD] * 5)
    assert [one.main_verb for one in kept] == [1] * 5
    assert counts[0].treatment == MAPPED
    assert reasons[0] == "marks a copula or auxiliary as the main verb: mapped to the root of UD"
    # As told, however few.
    assert settle_conventions([mark(2), mark(1)], [UD] * 2, "verb")[0][0].main_verb == 1
    assert settle_conventions([mark(2), mark(1)], [UD] * 2, "ud")[0][0].main_verb == 2


def test_marks_by_changing_conventions_are_left_open() -> None:
    answers = [mark(4)] * 8 + [mark(1)] * 2
    kept, reasons, counts = settle_conventions(answers, [UD] * 10)
    assert [len(one) for one in kept] == [0] * 8 + [1] * 2
    assert [one.treatment for one in counts] == [OPEN]
    assert reasons[0] == (
        "marks the subject of a copula as the main verb, "
        "as 8 of 10 sentences in which the model has the root 'what' do: left open"
    )
    kept, _, counts = settle_conventions([mark(4)] * 10, [UD] * 10)
    assert [one.main_verb for one in kept] == [4] * 10
    assert [one.treatment for one in counts] == [LEARNED]
