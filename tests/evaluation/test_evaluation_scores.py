from __future__ import annotations

import json
import math
import random
import subprocess
import sys

import pytest
from evaluation_samples import corpora, example, steady
from hypothesis import given
from hypothesis import strategies as st

import treetune
from treetune.corpus.sentence import Example, Tree
from treetune.errors import ConfigError, DataError
from treetune.evaluation import METRICS, Scores, Tally, evaluate_trees
from treetune.evaluation.breakdown import LENGTHS, length_bucket

# Two sentences, counted by hand below.
GOLD = [
    example(
        "She reads her book .",
        [2, 0, 4, 2, 2],
        "nsubj root nmod:poss obj punct",
        upos="PRON VERB PRON NOUN PUNCT",
    ),
    example("Go !", [0, 1], "root punct", sent_id="s-2"),
]
ANSWERS = [
    Tree.of([2, 0, 2, 2, 4], ["nsubj", "root", "nmod", "iobj", "punct"]),
    Tree.of([0, 1], ["root", "punct"]),
]


HAND_COMPUTED = {
    "UAS": 5 / 7,
    "LAS": 4 / 7,
    "LA": 5 / 7,
    "CLAS": 2 * 3 / (5 + 5),
    "root": 1.0,
    "root_F1": 1.0,
    "UCM": 1 / 2,
    "LCM": 1 / 2,
    "UALS": (1 + 2 + 2 + 1 + 1) / (1 + 2 + 1 + 2 + 3 + 1 + 1),
    "LALS": (1 + 2 + 1 + 1) / 11,
    "UALS_mean": (5 / 9 + 1) / 2,
    "LALS_mean": (3 / 9 + 1) / 2,
}


def test_hand_computed_table() -> None:
    scores = evaluate_trees(GOLD, ANSWERS)
    assert {name: scores[name] for name in METRICS} == pytest.approx(HAND_COMPUTED, abs=1e-15)


def test_options_change_the_scores() -> None:
    assert evaluate_trees(GOLD, ANSWERS, subtypes=False).las == 4 / 7  # her has the wrong head in any case
    assert evaluate_trees(GOLD, ANSWERS, subtypes=False)["LA"] == 6 / 7
    # without punctuation "." (by tag) and "!" (by Unicode) are gone
    no_punct = evaluate_trees(GOLD, ANSWERS, punct=False)
    assert (no_punct.uas, no_punct.las) == (4 / 5, 3 / 5)
    assert no_punct.counts.words == 5


def test_roots_of_predictions_may_be_missing_or_many() -> None:
    gold = [example("a b", [0, 1], "root obj")] * 3
    scores = evaluate_trees(gold, [Tree.of([0, 0]), Tree.of([2, 1]), Tree.of([0, 1])])
    assert scores["root"] == 1 / 3
    assert scores["root_F1"] == 2 * 2 / (3 + 3)


def test_by_label_needs_head_and_label() -> None:
    by_label = evaluate_trees(GOLD, ANSWERS).by_label
    assert by_label["punct"] == Tally(gold=2, predicted=2, right=1)
    assert by_label["obj"] == Tally(gold=1, predicted=0, right=0)
    assert by_label["iobj"] == Tally(gold=0, predicted=1, right=0)
    assert list(by_label) == ["punct", "root", "nmod:poss", "nsubj", "obj", "iobj", "nmod"]
    assert "nmod:poss" not in evaluate_trees(GOLD, ANSWERS, subtypes=False).by_label


def test_by_length_needs_the_head_only() -> None:
    by_length = evaluate_trees(GOLD, ANSWERS).by_length
    assert tuple(by_length) == LENGTHS
    assert by_length["root"] == Tally(gold=2, predicted=2, right=2)
    assert by_length["1"] == Tally(gold=3, predicted=4, right=2)
    assert by_length["2"] == Tally(gold=1, predicted=1, right=1)
    assert by_length["3-6"] == Tally(gold=1, predicted=0, right=0)


def test_unknown_predictions_are_no_predictions() -> None:
    scores = evaluate_trees(GOLD, [Tree.unknown(5), Tree.unknown(2)])
    assert sum(tally.gold for tally in scores.by_length.values()) == 7
    assert {tally.predicted for tally in scores.by_length.values()} == {0}
    assert {tally.predicted for tally in scores.by_label.values()} == {0}
    assert "" not in scores.by_label


@pytest.mark.parametrize(
    ("word", "head", "bucket"),
    [
        (5, 0, "root"),
        (1, 0, "root"),
        (5, 4, "1"),
        (5, 6, "1"),
        (5, 7, "2"),
        (5, 8, "3-6"),
        (7, 1, "3-6"),
        (8, 1, "7-10"),
        (1, 11, "7-10"),
        (1, 12, ">10"),
    ],
)
def test_length_buckets(word: int, head: int, bucket: str) -> None:
    assert length_bucket(word, head) == bucket


def test_tally_ratios() -> None:
    tally = Tally(gold=4, predicted=5, right=3)
    assert (tally.precision, tally.recall, tally.f1) == (3 / 5, 3 / 4, 2 * 3 / 9)
    empty = Tally(0, 0, 0)
    assert math.isnan(empty.precision)
    assert math.isnan(empty.recall)
    assert math.isnan(empty.f1)


def test_signature() -> None:
    scores = evaluate_trees(GOLD, ANSWERS, subtypes=False)
    assert scores.signature() == f"LAS|punct:yes|subtypes:no|sents:2|v:{treetune.__version__}"
    assert scores.signed("UAS") == f"UAS|punct:yes|subtypes:no|sents:2|v:{treetune.__version__} = 71.43"
    assert evaluate_trees(GOLD, ANSWERS, punct=False).signature("root").startswith("root|punct:no|subtypes:yes|")
    assert scores.signature("*").startswith("*|punct")


def test_unlabelled_gold_has_no_labelled_scores() -> None:
    scores = evaluate_trees([example("a b", [0, 1])], [Tree.of([0, 1])])
    assert scores.uas == 1
    assert math.isnan(scores.las)
    assert scores.signed().endswith(" = n/a")
    assert json.loads(json.dumps(scores.to_dict(), allow_nan=False))["scores"]["LAS"] is None


def test_empty_corpus_scores_nothing() -> None:
    scores = evaluate_trees([], [])
    assert all(math.isnan(scores[name]) for name in METRICS)


def test_to_dict_is_json_and_complete() -> None:
    scores = evaluate_trees(GOLD, ANSWERS)
    found = json.loads(json.dumps(scores.to_dict(), allow_nan=False))
    assert found["scores"] == {name: scores[name] for name in METRICS}
    assert found["signatures"]["LAS"] == scores.signature("LAS")
    assert found["counts"]["words"] == 7
    assert found["labels"]["obj"] == {
        "gold": 1,
        "predicted": 0,
        "right": 0,
        "precision": None,
        "recall": 0.0,
        "f1": 0.0,
    }
    assert list(found["lengths"]) == list(LENGTHS)


def test_right_units() -> None:
    scores = evaluate_trees(GOLD, ANSWERS)
    assert scores.right("UAS") == [True, True, False, True, False, True, True]
    assert scores.right("LAS") == [True, True, False, False, False, True, True]
    assert scores.right("LA") == [True, True, False, False, True, True, True]
    assert scores.right("UCM") == [False, True]
    assert scores.right("root") == [True, True]


def test_predictions_may_be_examples_and_streams() -> None:
    as_examples = [Example(e.sentence, tree) for e, tree in zip(GOLD, ANSWERS, strict=True)]
    assert evaluate_trees(iter(GOLD), iter(as_examples)) == evaluate_trees(GOLD, ANSWERS)


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        (
            GOLD,
            ANSWERS[:1],
            "sentence 2 (sent_id s-2): no prediction for it; expected 2 sentences, as in gold, found 1",
        ),
        (
            GOLD[:1],
            [*ANSWERS[:1], *ANSWERS],
            "sentence 2: predicted but not in gold; expected 1 sentence, as in gold, found 3",
        ),
        (
            GOLD,
            [ANSWERS[0], Tree.of([0])],
            "sentence 2 (sent_id s-2): expected a tree of 2 words, as in gold, found one of 1; "
            "score predictions for the same words in the same order",
        ),
        (
            GOLD,
            [ANSWERS[0], example("Go ?", [0, 1])],
            "sentence 2 (sent_id s-2): expected '!' as word 2, as in gold, found '?'; "
            "score predictions for the same words in the same order",
        ),
        (
            GOLD,
            [example("She reads her book", [2, 0, 4, 2])],
            "sentence 1: expected 5 words, as in gold, found 4; score predictions for the same words in the same order",
        ),
    ],
)
def test_different_sentences_are_refused(gold: list[Example], predicted: list[Tree | Example], message: str) -> None:
    with pytest.raises(DataError) as caught:
        evaluate_trees(gold, predicted)
    assert str(caught.value) == message


def test_unknown_metric_lists_the_known() -> None:
    known = ", ".join(sorted(METRICS))
    with pytest.raises(ConfigError) as caught:
        evaluate_trees(GOLD, ANSWERS)["LASS"]
    assert str(caught.value) == f"unknown metric 'LASS'; known: {known} (did you mean 'LAS'?)"


def test_metric_without_units_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        evaluate_trees(GOLD, ANSWERS).right("CLAS")
    assert str(caught.value) == "CLAS is not a share of right units; those are: UAS, LAS, LA, root, UCM, LCM"


def _in_range(scores: Scores) -> bool:
    return all(math.isnan(scores[name]) or 0 <= scores[name] <= 1 for name in METRICS)


@steady
@given(corpora(), st.booleans(), st.booleans())
def test_scores_are_fractions_and_gold_is_perfect(
    drawn: tuple[list[Example], list[list[Tree]]], punct: bool, subtypes: bool
) -> None:
    gold, (answers,) = drawn
    assert _in_range(evaluate_trees(gold, answers, punct=punct, subtypes=subtypes))
    perfect = evaluate_trees(gold, gold, punct=punct, subtypes=subtypes)
    # a corpus without known labels, roots or content words has no such score at all
    assert {perfect[name] for name in METRICS if not math.isnan(perfect[name])} <= {1.0}
    for tally in (*perfect.by_label.values(), *perfect.by_length.values()):
        assert tally.gold == tally.predicted == tally.right


@steady
@given(corpora(), st.integers())
def test_order_of_sentences_does_not_matter(drawn: tuple[list[Example], list[list[Tree]]], seed: int) -> None:
    gold, (answers,) = drawn
    order = random.Random(seed).sample(range(len(gold)), len(gold))
    first = evaluate_trees(gold, answers).to_dict()
    second = evaluate_trees([gold[i] for i in order], [answers[i] for i in order]).to_dict()
    assert first == second


@steady
@given(corpora(), st.booleans(), st.booleans())
def test_parts_add_up(drawn: tuple[list[Example], list[list[Tree]]], punct: bool, subtypes: bool) -> None:
    gold, (answers,) = drawn
    scores = evaluate_trees(gold, answers, punct=punct, subtypes=subtypes)
    counts = scores.counts
    assert len(scores.outcomes) == counts.words == sum(t.gold for t in scores.by_length.values())
    assert sum(t.right for t in scores.by_length.values()) == counts.right_heads == sum(scores.right("UAS"))
    assert sum(t.gold for t in scores.by_label.values()) == counts.labelled_words == len(scores.right("LAS"))
    assert sum(t.right for t in scores.by_label.values()) == counts.right_arcs == sum(scores.right("LAS"))
    assert sum(scores.right("LA")) == counts.right_labels
    assert sum(scores.right("LCM")) == counts.complete_arcs


def test_import_stays_light() -> None:
    code = "import sys, treetune.evaluation; print(*{'numba', 'rich', 'typer'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
