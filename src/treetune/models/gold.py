"""What every parser asks of the trees it learns from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from treetune.corpus.projectivity import plain_label, projectivize
from treetune.corpus.sentence import Example, Tree
from treetune.corpus.wellformed import is_tree
from treetune.errors import DataError


def check_gold(treebank: Sequence[Example]) -> None:
    """Raise DataError unless every sentence has a complete tree with one root, and one has words."""
    if not any(len(example.sentence) for example in treebank):
        raise DataError("the treebank has no words; expected at least one sentence with a tree")
    for place, example in enumerate(treebank, start=1):
        where = f"sentence {place} of the treebank"
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
