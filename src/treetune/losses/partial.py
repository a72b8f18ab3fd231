"""Partial trees: whatever annotators could say of a sentence, arc by arc and label by label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.losses.trees import Cells, LabelledTreeLoss, headed_words, labelled_words, part_of


@dataclass(frozen=True, kw_only=True)
class PartialTree(LabelledTreeLoss):
    """The share of the known heads and labels that are wrong; heads alone when not `labelled`.

    Every known head counts once and every known label counts once, so a label may be known without its head, and a
    right head with a wrong label is half right.
    """

    name: ClassVar[str] = "partial-tree"

    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        """Return the share of what is known that each tree gets wrong."""
        with_head, with_label = self._known_words(reference)
        count = len(with_head) + len(with_label)
        if not count:
            return [0.0] * len(outputs)
        heads, labels = Cells(reference.heads, with_head), Cells(reference.labels, with_label)
        return [(sum(heads.wrong(output.heads)) + sum(labels.wrong(output.labels))) / count for output in outputs]

    def known(self, sentence: Sentence, reference: Tree) -> Tree:
        """Return the reference itself, without its labels when not labelled."""
        heads, labels = self._known_words(reference)
        return part_of(reference, heads=heads, labels=labels)

    def check(self, sentence: Sentence, reference: Tree) -> None:
        """Raise DataError unless a head is known or, when labelled, a label."""
        super().check(sentence, reference)
        if not any(self._known_words(reference)):
            what = "head or label" if self.labelled else "head"
            raise DataError(f"loss {self.name} needs a reference with at least one known {what}, found none")

    def _known_words(self, reference: Tree) -> tuple[list[int], list[int]]:
        return headed_words(reference), labelled_words(reference) if self.labelled else []
