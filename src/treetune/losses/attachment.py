"""Wrong attachments and wrong trees: the losses behind UAS and LAS, and behind complete match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import or_
from typing import ClassVar

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.losses.trees import Cells, LabelledTreeLoss, headed_words, labelled_words, part_of


@dataclass(frozen=True, kw_only=True)
class Attachment(LabelledTreeLoss):
    """The share of the words with a known head that are wrong.

    A word is wrong if its head is or, when `labelled`, if its label is known and differs. On a complete tree that
    is 1 - LAS of the sentence, and 1 - UAS when not labelled.
    """

    name: ClassVar[str] = "attachment"

    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        """Return the share of wrong words of each tree."""
        words = headed_words(reference)
        if not words:
            return [0.0] * len(outputs)
        if not self.labelled:
            heads = Cells(reference.heads, words)
            return [sum(heads.wrong(output.heads)) / len(words) for output in outputs]
        known = set(labelled_words(reference))
        bare = Cells(reference.heads, [word for word in words if word not in known])
        arcs = [word for word in words if word in known]
        heads, labels = Cells(reference.heads, arcs), Cells(reference.labels, arcs)
        return [
            (sum(bare.wrong(output.heads)) + sum(map(or_, heads.wrong(output.heads), labels.wrong(output.labels))))
            / len(words)
            for output in outputs
        ]

    def known(self, sentence: Sentence, reference: Tree) -> Tree:
        """Return the known heads and, when labelled, the known labels of their words."""
        words = headed_words(reference)
        return part_of(reference, heads=words, labels=words if self.labelled else ())

    def check(self, sentence: Sentence, reference: Tree) -> None:
        """Raise DataError unless at least one head is known."""
        super().check(sentence, reference)
        if not headed_words(reference):
            raise DataError(f"loss {self.name} needs a reference with at least one known head, found none")


@dataclass(frozen=True, kw_only=True)
class ZeroOne(LabelledTreeLoss):
    """0 if everything known of the reference is right, 1 if anything is wrong.

    Known are heads and, when `labelled`, labels, also those of words without a known head.
    """

    name: ClassVar[str] = "zero-one"

    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        """Return 0 for each tree that has all that is known, 1 for the others."""
        heads = Cells(reference.heads, headed_words(reference))
        labels = Cells(reference.labels, labelled_words(reference) if self.labelled else ())
        return [float(not (heads.agree(output.heads) and labels.agree(output.labels))) for output in outputs]

    def known(self, sentence: Sentence, reference: Tree) -> Tree:
        """Return the known heads and, when labelled, the known labels."""
        return part_of(
            reference, heads=headed_words(reference), labels=labelled_words(reference) if self.labelled else ()
        )

    def check(self, sentence: Sentence, reference: Tree) -> None:
        """Raise DataError unless a head is known or, when labelled, a label."""
        super().check(sentence, reference)
        if not (headed_words(reference) or (self.labelled and labelled_words(reference))):
            what = "head or label" if self.labelled else "head"
            raise DataError(f"loss {self.name} needs a reference with at least one known {what}, found none")
