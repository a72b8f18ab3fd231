"""What training comes to, against loops written out: plain training, and averages that begin with an objective."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from linear_model import LinearModel, Space, average, difference, example, label_of, ranked

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.learning import epochs as epochs_of_learner
from treetune.learning.objectives import Objective, sentence_and_reference
from treetune.learning.ranker import Ranker
from treetune.learning.trainer import train
from treetune.losses import Root
from treetune.models.base import Parser
from treetune.models.graph.parser import GraphParser
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

DECLARATIVES = generate(40, seed=4, kinds=("declarative",))
QUESTIONS = generate(15, seed=5, kinds=("yes-no", "wh"))

PARSERS: dict[str, tuple[Callable[[], Parser], dict[str, Any]]] = {
    "transition": (lambda: TransitionParser(beam=4), {"learner": "perceptron"}),
    "transition mira": (lambda: TransitionParser(beam=4), {"learner": "mira", "clip": 0.1}),
    "greedy": (lambda: TransitionParser(beam=1), {}),
    "graph": (GraphParser, {}),
    "graph perceptron": (GraphParser, {"learner": "perceptron"}),
}


def contents(model: Parser) -> tuple[str, dict[str, bytes]]:
    """All that a model file would hold."""
    config, tensors = model.state()
    return json.dumps(config, sort_keys=True), {name: array.tobytes() for name, array in tensors.items()}


@pytest.mark.parametrize("kind", PARSERS)
def test_plain_training_is_a_loop_over_the_learner(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs_of_learner, "REPORT_EVERY", 16)
    make, options = PARSERS[kind]
    trained, by_hand = make(), make()
    for _ in train(trained, DECLARATIVES, epochs=3, seed=7, **options):
        pass
    learner = by_hand.learner(DECLARATIVES, seed=7, **options)
    shuffle = np.random.default_rng(7)
    for _ in range(3):
        order = shuffle.permutation(len(DECLARATIVES))
        for start in range(0, len(order), 16):
            learner.learn(order[start : start + 16])
    learner.install(by_hand, learner.snapshot())
    assert contents(trained) == contents(by_hand)


def augmented_by_hand(
    model: Parser,
    treebank: Sequence[Example],
    objective: Objective,
    *,
    start: int,
    epochs: int,
    seed: int,
    **options: Any,
) -> None:
    """One step on the objective for each on the treebank, from epoch `start` on; the average begins there."""
    learner = model.learner(treebank, seed=seed, **options)
    items = [sentence_and_reference(item) for item in objective.data]
    ranker = Ranker(learner.online_decoder([sentence for sentence, _ in items]), objective)
    shuffles = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    waiting: list[int] = []
    for epoch in range(1, epochs + 1):
        if epoch == start and start > 1:
            learner.restart_average()
        for place in shuffles[0].permutation(len(treebank)):
            learner.learn(np.array([place]))
            if epoch >= start:
                waiting = waiting or shuffles[1].permutation(len(items)).tolist()
                place = waiting.pop(0)
                learner.step()
                ranker.step(place, *items[place])
    learner.install(model, learner.snapshot())


@pytest.mark.parametrize("start", [1, 2, None])
@pytest.mark.parametrize("kind", ["transition", "transition mira", "graph"])
def test_augmented_training_is_the_algorithm_written_out(kind: str, start: int | None) -> None:
    make, options = PARSERS[kind]
    trained, by_hand, plain = make(), make(), make()
    objective = Objective(QUESTIONS, Root(), start=start)
    reports = list(train(trained, DECLARATIVES, objectives=[objective], epochs=4, seed=3, **options))
    augmented_by_hand(by_hand, DECLARATIVES, objective, start=start or 3, epochs=4, seed=3, **options)
    assert contents(trained) == contents(by_hand)
    # And it is not the same as without.
    assert sum(report.objectives[1].updated for report in reports if report.is_epoch_end) > 0
    for _ in train(plain, DECLARATIVES, epochs=4, seed=3, **options):
        pass
    assert contents(trained) != contents(plain)


# Averages in the plainest model, where each vector of weights can be written down.

SPACE: Space = {
    word: {f"y{place}": {f"{word}{place}": 1.0, f"y{place}": 1.0} for place in range(4)} for word in ("u", "v", "w")
}
TREEBANK = [example("u", "y1"), example("v", "y2")]


def cost(sentence: Sentence, tree: Tree, reference: Tree) -> float:
    return float(tree != reference)


def weights_met(start: int, epochs: int, seed: int = 0) -> list[dict[str, float]]:
    """The weights with which each example was met since the average began, and those at its beginning, by hand."""
    weights: dict[str, float] = {}
    met = [dict(weights)]
    order = np.random.default_rng(seed)
    for epoch in range(1, epochs + 1):
        if epoch == start > 1:
            met = [dict(weights)]
        for place in order.permutation(2):
            examples = [TREEBANK[place], *([example("w", "y3")] if epoch >= start else [])]
            for one in examples:
                met.append(dict(weights))
                outputs, gold = SPACE[one.sentence.forms[1]], label_of(one.gold)
                best = label_of(ranked(outputs, weights, 1)[0].output)
                for name, value in difference(outputs[gold], outputs[best]).items():
                    weights[name] = weights.get(name, 0.0) + value
    return met


@pytest.mark.parametrize(("start", "used"), [(1, 1), (2, 2), (4, 4), (None, 3)])
def test_the_average_begins_where_an_objective_starts(start: int | None, used: int) -> None:
    model = LinearModel(SPACE, averaged=True)
    objective = Objective([example("w", "y3")], cost, k=4, step="perceptron", start=start)
    for _ in train(model, TREEBANK, objectives=[objective], epochs=4):
        pass
    expected = average(weights_met(used, 4))
    assert {name: value for name, value in (model.weights or {}).items() if value} == {
        name: value for name, value in expected.items() if value
    }
    assert [action for action, _ in model.learners[0].log].count("restart") == (used > 1)


def test_every_start_begins_an_average() -> None:
    model = LinearModel(SPACE)
    objectives = [
        Objective([example("w", "y3")], cost, k=4, start=start, name=f"from {start} {number}")
        for number, start in enumerate((2, 4, 4, 1, None))
    ]
    for _ in train(model, TREEBANK, objectives=objectives, epochs=5):
        pass
    log = [action for action, word in model.learners[0].log if word in ("", "u", "v")]
    assert log == ["learn"] * 2 + (["restart"] + ["learn"] * 2) * 3 + ["learn"] * 2


def test_going_on_averages_from_the_first_step() -> None:
    model = LinearModel(SPACE, {"y3": 2.0}, averaged=True)
    objective = Objective([example("w", "y0")], cost, k=4, step="perceptron")
    reports = list(train(model, objectives=[objective], epochs=3, warm_start=True))
    assert reports[0].settings["objectives"][0]["start"] == 1
    assert [report.objectives[0].updated for report in reports if report.is_epoch_end] == [1, 0, 0]
    # The weights of a warm start count once by themselves, and once for the example that they were met with.
    first, moved = {"y3": 2.0}, {"y3": 1.0, "w3": -1.0, "y0": 1.0, "w0": 1.0}
    assert model.weights == average([first, first, moved, moved])
