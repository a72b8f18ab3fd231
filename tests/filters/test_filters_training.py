"""Training of arc filters: SVMs against scikit-learn, the latent SVM's objective, files and messages."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filter_twins import objective as twin_objective
from sklearn.svm import LinearSVC
from test_filters_roles import arc_values

import treetune
from treetune import ArcFilter
from treetune.errors import ConfigError, DataError, ModelError
from treetune.features.encoding import Encoder
from treetune.features.templates import load_templates
from treetune.filters import _training_kernels as training
from treetune.filters.arc_filter import FilterConfig
from treetune.filters.latent_svm import objective, train_joint
from treetune.filters.roles import ROLES
from treetune.filters.svm import FilterData
from treetune.filters.training import FilterTrainer
from treetune.sample import generate

TREES = generate(120, seed=5)
OTHERS = generate(40, seed=6)


@pytest.fixture(scope="module")
def trainer() -> FilterTrainer:
    templates = load_templates("default", "filter")
    encoder = Encoder.learn([one.sentence for one in TREES], columns=sorted(templates.values | {"x"}))
    return FilterTrainer(FilterConfig(), encoder, templates.adapt(encoder.columns, ()), TREES)


@pytest.fixture(scope="module")
def data(trainer: FilterTrainer) -> FilterData:
    return trainer.data(TREES)


@pytest.fixture(scope="module")
def joint() -> ArcFilter:
    return ArcFilter().fit(TREES, OTHERS)


@pytest.mark.parametrize(("role", "costs"), [("NaH", (0.01, 0.01)), ("HtR*", (0.1, 0.01))])
def test_an_svm_reaches_the_objective_of_scikit_learn(data: FilterData, role: str, costs: tuple[float, float]) -> None:
    words = data.words
    features, wanted = data.treebank.features[words], data.roles[words, ROLES.index(role)]
    size = int(features.max()) + 1
    dense = np.zeros((len(words), size))
    for column in features.T:
        dense[np.arange(len(words))[column >= 0], column[column >= 0]] = 1
    labels = np.where(wanted, 1, -1).astype(np.int8)
    weights, alphas, rng = np.zeros(size), np.zeros(len(words)), np.random.default_rng(0)
    for _ in range(200):
        training.train_svm(features, labels, np.array(costs), rng.permutation(len(words)), weights, alphas)
    peer = LinearSVC(
        C=1.0, loss="hinge", fit_intercept=False, class_weight={-1: costs[0], 1: costs[1]}, tol=1e-6, max_iter=100_000
    ).fit(dense, labels)

    def value(w: np.ndarray) -> float:
        return float(
            0.5 * w @ w + (np.where(wanted, costs[1], costs[0]) * np.maximum(0, 1 - labels * (dense @ w))).sum()
        )

    assert value(weights) == pytest.approx(value(peer.coef_[0]), rel=1e-3)
    assert ((dense @ weights > 0) == (dense @ peer.coef_[0] > 0)).mean() > 0.99


def test_the_objective_does_not_rise(trainer: FilterTrainer, data: FilterData) -> None:
    size, tags = len(trainer.vocabulary) + 1, trainer.tag_count
    start = training.JointWeights(
        np.zeros((size, len(ROLES)), np.float32), np.zeros((2, tags, tags), np.float32),
        np.zeros((2, tags, tags), np.float32), np.zeros(2, np.float32), np.ones(1), np.array([True, True]),
    )  # fmt: skip
    rounds = list(train_joint(data, start, np.array([0.1, 1e-3]), np.random.default_rng(1)))
    assert len(rounds) == 4
    assert all(one.after <= one.before for one in rounds)
    # The best events for the weights can only lower it.
    assert all(later.before <= one.after * (1 + 1e-6) for one, later in itertools.pairwise(rounds))
    assert rounds[-1].after < 0.5 * rounds[0].before


def test_the_objective_equals_the_twin(trainer: FilterTrainer, data: FilterData) -> None:
    rng, size, tags = np.random.default_rng(3), len(trainer.vocabulary) + 1, trainer.tag_count
    vine_weights, none_weights = rng.normal(0, 0.1, (2, 2, tags, tags)).astype(np.float32)
    weights = training.JointWeights(
        rng.normal(0, 0.2, (size, len(ROLES))).astype(np.float32), vine_weights, none_weights,
        np.array([0.2, -0.1], np.float32), np.ones(1), np.array([True, True]),
    )  # fmt: skip
    costs, assigned = (0.3, 0.02), np.zeros(int(data.treebank.starts[-1]), np.int32)
    found, _ = objective(data, assigned, np.array(costs), weights, assign=True)
    scores, expected = data.role_scores(weights.roles), 0.0
    offsets = data.treebank.offsets
    for start, end in itertools.pairwise(offsets):
        own = data.treebank.tags[start:end]
        none, vine = arc_values(weights.none, 0.2, own), arc_values(weights.vine, -0.1, own)
        expected += twin_objective(scores[start:end], none, vine, data.treebank.heads[start:end].tolist(), costs)
    learned: tuple[np.ndarray, ...] = weights[:4]
    expected += 0.5 * sum(float(np.square(one, dtype=np.float64).sum()) for one in learned)
    assert found == pytest.approx(expected, rel=1e-4)


def test_a_joint_filter_keeps_trees_and_removes_most_other_arcs(joint: ArcFilter) -> None:
    scores = joint.evaluate(OTHERS)
    assert scores.coverage > 0.97
    assert scores.reduction > 0.3
    matrix = joint.keep([OTHERS[0].sentence])[0]
    assert matrix.shape == (len(OTHERS[0].sentence) + 1,) * 2
    assert not matrix.diagonal().any()
    assert not matrix[:, 0].any()


def test_the_same_seed_gives_the_same_filter(joint: ArcFilter) -> None:
    again = ArcFilter().fit(TREES, OTHERS)
    (config, arrays), (other, tensors) = joint.state(), again.state()
    assert config == other
    assert all(np.array_equal(arrays[name], tensors[name]) for name in arrays)


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "independent"},
        {"vine": False},
        {"threshold": False},
        {"keep_cost": 0.001},
        {"remove_cost": 0.1},
        {"min_count": 20},
        {"rules": True, "kind": "independent", "vine": False},
        {"quadratic": True},
    ],
    ids=str,
)
def test_every_option_changes_the_filter(joint: ArcFilter, options: dict[str, Any]) -> None:
    base = joint if "rules" not in options else ArcFilter(kind="independent", vine=False).fit(TREES, OTHERS)
    # So few trees do not make a quadratic filter good enough for others.
    made = ArcFilter(**options).fit(TREES, TREES if "quadratic" in options else OTHERS)
    assert ("quadratic" in options) == bool(made.weights.pair_weights.any())
    tensors, arrays = base.state()[1], made.state()[1]
    assert any(
        tensors[name].shape != arrays[name].shape or not np.array_equal(tensors[name], arrays[name]) for name in tensors
    )
    matrices = made.keep([one.sentence for one in OTHERS])
    assert all(one.any() for one in matrices)


def test_a_filter_is_the_same_after_a_file(joint: ArcFilter, tmp_path: object) -> None:
    path = f"{tmp_path}/f.treetune"
    treetune.save(joint, path)
    again = treetune.load(path)
    sentences = [one.sentence for one in OTHERS]
    for one, other in zip(joint.keep(sentences), again.keep(sentences), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("rows", lambda a: a[:-1], "rows: expected"),
        ("vine", lambda a: a[:, 1:], "vine: expected"),
        ("none", lambda a: a * np.float32(np.nan), "none: expected finite numbers"),
        ("gaps", lambda a: a[::-1] + a.max(), "keys"),
        ("pair_weights", lambda a: np.zeros(3, np.float32), "pair_weights: expected a power of two"),
        ("rules", lambda a: a[1:], "rules: expected"),
    ],
)
def test_damaged_arrays_are_refused(joint: ArcFilter, name: str, change: object, message: str) -> None:
    config, arrays = joint.state()
    with pytest.raises(ModelError, match=message):
        ArcFilter.from_state(config, {**arrays, name: change(arrays[name])})  # type: ignore[operator]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tags": "w2"}, "tags: expected a column of the encoder, or none, found 'w2'"),
        ({"unit": 0}, "unit: expected a number above 0, found 0"),
        ({"options": {"kind": "x"}}, "options: unknown kind of filter 'x'; known: independent, joint"),
        ({"options": {"kinds": "x"}}, "options.kinds: expected an option of arc filters"),
    ],
)
def test_damaged_tables_are_refused(joint: ArcFilter, change: dict[str, object], message: str) -> None:
    config, arrays = joint.state()
    with pytest.raises(ModelError, match=re.escape(message)):
        ArcFilter.from_state({**config, **change}, arrays)


def test_wrong_options_are_named() -> None:
    with pytest.raises(ConfigError, match="unknown kind of filter 'jont'; known: independent, joint"):
        ArcFilter(kind="jont")
    with pytest.raises(ConfigError, match="unknown option of arc filters 'cost'"):
        ArcFilter(cost=1)
    with pytest.raises(ConfigError, match="keep_cost must be a number above 0, found 0"):
        ArcFilter(keep_cost=0)
    with pytest.raises(ConfigError, match="min_count must be at least 1, found 0"):
        ArcFilter(min_count=0)
    with pytest.raises(ModelError, match="this filter is not trained yet; fit it to a treebank or load a trained one"):
        ArcFilter().keep([OTHERS[0].sentence])
    with pytest.raises(DataError, match="expected trees to train an arc filter on, found none"):
        ArcFilter().fit([])


def test_wrong_templates_are_named(tmp_path: Path) -> None:
    for text, message in (("H.w", "expected W.VALUE with a shift"), ("W.zz W.w", "no such")):
        path = str(tmp_path / "t.txt")
        (tmp_path / "t.txt").write_text(f"[a]\n{text}\nW.w\n", encoding="utf-8")
        if message == "no such":
            # A column that no treebank has is dropped, as in all feature sets.
            with pytest.raises(ConfigError, match="unknown column 'zz'"):
                ArcFilter(features=path).fit(TREES)
        else:
            with pytest.raises(ConfigError, match=message):
                ArcFilter(features=path).fit(TREES)
