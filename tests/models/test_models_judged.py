"""A parser with a judge against plain sums of two scores; its faults, its file and its command."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import treetune
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, DataError, ModelError, TreetuneError
from treetune.evaluate import evaluate
from treetune.learning.judging import WEIGHTS, choose_weight
from treetune.models.base import Parser
from treetune.models.graph.parser import GraphParser
from treetune.models.judged import JUDGED, JudgedParser
from treetune.models.parsing import TreeParser
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
def main() -> Parser:
    return trained(TransitionParser(beam=4))


@cache
def judge(kind: str = "backward") -> Parser:
    return trained(TransitionParser(beam=4, backward=True) if kind == "backward" else GraphParser())


@pytest.mark.parametrize("kind", ["backward", "graph"])
@pytest.mark.parametrize("weight", [0.3, 2.0])
def test_lists_are_those_of_the_main_parser_in_the_order_of_both_scores(kind: str, weight: float) -> None:
    parser = JudgedParser(main(), judge(kind), weight=weight, k=6)
    changed = 0
    for sentence, found in zip(SENTENCES, parser.k_best_batch(SENTENCES, 6), strict=True):
        plain = main().k_best(sentence, 6)
        sums = {one.output: one.score + weight * judge(kind).score(sentence, one.output) for one in plain}
        assert {candidate.output: candidate.score for candidate in found} == sums
        assert [candidate.score for candidate in found] == sorted(sums.values(), reverse=True)
        assert [parser.score(sentence, candidate) for candidate in found] == [one.score for one in found]
        assert parser.predict(sentence) == found[0].output
        assert parser.k_best(sentence, 2) == found[:2]
        changed += found[0].output != plain[0].output
    assert changed > 0


def test_threads_and_batches_change_nothing_and_longer_lists_can_be_asked_for() -> None:
    parser = JudgedParser(main(), judge(), k=4)
    trees = parser.predict_batch(SENTENCES)
    assert trees == parser.predict_batch(SENTENCES, threads=2) == [parser.predict(sentence) for sentence in SENTENCES]
    assert max(map(len, parser.k_best_batch(SENTENCES, 9))) == 9
    assert parser.with_options(beam=1).main.config.beam == 1  # type: ignore[attr-defined]
    assert parser.features(SENTENCES[0], trees[0])[0].tolist() == main().features(SENTENCES[0], trees[0])[0].tolist()


def test_what_is_fixed_is_respected() -> None:
    parser = JudgedParser(main(), judge())
    fixed = [Tree.of([0, *[-1] * (len(sentence) - 1)]) for sentence in SENTENCES]
    assert {tree.heads[1] for tree in parser.predict_batch(SENTENCES, constraints=fixed)} == {0}
    assert parser.predict(SENTENCES[0], constraint=fixed[0]).heads[1] == 0
    assert parser.k_best(SENTENCES[0], 2, constraint=fixed[0])[1].output.heads[1] == 0


def test_trees_with_crossing_arcs_are_scored_as_they_are_learned() -> None:
    sentence = Sentence.of(["a", "b", "c", "d"], upos=["NOUN"] * 4)
    label = next(label for label in ("obj", "nsubj") if label in judge().labels)  # type: ignore[attr-defined]
    crossing = Tree.of([3, 4, 0, 3], [label, label, "root", label])
    lifted = Tree.of([3, 3, 0, 3], [label, label, "root", label])
    backward = judge()
    assert isinstance(backward, TransitionParser)
    assert backward.scores_batch([sentence], [[crossing, lifted]]) == [[backward.score(sentence, lifted)] * 2]


def test_scores_of_many_trees_are_those_of_each() -> None:
    for parser in (main(), judge(), judge("graph")):
        assert isinstance(parser, TreeParser)
        sentences = [*SENTENCES, Sentence.of([])]
        lists = [
            [one.output for one in main().k_best(sentence, 1 + place % 7)] for place, sentence in enumerate(SENTENCES)
        ]
        lists = [*lists, []]
        expected = [[parser.score(s, tree) for tree in trees] for s, trees in zip(sentences, lists, strict=True)]
        assert parser.scores_batch(sentences, lists) == expected
        assert parser.scores_batch(sentences, lists, threads=2) == expected
        assert parser.scores_batch([], []) == []


def test_unknown_labels_are_named() -> None:
    backward = judge()
    assert isinstance(backward, TransitionParser)
    with pytest.raises(DataError, match="has the label 'strange' under a word, which the model has never seen there"):
        backward.scores_batch([Sentence.of(["a", "b"])], [[Tree.of([0, 1], ["root", "strange"])]])


def test_the_weight_is_the_best_on_dev() -> None:
    parser, tried = choose_weight(main(), judge(), DEV, k=5)
    assert list(tried) == list(WEIGHTS)
    assert parser.k == 5
    for weight, scores in tried.items():
        trees = JudgedParser(main(), judge(), weight=weight, k=5).predict_batch(SENTENCES)
        assert evaluate(DEV, trees).las == scores.las
    best = max(scores.las for scores in tried.values())
    assert parser.weight == min((w for w in WEIGHTS if tried[w].las == best), key=lambda weight: abs(weight - 1))


def test_a_model_file_holds_both(tmp_path: Path) -> None:
    parser = JudgedParser(main(), judge("graph"), weight=1.5, k=3)
    treetune.save(parser, tmp_path / "both")
    again = treetune.load(tmp_path / "both")
    assert isinstance(again, JudgedParser)
    assert (again.weight, again.k, again.is_trained, again.is_guided) == (1.5, 3, True, False)
    assert again.predict_batch(SENTENCES) == parser.predict_batch(SENTENCES)
    other = JudgedParser(main(), judge())
    other.adopt(again)
    assert other.state()[0] == again.state()[0]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: JudgedParser(main(), judge(), weight=0), ConfigError, "weight must be a number above 0, found 0"),
        (
            lambda: JudgedParser(main(), judge(), k=1),
            ConfigError,
            "k must be at least 2, or there is nothing to judge, found 1",
        ),
        (lambda: JudgedParser(main(), judge()).k_best(SENTENCES[0], 0), ConfigError, "k must be at least 1, found 0"),
        (
            lambda: JudgedParser(main(), judge()).learner(TREEBANK),
            ConfigError,
            "a parser with a judge is not trained as one; train both parsers, then combine them",
        ),
        (
            lambda: JudgedParser(main(), judge()).check_learning(),
            ConfigError,
            "a parser with a judge is not trained as one; train both parsers, then combine them",
        ),
        (
            lambda: choose_weight(main(), judge(), []),
            DataError,
            "the development data have no words to choose the weight of a judge by",
        ),
    ],
)
def test_faults_by_text(make: Any, error: type[TreetuneError], message: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


def test_a_judge_must_know_the_labels() -> None:
    stranger = TransitionParser(beam=1, backward=True)
    for _ in treetune.train(stranger, [TREEBANK[0]], epochs=1):
        pass
    with pytest.raises(ModelError, match=r"the judge has never seen the label '.*', which the main parser"):
        JudgedParser(main(), stranger)
    assert JUDGED == 16
