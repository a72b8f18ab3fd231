"""MIRA for the transition parser: against its twin, its margins, its options."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numba import njit
from transition_learner_twin import TwinLearner, check_epochs, check_equal, random_treebank
from transition_samples import TEMPLATES, all_trees
from transition_twin import GoldArcs, Rules, State
from weights_twin import cells_of

from treetune.corpus.sentence import Example
from treetune.errors import ConfigError
from treetune.evaluation.scores import evaluate_trees
from treetune.learning.trainer import train
from treetune.models.transition import _kernels as kernels
from treetune.models.transition import _training_kernels as training
from treetune.models.transition import search
from treetune.models.transition.learner import PRUNE_SHARE, TransitionLearner
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate


def make_learner(treebank: Sequence[Example], *, beam: int = 4, **options: Any) -> TransitionLearner:
    return TransitionLearner(TransitionParser(beam=beam, features=TEMPLATES, min_count=1), treebank, **options)


@pytest.mark.parametrize(
    ("update", "beam", "k", "clip", "memo_from"),
    [
        ("early", 1, 5, 0.01, 1000), ("early", 4, 2, float("inf"), 1), ("max-violation", 1, 1, 1.0, 1),
        ("max-violation", 3, 1, 0.003, 1), ("max-violation", 8, 5, 0.01, 1), ("max-violation", 8, 5, 0.003, 1000),
        ("max-violation", 8, 20, float("inf"), 1), ("dynamic", 1, 5, 0.004, 1000), ("dynamic", 1, 1, float("inf"), 1),
    ],
)  # fmt: skip
def test_learning_is_that_of_the_twin(
    update: str, beam: int, k: int, clip: float, memo_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MEMO_FROM_BEAM", memo_from)
    treebank = random_treebank(beam, count=25)
    learner = make_learner(treebank, beam=beam, learner="mira", update=update, k=k, clip=clip, seed=3)
    check_epochs(learner, treebank, seed=beam)


@pytest.mark.parametrize("update", ["max-violation", "dynamic"])
def test_rows_that_become_dense_while_learning_change_nothing(update: str) -> None:
    treebank = random_treebank(3, count=40, longest=4, labels="abcdefghij")
    learner = make_learner(treebank, beam=3, learner="mira", update=update)
    twin = TwinLearner(learner, treebank)
    for _ in range(3):
        learner.learn(np.arange(40))
        twin.learn(range(40))
    assert (learner.rows.store.dense != 0).any()
    check_equal(learner, twin)


@njit
def lost_after(space, actions, n, n_labels, heads, labels, on_stack):  # type: ignore[no-untyped-def]
    kernels.start_state(space, 0)
    for step in range(len(actions)):
        kernels.apply_action(space, step, actions[step], step + 1, n_labels)
    return training.lost_arcs(space, len(actions), n, n_labels, heads, labels, on_stack)


def prefixes(rules: Rules, actions: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Every sequence of legal transitions, complete or not."""
    state = rules.start().after_all(actions)
    found = [actions]
    if not state.is_final:
        for action in rules.legal_actions(state):
            found += prefixes(rules, (*actions, action))
    return found


def test_the_loss_of_a_state_is_the_gold_arcs_that_exhaustive_search_cannot_have() -> None:
    n, losses = 3, set()
    draw = random.Random(1)
    rules = Rules(n, (True, False), (True, True))
    learner = make_learner(random_treebank(1, count=3))
    every = prefixes(rules)
    for heads in all_trees(n):
        labels = [0 if head == 0 else draw.randrange(2) for head in heads]
        gold = GoldArcs(heads, labels)
        # Token 0 comes first; the root is the last word of the buffer.
        gold_heads = np.array([-1, *(head or n + 1 for head in heads)], np.int32)
        gold_labels = np.array([-1, *labels], np.int32)
        for actions in every:
            on_stack = np.ones(n + 2, np.bool_)
            numbers = np.array(actions, np.int32)
            lost = lost_after(learner._workspace, numbers, n, 2, gold_heads, gold_labels, on_stack)
            assert lost == gold.lost(State(n, 2).after_all(actions))
            losses.add(lost)
    assert losses == {0, 1, 2, 3}


def test_gold_leads_each_rival_by_its_loss_when_nothing_is_left_to_learn() -> None:
    treebank = random_treebank(11, count=6, longest=4)
    parser = TransitionParser(beam=200, features=TEMPLATES, min_count=1)
    learner = TransitionLearner(parser, treebank, learner="mira", k=40, clip=float("inf"))
    for _ in range(200):
        if learner.learn(np.arange(6)) == 0:
            break
    else:
        pytest.fail("still learning")
    learner.install(parser, learner.rows.freeze(average=False))
    rivals = 0
    for example in treebank:
        gold = list(zip(example.gold.heads, example.gold.labels, strict=True))
        for candidate in parser.k_best(example.sentence, 4):
            arcs = zip(candidate.output.heads, candidate.output.labels, strict=True)
            wrong = sum(found != right for found, right in zip(arcs, gold, strict=True))
            if wrong:
                lead = parser.score(example.sentence, example.gold) - candidate.score
                assert lead >= wrong - 0.01  # weights are rounded
                rivals += 1
    assert rivals > 10


def weights_of(learner: TransitionLearner, *, passes: int = 3) -> bytes:
    for _ in range(passes):
        learner.learn(np.arange(len(learner)))
    return b"".join(values.tobytes() for values in learner.snapshot().tensors().values())


@pytest.mark.parametrize("update", ["max-violation", "dynamic"])
def test_options_change_what_is_learned(update: str) -> None:
    def learned(**options: Any) -> bytes:
        return weights_of(make_learner(random_treebank(2, count=25), beam=8, update=update, **options))

    usual = learned(learner="mira")
    assert usual == learned(learner="mira", clip=TransitionLearner.default_clip, k=5)
    assert learned(learner="mira", clip=0.002) != usual
    assert learned(learner="perceptron") == learned(learner="perceptron", clip=0.002, k=1) != usual
    assert learned() == learned(learner="perceptron" if update == "dynamic" else "mira")
    assert (learned(learner="mira", k=1) == usual) is (update == "dynamic")  # one rival a decision


def test_learning_in_parts_is_learning_at_once() -> None:
    def learned(parts: Sequence[int]) -> bytes:
        learner = make_learner(random_treebank(6, count=30), learner="mira")
        for part in np.split(np.arange(30), parts):
            learner.learn(part)
        return weights_of(learner, passes=0)

    assert learned([]) == learned([1, 7, 8, 29])


def test_more_candidates_than_a_beam_has_take_no_room() -> None:
    treebank = random_treebank(7, count=20)
    narrow, wide = (make_learner(treebank, beam=3, learner="mira", k=k) for k in (3, 10**9))
    assert weights_of(narrow) == weights_of(wide)


def test_small_weights_are_dropped_by_their_share_of_the_largest() -> None:
    learner = make_learner(random_treebank(8, count=20), learner="mira", clip=0.02)
    learner.learn(np.arange(20))
    everything = cells_of(learner.rows.freeze().tensors())
    kept = cells_of(learner.snapshot().tensors())
    assert kept == {cell: weight for cell, weight in everything.items() if abs(weight) >= PRUNE_SHARE * 32767}
    assert 0 < len(kept) < len(everything)


@pytest.mark.parametrize("beam", [1, 8])
def test_generated_english_is_learned(beam: int) -> None:
    examples = generate(60, seed=3)
    parser = TransitionParser(beam=beam)
    reports = list(train(parser, examples, learner="mira", epochs=5))
    assert evaluate_trees(examples, parser.predict_batch([example.sentence for example in examples])).las > 0.97
    assert reports[-1].settings["learner"] == "mira"


def test_settings_name_what_has_an_effect() -> None:
    def settings(**options: Any) -> dict[str, Any]:
        return make_learner(random_treebank(2, count=3), **options).settings()

    assert settings() == {"learner": "mira", "update": "max-violation", "k": 5, "clip": 0.01}
    assert settings(learner="perceptron") == {"learner": "perceptron", "update": "max-violation"}
    assert settings(learner="mira", update="early", k=2, clip=0.5) == {
        "learner": "mira", "update": "early", "k": 2, "clip": 0.5,
    }  # fmt: skip
    assert settings(learner="mira", beam=1) == {"learner": "mira", "update": "dynamic", "clip": 0.01}
    assert settings(learner="mira", clip=float("inf"))["clip"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"learner": "factored-mira"},
            "the learner factored-mira is not for transition parsers, which have perceptron, mira",
        ),
        (
            {"learner": "mra"},
            "unknown learner 'mra'; known: crf, factored-mira, mira, perceptron (did you mean 'mira'?)",
        ),
        ({"learner": "mira", "k": 0}, "k must be at least 1, found 0"),
        ({"learner": "mira", "clip": 0.0}, "clip must be more than 0, found 0.0"),
        ({"learner": "mira", "clip": float("nan")}, "clip must be more than 0, found nan"),
    ],
)
def test_errors_by_text(options: dict[str, Any], message: str) -> None:
    parser = TransitionParser(features=TEMPLATES)
    treebank = random_treebank(0, count=1)
    for refuse in (
        lambda: TransitionLearner(parser, treebank, **options),
        lambda: parser.learner(treebank, **options),
        lambda: parser.check_learning(**options),
    ):
        with pytest.raises(ConfigError) as error:
            refuse()
        assert str(error.value) == message


def test_cost_augmented_search_is_refused() -> None:
    parser = TransitionParser(features=TEMPLATES)
    with pytest.raises(ConfigError, match=r"^cost_augmented is an option of graph parsers, not of transition parsers$"):
        parser.learner(random_treebank(0, count=1), cost_augmented=True)


def test_the_parser_hands_every_option_on() -> None:
    parser = TransitionParser(beam=4, features=TEMPLATES)
    learner = parser.learner(random_treebank(0, count=2), learner="mira", update="early", k=3, clip=0.5, seed=9)
    assert learner.settings() == {"learner": "mira", "update": "early", "k": 3, "clip": 0.5}
    assert isinstance(learner, TransitionLearner)
    assert learner.seed == 9
