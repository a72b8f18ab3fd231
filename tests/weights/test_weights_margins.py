"""The arithmetic of MIRA against dictionaries, the conditions of an optimum, and scipy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from margins_twin import Matrix, TwinMargins, hildreth, is_optimal
from numba import njit

from treetune.weights import _kernels as kernels
from treetune.weights._kernels import Margins
from treetune.weights.store import make_margins

GOLD = -1  # a difference to all candidates


@njit
def fill(margins, candidates, who, features, outputs, amounts):  # type: ignore[no-untyped-def]
    """Clear, then add one difference after the other; `who` is a candidate or GOLD."""
    kernels.clear_margins(margins)
    for i in range(who.shape[0]):
        if who[i] == GOLD:
            for candidate in range(candidates):
                kernels.add_difference(margins, candidate, features[i], outputs[i], amounts[i])
        else:
            kernels.add_difference(margins, who[i], features[i], outputs[i], amounts[i])
    kernels.fill_gram(margins, candidates)


@njit
def solve(gram, wanted, candidates, clip, steps):  # type: ignore[no-untyped-def]
    kernels.solve_margins(gram, wanted, candidates, clip, steps)


@njit
def combine(margins, candidates, features, outputs, deltas):  # type: ignore[no-untyped-def]
    return kernels.combine_margins(margins, candidates, features, outputs, deltas)


Difference = tuple[int, int, int, float]  # who, feature, output, amount


def filled(margins: Margins, candidates: int, differences: list[Difference]) -> TwinMargins:
    """Fill the kernel's margins and a twin with the same."""
    who, features, outputs, amounts = ([row[i] for row in differences] for i in range(4))
    fill(
        margins, candidates, np.array(who, np.int64), np.array(features, np.uint64), np.array(outputs, np.int32),
        np.array(amounts, np.float64),
    )  # fmt: skip
    twin = TwinMargins(candidates)
    for candidate, feature, output, amount in differences:
        if candidate == GOLD:
            twin.add_gold(candidates, (feature, output), amount)
        else:
            twin.add(candidate, (feature, output), amount)
    return twin


def combined(margins: Margins, candidates: int) -> list[tuple[int, int, float]]:
    size = len(margins.used)
    features, outputs, deltas = np.empty(size, np.uint64), np.empty(size, np.uint16), np.empty(size, np.float32)
    count = combine(margins, candidates, features, outputs, deltas)
    columns = (features[:count].tolist(), outputs[:count].tolist(), deltas[:count].tolist())
    return list(zip(*columns, strict=True))


def solved(gram: Matrix, wanted: list[float], clip: float) -> list[float]:
    # One place more than needed: it must stay as it is.
    steps = np.full(len(wanted) + 1, 7.0)
    solve(gram, np.array(wanted), len(wanted), clip, steps)
    assert steps[-1] == 7.0
    return [float(step) for step in steps[:-1]]


CLIPS = st.sampled_from([0.0, 0.01, 0.1, 1.0, 1e9, float("inf")])


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_differences_are_those_of_dictionaries(data: st.DataObject) -> None:
    draw = random.Random(data.draw(st.integers(0, 10**6)))
    k = data.draw(st.integers(1, 6))
    pool = [draw.getrandbits(64) for _ in range(data.draw(st.sampled_from([1, 4, 20])))]
    margins = make_margins(len(pool) * 7, k)
    for _ in range(3):  # the same memory is used again, also for fewer candidates
        candidates = draw.randint(1, k)
        differences = [
            (draw.randrange(-1, candidates), draw.choice(pool), draw.randrange(7), float(draw.choice([1, -1, 2])))
            for _ in range(draw.choice([0, 5, 150]))
        ]
        twin = filled(margins, candidates, differences)
        assert int(margins.counters[0]) == len(twin.pairs) <= len(margins.used) <= len(margins.keys) / 2
        gram = twin.gram(candidates)
        assert margins.gram[:candidates, :candidates].tolist() == gram.tolist()
        wanted = [float(draw.randint(-3, 8)) for _ in range(candidates)]
        clip = data.draw(CLIPS)
        margins.wanted[:candidates] = wanted
        solve(margins.gram, margins.wanted, candidates, clip, margins.steps)
        steps = margins.steps[:candidates].tolist()
        assert steps == hildreth(gram, wanted, clip)
        assert combined(margins, candidates) == twin.combine(steps)


def test_any_feature_number_and_output_has_a_pair_of_its_own() -> None:
    spread = int(kernels.SPREAD)
    # The first with output 5 would have the key 0, which marks an empty slot; the others crowd at both ends.
    features = [(-5 * spread) % 2**64, 2, 3, 4, 2**64 - 2, 2**64 - 1]
    pairs = [(feature, output) for feature in features for output in (0, 5, 65535)]
    margins = make_margins(len(pairs), 1)
    differences = [(0, feature, output, float(place + 1)) for place, (feature, output) in enumerate(pairs)]
    filled(margins, 1, differences)
    margins.steps[0] = 0.5
    assert combined(margins, 1) == [(*pair, (place + 1) / 2) for place, pair in enumerate(pairs)]


def test_room_is_for_as_many_pairs_as_asked() -> None:
    for pairs in (1, 8, 9, 1000, 1024, 1025):
        margins = make_margins(pairs, 3)
        assert 2 * pairs <= len(margins.keys) == len(margins.features) == len(margins.outputs) == len(margins.counts)
        assert len(margins.keys) & (len(margins.keys) - 1) == 0
        assert (len(margins.used), margins.counts.shape[1], margins.gram.shape) == (pairs, 3, (3, 3))


def test_clearing_leaves_nothing_behind() -> None:
    margins = make_margins(50, 4)
    filled(margins, 4, [(GOLD, 1 << 60, 3, 1.0), (3, 5 << 55, 2, -1.0)])
    filled(margins, 1, [])
    assert margins.counters[0] == 0
    assert not margins.keys.any()
    assert not margins.counts.any()


@pytest.mark.parametrize(
    ("wanted", "norm", "clip", "step"),
    [
        (3.0, 4.0, 1.0, 0.75), (3.0, 4.0, 0.5, 0.5), (-1.0, 4.0, 1.0, 0.0), (3.0, 0.0, 1.0, 0.0),
        (3.0, 7.0, np.inf, 3 / 7),
    ],
)  # fmt: skip
def test_one_candidate_gets_the_passive_aggressive_step(wanted: float, norm: float, clip: float, step: float) -> None:
    assert solved(np.array([[norm]]), [wanted], clip) == [step]


def random_problem(draw: random.Random, k: int) -> tuple[Matrix, list[float]]:
    """Differences of a few pairs each; some twice, some none, so that problems without a unique step come too."""
    rows = [[float(draw.choice([-1, 0, 0, 1, 2])) for _ in range(draw.choice([3, 12]))] for _ in range(k)]
    width = max(len(row) for row in rows)
    differences = np.array([row + [0.0] * (width - len(row)) for row in rows])
    if k > 2 and draw.random() < 0.3:
        differences[1] = differences[0]
    if draw.random() < 0.2:
        differences[-1] = 0
    return differences @ differences.T, [draw.uniform(-2, 6) for _ in range(k)]


@given(st.integers(0, 10**9), st.integers(1, 8), st.sampled_from([0.01, 0.1, 1.0, 10.0]))
@settings(max_examples=150, deadline=None)
def test_steps_are_optimal(seed: int, k: int, clip: float) -> None:
    gram, wanted = random_problem(random.Random(seed), k)
    steps = solved(gram, wanted, clip)
    assert steps == hildreth(gram, wanted, clip)
    # 200 sweeps end before a nearly singular problem is solved to the last digit.
    assert is_optimal(gram, wanted, clip, steps, within=0.05)
    assert is_optimal(gram + np.eye(k), wanted, clip, solved(gram + np.eye(k), wanted, clip))


def test_an_optimum_is_told_from_what_is_none() -> None:
    gram, wanted = np.array([[2.0, 1.0], [1.0, 3.0]]), [1.0, 2.0]
    steps = solved(gram, wanted, 1.0)
    assert is_optimal(gram, wanted, 1.0, steps)
    for wrong in ([0.0, 0.0], [1.0, 1.0], [steps[0], -0.1], [steps[0] + 0.1, steps[1]], [steps[0], steps[1] - 0.1]):
        assert not is_optimal(gram, wanted, 1.0, wrong)


@pytest.mark.parametrize("seed", range(30))
def test_steps_are_those_of_scipy(seed: int) -> None:
    optimize: Any = pytest.importorskip("scipy.optimize")
    draw = random.Random(seed)
    k = draw.randint(2, 6)
    gram, wanted = random_problem(draw, k)
    gram += np.eye(k)  # one optimum only
    clip = draw.choice([0.1, 1.0, 10.0])
    found = optimize.minimize(
        lambda steps: steps @ gram @ steps / 2 - np.array(wanted) @ steps,
        np.zeros(k),
        jac=lambda steps: gram @ steps - np.array(wanted),
        bounds=[(0, clip)] * k,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    np.testing.assert_allclose(solved(gram, wanted, clip), found.x, atol=1e-5)


def test_without_a_clip_every_margin_is_reached_by_the_smallest_change() -> None:
    differences = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    wanted = [1.0, 3.0]
    steps = solved(differences @ differences.T, wanted, float("inf"))
    change = np.array(steps) @ differences
    assert (differences @ change >= np.array(wanted) - 1e-6).all()
    # The first margin comes with the second, so its own step is none.
    np.testing.assert_allclose(change, [0, 1.5, 1.5], atol=1e-6)
