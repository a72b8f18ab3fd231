"""CoNLL-X, and choosing between the two formats."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from corpus_samples import DOGS, FULL, block, word
from hypothesis import given

from strategies import examples
from treetune.corpus import (
    Example,
    SkipReport,
    Tree,
    format_conllx,
    read_conllu,
    read_conllx,
    read_trees,
    write_conllx,
    write_trees,
)
from treetune.errors import ConfigError, DataError


def test_columns_and_what_is_not_kept() -> None:
    text = block("1\ta\tb\tC\tD\te\t0\troot\t0\tproot")
    (example,) = read_conllx(text.split("\n"))
    assert example.sentence.upos == ("<root>", "C")
    assert example.sentence.xpos == ("<root>", "D")
    assert example.sentence.misc == ("<root>", "_")
    assert example.enhanced is None
    assert format_conllx(example.sentence, example.gold) == block("1\ta\tb\tC\tD\te\t0\troot\t_\t_")


def test_what_the_format_has_no_place_for_is_left_out() -> None:
    (example,) = read_conllu(FULL.split("\n"))
    stream = io.StringIO()
    assert write_conllx([example], stream) == 1
    lines = stream.getvalue().split("\n")
    assert len(lines) == 4 + 2
    assert lines[2] == "3\tsang\tsang\tNOUN\t_\t_\t0\troot\t_\t_"


@given(examples())
def test_round_trip(example: Example) -> None:
    text = format_conllx(example.sentence, example.gold, example.enhanced)
    (again,) = read_conllx(text.split("\n"))
    assert again.gold == example.gold
    assert format_conllx(again.sentence, again.gold) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (block(word(1, "a", 0, upos="b c")), "line 1: column CPOSTAG: expected no spaces, found 'b c'"),
        (block(word(1, "a", 0, xpos="")), "line 1: column POSTAG: expected a value or _, found nothing"),
        (block(word(1, "a", 0, deps="")), "line 1: column PHEAD: expected a value or _, found nothing"),
        (block(word(1, "a", 0, misc="")), "line 1: column PDEPREL: expected a value or _, found nothing"),
        ("# a\n" + DOGS, "line 1: expected a word, found '# a'; CoNLL-X has no comments"),
        (block(word("1-2", "a", 0)), "line 1: column ID: expected 1, found '1-2'"),
        (block(word(1, "a", 0), word("1.1", "a", 0)), "line 2: column ID: expected 2, found '1.1'"),
        (
            block(word(1, "a", 0), word(2, "a", 0)),
            "line 2: column HEAD: expected one root, found 2: words 1, 2",
        ),
    ],
)
def test_faults_bear_the_names_of_this_format(text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(read_conllx(text.split("\n")))
    assert str(caught.value) == message
    report = SkipReport()
    assert list(read_conllx(text.split("\n"), strict=False, report=report)) == []
    assert report.skipped == 1


def test_partial_and_trees_reach_the_reader() -> None:
    text = block(word(1, "a", "_"), word(2, "b", 0))
    (example,) = read_conllx(text.split("\n"), partial=True)
    assert example.gold.heads == (-1, -1, 0)
    (example,) = read_conllx(text.split("\n"), trees=False)
    assert example.gold == Tree.unknown(2)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("a.conll", "CPOSTAG"),
        ("a.conllx", "CPOSTAG"),
        ("a.conll.gz", "CPOSTAG"),
        ("a.conllx.zst", "CPOSTAG"),
        ("a.conllu", "UPOS"),
        ("a.conllu.zst", "UPOS"),
        ("a.txt", "UPOS"),
    ],
)
def test_the_suffix_decides_unless_told(name: str, columns: str, tmp_path: Path) -> None:
    path = tmp_path / name
    (example,) = read_conllu(FULL.split("\n"))
    assert write_trees([example], path) == 1
    (again,) = read_trees(path)
    assert bool(again.sentence.comments) == (columns == "UPOS")
    other = "conllu" if columns == "CPOSTAG" else "conllx"
    write_trees([example], path, file_format=other)
    (again,) = read_trees(path, file_format=other)
    assert bool(again.sentence.comments) == (other == "conllu")


def test_options_of_read_trees_reach_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(block(word(1, "a", "_")) + DOGS)
    report = SkipReport()
    assert len(list(read_trees(path, strict=False, report=report))) == report.skipped + 0 == 1
    assert next(read_trees(path, partial=True)).gold == Tree((-1, -1), ("", "dep"))
    assert next(read_trees(path, trees=False)).gold == Tree.unknown(1)


def test_an_unknown_format_is_refused_before_any_file_is_touched(tmp_path: Path) -> None:
    message = (
        r"^unknown file format 'conlu'; known: conllu, conllx, iob2, json, tokens(, tree)? \(did you mean 'conllu'\?\)$"
    )
    with pytest.raises(ConfigError, match=message):
        read_trees(tmp_path / "none", file_format="conlu")
    with pytest.raises(ConfigError, match=message):
        write_trees([], tmp_path / "none", file_format="conlu")
    assert list(tmp_path.iterdir()) == []
