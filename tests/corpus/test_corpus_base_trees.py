"""Base trees: those of another parser, attached to the sentences they belong to."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from corpus_samples import DOGS, FULL, block, word
from hypothesis import given
from hypothesis import strategies as st

from strategies import examples as any_examples
from strategies import trees
from treetune.corpus import (
    Example,
    Sentence,
    Tree,
    attach_base_trees,
    format_conllu,
    format_conllx,
    read_conllu,
    with_base_trees,
    write_trees,
)
from treetune.errors import ConfigError, DataError

NAMED = "# sent_id = fur-7\n" + DOGS
REVERSED = block(word(1, "dogs", 0, "root"), word(2, "bark", 1, "obj"))
SAME = "base trees belong to the same sentences in the same order"


def read(text: str) -> list[Example]:
    return list(read_conllu(text.split("\n")))


def attach(examples: Iterable[Example], folder: Path, text: str, name: str = "base.conllu") -> list[Example]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return list(attach_base_trees(examples, path))


@pytest.mark.parametrize("name", ["base.conllu", "base.conll"])
def test_the_tree_of_the_file_becomes_the_base_tree_and_nothing_else_changes(tmp_path: Path, name: str) -> None:
    before = read(NAMED + FULL)
    text = REVERSED + block(word(1, "De", 2), word(2, "le", 3), word(3, "sang", 4), word(4, "25 000", 0))
    after = attach(before, tmp_path, text, name)
    assert [example.sentence.base_tree for example in after] == [
        Tree.of([0, 1], ["root", "obj"]),
        Tree.of([2, 3, 4, 0], ["dep"] * 4),
    ]
    assert [replace(example, sentence=example.sentence.without("base_tree")) for example in after] == before


def test_labels_may_be_missing_here_and_there(tmp_path: Path) -> None:
    text = block(word(1, "dogs", 2, "_"), word(2, "bark", 0, "root")) + block(
        word(1, "dogs", 2, "_"), word(2, "bark", 0, "_")
    )
    after = attach(read(DOGS + DOGS), tmp_path, text)
    assert [example.sentence.base_tree for example in after] == [Tree.of([2, 0], ["", "root"]), Tree.of([2, 0])]


@pytest.mark.parametrize(
    ("base", "problem"),
    [
        (
            DOGS + block(word(1, "dogs", 2), word(2, "meow", 0)),
            f"sentence 2 (sent_id fur-7): expected 'bark' as word 2, found 'meow'; {SAME}",
        ),
        (
            DOGS + block(word(1, "dogs", 2), word(2, "bark", 0), word(3, "!", 2)),
            f"sentence 2 (sent_id fur-7): expected 2 words, found 3; {SAME}",
        ),
        (DOGS + block(word(1, "dogs", 0)), f"sentence 2 (sent_id fur-7): expected 2 words, found 1; {SAME}"),
        (
            block(word(1, "Dogs", 2), word(2, "bark", 0)) + DOGS,
            f"sentence 1: expected 'dogs' as word 1, found 'Dogs'; {SAME}",
        ),
        (
            DOGS + block(word(1, "dogs", "_"), word(2, "bark", 0)),
            "sentence 2 (sent_id fur-7): expected a base tree with a head from 0 to 2 for word 1 ('dogs'), found none; "
            "a base tree has a head for every word",
        ),
        (DOGS, f"expected a tree for sentence 2 (sent_id fur-7), found the end of the file; {SAME}"),
        (DOGS * 4, f"expected 2 sentences, as many as there are sentences to stack on, found 4; {SAME}"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, base: str, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        attach(read(DOGS + NAMED), tmp_path, base)
    assert str(caught.value) == f"{tmp_path / 'base.conllu'}: {problem}"


def test_faults_of_the_file_itself_are_said_as_of_any_file(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        attach(read(DOGS), tmp_path, block(word(1, "dogs", 7), word(2, "bark", 0)))
    assert str(caught.value).startswith(f"{tmp_path / 'base.conllu'}:1: column HEAD: expected ")
    with pytest.raises(DataError, match=r"nowhere\.conllu: expected a file, found nothing under this name$"):
        list(attach_base_trees(read(DOGS), tmp_path / "nowhere.conllu"))


def test_the_format_can_be_named_and_is_checked_at_once(tmp_path: Path) -> None:
    path = tmp_path / "base.txt"
    # CoNLL-X has no ranges, so only the right reader finds the fault.
    path.write_text("1-2\tDu" + "\t_" * 8 + "\n" + DOGS, encoding="utf-8")
    assert len(list(attach_base_trees(read(DOGS), path))) == 1
    with pytest.raises(DataError):
        list(attach_base_trees(read(DOGS), path, file_format="conllx"))
    with pytest.raises(ConfigError, match=r"^unknown file format 'conlly'; known: conllu, conllx"):
        attach_base_trees([], path, file_format="conlly")


def test_nothing_to_stack_on_needs_an_empty_file(tmp_path: Path) -> None:
    assert attach([], tmp_path, "") == []
    with pytest.raises(DataError, match="expected 0 sentences, as many as there are sentences to stack on, found 1; "):
        attach([], tmp_path, DOGS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_sentences_come_out_before_the_file_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "pipe.conllu"
    os.mkfifo(path)
    taken = threading.Event()

    def write() -> None:
        with path.open("w", encoding="utf-8") as pipe:
            pipe.write(DOGS + DOGS)
            pipe.flush()
            assert taken.wait(60)
            pipe.write(DOGS)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        stacked = attach_base_trees(read(DOGS * 3), path)
        assert next(stacked).sentence.base_tree == Tree.of([2, 0], ["nsubj", "root"])
    finally:
        taken.set()
    assert len(list(stacked)) == 2
    writer.join()


@given(any_examples(), st.data())
def test_writers_ignore_the_base_tree(example: Example, data: st.DataObject) -> None:
    (stacked,) = with_base_trees([example.sentence], [data.draw(trees(size=len(example.sentence)))])
    for form in (format_conllu, format_conllx):
        assert form(stacked, example.gold, example.enhanced) == form(example.sentence, example.gold, example.enhanced)


@given(st.lists(any_examples(), max_size=3), st.data())
def test_a_file_of_base_trees_and_a_list_of_base_trees_are_the_same(drawn: list[Example], data: st.DataObject) -> None:
    sentences = [example.sentence for example in drawn]
    base_trees = [data.draw(trees(size=len(sentence))) for sentence in sentences]
    stream = io.StringIO()
    for sentence, tree in zip(sentences, base_trees, strict=True):
        stream.write(format_conllu(sentence, tree))
    read_back = [example.gold for example in read_conllu(stream.getvalue().split("\n"))]
    assert read_back == base_trees
    assert [sentence.base_tree for sentence in with_base_trees(sentences, read_back)] == base_trees
    assert [sentence.without("base_tree") for sentence in with_base_trees(sentences, base_trees)] == sentences


TWO = Sentence.of(["dogs", "bark"])


@pytest.mark.parametrize(
    ("base_trees", "problem"),
    [
        ([], "expected as many base trees as sentences, 1, found 0"),
        ([Tree.of([0])], "sentence 1: expected a base tree with 2 heads and 2 labels, found 1 and 1"),
        ([Tree((-1, 0, 1), ("", "root"))], "sentence 1: expected a base tree with 2 heads and 2 labels, found 2 and 1"),
        (
            [Tree.of([0, 3])],
            "sentence 1: expected a base tree with a head from 0 to 2 for word 2 ('bark'), found 3; "
            "a base tree has a head for every word",
        ),
        (
            [Tree.unknown(2)],
            "sentence 1: expected a base tree with a head from 0 to 2 for word 1 ('dogs'), found none; "
            "a base tree has a head for every word",
        ),
    ],
)
def test_trees_that_do_not_fit_are_refused(base_trees: list[Tree], problem: str) -> None:
    with pytest.raises(DataError) as caught:
        with_base_trees([TWO], base_trees)
    assert str(caught.value) == problem


def test_a_sentence_without_words_has_an_empty_base_tree() -> None:
    assert with_base_trees([Sentence.of([])], [Tree.unknown(0)])[0].base_tree == Tree.unknown(0)


def test_a_new_base_tree_takes_the_place_of_the_old() -> None:
    (once,) = with_base_trees([TWO], [Tree.of([0, 1])])
    (twice,) = with_base_trees([once], [Tree.of([2, 0])])
    assert twice == with_base_trees([TWO], [Tree.of([2, 0])])[0]
    assert once.without("base_tree", "upos") == TWO.without("upos")


def test_readers_leave_the_base_tree_open(tmp_path: Path) -> None:
    path = tmp_path / "stacked.conllu"
    write_trees(attach(read(DOGS), tmp_path, REVERSED), path)
    assert path.read_text(encoding="utf-8") == DOGS
    assert [example.sentence.base_tree for example in read_conllu(path)] == [None]
