"""Learners of graph parsers: against their twins, their margins, their options."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from graph_learner_twin import TwinLearner, check_equal
from graph_samples import TEMPLATES, random_treebank
from graph_twins import all_trees

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.models import labels as table
from treetune.models.graph.learner import GraphLearner
from treetune.models.graph.parser import GraphParser
from treetune.weights._flat_kernels import FlatStore
from treetune.weights.flat import empty_filter

INF = float("inf")


def make_learner(parser: GraphParser, treebank: Sequence[Example], **options: Any) -> GraphLearner:
    learner = parser.learner(treebank, **options)
    assert isinstance(learner, GraphLearner)
    return learner


def make_parser(**options: Any) -> GraphParser:
    return GraphParser(**{"features": TEMPLATES, "min_count": 1, **options})


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("labels", ["joint", "second-stage"])
@pytest.mark.parametrize(
    ("order", "decoder", "options"),
    [
        (1, "projective", {"learner": "perceptron"}),
        (1, "projective", {"learner": "perceptron", "cost_augmented": True}),
        (1, "projective", {"learner": "mira", "k": 5}),
        (1, "projective", {"learner": "mira", "k": 5, "cost_augmented": True, "clip": 0.02}),
        (1, "projective", {"learner": "factored-mira"}),
        (1, "projective", {"learner": "factored-mira", "clip": 0.003}),
        (1, "non-projective", {"learner": "mira", "k": 1, "clip": INF}),
        (1, "non-projective", {"learner": "mira", "k": 5, "clip": 0.01}),
        (2, "projective", {"learner": "perceptron"}),
        (2, "projective", {"learner": "mira", "k": 5, "clip": 0.05}),
        (2, "non-projective", {"learner": "mira", "k": 5, "cost_augmented": True}),
        (3, "projective", {"learner": "perceptron"}),
        (3, "projective", {"learner": "mira", "k": 5, "clip": 0.05}),
    ],
)
def test_learning_is_that_of_the_twin(
    order: int, decoder: str, options: dict[str, Any], labels: str, stacked: bool
) -> None:
    treebank = random_treebank(order, count=10, projective=decoder == "projective", stacked=stacked)
    parser = make_parser(order=order, decoder=decoder, labels=labels)
    learner = make_learner(parser, treebank, **options)
    twin = TwinLearner(learner, parser.config, treebank)
    draw = random.Random(order)
    for _ in range(3):
        numbers = draw.sample(range(10), 10)
        assert learner.learn(np.array(numbers)) == twin.learn(numbers) > 0
        check_equal(learner, twin)
    assert len(twin.arcs.weights) > 50
    assert len(twin.rows.rows) > 20


def loss_of(tree: Tree, gold: Tree, *, joint: bool) -> int:
    heads = [found != right for found, right in zip(tree.heads, gold.heads, strict=True)]
    labels = [joint and found != right for found, right in zip(tree.labels, gold.labels, strict=True)]
    return sum(head or label for head, label in zip(heads, labels, strict=True))


def smallest_lead(parser: GraphParser, treebank: Sequence[Example]) -> float:
    """By how much gold leads a rival beyond its loss, at the worst over all trees."""
    worst = INF
    for example in treebank:
        gold_score = parser.score(example.sentence, example.gold)
        for candidate in parser.k_best(example.sentence, 2000):
            loss = loss_of(candidate.output, example.gold, joint=parser.config.joint)
            if loss:
                worst = min(worst, gold_score - candidate.score - loss)
    return worst


@pytest.mark.parametrize("labels", ["joint", "second-stage"])
def test_learning_with_labels_by_tag_is_that_of_the_twin(labels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MIN_TAGGED", 1)
    monkeypatch.setattr(table, "MOST_NEW", 1.0)
    treebank = random_treebank(4, count=8, labels="abcdefgh")
    parser = make_parser(labels=labels)
    learner = make_learner(parser, treebank)
    assert any(len(borne) < 8 for borne in learner.grammar.labels.by_tag.values())
    twin = TwinLearner(learner, parser.config, treebank)
    for _ in range(2):
        assert learner.learn(np.arange(8)) == twin.learn(range(8)) > 0
        check_equal(learner, twin)


@pytest.mark.parametrize("labels", ["joint", "second-stage"])
def test_cost_augmented_search_finds_the_margins_that_are_missed(labels: str) -> None:
    # Different sentences, so that all margins can be reached.
    treebank = list({example.sentence: example for example in random_treebank(5, count=8, longest=3)}.values())
    leads = {}
    for cost_augmented in (False, True):
        parser = make_parser(labels=labels)
        learner = make_learner(parser, treebank, learner="mira", k=1, clip=INF, cost_augmented=cost_augmented)
        for _ in range(150):
            learner.learn(np.arange(len(treebank)))
        learner.arcs.restart_average()
        learner.rows.restart_average()
        learner.install(parser, learner.snapshot())
        leads[cost_augmented] = smallest_lead(parser, treebank)
    assert leads[True] > -0.02
    assert leads[False] < -0.1


def test_more_candidates_reach_the_margins_too() -> None:
    treebank = list({example.sentence: example for example in random_treebank(5, count=8, longest=3)}.values())
    parser = make_parser()
    learner = make_learner(parser, treebank, learner="mira", k=30, clip=INF)
    for _ in range(150):
        learner.learn(np.arange(len(treebank)))
    learner.arcs.restart_average()
    learner.install(parser, learner.snapshot())
    assert smallest_lead(parser, treebank) > -0.02


def test_factored_mira_puts_gold_arcs_before_all_others() -> None:
    draw = random.Random(1)
    treebank = []
    for example in random_treebank(6, count=6):
        # Different words, so that different arcs have different features.
        words = draw.sample([f"word{number}" for number in range(40)], len(example.sentence))
        treebank.append(replace(example, sentence=Sentence.of(words, upos=example.sentence.upos[1:])))
    parser = make_parser()
    learner = make_learner(parser, treebank, learner="factored-mira", clip=INF)
    for _ in range(20):
        learner.learn(np.arange(len(treebank)))
    learner.arcs.restart_average()
    learner.install(parser, learner.snapshot())
    # If every gold arc leads by 1, gold leads every tree by its loss.
    assert smallest_lead(parser, treebank) > -0.05


def bytes_of(parser: GraphParser, treebank: Sequence[Example], *, passes: int = 2, **options: Any) -> bytes:
    learner = make_learner(parser, treebank, **options)
    for _ in range(passes):
        learner.learn(np.arange(len(treebank)))
    learner.install(parser, learner.snapshot())
    config, tensors = parser.state()
    return repr(config["labels"]).encode() + b"".join(tensors[name].tobytes() for name in sorted(tensors))


def learned(*, learning: dict[str, Any] | None = None, **options: Any) -> bytes:
    treebank = random_treebank(2, count=20, longest=6, projective=False)
    return bytes_of(make_parser(**options), treebank, **(learning or {}))


@pytest.mark.parametrize("decoder", ["non-projective"])
def test_the_decoder_changes_what_is_learned(decoder: str) -> None:
    assert learned(decoder=decoder) != learned()


def test_options_change_what_is_learned() -> None:
    usual = learned()
    assert usual == learned(learning={"learner": "mira", "k": 5, "clip": 0.1})
    assert usual == learned(max_memory=1.0)
    others = [
        learned(learning={"learner": "perceptron"}),
        learned(learning={"learner": "factored-mira"}),
        learned(learning={"k": 1}),
        learned(learning={"k": 3}),
        learned(learning={"clip": 0.001}),
        learned(learning={"cost_augmented": True}),
        learned(labels="joint"),
        learned(order=2),
        learned(order=3),
        learned(features="hall2011"),
        learned(min_lifted=1),
        learned(inputs=("xpos",)),
        learned(min_count=30),
    ]
    assert len({usual, *others}) == len(others) + 1
    assert learned(learning={"learner": "perceptron", "k": 1}) == others[0]


def test_learning_in_parts_is_learning_at_once() -> None:
    treebank = random_treebank(6, count=20, longest=6)
    learned = []
    for cuts in ([], [1, 7, 8, 19]):
        parser = make_parser()
        learner = make_learner(parser, treebank)
        for part in np.split(np.arange(20), cuts):
            learner.learn(part)
        learner.install(parser, learner.snapshot())
        learned.append({name: values.tobytes() for name, values in parser.state()[1].items()})
    assert learned[0] == learned[1]


def test_tables_that_grow_while_learning_change_nothing() -> None:
    treebank = random_treebank(8, count=40, longest=10)
    learned, sizes = [], []
    for size in (1 << 10, 1 << 18):
        parser = GraphParser(features="default", min_count=1)
        learner = make_learner(parser, treebank, learner="perceptron")
        values = np.zeros(size, np.float32)
        keys = np.zeros(size, np.uint64)
        learner.arcs.store = FlatStore(keys, values, learner.arcs.store.mask, empty_filter(size))
        learner.arcs.averages = learner.arcs.averages._replace(values=np.zeros_like(values))
        for _ in range(4):
            learner.learn(np.arange(40))
        sizes.append(len(learner.arcs.store.keys))
        learner.install(parser, learner.snapshot())
        learned.append({name: tensor.tobytes() for name, tensor in parser.state()[1].items()})
    assert learned[0] == learned[1]
    assert sizes[0] > 1 << 12
    assert sizes[1] == 1 << 18


def test_empty_sentences_count_as_steps_and_teach_nothing() -> None:
    treebank = random_treebank(9, count=5)
    with_empty = [Example(Sentence.of([]), Tree.of([])), *treebank]
    learner = make_learner(make_parser(), with_empty)
    assert len(learner) == 6
    assert learner.words(np.arange(6)) == sum(len(example.sentence) for example in treebank)
    assert learner.learn(np.array([0])) == 0
    assert learner.arcs.averages.counters[1] == 2
    # A single word has one tree and one label.
    assert learner.learn(np.arange(6)) == sum(len(example.sentence) > 1 for example in treebank) > 0


def test_one_label_alone_needs_no_second_best() -> None:
    treebank = [Example(Sentence.of(["a"]), Tree.of([0], ["root"]))] * 2
    parser = make_parser()
    learner = make_learner(parser, treebank)
    assert learner.learn(np.arange(2)) == 0
    learner.install(parser, learner.snapshot())
    assert parser.predict(Sentence.of(["b", "c"])).labels == ("", "root", "root")


@pytest.mark.parametrize("learner", ["perceptron", "mira", "factored-mira"])
def test_settings_name_what_has_an_effect(learner: str) -> None:
    treebank = random_treebank(0, count=2)
    found = make_learner(make_parser(), treebank, learner=learner, k=3, clip=0.5).settings()
    expected: dict[str, Any] = {"learner": learner, "cost_augmented": False}
    if learner != "perceptron":
        expected["clip"] = 0.5
    if learner == "mira":
        expected["k"] = 3
    assert found == expected
    assert make_learner(make_parser(), treebank).settings() == {
        "learner": "mira", "k": 5, "clip": 0.1, "cost_augmented": False,
    }  # fmt: skip
    assert make_learner(make_parser(), treebank, clip=INF).settings()["clip"] is None


def test_labels_stand_only_where_they_were_seen() -> None:
    treebank = random_treebank(4, count=20)
    parser = make_parser()
    learner = make_learner(parser, treebank)
    learner.learn(np.arange(20))
    learner.install(parser, learner.snapshot())
    for example in treebank:
        for heads in all_trees(len(example.sentence), projective=True):
            tree = parser.predict(example.sentence, constraint=Tree.of(heads[1:]))
            assert tree.heads == heads
            assert all((label == "root") == (head == 0) for head, _, label in tree.arcs())
