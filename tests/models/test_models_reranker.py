"""A parser with a second parser against plain sums of two scores; its faults, its file and its command."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import treetune
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, DataError, ModelError, TreetuneError
from treetune.evaluation import evaluate_trees
from treetune.learning.reranking import WEIGHTS, tune_weight
from treetune.models.base import Parser
from treetune.models.feature_model import TreeParser
from treetune.models.graph.parser import GraphParser
from treetune.models.reranker import RERANK_K, Reranker
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

TREEBANK = generate(60, seed=4)
DEV = generate(30, seed=5)
SENTENCES = [example.sentence for example in DEV]


def trained(parser: Parser, **options: Any) -> Parser:
    for _ in treetune.train(parser, TREEBANK, epochs=2, **options):
        pass
    return parser


@cache
def base() -> Parser:
    return trained(TransitionParser(beam=4))


@cache
def second(kind: str = "backward") -> Parser:
    return trained(TransitionParser(beam=4, backward=True) if kind == "backward" else GraphParser())


@pytest.mark.parametrize("kind", ["backward", "graph"])
@pytest.mark.parametrize("weight", [0.3, 2.0])
def test_lists_are_those_of_the_base_parser_in_the_order_of_both_scores(kind: str, weight: float) -> None:
    parser = Reranker(base(), second(kind), weight=weight, k=6)
    changed = 0
    for sentence, found in zip(SENTENCES, parser.k_best_batch(SENTENCES, 6), strict=True):
        plain = base().k_best(sentence, 6)
        sums = {one.output: one.score + weight * second(kind).score(sentence, one.output) for one in plain}
        assert {candidate.output: candidate.score for candidate in found} == sums
        assert [candidate.score for candidate in found] == sorted(sums.values(), reverse=True)
        assert [parser.score(sentence, candidate) for candidate in found] == [one.score for one in found]
        assert parser.predict(sentence) == found[0].output
        assert parser.k_best(sentence, 2) == found[:2]
        changed += found[0].output != plain[0].output
    assert changed > 0


def test_threads_and_batches_change_nothing_and_longer_lists_can_be_asked_for() -> None:
    parser = Reranker(base(), second(), k=4)
    trees = parser.predict_batch(SENTENCES)
    assert trees == parser.predict_batch(SENTENCES, threads=2) == [parser.predict(sentence) for sentence in SENTENCES]
    assert max(map(len, parser.k_best_batch(SENTENCES, 9))) == 9
    assert parser.with_options(beam=1).base.config.beam == 1  # type: ignore[attr-defined]
    assert parser.features(SENTENCES[0], trees[0])[0].tolist() == base().features(SENTENCES[0], trees[0])[0].tolist()


def test_what_is_fixed_is_respected() -> None:
    parser = Reranker(base(), second())
    fixed = [Tree.of([0, *[-1] * (len(sentence) - 1)]) for sentence in SENTENCES]
    assert {tree.heads[1] for tree in parser.predict_batch(SENTENCES, constraints=fixed)} == {0}
    assert parser.predict(SENTENCES[0], constraint=fixed[0]).heads[1] == 0
    assert parser.k_best(SENTENCES[0], 2, constraint=fixed[0])[1].output.heads[1] == 0


def test_trees_with_crossing_arcs_are_scored_as_they_are_learned() -> None:
    sentence = Sentence.of(["a", "b", "c", "d"], upos=["NOUN"] * 4)
    label = next(label for label in ("obj", "nsubj") if label in second().labels)  # type: ignore[attr-defined]
    crossing = Tree.of([3, 4, 0, 3], [label, label, "root", label])
    lifted = Tree.of([3, 3, 0, 3], [label, label, "root", label])
    backward = second()
    assert isinstance(backward, TransitionParser)
    assert backward.scores_batch([sentence], [[crossing, lifted]]) == [[backward.score(sentence, lifted)] * 2]


def test_scores_of_many_trees_are_those_of_each() -> None:
    for parser in (base(), second(), second("graph")):
        assert isinstance(parser, TreeParser)
        sentences = [*SENTENCES, Sentence.of([])]
        lists = [
            [one.output for one in base().k_best(sentence, 1 + place % 7)] for place, sentence in enumerate(SENTENCES)
        ]
        lists = [*lists, []]
        expected = [[parser.score(s, tree) for tree in trees] for s, trees in zip(sentences, lists, strict=True)]
        assert parser.scores_batch(sentences, lists) == expected
        assert parser.scores_batch(sentences, lists, threads=2) == expected
        assert parser.scores_batch([], []) == []


def test_unknown_labels_are_named() -> None:
    backward = second()
    assert isinstance(backward, TransitionParser)
    with pytest.raises(DataError, match="has the label 'strange' under a word, which the model has never seen there"):
        backward.scores_batch([Sentence.of(["a", "b"])], [[Tree.of([0, 1], ["root", "strange"])]])


def test_the_weight_is_the_best_on_dev() -> None:
    parser, tried = tune_weight(base(), second(), DEV, k=5)
    assert list(tried) == list(WEIGHTS)
    assert parser.k == 5
    for weight, scores in tried.items():
        trees = Reranker(base(), second(), weight=weight, k=5).predict_batch(SENTENCES)
        assert evaluate_trees(DEV, trees).las == scores.las
    best = max(scores.las for scores in tried.values())
    assert parser.weight == min((w for w in WEIGHTS if tried[w].las == best), key=lambda weight: abs(weight - 1))


def test_a_model_file_holds_both(tmp_path: Path) -> None:
    parser = Reranker(base(), second("graph"), weight=1.5, k=3)
    treetune.save(parser, tmp_path / "both")
    again = treetune.load(tmp_path / "both")
    assert isinstance(again, Reranker)
    assert (again.weight, again.k, again.is_trained, again.is_stacked) == (1.5, 3, True, False)
    assert again.predict_batch(SENTENCES) == parser.predict_batch(SENTENCES)
    other = Reranker(base(), second())
    other.adopt(again)
    assert other.state()[0] == again.state()[0]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Reranker(base(), second(), weight=0), ConfigError, "weight must be a number above 0, found 0"),
        (
            lambda: Reranker(base(), second(), k=1),
            ConfigError,
            "k must be at least 2, or there is nothing to rerank, found 1",
        ),
        (lambda: Reranker(base(), second()).k_best(SENTENCES[0], 0), ConfigError, "k must be at least 1, found 0"),
        (
            lambda: Reranker(base(), second()).learner(TREEBANK),
            ConfigError,
            "a reranker is not trained as one model; train both parsers, then rerank one by the other",
        ),
        (
            lambda: Reranker(base(), second()).check_learning(),
            ConfigError,
            "a reranker is not trained as one model; train both parsers, then rerank one by the other",
        ),
        (
            lambda: tune_weight(base(), second(), []),
            DataError,
            "the development data have no words to tune the reranker weight on",
        ),
    ],
)
def test_faults_by_text(make: Any, error: type[TreetuneError], message: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


def test_a_second_parser_must_know_the_labels() -> None:
    stranger = TransitionParser(beam=1, backward=True)
    for _ in treetune.train(stranger, [TREEBANK[0]], epochs=1):
        pass
    with pytest.raises(ModelError, match=r"the second parser has never seen the label '.*', which the base parser"):
        Reranker(base(), stranger)
    assert RERANK_K == 16
