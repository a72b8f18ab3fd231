"""Encoded natural logical forms against gold: head and label of each word, and whole expressions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treetune.corpus.sentence import Tree
from treetune.errors import DataError
from treetune.semantics.encoding import decode
from treetune.semantics.tokens import word_positions


@dataclass(frozen=True, slots=True)
class MeaningScores:
    """Counts over sentences: words with the right head and label, with the right head, and exact expressions."""

    words: int = 0
    right: int = 0
    right_heads: int = 0
    sentences: int = 0
    exact: int = 0

    @property
    def accuracy(self) -> float:
        """The share of words with the right head and label, as a percentage; punctuation is not counted."""
        return 100 * self.right / max(self.words, 1)

    @property
    def head_accuracy(self) -> float:
        """The share of words with the right head, as a percentage."""
        return 100 * self.right_heads / max(self.words, 1)

    @property
    def exact_match(self) -> float:
        """The share of sentences whose expression is right, as a percentage."""
        return 100 * self.exact / max(self.sentences, 1)


def word_counts(forms: Sequence[str], gold: Tree, predicted: Tree) -> tuple[int, int, int]:
    """Return the number of words, of those with the right head and label, and of those with the right head."""
    words = word_positions(forms)
    heads = [word for word in words if gold.heads[word] == predicted.heads[word]]
    return len(words), sum(gold.labels[word] == predicted.labels[word] for word in heads), len(heads)


def is_exact(forms: Sequence[str], gold: Tree, predicted: Tree) -> bool:
    """Whether two encoded trees have the same expression, word for word."""
    one, other = decode(gold, forms), decode(predicted, forms)
    return one == other and one.positions() == other.positions()


def evaluate_meanings(sentences: Iterable[tuple[Sequence[str], Tree, Tree]]) -> MeaningScores:
    """Return the scores of sentences: their forms, root at 0, with gold and predicted encoded trees.

    Raises:
        DataError: gold and predicted trees do not have as many words as the sentence.
    """
    words = right = right_heads = count = exact = 0
    for count, (forms, gold, predicted) in enumerate(sentences, start=1):
        if not len(forms) == len(gold.heads) == len(predicted.heads):
            found = f"{len(gold)} and {len(predicted)}"
            raise DataError(f"sentence {count}: expected trees of {len(forms) - 1} words, found {found}")
        found_words, found_right, found_heads = word_counts(forms, gold, predicted)
        words, right, right_heads = words + found_words, right + found_right, right_heads + found_heads
        exact += is_exact(forms, gold, predicted)
    return MeaningScores(words, right, right_heads, count, exact)
