"""Every fault of a sentence: its text, its place, and that a lenient reader skips it and says why."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_samples import DOGS, FULL, block, word
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import examples
from treetune.corpus import (
    Example,
    SkipReport,
    format_conllu,
    format_conllx,
    is_tree,
    read_conllu,
    read_conllx,
)
from treetune.corpus.blocks import blocks
from treetune.corpus.diagnose import faults
from treetune.corpus.layout import CONLLU, CONLLX, Mode
from treetune.errors import DataError

RANGE = "\tx" + "\t_" * 8

FAULTS = [
    # lines
    ("1\ta\t_\n", ":1: expected 10 columns separated by tabs, found 3"),
    (word(1, "a", 0) + "\t_\n", ":1: expected 10 columns separated by tabs, found 11"),
    (
        word(1, "a", 0).replace("\t", "    ") + "\n",
        ":1: expected 10 columns separated by tabs, found 1; it seems that tabs were replaced by spaces",
    ),
    ("Dogs bark.\n", ":1: expected 10 columns separated by tabs, found 1; it seems to be plain text"),
    (
        "In a text, a sentence may be as long as this one.\n",
        ":1: expected 10 columns separated by tabs, found 1; it seems to be plain text",
    ),
    ("1\n" + DOGS[2:].partition("\n")[0] + "\n", ":1: expected 10 columns separated by tabs, found 1"),
    # Eleven and nine columns that make twenty cells: the sum is right, the lines are not.
    (
        word(1, "a", 0) + "\t2\n" + "\t".join(word(2, "b", 1).split("\t")[1:]) + "\n",
        ":1: expected 10 columns separated by tabs, found 11",
    ),
    (word(1, "a", 0) + "\n  \n", ":2: expected an empty line or a word, found nothing but white space"),
    (
        word(1, "a\rb", 0) + "\n",
        ":1: expected lines that end in LF or CRLF, found a carriage return within a line",
    ),
    ("# a\rb\n" + DOGS, ":1: expected lines that end in LF or CRLF, found a carriage return within a line"),
    # comments
    (
        word(1, "a", 0) + "\n# late\n" + word(2, "b", 1) + "\n",
        ":2: expected comments only before the first word of a sentence, found '# late'",
    ),
    (
        word(1, "a", 0) + "\n# " + "x" * 50 + "\n",
        f":2: expected comments only before the first word of a sentence, found '# {'x' * 37}…'",
    ),
    ("# one\n# two\n", ":2: expected words after the comments, found the end of the sentence"),
    ("# one\n", ":1: expected words after the comments, found the end of the sentence"),
    # IDs
    (block(word(2, "a", 0)), ":1: column ID: expected 1, found '2'"),
    (block(word(1, "a", 0), word(3, "b", 1)), ":2: column ID: expected 2, found '3'"),
    (block(word(1, "a", 0), word(1, "b", 1)), ":2: column ID: expected 2, found '1'"),
    (block(word("x", "a", 0)), ":1: column ID: expected 1, found 'x'"),
    (block(word("01", "a", 0)), ":1: column ID: expected 1, found '01'"),
    (block(word("0", "a", 0)), ":1: column ID: expected 1, found '0'"),
    (block(word("١", "a", 0)), ":1: column ID: expected 1, found '١'"),
    (block(word("", "a", 0)), ":1: column ID: expected 1, found ''"),
    (
        block(word(1, "a", 0), "1-2" + RANGE, word(2, "b", 1)),
        ":2: column ID: expected a range before its first word, once, found '1-2' before word 2",
    ),
    (
        block("1-2" + RANGE, "1-2" + RANGE, word(1, "a", 0), word(2, "b", 1)),
        ":2: column ID: expected a range before its first word, once, found '1-2' before word 1",
    ),
    (
        block(word(1, "a", 0), "2-1" + RANGE, word(2, "b", 1)),
        ":2: column ID: expected a range that does not run backwards, found '2-1'",
    ),
    (
        block("1-2" + RANGE, word(1, "a", 0), "2-3" + RANGE, word(2, "b", 1), word(3, "c", 1)),
        ":3: column ID: expected a range after word 2, where the last one ends, found '2-3'",
    ),
    (
        block(word(1, "a", 0), "2-4" + RANGE, word(2, "b", 1)),
        ":2: column ID: expected a range within the 2 words, found one that ends at 4",
    ),
    (
        block("1-2" + RANGE),
        ":1: column ID: expected a range within the 0 words, found one that ends at 2",
    ),
    (block("0.1" + RANGE), ":1: expected at least one word, found none"),
    (block(word(1, "a", 0), "1.2" + RANGE), ":2: column ID: expected 1.1 or 2, found '1.2'"),
    (block(word(1, "a", 0), "2.1" + RANGE), ":2: column ID: expected 1.1 or 2, found '2.1'"),
    (
        block("1-2" + RANGE, "0.1" + RANGE, word(1, "a", 0), word(2, "b", 1)),
        ":2: column ID: expected word 1 after its range, found the empty node '0.1'",
    ),
    (block(word("9" * 5000, "a", 0)), f":1: column ID: expected 1, found '{'9' * 5000}'"),
    # values
    (block(word(1, "", 0)), ":1: column FORM: expected a value or _, found nothing"),
    (block(word(1, "a", 0, misc="")), ":1: column MISC: expected a value or _, found nothing"),
    (
        block(word(1, "a", 0, misc=""), word(2, "b", 1)),
        ":1: column MISC: expected a value or _, found nothing",
    ),
    (block("1-1\t" + "\t_" * 8, word(1, "a", 0)), ":1: column FORM: expected a value or _, found nothing"),
    (block(word(1, " a", 0)), ":1: column FORM: expected no space at either end, found ' a'"),
    (block(word(1, "a", 0, lemma="b ")), ":1: column LEMMA: expected no space at either end, found 'b '"),
    (block(word(1, "a", 0, misc="b ")), ":1: column MISC: expected no space at either end, found 'b '"),
    (block(word(1, "a", 0, upos="b c")), ":1: column UPOS: expected no spaces, found 'b c'"),
    (block(word(1, "a", 0, xpos="b c")), ":1: column XPOS: expected no spaces, found 'b c'"),
    (block(word(1, "a", 0, feats="b c")), ":1: column FEATS: expected no spaces, found 'b c'"),
    (block(word(1, "a", 0, "b c")), ":1: column DEPREL: expected no spaces, found 'b c'"),
    (block(word(1, "a", 0, deps="b c")), ":1: column DEPS: expected no spaces, found 'b c'"),
    (
        block("1-1\tx\t_\tA B" + "\t_" * 6, word(1, "a", 0)),
        ":1: column UPOS: expected no spaces, found 'A B'",
    ),
    # heads and labels
    (block(word(1, "a", 2)), ":1: column HEAD: expected a head from 0 to 1, found '2'"),
    (block(word(1, "a", -1)), ":1: column HEAD: expected a head from 0 to 1, found '-1'"),
    (block(word(1, "a", 0), word(2, "b", "+1")), ":2: column HEAD: expected a head from 0 to 2, found '+1'"),
    (block(word(1, "a", 0), word(2, "b", "01")), ":2: column HEAD: expected a head from 0 to 2, found '01'"),
    (
        block(word(1, "a", 0), word(2, "b", "1.1")),
        ":2: column HEAD: expected a head from 0 to 2, found '1.1'",
    ),
    (
        block(word(1, "a", 0), word(2, "b", "9" * 5000)),
        f":2: column HEAD: expected a head from 0 to 2, found '{'9' * 39}…'",
    ),
    (
        block(word(1, "a", 0), word(2, "b", "_")),
        ":2: column HEAD: expected a head from 0 to 2, found '_'; only partial trees may have unknown heads",
    ),
    (
        block(word(1, "a", 0), word(2, "b", 2)),
        ":2: column HEAD: expected the number of another word, found the word's own number 2",
    ),
    (
        block(word(1, "a", 0), word(2, "b", 1, "_")),
        ":2: column DEPREL: expected a label, found '_'; either all words have labels or none",
    ),
    (
        block("1-2\tx\t_\t_\t_\t_\t3\t_\t_\t_", word(1, "a", 0), word(2, "b", 1)),
        ":1: column HEAD: expected _ on the line of a multiword token, found '3'",
    ),
    (
        block(word(1, "a", 0), "1.1\tx\t_\t_\t_\t_\t_\tobj\t_\t_"),
        ":2: column DEPREL: expected _ on the line of an empty node, found 'obj'",
    ),
    # trees
    (
        block("# c", word(1, "a", 0), word(2, "b", 0), word(3, "c", 0)),
        ":3: column HEAD: expected one root, found 3: words 1, 2, 3",
    ),
    (
        block(word(1, "a", 2), word(2, "b", 1)),
        ":1: column HEAD: expected one root, a word with head 0, found none",
    ),
    (
        block(word(1, "a", 0), "2-3" + RANGE, word(2, "b", 4), word(3, "c", 2), word(4, "d", 3)),
        ":3: column HEAD: expected a tree, found the cycle 2 → 4 → 3 → 2",
    ),
    (
        block(word(1, "a", 0), *(word(n, "a", n + 1) for n in range(2, 20)), word(20, "a", 2)),
        ":2: column HEAD: expected a tree, found the cycle 2 → 3 → 4 → 5 → 6 → 7 → 8 → 9 → 10 → 11 → …",
    ),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_the_first_fault_is_named_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.conllu"
    path.write_bytes(text.encode())
    with pytest.raises(DataError) as caught:
        list(read_conllu(path))
    assert str(caught.value) == f"{path}{message}"
    assert caught.value.args == (str(caught.value),)


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_a_lenient_reader_skips_just_that_sentence(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.conllu"
    path.write_bytes((DOGS + text.rstrip("\n") + "\n\n" + FULL).encode())
    report = SkipReport()
    kept = list(read_conllu(path, strict=False, report=report))
    assert [len(example.sentence) for example in kept] == [2, 4]
    assert (report.read, report.skipped) == (2, 1)
    ((_, reason),) = report.reasons.items()
    assert reason.count == 1
    assert reason.examples[0].endswith(message.split(":", 2)[2])


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    path = tmp_path / "latin.conllu"
    bad = block("# é", word(1, "é", 2), word(2, "b", 0))
    path.write_bytes(DOGS.encode() + bad.encode().replace("é\t".encode(), b"\xe9\t") + FULL.encode())
    with pytest.raises(DataError) as caught:
        list(read_conllu(path))
    assert (
        str(caught.value)
        == f"{path}:5: expected UTF-8 text, found the byte 0xe9 as byte 3 of the line; convert it to UTF-8"
    )
    report = SkipReport()
    assert len(list(read_conllu(path, strict=False, report=report))) == 2
    assert list(report.reasons) == ["bytes that are not UTF-8"]


def test_the_byte_is_counted_in_bytes(tmp_path: Path) -> None:
    path = tmp_path / "latin.conllu"
    path.write_bytes("# éé".encode() + b"\xff\n" + DOGS.encode())
    with pytest.raises(
        DataError, match=r":1: expected UTF-8 text, found the byte 0xff as byte 7 of the line; convert it to UTF-8$"
    ):
        list(read_conllu(path))


def test_lines_with_escaped_bytes_are_refused_too() -> None:
    lines = block(word(1, "\udce9", 0)).split("\n")
    with pytest.raises(DataError, match=r"^line 1: expected UTF-8 text, found the byte 0xe9 as byte 3"):
        list(read_conllu(lines))


def test_lines_have_line_numbers_but_no_path() -> None:
    with pytest.raises(DataError, match=r"^line 4: column HEAD: expected a head from 0 to 1, found '5'$"):
        list(read_conllu((DOGS + block(word(1, "a", 5))).split("\n")))


def test_partial_trees_still_are_parts_of_trees() -> None:
    def message(*heads: int | str) -> str:
        lines = [word(number, "w", head) for number, head in enumerate(heads, start=1)]
        with pytest.raises(DataError) as caught:
            list(read_conllu(lines, partial=True))
        return str(caught.value)

    assert message("_", 0, 0) == "line 3: column HEAD: expected one root, found 2: words 2, 3"
    assert message("_", 3, 2) == "line 2: column HEAD: expected a tree, found the cycle 2 → 3 → 2"
    assert message("_", 4, 2) == "line 2: column HEAD: expected a head from 0 to 3, found '4'"
    assert message(2, 1) == "line 1: column HEAD: expected one root, a word with head 0, found none"
    assert message("_", 2) == "line 2: column HEAD: expected the number of another word, found the word's own number 2"


def test_the_report_groups_and_counts() -> None:
    two_roots = block(word(1, "a", 0), word(2, "b", 0))
    text = DOGS + two_roots * 5 + block(word(1, "a", 3)) + DOGS
    report = SkipReport()
    kept = list(read_conllu(text.split("\n"), strict=False, report=report))
    assert len(kept) == 2
    assert report.reasons["several roots"].count == 5
    assert len(report.reasons["several roots"].examples) == 3
    assert report.summary() == (
        "skipped 6 of 8 sentences\n"
        "  5 for several roots, first at line 5: column HEAD: expected one root, found 2: words 1, 2\n"
        "  1 for wrong heads, first at line 19: column HEAD: expected a head from 0 to 1, found '3'"
    )


def test_a_report_with_nothing_skipped() -> None:
    report = SkipReport()
    list(read_conllu(DOGS.split("\n"), strict=False, report=report))
    assert report.summary() == "skipped 0 of 1 sentences"


def test_lenient_without_a_report_skips_too() -> None:
    text = block(word(1, "a", 0), word(2, "b", 0)) + DOGS
    assert len(list(read_conllu(text.split("\n"), strict=False))) == 1


@given(examples(partial=True), st.sampled_from([Mode(), Mode(partial=True), Mode(trees=False)]))
def test_quick_and_slow_checks_agree_on_good_and_partial_sentences(example: Example, mode: Mode) -> None:
    agree(format_conllu(example.sentence, example.gold, example.enhanced), mode)


@given(st.data())
@settings(max_examples=300)
def test_quick_and_slow_checks_agree_on_damaged_sentences(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([DOGS, FULL]))
    piece = st.sampled_from(["\t", "\n", " ", "_", "0", "1", "2", "-", ".", "#", "\r", "\udc80", "x", "1\t", "\n2\t"])
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 3)))
        text = text[:start] + data.draw(piece | st.just("")) + text[end:]
    agree(text, data.draw(st.sampled_from([Mode(), Mode(partial=True), Mode(trees=False)])))


@given(st.text("01_2-.#\t\n \ra", max_size=60))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    agree(text, Mode())


def agree(text: str, mode: Mode) -> None:
    """Check that each block is read if and only if no fault is found in it, in both formats."""
    for layout, read, form in ((CONLLU, read_conllu, format_conllu), (CONLLX, read_conllx, format_conllx)):
        for part in blocks(text.split("\n")):
            lines = [line + "\r\n" for line in part.text.split("\n")]
            first = next(faults(part._replace(line=1), layout, mode), None)
            report = SkipReport()
            found = list(read(lines, partial=mode.partial, trees=mode.trees, strict=False, report=report))
            if first is not None:
                assert found == []
                assert report.reasons[first.kind].examples == [str(first)]
                continue
            (example,) = found
            assert not mode.trees or is_tree(example.gold.heads, partial=mode.partial)
            if layout is CONLLU and mode.trees:
                assert form(example.sentence, example.gold, example.enhanced) == part.text + "\n\n"
