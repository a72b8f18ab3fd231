"""Sentences and trees for the tests of losses."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from strategies import LABELS, partial_trees
from treetune.corpus.sentence import Sentence, Tree

# What(1) does(2) she(3) read(4) ?(5)
SENTENCE = Sentence.of(["What", "does", "she", "read", "?"], upos=["PRON", "AUX", "PRON", "VERB", "PUNCT"])
GOLD = Tree.of([4, 4, 4, 0, 4], ["obj", "aux", "nsubj", "root", "punct"])
# Wrong: the heads of 1, 2 and 4, the labels of 2 and 4.
WRONG = Tree.of([2, 0, 4, 2, 4], ["obj", "root", "nsubj", "ccomp", "punct"])


def plain(size: int) -> Sentence:
    return Sentence.of([f"w{i}" for i in range(1, size + 1)])


def odd_trees(size: int) -> st.SearchStrategy[Tree]:
    """Draw any heads and labels: cycles, no root, several roots, unknown cells."""
    heads = st.lists(st.integers(-1, size), min_size=size, max_size=size)
    labels = st.lists(st.sampled_from(("", "root", *LABELS)), min_size=size, max_size=size)
    return st.builds(Tree.of, heads, labels)


@st.composite
def references_with_answers(draw: st.DrawFn, *, max_size: int = 7) -> tuple[Tree, list[Tree]]:
    """Draw a partial tree and some answers, of which most have much of it."""
    size = draw(st.integers(1, max_size))
    reference = draw(partial_trees(size=size))
    answers = []
    for odd in draw(st.lists(odd_trees(size), max_size=4)):
        right_heads, right_labels = draw(st.tuples(*[st.sets(st.integers(1, size))] * 2))
        answers.append(
            Tree(
                tuple(reference.heads[i] if i in right_heads else odd.heads[i] for i in range(size + 1)),
                tuple(reference.labels[i] if i in right_labels else odd.labels[i] for i in range(size + 1)),
            )
        )
    return reference, answers


def with_all_heads(tree: Tree) -> Tree:
    """Give words without a known head some head, so that `evaluate` counts their labels."""
    return replace(tree, heads=(-1, *(0 if head < 0 else head for head in tree.heads[1:])))
