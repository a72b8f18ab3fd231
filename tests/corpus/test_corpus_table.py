"""Tables: sentences as one list of cells are the sentences that `read_conllu` reads, and are written the same."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from corpus_samples import DOGS, FULL, block, word
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import examples, trees
from treetune.corpus import Example, Tree, format_conllu, read_conllu, write_conllu
from treetune.corpus.conllu import format_table
from treetune.corpus.faults import SkipReport
from treetune.corpus.table import read_tables
from treetune.corpus.tags import write_column, write_table_column
from treetune.errors import DataError
from treetune.features.encoding import Encoder

BAD = block(word(1, "Bad", 0, upos="A B"))


@given(st.lists(examples(), max_size=9), st.integers(1, 4), st.data())
@settings(max_examples=60, deadline=None)
def test_a_table_is_read_encoded_and_written_like_its_sentences(
    items: list[Example], size: int, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "some.conllu"
        write_conllu(items, path)
        tables = list(read_tables(path, size=size))
    sentences = [item.sentence for item in items]
    assert [sentence for table in tables for sentence in table] == sentences
    assert all(len(table) <= size for table in tables)
    encoder = Encoder.learn(sentences[: len(sentences) // 2], min_count=1)
    for table in tables:
        outputs = [data.draw(trees(size=len(sentence))) for sentence in table]
        assert format_table(table, outputs) == "".join(map(format_conllu, table, outputs))
        assert table[:] == list(table)
        (columns, offsets), (all_columns, all_offsets) = encoder.encode(table), encoder.encode(list(table))
        assert np.array_equal(columns, all_columns)
        assert np.array_equal(offsets, all_offsets)


def test_a_tab_at_the_end_of_a_comment_stays(tmp_path: Path) -> None:
    path = tmp_path / "tab.conllu"
    path.write_text("# one\t\n# two\t\n" + DOGS + DOGS, encoding="utf-8")
    (table,) = read_tables(path, size=9)
    outputs = [Tree.of([0, *[1] * (len(sentence) - 1)]) for sentence in table]
    text = format_table(table, outputs)
    assert text.startswith("# one\t\n# two\t\n1\t")
    assert text == "".join(map(format_conllu, table, outputs))


@pytest.mark.parametrize("label", ["a b", "a\tb", "a\nb", "a\r"])
def test_a_label_that_would_break_a_line_is_refused(tmp_path: Path, label: str) -> None:
    path = tmp_path / "full.conllu"
    path.write_text(FULL, encoding="utf-8")
    (table,) = read_tables(path, size=9)
    with pytest.raises(DataError, match="cannot be written"):
        format_table(table, [Tree.of([0, 1, 1, 1], ["root", label, "b", "c"])])


def test_a_tree_of_another_sentence_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "full.conllu"
    path.write_text(FULL, encoding="utf-8")
    (table,) = read_tables(path, size=9)
    with pytest.raises(DataError, match="expected a tree of 4 words, found one of 2"):
        format_table(table, [Tree.of([0, 1])])
    with pytest.raises(DataError, match="expected heads from -1 to 4, found 5"):
        format_table(table, [Tree.of([0, 1, 1, 5])])


def test_faults_of_a_table_are_those_of_its_sentences(tmp_path: Path) -> None:
    path = tmp_path / "bad.conllu"
    path.write_text(DOGS + FULL + BAD + DOGS + BAD + FULL, encoding="utf-8")
    reports = SkipReport(), SkipReport()
    tables = list(read_tables(path, size=9, strict=False, report=reports[0]))
    expected = list(read_conllu(path, trees=False, strict=False, report=reports[1]))
    assert [sentence for table in tables for sentence in table] == [example.sentence for example in expected]
    assert reports[0].summary() == reports[1].summary()
    messages = []
    for reader in (read_tables(path, size=9), read_conllu(path, trees=False)):
        with pytest.raises(DataError) as caught:
            list(reader)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_sentence_of_a_table_can_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "full.conllu"
    path.write_text(FULL, encoding="utf-8")
    (table,) = read_tables(path, size=9)
    assert replace(table[-1], comments=()).forms == table[0].forms
    with pytest.raises(IndexError):
        table[1]


def test_tags_of_a_table_are_written_like_those_of_its_sentences(tmp_path: Path) -> None:
    path = tmp_path / "full.conllu"
    path.write_text(FULL + DOGS, encoding="utf-8")
    (table,) = read_tables(path, size=9)
    trees = [Tree.unknown(len(sentence)) for sentence in table]
    for name in ("upos", "feats", "NER"):
        for values in (["X", "Y", "", "X"], ["a b", "X", "X", "X"]):
            tags = [values[number % 4] for number in range(table.ends[-1])]
            bounds = zip(table.ends, table.ends[1:], strict=False)
            one_by_one = [
                write_column(sentence, name, ["", *tags[start:end]])
                for sentence, (start, end) in zip(table, bounds, strict=True)
            ]
            changed = write_table_column(table, name, tags)
            assert list(changed) == one_by_one
            if "a b" not in tags or name == "NER":
                assert format_table(changed, trees) == "".join(map(format_conllu, one_by_one, trees))
            else:
                with pytest.raises(DataError, match="cannot be written: expected no spaces here, found 'a b'"):
                    format_table(changed, trees)
