"""Entity scores: by hand, against seqeval (which has the numbers of the CoNLL script), and their tests."""

from __future__ import annotations

import math
import re
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treetune import __version__
from treetune.corpus.sentence import Sentence
from treetune.corpus.tags import Tagged, Tags
from treetune.errors import ConfigError, DataError
from treetune.evaluation import (
    ENTITY_METRICS,
    bootstrap_interval,
    compare,
    entity_counts,
    evaluate_entities,
    format_comparison,
    format_scores,
    format_types,
)
from treetune.evaluation.entities import EntityScores

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from seqeval.metrics import accuracy_score, classification_report


def tagged(text: str) -> Tagged:
    tags = text.split()
    return Tagged(Sentence.of([f"w{number}" for number in range(len(tags))]), Tags.of(tags))


def scored(*pairs: tuple[str, str]) -> EntityScores:
    return evaluate_entities([tagged(gold) for gold, _ in pairs], [tagged(answer).gold for _, answer in pairs])


def test_an_entity_is_right_as_a_whole_or_not_at_all() -> None:
    counts = entity_counts(tagged("B-A I-A O B-B").gold, tagged("B-A O O B-B").gold)
    assert (counts.gold, counts.predicted, counts.right, counts.complete) == (2, 2, 1, 0)
    assert (counts.words, counts.right_tags) == (4, 3)


def test_the_scores_of_a_corpus() -> None:
    scores = scored(("B-A I-A O B-B", "B-A I-A O B-A"), ("O O", "B-B O"), ("B-B", "B-B"))
    assert scores["precision"] == 2 / 4
    assert scores["recall"] == 2 / 3
    assert scores["F1"] == pytest.approx(4 / 7)
    assert scores["accuracy"] == 5 / 7
    assert scores["complete"] == 1 / 3
    assert {name: (tally.gold, tally.predicted, tally.right) for name, tally in scores.by_type.items()} == {
        "B": (2, 2, 1),
        "A": (1, 2, 1),
    }
    assert scores.signed("F1") == f"F1|entities:exact|sents:3|v:{__version__} = 57.14"
    assert scores.right("complete") == [False, False, True]
    assert format_scores(scores).splitlines()[0].endswith("(7 words counted)")
    assert format_types(scores).splitlines()[2].split() == ["B", "2", "2", "1", "50.00", "50.00", "50.00"]
    assert scores.to_dict()["types"]["A"]["precision"] == 0.5


def test_nothing_to_count_is_not_a_number() -> None:
    scores = scored(("O O", "O O"))
    assert math.isnan(scores["F1"])
    assert scores.to_dict()["scores"]["F1"] is None


def test_an_unknown_gold_tag_is_not_counted_and_an_unknown_answer_is_outside() -> None:
    gold, answer = Tags.of(["", "O", "O"]), Tags.of(["O", "", "B-A"])
    counts = entity_counts(gold, answer)
    assert (counts.words, counts.right_tags) == (2, 1)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match=r"^expected predicted tags of 2 words, as in gold, found 1$"):
        entity_counts(tagged("O O").gold, tagged("O").gold)
    with pytest.raises(DataError, match=r"^sentence 1: expected tags of 2 words, as in gold, found those of 1;"):
        evaluate_entities([tagged("O O")], [tagged("O").gold])
    with pytest.raises(DataError, match=r"^sentence 2: no prediction for it; expected 2 sentences, as in gold,"):
        evaluate_entities([tagged("O"), tagged("O")], [tagged("O").gold])
    other = Tagged(Sentence.of(["x", "w1"]), Tags.of(["O", "O"]))
    with pytest.raises(DataError, match=r"^sentence 1: expected 'w0' as word 1, as in gold, found 'x';"):
        evaluate_entities([tagged("O O")], [other])
    known = re.escape("unknown metric 'f1'; known: F1, accuracy, complete, precision, recall")
    with pytest.raises(ConfigError, match=known):
        scored(("O", "O"))["f1"]
    with pytest.raises(ConfigError, match=r"^F1 is not a share of right units; those are: complete$"):
        scored(("O", "O")).right("F1")


def test_two_systems_are_compared_as_trees_are() -> None:
    gold = ["B-A O", "B-B O", "O B-A", "B-A I-A"] * 5
    a = scored(*((text, "O O") if number % 2 else (text, text) for number, text in enumerate(gold)))
    b = scored(*((text, text) for text in gold))
    tested = compare(a, b, samples=200)
    assert set(tested) == {"F1", "recall", "precision", "accuracy", "complete"}
    assert tested["F1"].bootstrap.difference.score == pytest.approx(b["F1"] - a["F1"])
    assert tested["F1"].mcnemar is None
    mcnemar = tested["complete"].mcnemar
    assert mcnemar is not None
    assert (mcnemar.only_a, mcnemar.only_b) == (0, 10)
    assert "F1" in format_comparison(a, b, samples=50)
    interval = bootstrap_interval(a.per_sentence, ENTITY_METRICS["F1"], samples=100)
    assert interval.low <= a["F1"] <= interval.high
    with pytest.raises(DataError, match=r"^sentence 1: the two systems were not scored against the same gold;"):
        compare(a, scored(*(("O O", "O O") for _ in gold)))


ALPHABET = ("O", "B-A", "I-A", "B-B", "I-B", "E-A", "S-A")
pairs = st.integers(1, 7).flatmap(
    lambda size: st.tuples(*(st.lists(st.sampled_from(ALPHABET), min_size=size, max_size=size) for _ in "ab"))
)


@settings(max_examples=60)
@given(st.lists(pairs, min_size=1, max_size=5))
def test_the_numbers_are_those_of_the_conll_script(corpus: list[tuple[list[str], list[str]]]) -> None:
    """On any tags, also those that no scheme allows."""
    gold, answers = [list(pair[0]) for pair in corpus], [list(pair[1]) for pair in corpus]
    scores = scored(*((" ".join(pair[0]), " ".join(pair[1])) for pair in corpus))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = classification_report(gold, answers, output_dict=True, zero_division=0)
    for name, tally in scores.by_type.items():
        theirs = report[name]
        assert theirs["support"] == tally.gold
        assert theirs["precision"] == pytest.approx(tally.right / tally.predicted if tally.predicted else 0)
        assert theirs["recall"] == pytest.approx(tally.right / tally.gold if tally.gold else 0)
    if scores.by_type:
        assert report["micro avg"]["f1-score"] == pytest.approx(scores["F1"])
    assert accuracy_score(gold, answers) == pytest.approx(scores["accuracy"])
