"""Candidates under weights that move, and the moves between them: against frozen copies and dictionaries."""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph_samples import (
    FEW_LABELS,
    MANY_LABELS,
    TEMPLATES,
    Twin,
    random_heads,
    random_sentence,
    random_treebank,
    random_twin,
    refusal,
)
from graph_scoring_twin import ARC_OUTPUT

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import DataError
from treetune.learning.trainer import train
from treetune.models.base import Candidate
from treetune.models.graph.learner import GraphLearner
from treetune.models.graph.parser import GraphParser

sys.path.append(str(Path(__file__).parents[2] / "weights"))
from flat_weights_twin import TwinFlatWeights
from weights_twin import TwinWeights

SEARCHES = [(1, "projective"), (1, "non-projective"), (2, "projective"), (2, "non-projective")]
WAYS = ["joint", "second-stage"]
TABLES = {"few": FEW_LABELS, "many": MANY_LABELS}


@cache
def sentences(stacked: bool = False) -> list[Sentence]:
    draw = random.Random(3)
    return [random_sentence(draw, n, stacked=stacked) for n in (0, 1, 2, 3, 4, 6, 8)]


@cache
def twin_of(order: int, decoder: str, way: str, labels: str = "few", stacked: bool = False) -> Twin:
    found = sentences(stacked)
    return random_twin(found, seed=order, order=order, decoder=decoder, way=way, labels=TABLES[labels])


def thawed(parser: GraphParser, **options: Any) -> GraphLearner:
    learner = parser.learner([], warm_start=True, **options)
    assert isinstance(learner, GraphLearner)
    return learner


def partial_tree(draw: random.Random, n: int, *, projective: bool) -> Tree:
    """Draw a tree and forget part of it; labels are ones that stand anywhere."""
    if n == 0:
        return Tree.unknown(0)
    heads = random_heads(draw, n, projective=projective)
    known = draw.choice([0.3, 0.7, 1.0])
    return Tree.of(
        [head if draw.random() < known else -1 for head in heads[1:]],
        ["both" if draw.random() < known / 3 else "" for _ in range(n)],
    )


@pytest.mark.parametrize(("labels", "stacked"), [("few", False), ("many", False), ("few", True)])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("order", "decoder"), SEARCHES)
def test_lists_are_those_of_a_frozen_copy(order: int, decoder: str, way: str, labels: str, stacked: bool) -> None:
    """Weights are multiples of 1/8 here, so that sums are exact: trees, scores and numbers are the same."""
    parser = twin_of(order, decoder, way, labels, stacked).parser
    online_decoder = thawed(parser).online_decoder(sentences(stacked))
    assert len(online_decoder) == len(sentences())
    draw = random.Random(order)
    for place, sentence in enumerate(sentences(stacked)):
        for k in (1, 2, 7, 20):
            assert online_decoder.k_best(place, k) == parser.k_best(sentence, k)
        for k in (1, 4) if labels == "few" else ():
            constraint = partial_tree(draw, len(sentence), projective=decoder == "projective")
            found = online_decoder.k_best(place, k, constraint=constraint)
            assert found == parser.k_best(sentence, k, constraint=constraint)


def test_lifted_arcs_are_put_back() -> None:
    words = ["who", "did", "you", "want", "to", "see"]
    gold = Tree.of((6, 4, 4, 0, 6, 4), ("obj", "aux", "nsubj", "root", "mark", "xcomp"))
    parser = GraphParser(min_count=1, min_lifted=1)
    for _ in train(parser, [Example(Sentence.of(words), gold)] * 3, epochs=4):
        pass
    online_decoder = thawed(parser).online_decoder([Sentence.of(words)])
    trees = [candidate.output for candidate in online_decoder.k_best(0, 40)]
    assert trees[0] == gold == parser.predict(Sentence.of(words))
    assert len(set(trees)) == len(trees) == 40


@pytest.mark.parametrize(("order", "decoder"), SEARCHES)
@pytest.mark.parametrize(
    ("constraint", "problem"),
    [
        (Tree.of([0, 0, -1]), "sentence 1: words 1 and 2 are both fixed as the root, expected at most one"),
        (Tree.of([-1] * 2), "sentence 1: expected a partial tree of 3 words, found 2"),
    ],
)
def test_constraints_that_fit_into_no_tree_are_refused(
    order: int, decoder: str, constraint: Tree, problem: str
) -> None:
    online_decoder = thawed(twin_of(order, decoder, "joint").parser).online_decoder(sentences())
    assert refusal(DataError, lambda: online_decoder.k_best(3, 1, constraint=constraint)) == problem


def test_labels_may_leave_no_tree() -> None:
    """Each can be had, but not together: all words have labels that never stand at the root."""
    online_decoder = thawed(twin_of(1, "projective", "joint").parser).online_decoder(sentences())
    constraint = Tree.of([-1] * 3, ["dep"] * 3)
    problem = refusal(DataError, lambda: online_decoder.k_best(3, 1, constraint=constraint))
    assert problem == "sentence 1: no word is left that could be the root; leave the head of one open"


def test_memory_is_refused_before_it_is_taken() -> None:
    parser = twin_of(2, "projective", "joint").parser.with_options(max_memory=2e-3)
    online_decoder = thawed(parser).online_decoder([random_sentence(random.Random(1), 60)])
    assert "max_memory" in refusal(DataError, lambda: online_decoder.k_best(0, 64))


class Moving:
    """A learner and its online_decoder beside dictionaries of weights that are moved by hand."""

    def __init__(self, order: int, decoder: str, way: str, name: str, clip: float, *, stacked: bool = False) -> None:
        treebank = random_treebank(order, count=10, projective=decoder == "projective", stacked=stacked)
        self.sentences = [example.sentence for example in treebank]
        self.parser = GraphParser(features=TEMPLATES, min_count=1, order=order, decoder=decoder, labels=way)
        self.learner = GraphLearner(self.parser, treebank, learner=name, clip=clip)
        self.learner.install(self.parser, self.learner.snapshot())
        self.online_decoder = self.learner.online_decoder(self.sentences)
        self.arcs, self.rows = TwinFlatWeights(), TwinWeights()

    def pairs(self, place: int, candidate: Candidate[Tree]) -> list[tuple[int, int]]:
        """The pairs whose weights make the score: without labels that are given in a second stage."""
        features, outputs = self.parser.features(self.sentences[place], candidate)
        found = zip(features.tolist(), outputs.tolist(), strict=True)
        return [pair for pair in found if self.parser.config.joint or pair[1] == ARC_OUTPUT]

    def counts(self, place: int, better: Candidate[Tree], worse: Candidate[Tree]) -> dict[tuple[int, int], int]:
        counts = Counter(self.pairs(place, better))
        counts.subtract(self.pairs(place, worse))
        return {pair: count for pair, count in sorted(counts.items()) if count}

    def update(self, place: int, better: Candidate[Tree], worse: Candidate[Tree], margin: float | None) -> bool:
        """Move both, and require the same of both."""
        self.learner.step()
        self.arcs.steps += 1
        self.rows.steps += 1
        counts = self.counts(place, better, worse)
        lead = better.score - worse.score
        largest = 1.0 if self.learner.learner == "perceptron" else self.learner.clip
        size = 0.0
        if counts and margin is None:
            size = min(1.0, largest) * (lead <= 0)
        elif counts and margin is not None:
            size = min(largest, max(0.0, margin - lead) / sum(count**2 for count in counts.values()))
        if size:
            step = np.float32(size)
            changes = [(*pair, float(step * np.float32(count))) for pair, count in counts.items()]
            self.arcs.add((feature, delta) for feature, output, delta in changes if output == ARC_OUTPUT)
            self.rows.add([change for change in changes if change[1] != ARC_OUTPUT])
        assert self.online_decoder.update(place, better, worse, margin=margin) == (size > 0)
        self.check()
        return size > 0

    def check(self) -> None:
        store, averages = self.learner.arcs.store, self.learner.arcs.averages
        used = store.keys != 0
        keys = store.keys[used].tolist()
        assert dict(zip(keys, store.values[used], strict=True)) == self.arcs.weights
        assert dict(zip(keys, averages.values[used], strict=True)) == self.arcs.sums
        assert self.learner.rows.rows == len(self.rows.rows)
        for average in (True, False):
            scale, cells = self.rows.freeze(average=average)
            frozen = self.learner.rows.freeze(average=average)
            assert frozen.scale == scale
            features, outputs, weights = frozen.cells()
            found = zip((features >> np.uint64(28)).tolist(), outputs.tolist(), weights.tolist(), strict=True)
            assert {(key, output): round(weight * scale) for key, output, weight in found} == cells

    def score(self, place: int, candidate: Candidate[Tree]) -> float:
        total = 0.0
        for feature, output in self.pairs(place, candidate):
            weights = self.rows.weights
            total += float(
                self.arcs.weight(feature) if output == ARC_OUTPUT else weights.get((feature >> 28, output), 0.0)
            )
        return total


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize(("name", "clip"), [("perceptron", 1.0), ("mira", 0.02), ("mira", float("inf"))])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("order", "decoder"), SEARCHES)
def test_moves_are_those_of_dictionaries(
    order: int, decoder: str, way: str, name: str, clip: float, stacked: bool
) -> None:
    moving, draw = Moving(order, decoder, way, name, clip, stacked=stacked), random.Random(1)
    moved = 0
    for _ in range(25):
        place = draw.randrange(10)
        found = moving.online_decoder.k_best(place, 6)
        better, worse = draw.choice(found), draw.choice(found)
        moved += moving.update(place, better, worse, draw.choice([None, 0.25, 1.0, 1 / 3]))
    assert 3 < moved < 25


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("order", "decoder"), SEARCHES)
def test_scores_are_those_of_the_weights_as_they_are(order: int, decoder: str, way: str) -> None:
    moving, draw = Moving(order, decoder, way, "perceptron", 1.0), random.Random(2)
    for _ in range(20):
        place = draw.randrange(10)
        found = moving.online_decoder.k_best(place, 8)
        scores = [candidate.score for candidate in found]
        # Small integers: sums are exact.
        assert scores == [moving.score(place, candidate) for candidate in found]
        assert scores == sorted(scores, reverse=True)
        moving.update(place, draw.choice(found), found[0], None)


def test_labels_of_a_second_stage_stay_as_they_are() -> None:
    moving = Moving(1, "projective", "second-stage", "mira", 1.0)
    moving.learner.learn(np.arange(10))
    moving.learner.learn(np.arange(10))
    before = [array.copy() for array in (moving.learner.rows.store.weights, moving.learner.rows.store.dense)]
    assert before[0].any()
    for place in range(10):
        found = moving.online_decoder.k_best(place, 4)
        moving.online_decoder.update(place, found[-1], found[0], margin=1.0)
    after = (moving.learner.rows.store.weights, moving.learner.rows.store.dense)
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_trees_that_differ_in_such_labels_alone_teach_nothing() -> None:
    moving = Moving(1, "projective", "second-stage", "perceptron", 1.0)
    place = next(place for place, sentence in enumerate(moving.sentences) if len(sentence) > 2)
    found = moving.online_decoder.k_best(place, 1)[0]
    other = next(label for label in moving.learner.grammar.labels.names if label != found.output.labels[1])
    numbers = list(found.derivation)
    numbers[len(found.output) + 2] = moving.learner.grammar.labels.ids()[other]
    labels = (*found.output.labels[:1], other, *found.output.labels[2:])
    assert not moving.update(
        place, replace(found, output=Tree(found.output.heads, labels), derivation=tuple(numbers)), found, 1.0
    )


@pytest.mark.parametrize("way", WAYS)
def test_the_margin_is_reached_unless_clipped(way: str) -> None:
    for clip in (float("inf"), 1e-4):
        moving = Moving(1, "projective", way, "mira", clip)
        for place in range(10):
            found = moving.online_decoder.k_best(place, 3)
            better, worse = found[-1], found[0]
            # Features get a weight at their second update: the first is only noted.
            for _ in range(2):
                better, worse = (replace(one, score=moving.score(place, one)) for one in (better, worse))
                moving.update(place, better, worse, 0.75)
            lead = moving.score(place, better) - moving.score(place, worse)
            if len(found) < 2:
                continue
            assert lead == pytest.approx(0.75, abs=1e-4) if clip == float("inf") else lead < 0.75


def test_a_table_that_grows_between_is_no_matter() -> None:
    """The store is replaced while the online decoder continues."""
    moving, draw = Moving(1, "projective", "joint", "perceptron", 1.0), random.Random(4)
    for _ in range(20):
        place = draw.randrange(10)
        found = moving.online_decoder.k_best(place, 6)
        moving.update(place, found[-1], found[0], None)
    before = [moving.online_decoder.k_best(place, 6) for place in range(10)]
    store = moving.learner.arcs.store
    features = np.random.default_rng(1).integers(2**63, size=200_000, dtype=np.uint64) * np.uint64(2)
    for _ in range(2):
        moving.learner.arcs.add(features, np.ones(len(features), np.float32))
    assert len(moving.learner.arcs.store.keys) > len(store.keys)
    assert [moving.online_decoder.k_best(place, 6) for place in range(10)] == before
