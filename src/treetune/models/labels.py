"""The labels a parser can give, as numbers, and where each may stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.projectivity import deprojectivize, plain_label
from treetune.corpus.sentence import UNKNOWN_HEAD, UNKNOWN_LABEL, Tree

NO_LABEL = -1


@dataclass(frozen=True)
class LabelTable:
    """The labels of a treebank, and where each may stand: on the root's arc, on a word's arc, or both."""

    names: tuple[str, ...]
    at_root: tuple[bool, ...]
    at_word: tuple[bool, ...]

    @classmethod
    def learn(cls, trees: Iterable[Tree]) -> LabelTable:
        """Collect the labels of complete trees."""
        at_root: set[str] = set()
        at_word: set[str] = set()
        for tree in trees:
            for head, _, label in tree.arcs():
                (at_root if head == 0 else at_word).add(label)
        # Without longer sentences nothing is known of other arcs: then they may bear what the root's bears.
        at_word = at_word or at_root
        names = tuple(sorted(at_root | at_word))
        return cls(names, tuple(name in at_root for name in names), tuple(name in at_word for name in names))

    def __len__(self) -> int:
        """Return the number of labels."""
        return len(self.names)

    @cached_property
    def lifted(self) -> frozenset[int]:
        """The labels that mark lifted arcs."""
        return frozenset(number for number, name in enumerate(self.names) if plain_label(name) != name)

    def masks(self) -> NDArray[np.bool_]:
        """Return two rows over labels: those the root's arc may bear, and those a word's arc may bear."""
        return np.array([self.at_root, self.at_word], np.bool_)

    def root_kinds(self) -> NDArray[np.bool_]:
        """Return two rows over labels: those only the root's arc bears, and those it never bears."""
        at_root, at_word = self.masks()
        return np.stack([at_root & ~at_word, ~at_root])

    def ids(self) -> dict[str, int]:
        """Return the number of each label; the unknown label is -1."""
        return {UNKNOWN_LABEL: NO_LABEL, **{name: number for number, name in enumerate(self.names)}}

    def tree(
        self, heads: NDArray[np.int32], labels: NDArray[np.int32], fixed_heads: NDArray[np.int32] | None = None
    ) -> Tree:
        """Return the tree of numbers over tokens, the root included; arcs whose label says so are lowered again.

        A word whose head was fixed (-1: free) stays there, whatever its label says of having been lifted.
        """
        numbers = labels[1:].tolist()
        names = self.names
        tree = Tree((UNKNOWN_HEAD, *heads[1:].tolist()), (UNKNOWN_LABEL, *[names[number] for number in numbers]))
        if self.lifted.isdisjoint(numbers):
            return tree
        if fixed_heads is not None:
            pairs = zip(tree.labels, fixed_heads != UNKNOWN_HEAD, strict=True)
            tree = Tree(tree.heads, tuple(plain_label(name) if fixed else name for name, fixed in pairs))
        return deprojectivize(tree)

    def state(self) -> dict[str, Any]:
        """Return the table as plain JSON values."""
        return {
            "labels": list(self.names),
            "labels_at_root": list(self.at_root),
            "labels_at_word": list(self.at_word),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LabelTable:
        """Rebuild a table from `state()`."""
        return cls(tuple(state["labels"]), tuple(state["labels_at_root"]), tuple(state["labels_at_word"]))
