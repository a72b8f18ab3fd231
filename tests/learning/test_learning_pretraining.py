"""The pretraining cache: the epochs that trainings share before their objectives start."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from checkpoint_runs import DEV, QUESTIONS, RUNS, TREEBANK
from test_learning_checkpoints import OTHER, contents, refusal

from treetune import Objective
from treetune.learning.progress import Progress
from treetune.learning.trainer import train
from treetune.losses import Root
from treetune.models.transition.parser import TransitionParser


@pytest.mark.parametrize("name", ["perceptron", "greedy", "graph"])
def test_a_pretraining_cache_changes_nothing(name: str, tmp_path: Path) -> None:
    def learned(rate: float | None, cache: Path | None) -> tuple[tuple[str, dict[str, bytes]], list[Progress]]:
        model = RUNS[name][0]()
        others = [] if rate is None else [Objective(QUESTIONS, Root(), rate=rate, k=2)]
        reports = list(train(model, TREEBANK, objectives=others, epochs=4, seed=3, pretraining_cache=cache))
        return contents(model), reports

    # The second finds what the first has left; an objective, or none, makes no difference.
    for rate in (0.5, 2.0, None):
        expected, all_reports = learned(rate, None)
        cached, reports = learned(rate, tmp_path / "w")
        assert cached == expected
        is_first = rate == 0.5
        assert reports[0].resumed is not is_first
        assert [report.epoch for report in reports if report.is_epoch_end] == ([1, 2, 3, 4] if is_first else [2, 3, 4])
        assert reports[-1].objectives == all_reports[-1].objectives


def test_a_cache_of_another_training_is_refused(tmp_path: Path) -> None:
    def run(**options: Any) -> None:
        usual: dict[str, Any] = {"treebank": TREEBANK, "epochs": 3, "pretraining_cache": tmp_path / "w"}
        list(train(TransitionParser(beam=3), **{**usual, **options}))

    run()
    for change in ({"seed": 2}, {"treebank": TREEBANK[1:]}, {"learner": "perceptron"}):
        assert refusal(partial(run, **change)) == OTHER.format(path=tmp_path / "w")
    later = Objective(QUESTIONS, Root(), start=2)
    assert refusal(lambda: run(objectives=[later])) == OTHER.format(path=tmp_path / "w")
    early = Objective(QUESTIONS, Root(), start=1)
    needs = "a pretraining cache needs an epoch before objectives start, and one after it"
    assert refusal(lambda: run(objectives=[early])) == needs
    assert refusal(lambda: run(epochs=2)) == needs
    no_dev = "a pretraining cache has no scores on dev data; train without dev, or without the cache"
    assert refusal(lambda: run(dev=DEV)) == no_dev
    assert refusal(lambda: run(objectives=[Objective(QUESTIONS, Root(), dev=QUESTIONS)])) == no_dev
