"""Expressions: every construct of Table 1 is read, written and refused with line and column."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest

from treetune.errors import DataError
from treetune.semantics import ABSTRACTION, UNSPECIFIED, Expression, format_indented, parse_expression
from treetune.semantics.notation import format_expression

FIGURE_1 = (
    "[acquired/stealthily:[in, ^, 2002], Chirpy+Systems, "
    "companies.two:profitable:[producing, ^, pet+accessories]]"
)  # fmt: skip
TABLE_1 = [
    "[sold, Chirpy, Growler]", "company:profitable", "companies.two", "[in, ^, 2005]", "[eating, _, apples]",
    "and{Chirpy, Growler}", "acquired/stealthily", "Chirpy+Systems", "meeting@yesterday", "[came] & [saw]",
    "|Dublin, Paris, Bonn|", "met%as", "[are, analysts.other, pessimistic%nearly%as]",
]  # fmt: skip


@pytest.mark.parametrize("text", [*TABLE_1, FIGURE_1, "(and/both){a, b}", "|a, |b, c||", "(a+b)+c", "a:(b/c)", "x:a+b"])
def test_constructs_are_written_as_they_are_read(text: str) -> None:
    expression = parse_expression(text)
    assert str(expression) == text
    assert Expression.from_dict(json.loads(json.dumps(expression.to_dict()))) == expression


def test_structure() -> None:
    expression = parse_expression("[in, ^, pet+accessories.two, _]")
    assert expression.kind == "tuple"
    assert expression.parts[1] == ABSTRACTION
    assert expression.parts[3] == UNSPECIFIED
    assert [(mark, other.word) for mark, other in expression.parts[2].modifiers] == [("+", "pet"), (".", "two")]
    assert expression.parts[2].word == "accessories"
    assert expression.head.word == "in"
    assert [word.word for word in expression.words()] == ["in", "accessories", "pet", "two"]


@pytest.mark.parametrize(
    ("text", "same"),
    [("(a:b).c", "a:b.c"), ("a+(b+c)", "a+b+c"), ("a+(c.two)", "a+c.two"), ("( a )", "a"), ('"a"', "a")],
)
def test_groups_that_make_no_difference(text: str, same: str) -> None:
    assert parse_expression(text) == parse_expression(same)


@pytest.mark.parametrize(
    "form", ["1.5", "_", "?", "?x", "a b", 'say "x"', "\\", "it's", "&", "#", "-", "a_b", "", "\n"]
)
def test_words_with_special_characters_survive(form: str) -> None:
    expression = Expression("word", form, 3).modified(":", Expression("word", form, 4))
    again = parse_expression(format_expression(expression, positions=True))
    assert again == expression
    assert again.positions() == (3, 4)


def test_positions_do_not_count_for_equality() -> None:
    assert parse_expression("[a#2, b#1]") == parse_expression("[a, b]")
    assert parse_expression("[a#2, b#1]").positions() == (2, 1)


def test_expressions_are_immutable_and_hashable() -> None:
    expression = parse_expression("a:b")
    with pytest.raises(FrozenInstanceError):
        expression.word = "c"  # type: ignore[misc]
    assert {expression: 1}[parse_expression("a:b")] == 1


def test_indented() -> None:
    text = format_indented(parse_expression(FIGURE_1), width=30)
    assert text.splitlines()[:4] == ["[acquired", "     /stealthily", "     :[in, ^, 2002],", " Chirpy+Systems,"]
    assert parse_expression(text) == parse_expression(FIGURE_1)
    assert format_indented(parse_expression(FIGURE_1), width=200) == FIGURE_1


@pytest.mark.parametrize("text", ["and{a:(b.c), |d, e|}/(x:y)", "[a & (b:c), (and/both){d, e}]", "x+[a, b]:c"])
@pytest.mark.parametrize("width", [1, 8, 15])
def test_indented_text_can_be_read(text: str, width: int) -> None:
    assert parse_expression(format_indented(parse_expression(text), width=width)) == parse_expression(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a, b", "line 1: column 6: expected ',', ']' or a connective, found the end"),
        ("[a,\n b c]", "line 2: column 4: expected ',', ']' or a connective, found 'c'"),
        ("^", "line 1: column 1: expected an expression with a word as its head, found '^'"),
        ("[^, a]", "line 1: column 1: expected a word as the first part of a tuple, found ^"),
        ("a:_", "line 1: column 2: expected a word after the connective :, found _"),
        ("[a, ^:b]", "line 1: column 6: expected a word before the connective :, found ^"),
        ("a b", "line 1: column 3: expected a connective or the end, found 'b'"),
        ('a:"x', "line 1: column 3: expected a closing quote, found '\"x'"),
        ("a#", "line 1: column 2: expected a number after #, found '#'"),
        ("a#0", "line 1: column 1: expected the position of a word, from 1, found 0"),
        ("", "line 1: column 1: expected a word, '^', '_', '[', '|' or '(', found the end"),
        ("and{}", "line 1: column 5: expected a word, '^', '_', '[', '|' or '(', found '}'"),
        ("(a:b", "line 1: column 5: expected ')' or a connective, found the end"),
        ("[" * 200, "line 1: column 102: expected expressions nested at most 100 deep; found a deeper one"),
    ],
)
def test_errors_have_line_and_column(text: str, message: str) -> None:
    with pytest.raises(DataError) as raised:
        parse_expression(text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], 'expected an object with "kind"'),
        ({"kind": "verb"}, 'expected an object with "kind"'),
        ({"kind": "word", "word": 3}, 'expected "word" to be a string'),
        ({"kind": "word", "word": "a", "position": 0}, '"position" a whole number from 1'),
        ({"kind": "tuple"}, "expected a word as the first part of a tuple, found nothing"),
        ({"kind": "unspecified"}, "expected an expression with a word as its head, found _ alone"),
        ({"kind": "variable", "word": "x"}, 'expected an object with "kind"'),
        ({"kind": "word", "word": "a", "parts": [{"kind": "word"}]}, 'expected "parts" and pairs as "modifiers"'),
        (
            {"kind": "word", "word": "a", "modifiers": [["!", {"kind": "word", "word": "b"}]]},
            "expected a connective, one of + / . : @ & %, found '!'",
        ),
        (
            {"kind": "collection", "parts": [{"kind": "word", "word": "and"}]},
            "expected a collection to have members, found only its operator 'and'",
        ),
    ],
)
def test_json_of_another_shape_is_refused(content: object, message: str) -> None:
    with pytest.raises(DataError, match=message.replace("+", r"\+").replace(".", r"\.").replace("?", r"\?")):
        Expression.from_dict(content)
