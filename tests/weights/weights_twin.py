"""The parameter store in plain Python: dictionaries from (key, output) to weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Cells = dict[tuple[int, int], int]


class TwinWeights:
    """What `LiveWeights` does, without rows, tables and growth."""

    def __init__(self) -> None:
        self.rows: set[int] = set()
        self.seen_once: set[int] = set()
        self.weights: dict[tuple[int, int], np.float32] = {}
        self.sums: dict[tuple[int, int], np.float32] = {}
        self.steps = 1

    def add(self, changes: list[tuple[int, int, float]]) -> None:
        """Make one update of (feature, output, delta); a feature counts from its second update on."""
        for feature, _, _ in changes:
            if seen_bit(feature) in self.seen_once:
                self.rows.add(feature >> 28)
        for feature, output, delta in changes:
            if feature >> 28 not in self.rows:
                self.seen_once.add(seen_bit(feature))
                continue
            cell = (feature >> 28, output)
            change = np.float32(delta)
            self.weights[cell] = self.weights.get(cell, np.float32(0)) + change
            self.sums[cell] = self.sums.get(cell, np.float32(0)) + np.float32(self.steps) * change

    def restart_average(self) -> None:
        self.sums = dict.fromkeys(self.weights, np.float32(0))
        self.steps = 1

    def freeze(self, *, prune: float = 0.0, share: float = 0.0, average: bool = True) -> tuple[float, Cells]:
        """Return (scale, integer weights)."""
        steps = float(self.steps) if average else float("inf")
        values = {cell: float(w) - float(self.sums[cell]) / steps for cell, w in self.weights.items()}
        largest = max((abs(value) for value in values.values()), default=0.0)
        scale = 32767 / largest if largest > 0 else 1.0
        floor = max(1.0, prune * scale, share * 32767)
        rounded = {cell: int(np.rint(value * scale)) for cell, value in values.items()}
        return scale, {cell: value for cell, value in rounded.items() if abs(value) >= floor}


def seen_bit(feature: int) -> int:
    return (feature >> 20) & (2**27 - 1)


def cells_of(tensors: dict[str, NDArray[np.generic]]) -> Cells:
    """Return the tensors of frozen weights as a dictionary."""
    keys = np.repeat(tensors["keys"], tensors["counts"].astype(np.int64))
    columns = (keys.tolist(), tensors["outputs"].tolist(), tensors["weights"].tolist())
    return {(key, output): weight for key, output, weight in zip(*columns, strict=True)}
