"""The mean of live weights: that of plain dictionaries, whatever the order of features and the layout of rows."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from treetune.weights.flat import FlatLiveWeights
from treetune.weights.mixing import Cells, cells_of, mix, set_cells
from treetune.weights.store import LiveWeights

# More than a short row has, so that some rows are dense.
OUTPUTS = 40


def trained(seed: int, *, outputs: int, start: Cells | None = None) -> tuple[Any, dict[tuple[int, int], list[float]]]:
    """Return weights after random updates, and from plain dictionaries weight and average of each cell."""
    draw = np.random.default_rng(seed)
    live: Any = LiveWeights(outputs) if outputs else FlatLiveWeights()
    if start is not None:
        set_cells(live, start)
    live.averages.seen_once.fill(np.uint64(2**64 - 1))
    weights: dict[tuple[int, int], float] = defaultdict(float)
    totals: dict[tuple[int, int], float] = defaultdict(float)
    for _ in range(30):
        features = (draw.integers(1, 60, 50).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1 << 50)
        chosen = (draw.integers(0, 3, 50) ** 3 * (1 if outputs else 0)) % max(outputs, 1)
        # Feature 1 has a weight for every output.
        features[:OUTPUTS] = features[0]
        chosen[:OUTPUTS] = range(OUTPUTS) if outputs else 0
        deltas = draw.integers(-4, 5, 50).astype(np.float32)
        live.add(features, *([chosen.astype(np.uint16)] if outputs else []), deltas)
        for feature, output, delta in zip(features.tolist(), chosen.tolist(), deltas.tolist(), strict=True):
            weights[feature, output] += delta
        live.step()
        for key, value in weights.items():
            totals[key] += value
    # The weights before the first update count as a step, too.
    return live, {key: [weights[key], totals[key] / 31] for key in weights}


def found(cells: Cells, *, outputs: int) -> dict[tuple[int, int], list[float]]:
    """Return weight and average of each cell, features by their upper bits."""
    averages = cells.weights - cells.sums / np.float64(cells.steps)
    pairs = zip(cells.keys.tolist(), cells.weights.tolist(), averages.tolist(), strict=True)
    if not outputs:
        return {(key, 0): [weight, average] for key, weight, average in pairs}
    return {(key >> 16, key & 0xFFFF): [weight, average] for key, weight, average in pairs}


def close(one: dict[tuple[int, int], list[float]], other: dict[tuple[int, int], list[float]]) -> bool:
    keys = {key for key, values in (*one.items(), *other.items()) if any(abs(value) > 1e-4 for value in values)}
    zero = [0.0, 0.0]
    return all(np.allclose(one.get(key, zero), other.get(key, zero), atol=1e-4) for key in keys)


def shifted(values: dict[tuple[int, int], list[float]], outputs: int) -> dict[tuple[int, int], list[float]]:
    keys = ((pair, (pair[0] >> 28 if outputs else pair[0] >> 24 | 1, pair[1])) for pair in values)
    return {key: values[pair] for pair, key in keys}


@pytest.mark.parametrize("outputs", [OUTPUTS, 0])
def test_cells_are_what_was_added_and_come_back(outputs: int) -> None:
    live, expected = trained(1, outputs=outputs)
    cells = cells_of(live)
    assert (np.diff(cells.keys.astype(np.int64)) > 0).all()
    assert close(found(cells, outputs=outputs), shifted(expected, outputs))
    fresh: Any = LiveWeights(outputs) if outputs else FlatLiveWeights()
    set_cells(fresh, cells)
    again = cells_of(fresh)
    for name in ("keys", "weights", "sums", "seen_once"):
        assert getattr(again, name).tobytes() == getattr(cells, name).tobytes()
    assert again.steps == cells.steps
    assert _frozen(fresh) == _frozen(live)


@pytest.mark.parametrize("outputs", [OUTPUTS, 0])
def test_the_mean_is_that_of_dictionaries(outputs: int) -> None:
    parts = [trained(seed, outputs=outputs) for seed in (1, 2, 3)]
    mixed = found(mix([cells_of(live) for live, _ in parts]), outputs=outputs)
    expected: dict[tuple[int, int], Any] = defaultdict(lambda: np.zeros(2))
    for _, values in parts:
        for key, pair in shifted(values, outputs).items():
            expected[key] += np.array(pair) / 3
    assert close(mixed, {key: list(value) for key, value in expected.items()})


def test_one_part_is_its_own_mean_and_steps_weigh() -> None:
    live, _ = trained(4, outputs=OUTPUTS)
    cells = cells_of(live)
    alone = mix([cells])
    assert alone.weights.tobytes() == cells.weights.tobytes()
    assert np.allclose(alone.sums, cells.sums, atol=1e-3)
    assert alone.steps == cells.steps
    one, other = (
        Cells(np.array([5], np.uint64), np.array([weight], np.float32), np.zeros(1, np.float32), steps, seen)
        for weight, steps, seen in (
            (3.0, 1, np.array([1], np.uint64)),
            (6.0, 3, np.array([2], np.uint64)),
        )
    )
    both = mix([one, other])
    assert (both.weights.tolist(), both.steps, both.seen_once.tolist()) == ([4.5], 2, [3])
    # The average over 1 step of 3 and 3 of 6.
    assert 4.5 - float(both.sums[0]) / 2 == pytest.approx(5.25)


def test_mixing_without_any_weights() -> None:
    cells = mix([cells_of(LiveWeights(OUTPUTS)), cells_of(LiveWeights(OUTPUTS))])
    assert len(cells.keys) == 0
    live = LiveWeights(OUTPUTS)
    set_cells(live, cells)
    assert len(cells_of(live).keys) == 0


def _frozen(live: Any) -> list[bytes]:
    tensors = live.freeze().tensors()
    return [tensors[name].tobytes() for name in sorted(tensors)]
