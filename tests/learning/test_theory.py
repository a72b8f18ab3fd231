"""What Hall et al. (2011), section 2.3, prove of augmented-loss training, and the counter-example they give."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_model import LinearModel, Space, difference, dot, example, label_of, output, sentence

from treetune import Objective, train
from treetune.corpus.sentence import Sentence, Tree
from treetune.learning.objectives import STEPS, Step
from treetune.learning.progress import Progress
from treetune.losses import Loss

# The unit vector u that separates all data, and its margin.
SEPARATOR, GAMMA = {"cost": 1.0}, 1.0
NOISE = ("a", "b", "c")
# More epochs than there can be mistakes.
MANY = 25


@dataclass(frozen=True)
class Problem:
    """Inputs, the features of their outputs, and what each output costs."""

    space: Space
    costs: Mapping[str, Mapping[str, int]]

    def cost(self, sentence: Sentence, tree: Tree, reference: Any) -> float:
        return float(self.costs[sentence.forms[1]][label_of(tree)])

    def best(self, word: str) -> str:
        return min(self.costs[word], key=lambda label: self.costs[word][label])

    @property
    def squared_radius(self) -> float:
        """R squared: no two outputs of an input are further apart."""
        pairs = [pair for outputs in self.space.values() for pair in itertools.combinations(outputs.values(), 2)]
        return max((dot(apart, apart) for apart in (difference(*pair) for pair in pairs)), default=0.0)

    @property
    def most_mistakes(self) -> float:
        """The bound of Theorem 1."""
        return self.squared_radius / GAMMA**2

    def has_least_cost(self, model: LinearModel, word: str) -> bool:
        return self.cost(sentence(word), model.predict(sentence(word)), None) == min(self.costs[word].values())


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw data that is loss-separable by u with margin 1: an output that costs more has so much less along u."""
    space, costs = {}, {}
    for number in range(draw(st.integers(1, 4))):
        word = f"x{number}"
        # The first costs least, alone, so that it can be gold for an intrinsic objective.
        prices = [0, *draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))]
        shuffled = draw(st.permutations(prices))
        costs[word] = {f"y{place}": price for place, price in enumerate(shuffled)}
        space[word] = {
            label: {"cost": -float(price), **{name: float(draw(st.integers(-1, 1))) for name in NOISE}}
            for label, price in costs[word].items()
        }
    return Problem(space, costs)


@given(problem=problems())
def test_the_drawn_data_is_separable(problem: Problem) -> None:
    """Assumption 1, and that there are epochs enough."""
    assert dot(SEPARATOR, SEPARATOR) == 1.0
    for word, outputs in problem.space.items():
        for one, other in itertools.permutations(outputs, 2):
            if problem.costs[word][one] < problem.costs[word][other]:
                assert dot(SEPARATOR, difference(outputs[one], outputs[other])) >= GAMMA
    assert problem.most_mistakes < MANY


def extrinsic(problem: Problem, **options: Any) -> Objective:
    data = [(sentence(word), None) for word in problem.space]
    return Objective(data, problem.cost, **{"k": 2, "start": 1, "step": "perceptron", **options})


def updates(reports: Iterator[Progress]) -> list[int]:
    """The updates of all objectives in each epoch."""
    return [sum(tally.updated for tally in report.objectives) for report in reports if report.is_epoch_end]


@settings(max_examples=80, deadline=None)
@given(problem=problems(), k=st.integers(2, 6), search=st.sampled_from(["list", "growing"]), seed=st.integers(0, 3))
def test_mistakes_stay_within_the_bound(
    problem: Problem, k: int, search: Literal["list", "growing"], seed: int
) -> None:
    """Theorem 1: however long training goes on and however short the lists are, m <= R² / gamma²."""
    model = LinearModel(problem.space, {})
    objective = extrinsic(problem, k=k, search=search)
    mistakes = updates(train(model, objectives=[objective], warm_start=True, epochs=MANY, seed=seed))
    assert sum(mistakes) <= problem.most_mistakes
    # So it comes to an end.
    assert mistakes[-1] == 0


@settings(max_examples=80, deadline=None)
@given(problem=problems(), shards=st.integers(2, 4), mixes=st.integers(1, 4), seed=st.integers(0, 3))
def test_mixed_shards_stay_within_their_bound(problem: Problem, shards: int, mixes: int, seed: int) -> None:
    """McDonald, Hall & Mann (2010), Theorem 3: the mistakes of all shards, each weighted by 1/S, are at most R²/gamma².

    Mistakes of an epoch after which the weights separate the data are the last ones.
    """
    shards = min(shards, len(problem.space))
    mixes = min(mixes, len(problem.space) // shards)
    model = LinearModel(problem.space, {})
    gold = [example(word, problem.best(word)) for word in problem.space]
    mistakes = updates(train(model, gold, epochs=shards * MANY, seed=seed, shards=shards, mixes=mixes))
    assert sum(mistakes) / shards <= problem.most_mistakes
    assert mistakes[-1] == 0
    assert all(problem.has_least_cost(model, word) for word in problem.space)


@settings(max_examples=60, deadline=None)
@given(problem=problems(), seed=st.integers(0, 3))
def test_mira_moves_within_its_bound(problem: Problem, seed: int) -> None:
    """Of MIRA, Crammer et al. (2006), Theorem 2: the squared margins that were missed sum to at most R² |u|².

    Here u leads by exactly the difference in cost, which is the margin that MIRA asks for, and each is at least 1.
    """
    model = LinearModel(problem.space, {})
    objective = extrinsic(problem, k=6, step="mira")
    mistakes = updates(train(model, objectives=[objective], warm_start=True, epochs=MANY, seed=seed, learner="mira"))
    assert sum(mistakes) <= problem.squared_radius
    assert mistakes[-1] == 0
    assert all(problem.has_least_cost(model, word) for word in problem.space)


@settings(max_examples=60, deadline=None)
@given(
    problem=problems(),
    options=st.sampled_from([{"k": 6, "search": "list"}, {"k": 2, "max_k": 8}, {"k": 1, "max_k": 8}]),
    seed=st.integers(0, 3),
)
def test_training_ends_with_minimal_loss(problem: Problem, options: dict[str, Any], seed: int) -> None:
    """Theorem 2: where lists are, or become, long enough (Assumption 2), everything is learned."""
    model = LinearModel(problem.space, {})
    # Every pass before the last makes a mistake.
    epochs = int(problem.most_mistakes) + 1
    mistakes = updates(
        train(model, objectives=[extrinsic(problem, **options)], warm_start=True, epochs=epochs, seed=seed)
    )
    assert sum(mistakes) <= problem.most_mistakes
    assert mistakes[-1] == 0
    assert all(problem.has_least_cost(model, word) for word in problem.space)


@settings(max_examples=30, deadline=None)
@given(problem=problems(), rates=st.tuples(*[st.sampled_from([0.5, 1.0, 2.0])] * 2), seed=st.integers(0, 3))
def test_intrinsic_and_extrinsic_objectives_are_learned_together(
    problem: Problem, rates: tuple[float, float], seed: int
) -> None:
    """The theorems hold for losses that differ from example to example, some of them intrinsic."""
    words = list(problem.space)
    treebank = [example(word, problem.best(word)) for word in words[: len(words) // 2 + 1]]
    rest = words[len(words) // 2 :]
    binary = Objective(
        [example(word, problem.best(word)) for word in rest],
        lambda _, tree, reference: float(tree != reference),
        name="0/1",
        rate=rates[0],
        k=6,
        search="list",
        step="perceptron",
        start=1,
    )
    model = LinearModel(problem.space)
    objectives = [binary, extrinsic(problem, k=6, rate=rates[1], name="cost")]
    # With half a step a round, nothing waits longer than this for its turn.
    pause = 2 * len(words) + 1
    epochs = (int(problem.most_mistakes) + 1) * pause
    mistakes = updates(train(model, treebank, objectives=objectives, epochs=epochs, seed=seed))
    assert sum(mistakes) <= problem.most_mistakes
    assert sum(mistakes[-pause:]) == 0
    assert all(problem.has_least_cost(model, word) for word in words)
    assert all(model.predict(one.sentence) == one.gold for one in treebank)


# The counter-example: one input, three outputs, ranked y1, y2, y3 by the model.
LOSSES = {"y1": 1.0, "y2": 2.0, "y3": 0.0}
THREE = {"x": {label: {label: 1.0} for label in LOSSES}}
RANKED = {"y1": 3.0, "y2": 2.0, "y3": 1.0}


class OfTheExample(Loss[Tree, None]):
    """The loss of the example, which can say what is known of the right output."""

    name = "of the example"

    def __call__(self, sentence: Sentence, output: Tree, reference: None) -> float:
        return LOSSES[label_of(output)]

    def known(self, sentence: Sentence, reference: None) -> Tree:
        return output("y3")


def three_outputs(**options: Any) -> tuple[LinearModel, list[Progress]]:
    model = LinearModel(THREE, RANKED)
    objective = Objective([(sentence("x"), None)], OfTheExample(), step="perceptron", **options)
    return model, list(train(model, objectives=[objective], warm_start=True, epochs=25))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("learner", ["perceptron", "mira"])
def test_the_counter_example_is_stuck_as_printed(learner: str, step: Step) -> None:
    model = LinearModel(THREE, RANKED)
    objective = Objective([(sentence("x"), None)], OfTheExample(), search="list", k=2, step=step)
    reports = list(train(model, objectives=[objective], warm_start=True, epochs=25, learner=learner))
    for report in reports:
        (tally,) = report.objectives
        assert (tally.seen, tally.updated, tally.already_best, tally.no_better) == (1, 0, 0, 1)
        assert (tally.cost, tally.target_cost) == (1.0, 1.0)
    assert model.weights == RANKED
    assert label_of(model.predict(sentence("x"))) == "y1"


@pytest.mark.parametrize(
    "options",
    [{"search": "growing", "k": 2}, {"search": "list", "k": 3}, {"search": "forced"}],
    ids=["growing", "longer", "constrained"],
)
def test_the_counter_example_is_freed(options: dict[str, Any]) -> None:
    model, reports = three_outputs(**options)
    ends = [report.objectives[0] for report in reports if report.is_epoch_end]
    # y3 gains on y1 by 2 a step; the first makes all three equal.
    assert [tally.updated for tally in ends] == [1, 1] + [0] * 23
    assert [tally.already_best for tally in ends] == [0, 0] + [1] * 23
    assert [(tally.cost, tally.target_cost) for tally in ends] == [(1.0, 0.0)] * 2 + [(0.0, 0.0)] * 23
    assert label_of(model.predict(sentence("x"))) == "y3"


def test_a_mira_update_frees_the_counter_example_at_once() -> None:
    """Along y3 - y1, from 2 behind to 1 ahead: 3 / 2 steps, of MIRA; of at most 1, two steps."""
    for learner, steps in (("mira", [1.5]), ("perceptron", [1.0, 0.5])):
        model = LinearModel(THREE, RANKED)
        objective = Objective([(sentence("x"), None)], OfTheExample(), k=2)
        for _ in train(model, objectives=[objective], warm_start=True, epochs=4, learner=learner):
            pass
        assert model.learners[0].moves == steps
        assert model.weights == {"y1": 1.5, "y2": 2.0, "y3": 2.5}


def test_lists_that_may_not_grow_enough_stay_stuck() -> None:
    model, reports = three_outputs(search="growing", k=1, max_k=2)
    assert all(report.objectives[0].no_better == 1 for report in reports)
    assert model.weights == RANKED
