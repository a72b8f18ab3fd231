"""The options of graph parsers: what is refused, in which words, and what a file keeps."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from graph_samples import random_sentence, random_treebank, refusal, trained

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, DataError, ModelError
from treetune.features.encoding import COLUMNS
from treetune.models.graph.grammar import GraphConfig
from treetune.models.graph.parser import GraphParser

NO_TREE = "expected a complete tree with one root, found another graph"
NOT_TRAINED = "this parser is not trained yet; fit it to a treebank or load a trained one"


@pytest.fixture(scope="module")
def parser() -> GraphParser:
    return trained(random_treebank(1, count=15))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 4}, "order must be 1 or 2 or 3, found 4"),
        ({"order": 0}, "order must be 1 or 2 or 3, found 0"),
        (
            {"order": 3, "decoder": "non-projective"},
            "graph parsers of order 3 are projective: leave decoder out, or take order 2",
        ),
        (
            {"decoder": "projectiv"},
            "unknown decoder 'projectiv'; known: non-projective, projective (did you mean 'projective'?)",
        ),
        ({"labels": "later"}, "unknown way to label 'later'; known: joint, second-stage"),
        ({"features": "hall2012"}, "unknown feature set 'hall2012'; known: clusters, "
         "clusters-only, default, hall2011, mcdonald2005 "
         "(did you mean 'hall2011'?)"),
        ({"inputs": ("lemma",)}, "unknown input column 'lemma'; known: feats, upos, xpos"),
        ({"min_count": 0}, "min_count must be at least 1, found 0"),
        ({"min_lifted": 0}, "min_lifted must be at least 1, found 0"),
        ({"max_memory": 0}, "max_memory must be a number of GB above 0, found 0"),
        ({"max_memory": -1.5}, "max_memory must be a number of GB above 0, found -1.5"),
        ({"max_memory": float("nan")}, "max_memory must be a number of GB above 0, found nan"),
        ({"max_memory": float("inf")}, "max_memory must be a number of GB above 0, found inf"),
        (
            {"ordr": 2},
            "unknown option of graph parsers 'ordr'; known: clusters, decoder, features, filter, inputs, labels, "
            "labels_by_tag, max_memory, min_count, min_lifted, order (did you mean 'order'?)",
        ),
    ],
)  # fmt: skip
def test_options_are_refused_before_any_data_is_read(options: dict[str, Any], message: str) -> None:
    assert refusal(ConfigError, lambda: GraphParser(**options)) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[arcs]\nH.w", "unknown kind of feature group 'arcs'; known: arc, between, grandparent, label, sibling "
         "(did you mean 'arc'?)"),
        ("[arc]\nS.w", "unknown address in a template of [arc] 'S'; known: A, D, H"),
        ("[arc]\nB.w", "unknown address in a template of [arc] 'B'; known: A, D, H"),
        ("[arc]\nH.w\n[between]\nS.w", "unknown address in a template of [between] 'S'; known: A, B, D, H"),
        ("[sibling]\nDl.w", "unknown address in a template of [sibling] 'Dl'; known: A, D, H, S (did you mean 'D'?)"),
        ("[label]\nB.w", "unknown address in a template of [label] 'B'; known: A, D, Dl, Dr, G, H, S"),
        ("[arc]\nH.word", "unknown value in a feature template 'word'; known: " + ", ".join(sorted(COLUMNS))),
        ("[arc]\nA.length", "unknown value of the arc in a template of [arc] 'length'; known: base, dir, dist"),
        ("[between]\nA.dist", "unknown value of the arc in a template of [between] 'dist'; known: dir"),
        ("[arc]\nh.w", "feature template atom 'h.w': expected PLACE.VALUE such as H.w, D-1.t or A.dist"),
        ("[arc]\nH+12.w", "feature template atom 'H+12.w': expected PLACE.VALUE such as H.w, D-1.t or A.dist"),
    ],
)  # fmt: skip
def test_mistakes_in_templates_are_found_at_once(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(text, encoding="utf-8")
    path = str(tmp_path / "mine.txt")
    assert refusal(ConfigError, lambda: GraphParser(features=path, order=2)) == message


@pytest.mark.parametrize(
    ("text", "kind", "order"),
    [
        ("[arc]\nH.t D.t\n[label]\nD.w", "arc", 1),
        ("[arc]\nH.w\n[label]\nD<.w\nD.u", "label", 1),
        ("[arc]\nH.w\n[label]\nD.w\n[sibling]\nS.t D.t", "sibling", 2),
        ("[arc]\nH.w\n[label]\nD.w", "sibling", 2),
        ("[arc]\nH.w\n[label]\nD.w\n[sibling]\nS.w\n[grandparent]\nG.t D.t", "grandparent", 3),
    ],
)
def test_templates_that_leave_nothing_for_a_treebank(text: str, kind: str, order: int, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(text, encoding="utf-8")
    bare = [Example(Sentence.of(["a", "a", "b", "b"]), Tree.of([2, 0, 2, 3], ["d", "root", "d", "d"]))]
    message = refusal(ConfigError, lambda: GraphParser(features=str(path), order=order).learner(bare))
    assert message == (
        f"no template of [{kind}] of the feature set {str(path)!r} fits the treebank, which has only the columns w"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"learner": "mra"},
            "unknown learner 'mra'; known: crf, factored-mira, mira, perceptron (did you mean 'mira'?)",
        ),
        ({"k": 0}, "k must be at least 1, found 0"),
        ({"clip": 0.0}, "clip must be more than 0, found 0.0"),
        ({"clip": float("nan")}, "clip must be more than 0, found nan"),
        ({"update": "early"}, "update is an option of transition parsers, not of graph parsers"),
        (
            {"learner": "factored-mira", "cost_augmented": True},
            "factored-mira compares every arc with the gold one, so there is no search to augment",
        ),
    ],
)
def test_ways_to_learn_that_are_refused(options: dict[str, Any], message: str) -> None:
    parser = GraphParser()
    assert refusal(ConfigError, lambda: parser.check_learning(**options)) == message
    assert refusal(ConfigError, lambda: parser.learner(random_treebank(0, count=1), **options)) == message


def test_factored_mira_is_of_first_order() -> None:
    parser = GraphParser(order=2)
    assert refusal(ConfigError, lambda: parser.check_learning(learner="factored-mira")) == (
        "factored-mira compares single arcs, so it is for graph parsers of order 1"
    )


def test_gold_must_be_complete() -> None:
    def attempt(*examples: Example) -> str:
        return refusal(DataError, lambda: GraphParser().learner(examples))

    good = random_treebank(0, count=1)[0]
    words = Sentence.of(["a", "b"])
    assert attempt() == "the treebank has no words; expected at least one sentence with a tree"
    assert attempt(good, Example(words, Tree.of([0]))) == "sentence 2 of the treebank has 2 words, but its tree has 1"
    for heads in ([0, -1], [0, 0], [2, 1]):
        message = attempt(good, Example(words, Tree.of(heads, ["root", "d"])))
        assert message == "sentence 2 of the treebank has no complete tree with one root"


def test_a_parser_must_be_trained() -> None:
    sentence, parser = Sentence.of(["a"]), GraphParser()
    assert not parser.is_trained
    for attempt in (
        lambda: parser.predict(sentence),
        lambda: parser.k_best(sentence, 2),
        lambda: parser.score(sentence, Tree.of([0], ["root"])),
        lambda: parser.features(sentence, Tree.of([0], ["root"])),
        parser.state,
        lambda: parser.labels,
    ):
        assert refusal(ModelError, attempt) == NOT_TRAINED


def test_outputs_that_have_no_score(parser: GraphParser) -> None:
    sentence = Sentence.of(["a", "b"])
    for heads, labels, message in (
        ([0], ["root"], "expected a tree of 2 words, found 1"),
        ([0, 0], ["root", "d"], NO_TREE),
        ([2, 1], ["d", "d"], NO_TREE),
        ([0, -1], ["root", "d"], NO_TREE),
        ([0, 1], ["root", "odd"], "the label 'odd' is none of the model's; known: b, c, d, root"),
        ([0, 1], ["root", ""], "the label '' is none of the model's; known: b, c, d, root"),
    ):
        tree = Tree.of(heads, labels)
        assert refusal(ModelError, partial(parser.score, sentence, tree)) == message
        assert refusal(ModelError, partial(parser.features, sentence, tree)) == message


def test_numbers_that_must_be_positive(parser: GraphParser) -> None:
    sentence = Sentence.of(["a", "b"])
    assert refusal(ConfigError, lambda: parser.k_best(sentence, 0)) == "k must be at least 1, found 0"
    message = "threads must be at least 1, found 0"
    assert refusal(ConfigError, lambda: parser.predict_batch([sentence], threads=0)) == message
    assert refusal(ConfigError, lambda: parser.k_best_batch([sentence], 2, threads=0)) == message


def test_search_options_can_change_after_training(parser: GraphParser) -> None:
    other = parser.with_options(decoder="non-projective", max_memory=1.0)
    assert (other.config.decoder, other.config.max_memory) == ("non-projective", 1.0)
    assert (parser.config.decoder, parser.config.max_memory) == ("projective", 2.0)
    assert refusal(ConfigError, lambda: parser.with_options(order=2)) == (
        "unknown search option of graph parsers 'order'; known: decoder, max_memory (did you mean 'decoder'?)"
    )
    assert refusal(ConfigError, lambda: parser.with_options(decoder="any")) == (
        "unknown decoder 'any'; known: non-projective, projective"
    )
    sentence = random_sentence(random.Random(1), 8)
    free = max(candidate.score for candidate in other.k_best(sentence, 1))
    assert free >= parser.k_best(sentence, 1)[0].score


def test_the_usual_options() -> None:
    usual = GraphConfig()
    assert (usual.order, usual.decoder, usual.labels, usual.features) == (1, "projective", "second-stage", "default")
    assert GraphParser(GraphConfig(order=2), decoder="non-projective").config == GraphConfig(
        order=2, decoder="non-projective"
    )
