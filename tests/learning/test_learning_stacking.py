"""Stacking: jackknife, base and main parser in one go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memory_parser import EchoParser, MemoryParser
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError
from treetune.learning.jackknife import TrainOptions, jackknife
from treetune.learning.stacking import StackProgress, train_stacked
from treetune.models.stacked import StackedParser
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate


def numbered(count: int, first: int = 0) -> list[Example]:
    return [
        Example(Sentence.of([f"word{place}", "."]), Tree.of([2, 0], [f"label{place}", "root"]))
        for place in range(first, first + count)
    ]


CHAIN = Tree.of([0, 1], ["new", "new"])


def test_the_main_parser_learns_from_jackknifed_base_trees_and_is_used_with_the_whole_one() -> None:
    treebank = numbered(12)
    learned_from: list[Sequence[Example]] = []
    *_, last = train_stacked(MemoryParser, lambda: EchoParser(on_learner=learned_from.append), treebank, folds=4)
    model = last.model
    assert isinstance(model, StackedParser)
    # No base in training was from a model that knew the sentence ...
    assert [example.sentence.base_tree for example in learned_from[0]] == [CHAIN] * 12
    assert [example.gold for example in learned_from[0]] == [example.gold for example in treebank]
    # ... but the base that is kept knows them all.
    assert model.predict_batch([example.sentence for example in treebank]) == [example.gold for example in treebank]
    assert model.predict(Sentence.of(["new", "."])) == CHAIN


def test_stages_come_in_order_and_the_last_report_has_the_model() -> None:
    reports = list(
        train_stacked(
            MemoryParser,
            EchoParser,
            numbered(8),
            folds=2,
            base_options={"epochs": 2, "k": 3},
            main_options={"epochs": 3, "learner": "mira"},
            seed=6,
        )
    )
    assert [report.model is None for report in reports] == [True] * (len(reports) - 1) + [False]
    assert reports[-1] == StackProgress("main", None, model=reports[-1].model)
    ends = [
        (report.stage, report.fold and report.fold.fold, report.training.epoch)
        for report in reports
        if report.training is not None and report.training.is_epoch_end
    ]
    assert ends == [
        *[("jackknife", fold, epoch) for fold in (1, 2) for epoch in (1, 2)],
        *[("base", None, epoch) for epoch in (1, 2)],
        *[("main", None, epoch) for epoch in (1, 2, 3)],
    ]
    settings = {report.stage: report.training.settings for report in reports if report.training is not None}
    assert settings["jackknife"] == settings["base"]
    assert (settings["base"]["k"], settings["base"]["learner"], settings["base"]["seed"]) == (3, None, 6)
    assert (settings["main"]["k"], settings["main"]["learner"], settings["main"]["seed"]) == (5, "mira", 6)
    (parsed,) = [report.fold for report in reports if report.fold is not None and report.fold.outputs is not None]
    assert parsed.outputs == (CHAIN,) * 8


def test_dev_is_parsed_by_the_whole_base_tree_once_and_chooses_the_epoch() -> None:
    base_trees: list[MemoryParser] = []

    def make_base() -> MemoryParser:
        base_trees.append(MemoryParser())
        return base_trees[-1]

    treebank = numbered(6)
    # Of the development sentences the base knows the first two.
    dev = [*treebank[:2], *numbered(2, first=50)]
    reports = list(train_stacked(make_base, EchoParser, treebank, dev=dev, folds=3, main_options={"epochs": 4}))
    ends = [report.training for report in reports if report.stage == "main" and report.training is not None]
    scores = [end.dev["LAS"] for end in ends if end.dev is not None]
    assert scores == [0.5] * 4
    assert [end.best for end in ends if end.is_epoch_end] == [True, False, False, False]
    assert [call["sentences"] for base in base_trees for call in base.calls] == [4, 2, 2, 2]
    assert all(report.training.dev is None for report in reports if report.stage != "main" and report.training)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"folds": 1}, "folds must be at least 2, found 1"),
        ({"folds": 9}, "folds must be at most the number of sentences, 8, found 9"),
        ({"base_options": {"epochs": 0}}, "epochs must be at least 1, found 0"),
        ({"main_options": {"epochs": 0}}, "epochs must be at least 1, found 0"),
        ({"base_options": {"k": 0}}, "k must be at least 1, found 0"),
        ({"main_options": {"clip": -1.0}}, "clip must be more than 0, found -1.0"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_trained(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        train_stacked(MemoryParser, EchoParser, numbered(8), **{"folds": 2, **options})
    assert str(caught.value) == problem


def test_the_same_seed_gives_the_same_model_with_any_number_of_threads() -> None:
    treebank = generate(30, seed=8)
    options: TrainOptions = {"epochs": 1}

    def run(seed: int, threads: int) -> dict[str, bytes]:
        def make() -> TransitionParser:
            return TransitionParser(beam=2)

        *_, last = train_stacked(
            make, make, treebank, dev=treebank[:5], folds=2,
            base_options=options, main_options=options, seed=seed, threads=threads,
        )  # fmt: skip
        assert last.model is not None
        return {name: values.tobytes() for name, values in last.model.state()[1].items()}

    once = run(1, 1)
    assert run(1, 2) == once
    assert run(2, 1) != once


def test_base_trees_are_those_of_the_jackknife() -> None:
    treebank = generate(30, seed=9)

    def make() -> TransitionParser:
        return TransitionParser(beam=2)

    *_, last = jackknife(make, treebank, folds=3, seed=2, epochs=1)
    learned_from: list[Sequence[Example]] = []

    def make_main() -> EchoParser:
        return EchoParser(on_learner=learned_from.append)

    *_, _ = train_stacked(make, make_main, treebank, folds=3, base_options={"epochs": 1}, seed=2)
    assert tuple(example.sentence.base_tree for example in learned_from[0]) == last.outputs
