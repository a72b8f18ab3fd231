"""Iterative parameter mixing of real models: what shards see, the same bytes anywhere, and what cannot be mixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treetune
from treetune import Objective, train
from treetune.corpus.tags import tagged
from treetune.errors import ConfigError
from treetune.learning.epochs import LearnerEpochs
from treetune.learning.mixing import LocalPool, ShardWork, train_shard
from treetune.learning.progress import Progress
from treetune.learning.streams import Shard
from treetune.losses import Root
from treetune.models.sequence.tagger import Tagger
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

TREEBANK = generate(120, seed=8, kinds=("declarative",))
QUESTIONS = generate(30, seed=9, kinds=("yes-no",))
DEV = generate(60, seed=10, kinds=("declarative",))


def contents(model: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in model.state()[1].items()}


def trained(make: Callable[[], Any], data: Any, **options: Any) -> tuple[Any, list[Progress]]:
    model = make()
    return model, list(train(model, data, epochs=3, seed=2, **options))


class Fresh:
    """A pool that makes everything anew for each turn of each shard, and takes them from the last to the first."""

    def __init__(self, work: ShardWork, learner: Any) -> None:
        self._work = work

    def train(self, turn: Any, weights: Any, progress: Any, states: Any) -> Any:
        for index, state in reversed(list(enumerate(states))):
            epochs = self._work.epochs(self._work.learner(), index)
            yield index, train_shard(epochs, turn, weights, progress, state)

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("learner", "mixes"), [("perceptron", 1), ("mira", 1), ("perceptron", 7)])
def test_shards_may_be_trained_anywhere(learner: str, mixes: int) -> None:
    objective = [Objective(QUESTIONS, Root(), start=2, rate=0.5)]
    options: dict[str, Any] = {
        "objectives": objective, "shards": 3, "mixes": mixes, "learner": learner, "dev": DEV
    }  # fmt: skip
    here, reports = trained(lambda: TransitionParser(beam=2), TREEBANK, make_pool=LocalPool, **options)
    there, others = trained(lambda: TransitionParser(beam=2), TREEBANK, make_pool=Fresh, **options)
    assert contents(here) == contents(there)
    ends, other_ends = ([one for one in some if one.is_epoch_end] for some in (reports, others))
    assert [one.objectives for one in ends] == [one.objectives for one in other_ends]
    first = [one.seen for one in reports if one.epoch == 1 and not one.is_epoch_end]
    assert len(first) == 3 * mixes
    assert first[0] == 40 // mixes
    assert first[2::3] == [3 * (40 * turn // mixes) for turn in range(1, mixes + 1)]
    assert ends[0].total == 120
    assert ends[-1].objectives[1].seen == 60
    assert ends[-1].settings["shards"] == 3
    assert ends[-1].settings.get("mixes", 1) == mixes
    alone, _ = trained(lambda: TransitionParser(beam=2), TREEBANK, **{**options, "shards": 1, "mixes": 1})
    others_mixed, _ = trained(lambda: TransitionParser(beam=2), TREEBANK, **{**options, "mixes": mixes + 1})
    assert contents(here) not in (contents(alone), contents(others_mixed))
    scores = [
        treetune.evaluate(DEV, model.predict_batch([example.sentence for example in DEV]))["LAS"]
        for model in (here, alone)
    ]
    assert scores[0] > scores[1] - 0.1


def test_taggers_are_mixed_too() -> None:
    data = tagged(TREEBANK, ("upos",))
    mixed, reports = trained(Tagger, data, shards=2, mixes=2)
    assert [one.seen for one in reports[:5]] == [30, 60, 90, 120, 120]
    outputs = mixed.predict_batch([example.sentence for example in data])
    right = sum(output == example.gold for output, example in zip(outputs, data, strict=True))
    assert right > 0.8 * len(data)


@pytest.mark.parametrize("turns", [1, 5, 12])
def test_each_example_is_in_one_shard(turns: int) -> None:
    seen: list[list[int]] = []

    class Spy:
        def __len__(self) -> int:
            return len(TREEBANK)

        def learn(self, order: Any) -> int:
            seen[-1] += order.tolist()
            return 0

        def words(self, order: Any) -> int:
            return len(order)

    spy: Any = Spy()
    for index in range(4):
        seen.append([])
        epochs = LearnerEpochs(spy, [Objective(TREEBANK[:50])], None, [1], seed=1, shard=Shard(index, 4))
        for turn in range(turns):
            for _ in epochs.train(1, turn=turn, turns=turns):
                pass
    assert [len(one) for one in seen] == [13, 13, 12, 12]
    assert sorted(np.concatenate(seen).tolist()) == list(range(50))
    assert all(one != sorted(one) for one in seen)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shards": 0}, "shards must be at least 1"),
        ({"shards": 200}, "treebank: expected an example or more for each of 200 shards, found 120; use fewer"),
        ({"shards": 2, "mixes": 0}, "mixes must be at least 1"),
        ({"mixes": 2}, "mixes: expected shards whose weights to mix, found shards=1 and mixes=2"),
        ({"shards": 7, "mixes": 18}, "mixes: expected at most 17, the examples of the smallest shard, found 18; mix"),
        ({"shards": 2, "schedule": lambda objective, turn: 1}, "leave the schedule out, or train with shards=1"),
    ],
)
def test_what_cannot_be_mixed_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        train(TransitionParser(beam=2), TREEBANK, **options)


def test_crf_is_not_mixed() -> None:
    data = tagged(TREEBANK, ("upos",))
    with pytest.raises(ConfigError, match="the learner crf is not mixed"):
        train(Tagger(), data, shards=2, learner="crf")
