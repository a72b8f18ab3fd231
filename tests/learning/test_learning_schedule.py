"""Which objective learns when, and from which example (Hall et al. 2011, Algorithm 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_model import LinearModel, Space, example, round_robin, sentence

from treetune.errors import ConfigError
from treetune.learning import epochs as epochs_of_learner
from treetune.learning.objectives import Item, Objective
from treetune.learning.progress import Progress
from treetune.learning.schedule import Schedule, by_rates
from treetune.learning.trainer import train

RATES = [0.25, 0.5, 1.0, 2.0, 3.5]


def words_of(name: str, count: int) -> list[str]:
    return [f"{name}{number}" for number in range(count)]


# Every input has one output: nothing moves, so that all there is to see is the order.
SPACE: Space = {word: {"y": {"f": 1.0}} for name in "tabc" for word in words_of(name, 300)}


def treebank(count: int) -> list[Any]:
    return [example(word, "y") for word in words_of("t", count)]


def other(name: str, count: int, **options: Any) -> Objective:
    data: list[Item] = [(sentence(word), None) for word in words_of(name, count)]
    return Objective(data, lambda *_: 0.0, name=name, **{"start": 1, **options})


def order(
    size: int, objectives: Sequence[Objective] = (), *, epochs: int = 1, **options: Any
) -> tuple[list[str], list[Progress]]:
    """Return the inputs in the order in which they were trained on, and all reports."""
    model = LinearModel(SPACE, {})
    reports = list(train(model, treebank(size), objectives=objectives, epochs=epochs, **options))
    return [word for action, word in model.learners[0].log if action != "restart"], reports


def of(name: str, words: Sequence[str]) -> list[str]:
    return [word for word in words if word[0] == name]


def turns(words: Sequence[str]) -> str:
    return "".join(word[0] for word in words)


@given(rate=st.sampled_from(RATES) | st.floats(1e-3, 50), rounds=st.integers(1, 3000))
def test_rates_are_kept_at_every_moment(rate: float, rounds: int) -> None:
    schedule = by_rates([1.0, rate])
    steps = 0
    for turn in range(rounds):
        assert schedule(0, turn) == 1
        now = schedule(1, turn)
        # Spread evenly: never more than one step from the mean of a round.
        assert abs(now - rate) < 1 + 1e-9
        steps += now
        assert abs(steps - rate * (turn + 1)) < 1 + 1e-9


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (0.25, "tttta tttta tttta"),
        (0.5, "tta tta tta tta tta tta"),
        (1.0, "ta" * 12),
        (2.0, "taa" * 12),
        (3.5, "taaa taaaa" * 6),
    ],
)
def test_a_rate_is_steps_for_each_step_on_the_treebank(rate: float, expected: str) -> None:
    words, reports = order(12, [other("a", 5, rate=rate)])
    assert turns(words) == expected.replace(" ", "")
    assert [tally.seen for tally in reports[-1].objectives] == [12, expected.count("a")]


@settings(max_examples=30, deadline=None)
@given(
    rates=st.lists(st.sampled_from(RATES), min_size=1, max_size=3), size=st.integers(1, 40), epochs=st.integers(1, 3)
)
def test_rates_hold_over_epochs(rates: list[float], size: int, epochs: int) -> None:
    objectives = [other(name, 7, rate=rate) for name, rate in zip("abc", rates, strict=False)]
    words, _ = order(size, objectives, epochs=epochs)
    assert len(of("t", words)) == size * epochs
    for objective in objectives:
        assert abs(len(of(objective.name, words)) - objective.rate * size * epochs) < 1


@settings(max_examples=30, deadline=None)
@given(weight=st.sampled_from([0.1, 0.2, 1 / 3, 0.7, 1.0, 1.1, 3.0]), size=st.integers(1, 40), count=st.integers(1, 60))
@pytest.mark.parametrize("has_loss", [True, False])
def test_a_weight_is_how_often_each_example_is_seen_for_once_of_the_treebank(
    weight: float, size: int, count: int, has_loss: bool
) -> None:
    data = [example(word, "y") for word in words_of("a", count)]
    objective = other("a", count, weight=weight) if has_loss else Objective(data, name="a", weight=weight, start=1)
    words, _ = order(size, [objective], epochs=10)
    assert len(of("t", words)) == 10 * size
    # Ten passes over the treebank: a whole number of passes over the others, or all but the end of the last.
    assert len(of("a", words)) == int(10 * weight * count + 1e-6)
    times = Counter(of("a", words))
    assert {times[word] for word in words_of("a", count)} <= {int(10 * weight + 1e-6), int(10 * weight + 1e-6) + 1}
    assert objective.settings()["weight"] == weight
    assert "rate" not in objective.settings()


def test_round_robin_gives_each_objective_every_other_turn() -> None:
    objectives = [other("a", 5), other("b", 2)]
    words, _ = order(4, objectives, schedule=round_robin(3))
    # The epoch is over with the last step on the treebank.
    assert turns(words) == "tabtabtabt"
    words, _ = order(4, objectives, schedule=round_robin(3), epochs=2)
    # The next continues where this one stopped.
    assert turns(words) == "tabtabtabt" + "abtabtabtabt"


def test_any_function_is_a_schedule() -> None:
    asked = []

    def schedule(objective: int, turn: int) -> int:
        asked.append((objective, turn))
        return [1, 0, turn % 3][objective]

    words, _ = order(5, [other("a", 5), other("b", 4)], schedule=schedule)
    assert turns(words) == "t" + "tb" + "tbb" + "t" + "tb"
    assert asked == [(objective, turn) for turn in range(5) for objective in range(3)]


def test_a_schedule_may_answer_with_truth_values() -> None:
    words, _ = order(6, [other("a", 5)], schedule=lambda objective, turn: objective == 0 or turn % 3 == 0)
    assert turns(words) == "tatttatt"


def test_the_first_objective_may_take_many_steps_and_none() -> None:
    words, _ = order(10, [other("a", 5)], schedule=lambda objective, turn: [4 * (turn % 2), 1][objective])
    assert turns(words) == "a" + "tttta" + "a" + "tttta" + "a" + "tta"


def test_an_objective_is_not_asked_for_before_it_starts() -> None:
    asked = set()

    def schedule(objective: int, turn: int) -> int:
        asked.add((objective, turn))
        return 1

    words, _ = order(3, [other("a", 5, start=2), other("b", 5, start=3)], schedule=schedule, epochs=3)
    assert turns(words) == "ttt" + "tatata" + "tabtabtab"
    assert {objective for objective, turn in asked if turn < 3} == {0}
    assert {objective for objective, turn in asked if turn < 6} == {0, 1}


def test_other_objectives_start_in_the_third_epoch() -> None:
    for epochs, expected in ((1, ["ta"]), (2, ["t", "ta"]), (4, ["t", "t", "ta", "ta"])):
        words, _ = order(2, [other("a", 5, start=None)], epochs=epochs)
        assert turns(words) == "".join(2 * epoch for epoch in expected)
    words, _ = order(2, [other("a", 5, start=None)], epochs=2, warm_start=True)
    assert turns(words) == "tata" * 2


@pytest.mark.parametrize("others", [["a"], ["a", "b"]])
def test_a_schedule_that_never_serves_the_first_objective_is_refused_at_once(
    others: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treetune.learning.schedule.MOST_IDLE_ROUNDS", 5000)
    model = LinearModel(SPACE, {})
    objectives = [other(name, 5) for name in others]
    reports = train(model, treebank(3), objectives=objectives, schedule=lambda objective, turn: objective > 0)
    with pytest.raises(ConfigError) as caught:
        next(reports)
    assert str(caught.value) == "the schedule never takes a step on 'treebank', which ends the epoch"
    # Not after thousands of steps on the others.
    assert model.learners[0].log == []


def test_a_rate_that_is_next_to_nothing_never_ends_an_epoch() -> None:
    with pytest.raises(ConfigError) as caught:
        list(train(LinearModel(SPACE, {}), objectives=[other("a", 5, rate=1e-7)], warm_start=True))
    assert str(caught.value) == "the schedule never takes a step on 'a', which ends the epoch"


def test_a_schedule_cannot_take_steps_back() -> None:
    schedule: Schedule = lambda objective, turn: 1 - 2 * objective * (turn == 2)  # noqa: E731
    with pytest.raises(ConfigError) as caught:
        order(5, [other("a", 5)], schedule=schedule)
    assert str(caught.value) == "the schedule gives 'a' -1 steps in round 2, expected 0 or more"


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)),
    rates=st.tuples(*[st.sampled_from(RATES)] * 2),
    seed=st.integers(0, 5),
)
def test_data_of_different_size_cycle_independently(
    sizes: tuple[int, int, int], rates: tuple[float, float], seed: int
) -> None:
    """Everything of an objective is met before anything is met again, whatever the others do."""
    size, *sizes_of_others = sizes
    objectives = [other(name, count, rate=rate) for name, count, rate in zip("ab", sizes_of_others, rates, strict=True)]
    words, _ = order(size, objectives, epochs=4, seed=seed)
    for name, count in zip("tab", sizes, strict=True):
        mine = of(name, words)
        for start in range(0, len(mine), count):
            cycle = mine[start : start + count]
            assert len(set(cycle)) == len(cycle)
            assert len(cycle) == count or start + count > len(mine)


def test_shuffling_is_seeded_and_differs_between_objectives_and_passes() -> None:
    def numbers(name: str, words: Sequence[str]) -> list[str]:
        return [word[1:] for word in of(name, words)]

    objectives = [other("a", 30), other("b", 30)]
    words, _ = order(30, objectives, epochs=2, seed=3)
    assert words == order(30, objectives, epochs=2, seed=3)[0]
    again, _ = order(30, objectives, epochs=2, seed=4)
    orders = [numbers(name, found) for name in "tab" for found in (words, again)]
    passes = [tuple(one[start : start + 30]) for one in orders for start in (0, 30)]
    assert len(set(passes)) == len(passes) == 12
    assert {tuple(sorted(one)) for one in passes} == {tuple(sorted(passes[0]))}


def test_another_objective_changes_no_order_but_its_own() -> None:
    alone, _ = order(20, epochs=3, seed=5)
    with_a, _ = order(20, [other("a", 7)], epochs=3, seed=5)
    with_both, _ = order(20, [other("a", 7), other("b", 11, rate=2)], epochs=3, seed=5)
    slower, _ = order(20, [other("a", 7, rate=0.5)], epochs=3, seed=5)
    assert of("t", with_a) == of("t", with_both) == of("t", slower) == alone
    assert of("a", with_a) == of("a", with_both)
    assert of("a", slower) == of("a", with_a)[:30]


def test_several_treebanks_are_learned_as_gold() -> None:
    """The trees of all are in one learner; each keeps its own order and rate."""
    space = {word: {"y": {"f": 1.0}, "z": {"g": 1.0}} for word in SPACE}
    model = LinearModel(space)
    more = [
        Objective([example(word, label) for word in words_of(name, count)], name=name, rate=rate, start=start)
        for name, label, count, rate, start in (("a", "z", 3, 0.5, 1), ("b", "y", 4, 2.0, 2))
    ]
    reports = list(train(model, treebank(6), objectives=more, epochs=2))
    log = model.learners[0].log
    assert {action for action, _ in log} == {"learn", "restart"}
    words = [word for action, word in log if action == "learn"]
    assert turns(words) == "tta" * 3 + ("tbb" + "tabb") * 3
    assert [tally.seen for tally in reports[-1].objectives] == [6, 3, 12]
    assert [tally.name for tally in reports[-1].objectives] == ["treebank", "a", "b"]
    assert set(of("a", words)) == set(words_of("a", 3))
    assert set(of("b", words)) == set(words_of("b", 4))


def test_an_epoch_without_a_treebank_is_a_pass_over_the_first_objective() -> None:
    model = LinearModel(SPACE, {})
    reports = list(train(model, objectives=[other("a", 5), other("b", 9)], epochs=2, warm_start=True))
    words = [word for _, word in model.learners[0].log]
    assert turns(words) == "ab" * 10
    assert (reports[-1].total, reports[-1].seen, reports[-1].words) == (5, 5, 10)


@pytest.mark.parametrize(("size", "seen"), [(60, [25, 50, 60, 60]), (50, [25, 50, 50]), (7, [7, 7])])
def test_reports_come_after_so_many_sentences_of_the_first(
    size: int, seen: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epochs_of_learner, "REPORT_EVERY", 25)
    for objectives in ([], [other("a", 9, rate=0.5)], [other("a", 4, rate=2), other("b", 3)]):
        _, reports = order(size, objectives)
        assert [report.seen for report in reports] == seen
        assert [report.is_epoch_end for report in reports] == [False] * (len(seen) - 1) + [True]
        for report in reports:
            for tally, objective in zip(report.objectives[1:], objectives, strict=True):
                assert abs(tally.seen - objective.rate * report.seen) < 1


def test_reports_come_although_steps_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs_of_learner, "REPORT_EVERY", 25)
    _, reports = order(100, [other("a", 9)], schedule=lambda objective, turn: [7, 1][objective])
    assert [report.seen for report in reports] == [28, 56, 84, 100, 100]


def test_reports_do_not_change_what_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    objectives = [other("a", 9, rate=0.5), other("b", 4, rate=2)]
    words, _ = order(50, objectives, epochs=2)
    monkeypatch.setattr(epochs_of_learner, "REPORT_EVERY", 7)
    assert order(50, objectives, epochs=2)[0] == words


def test_steps_in_a_row_are_handed_over_together() -> None:
    """A kernel is much faster on many sentences: plain training must not go one by one."""
    model = LinearModel(SPACE, {})
    model_learner = model.learner
    sizes: list[int] = []

    def learner(*arguments: Any, **options: Any) -> Any:
        made = model_learner(*arguments, **options)
        learn = made.learn

        def counted(order: np.ndarray[Any, np.dtype[np.int64]]) -> int:
            sizes.append(len(order))
            return learn(order)

        made.learn = counted  # type: ignore[method-assign]
        return made

    model.learner = learner  # type: ignore[method-assign]
    for _ in train(model, treebank(300), epochs=2):
        pass
    assert sizes == [256, 44] * 2
    sizes.clear()
    for _ in train(model, treebank(300), objectives=[other("a", 9, rate=0.02)], epochs=1):
        pass
    assert sizes == [50, 50, 50, 50, 50, 6, 44]
