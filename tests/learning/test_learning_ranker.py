"""One step of the inline ranker (Hall et al. 2011, Algorithm 3): what it asks for, and what it moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_model import label_of, output, sentence

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.learning.objectives import Objective
from treetune.learning.ranker import Outcome, Ranker, Step
from treetune.losses import Loss
from treetune.models.base import Candidate

WORD = sentence("x")


class Scripted:
    """A online_decoder whose outputs are listed, best first; lists of the lengths `short` lack one output.

    A constraint is answered by the `fitting` output, with a score of its own.
    """

    def __init__(
        self,
        labels: Sequence[str],
        *,
        fitting: Candidate[Tree] | None = None,
        moves: bool = True,
        short: Sequence[int] = (),
    ) -> None:
        self.candidates = [Candidate(output(label), -float(rank)) for rank, label in enumerate(labels)]
        self.fitting = fitting
        self.moves = moves
        self.short = short
        self.asked: list[int] = []
        self.constraints: list[Tree] = []
        self.moved: list[tuple[int, str, str, float | None]] = []

    def __len__(self) -> int:
        return 8

    def k_best(self, index: int, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        if constraint is not None:
            self.constraints.append(constraint)
            if self.fitting is None:
                raise DataError("no output has it")
            return [self.fitting]
        self.asked.append(k)
        return self.candidates[: k - 1 if k in self.short else k]

    def update(self, index: int, better: Candidate[Tree], worse: Candidate[Tree], *, margin: float | None) -> bool:
        self.moved.append((index, label_of(better.output), label_of(worse.output), margin))
        return self.moves


class Priced(Loss[Tree, str]):
    """Costs by label; notes for which labels they were asked, one list a call."""

    name = "priced"

    def __init__(self, prices: Mapping[str, float]) -> None:
        self._prices = prices
        self.asked: list[list[str]] = []

    def __call__(self, sentence: Sentence, output: Tree, reference: str) -> float:
        assert sentence is WORD
        assert reference == "the reference"
        return self._prices[label_of(output)]

    def costs(self, sentence: Sentence, outputs: Sequence[Tree], reference: str) -> list[float]:
        self.asked.append([label_of(tree) for tree in outputs])
        return super().costs(sentence, outputs, reference)

    def known(self, sentence: Sentence, reference: str) -> Tree | None:
        assert reference == "the reference"
        return output("known")


def take_step(online_decoder: Scripted, loss: Priced, **options: Any) -> Step:
    objective = Objective([(WORD, "the reference")], loss, **options)
    return Ranker(online_decoder, objective).step(5, WORD, "the reference")


def test_the_lowest_cost_wins_and_the_margin_is_the_difference() -> None:
    online_decoder, loss = Scripted("abcd"), Priced({"a": 0.75, "b": 0.5, "c": 0.25, "d": 0.5})
    assert take_step(online_decoder, loss, search="list", k=4) == Step(Outcome.UPDATED, 0.75, 0.25)
    assert online_decoder.moved == [(5, "c", "a", 0.5)]
    assert online_decoder.asked == [4]


def test_nothing_moves_when_the_best_output_costs_nothing() -> None:
    online_decoder, loss = Scripted("abcd"), Priced(dict.fromkeys("abcd", 0.0))
    for search in ("list", "growing", "forced"):
        assert take_step(online_decoder, loss, search=search, k=2) == Step(Outcome.ALREADY_BEST, 0.0, 0.0)
    assert online_decoder.moved == []
    assert online_decoder.constraints == []
    # One list each is enough to know.
    assert online_decoder.asked == [2, 2, 1]


def test_nothing_moves_when_the_best_output_costs_least() -> None:
    online_decoder, loss = Scripted("abcd"), Priced({"a": 0.5, "b": 1.0, "c": 0.5, "d": 0.75})
    assert take_step(online_decoder, loss, search="list", k=4) == Step(Outcome.NO_BETTER, 0.5, 0.5)
    assert online_decoder.moved == []


def test_of_equal_costs_the_model_s_best_wins() -> None:
    online_decoder, loss = Scripted("abcd"), Priced({"a": 1.0, "b": 0.5, "c": 0.25, "d": 0.25})
    take_step(online_decoder, loss, search="list", k=4)
    assert online_decoder.moved == [(5, "c", "a", 0.75)]


def test_a_list_is_no_longer_than_it_may_be() -> None:
    online_decoder, loss = Scripted("abcd"), Priced({"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0})
    assert take_step(online_decoder, loss, search="list", k=2).outcome is Outcome.NO_BETTER
    assert online_decoder.asked == [2]


def test_k_doubles_until_something_is_better() -> None:
    labels = [f"y{rank}" for rank in range(40)]
    online_decoder, loss = Scripted(labels), Priced({label: float(label != "y11") for label in labels})
    assert take_step(online_decoder, loss, k=2) == Step(Outcome.UPDATED, 1.0, 0.0)
    assert online_decoder.asked == [2, 4, 8, 16]
    assert online_decoder.moved == [(5, "y11", "y0", 1.0)]
    # Each output is priced once.
    assert loss.asked == [labels[:2], labels[2:4], labels[4:8], labels[8:16]]


@pytest.mark.parametrize(
    ("k", "max_k", "asked"),
    [(1, 1, [1]), (1, 5, [1, 2, 4, 5]), (3, 20, [3, 6, 12, 20]), (8, 8, [8]), (8, 64, [8, 16, 32, 64])],
)
def test_k_doubles_up_to_max_k(k: int, max_k: int, asked: list[int]) -> None:
    labels = [f"y{rank}" for rank in range(100)]
    online_decoder, loss = Scripted(labels), Priced(dict.fromkeys(labels, 1.0))
    assert take_step(online_decoder, loss, k=k, max_k=max_k) == Step(Outcome.NO_BETTER, 1.0, 1.0)
    assert online_decoder.asked == asked
    assert [label for asked in loss.asked for label in asked] == labels[: online_decoder.asked[-1]]


def test_k_doubles_until_there_is_nothing_new() -> None:
    online_decoder, loss = Scripted("abc"), Priced(dict.fromkeys("abc", 1.0))
    assert take_step(online_decoder, loss, k=2) == Step(Outcome.NO_BETTER, 1.0, 1.0)
    assert online_decoder.asked == [2, 4, 8]
    assert loss.asked == [["a", "b"], ["c"]]


def test_a_short_list_is_not_yet_everything() -> None:
    """As of second order with crossing arcs, where two trees of a list may climb to the same one."""
    online_decoder, loss = Scripted("abcdef", short=(2, 4)), Priced({**dict.fromkeys("abcde", 1.0), "f": 0.0})
    assert take_step(online_decoder, loss, k=2) == Step(Outcome.UPDATED, 1.0, 0.0)
    assert online_decoder.asked == [2, 4, 8]


def test_a_longer_list_may_begin_with_another_output() -> None:
    class Wider(Scripted):
        """The wider beam finds a better first output, as cheap as the old one was dear."""

        def k_best(self, index: int, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
            found = super().k_best(index, k, constraint=constraint)
            return found if k == 2 else [Candidate(output("new"), 1.0), *found]

    online_decoder, loss = Wider("abcd"), Priced({"a": 0.75, "b": 1.0, "c": 0.5, "d": 1.0, "new": 0.25})
    assert take_step(online_decoder, loss, k=2, max_k=4) == Step(Outcome.NO_BETTER, 0.25, 0.25)
    assert online_decoder.moved == []


def test_a_perceptron_update_has_no_margin() -> None:
    for search in ("list", "growing", "forced"):
        online_decoder = Scripted("abc", fitting=Candidate(output("c"), -2.0))
        loss = Priced({"a": 0.75, "b": 1.0, "c": 0.25})
        assert take_step(online_decoder, loss, search=search, k=3, step="perceptron") == Step(
            Outcome.UPDATED, 0.75, 0.25
        )
        assert online_decoder.moved == [(5, "c", "a", None)]


def test_constrained_search_moves_to_what_is_known() -> None:
    online_decoder, loss = Scripted("ab", fitting=Candidate(output("z"), -9.0)), Priced({"a": 1.0, "z": 0.25})
    assert take_step(online_decoder, loss, search="forced") == Step(Outcome.UPDATED, 1.0, 0.25)
    assert online_decoder.asked == [1]
    assert online_decoder.constraints == [output("known")]
    assert online_decoder.moved == [(5, "z", "a", 0.75)]
    assert loss.asked == [["a"], ["z"]]


def test_what_is_known_may_fit_into_no_output() -> None:
    online_decoder, loss = Scripted("ab"), Priced({"a": 1.0})
    assert take_step(online_decoder, loss, search="forced") == Step(Outcome.NO_BETTER, 1.0, 1.0)
    assert online_decoder.constraints == [output("known")]
    assert online_decoder.moved == []


@pytest.mark.parametrize("cost", [1.0, 2.0])
def test_what_is_known_may_not_be_better(cost: float) -> None:
    online_decoder, loss = Scripted("ab", fitting=Candidate(output("z"), -9.0)), Priced({"a": 1.0, "z": cost})
    assert take_step(online_decoder, loss, search="forced") == Step(Outcome.NO_BETTER, 1.0, 1.0)
    assert online_decoder.moved == []


@pytest.mark.parametrize("search", ["list", "growing", "forced"])
def test_an_output_that_leads_already_teaches_nothing(search: str) -> None:
    online_decoder = Scripted("ab", fitting=Candidate(output("b"), 1.0), moves=False)
    loss = Priced({"a": 1.0, "b": 0.0})
    assert take_step(online_decoder, loss, search=search, k=2) == Step(Outcome.NO_BETTER, 1.0, 1.0)
    assert online_decoder.moved == [(5, "b", "a", 1.0)]


def test_a_margin_update_keeps_a_candidate_below_the_best_output() -> None:
    """Of scores 0, -1, -2, -3 and costs 0, 0, 1, 3, the last is most in the way of a margin as wide as its cost."""
    online_decoder, loss = Scripted("abcd"), Priced({"a": 0.0, "b": 0.0, "c": 1.0, "d": 3.0})
    assert take_step(online_decoder, loss, search="list", k=4, margin_updates=True) == Step(Outcome.UPDATED, 0.0, 0.0)
    assert online_decoder.moved == [(5, "a", "d", 3.0)]


def test_what_costs_less_goes_before_margin_updates() -> None:
    online_decoder, loss = Scripted("abc"), Priced({"a": 1.0, "b": 0.5, "c": 9.0})
    assert take_step(online_decoder, loss, search="list", k=3, margin_updates=True) == Step(Outcome.UPDATED, 1.0, 0.5)
    assert online_decoder.moved == [(5, "b", "a", 0.5)]


def test_an_output_that_nothing_improves_on_has_margin_updates_too() -> None:
    online_decoder, loss = Scripted("abc"), Priced({"a": 0.5, "b": 2.0, "c": 1.0})
    assert take_step(online_decoder, loss, search="list", k=3, margin_updates=True) == Step(Outcome.UPDATED, 0.5, 0.5)
    assert online_decoder.moved == [(5, "a", "b", 1.5)]


def test_a_candidate_beyond_the_margin_gives_no_update() -> None:
    online_decoder = Scripted("ab", moves=False)
    for prices, outcome in (((0.0, 1.0), Outcome.ALREADY_BEST), ((1.0, 2.0), Outcome.NO_BETTER)):
        loss = Priced(dict(zip("ab", prices, strict=True)))
        assert take_step(online_decoder, loss, search="list", k=2, margin_updates=True).outcome is outcome
    assert online_decoder.moved == [(5, "a", "b", 1.0)] * 2


@pytest.mark.parametrize(("cheap", "asked"), [(1, [2]), (2, [2, 4]), (5, [2, 4, 8]), (9, [2, 4, 8])])
def test_k_doubles_until_there_is_a_margin_update(cheap: int, asked: list[int]) -> None:
    labels = [f"y{rank}" for rank in range(10)]
    online_decoder, loss = Scripted(labels), Priced({label: float(rank >= cheap) for rank, label in enumerate(labels)})
    take_step(online_decoder, loss, k=2, max_k=8, margin_updates=True)
    assert online_decoder.asked == asked
    assert online_decoder.moved == ([(5, "y0", f"y{cheap}", 1.0)] if cheap < 8 else [])


@given(
    prices=st.lists(st.integers(0, 4).map(float), min_size=1, max_size=12),
    k=st.integers(2, 5),
    growing=st.booleans(),
)
def test_a_step_is_that_of_the_algorithm(prices: list[float], k: int, growing: bool) -> None:
    """A literal Algorithm 3 over lists that are as long as the last one asked for."""
    labels = [f"y{rank}" for rank in range(len(prices))]
    online_decoder, loss = Scripted(labels), Priced(dict(zip(labels, prices, strict=True)))
    step = take_step(online_decoder, loss, k=k, max_k=8, search="growing" if growing else "list")
    best = prices[: online_decoder.asked[-1]]
    cheapest = best.index(min(best))
    if min(best) < prices[0]:
        assert step == Step(Outcome.UPDATED, prices[0], min(best))
        assert online_decoder.moved == [(5, labels[cheapest], "y0", prices[0] - min(best))]
    else:
        assert online_decoder.moved == []
        assert step == Step(Outcome.NO_BETTER if prices[0] else Outcome.ALREADY_BEST, prices[0], prices[0])
        assert not growing or prices[0] == 0 or min(prices[:8]) == prices[0]
    if len(online_decoder.asked) > 1:
        # The list before was too short.
        assert min(prices[: online_decoder.asked[-2]]) == prices[0]
