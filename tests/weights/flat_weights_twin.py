"""Flat weights in plain Python: one dictionary from keys to weights."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Changes = list[tuple[int, float]]


class TwinFlatWeights:
    """What `FlatLiveWeights` does, without tables and growth."""

    def __init__(self) -> None:
        self.weights: dict[int, np.float32] = {}
        self.sums: dict[int, np.float32] = {}
        self.seen_once: set[int] = set()
        self.steps = 1

    def add(self, changes: Iterable[tuple[int, float]]) -> None:
        """Add (feature, delta) pairs; the first time a feature comes it is only remembered."""
        for feature, delta in changes:
            key = key_of(feature)
            if key not in self.weights:
                if seen_bit(feature) not in self.seen_once:
                    self.seen_once.add(seen_bit(feature))
                    continue
                self.weights[key] = self.sums[key] = np.float32(0)
            change = np.float32(delta)
            self.weights[key] += change
            self.sums[key] += np.float32(self.steps * float(change))

    def weight(self, feature: int) -> np.float32:
        return self.weights.get(key_of(feature), np.float32(0))

    def restart_average(self) -> None:
        self.sums = dict.fromkeys(self.weights, np.float32(0))
        self.steps = 1

    def freeze(self, *, prune: float = 0.0, average: bool = True) -> tuple[float, dict[int, int]]:
        """Return (scale, integer weights)."""
        values = {key: float(weight) for key, weight in self.weights.items()}
        if average:
            values = {key: value - float(self.sums[key] / np.float32(self.steps)) for key, value in values.items()}
        largest = max(map(abs, values.values()), default=0.0)
        scale = 32767 / largest if largest > 0 else 1.0
        rounded = {key: int(np.rint(value * scale)) for key, value in values.items()}
        return scale, {key: value for key, value in rounded.items() if abs(value) >= max(1.0, prune * 32767)}


def key_of(feature: int) -> int:
    return (feature >> 24) | 1


def seen_bit(feature: int) -> int:
    return (feature >> 20) & (2**28 - 1)


def flat_cells(tensors: dict[str, NDArray[np.generic]]) -> dict[int, int]:
    """Return the tensors of frozen weights as a dictionary."""
    cells: dict[int, int] = {}
    key = 0
    columns = (tensors["gaps"].tolist(), tensors["far_gaps"].tolist(), tensors["weights"].tolist())
    for gap, far, weight in zip(*columns, strict=True):
        key += gap + (far << 32)
        cells[key] = weight
    return cells
