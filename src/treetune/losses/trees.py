"""The base of losses over trees: checks of the reference, and comparison of its known cells with outputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter, ne
from typing import Any

from treetune.corpus.sentence import UNKNOWN_HEAD, UNKNOWN_LABEL, Sentence, Tree
from treetune.corpus.wellformed import find_cycle
from treetune.errors import ConfigError, DataError
from treetune.losses.base import Loss


class TreeLoss(Loss[Tree, Tree]):
    """A loss that compares a tree with a tree, of which any part may be unknown.

    A subclass computes the costs of a list of trees in `tree_costs`, and checks in `check` that enough is known.
    """

    output = "tree"
    reference = "tree"

    def __call__(self, sentence: Sentence, output: Tree, reference: Tree) -> float:
        """Return the cost of one tree."""
        return self.costs(sentence, (output,), reference)[0]

    def costs(self, sentence: Sentence, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        """Return the cost of each tree; a DataError if one has not as many words as the reference."""
        length = len(reference.heads)
        for output in outputs:
            if not isinstance(output, Tree):
                raise DataError(f"loss {self.name} expects trees as output, found {type(output).__name__}")
            if len(output.heads) != length:
                raise DataError(f"expected a predicted tree of {length - 1} words, as in gold, found {len(output)}")
        return self.tree_costs(outputs, reference)

    @abstractmethod
    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        """Return the cost of each tree; all have as many words as the reference. Nothing known costs nothing."""

    def check(self, sentence: Sentence, reference: Tree) -> None:
        """Raise DataError unless the reference is a tree of this sentence, or a part of one."""
        if not isinstance(reference, Tree):
            raise DataError(f"loss {self.name} expects a tree as reference, found {type(reference).__name__}")
        if len(reference) != len(sentence):
            raise DataError(f"expected a reference tree of {len(sentence)} words, found {len(reference)}")
        for word in range(1, len(reference.heads)):
            head = reference.heads[word]
            if not UNKNOWN_HEAD <= head <= len(reference) or head == word:
                raise DataError(f"word {word} has the head {head}, expected another word from 0 to {len(reference)}")
        roots = reference.roots
        if len(roots) > 1:
            raise DataError(f"words {roots[0]} and {roots[1]} are both the root of the reference, expected one root")
        cycle = find_cycle(reference.heads)
        if cycle:
            raise DataError(f"the heads of the reference form a cycle: {' -> '.join(map(str, (*cycle, cycle[0])))}")


@dataclass(frozen=True, kw_only=True)
class LabelledTreeLoss(TreeLoss):
    """A loss over trees that looks at heads and labels, or at heads alone."""

    labelled: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.labelled, bool):
            raise ConfigError(f"labelled must be true or false, found {self.labelled!r}")

    def settings(self) -> dict[str, Any]:
        """Return name and options."""
        return {"name": self.name, "labelled": self.labelled}


class Cells:
    """Some cells of a reference's column, to be compared with the same cells of other columns.

    It is made once for a list of trees; comparing then costs a few nanoseconds a cell.
    """

    def __init__(self, column: tuple[Any, ...], indices: Sequence[int]) -> None:
        self._pick: Callable[[tuple[Any, ...]], tuple[Any, ...]]
        if len(indices) > 1:
            self._pick = itemgetter(*indices)
        else:  # itemgetter would give a bare cell, and needs at least one
            self._pick = lambda cells: tuple(cells[index] for index in indices)
        self._known = self._pick(column)

    def wrong(self, column: tuple[Any, ...]) -> Iterator[bool]:
        """Yield for each cell whether another column has something else there."""
        return map(ne, self._pick(column), self._known)

    def agree(self, column: tuple[Any, ...]) -> bool:
        """Whether another column has the same in all cells."""
        return self._pick(column) == self._known


def headed_words(tree: Tree) -> list[int]:
    """Return the words whose head is known."""
    return [word for word in range(1, len(tree.heads)) if tree.heads[word] != UNKNOWN_HEAD]


def labelled_words(tree: Tree) -> list[int]:
    """Return the words whose label is known."""
    return [word for word in range(1, len(tree.labels)) if tree.labels[word] != UNKNOWN_LABEL]


def part_of(tree: Tree, *, heads: Sequence[int], labels: Sequence[int]) -> Tree:
    """Return the partial tree that has the heads of some words and the labels of some words."""
    kept_heads, kept_labels = set(heads), set(labels)
    words = range(len(tree.heads))
    return Tree(
        tuple(tree.heads[word] if word in kept_heads else UNKNOWN_HEAD for word in words),
        tuple(tree.labels[word] if word in kept_labels else UNKNOWN_LABEL for word in words),
    )
