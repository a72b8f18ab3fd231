"""How a model learns: the trainer hands every option on, and every report says what became of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from stub_parser import StubLearner, StubParser
from treetune.corpus.sentence import Example
from treetune.corpus.tags import tagged
from treetune.errors import ConfigError
from treetune.learning.trainer import train
from treetune.models.base import Parser
from treetune.models.graph.parser import GraphParser
from treetune.models.learning_options import DEFAULT_SEED, LEARNERS, LearnerConfig
from treetune.models.sequence.tagger import Tagger
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

EXAMPLES = generate(12, seed=3)

KINDS: dict[str, Callable[[], Parser]] = {
    "transition": TransitionParser,
    "greedy": lambda: TransitionParser(beam=1),
    "graph": GraphParser,
    "graph2": lambda: GraphParser(order=2),
}
GRAPHS = ("graph", "graph2")


class Recorder(StubParser):
    """Keeps what it was asked for."""

    def learner(self, treebank: Sequence[Example], **options: Any) -> StubLearner:
        self.asked = options
        return super().learner(treebank, **options)


def test_every_option_reaches_the_learner() -> None:
    model = Recorder()
    train(model, EXAMPLES)
    assert model.asked == {"seed": DEFAULT_SEED, "warm_start": False}
    other = {"learner": "mira", "update": "early", "k": 3, "clip": 0.25, "cost_augmented": True, "seed": 4}
    train(model, EXAMPLES, **other)  # type: ignore[arg-type]
    assert model.asked == {**other, "warm_start": False}
    model.labels, model.weights = ("dep",), np.zeros(3, np.float32)
    train(model, EXAMPLES, warm_start=True)
    assert model.asked == {"seed": DEFAULT_SEED, "warm_start": True}


def test_every_report_has_the_settings() -> None:
    reports = list(train(StubParser(), EXAMPLES, dev=EXAMPLES[:2], epochs=2, learner="mira", k=3, clip=0.5))
    assert len(reports) == 4
    for report in reports:
        assert report.settings == {"learner": "mira", "k": 3, "clip": 0.5, "cost_augmented": False}


def settings(model: Parser, **options: Any) -> dict[str, Any]:
    found = model.learner(EXAMPLES, **options).settings()
    # What is noted in a model file must be JSON, and JSON has no infinity.
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


@pytest.mark.parametrize(
    ("kind", "learner"),
    [
        (kind, learner)
        for kind in KINDS
        for learner in (None, *LEARNERS["graph"])
        if kind == "graph" or learner != "factored-mira"  # which is for first-order graph parsers alone
    ],
)
def test_settings_say_the_learner_and_what_it_uses(kind: str, learner: str | None) -> None:
    model = KINDS[kind]()
    found = settings(model, learner=learner)
    assert found["learner"] == (learner or ("perceptron" if kind == "greedy" else "mira"))
    assert ("clip" in found) == (found["learner"] != "perceptron")
    # A greedy transition parser has one rival at each step.
    assert ("k" in found) == (found["learner"] == "mira" and kind != "greedy")
    assert ("update" in found) == (kind not in GRAPHS)
    assert found.get("clip", 1.0) > 0


def test_settings_fill_in_what_was_left_out() -> None:
    assert settings(TransitionParser()) == {"learner": "mira", "update": "max-violation", "k": 5, "clip": 0.01}
    assert settings(TransitionParser(), update="dynamic") == {"learner": "perceptron", "update": "dynamic"}
    assert settings(TransitionParser(beam=1)) == {"learner": "perceptron", "update": "dynamic"}
    assert settings(TransitionParser(), update="early")["update"] == "early"
    mira = settings(TransitionParser(), learner="mira", k=2, clip=0.75)
    assert mira == {"learner": "mira", "update": "max-violation", "k": 2, "clip": 0.75}
    assert settings(GraphParser(), k=2, clip=0.75) == {
        **{"learner": "mira", "k": 2, "clip": 0.75},
        "cost_augmented": False,
    }
    assert settings(GraphParser(), cost_augmented=True)["cost_augmented"] is True


def test_a_step_without_bounds_can_be_noted() -> None:
    for model in (TransitionParser(), GraphParser()):
        assert settings(model, learner="mira", clip=float("inf"))["clip"] is None


WRONG: list[tuple[dict[str, Any], str, tuple[str, ...]]] = [
    (
        {"learner": "mirra"},
        "unknown learner 'mirra'; known: crf, factored-mira, mira, perceptron (did you mean 'mira'?)",
        ("transition", "graph"),
    ),
    ({"learner": "mira", "k": 0}, "k must be at least 1, found 0", ("transition", "graph")),
    ({"learner": "mira", "clip": 0.0}, "clip must be more than 0, found 0.0", ("transition", "graph")),
    ({"learner": "mira", "clip": float("nan")}, "clip must be more than 0, found nan", ("transition", "graph")),
    (
        {"update": "earl"},
        "unknown update 'earl'; known: dynamic, early, max-violation (did you mean 'early'?)",
        ("transition",),
    ),
    (
        {"learner": "factored-mira"},
        "the learner factored-mira is not for transition parsers, which have perceptron, mira",
        ("transition",),
    ),
    (
        {"cost_augmented": True},
        "cost_augmented is an option of graph parsers, not of transition parsers",
        ("transition",),
    ),
    (
        {"learner": "factored-mira", "cost_augmented": True},
        "factored-mira compares every arc with the gold one, so there is no search to augment",
        ("graph",),
    ),
    (
        {"learner": "factored-mira"},
        "factored-mira compares single arcs, so it is for graph parsers of order 1",
        ("graph2",),
    ),
    (
        {"update": "early"},
        "update is an option of transition parsers, not of graph parsers",
        ("graph",),
    ),
]


@pytest.mark.parametrize(("options", "problem", "kind"), [(o, p, kind) for o, p, kinds in WRONG for kind in kinds])
def test_wrong_options_are_found_without_data_and_with(options: dict[str, Any], problem: str, kind: str) -> None:
    model = KINDS[kind]()
    for check in (
        lambda: model.check_learning(**options),
        lambda: model.learner(EXAMPLES, **options),
        lambda: train(model, EXAMPLES, **options),
    ):
        with pytest.raises(ConfigError) as caught:
            check()
        assert str(caught.value) == problem


@pytest.mark.parametrize("name", [None, "perceptron", "mira", "factored-mira"])
def test_right_options_are_not_refused(name: str | None) -> None:
    for k, clip in ((1, 1e-9), (100, float("inf"))):
        assert LearnerConfig(learner=name, k=k, clip=clip).learner == name
    learner = GraphParser().learner(EXAMPLES, learner=name, cost_augmented=name != "factored-mira")
    assert learner.settings()["learner"] == (name or "mira")


TAGS = tagged(EXAMPLES, ("upos", "xpos"))
EFFECTS: dict[str, tuple[Callable[[], Any], Sequence[Any], list[dict[str, Any]]]] = {
    "transition": (
        lambda: TransitionParser(beam=4),
        EXAMPLES,
        [{"learner": "perceptron"}, {"update": "early"}, {"update": "dynamic"}, {"k": 1}, {"clip": 0.001}, {"seed": 2}],
    ),
    "greedy": (lambda: TransitionParser(beam=1), EXAMPLES, [{"learner": "mira"}, {"update": "early"}, {"seed": 2}]),
    "graph": (
        GraphParser,
        EXAMPLES,
        [
            {"learner": "perceptron"},
            {"learner": "factored-mira"},
            {"k": 1},
            {"clip": 0.001},
            {"cost_augmented": True},
            {"seed": 2},
        ],
    ),
    "tagger": (lambda: Tagger(columns=("upos", "xpos")), TAGS, [
        {"learner": "perceptron"}, {"learner": "crf"}, {"k": 1}, {"clip": 0.001}, {"seed": 2},
    ]),
}  # fmt: skip


def weights(make: Callable[[], Any], treebank: Sequence[Any], **options: Any) -> dict[str, bytes]:
    model = make()
    for _ in train(model, treebank, **{"epochs": 3, **options}):
        pass
    return {name: array.tobytes() for name, array in model.state()[1].items()}


@pytest.mark.parametrize("kind", EFFECTS)
def test_every_option_changes_the_weights(kind: str) -> None:
    make, treebank, changes = EFFECTS[kind]
    usual = weights(make, treebank)
    assert weights(make, treebank, threads=2) == usual
    for options in ({"epochs": 2}, *changes):
        assert weights(make, treebank, **options) != usual, options
