"""Encoding and decoding: Table 3 exactly, the identity on every expression, and an expression for every tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import tree_heads
from treetune.corpus.sentence import Tree
from treetune.corpus.treebank import read_trees
from treetune.errors import DataError
from treetune.sample import KINDS, generate
from treetune.semantics import decode, encode, from_ud, parse_expression
from treetune.semantics.encoding import is_label
from treetune.semantics.expression import CONNECTIVES, Expression, check_form, composite, word
from treetune.semantics.notation import format_expression
from treetune.semantics.tokens import check_words

TEXT = "In 2002 , Chirpy Systems stealthily acquired two profitable companies producing pet accessories ."
FORMS = ["<root>", *TEXT.split()]
FIGURE_1 = (
    "[acquired#7/stealthily#6:[In#1, ^, 2002#2], Chirpy#4+Systems#5, "
    "companies#10.two#8:profitable#9:[producing#11, ^, pet#12+accessories#13]]"
)
TABLE_3 = """
In acquired [:^1-*0
2002 In -*2
Chirpy Systems *+
Systems acquired -*1
stealthily acquired */
acquired <root> [*0
two companies *.
profitable companies *:
companies acquired -*2
producing companies [:^1-*0
pet accessories *+
accessories producing -*2
"""


@st.composite
def expressions(draw: st.DrawFn, size: int | None = None) -> Expression:
    """Draw an expression with every construct over the words w1 … wn, at any positions."""
    size = draw(st.integers(1, 9)) if size is None else size
    order = iter(draw(st.permutations(range(1, size + 1))))
    return _drawn(draw, order, size)


def _drawn(draw: st.DrawFn, positions: Iterator[int], size: int) -> Expression:
    """Draw an expression of `size` words: a core, its other parts and its modifiers share what is left."""
    kind = draw(st.sampled_from(["word", "tuple", "sequence", *(["collection"] if size > 1 else [])]))
    if kind == "word":
        position = next(positions)
        core, left = word(f"w{position}", position), size - 1
    else:
        first = draw(st.integers(1, size - (kind == "collection")))
        parts, left = [_drawn(draw, positions, first)], size - first
        while left and (draw(st.booleans()) or (kind == "collection" and len(parts) == 1)):
            taken = draw(st.integers(1, left))
            parts.append(_drawn(draw, positions, taken))
            left -= taken
        for sign in draw(st.lists(st.sampled_from(["abstraction", "unspecified"]), max_size=2)):
            parts.insert(draw(st.integers(1, len(parts))), Expression(sign))  # type: ignore[arg-type]
        core = composite(kind, *parts)  # type: ignore[arg-type]
    while left:
        taken = draw(st.integers(1, left))
        core = core.modified(draw(st.sampled_from(CONNECTIVES)), _drawn(draw, positions, taken))
        left -= taken
    return core


def forms_of(expression: Expression) -> list[str]:
    return ["<root>", *(f"w{number}" for number in range(1, len(expression.positions()) + 1))]


def same(one: Expression, other: Expression) -> bool:
    return one == other and one.positions() == other.positions()


def test_the_running_example_yields_table_3() -> None:
    tree = encode(parse_expression(FIGURE_1), FORMS)
    rows = [
        f"{form} {FORMS[head]} {label}"
        for form, head, label in zip(FORMS[1:], tree.heads[1:], tree.labels[1:], strict=True)
        if label != "punct"
    ]
    assert sorted(rows) == sorted(TABLE_3.strip().splitlines())
    assert [tree.heads[3], tree.heads[14]] == [2, 13]
    assert format_expression(decode(tree, FORMS), positions=True) == FIGURE_1


@settings(max_examples=40)
@given(expressions())
def test_decoding_inverts_encoding(drawn: Expression) -> None:
    expression = drawn.canonical()
    check_form(expression)
    tree = encode(expression, forms_of(expression))
    assert all(is_label(label) for label in tree.labels[1:])
    assert same(decode(tree, forms_of(expression)), expression)
    # The order of modifiers is not encoded: any order gives the same tree.
    assert encode(drawn, forms_of(drawn)) == tree


@settings(max_examples=40)
@given(expressions())
def test_text_and_json_keep_every_expression(expression: Expression) -> None:
    assert same(parse_expression(format_expression(expression, positions=True)), expression)
    assert same(Expression.from_dict(expression.to_dict()), expression)


_LABELS = st.text("[{|:/.+&@%*0123^_-", max_size=8) | st.sampled_from(
    ["[*0", "-*1", "-*2", "*:", "[:^1-*0", "{1*0", "-{1*0", "punct", "", "nsubj", "[_1-*0", "-[&_1-*0", "*0", "-*999"]
)


@given(st.data())
def test_every_tree_decodes_to_an_expression_over_its_words(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    forms = ["<root>", *data.draw(st.lists(st.sampled_from(["a", "b", ",", "1.5", "%"]), min_size=size, max_size=size))]
    labels = data.draw(st.lists(_LABELS, min_size=size, max_size=size))
    expression = decode(Tree(data.draw(tree_heads(size)), ("", *labels)), forms)
    check_form(expression)
    check_words(expression, forms)
    assert None not in expression.positions()
    again = encode(expression, forms)
    assert same(decode(again, forms), expression)


@pytest.mark.parametrize("label", ["*:", "[:^1-*0", "nonsense", "[[[[*0", "-*2"])
def test_chains_of_thousands_of_words_decode(label: str) -> None:
    size = 1200
    forms = ["<root>"] + ["w"] * size
    expression = decode(Tree(tuple(range(-1, size)), ("", *[label] * size)), forms)
    assert len(expression.positions()) == size
    assert parse_expression(str(expression)) == expression


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (["-*1", "[*0", "-*1"], "[b, a, c]"),
        (["-*2", "[*0", "-*2"], "[b, _, a, c]"),
        (["-*1", "*", "*:"], "b:c%a"),
        (["*:", "{*0", "*/"], "b/c:a"),
        (["punct", "x", "-*7"], "b%a%c"),
        (["-*:", "[-*0", "*"], "b:a%c"),
        (["-*500", "[*0", "-*1"], "[b, c, a]"),
    ],
)
def test_inconsistent_trees_are_repaired(labels: list[str], text: str) -> None:
    assert str(decode(Tree((-1, 2, 0, 2), ("", *labels)), ["<root>", "a", "b", "c"])) == text


def test_every_converted_sentence_of_the_sample_survives() -> None:
    for item in generate(150, kinds=KINDS, seed=5):
        expression = from_ud(item.sentence, item.gold)
        assert same(decode(encode(expression, item.sentence.forms), item.sentence.forms), expression)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["en_ewt-dev", "cs_fictree-dev", "el_gdt-dev", "fr_partut-dev", "tr_imst-dev"])
def test_every_converted_sentence_of_a_treebank_survives(data_dir: Path, name: str) -> None:
    for item in read_trees(data_dir / "ud" / f"{name}.conllu"):
        expression = from_ud(item.sentence, item.gold)
        check_form(expression)
        assert same(decode(encode(expression, item.sentence.forms), item.sentence.forms), expression)


@pytest.mark.parametrize(
    ("text", "forms", "message"),
    [
        ("[a#1, b#2]", "a b c", "every word of the sentence once in the expression, found 'c' 0 times instead of 1"),
        ("[a#1, a#2]", "a b", "expected 'a' at position 2 of the sentence, found 'b'"),
        ("[a#1, b#9]", "a b", "expected 'b' at position 9 of the sentence, found no word"),
        ("[a#1, a#1]", "a a", "expected every position once in the expression, found 1 twice"),
        ("[a#1, b]", "a b", "a position for every word of the expression, found a word without; align it first"),
    ],
)
def test_words_that_are_missing_or_misplaced_are_named(text: str, forms: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        encode(parse_expression(text), ["<root>", *forms.split()])


@pytest.mark.parametrize(
    ("heads", "message"),
    [((-1, 2, 1), "found none"), ((-1, 0, 3, 2), "found heads that make a cycle"), ((-1, 0), "expected heads of 2 wo")],
)
def test_what_is_no_tree_is_refused(heads: tuple[int, ...], message: str) -> None:
    forms = ["<root>", "a", "b", "c"][: max(len(heads), 3)]
    with pytest.raises(DataError, match=message):
        decode(Tree(heads, ("*",) * len(heads)), forms)
