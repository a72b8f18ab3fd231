"""Scores of taggers."""

from __future__ import annotations

import math

import pytest

from treetune.corpus.sentence import Sentence
from treetune.corpus.tags import Tagged, Tags
from treetune.errors import ConfigError, DataError
from treetune.evaluation.scorers import TREES
from treetune.evaluation.significance import mcnemar, paired_bootstrap
from treetune.evaluation.tagging import evaluate_tags, tag_scorer

WORDS = ["a", "b", "c"]
GOLD = [
    Tagged(Sentence.of(WORDS), Tags.of(["N n", "V v", "V w"])),
    Tagged(Sentence.of(WORDS[:2]), Tags.of(["N n", "N "])),
    Tagged(Sentence.of([]), Tags.of([])),
]
FOUND = [Tags.of(["N n", "V w", "N w"]), Tags.of(["N n", "V n"]), Tags.of([])]
COLUMNS = ("upos", "xpos")


def test_scores_are_counted_by_hand() -> None:
    scores = evaluate_tags(GOLD, FOUND, COLUMNS, is_known=lambda form: form != "c")
    assert scores.metrics == ("UPOS", "XPOS", "accuracy", "known", "unknown", "sentences")
    assert scores["UPOS"] == 3 / 5
    assert scores["XPOS"] == 3 / 4  # one gold part is not known
    assert scores["accuracy"] == 2 / 4
    assert scores["known"] == 2 / 3
    assert scores["unknown"] == 0
    assert scores["sentences"] == 1 / 2
    assert scores.right() == [True, False, False, True]
    assert scores.shown == ("UPOS", "XPOS", "accuracy")


def test_a_score_carries_its_signature() -> None:
    scores = evaluate_tags(GOLD, FOUND, COLUMNS)
    assert scores.signed("UPOS").startswith("UPOS|columns:upos+xpos|sents:3|v:")
    assert scores.signed("UPOS").endswith(" = 60.00")
    assert scores.signature("*").startswith("*|")
    assert math.isnan(scores["unknown"])
    found = scores.to_dict()["scores"]
    assert isinstance(found, dict)
    assert found["unknown"] is None
    assert evaluate_tags([], [], ("ner",)).shown == ("ner",)
    with pytest.raises(
        ConfigError, match=r"^unknown metric 'LAS'; known: UPOS, XPOS, accuracy, known, sentences, unkn"
    ):
        scores["LAS"]
    with pytest.raises(ConfigError, match=r"^UPOS is not a share of right units; those are: accuracy$"):
        scores.right("UPOS")


def test_significance_works_for_tags() -> None:
    a, b = evaluate_tags(GOLD, FOUND, COLUMNS), evaluate_tags(GOLD, [item.gold for item in GOLD], COLUMNS)
    tested = paired_bootstrap(a.per_sentence, b.per_sentence, a.metric("accuracy"), samples=100)
    assert (tested.score_a, tested.score_b) == (0.5, 1.0)
    assert mcnemar(a.right(), b.right()).only_b == 2


def test_scorers_name_their_metrics() -> None:
    assert TREES.usual == "LAS"
    scorer = tag_scorer(("xpos",))
    assert (scorer.usual, scorer.metrics[0]) == ("accuracy", "XPOS")
    assert scorer.score([], []).metrics == scorer.metrics


def test_other_sentences_are_refused() -> None:
    with pytest.raises(DataError, match=r"^expected the tags of 3 sentences, as in gold, found 1$"):
        evaluate_tags(GOLD, FOUND[:1], COLUMNS)
    with pytest.raises(DataError, match=r"^sentence 1: expected tags of 3 words, found 3 in gold and 2 predicted$"):
        evaluate_tags(GOLD[:1], FOUND[1:2], COLUMNS)
