"""Chance: everything random that a sentence is made of, from one seeded generator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

from treetune.sample.lexicon import Adjective, Lexicon, Noun, Verb

T = TypeVar("T")


class Draw:
    """Draws words and decisions; `budget` is what a sentence may still spend on modifiers and clauses."""

    def __init__(self, lexicon: Lexicon, random: Random) -> None:
        self.lexicon = lexicon
        self._random = random
        self.budget = 0

    def refill(self, mean: float) -> None:
        """Set the budget of the next sentence: around `mean`, usually small, now and then large."""
        self.budget = 1 + int(self._random.expovariate(1 / mean))

    def maybe(self, probability: float) -> bool:
        """Answer yes with the given probability."""
        return self._random.random() < probability

    def spend(self, probability: float, *, cost: int = 1) -> bool:
        """Answer yes with the given probability if the budget allows, and take the cost from it."""
        if self.budget < cost or not self.maybe(probability):
            return False
        self.budget -= cost
        return True

    def one_of(self, items: Sequence[T]) -> T:
        """Choose evenly."""
        return items[int(self._random.random() * len(items))]

    def weighted(self, table: Mapping[T, int]) -> T:
        """Choose by the weights in `table`."""
        return self._random.choices(tuple(table), tuple(table.values()))[0]

    def common(self, items: Sequence[T]) -> T:
        """Choose as a language does: the n-th item about 1/n as often as the first, so that some are rare."""
        rank = int((len(items) + 1) ** self._random.random())
        return items[min(rank, len(items)) - 1]

    def word(self, table: str, row: str) -> str:
        """Choose from a row of a plain table of the lexicon."""
        return self.common(self.lexicon.words(table, row))

    def noun(self, kind: str) -> Noun:
        """Choose a noun of a class."""
        return self.common(self.lexicon.nouns[kind])

    def verb(self, *, role: str = "", kind: str = "") -> Verb:
        """Choose a verb, any or one that takes a class of nouns in a role."""
        return self.one_of(self.lexicon.verbs_by_role[role, kind] if role else self.lexicon.verbs)

    def complement_verb(self, style: str) -> Verb:
        """Choose a verb that takes a clause."""
        return self.common(self.lexicon.complements[style])

    def adjective(self, kind: str, *, gradable: bool = False) -> Adjective:
        """Choose an adjective that goes with a class of nouns."""
        rows = ["any", *(row for row, kinds in self.lexicon.tables["adjective_use"].items() if kind in kinds)]
        while True:
            adjective = self.common(self.lexicon.adjectives[self.one_of(rows)])
            if adjective.gradable or not gradable:
                return adjective
