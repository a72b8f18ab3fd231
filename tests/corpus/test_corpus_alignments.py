"""Word alignments: links from files to orders, links of reordered words, and what is wrong with files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetune.corpus.alignments import SentencePair, coverage, read_links, read_sentence_pairs, write_alignments
from treetune.corpus.orders import Ordered, WordOrder
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError

PAIRS = [SentencePair(("a", "b"), ("x", "y")), SentencePair(("c",), ("z",))]


def file(folder: Path, text: str, name: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def read(folder: Path, links: str) -> list[Ordered]:
    return [pair.ordered(found) for pair, found in read_links(file(folder, links, "links"), PAIRS)]


def test_alignments_of_two_texts(tmp_path: Path) -> None:
    source, target = file(tmp_path, "a b\nc\n", "source"), file(tmp_path, "x y\nz\n", "target")
    assert list(read_sentence_pairs(source, target)) == PAIRS
    assert list(read_sentence_pairs(file(tmp_path, "a b\tx y\nc\tz\n", "pairs"))) == PAIRS
    items = read(tmp_path, "0-1 1-0\n\n")
    assert [item.order.words for item in items] == [(2, 1), ()]
    assert [item.sentence.forms[1:] for item in items] == [("a", "b"), ("c",)]
    again = [tmp_path / name for name in ("l", "s", "t")]
    assert write_alignments(items, *again) == 2
    assert [path.read_text() for path in again] == ["0-1 1-0\n\n", "a b\nc\n", "x y\nz\n"]


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ("0-0\n0_1\n", "links:2: expected links such as 0-0 1-2, found '0_1'"),
        ("0-2\n\n", "links:1: expected links up to 1-1, the last words of the two sentences, found 0-2"),
        ("0-0\n", "links: expected as many lines as there are sentence pairs, found the end before line 2"),
        ("0-0\n0-0\n\n", "links:3: expected 2 lines, one for each sentence pair, found more"),
    ],
)
def test_wrong_alignments_are_named(links: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, links)
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_translations_are_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x:1: expected a translation behind a tab, or in a second file, found none$"):
        list(read_sentence_pairs(file(tmp_path, "a b\n", "x")))


def test_reordered_lines_are_read_with_their_orders(tmp_path: Path) -> None:
    path = file(tmp_path, '{"tokens": ["a", "b"], "order": [1, 0], "target": "x y"}\n', "x.jsonl")
    (pair,) = read_sentence_pairs(path)
    assert pair == SentencePair(("a", "b"), ("x", "y"), (2, 1))
    assert pair.aligned_words == ("b", "a")
    # Translations of a second file count: they may be tokenized.
    (other,) = read_sentence_pairs(path, file(tmp_path, "x y .\n", "y"))
    assert other.target == ("x", "y", ".")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[]", 'expected the JSON lines of \'treetune reorder parallel\', with "tokens" and "order"'),
        ('{"tokens": ["a"]}', 'expected the JSON lines of \'treetune reorder parallel\', with "tokens" and "order"'),
        (
            '{"tokens": ["a", "b"], "order": [0]}',
            'expected the JSON lines of \'treetune reorder parallel\', with "tokens" and "order" of all words',
        ),
        (
            '{"tokens": ["a"], "order": [0]}',
            'expected a "target", the translation, or a second file with the translations, found neither',
        ),
    ],
)
def test_wrong_reordered_lines_are_named(line: str, message: str, tmp_path: Path) -> None:
    path = file(tmp_path, f"{line}\n", "x.jsonl")
    with pytest.raises(DataError) as caught:
        list(read_sentence_pairs(path))
    assert str(caught.value) == f"{path}:1: {message}"


@given(st.permutations(range(1, 6)), st.sets(st.tuples(st.integers(1, 5), st.integers(1, 4))))
def test_links_of_reordered_words_are_mapped_back(order: list[int], links: set[tuple[int, int]]) -> None:
    words, target = tuple("abcde"), tuple("wxyz")
    moved = SentencePair(words, target, tuple(order))
    plain = SentencePair(words, target)
    named = {(moved.aligned_words[place - 1], target[other - 1]) for place, other in links}
    # The same words are linked, and so the order is that of the same links between words in their own places.
    own = [(words.index(word) + 1, target.index(other) + 1) for word, other in named]
    assert moved.ordered(links) == plain.ordered(own)
    back = moved.ordered(links).order.links
    assert {(words[word - 1], target[place - 1]) for word, place in back} == named


def test_coverage_counts_the_words_of_both_sides() -> None:
    assert coverage(PAIRS[0], ((1, 1), (2, 1))) == 0.75
    assert coverage(PAIRS[0], ()) == 0
    assert coverage(SentencePair((), ()), ()) == 0


def test_orders_without_links_are_no_alignments(tmp_path: Path) -> None:
    bare = Ordered(Sentence.of(["a", "b"]), WordOrder((2, 1)), Tree.unknown(2))
    with pytest.raises(
        DataError, match=r"^sentence 1: expected an order with links and the words of the other language"
    ):
        write_alignments([bare], tmp_path / "l", tmp_path / "s", tmp_path / "t")
    assert not (tmp_path / "l").exists()
