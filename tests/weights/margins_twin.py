"""Large-margin learning in plain Python: dictionaries of differences, and the conditions of an optimum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]  # (feature, output)
Matrix = NDArray[np.float64]


class TwinMargins:
    """Gold minus each candidate, as one dictionary a candidate."""

    def __init__(self, k: int) -> None:
        self.differences: list[dict[Pair, float]] = [{} for _ in range(k)]
        self.pairs: list[Pair] = []

    def add(self, candidate: int, pair: Pair, amount: float) -> None:
        if pair not in self.pairs:
            self.pairs.append(pair)
        difference = self.differences[candidate]
        difference[pair] = difference.get(pair, 0.0) + amount

    def add_gold(self, candidates: int, pair: Pair, amount: float) -> None:
        for candidate in range(candidates):
            self.add(candidate, pair, amount)

    def gram(self, candidates: int) -> Matrix:
        chosen = self.differences[:candidates]
        return np.array([[_product(left, right) for right in chosen] for left in chosen])

    def combine(self, steps: list[float]) -> list[tuple[int, int, float]]:
        """The change of every pair, in order of first use, without those that stay."""
        changes = []
        for pair in self.pairs:
            total = 0.0
            for step, difference in zip(steps, self.differences, strict=False):
                total += step * difference.get(pair, 0.0)
            if np.float32(total) != 0:
                changes.append((*pair, float(np.float32(total))))
        return changes


def _product(left: dict[Pair, float], right: dict[Pair, float]) -> float:
    return sum((count * right.get(pair, 0.0) for pair, count in left.items()), 0.0)


def hildreth(gram: Matrix, wanted: list[float], clip: float) -> list[float]:
    """Coordinate ascent on the dual, as the kernel does it."""
    steps = [0.0] * len(wanted)
    for _ in range(200):
        before = list(steps)
        for i in range(len(wanted)):
            if gram[i, i] > 0:
                missing = wanted[i]
                for j, step in enumerate(steps):
                    missing -= gram[i, j] * step
                steps[i] = float(min(max(steps[i] + missing / gram[i, i], 0.0), clip))
        if max(abs(a - b) for a, b in zip(steps, before, strict=True)) <= 1e-7 * max(steps):
            break
    return steps


def is_optimal(gram: Matrix, wanted: list[float], clip: float, steps: list[float], *, within: float = 1e-4) -> bool:
    """The conditions of Karush, Kuhn and Tucker, enough for a maximum since the dual is concave.

    A step at 0 may have its margin reached, one at the clip may have it missed, any other reaches it exactly.
    """
    for i, step in enumerate(steps):
        if not 0 <= step <= clip:
            return False
        missing = wanted[i] - float(gram[i] @ np.array(steps))
        if gram[i, i] == 0:
            if step != 0:
                return False
        elif (step > 0 and missing < -within) or (step < clip and missing > within):
            return False
    return True
