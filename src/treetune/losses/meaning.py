"""Encoded natural logical forms: words with a wrong head or label, or a wrong expression (Alshawi et al. 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError, unknown_name
from treetune.evaluation.meanings import is_exact, word_counts
from treetune.losses.trees import TreeLoss, part_of
from treetune.semantics.encoding import is_label
from treetune.semantics.tokens import word_positions

Measure = Literal["words", "expression"]
MEASURES: tuple[Measure, ...] = get_args(Measure)


@dataclass(frozen=True, kw_only=True)
class NaturalLogicalForm(TreeLoss):
    """The share of words with a wrong head or label; or 1 where the decoded expression is wrong.

    The reference is a complete encoded tree; punctuation does not count.

    Args:
        measure: ``"words"`` or ``"expression"``.
    """

    name: ClassVar[str] = "nlf"
    measure: Measure = "words"

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise unknown_name("measure", str(self.measure), MEASURES)

    def costs(self, sentence: Sentence, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        """Return the cost of each tree."""
        if self.measure == "words":
            counts = [word_counts(sentence.forms, reference, output) for output in outputs]
            return [1 - right / words for words, right, _ in counts]
        return [float(not is_exact(sentence.forms, reference, output)) for output in outputs]

    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        """Raise TypeError: costs need the words of the sentence."""
        raise TypeError("the costs of natural logical forms need the sentence; call costs")

    def known(self, sentence: Sentence, reference: Tree) -> Tree:
        """Return heads and labels of all words."""
        words = word_positions(sentence.forms)
        return part_of(reference, heads=words, labels=words)

    def check(self, sentence: Sentence, reference: Tree) -> None:
        """Raise DataError unless the reference is a complete encoded tree."""
        super().check(sentence, reference)
        if not reference.is_complete or not reference.roots:
            raise DataError(f"loss {self.name} needs a reference with all heads; found a partial tree")
        for label in reference.labels[1:]:
            if not is_label(label):
                raise DataError(
                    f"loss {self.name} needs encoded trees ('treetune nlf convert'), found the label {label!r}"
                )

    def settings(self) -> dict[str, Any]:
        """Return name and options."""
        return {"name": self.name, "measure": self.measure}
