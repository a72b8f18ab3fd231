"""The labels a parser can give, as numbers, and where each may stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.projectivity import plain_label
from treetune.corpus.sentence import UNKNOWN_LABEL, Tree

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
