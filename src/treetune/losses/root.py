"""The root alone: did the parser find the main verb? (Hall et al. 2011, section 4.2)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.losses.trees import TreeLoss, part_of


@dataclass(frozen=True)
class Root(TreeLoss):
    """0 if the tree has exactly one root and it is the annotated word, 1 otherwise.

    A tree with several roots is wrong even if the annotated word is among them. The root's label does not matter.
    """

    name: ClassVar[str] = "root"

    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        """Return 0 for each tree whose one root is the annotated one, 1 for the others."""
        root = _annotated_root(reference)
        return [float(output.heads[root] != 0 or output.heads.count(0) > 1) for output in outputs]

    def known(self, sentence: Sentence, reference: Tree) -> Tree:
        """Return the tree of which only the root is known."""
        return part_of(reference, heads=(_annotated_root(reference),), labels=())

    def check(self, sentence: Sentence, reference: Tree) -> None:
        """Raise DataError unless the reference names one root."""
        super().check(sentence, reference)
        _annotated_root(reference)


def _annotated_root(reference: Tree) -> int:
    roots = reference.roots
    if len(roots) != 1:
        raise DataError(f"loss root needs a reference with exactly one root (a word with head 0), found {len(roots)}")
    return roots[0]
