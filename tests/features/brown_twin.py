"""Brown clustering by its definition: mutual information from scratch for every pair at every step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

Pairs = Counter[tuple[int, int]]


class Twin:
    """The classes of a text; `pairs` are how often one word follows another, by their numbers."""

    def __init__(self, pairs: Pairs, words: int) -> None:
        self.pairs = pairs
        self.total = sum(pairs.values())
        self.left = [sum(count for (a, _), count in pairs.items() if a == word) for word in range(words)]
        self.right = [sum(count for (_, b), count in pairs.items() if b == word) for word in range(words)]
        self.classes: dict[int, list[int]] = {}

    def information(self, classes: Sequence[list[int]]) -> float:
        """Return the mutual information of neighbouring classes, times the number of bigrams."""
        total = 0.0
        for one in classes:
            for other in classes:
                count = sum(self.pairs[a, b] for a in one for b in other)
                if count:
                    margins = sum(self.left[a] for a in one) * sum(self.right[b] for b in other)
                    total += count * math.log(count * self.total / margins)
        return total

    def merge(self) -> tuple[int, int, float]:
        """Merge the pair of slots that costs least, and return it with its cost."""
        now = self.information(list(self.classes.values()))
        best = (math.inf, -1, -1)
        for a in sorted(self.classes):
            for b in sorted(self.classes):
                if a < b:
                    rest = [words for slot, words in self.classes.items() if slot not in (a, b)]
                    cost = now - self.information([*rest, self.classes[a] + self.classes[b]])
                    best = min(best, (cost, a, b))
        cost, a, b = best
        self.classes[a] = self.classes[a] + self.classes.pop(b)
        return a, b, cost

    def run(self, classes: int, words: int) -> tuple[list[int], list[tuple[int, int]], list[float]]:
        """Return the class of each word, the merges of the classes, and what each cost."""
        self.classes = {word: [word] for word in range(classes)}
        free = classes
        for word in range(classes, words):
            self.classes[free] = [word]
            _, free, _ = self.merge()
        slots = [next(slot for slot, members in self.classes.items() if word in members) for word in range(words)]
        merges = [self.merge() for _ in range(classes - 1)]
        return slots, [(a, b) for a, b, _ in merges], [cost for _, _, cost in merges]
