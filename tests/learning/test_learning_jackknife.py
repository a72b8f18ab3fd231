"""Jackknifing: every sentence is parsed by a model that has not seen it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_parser import MemoryParser
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.tags import tagged
from treetune.errors import ConfigError
from treetune.evaluate.scores import evaluate
from treetune.learning.jackknife import FoldProgress, jackknife, jackknife_tags, make_folds
from treetune.learning.trainer import train
from treetune.models.sequence.tagger import Tagger
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate


def numbered(count: int, documents: Sequence[int] = ()) -> list[Example]:
    """Return sentences of two words that are all different; those at `documents` begin a new one."""
    return [
        Example(
            replace(
                Sentence.of([f"word{place}", "."]),
                comments=(f"# newdoc id = {place}",) if place in documents else ("# text = no newdoc",),
            ),
            Tree.of([0, 1], ["root", f"label{place}"]),
        )
        for place in range(count)
    ]


@cache
def sample() -> list[Example]:
    return generate(60, seed=4)


def small_parser() -> TransitionParser:
    return TransitionParser(beam=2, min_count=1)


def trees_of(examples: Sequence[Example], **options: Any) -> tuple[Tree, ...]:
    *_, last = jackknife(small_parser, examples, **{"folds": 3, "epochs": 2, **options})
    assert last.trees is not None
    return last.trees


@given(st.integers(2, 60), st.data())
def test_folds_share_no_sentence_and_cover_all(count: int, data: st.DataObject) -> None:
    folds = data.draw(st.integers(2, count))
    documents = data.draw(st.lists(st.integers(0, count - 1)))
    parts = make_folds(numbered(count, documents), folds=folds, seed=data.draw(st.integers(0, 9)))
    assert len(parts) == folds
    assert all(part == sorted(part) for part in parts)
    assert sorted(place for part in parts for place in part) == list(range(count))
    # The last run dealt went to the smallest fold, and no run is longer than this.
    longest = max(1, count // (4 * folds))
    assert max(map(len, parts)) - min(map(len, parts)) <= longest


def test_neighbours_stay_together() -> None:
    parts = make_folds(numbered(400), folds=10, seed=1)
    fold_of = {place: fold for fold, part in enumerate(parts) for place in part}
    borders = sum(fold_of[place] != fold_of[place + 1] for place in range(399))
    assert borders < 40
    assert {len(part) for part in parts} == {40}


def test_documents_stay_together_but_long_ones_are_cut() -> None:
    documents = [0, 3, 7, 10, 15, 20]
    parts = make_folds(numbered(200, documents), folds=5, seed=1)
    fold_of = {place: fold for fold, part in enumerate(parts) for place in part}
    for start, end in itertools.pairwise(documents):
        assert len({fold_of[place] for place in range(start, end)}) == 1
    assert {fold_of[place] for place in range(20, 200)} == set(range(5))


def test_the_seed_deals_the_sentences() -> None:
    examples = numbered(100)
    assert make_folds(examples, folds=5, seed=1) == make_folds(examples, folds=5, seed=1)
    assert make_folds(examples, folds=5, seed=1) != make_folds(examples, folds=5, seed=2)


@pytest.mark.parametrize("folds", [2, 3, 10, 25])
def test_nobody_parses_what_it_has_seen_and_trees_come_in_order(folds: int) -> None:
    examples = numbered(25)
    seen: list[list[Example]] = []
    *_, last = jackknife(lambda: MemoryParser(on_learner=lambda them: seen.append(list(them))), examples, folds=folds)
    assert last.trees == (Tree.of([0, 1], ["new", "new"]),) * 25
    assert len(seen) == folds
    # Everything else was seen: each sentence by all models but one.
    assert sorted(sum(example in part for part in seen) for example in examples) == [folds - 1] * 25


def test_trees_are_those_of_the_fold_models_in_order() -> None:
    examples = sample()
    parts = make_folds(examples, folds=3, seed=5)
    found = trees_of(examples, seed=5)
    for part in parts:
        model = small_parser()
        others = [example for place, example in enumerate(examples) if place not in part]
        for _ in train(model, others, epochs=2, seed=5):
            pass
        expected = model.predict_batch([examples[place].sentence for place in part])
        assert [found[place] for place in part] == expected


def test_jackknifed_trees_are_worse_than_those_of_a_model_that_has_seen_all() -> None:
    examples = sample()
    parser = small_parser()
    for _ in train(parser, examples, epochs=5):
        pass
    seen = evaluate(examples, parser.predict_batch([example.sentence for example in examples])).las
    unseen = evaluate(examples, list(trees_of(examples, epochs=5))).las
    assert 0.5 < unseen < seen - 0.02


def test_the_same_seed_gives_the_same_trees_with_any_number_of_threads() -> None:
    once = trees_of(sample(), seed=1)
    assert trees_of(sample(), seed=1, threads=2) == once
    assert trees_of(sample(), seed=2) != once


def test_reports_say_how_far_it_is() -> None:
    reports = list(jackknife(MemoryParser, numbered(10), folds=4, epochs=3, seed=2))
    sizes = [len(part) for part in make_folds(numbered(10), folds=4, seed=2)]
    ends = [report for report in reports if report.training is None]
    assert [report.fold for report in ends] == [1, 2, 3, 4]
    assert [report.parsed for report in ends] == np.cumsum(sizes).tolist()
    assert [report.trees is None for report in reports] == [True] * (len(reports) - 1) + [False]
    assert reports[-1] == FoldProgress(4, 4, 10, 10, training=None, trees=reports[-1].trees)
    assert all(report.folds == 4 and report.total == 10 for report in reports)
    second = [report.training for report in reports if report.fold == 2 and report.training is not None]
    assert [step.epoch for step in second if step.is_epoch_end] == [1, 2, 3]
    assert {report.parsed for report in reports if report.fold == 2 and report.training is not None} == {sizes[0]}


def test_options_reach_the_trainer_and_threads_the_parser() -> None:
    models: list[MemoryParser] = []

    def make() -> MemoryParser:
        models.append(MemoryParser())
        return models[-1]

    options: dict[str, Any] = {"learner": "mira", "update": "early", "k": 7, "clip": 0.5, "cost_augmented": True}
    reports = list(jackknife(make, numbered(6), folds=2, seed=3, threads=2, epochs=1, **options))
    settings = [report.training.settings for report in reports if report.training is not None]
    assert settings
    assert all(found == {**options, "learning_rate": None, "seed": 3} for found in settings)
    assert [call for model in models for call in model.calls] == [{"sentences": 3, "threads": 2}] * 2


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"folds": 1}, "folds must be at least 2, found 1"),
        ({"folds": 6}, "folds must be at most the number of sentences, 5, found 6"),
        ({}, "folds must be at most the number of sentences, 5, found 10"),
        ({"folds": 2, "seed": -1}, "seed must be at least 0, found -1"),
        ({"folds": 2, "epochs": 0}, "epochs must be at least 1, found 0"),
        ({"folds": 2, "k": 0}, "k must be at least 1, found 0"),
        ({"folds": 2, "learner": "miar"}, "unknown learner 'miar'; known: crf, factored-mira, mira, perceptron "
         "(did you mean 'mira'?)"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_at_once(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        jackknife(MemoryParser, numbered(5), **options)
    assert str(caught.value) == problem


def test_a_treebank_is_tagged_by_taggers_that_have_not_seen_it() -> None:
    examples = generate(60, seed=3)
    reports: list[FoldProgress] = []

    def make_tagger() -> Tagger:
        return Tagger(columns=("upos", "xpos"))

    found = jackknife_tags(make_tagger, examples, folds=3, epochs=2, on_progress=reports.append)
    assert [report.fold for report in reports if report.training is None] == [1, 2, 3]
    assert [replace(example, sentence=example.sentence.without("upos", "xpos")) for example in found] == [
        replace(example, sentence=example.sentence.without("upos", "xpos")) for example in examples
    ]
    part = make_folds(examples, folds=3, seed=0)[1]
    others = [example for place, example in enumerate(examples) if place not in part]
    tagger = make_tagger()
    for _ in train(tagger, tagged(others, tagger.columns), epochs=2):
        pass
    expected = tagger.annotate([examples[place].sentence for place in part])
    assert [found[place].sentence for place in part] == expected
    assert expected != [examples[place].sentence for place in part]
