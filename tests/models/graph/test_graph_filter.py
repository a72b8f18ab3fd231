"""Graph parsers with arc filters: exact over the arcs that are left, trees for every input, files, constraints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import treetune
from treetune import ArcFilter, GraphParser, Sentence, Tree
from treetune.corpus.wellformed import is_tree
from treetune.errors import ConfigError, ModelError
from treetune.filters.training import replaced
from treetune.sample import generate

TREES = generate(100, seed=11)
OTHERS = [example.sentence for example in generate(30, seed=12)]
CROSSING = {"decoder": "non-projective"}
ALL_KINDS = [{}, {"order": 2}, {"order": 3}, {"labels": "joint"}, CROSSING]


@pytest.fixture(scope="module")
def arc_filter() -> ArcFilter:
    return ArcFilter(remove_cost=0.01).fit(TREES)


@pytest.fixture(scope="module")
def strict(arc_filter: ArcFilter) -> ArcFilter:
    """A filter that keeps nothing."""
    made = ArcFilter(arc_filter.config)
    made._weights = replaced(arc_filter.weights, biases=np.array([-1e6, 1e6], np.float32))
    return made


@pytest.fixture(scope="module", params=ALL_KINDS, ids=str)
def parser(request: pytest.FixtureRequest) -> GraphParser:
    return GraphParser(**request.param).fit(TREES, epochs=2)


def arcs_are_kept(tree: Tree, kept: np.ndarray) -> bool:
    return all(kept[head, dependent] for dependent, head in enumerate(tree.heads) if dependent)


def test_the_best_tree_is_the_best_of_those_with_kept_arcs(parser: GraphParser, arc_filter: ArcFilter) -> None:
    filtered = parser.with_filter(arc_filter)
    compared = 0
    for sentence, kept in zip(OTHERS, arc_filter.keep(OTHERS), strict=True):
        best = filtered.k_best(sentence, 1)[0]
        assert filtered.predict(sentence) == best.output
        within = [one for one in parser.k_best(sentence, 50) if arcs_are_kept(one.output, kept)]
        if within:
            compared += 1
            assert best.score == pytest.approx(within[0].score)
    assert compared > 5


def test_lists_hold_trees_of_kept_arcs_best_first(parser: GraphParser, arc_filter: ArcFilter) -> None:
    filtered = parser.with_filter(arc_filter)
    lists, without = filtered.k_best_batch(OTHERS, 5), parser.k_best_batch(OTHERS, 5)
    within = 0
    for found, other, kept in zip(lists, without, arc_filter.keep(OTHERS), strict=True):
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        assert len({one.output for one in found}) == len(found)
        is_within = arcs_are_kept(found[0].output, kept)
        within += is_within
        # Where no tree is left the list is that without a filter.
        assert all(arcs_are_kept(one.output, kept) for one in found) if is_within else found == other
    assert within > 20


def test_all_arcs_come_back_where_no_tree_is_left(parser: GraphParser, strict: ArcFilter) -> None:
    assert not strict.keep(OTHERS[:1])[0].any()
    assert parser.with_filter(strict).predict_batch(OTHERS) == parser.predict_batch(OTHERS)


def test_every_output_is_a_tree(parser: GraphParser, arc_filter: ArcFilter) -> None:
    strange = [Sentence.of(["x"]), Sentence.of(["?"] * 3), Sentence.of([str(n) for n in range(40)])]
    for tree in parser.with_filter(arc_filter).predict_batch([*strange, *OTHERS]):
        assert is_tree(tree.heads)


def test_fixed_arcs_are_there_though_the_filter_removes_them(parser: GraphParser, arc_filter: ArcFilter) -> None:
    filtered, changed = parser.with_filter(arc_filter), 0
    for sentence, kept in zip(OTHERS, arc_filter.keep(OTHERS), strict=True):
        for dependent, head in ((1, 2), (len(sentence), 0)):
            heads = [-1] * (len(sentence) + 1)
            heads[dependent] = head
            tree = filtered.predict(sentence, constraint=replace(Tree.unknown(len(sentence)), heads=tuple(heads)))
            assert tree.heads[dependent] == head
            changed += not kept[head, dependent]
    assert changed > 5


def test_threads_change_nothing(parser: GraphParser, arc_filter: ArcFilter) -> None:
    filtered = parser.with_filter(arc_filter)
    assert filtered.predict_batch(OTHERS, threads=2) == filtered.predict_batch(OTHERS)


@pytest.mark.parametrize("shared", [True, False])
def test_a_filter_is_stored_with_its_parser(arc_filter: ArcFilter, tmp_path: Path, shared: bool) -> None:
    given: str | ArcFilter = "joint" if shared else arc_filter
    parser = GraphParser(filter=given).fit(TREES, epochs=1)
    assert parser.grammar.shares_encoder == shared
    treetune.save(parser, tmp_path / "p.treetune")
    again = treetune.load(tmp_path / "p.treetune")
    assert again.config.filter == "joint"
    assert again.predict_batch(OTHERS) == parser.predict_batch(OTHERS)
    assert again.filter is not None
    assert parser.filter is not None
    assert again.filter.evaluate(TREES).reduction == parser.filter.evaluate(TREES).reduction
    assert again.with_filter(None).filter is None


def test_gold_arcs_are_learned_though_the_filter_removes_them(strict: ArcFilter) -> None:
    for learner in ("mira", "perceptron", "factored-mira"):
        parser = GraphParser(filter=strict).fit(TREES, epochs=2, learner=learner)
        # The gold tree is the only one that is left, so there is nothing to learn but labels.
        assert len(parser.weights.arcs) == 0
        assert len(parser.weights.labels.cells()[0]) > 0


def test_a_filter_changes_what_is_learned() -> None:
    with_filter = GraphParser(filter="joint").fit(TREES, epochs=1)
    without = GraphParser().fit(TREES, epochs=1)
    assert len(with_filter.weights.arcs) != len(without.weights.arcs)


def test_wrong_filters_are_named() -> None:
    with pytest.raises(ConfigError, match="unknown arc filter 'jont'; known: independent, joint"):
        GraphParser(filter="jont")
    with pytest.raises(ModelError, match="expected a trained arc filter, found one without weights; fit it first"):
        GraphParser(filter=ArcFilter())
    with pytest.raises(ModelError, match="expected a trained arc filter, found one without weights; fit it first"):
        GraphParser().fit(TREES[:5], epochs=1).with_filter(ArcFilter())
