"""Candidates under weights that move, and the moves between them: against frozen copies and dictionaries."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from transition_learner_twin import random_treebank
from transition_samples import (
    FEW_LABELS,
    MANY_LABELS,
    TEMPLATES,
    all_trees,
    random_parser,
    random_sentence,
    templates_of,
)
from weights_twin import TwinWeights, cells_of

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import DataError
from treetune.learning.trainer import train
from treetune.models.base import Candidate
from treetune.models.labels import LabelTable
from treetune.models.transition import search
from treetune.models.transition.learner import TransitionLearner
from treetune.models.transition.online_decoder import TransitionOnlineDecoder
from treetune.models.transition.parser import TransitionParser
from treetune.weights.store import FrozenWeights

TABLES = {"few": FEW_LABELS, "many": MANY_LABELS}


@cache
def sentences(stacked: bool = False) -> list[Sentence]:
    draw = random.Random(5)
    found = [random_sentence(draw, length) for length in (0, 1, 2, 3, 4, 6, 9)]
    if stacked:
        return [replace(one, base_tree=Tree.of(range(len(one)), ["g"] * len(one))) for one in found]
    return found


@cache
def parser_of(labels: str, *, stacked: bool = False) -> TransitionParser:
    return random_parser(sentences(stacked), labels=TABLES[labels], seed=3)


def thawed(parser: TransitionParser, treebank: Sequence[Example] = (), **options: Any) -> TransitionLearner:
    learner = parser.learner(treebank, warm_start=True, **options)
    assert isinstance(learner, TransitionLearner)
    return learner


def names_at(head: int, labels: LabelTable) -> list[str]:
    return [name for name, may in zip(labels.names, labels.at_word if head else labels.at_root, strict=True) if may]


def partial_tree(draw: random.Random, n: int, labels: LabelTable) -> Tree:
    """Draw a projective tree and forget part of it."""
    heads = draw.choice(list(all_trees(n))) if 0 < n <= 4 else tuple(range(n))
    names = [draw.choice(names_at(head, labels)) for head in heads]
    known = draw.choice([0.3, 0.7, 1.0])
    return Tree.of(
        [head if draw.random() < known else -1 for head in heads],
        [name if draw.random() < known / 2 else "" for name in names],
    )


@pytest.mark.parametrize("memo_from", [1, 1000])
@pytest.mark.parametrize("beam", [1, 3, 8])
@pytest.mark.parametrize(("labels", "stacked"), [("few", False), ("many", False), ("few", True)])
def test_lists_are_those_of_a_frozen_copy(
    labels: str, stacked: bool, beam: int, memo_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights are multiples of 1/4 here, so that sums are exact: trees, scores and transitions are the same."""
    monkeypatch.setattr(search, "MEMO_FROM_BEAM", memo_from)
    parser = parser_of(labels, stacked=stacked).with_options(beam=beam)
    online_decoder = thawed(parser).online_decoder(sentences(stacked))
    assert len(online_decoder) == len(sentences())
    draw = random.Random(beam)
    for place, sentence in enumerate(sentences(stacked)):
        for k in (1, 2, 5, 13):
            assert online_decoder.k_best(place, k) == parser.k_best(sentence, k)
        for k in (1, 4):
            constraint = partial_tree(draw, len(sentence), TABLES[labels])
            found = online_decoder.k_best(place, k, constraint=constraint)
            assert found == parser.k_best(sentence, k, constraint=constraint)


def test_a_list_is_shorter_only_when_there_are_no_more_trees() -> None:
    online_decoder = thawed(parser_of("few")).online_decoder(sentences())
    assert online_decoder.k_best(0, 9) == [Candidate(Tree.unknown(0), 0.0)]
    # Two labels for the one root; for two words 2 trees with 2 labels at the root and 2 at the word.
    assert len(online_decoder.k_best(1, 50)) == 2
    assert len(online_decoder.k_best(2, 50)) == 8


def test_lifted_arcs_are_put_back() -> None:
    words = ["who", "did", "you", "want", "to", "see"]
    gold = Tree.of((6, 4, 4, 0, 6, 4), ("obj", "aux", "nsubj", "root", "mark", "xcomp"))
    parser = TransitionParser(beam=4, min_count=1, min_lifted=1)
    for _ in train(parser, [Example(Sentence.of(words), gold)] * 3, epochs=4):
        pass
    online_decoder = thawed(parser).online_decoder([Sentence.of(words)])
    assert online_decoder.k_best(0, 3)[0].output == gold == parser.predict(Sentence.of(words))
    trees = [candidate.output for candidate in online_decoder.k_best(0, 40)]
    assert len(set(trees)) == len(trees) == 40


@pytest.mark.parametrize(
    ("constraint", "problem"),
    [
        (Tree.of([0, 0, -1]), "sentence 1: words 1 and 2 are both fixed as the root, expected at most one"),
        (Tree.of([-1, -1]), "sentence 1: expected a partial tree of 3 words, found 2"),
    ],
)
def test_constraints_that_fit_into_no_tree_are_refused(constraint: Tree, problem: str) -> None:
    online_decoder = thawed(parser_of("few")).online_decoder(sentences())
    with pytest.raises(DataError) as caught:
        online_decoder.k_best(3, 1, constraint=constraint)
    assert str(caught.value) == problem


class Moving:
    """A learner and its online_decoder beside a dictionary of weights that is moved by hand."""

    def __init__(self, name: str, *, clip: float = 1.0, seed: int = 0, beam: int = 4) -> None:
        treebank = random_treebank(seed, count=12)
        self.sentences = [example.sentence for example in treebank]
        self.parser = TransitionParser(beam=beam, features=TEMPLATES, min_count=1)
        self.learner = TransitionLearner(self.parser, treebank, learner=name, clip=clip)
        self.learner.install(self.parser, self.learner.snapshot())
        self.online_decoder: TransitionOnlineDecoder = self.learner.online_decoder(self.sentences)
        self.twin = TwinWeights()

    def update(self, place: int, better: Candidate[Tree], worse: Candidate[Tree], margin: float | None) -> bool:
        """Move both, and require the same of both."""
        self.learner.step()
        self.twin.steps += 1
        counts: Counter[tuple[int, int]] = Counter()
        for sign, candidate in ((1, better), (-1, worse)):
            for feature, action in zip(*self.parser.features(self.sentences[place], candidate), strict=True):
                counts[int(feature), int(action)] += sign
        kept = {pair: count for pair, count in sorted(counts.items()) if count}
        norm = sum(count * count for count in kept.values())
        lead = better.score - worse.score
        largest = 1.0 if self.learner.learner == "perceptron" else self.learner.clip
        if not kept:
            size = 0.0
        elif margin is None:
            size = min(1.0, largest) * (lead <= 0)
        else:
            size = min(largest, max(0.0, margin - lead) / norm)
        if size:
            step = np.float32(size)
            self.twin.add([(*pair, float(step * np.float32(count))) for pair, count in kept.items()])
        changed = self.online_decoder.update(place, better, worse, margin=margin)
        assert changed == (size > 0)
        self.check()
        return changed

    def check(self) -> None:
        assert self.learner.rows.rows == len(self.twin.rows)
        for average in (True, False):
            frozen = self.learner.rows.freeze(average=average)
            scale, cells = self.twin.freeze(average=average)
            assert frozen.scale == scale
            assert cells_of(frozen.tensors()) == cells

    def score(self, place: int, candidate: Candidate[Tree]) -> float:
        features, actions = self.parser.features(self.sentences[place], candidate)
        pairs = zip((features >> np.uint64(28)).tolist(), actions.tolist(), strict=True)
        return float(sum(self.twin.weights.get(pair, np.float32(0)) for pair in pairs))

    def all_rows(self) -> None:
        """Let every feature have a row from its first update on, so that a move has its whole effect."""
        self.learner.rows.averages.seen_once.fill(np.uint64(2**64 - 1))
        self.twin.seen_once = Everything()


class Everything(set[int]):
    """The set that has everything in it."""

    def __contains__(self, element: object) -> bool:
        return True


@pytest.mark.parametrize(("name", "clip"), [("perceptron", 1.0), ("mira", 0.01), ("mira", 0.5), ("mira", float("inf"))])
def test_moves_are_those_of_a_dictionary(name: str, clip: float) -> None:
    moving, draw = Moving(name, clip=clip), random.Random(1)
    moved = 0
    for _ in range(60):
        place = draw.randrange(12)
        found = moving.online_decoder.k_best(place, 6)
        better, worse = draw.choice(found), draw.choice(found)
        moved += moving.update(place, better, worse, draw.choice([None, 0.25, 1.0, 1 / 3]))
    assert 15 < moved < 60


def test_scores_are_those_of_the_weights_as_they_are() -> None:
    moving, draw = Moving("perceptron", beam=8), random.Random(2)
    for _ in range(30):
        place = draw.randrange(12)
        found = moving.online_decoder.k_best(place, 8)
        # Small integers: sums are exact.
        assert [candidate.score for candidate in found] == [moving.score(place, candidate) for candidate in found]
        assert [candidate.score for candidate in found] == sorted((c.score for c in found), reverse=True)
        moving.update(place, draw.choice(found), found[0], None)


def test_lists_after_moves_are_those_of_a_frozen_copy() -> None:
    moving, draw = Moving("perceptron"), random.Random(3)
    for _ in range(40):
        place = draw.randrange(12)
        found = moving.online_decoder.k_best(place, 6)
        moving.update(place, draw.choice(found), found[0], None)
    keys = sorted(moving.twin.rows)
    cells = sorted((key, action, int(weight)) for (key, action), weight in moving.twin.weights.items() if weight)
    counts = Counter(key for key, _, _ in cells)
    frozen = FrozenWeights.from_tensors(
        moving.learner.rows.outputs,
        1.0,
        {
            "keys": np.array([key for key in keys if counts[key]], np.uint64),
            "counts": np.array([counts[key] for key in keys if counts[key]], np.uint16),
            "outputs": np.array([action for _, action, _ in cells], np.uint16),
            "weights": np.array([weight for _, _, weight in cells], np.int16),
        },
    )
    copy = TransitionParser(moving.parser.config)
    copy.set_trained(moving.learner.grammar, frozen)
    for place, sentence in enumerate(moving.sentences):
        for k in (1, 3, 9):
            assert moving.online_decoder.k_best(place, k) == copy.k_best(sentence, k)


def test_the_margin_is_reached_unless_clipped() -> None:
    for name, clip in (("mira", float("inf")), ("perceptron", 1.0), ("mira", 1e-4)):
        moving = Moving(name, clip=clip)
        moving.all_rows()
        for place in range(12):
            found = moving.online_decoder.k_best(place, 4)
            if len(found) < 4:
                continue
            better, worse = found[3], found[0]
            assert moving.update(place, better, worse, 0.75)
            lead = moving.score(place, better) - moving.score(place, worse)
            assert lead == pytest.approx(0.75, abs=1e-4) if clip >= 1 else lead < 0.75


def test_a_perceptron_update_raises_the_lead_by_the_squared_length() -> None:
    moving = Moving("perceptron")
    moving.all_rows()
    for place in range(12):
        found = moving.online_decoder.k_best(place, 3)
        if len(found) == 3:
            better, worse = found[2], found[0]
            moving.update(place, better, worse, None)
            lead = moving.score(place, better) - moving.score(place, worse)
            counts: Counter[tuple[int, int]] = Counter()
            for sign, candidate in ((1, better), (-1, worse)):
                for pair in zip(*moving.parser.features(moving.sentences[place], candidate), strict=True):
                    counts[int(pair[0]), int(pair[1])] += sign
            assert lead - (better.score - worse.score) == sum(count**2 for count in counts.values())


def test_an_output_does_not_move_towards_itself() -> None:
    for name in ("perceptron", "mira"):
        moving = Moving(name)
        found = moving.online_decoder.k_best(3, 2)
        assert not moving.update(3, found[0], found[0], 1.0)
        assert not moving.update(3, found[0], found[0], None)


def test_a_table_that_grows_between_is_no_matter() -> None:
    """The store is replaced while the online decoder continues."""
    moving, draw = Moving("perceptron"), random.Random(4)
    for _ in range(20):
        place = draw.randrange(12)
        found = moving.online_decoder.k_best(place, 6)
        moving.update(place, found[-1], found[0], None)
    before = [moving.online_decoder.k_best(place, 6) for place in range(12)]
    store = moving.learner.rows.store
    rng = np.random.default_rng(1)
    features = rng.integers(2**63, size=200_000, dtype=np.uint64) * np.uint64(2)
    for _ in range(2):
        moving.learner.rows.add(features, np.zeros(len(features), np.uint16), np.ones(len(features), np.float32))
    assert len(moving.learner.rows.store.table) > len(store.table)
    assert [moving.online_decoder.k_best(place, 6) for place in range(12)] == before


def test_the_templates_of_the_samples_see_everything() -> None:
    """Otherwise these tests would say little of features."""
    assert len(templates_of(parser_of("few").grammar)) > 20
