"""The labels a parser can give, as numbers, and where each may stand."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Fields, expected, integers
from treetune.corpus.projectivity import deprojectivize, plain_label
from treetune.corpus.sentence import UNKNOWN_HEAD, UNKNOWN_LABEL, Sentence, Tree
from treetune.errors import DataError
from treetune.features.encoding import FIRST_ID, Encoder

NO_LABEL = -1
# The column of tags that decide which labels a word may bear.
TAGS = "u"
# A tag decides if it was seen so often, and if no more than this share of its words is to be expected with a label that
# is new to it: by Good and Turing, as many as bear one that was seen once.
MIN_TAGGED, MOST_NEW = 100, 0.01
# Transitions have numbers of 16 bits, two a label; tables over tags and labels stay in memory.
MOST_LABELS, LARGEST_MASK = (1 << 15) - 2, 1 << 26


def _is_known(labels: Counter[int]) -> bool:
    """Say whether the labels of a tag are well enough known."""
    once = sum(count == 1 for count in labels.values())
    return labels.total() >= MIN_TAGGED and once <= MOST_NEW * labels.total()


def _lowered(tree: Tree, fixed_heads: NDArray[np.int32] | None) -> Tree:
    """Return a tree with lifted arcs lowered again, except those of words with fixed heads."""
    if fixed_heads is not None:
        pairs = zip(tree.labels, fixed_heads != UNKNOWN_HEAD, strict=True)
        tree = Tree(tree.heads, tuple(plain_label(name) if fixed else name for name, fixed in pairs))
    return deprojectivize(tree)


@dataclass(frozen=True)
class LabelTable:
    """The labels of a treebank, and where each may stand: on the root's arc, on a word's arc, or both.

    `by_tag` has, for some UPOS tags, the numbers of the labels that words of this tag bear under other words; a word of
    another tag may bear any.
    """

    names: tuple[str, ...]
    at_root: tuple[bool, ...]
    at_word: tuple[bool, ...]
    by_tag: Mapping[str, frozenset[int]] = field(default_factory=dict)

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
        if len(names) > MOST_LABELS:
            raise DataError(
                f"expected at most {MOST_LABELS:,} different labels to train on, found {len(names):,}; is DEPREL the "
                "column that was meant?"
            )
        return cls(names, tuple(name in at_root for name in names), tuple(name in at_word for name in names))

    def learn_tags(self, sentences: Sequence[Sentence], trees: Sequence[Tree]) -> LabelTable:
        """Return the table in which a tag bears only what it has borne in these trees, if that is well enough known."""
        seen = self._seen(sentences, trees)
        if len(seen) * len(self) > LARGEST_MASK:
            raise DataError(
                f"expected at most {LARGEST_MASK:,} pairs of tag and label to train on, found {len(seen):,} tags and "
                f"{len(self):,} labels; set labels_by_tag to false"
            )
        return replace(self, by_tag={tag: frozenset(seen[tag]) for tag in sorted(seen) if _is_known(seen[tag])})

    def widen(self, trees: Iterable[Tree]) -> LabelTable:
        """Return the table with the labels that these trees have besides, and where they have them, added at the end.

        Marks of lifted arcs are not added: a label that is new with such a mark is taken without it.
        """
        at_root = dict(zip(self.names, self.at_root, strict=True))
        at_word = dict(zip(self.names, self.at_word, strict=True))
        for tree in trees:
            for head, _, label in tree.arcs():
                name = label if label in at_root else plain_label(label)
                places, others = (at_root, at_word) if head == 0 else (at_word, at_root)
                places[name] = True
                others.setdefault(name, False)
        if len(at_root) > MOST_LABELS:
            raise DataError(f"expected at most {MOST_LABELS:,} different labels, found {len(at_root):,}")
        names = tuple(at_word)
        return replace(
            self, names=names, at_root=tuple(map(at_root.__getitem__, names)), at_word=tuple(at_word.values())
        )

    def widen_tags(self, sentences: Sequence[Sentence], trees: Sequence[Tree]) -> LabelTable:
        """Return the table in which tags may also bear what they bear in these trees."""
        seen = self._seen(sentences, trees)
        return replace(self, by_tag={tag: labels | seen.get(tag, {}).keys() for tag, labels in self.by_tag.items()})

    def _seen(self, sentences: Sequence[Sentence], trees: Sequence[Tree]) -> dict[str, Counter[int]]:
        """Count the labels of each tag under other words."""
        ids = self.ids()
        seen: dict[str, Counter[int]] = {}
        for sentence, tree in zip(sentences, trees, strict=True):
            for head, word, label in tree.arcs():
                if head != 0:
                    seen.setdefault(sentence.upos[word], Counter())[ids[label]] += 1
        return seen

    def __len__(self) -> int:
        """Return the number of labels."""
        return len(self.names)

    @cached_property
    def lifted(self) -> frozenset[int]:
        """The labels that mark lifted arcs."""
        return frozenset(number for number, name in enumerate(self.names) if plain_label(name) != name)

    def masks(self, encoder: Encoder) -> NDArray[np.bool_]:
        """Return, over (from the root or a word, tag of the dependent, label), what an arc may bear; see `tags`.

        The first tags stand for whatever has none, and may bear all: what is fixed beforehand can be looked up there.
        The root's arc does not depend on tags: some word must be able to bear it.
        """
        tags = encoder.values.get(TAGS, []) if self.by_tag else []
        masks = np.empty((2, FIRST_ID + len(tags), len(self)), np.bool_)
        masks[0], masks[1] = self.at_root, self.at_word
        for row, tag in enumerate(tags, start=FIRST_ID):
            if tag in self.by_tag:
                masks[1, row] = [label in self.by_tag[tag] for label in range(len(self))]
        return masks

    def tags(self, encoder: Encoder, columns: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the row of `masks` for every token of encoded sentences."""
        if not self.by_tag or TAGS not in encoder.columns:
            return np.zeros(columns.shape[1], np.int32)
        return np.ascontiguousarray(columns[encoder.columns.index(TAGS)])

    def root_labels(self) -> NDArray[np.bool_]:
        """Return two rows over labels: those only the root's arc bears, and those it never bears."""
        at_root, at_word = np.array(self.at_root), np.array(self.at_word)
        return np.stack([at_root & ~at_word, ~at_root])

    def ids(self) -> dict[str, int]:
        """Return the number of each label; the unknown label is -1."""
        return {UNKNOWN_LABEL: NO_LABEL, **{name: number for number, name in enumerate(self.names)}}

    def trees(
        self,
        heads: NDArray[np.int32],
        labels: NDArray[np.int32],
        offsets: NDArray[np.int64],
        fixed_heads: NDArray[np.int32] | None = None,
    ) -> list[Tree]:
        """Return the trees of numbers over all tokens of sentences, roots included; see `tree`."""
        heads, labels, starts = heads.copy(), labels.copy(), offsets[:-1]
        heads[starts], labels[starts] = UNKNOWN_HEAD, NO_LABEL
        # The number of the unknown label, -1, is that of the last name.
        names = (*self.names, UNKNOWN_LABEL)
        all_heads, all_names = tuple(heads.tolist()), tuple(map(names.__getitem__, labels.tolist()))
        ends = offsets.tolist()
        trees = [Tree(all_heads[start:end], all_names[start:end]) for start, end in itertools.pairwise(ends)]
        tokens = np.flatnonzero(np.isin(labels, list(self.lifted))) if self.lifted else starts[:0]
        for index in np.unique(np.searchsorted(offsets, tokens, side="right") - 1).tolist():
            fixed = None if fixed_heads is None else fixed_heads[ends[index] : ends[index + 1]]
            trees[index] = _lowered(trees[index], fixed)
        return trees

    def tree(
        self, heads: NDArray[np.int32], labels: NDArray[np.int32], fixed_heads: NDArray[np.int32] | None = None
    ) -> Tree:
        """Return the tree of numbers over tokens, the root included; arcs whose label says so are lowered again.

        A word whose head was fixed (-1: free) stays there, whatever its label says of having been lifted.
        """
        numbers = labels[1:].tolist()
        names = self.names
        tree = Tree((UNKNOWN_HEAD, *heads[1:].tolist()), (UNKNOWN_LABEL, *[names[number] for number in numbers]))
        return tree if self.lifted.isdisjoint(numbers) else _lowered(tree, fixed_heads)

    def state(self) -> dict[str, Any]:
        """Return the table as plain JSON values."""
        return {
            "labels": list(self.names),
            "labels_at_root": list(self.at_root),
            "labels_at_word": list(self.at_word),
            **({"labels_by_tag": {tag: sorted(labels) for tag, labels in self.by_tag.items()}} if self.by_tag else {}),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LabelTable:
        """Rebuild a table from `state()`."""
        fields = Fields(state)
        names = fields.names("labels", MOST_LABELS)
        at_root, at_word = (fields.flags(name, len(names)) for name in ("labels_at_root", "labels_at_word"))
        tags = fields.table("labels_by_tag") if "labels_by_tag" in fields else Fields({})
        by_tag = {tag: frozenset(integers(tags.value(tag), tags.path(tag), len(names))) for tag in tags}
        return cls(tuple(names), tuple(at_root), tuple(at_word), by_tag)

    def check(self, encoder: Encoder) -> None:
        """Raise ModelError if `masks` would be too large to be those of a treebank."""
        if self.by_tag and len(encoder.values.get(TAGS, ())) * len(self) > LARGEST_MASK:
            raise expected("labels", f"at most {LARGEST_MASK:,} pairs of tag and label", list(self.names))
