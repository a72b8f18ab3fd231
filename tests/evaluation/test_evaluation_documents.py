"""`treetune.evaluate`: gold and predictions as examples, documents, trees or files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import treetune
from treetune.corpus.document import Document, ParsedSentence
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import DataError
from treetune.evaluation import Scores, TextScores, evaluate_text, evaluate_trees

SENTENCE = Sentence.of(["Dogs", "bark", "."], upos=["NOUN", "VERB", "PUNCT"])
GOLD = [Example(SENTENCE, Tree.of([2, 0, 2], ["nsubj", "root", "punct"]))] * 2
TREES = [Tree.of([2, 0, 1], ["nsubj", "root", "punct"]), Tree.of([2, 0, 2], ["obj", "root", "punct"])]
PARSED = [ParsedSentence(SENTENCE, tree) for tree in TREES]


def files(folder: Path) -> tuple[Path, Path]:
    gold, predicted = folder / "gold.conllu", folder / "predicted.conllu"
    treetune.write_trees(GOLD, gold)
    treetune.write_trees(PARSED, predicted)
    return gold, predicted


def test_every_form_of_gold_and_predictions_gives_the_same_scores(tmp_path: Path) -> None:
    gold_file, predicted_file = files(tmp_path)
    gold_document = Document(ParsedSentence(example.sentence, example.gold) for example in GOLD)
    expected = evaluate_trees(GOLD, TREES)
    assert (expected.uas, expected.las) == (5 / 6, 4 / 6)
    golds: list[Any] = [GOLD, iter(GOLD), gold_document, gold_file, str(gold_file)]
    for gold in golds:
        assert treetune.evaluate(gold, TREES) == expected
    predictions: list[Any] = [TREES, iter(TREES), PARSED, Document(PARSED), predicted_file, str(predicted_file)]
    for predicted in predictions:
        scores = treetune.evaluate(GOLD, predicted)
        assert isinstance(scores, Scores)
        assert scores == expected
    assert treetune.evaluate(GOLD, TREES, punct=False).uas == 1


def test_other_tokens_are_aligned() -> None:
    whole = Sentence.of(["Dogs", "bark."], upos=["NOUN", "VERB"])
    other = [ParsedSentence(whole, Tree.of([2, 0], ["nsubj", "root"]))] * 2
    scores = treetune.evaluate(GOLD, other)
    assert isinstance(scores, TextScores)
    assert scores == evaluate_text(GOLD, other)
    assert scores["Words"] == pytest.approx(4 / 10)
    assert (scores.uas, scores.las) == (scores["UAS"], scores["LAS"])
    # One sentence or two: the text is what counts.
    joined = Sentence.of(["Dogs", "bark", ".", "Dogs", "bark", "."])
    assert treetune.evaluate(GOLD, [ParsedSentence(joined, Tree.of([2, 0, 2, 5, 2, 5]))])["Words"] == 1


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        (TREES[:1], "sentence 2: no prediction for it; expected 2 sentences, as in gold, found 1"),
        (
            [Tree.of([0]), TREES[1]],
            "sentence 1: expected a tree of 3 words, as in gold, found one of 1; "
            "score predictions for the same words in the same order",
        ),
        (
            [PARSED[0], ParsedSentence(Sentence.of(["Cats", "bark", "."]), TREES[1])],
            "sentence 2: expected 'Dogs' as word 1, as in gold, found 'Cats'; "
            "score predictions for the same words in the same order",
        ),
        ([SENTENCE, SENTENCE], "expected predicted trees, parsed sentences or a Document, found a Sentence"),
    ],
)
def test_what_cannot_be_scored_is_said(predicted: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        treetune.evaluate(GOLD, predicted)
    assert str(caught.value) == message


def test_messages_name_the_file(tmp_path: Path) -> None:
    gold_file, predicted_file = files(tmp_path)
    with pytest.raises(DataError, match=r"predicted\.conllu: sentence 1: expected 'Cats' as word 1, as in gold, found"):
        treetune.evaluate([Example(Sentence.of(["Cats", "bark", "."]), TREES[0])], predicted_file)
    gold_file.write_text("", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"gold\.conllu: expected at least one gold sentence to evaluate on, found none$"
    ):
        treetune.evaluate(gold_file, predicted_file)


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        (TREES, GOLD, "found a Tree; gold comes first: evaluate(gold, predicted)"),
        (object(), TREES, "expected gold examples, parsed sentences or a Document, found an object"),
        (GOLD, object(), "expected predicted trees, parsed sentences or a Document, found an object"),
        (GOLD, [None], "expected predicted trees, parsed sentences or a Document, found None"),
    ],
)
def test_swapped_and_foreign_arguments_are_named(gold: Any, predicted: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        treetune.evaluate(gold, predicted)
    assert str(caught.value).endswith(message)


def test_scores_are_shown_in_one_line() -> None:
    scores = treetune.evaluate(GOLD, TREES)
    assert repr(scores) == f"<Scores: LAS 66.67, UAS 83.33, root 100.00 ({scores.signature('*')})>"
