"""CoNLL-U: what is read, what is written, what is the same after both."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pytest
from corpus_samples import DOGS, FULL, block, word
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import examples, partial_trees, sentences
from treetune.corpus import (
    Enhanced,
    Example,
    Sentence,
    Tree,
    format_conllu,
    read_conllu,
    write_conllu,
)
from treetune.errors import DataError


def read(text: str, *, partial: bool = False, trees: bool = True) -> list[Example]:
    return list(read_conllu(text.split("\n"), partial=partial, trees=trees))


def written(items: list[Example]) -> str:
    stream = io.StringIO()
    assert write_conllu(items, stream) == len(items)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Sentence.of("Dogs"),
            "column FORM: expected a sequence of words, found a single string; split it into",
        ),
        (lambda: Sentence.of(["Dogs", "bark"], upos=["NOUN"]), "column UPOS: expected 2 values, one a word, found 1"),
        (lambda: Tree.of([2, 0], ["nsubj"]), "expected 2 labels, one a head, found 1"),
        (lambda: Tree.of([0], ["root", "dep"]), "expected 1 labels, one a head, found 2"),
    ],
)
def test_what_does_not_fit_together_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_every_column_arrives_where_it_belongs() -> None:
    (example,) = read(FULL)
    sentence = example.sentence
    assert sentence.forms[1:] == ("De", "le", "sang", "25 000")
    assert sentence.lemmas == ("<root>", "de", "le", "sang", "25 000")
    assert sentence.upos == ("<root>", "ADP", "DET", "NOUN", "NUM")
    assert sentence.xpos == ("<root>", "P", "_", "_", "_")
    assert sentence.feats == ("<root>", "_", "Definite=Def|Number=Sing", "_", "_")
    assert sentence.misc == ("<root>", "_", "_", "SpaceAfter=No", "Note=two words")
    assert sentence.comments == ("# sent_id = 1", "# text = Du sang, 25 000")
    assert [place for place, _ in sentence.multiword] == [1]
    assert example.gold == Tree((-1, 3, 3, 0, 3), ("", "case", "det", "root", "nummod"))
    assert example.enhanced is not None
    assert example.enhanced.deps == ("<root>", "3:case", "3:det", "0:root", "3:nummod")
    assert [place for place, _ in example.enhanced.empty_nodes] == [3]
    assert written([example]) == FULL


def test_a_predicted_tree_replaces_the_analysis_but_not_the_text() -> None:
    (example,) = read(FULL)
    text = format_conllu(example.sentence, Tree.of([0, 1, 2, 3], ["root", "a", "b", "c"]))
    assert "3.1" not in text
    assert "3:case" not in text
    assert text.startswith("# sent_id = 1\n# text = Du sang, 25 000\n1-2\tDu\t")
    assert "3\tsang\tsang\tNOUN\t_\t_\t2\tb\t_\tSpaceAfter=No\n" in text


@given(st.lists(examples(), max_size=2))
def test_round_trip_of_whole_trees(items: list[Example]) -> None:
    text = written(items)
    assert read(text) == items
    assert written(read(text)) == text


@given(st.lists(examples(partial=True), max_size=2))
def test_round_trip_of_partial_trees(items: list[Example]) -> None:
    text = written(items)
    assert read(text, partial=True) == items


@given(st.lists(examples(), max_size=3), st.integers(1, 64))
@settings(max_examples=40)
def test_bytes_from_a_file_equal_lines_whatever_the_chunks(items: list[Example], size: int) -> None:
    from treetune.corpus import blocks

    text = written(items)
    data = text.encode()
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    windows = text.replace("\n", "\r\n").encode()
    cut = [windows[start : start + size] for start in range(0, len(windows), size)]
    expected = list(blocks.blocks(text.split("\n")))
    assert list(chain.from_iterable(blocks._from_chunks(chunks))) == expected
    assert list(chain.from_iterable(blocks._from_chunks(cut))) == expected


def test_two_carriage_returns_are_a_fault_wherever_the_chunks_end(tmp_path: Path) -> None:
    from treetune.corpus import blocks

    data = DOGS.encode().replace(b"\n", b"\r\r\n", 1)
    for size in range(1, len(data)):
        chunks = [data[start : start + size] for start in range(0, len(data), size)]
        (part,) = chain.from_iterable(blocks._from_chunks(chunks))
        assert part.text.count("\r") == 1


@given(sentences(), st.data())
def test_with_trees_off_heads_and_labels_are_not_looked_at(sentence: Sentence, data: st.DataObject) -> None:
    tree = data.draw(partial_trees(size=len(sentence)))
    text = format_conllu(sentence, tree)
    (example,) = read(text, trees=False)
    assert example == Example(sentence, Tree.unknown(len(sentence)))


def test_with_trees_off_nonsense_in_head_and_deprel_is_fine() -> None:
    text = block(word(1, "a", "x y", "p q", deps="zz"), word(2, "b", 99, "_"))
    (example,) = read(text, trees=False)
    assert example.gold == Tree.unknown(2)
    assert example.enhanced is None
    with pytest.raises(DataError):
        read(text)


def test_with_trees_off_other_columns_are_still_checked() -> None:
    with pytest.raises(DataError, match="line 1: column UPOS: expected no spaces, found 'A B'"):
        read(block(word(1, "a", 0, upos="A B")), trees=False)


def test_a_treebank_without_labels_is_fine() -> None:
    text = block(word(1, "a", 2, "_"), word(2, "b", 0, "_"))
    (example,) = read(text)
    assert example.gold == Tree.of([2, 0])
    assert example.gold.is_complete
    assert written([example]) == text


def test_partial_allows_unknown_heads_and_labels_anywhere() -> None:
    text = block(word(1, "a", "_", "_"), word(2, "b", 0, "_"), word(3, "c", "_", "obj"))
    (example,) = read(text, partial=True)
    assert example.gold == Tree((-1, -1, 0, -1), ("", "", "", "obj"))
    assert written([example]) == text
    (unknown,) = read(block(word(1, "a", "_", "_")), partial=True)
    assert unknown.gold == Tree.unknown(1)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(DOGS[:-1], id="no empty line at the end"),
        pytest.param(DOGS[:-2], id="no line end at the end"),
        pytest.param("\n\n\n" + DOGS + "\n\n", id="more empty lines"),
        pytest.param("\ufeff" + DOGS, id="byte order mark"),
        pytest.param(DOGS.replace("\n", "\r\n"), id="Windows line ends"),
        pytest.param("\ufeff" + DOGS.replace("\n", "\r\n")[:-4], id="all of it"),
    ],
)
def test_harmless_differences_are_read_and_go_when_written(text: str, tmp_path: Path) -> None:
    path = tmp_path / "in.conllu"
    path.write_bytes(text.encode())
    assert written(list(read_conllu(path))) == DOGS
    assert written(list(read_conllu(io.StringIO(text, newline="")))) == DOGS


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n\n\n", b"\xef\xbb\xbf", b"\r\n\r\n"])
def test_an_empty_file_has_no_sentences(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "empty.conllu"
    path.write_bytes(content)
    assert list(read_conllu(path)) == []


def test_several_empty_lines_keep_the_line_numbers(tmp_path: Path) -> None:
    bad = block(word(1, "a", 7))
    path = tmp_path / "in.conllu"
    for gap in range(6):
        path.write_text("\n" * gap + DOGS + "\n" * gap + bad)
        with pytest.raises(DataError) as caught:
            list(read_conllu(path))
        assert caught.value.line == 2 * gap + 4
        with pytest.raises(DataError) as caught:
            read("\n" * gap + DOGS + "\n" * gap + bad)
        assert caught.value.line == 2 * gap + 4


def test_line_numbers_hold_over_many_chunks(tmp_path: Path) -> None:
    path = tmp_path / "long.conllu"
    path.write_text(DOGS * 60_000 + block(word(1, "a", 7)))
    assert path.stat().st_size > 2 << 20
    with pytest.raises(DataError) as caught:
        for _ in read_conllu(path):
            pass
    assert caught.value.line == 180_001


def test_a_very_long_sentence_is_read(tmp_path: Path) -> None:
    size = 30_500
    path = tmp_path / "long.conllu"
    path.write_text(block(*(word(number, "w", number - 1) for number in range(1, size + 1))))
    (example,) = read_conllu(path)
    assert len(example.sentence) == size
    assert format_conllu(example.sentence, example.gold) == path.read_text()


def test_reading_is_lazy() -> None:
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for line in (DOGS * 3).split("\n"):
            taken += 1
            yield line

    reader = read_conllu(lines())
    assert taken == 0
    next(reader)
    assert taken == 3
    next(reader)
    assert taken == 6


def test_writing_is_lazy() -> None:
    stream = io.StringIO()
    (example,) = read(DOGS)

    def items() -> Iterator[Example]:
        yield example
        assert stream.getvalue() == DOGS
        yield example

    assert write_conllu(items(), stream) == 2


def test_standard_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FULL.encode()), encoding="ascii"))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    write_conllu(read_conllu("-"), "-")
    assert out.getvalue() == FULL.encode()


def test_faults_in_standard_input_are_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1\ta\n")))
    with pytest.raises(DataError, match=r"^<stdin>:1: expected 10 columns separated by tabs, found 2$"):
        list(read_conllu("-"))


def example_of(**changes: tuple[str, ...]) -> Example:
    columns = dict.fromkeys(("forms", "lemmas", "upos", "xpos", "feats", "misc"), ("<root>", "a", "b"))
    return Example(Sentence(**(columns | changes)), Tree.of([0, 1], ["root", "obj"]))  # type: ignore[arg-type]


NO_BREAKS = "cannot be written: expected a value without tabs and line breaks"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            example_of(forms=("<root>", "a", "b\tc")),
            f"column FORM: word 2 {NO_BREAKS}, found 'b\\tc'",
        ),
        (
            example_of(misc=("<root>", "a", "b\n")),
            f"column MISC: word 2 {NO_BREAKS}, found 'b\\n'",
        ),
        (
            example_of(lemmas=("<root>", "\r", "b")),
            f"column LEMMA: word 1 {NO_BREAKS}, found '\\r'",
        ),
        (
            example_of(feats=("<root>", "a", "")),
            f"column FEATS: word 2 {NO_BREAKS}, found ''",
        ),
        (
            example_of(misc=("<root>", "", "b")),
            f"column MISC: word 1 {NO_BREAKS}, found ''",
        ),
        (
            example_of(misc=("<root>", "a", "")),
            f"column MISC: word 2 {NO_BREAKS}, found ''",
        ),
        (
            example_of(xpos=("<root>", "a", "b c")),
            "column XPOS: word 2 cannot be written: expected no spaces here, found 'b c'",
        ),
        (
            example_of(forms=("<root>", "a", "b ")),
            "column FORM: word 2 cannot be written: expected no spaces here, found 'b '",
        ),
        (
            example_of(comments=("# fine", "not fine")),
            "expected a comment of one line that begins with #, found 'not fine'",
        ),
        (
            example_of(comments=("# a\nb",)),
            "expected a comment of one line that begins with #, found '# a\\nb'",
        ),
        (
            example_of(forms=("<root>", "a")),
            "expected a tree of 1 words, found one of 2",
        ),
        (
            example_of(upos=("<root>", "a")),
            "expected columns of the same length, found ID 3, FORM 3, LEMMA 3, UPOS 2, XPOS 3, FEATS 3, "
            "HEAD 3, DEPREL 3, DEPS 3, MISC 3",
        ),
        (
            Example(Sentence.of([]), Tree.of([])),
            "a sentence without words cannot be written",
        ),
        (
            Example(Sentence.of(["a"]), Tree.of([2])),
            "column HEAD: expected heads from -1 to 1, found 2",
        ),
        (
            Example(Sentence.of(["a"]), Tree.of([-2])),
            "column HEAD: expected heads from -1 to 1, found -2",
        ),
        (
            Example(Sentence.of(["a"]), Tree.of([0]), Enhanced(("<root>", "_"), ((5, "5.1" + "\t_" * 9),))),
            "expected each multiword token and empty node once, on a line of ten columns beside a word",
        ),
        (
            Example(Sentence.of(["a"]), Tree.of([0]), Enhanced(("<root>", "_"), ((1, "1.1\t_"),))),
            "expected each multiword token and empty node once, on a line of ten columns beside a word",
        ),
    ],
)
def test_what_could_not_be_read_back_is_not_written(bad: Example, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        write_conllu([bad], tmp_path / "out.conllu")
    assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []


def test_a_lone_surrogate_is_refused_in_one_sentence(tmp_path: Path) -> None:
    good = Example(Sentence.of(["a"]), Tree.of([0]))
    bad = Example(Sentence.of(["a\udce9"]), Tree.of([0]))
    with pytest.raises(DataError) as caught:
        write_conllu([good, bad], tmp_path / "out.conllu")
    assert str(caught.value) == "sentence 2 cannot be written as UTF-8: it has the lone surrogate '\\udce9'"
    assert list(tmp_path.iterdir()) == []


def test_importing_the_room_is_cheap() -> None:
    code = (
        "import sys, treetune.corpus; "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'numba', 'zstandard', 'typer', 'rich')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
