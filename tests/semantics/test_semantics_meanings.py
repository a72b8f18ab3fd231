"""Alignment, files of sentences with expressions, scores and the loss."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.treebank import write_trees
from treetune.errors import ConfigError, DataError
from treetune.evaluation.meanings import evaluate_meanings
from treetune.losses import NaturalLogicalForm, make_loss
from treetune.sample import generate
from treetune.semantics import encode, from_ud, parse_expression
from treetune.semantics.alignment import align, alignment_accuracy
from treetune.semantics.meanings import (
    Meaning,
    as_indented,
    as_json,
    as_text,
    as_tree,
    read_meanings,
    realigned,
    with_frequent_labels,
)

CATS = Meaning(
    Sentence.of(["The", "cat", "sees", "the", "dog", "."]), parse_expression("[sees#3, cat#2.The#1, dog#5.the#4]")
)


def test_repeated_words_go_to_their_heads() -> None:
    forms = ["<root>", *["the", "cat", "sees", "the", "dog", "near", "the", "house"]]
    expression = parse_expression("[sees:[near, ^, house.the], cat.the, dog.the]")
    assert str(align(expression, forms)) == str(expression)
    assert align(expression, forms).positions() == (3, 6, 8, 7, 2, 1, 5, 4)


def test_given_positions_are_kept() -> None:
    forms = ["<root>", "a", "b", "a"]
    assert align(parse_expression("[b, a#3, a]"), forms).positions() == (2, 3, 1)


def test_words_that_all_look_alike_are_aligned() -> None:
    assert align(parse_expression("[a:a, a]"), ["<root>", "a", "a", "a"]).positions() == (1, 2, 3)


def test_alignment_of_the_sample_is_mostly_true() -> None:
    true = [from_ud(one.sentence, one.gold) for one in generate(150, seed=2)]
    sentences = [one.sentence for one in generate(150, seed=2)]
    found = [align(parse_expression(str(one)), sentence.forms) for one, sentence in zip(true, sentences, strict=True)]
    assert found == true
    assert alignment_accuracy(found, true) > 0.97


def test_words_of_another_sentence_are_named() -> None:
    with pytest.raises(DataError, match="found 'b' 1 times instead of 0"):
        align(parse_expression("[a, b]"), ["<root>", "a"])
    with pytest.raises(DataError, match="expected at least one expression, found none"):
        alignment_accuracy([], [])


def test_forms_of_a_meaning(tmp_path: Path) -> None:
    assert as_text(CATS) == "[sees, cat.The, dog.the]\n"
    assert as_indented(CATS) == "[sees, cat.The, dog.the]\n\n"
    content = json.loads(as_json(CATS))
    assert (content["words"], content["nlf"], content["covered"]) == (
        ["The", "cat", "sees", "the", "dog", "."],
        "[sees, cat.The, dog.the]",
        True,
    )
    assert as_tree(CATS).splitlines()[0] == "# nlf = [sees#3, cat#2.The#1, dog#5.the#4]"
    for name, text in (("a.jsonl", as_json(CATS)), ("a.conllu", as_tree(CATS))):
        (tmp_path / name).write_text(text, "utf-8")
        (found,) = read_meanings(tmp_path / name)
        assert (found.expression, found.expression.positions()) == (CATS.expression, CATS.expression.positions())
        assert found.tree() == CATS.tree()


def test_files_of_all_kinds(tmp_path: Path) -> None:
    items = list(generate(5, seed=1))
    write_trees(items, tmp_path / "ud.conllu")
    assert [one.expression for one in read_meanings(tmp_path / "ud.conllu")] == [
        from_ud(one.sentence, one.gold) for one in items
    ]
    (tmp_path / "a.mrg").write_text("( (S (NP-SBJ (PRP I)) (VP (VBP go))))", "utf-8")
    assert [str(one.expression) for one in read_meanings(tmp_path / "a.mrg")] == ["[go, I]"]
    (tmp_path / "a.jsonl").write_text('{"words": ["a", "b", "."], "nlf": "[b, a]"}\n\n', "utf-8")
    (found,) = read_meanings(tmp_path / "a.jsonl")
    assert found.expression.positions() == (2, 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "a.jsonl:1: expected a JSON object, found Expecting property name enclosed in double quotes"),
        ("[]", 'a.jsonl:1: expected an object with "words", a list of texts'),
        ('{"words": ["a"]}', 'a.jsonl:1: expected "nlf" or "expression", found neither'),
        ('{"words": ["a"], "nlf": "[a"}', "nlf: line 1, column 3: expected ',', ']' or a connective, found the end"),
        (
            '{"words": ["a"], "nlf": "b"}',
            "jsonl:1: nlf: expected every word of the sentence once in the expression, "
            "found 'a' 0 times instead of 1",
        ),
    ],
)  # fmt: skip
def test_json_with_faults_is_refused(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "a.jsonl").write_text(line, "utf-8")
    with pytest.raises(DataError) as raised:
        list(read_meanings(tmp_path / "a.jsonl"))
    assert str(raised.value).endswith(message)


def test_training_data_without_positions_and_with_few_labels() -> None:
    meanings = [Meaning(one.sentence, from_ud(one.sentence, one.gold)) for one in generate(40, seed=1)]
    assert [realigned(one).expression for one in meanings] == [one.expression for one in meanings]
    examples = [one.example() for one in meanings]
    assert {tag for one in examples for tag in one.sentence.upos[1:]} == {"_"}
    few = with_frequent_labels(examples, 6)
    assert 0 < len(few) < len(examples)
    assert len({label for one in few for label in one.gold.labels[1:]} - {"punct"}) <= 6


def test_scores_count_words_and_expressions() -> None:
    forms, gold = CATS.sentence.forms, CATS.tree()
    labels = list(gold.labels)
    labels[1] = "*:"
    heads = list(gold.heads)
    heads[6] = 3
    wrong = Tree(tuple(heads), tuple(labels))
    scores = evaluate_meanings([(forms, gold, wrong), (forms, gold, gold)])
    assert (scores.words, scores.right, scores.right_heads, scores.sentences, scores.exact) == (10, 9, 10, 2, 1)
    assert (scores.accuracy, scores.head_accuracy, scores.exact_match) == (90, 100, 50)
    assert NaturalLogicalForm().costs(CATS.sentence, [wrong, gold], gold) == pytest.approx([0.2, 0])
    assert NaturalLogicalForm(measure="expression").costs(CATS.sentence, [wrong, gold], gold) == [1, 0]
    with pytest.raises(DataError, match="sentence 1: expected trees of 6 words, found 6 and 1"):
        evaluate_meanings([(forms, gold, Tree.of([0]))])


def test_punctuation_does_not_cost() -> None:
    gold = CATS.tree()
    other = Tree((*gold.heads[:-1], 3), (*gold.labels[:-1], "*%"))
    assert NaturalLogicalForm()(CATS.sentence, other, gold) == 0
    assert NaturalLogicalForm(measure="expression")(CATS.sentence, other, gold) == 0
    assert NaturalLogicalForm().known(CATS.sentence, gold).heads == (*gold.heads[:-1], -1)


def test_settings_and_references_of_the_loss() -> None:
    loss = make_loss("nlf", measure="expression")
    assert loss.settings() == {"name": "nlf", "measure": "expression"}
    with pytest.raises(ConfigError, match="unknown measure 'all'; known: expression, words"):
        NaturalLogicalForm(measure="all")  # type: ignore[arg-type]
    NaturalLogicalForm().check(CATS.sentence, CATS.tree())
    item = next(iter(generate(1, seed=1)))
    with pytest.raises(DataError, match=r"loss nlf needs encoded trees \('treetune nlf convert'\), found the label"):
        NaturalLogicalForm().check(item.sentence, item.gold)
    with pytest.raises(DataError, match="loss nlf needs a reference with all heads; found a partial tree"):
        NaturalLogicalForm().check(CATS.sentence, Tree.unknown(6))


def test_encoded_examples_are_examples() -> None:
    assert CATS.example() == Example(CATS.sentence, encode(CATS.expression, CATS.sentence.forms))
