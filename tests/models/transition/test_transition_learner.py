"""Whole passes of learning against a plain twin: the same updates, the same weights, the same averages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from transition_learner_twin import TwinLearner, check_epochs, check_equal, drawn, random_treebank
from transition_samples import TEMPLATES, all_trees
from transition_twin import LEFT, GoldArcs, Rules, State
from weights_twin import cells_of

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, DataError
from treetune.models import labels as table
from treetune.models.training_trees import lift
from treetune.models.transition import search
from treetune.models.transition.learner import TransitionLearner
from treetune.models.transition.parser import TransitionParser


@pytest.mark.parametrize(
    ("update", "beam", "memo_from"),
    [
        ("early", 1, 1000), ("early", 2, 1), ("early", 4, 1000), ("early", 7, 1),
        ("max-violation", 1, 1), ("max-violation", 2, 1000), ("max-violation", 3, 1), ("max-violation", 8, 1),
        ("max-violation", 8, 1000), ("dynamic", 1, 1000), ("dynamic", 1, 1),
    ],
)  # fmt: skip
def test_learning_is_that_of_the_twin(update: str, beam: int, memo_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MEMO_FROM_BEAM", memo_from)
    treebank = random_treebank(beam, count=25)
    parser = TransitionParser(beam=beam, features=TEMPLATES, min_count=1)
    learner = TransitionLearner(parser, treebank, learner="perceptron", update=update, seed=5)
    check_epochs(learner, treebank, seed=beam)


@pytest.mark.parametrize(("beam", "learner"), [(1, "perceptron"), (4, "perceptron"), (4, "mira")])
def test_learning_with_labels_by_tag_is_that_of_the_twin(
    beam: int, learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "MIN_TAGGED", 1)
    monkeypatch.setattr(table, "MOST_NEW", 1.0)
    treebank = random_treebank(beam, count=12, labels="abcdefgh")
    parser = TransitionParser(beam=beam, features=TEMPLATES, min_count=1)
    learns = TransitionLearner(parser, treebank, learner=learner, seed=5)
    assert any(len(borne) < 8 for borne in learns.grammar.labels.by_tag.values())
    twin = TwinLearner(learns, treebank)
    for _ in range(2):
        assert learns.learn(np.arange(12)) == twin.learn(range(12)) > 0
        check_equal(learns, twin)


def test_no_two_steps_draw_the_same() -> None:
    """Neither of one turn of many sentences nor of many turns of one, which objectives that alternate make."""
    for turns in ([(1, place) for place in range(40)], [(turn, 0) for turn in range(40)]):
        draws = [drawn(5, passes, place, step) for passes, place in turns for step in range(40)]
        assert len(set(draws)) == len(draws)


def test_rows_that_become_dense_while_learning_change_nothing() -> None:
    treebank = random_treebank(3, count=40, longest=4, labels="abcdefghij")
    parser = TransitionParser(beam=2, features=TEMPLATES, min_count=1)
    learner = TransitionLearner(parser, treebank, learner="perceptron", update="max-violation")
    twin = TwinLearner(learner, treebank)
    for _ in range(3):
        learner.learn(np.arange(40))
        twin.learn(range(40))
    assert (learner.rows.store.dense != 0).any()
    check_equal(learner, twin)


def test_an_update_that_found_no_room_is_finished_before_learning_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    treebank = random_treebank(4, count=3)
    learner = TransitionLearner(TransitionParser(beam=2, features=TEMPLATES), treebank)
    changes = (np.array([1 << 40], np.uint64), np.array([1], np.uint16), np.array([1], np.float32))
    learner.rows.add(*changes)

    def run(order: object, first: int) -> tuple[int, int, int]:
        update = learner.pending
        update.features[:1], update.outputs[:1], update.deltas[:1] = changes
        update.counters[:] = (1, 0)
        return 1, 1, 0

    monkeypatch.setattr(learner, "_train", run)
    assert learner.learn(np.array([0])) == 1
    assert cells_of(learner.rows.freeze(average=False).tensors()) == {(1 << 12, 1): 32767}


def test_learning_in_parts_is_learning_at_once() -> None:
    treebank = random_treebank(6, count=30)

    def learned(parts: Sequence[int]) -> dict[str, bytes]:
        parser = TransitionParser(beam=4, features=TEMPLATES, min_count=1)
        learner = TransitionLearner(parser, treebank, learner="perceptron")
        for part in np.split(np.arange(30), parts):
            learner.learn(part)
        return {name: values.tobytes() for name, values in learner.snapshot().tensors().items()}

    assert learned([]) == learned([1, 7, 8, 29])


def test_the_dynamic_oracle_loses_the_gold_arcs_that_exhaustive_search_loses() -> None:
    """Costs are those of a system that may end with several roots; the one-root rule can cost more."""
    more, states = 0, 0
    for heads in all_trees(4):
        gold = GoldArcs(heads, [0] * 4)
        rules = Rules(4, (True,), (True,))
        for state in _reachable(rules):
            costs = {action: gold.cost(state, action) for action in rules.legal_actions(state)}
            assert all(cost >= 0 for cost in costs.values())
            states += 1
            more += min(costs.values()) > 0
    assert 0 < more < 0.05 * states


def _reachable(rules: Rules) -> set[State]:
    found, waiting = set(), [rules.start()]
    while waiting:
        state = waiting.pop()
        if state not in found and not state.is_final:
            found.add(state)
            waiting += [state.after(action) for action in rules.legal_actions(state)]
    return found


def test_updates_suit_the_beam_and_learners_the_update() -> None:
    def settings(beam: int, **options: str) -> tuple[str, str]:
        parser = TransitionParser(beam=beam, features=TEMPLATES)
        found = TransitionLearner(parser, random_treebank(4, count=3), **options).settings()  # type: ignore[arg-type]
        return found["update"], found["learner"]

    assert settings(1) == ("dynamic", "perceptron")
    assert settings(2) == settings(8) == ("max-violation", "mira")
    assert settings(2, update="early") == ("early", "mira")
    assert settings(2, update="dynamic") == ("dynamic", "perceptron")


def test_errors_by_text() -> None:
    parser = TransitionParser(features=TEMPLATES)
    good = random_treebank(0, count=1)
    with pytest.raises(
        ConfigError,
        match=r"^unknown update 'max'; known: dynamic, early, max-violation$",
    ):
        TransitionLearner(parser, good, update="max")
    for empty in ([], [Example(Sentence.of([]), Tree.unknown(0))]):
        with pytest.raises(DataError, match=r"^the treebank has no words; expected at least one sentence with a tree$"):
            TransitionLearner(parser, empty)
    sentence = Sentence.of(["a", "b", "c"])
    for heads in ((0, 0, 1), (0, -1, 1), (2, 1, 2), (0, 3, 2), (0, 2, 1), (0, 4, 1)):
        with pytest.raises(DataError, match=r"^sentence 2 of the treebank has no complete tree with one root$"):
            TransitionLearner(parser, [*good, Example(sentence, Tree.of(heads, "abc"))])
    with pytest.raises(DataError, match=r"^sentence 1 of the treebank has 3 words, but its tree has 2$"):
        TransitionLearner(parser, [Example(sentence, Tree.of((0, 1), "ab"))])


def test_rare_lifts_are_not_marked() -> None:
    crossing = Tree.of((0, 4, 1, 1), ("root", "obj", "obl", "xcomp"))
    examples = [Example(Sentence.of(list("abcd")), crossing)] * 3
    marked = lift(examples, min_lifted=3)
    plain = lift(examples, min_lifted=4)
    assert [tree.labels[2] for tree in marked] == ["obj↑xcomp"] * 3
    assert [tree.labels[2] for tree in plain] == ["obj"] * 3
    assert marked[0].heads == plain[0].heads == (-1, 0, 1, 1, 1)


def test_gold_first_actions_are_those_of_the_oracle() -> None:
    treebank = random_treebank(9, count=5)
    parser = TransitionParser(beam=1, features=TEMPLATES)
    learner = TransitionLearner(parser, treebank)
    twin = TwinLearner(learner, treebank)
    for example in treebank:
        actions = twin.parser.derivation(example.gold)
        state = State(len(example.gold), len(learner.grammar.labels)).after_all(actions)
        assert state.is_final
        assert state.tree()[0] == example.gold.heads[1:]
        assert all(action < LEFT + 2 * len(learner.grammar.labels) for action in actions)
