"""Gold trees for a parser that was trained before: as it can make them, with labels that it knows."""

from __future__ import annotations

import pytest

from treetune.corpus.projectivity import is_projective, projectivize
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import DataError
from treetune.models.labels import LabelTable
from treetune.models.training_trees import lift_known

WORDS = Sentence.of(["who", "did", "you", "want", "to", "see"])
CROSSING = Tree.of((6, 4, 4, 0, 6, 4), ("obj", "aux", "nsubj", "root", "mark", "xcomp"))
PLAIN = ("aux", "mark", "nsubj", "obj", "root", "xcomp")


def table(*names: str) -> LabelTable:
    return LabelTable(names, tuple(name == "root" for name in names), tuple(name != "root" for name in names))


def test_lifted_arcs_keep_their_mark_where_it_is_known() -> None:
    example = Example(WORDS, CROSSING)
    lifted = projectivize(CROSSING)
    assert lifted.labels[1] == "obj↑xcomp"
    (marked,) = lift_known([example], table(*PLAIN, "obj↑xcomp"))
    assert marked == lifted
    (unmarked,) = lift_known([example], table(*PLAIN))
    assert unmarked == Tree(lifted.heads, CROSSING.labels)
    assert is_projective(unmarked.heads)


def test_arcs_may_stay_crossed() -> None:
    assert lift_known([Example(WORDS, CROSSING)], table(*PLAIN), crossing=True) == [CROSSING]


def test_there_may_be_no_trees() -> None:
    assert lift_known([], table("root")) == []
    empty = Example(Sentence.of([]), Tree.unknown(0))
    assert lift_known([empty], table("root")) == [Tree.unknown(0)]


@pytest.mark.parametrize(
    ("examples", "labels", "problem"),
    [
        (
            [Example(WORDS, Tree.of([0, 1]))],
            table("root"),
            "sentence 1 of the treebank has 6 words, but its tree has 2",
        ),
        (
            [Example(WORDS, CROSSING), Example(WORDS, Tree.of([0, 0, 1, 1, 1, 1]))],
            table(*PLAIN),
            "sentence 2 of the treebank has no complete tree with one root",
        ),
        (
            [Example(WORDS, CROSSING)],
            table("aux", "mark", "nsubj", "root", "xcomp"),
            "sentence 1 of the treebank has the label 'obj' under a word, which the model has never seen there; it "
            "knows aux, mark, nsubj, xcomp; train a new model to learn others",
        ),
    ],
)
def test_what_cannot_be_learned_is_refused(examples: list[Example], labels: LabelTable, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        lift_known(examples, labels)
    assert str(caught.value) == problem
