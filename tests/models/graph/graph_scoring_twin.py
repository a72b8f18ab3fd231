"""The features and scores of a graph parser in plain Python: templates, dictionaries, sums."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from treetune.corpus.sentence import Sentence
from treetune.features.templates import Template
from treetune.models.graph.grammar import GraphGrammar

ALL_BITS = 2**64 - 1
ARC_OUTPUT = 0xFFFF
TRANSPARENT = {"ADJ", "ADV", "AUX", "DET", "INTJ", "NOUN", "NUM", "PRON", "PROPN", "SYM", "X"}

Pair = tuple[int, int]  # (feature, output)
Places = Mapping[str, int | None]


@cache
def mix(value: int) -> int:
    """The finaliser of SplitMix64."""
    value &= ALL_BITS
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & ALL_BITS
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & ALL_BITS
    return value ^ (value >> 31)


@cache
def seed_of(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def distance_of(head: int, dependent: int) -> int:
    """The bucket of a signed distance, 0 to 14; arcs of the root are in the middle."""
    if head == 0:
        return 7
    length = abs(head - dependent)
    size = length if length <= 5 else 6 if length <= 10 else 7
    return 7 + size if dependent > head else 7 - size


@dataclass
class ArcTwin:
    """One sentence, and the features of whatever can be in a tree over it."""

    grammar: GraphGrammar
    sentence: Sentence

    @cached_property
    def columns(self) -> dict[str, list[int]]:
        encoded, _ = self.grammar.encoder.encode([self.sentence])
        return dict(zip(self.grammar.encoder.columns, encoded.tolist(), strict=True))

    @property
    def n(self) -> int:
        return len(self.sentence)

    @cached_property
    def base_tree(self) -> tuple[int, ...] | None:
        if not self.grammar.is_stacked:
            return None
        assert self.sentence.base_tree is not None
        return self.sentence.base_tree.heads

    def is_mark(self, word: int) -> bool:
        """Whether a search for marks stops here: at all tags but the transparent ones, at unseen ones too."""
        tag = self.sentence.upos[word]
        return not (tag in TRANSPARENT and tag in self.grammar.encoder.values["u"])

    def mark(self, word: int, direction: str) -> int | None:
        """The nearest word to the left or right that is a mark; the root neither is one nor has one."""
        if word == 0:
            return None
        where = range(word - 1, 0, -1) if direction == "<" else range(word + 1, self.n + 1)
        return next((other for other in where if self.is_mark(other)), None)

    def value(self, token: int | None, shift: str, column: str) -> int:
        """What a column says at a token or beside it; 0 where there is no word."""
        if token is None:
            return 0
        if shift in ("<", ">"):
            there = self.mark(token, shift)
        elif shift == "^":
            assert self.base_tree is not None
            there = self.base_tree[token]
        else:
            there = token + int(shift or 0)
        return self.columns[column][there] if there is not None and 0 <= there <= self.n else 0

    def of_arc(self, kind: str, value: str, head: int, dependent: int) -> int:
        if value == "dist":
            return distance_of(head, dependent)
        if value == "base":
            if self.base_tree is None:
                return 0
            return (
                1 if self.base_tree[dependent] == head else 2 if head > 0 and self.base_tree[head] == dependent else 0
            )
        if kind in ("arc", "label") and head == 0:
            return 2
        return int(dependent > head)

    def feature(self, kind: str, template: Template, places: Places) -> int:
        """The sum of what a template makes of its atoms, each hashed with the seed of its name."""
        head, dependent = places["H"], places["D"]
        assert head is not None
        assert dependent is not None
        total = seed_of(f"{kind} {' '.join(template)}")
        for atom in template:
            place, shift, value = split(atom)
            if place == "A":
                number = self.of_arc(kind, value, head, dependent)
                if kind == "grandparent":
                    grand = places["G"]
                    assert grand is not None
                    number += 2 * (grand > head)
            else:
                number = self.value(places[place], shift, value)
            total += mix(number + seed_of(atom))
        return total & ALL_BITS

    def groups(self, kind: str) -> Iterator[tuple[Template, ...]]:
        for group, name in zip(self.grammar.template_set.groups, self.grammar.template_set.names, strict=True):
            if name.split()[0] == kind:
                yield group

    def arc_features(self, head: int, dependent: int) -> list[int]:
        places = {"H": head, "D": dependent}
        return [self.feature("arc", template, places) for group in self.groups("arc") for template in group]

    def between_features(self, head: int, dependent: int) -> list[list[list[int]]]:
        """For each group, for each different word between (from the head on), its features."""
        found = []
        step = 1 if dependent > head else -1
        for group in self.groups("between"):
            atoms = [split(atom) for template in group for atom in template if split(atom)[0] == "B"]
            seen = set()
            of_words = []
            for word in range(head + step, dependent, step):
                looks = tuple(self.value(word, shift, column) for _, shift, column in atoms)
                if looks not in seen:
                    seen.add(looks)
                    places = {"H": head, "D": dependent, "B": word}
                    of_words.append([self.feature("between", template, places) for template in group])
            found.append(of_words)
        return found

    def sibling_features(self, head: int, dependent: int, sibling: int | None) -> list[list[int]]:
        """For each group, the features of a dependent and its nearest sibling."""
        places = {"H": head, "D": dependent, "S": sibling}
        return [[self.feature("sibling", template, places) for template in group] for group in self.groups("sibling")]

    def grandparent_features(self, head: int, dependent: int, grand: int) -> list[list[int]]:
        """For each group, the features of a dependent and the head of its head."""
        places = {"H": head, "D": dependent, "G": grand}
        return [
            [self.feature("grandparent", template, places) for template in group]
            for group in self.groups("grandparent")
        ]

    def label_features(self, head: int, dependent: int, heads: Sequence[int] | None = None) -> list[int]:
        """The features of a label; those that look at the tree need its heads."""
        places: dict[str, int | None] = {"H": head, "D": dependent}
        if heads is not None:
            children = [word for word in range(1, len(heads)) if heads[word] == dependent]
            places |= {
                "S": nearest_sibling(heads, dependent),
                "G": heads[head] if head > 0 else None,
                "Dl": children[0] if children else None,
                "Dr": children[-1] if children else None,
            }
        return [self.feature("label", template, places) for group in self.groups("label") for template in group]

    def arc_pairs(self, head: int, dependent: int, label: int, *, joint: bool) -> list[Pair]:
        """What one arc has by itself: its label too where that is scored with the arc."""
        between = [f for group in self.between_features(head, dependent) for word in group for f in word]
        pairs = [(feature, ARC_OUTPUT) for feature in self.arc_features(head, dependent) + between]
        return pairs + [(feature, label) for feature in self.label_features(head, dependent)] if joint else pairs

    def sibling_pairs(self, heads: Sequence[int]) -> list[Pair]:
        groups = [
            group
            for word in range(1, len(heads))
            for group in self.sibling_features(heads[word], word, nearest_sibling(heads, word))
        ]
        return [(feature, ARC_OUTPUT) for group in groups for feature in group]

    def grandparent_pairs(self, heads: Sequence[int]) -> list[Pair]:
        groups = [
            group
            for word in range(1, len(heads))
            if heads[word]
            for group in self.grandparent_features(heads[word], word, heads[heads[word]])
        ]
        return [(feature, ARC_OUTPUT) for group in groups for feature in group]

    def tree_pairs(self, heads: Sequence[int], labels: Sequence[int], *, joint: bool, order: int) -> list[Pair]:
        """All (feature, output) pairs of a tree."""
        pairs = self.sibling_pairs(heads) if order >= 2 else []
        pairs += self.grandparent_pairs(heads) if order == 3 else []
        for word in range(1, len(heads)):
            pairs += self.arc_pairs(heads[word], word, labels[word], joint=joint)
            if not joint:
                pairs += [(feature, labels[word]) for feature in self.label_features(heads[word], word, heads)]
        return pairs


@cache
def split(atom: str) -> tuple[str, str, str]:
    """Return (place, shift, value) of an atom such as ``D-1.t`` or ``H<.w``."""
    match = re.fullmatch(r"([A-Z][lr]?)([+-]\d|<|>|\^|)\.(\w+)", atom)
    assert match is not None
    return match[1], match[2], match[3]


def nearest_sibling(heads: Sequence[int], word: int) -> int | None:
    """The dependent of the same head between it and the word that is nearest to the word."""
    head = heads[word]
    low, high = min(head, word), max(head, word)
    between = [other for other in range(low + 1, high) if heads[other] == head]
    return min(between, key=lambda other: abs(other - word), default=None)


def labellings(n: int, at_root: Sequence[int], at_word: Sequence[int], heads: Sequence[int]) -> Iterator[list[int]]:
    """All ways to label a tree."""
    choices = [at_root if heads[word] == 0 else at_word for word in range(1, n + 1)]
    return ([-1, *chosen] for chosen in itertools.product(*choices))
