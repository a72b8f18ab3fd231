"""Live weights of a checkpoint: whatever its arrays hold, they work or are refused by a ModelError."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from treetune.errors import ModelError
from treetune.weights.flat import FlatLiveWeights
from treetune.weights.store import LiveWeights

Tensors = dict[str, NDArray[Any]]
Live = LiveWeights | FlatLiveWeights
OUTPUTS = 23


def add_some(live: Live, seed: int) -> None:
    """Add to few features with many outputs, so that rows grow, become dense and are freed."""
    rng = np.random.default_rng(seed)
    features = rng.integers(1, 1 << 63, 300, np.uint64)[rng.integers(0, 300, 4000)]
    deltas = rng.normal(size=4000).astype(np.float32)
    for part in np.array_split(np.arange(4000), 8):
        if isinstance(live, FlatLiveWeights):
            live.add(features[part], deltas[part])
        else:
            live.add(features[part], rng.integers(0, OUTPUTS, len(part)).astype(np.uint16), deltas[part])
        live.step()


KINDS: dict[str, Callable[[], Live]] = {"rows": lambda: LiveWeights(OUTPUTS), "flat": FlatLiveWeights}


def made(kind: str) -> Tensors:
    live = KINDS[kind]()
    add_some(live, 1)
    return live.tensors()


def mutated(tensors: Tensors, draw: random.Random) -> Tensors:
    """Return tensors of which one is missing, of another type or shape, or has a few strange numbers."""
    name = draw.choice([name for name in sorted(tensors) if "seen_once" not in name] * 4 + sorted(tensors))
    changed, array = dict(tensors), tensors[name]
    kind = draw.randrange(8)
    if kind == 0:
        del changed[name]
    elif kind == 1:
        changed[name] = array[: draw.randrange(len(array))]
    elif kind == 2:
        changed[name] = array.astype(draw.choice([np.int8, np.float64, np.uint32]))
    elif kind == 3:
        changed[name] = np.concatenate([array, array])
    else:
        array = changed[name] = array.copy()
        flat = array.reshape(-1)
        used = np.flatnonzero(flat)
        for _ in range(draw.choice([1, 1, 3, 50])):
            at = int(draw.choice(used)) if len(used) and draw.random() < 0.8 else draw.randrange(len(flat))
            if flat.dtype.kind == "f":
                flat[at] = draw.choice([np.nan, np.inf, 1e38, -1.0])
            else:
                limits = np.iinfo(flat.dtype)
                near = min(max(int(flat[at]) + draw.choice([-1, 1, 2]), limits.min), limits.max)
                flat[at] = draw.choice([limits.min, limits.max, 0, 1, near, near ^ 1 << draw.randrange(8)])
    return changed


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_written_is_restored(kind: str) -> None:
    tensors = made(kind)
    live, other = KINDS[kind](), KINDS[kind]()
    live.restore(tensors)
    assert all(np.array_equal(tensors[name], array) for name, array in live.tensors().items())
    add_some(live, 2)
    other.restore(made(kind))
    add_some(other, 2)
    assert all(np.array_equal(other.tensors()[name], array) for name, array in live.tensors().items())


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_weights_work_or_are_refused(kind: str) -> None:
    draw, tensors = random.Random(3), made(kind)
    refused = 0
    for number in range(150):
        live = KINDS[kind]()
        try:
            live.restore(mutated(tensors, draw))
        except ModelError:
            refused += 1
            continue
        add_some(live, number)
        live.freeze()
    assert 75 < refused < 150


def test_what_a_refusal_says() -> None:
    tensors = made("rows")
    table, pool = tensors["store.table"], tensors["store.outputs"]
    references = (table[table != 0] & np.uint64((1 << 27) - 1)).astype(int)
    wrong = pool.copy()
    wrong[references[table[table != 0] & np.uint64(1 << 27) == 0][0]] = 0xFFFF
    for name, array, message in (
        ("store.outputs", wrong, "store.outputs: expected rows that lie apart in a pool, found others"),
        ("store.table", table[:1000], "store.table: expected a power of two of slots, found 1,000"),
        ("averages.weights", np.zeros(3), "averages.weights: expected 131,072 numbers of float32, found 3 of float64"),
        ("store.dense", tensors["store.dense"] * np.nan, "store.dense: expected finite numbers, found others"),
    ):
        with pytest.raises(ModelError) as caught:
            LiveWeights(OUTPUTS).restore({**tensors, name: array})
        assert str(caught.value) == message
