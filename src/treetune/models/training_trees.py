"""Checks of training trees, and pseudo-projective training trees (lifted arcs)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from treetune.corpus.projectivity import plain_label, projectivize
from treetune.corpus.sentence import Example, Tree
from treetune.corpus.wellformed import is_tree
from treetune.errors import DataError
from treetune.models.labels import LabelTable


def check_gold(treebank: Sequence[Example]) -> None:
    """Raise DataError unless every sentence has a complete tree with one root, and one has words."""
    if not any(len(example.sentence) for example in treebank):
        raise DataError("the treebank has no words; expected at least one sentence with a tree")
    _check_trees(treebank)


def _check_trees(treebank: Sequence[Example]) -> None:
    for number, example in enumerate(treebank, start=1):
        where = f"sentence {number} of the treebank"
        words, nodes = len(example.sentence), len(example.gold)
        if words != nodes:
            raise DataError(f"{where} has {words} words, but its tree has {nodes}")
        if words and not is_tree(example.gold.heads):
            raise DataError(f"{where} has no complete tree with one root")


def lift(treebank: Sequence[Example], *, min_lifted: int) -> list[Tree]:
    """Return projective trees: lifted arcs are marked by labels where a mark is frequent enough to learn."""
    lifted = [projectivize(example.gold) for example in treebank]
    counts = Counter(label for tree in lifted for label in tree.labels)
    rare = {label for label, count in counts.items() if count < min_lifted and plain_label(label) != label}
    return [
        Tree(tree.heads, tuple(plain_label(label) if label in rare else label for label in tree.labels))
        for tree in lifted
    ]


def lift_known(
    treebank: Sequence[Example], labels: LabelTable, *, crossing: bool = False, widen: bool = False
) -> list[Tree]:
    """Return the training trees of a warm start: projective, unless arcs may cross, and with labels of the model.

    Raises DataError for incomplete trees and, unless the model can `widen` its table of labels, for a label that it
    does not know there: it has no weights for it and cannot get any. There may be no trees at all.
    """
    _check_trees(treebank)
    known = set(labels.names)
    trees = [example.gold if crossing else projectivize(example.gold) for example in treebank]
    fitting = [
        Tree(tree.heads, tuple(label if label in known else plain_label(label) for label in tree.labels))
        for tree in trees
    ]
    for number, tree in enumerate(() if widen else fitting, start=1):
        for head, _, label in tree.arcs():
            allowed = labels.at_root if head == 0 else labels.at_word
            if label not in known or not allowed[labels.names.index(label)]:
                where = "the root" if head == 0 else "a word"
                names = [name for name, may in zip(labels.names, allowed, strict=True) if may]
                raise DataError(
                    f"sentence {number} of the treebank has the label {label!r} under {where}, which the model has "
                    f"never seen there; it knows {', '.join(names)}; train a new model to learn others"
                )
    return fitting
