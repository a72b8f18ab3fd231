"""The raw text of treebanks, and files of raw text."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies  # noqa: F401 - tests are not timed
from treetune.corpus import textfiles
from treetune.corpus.conllu import read_conllu
from treetune.corpus.rawtext import escape_spaces, paragraphs, raw_text, sentence_text, surface_tokens, unescape_spaces
from treetune.corpus.sentence import Sentence
from treetune.corpus.textfiles import read_text, text_blocks
from treetune.errors import DataError

TEXT = """\
# newdoc id = a
# newpar
1-2\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
1\tca\t_\t_\t_\t_\t0\troot\t_\t_
2\tn't\t_\t_\t_\t_\t1\tdep\t_\t_
3\tgo\t_\t_\t_\t_\t1\tdep\t_\tSpaceAfter=No
4\t!\t_\t_\t_\t_\t1\tdep\t_\tSpaceAfter=No

1\tNo\t_\t_\t_\t_\t0\troot\t_\tX=Y|SpacesAfter=\\s\\n
2\t.\t_\t_\t_\t_\t1\tdep\t_\t_

# newpar id = 2
1\tYes\t_\t_\t_\t_\t0\troot\t_\tSpacesBefore=\\t|SpaceAfter=No
"""


def sentences() -> list[Sentence]:
    return [example.sentence for example in read_conllu(TEXT.split("\n"))]


def test_raw_text_is_joined_as_the_treebank_says() -> None:
    assert raw_text(sentences()) == "can't go!No \n.\n\n\tYes"
    assert sentence_text(sentences()[0]) == "can't go!"
    assert raw_text([]) == ""


def test_a_paragraph_knows_where_its_tokens_are() -> None:
    first, second = paragraphs(sentences())
    assert first.text == "can't go!No \n. "
    assert first.tokens == (((0, 5), (6, 8), (8, 9)), ((9, 11), (13, 14)))
    assert first.words == ((("ca", "n't"), ("go",), ("!",)), (("No",), (".",)))
    assert second.tokens == (((0, 3),),)


def test_a_multiword_token_is_one_token() -> None:
    assert [(token.form, token.first, token.last) for token in surface_tokens(sentences()[0])] == [
        ("can't", 1, 3),
        ("go", 3, 4),
        ("!", 4, 5),
    ]


@given(st.text(" \t\r\n|\\snu0\u00a0\u2003x"))
def test_spaces_survive_misc(spaces: str) -> None:
    escaped = escape_spaces(spaces)
    assert unescape_spaces(escaped) == spaces
    assert not set(escaped) & set(" \t\r\n|\u00a0\u2003")


def test_spaces_without_a_letter_are_written_by_number() -> None:
    assert escape_spaces("\u00a0\x0b") == "\\u00A0\\u000B"
    assert unescape_spaces("\\u00a0x\\\\u00a0") == "\u00a0x\\u00a0"


@given(st.text("ab \n", max_size=300), st.booleans())
def test_blocks_are_the_text(text: str, lines: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("treetune.corpus.textfiles.BLOCK", 16)
        patch.setattr("treetune.corpus.textfiles.LARGEST_BLOCK", 64)
        found = blocks_of([text], lines=lines)
    assert "".join(piece for piece, _ in found) == text
    for (piece, is_whole), (following, _) in itertools.pairwise(found):
        assert piece.strip() or not text.strip()
        assert not following[0].isspace()
        assert not is_whole or piece[len(piece.rstrip()) :].count("\n") >= (1 if lines else 2)


def blocks_of(pieces: list[str], *, lines: bool = False) -> list[tuple[str, bool]]:
    blocks = text_blocks(pieces, lines=lines)
    found = list(itertools.islice(blocks, 1))
    with contextlib.suppress(StopIteration):
        while found:
            found.append(blocks.send(len(found[-1][0])))
    return found


LINE_END = r"(?:\r\n|\r(?!\n)|[\n\x0c\u2028\u2029])"


@given(st.text("a \n\r\x0c\u2028", max_size=80), st.integers(1, 40), st.booleans())
def test_blocks_end_where_the_last_paragraph_or_line_begins(text: str, size: int, lines: bool) -> None:
    break_ = LINE_END if lines else rf"(?:{LINE_END}[^\S\n\r]*{LINE_END}|[\x0c\u2029])"
    ends = [match.end() for match in re.finditer(rf"{break_}\s*(?=\S)", text[:size])]
    expected = [end for end in ends if text[:end].strip()]
    pattern = textfiles._AFTER_LINE if lines else textfiles._AFTER_PARAGRAPH
    first = len(text) - len(text.lstrip())
    assert textfiles._last_end(pattern, text, first, size) == (expected[-1] if expected else 0)


@given(st.text("ab \n\r", max_size=200), st.integers(1, 50), st.booleans())
def test_blocks_are_the_same_for_any_pieces(text: str, size: int, lines: bool) -> None:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("treetune.corpus.textfiles.BLOCK", 8)
        patch.setattr("treetune.corpus.textfiles.LARGEST_BLOCK", 32)
        assert blocks_of(pieces, lines=lines) == blocks_of([text], lines=lines)


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "\n" * 1_000_000,
        "a" + "\n" * 1_000_000 + "b",
        "\n" * 1_000_000 + "b c",
        " " * 1_000_000 + "b",
        "a" + " " * 1_000_000 + "b",
        "a" + "\n " * 500_000 + "b",
        "a" + "\r\x0b" * 500_000 + "b",
        "ab " * 40_000 + "\n" * 20_000 + "ab " * 60_000,
        "x" * 10_000_000,
    ],
    ids=["newlines", "a-newlines-b", "newlines-b", "spaces-b", "a-spaces-b", "mixed", "returns", "border", "no-space"],
)
def test_runs_of_white_space_take_linear_time(text: str, lines: bool) -> None:
    started = time.process_time()
    found = blocks_of([text], lines=lines)
    # A hundredth of a second or so; with time quadratic in the text it would be minutes.
    assert time.process_time() - started < 3
    assert "".join(block for block, _ in found) == text
    assert all(block.strip() for block, _ in found) or len(found) == 1


def test_a_paragraph_ends_with_any_number_of_blank_lines() -> None:
    blank = "\n" * (textfiles.LARGEST_BLOCK + 5)
    assert blocks_of([f"a{blank}b"]) == [(f"a{blank}", True), ("b", True)]
    assert blocks_of([f"a{' ' * len(blank)}b"]) == [(f"a{' ' * len(blank)}", False), ("b", True)]


def test_white_space_before_a_text_does_not_cut_its_first_word() -> None:
    text = " " * (textfiles.LARGEST_BLOCK + 5) + "word"
    assert blocks_of([text]) == [(text, True)]


def test_a_large_text_is_taken_apart_once() -> None:
    # The rest of the text is not copied for every block.
    text = "some words\n\n" * 4_000_000
    started = time.process_time()
    assert sum(len(block) for block, _ in blocks_of([text])) == len(text)
    assert time.process_time() - started < 3


def test_a_line_end_of_two_characters_is_one() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("treetune.corpus.textfiles.BLOCK", 8)
        assert list(text_blocks(["abc\r\nabc abc"])) == [("abc\r\nabc abc", True)]
        blocks = text_blocks(["abc\r\n\r\nabc abc"])
        assert next(blocks) == ("abc\r\n\r\n", True)
        assert blocks.send(7) == ("abc abc", True)


def test_files_of_text_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "é字🙂 a\r\n" * 40
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr("treetune.corpus.files.CHUNK", 3)
    for name in ("a.txt", "a.txt.gz"):
        pieces = list(read_text(tmp_path / name))
        assert "".join(pieces) == text
        assert len(pieces) > 100


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"ab\nc\xff", r"a\.txt:2: expected UTF-8 text, found the byte 0xff as byte 2 of the line"),
        (b"\xc3\xa9\xe2\x82", r"a\.txt:1: expected UTF-8 text, found the byte 0xe2 as byte 3 of the line"),
        (b"ab\n\xed\xa0\x80", r"a\.txt:2: expected UTF-8 text, found the byte 0xed as byte 1 of the line"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 2, 1000])
def test_what_is_not_utf8_is_refused(
    tmp_path: Path, data: bytes, message: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treetune.corpus.files.CHUNK", chunk)
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(DataError, match=message):
        list(read_text(tmp_path / "a.txt"))


def test_comments_alone_say_where_paragraphs_are() -> None:
    one = Sentence.of(["a"])
    assert raw_text([one, one]) == "a a "
    assert raw_text([one, replace(one, comments=("#newpar",))]) == "a\n\na "
    assert raw_text([one, replace(one, comments=("# newdoc id = 2",))]) == "a\n\na "
    assert raw_text([one, replace(one, comments=("# text = newpar",))]) == "a a "


@pytest.mark.data
def test_the_text_of_real_treebanks_is_that_of_their_comments(data_dir: Path) -> None:
    for name in ("en_ewt-dev", "cs_cltt-dev", "en_gum-dev"):
        for example in read_conllu(data_dir / "ud" / f"{name}.conllu"):
            assert f"# text = {sentence_text(example.sentence)}" in example.sentence.comments
