"""Wrong arcs weighted by their length: long arcs are hard, and they carry meaning (Hall et al. 2011, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from operator import or_
from typing import ClassVar

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.losses.trees import Cells, LabelledTreeLoss, headed_words, labelled_words, part_of


@dataclass(frozen=True, kw_only=True)
class ArcLength(LabelledTreeLoss):
    """1 - ALS of the sentence: the summed length of the wrong arcs over that of all gold arcs.

    An arc is as long as its word is far from its gold head; an arc from the root has the length of its word's
    position. When `labelled`, words with a known head and label are counted and both must be right, otherwise
    words with a known head. That is how `evaluate` counts. This is the score of one sentence, whose mean is
    `UALS_mean` and `LALS_mean`; the corpus scores `UALS` and `LALS` are ratios of sums over all sentences, in which
    long sentences weigh more.
    """

    name: ClassVar[str] = "arc-length"

    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        """Return the share of arc length that each tree gets wrong."""
        words = self._counted_words(reference)
        if not words:
            return [0.0] * len(outputs)
        lengths = [abs(word - reference.heads[word]) for word in words]
        total = sum(lengths)
        heads = Cells(reference.heads, words)
        if not self.labelled:
            return [sum(compress(lengths, heads.wrong(output.heads))) / total for output in outputs]
        labels = Cells(reference.labels, words)
        return [
            sum(compress(lengths, map(or_, heads.wrong(output.heads), labels.wrong(output.labels)))) / total
            for output in outputs
        ]

    def known(self, sentence: Sentence, reference: Tree) -> Tree:
        """Return the heads and, when labelled, the labels of the counted words."""
        words = self._counted_words(reference)
        return part_of(reference, heads=words, labels=words if self.labelled else ())

    def check(self, sentence: Sentence, reference: Tree) -> None:
        """Raise DataError unless at least one word is counted."""
        super().check(sentence, reference)
        if not self._counted_words(reference):
            what = "known head and label" if self.labelled else "known head"
            raise DataError(f"loss {self.name} needs a reference with at least one word with a {what}, found none")

    def _counted_words(self, reference: Tree) -> list[int]:
        words = headed_words(reference)
        if not self.labelled:
            return words
        known = set(labelled_words(reference))
        return [word for word in words if word in known]
