"""Parallel text: one file with tabs, two files, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from treetune.corpus.pairs import Pair, read_pairs
from treetune.errors import DataError


def file(folder: Path, text: str, name: str = "x") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_columns_and_two_files_are_the_same(tmp_path: Path) -> None:
    expected = [Pair("a b", "x"), Pair("", "y"), Pair("c", "")]
    assert list(read_pairs(file(tmp_path, "a b \tx\n\ty\nc\t\n"))) == expected
    assert list(read_pairs(file(tmp_path, "a b \n\nc"), file(tmp_path, "x\r\ny\n\n", "y"))) == expected


def test_lines_without_translations_keep_their_places(tmp_path: Path) -> None:
    assert list(read_pairs(file(tmp_path, "a\n\nb\n"))) == [Pair("a"), Pair(""), Pair("b")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tx\nb\n", "x:2: expected a sentence, a tab and its translation, found 1 columns"),
        ("a\nb\ty\n", "x:2: expected a sentence without a tab, as before, found 2 columns"),
        ("a\tb\tc\n", "x:1: expected a sentence, or a sentence, a tab and its translation, found 3 columns"),
    ],
)
def test_wrong_columns_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        list(read_pairs(file(tmp_path, text)))
    assert str(caught.value) == f"{tmp_path}/{message}"


@pytest.mark.parametrize(("texts", "name"), [(("a\n", "x\ny\n"), "x"), (("a\nb\n", "x\n"), "y")])
def test_the_shorter_file_is_named(texts: tuple[str, str], name: str, tmp_path: Path) -> None:
    paths = [file(tmp_path, text, stem) for text, stem in zip(texts, "xy", strict=True)]
    with pytest.raises(DataError) as caught:
        list(read_pairs(*paths))
    assert str(caught.value) == (
        f"{tmp_path / name}: expected as many lines in both files, found the end of this one before line 2 of the other"
    )
