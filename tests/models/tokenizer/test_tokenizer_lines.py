"""Lines that are sentences of their own: headings, items of lists; and lines that are only wrapped."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizer_samples import trained

from treetune.corpus.rawtext import raw_text
from treetune.models.tokenizer import _kernels as kernels
from treetune.models.tokenizer._line_kernels import LIST_LINES, NARROWEST, STOP_LINES
from treetune.models.tokenizer.characters import encode_text, kind_of
from treetune.models.tokenizer.chunks import find_chunks

LIST = "Shopping list\nMilk\nEggs and butter\nTwo loaves of bread and a jar of honey, please\nTea"
WRAPPED = """\
Introduction
This is the text of a letter that was wrapped at some sixty
characters, as is usual in mail, and which was signed by
Mr. Smith and others."""


def sentences(text: str, line_sentences: bool | None = None) -> list[str]:
    found = list(trained().sentences(text, line_sentences=line_sentences))
    assert raw_text(found) == text
    return [" ".join(sentence.forms[1:]) for sentence in found]


def test_items_of_a_list_are_sentences() -> None:
    items = LIST.replace(",", " ,").split("\n")
    assert sentences(LIST) == items
    assert len(sentences(LIST, line_sentences=False)) < len(items)


def test_a_heading_is_a_sentence_and_wrapped_lines_are_not() -> None:
    first, *others = sentences(WRAPPED)
    assert first == "Introduction"
    assert any("sixty characters" in sentence for sentence in others)
    assert any("signed by Mr. Smith" in sentence for sentence in others)
    assert sentences(WRAPPED, line_sentences=False)[0].startswith("Introduction This")
    assert len(sentences(WRAPPED, line_sentences=True)) == 4


def test_queries_in_lower_case_without_punctuation_are_sentences() -> None:
    queries = ["where is the sea", "who wrote this", "Mary and the bird", "is it far", "how old is he", "when do we go"]
    assert sentences("\n".join(queries)) == queries
    assert sentences("\n".join([*queries, "this one goes on,", "here"]))[-1] == "this one goes on , here"


def test_prose_with_a_line_for_each_clause_is_no_list() -> None:
    text = "We go to the sea\nwhere it is warm\nand swim. The others\nstay at home\nbecause it rains\non them."
    assert kernels.CLOSED not in find_chunks(encode_text(text), close=True).gaps


@pytest.mark.parametrize("bullet", ["-", "–", "*", "•", "1.", "12)", "(3)"])
def test_bullets_begin_a_sentence(bullet: str) -> None:
    line = "we do all of this today and tomorrow and then"
    assert sentences(f"{line}\n{bullet} go out")[0] == line
    assert sentences(f"{line}\n{bullet}x go out")[0] != line


@pytest.mark.parametrize("text", ["Dear Sir,\nIt is", "a bar-\nRoom", "We go\nout", "We go (\nOut"])
def test_a_line_that_goes_on_is_not_closed(text: str) -> None:
    assert kernels.CLOSED not in find_chunks(encode_text(text), close=True).gaps


def bulleted(chunk: str) -> bool:
    if len(chunk) == 1:
        return kind_of(chunk) == "hyphen" or chunk in "*+•·‣◦▪■●○"
    inner = chunk[:-1].removeprefix("(") if kind_of(chunk[0]) == "open" else chunk[:-1]
    return len(chunk) <= 4 and kind_of(chunk[-1]) in ("stop", "close") and all(kind_of(c) == "digit" for c in inner)


def closed(text: str) -> list[int]:
    """Return the numbers of the chunks before which a line is closed: in a text without paragraphs, in plain Python."""
    lines = [line for line in text.split("\n") if line.split()]
    starts, count = [], 0
    for line in lines:
        starts.append(count)
        count += len(line.split())
    width = max([NARROWEST, *(len(line.strip()) for line in lines)])
    room = [len(line.strip()) + 1 + len(after.split()[0]) <= width for line, after in itertools.pairwise(lines)]
    stops = sum(any(kind_of(chunk[-1]) in ("stop", "end") for chunk in line.split()) for line in lines)
    is_list = len(room) >= LIST_LINES and 2 * sum(room) > len(room) and STOP_LINES * stops <= len(room)
    found = []
    for place, start in enumerate(starts[1:]):
        end, begin = lines[place].rstrip()[-1], lines[place + 1].split()[0]
        goes_on = kind_of(end) in ("comma", "hyphen", "open") or (not is_list and kind_of(begin[0]) == "lower")
        if bulleted(begin) or ((room[place] or 2 * sum(room) > len(room)) and not goes_on):
            found.append(start)
    return found


words = st.sampled_from(
    ["A", "an", "Tea", "x" * 30, "Y" * 20, "-", "1.", "(2)", "12345.", ",", "so,", "(", "Long-ish", "*"]
)
lines = st.lists(st.lists(words, min_size=1, max_size=5).map(" ".join), max_size=8).map("\n".join)


@given(lines)
def test_the_kernel_closes_the_lines_of_the_twin(text: str) -> None:
    gaps = find_chunks(encode_text(text), close=True).gaps.tolist()
    assert [chunk for chunk, gap in enumerate(gaps) if gap == kernels.CLOSED] == closed(text)


def test_paragraphs_are_looked_at_one_by_one() -> None:
    text = f"{WRAPPED}\n\n{LIST}"
    assert sentences(text) == sentences(WRAPPED) + sentences(LIST)
