"""Trees as text."""

from __future__ import annotations

from treetune.corpus.drawing import draw_tree
from treetune.corpus.sentence import Sentence, Tree


def test_children_stand_below_their_head_in_the_order_of_the_text() -> None:
    sentence = Sentence.of(["Old", "dogs", "chase", "a", "very", "big", "cat", "."])
    tree = Tree.of([2, 3, 0, 7, 6, 7, 3, 3], ["amod", "nsubj", "root", "det", "advmod", "amod", "obj", "punct"])
    assert draw_tree(sentence, tree, marked=frozenset({6})).split("\n") == [
        "chase  root",
        "├─ dogs  nsubj",
        "│  └─ Old  amod",
        "├─ cat  obj",
        "│  ├─ a  det",
        "│  └─ big  amod *",
        "│     └─ very  advmod",
        "└─ .  punct",
    ]


def test_a_tree_without_labels_and_a_single_word() -> None:
    assert draw_tree(Sentence.of(["Go"]), Tree.of([0])) == "Go  _"
