"""A reordered sentence remembers its order, and can be undone to the byte; the picture shows what it should."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reorder_samples import JOHN, UD_LIVING

from strategies import sentences, trees
from treetune.corpus.conllu import format_conllu
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.reorder import Reorderer, load_rules
from treetune.reorder.drawing import MOVES, STAYS, draw_order
from treetune.reorder.reversible import SOURCE, reorder_sentence, restore_order, source_ids

SVG = "{http://www.w3.org/2000/svg}"


@st.composite
def orderings(draw: st.DrawFn) -> tuple[Sentence, Tree, list[int]]:
    sentence = draw(sentences(max_size=5))
    tree = draw(trees(size=len(sentence)))
    return sentence, tree, draw(st.permutations(range(1, len(sentence) + 1)))


@given(orderings())
def test_a_kept_order_is_undone_to_the_byte(drawn: tuple[Sentence, Tree, list[int]]) -> None:
    sentence, tree, order = drawn
    kept = reorder_sentence(sentence, tree, order)
    assert kept[0].forms[1:] == tuple(sentence.forms[word] for word in order)
    assert source_ids(kept[0]) == tuple(order)
    assert format_conllu(*restore_order(*kept)) == format_conllu(sentence, tree)


def test_the_old_text_and_tokens_are_kept_in_comments() -> None:
    sentence = replace(
        Sentence.of(["do", "n't", "go"]),
        comments=("# sent_id = s1", "# text = don't go"),
        multiword=((1, "1-2\tdon't" + "\t_" * 8),),
    )
    kept = reorder_sentence(sentence, Tree.of([3, 3, 0], ["aux", "advmod", "root"]), [3, 2, 1])[0]
    assert kept.comments[:2] == ("# sent_id = s1", "# source_text = don't go")
    assert kept.multiword == ()
    assert kept.misc[1:] == (f"{SOURCE}=3", f"{SOURCE}=2", f"{SOURCE}=1")


@pytest.mark.parametrize(
    ("misc", "message"),
    [
        (["SourceId=1", "_"], "expected SourceId=… in MISC of word 2, which 'treetune reorder' writes, found _"),
        (["SourceId=1", "SourceId=x"], "expected SourceId=… in MISC of word 2, which 'treetune reorder' writes, found "
         "SourceId=x"),
        (["SourceId=1", "SourceId=1"], "expected every SourceId from 1 to 2 once, found [1, 1]"),
    ],
)  # fmt: skip
def test_a_sentence_that_was_not_reordered_cannot_be_undone(misc: list[str], message: str) -> None:
    sentence = replace(Sentence.of(["a", "b"]), misc=("<root>", *misc))
    with pytest.raises(DataError) as caught:
        restore_order(sentence, Tree.of([0, 1]))
    assert str(caught.value) == message


def test_a_sentence_can_be_reordered_twice() -> None:
    once = reorder_sentence(*JOHN, (2, 1, 3, 4, 6, 5))
    twice = reorder_sentence(*once, (6, 5, 4, 3, 2, 1))
    assert restore_order(*twice) == once
    assert restore_order(*restore_order(*twice)) == JOHN


def texts(picture: ElementTree.Element) -> list[tuple[float, float, str]]:
    found = picture.iter(f"{SVG}text")
    return [(float(text.get("y", "")), float(text.get("x", "")), text.text or "") for text in found]


def test_a_picture_has_both_orders_the_tree_and_a_line_a_word() -> None:
    sentence, tree = UD_LIVING
    order = Reorderer(load_rules("ja")).order(sentence, tree)
    picture = ElementTree.fromstring(draw_order(sentence, tree, order, title="<Japanese>"))
    found = texts(picture)
    assert found[0][2] == "<Japanese>"
    lowest = sorted({y for y, _, _ in found})[-2:]
    rows = [[text for y, _, text in sorted(found) if y == line] for line in lowest]
    assert rows == [list(sentence.forms[1:]), [sentence.forms[word] for word in order]]
    assert sorted(text for y, _, text in found[1:] if y < lowest[0]) == sorted(tree.labels[1:])
    strokes = [path.get("stroke") for path in picture.iter(f"{SVG}path")]
    # The period and four others form the longest part that keeps its order.
    assert (strokes.count(STAYS), strokes.count(MOVES)) == (5, 8)


def test_an_order_that_changes_nothing_moves_nothing() -> None:
    picture = draw_order(*JOHN, (1, 2, 3, 4, 5, 6))
    assert MOVES not in picture


@given(orderings())
def test_every_sentence_can_be_drawn(drawn: tuple[Sentence, Tree, list[int]]) -> None:
    sentence, tree, order = drawn
    picture = ElementTree.fromstring(draw_order(sentence, tree, order))
    width, height = float(picture.get("width", "")), float(picture.get("height", ""))
    assert all(0 < x < width and 0 < y < height for y, x, _ in texts(picture))


def test_what_is_no_order_is_not_drawn() -> None:
    with pytest.raises(DataError, match=r"^expected every word from 1 to 6 once in the order, found \[1\]$"):
        draw_order(*JOHN, (1,))
