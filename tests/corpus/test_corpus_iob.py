"""IOB files: what is read, what is converted, what is refused in which words, and that it comes back."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import words
from treetune.corpus import SkipReport, Span, format_iob, iob_tags, read_iob, spans_of, write_iob
from treetune.corpus.iob import SCHEMES
from treetune.corpus.sentence import ROOT, Sentence
from treetune.corpus.spans import scheme_of
from treetune.corpus.tags import Tagged, Tags
from treetune.errors import ConfigError, DataError

LINES = "Ada\tB-PER\nLovelace\tI-PER\nin\tO\nLondon\tB-LOC\n\n"


def one(text: str, **options: object) -> Tagged:
    found = list(read_iob(text.split("\n"), **options))  # type: ignore[arg-type]
    assert len(found) == 1
    return found[0]


def tags(text: str) -> tuple[str, ...]:
    return (ROOT, *text.split())


def test_a_sentence_is_words_with_tags() -> None:
    tagged = one(LINES)
    assert tagged.sentence.forms[1:] == ("Ada", "Lovelace", "in", "London")
    assert tagged.gold.values == tags("B-PER I-PER O B-LOC")
    assert spans_of(tagged.gold.values) == [Span(1, 3, "PER"), Span(4, 5, "LOC")]


def test_three_columns_have_a_tag_of_the_word_between() -> None:
    text = "Ada\tNNP\tB-PER\nwrites\tVBZ\tO\n\n"
    tagged = one(text)
    assert tagged.sentence.xpos[1:] == ("NNP", "VBZ")
    assert format_iob(tagged.sentence, tagged.gold) == text


def test_comments_stay_and_a_hash_tag_is_a_word() -> None:
    text = "# sent_id = 7\n#ada\tO\n# \tO\n\n"
    with pytest.raises(DataError, match=re.escape("column FORM: expected no space at either end")):
        one(text)
    tagged = one("# sent_id = 7\n#ada\tO\n#\tO\n\n")
    assert tagged.sentence.comments == ("# sent_id = 7",)
    assert tagged.sentence.forms[1:] == ("#ada", "#")
    assert format_iob(tagged.sentence, tagged.gold) == "# sent_id = 7\n#ada\tO\n#\tO\n\n"


@pytest.mark.parametrize(
    ("written", "scheme", "read"),
    [
        ("I-PER I-PER O I-LOC", "iob1", "B-PER I-PER O B-LOC"),
        ("I-PER B-PER I-LOC", "iob1", "B-PER B-PER B-LOC"),
        ("B-PER E-PER O S-LOC", "bioes", "B-PER I-PER O B-LOC"),
        ("B-PER I-PER L-PER U-LOC U-LOC", "bilou", "B-PER I-PER I-PER B-LOC B-LOC"),
        ("O B-PER I-PER", "iob2", "O B-PER I-PER"),
    ],
)
def test_other_schemes_become_iob2_and_the_report_says_so(written: str, scheme: str, read: str) -> None:
    report = SkipReport()
    text = "".join(f"w\t{tag}\n" for tag in written.split())
    assert scheme_of(tags(written)) == scheme
    assert one(text, report=report).gold.values == tags(read)
    assert one(text, scheme=scheme).gold.values == tags(read)
    assert report.converted == ({} if scheme == "iob2" else {scheme: 1})
    expected = "" if scheme == "iob2" else f"read 1 in {scheme.upper()} of 1 sentences as IOB2"
    assert report.conversions() == expected


FAULTS = [
    (
        "Ada B-PER\n",
        ":1: expected a word, a tab and its tag, found 1 columns; it seems that tabs were replaced by spaces",
    ),
    ("Ada\n", ":1: expected a word, a tab and its tag, found 1 columns"),
    ("a\tb\tc\td\n", ":1: expected a word, a tab and its tag, found 4 columns"),
    ("a\tO\nb\tNN\tO\n", ":2: expected 2 columns, as in the line before, found 3"),
    ("a\tO\nb\tPER\n", ":2: column TAG: expected O or a tag such as B-PER or I-PER, found 'PER'"),
    ("a\tB-\n", ":1: column TAG: expected O or a tag such as B-PER or I-PER, found 'B-'"),
    ("a\t\n", ":1: column TAG: expected a value, found nothing"),
    ("\tO\n", ":1: column FORM: expected a value, found nothing"),
    ("a \tO\n", ":1: column FORM: expected no space at either end, and none in a tag, found 'a '"),
    ("a\tO\n  \n", ":2: expected an empty line or a word, found nothing but white space"),
    ("a\rb\tO\n", ":1: expected lines that end in LF or CRLF, found a carriage return within a line"),
    ("# only\n", ":1: expected words after the comments, found the end of the sentence"),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_a_fault_is_named_or_skipped(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "entities.iob2"
    path.write_bytes((text + "\n" + LINES).encode())
    with pytest.raises(DataError) as caught:
        list(read_iob(path))
    assert str(caught.value) == f"{path}{message}"
    report = SkipReport()
    assert len(list(read_iob(path, strict=False, report=report))) == 1
    assert (report.read, report.skipped) == (1, 1)
    assert str(path) in report.summary()


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "entities.iob2"
    path.write_bytes(b"a\xff\tO\n\n")
    with pytest.raises(
        DataError, match=r":1: expected UTF-8 text, found the byte 0xff as byte 2 of the line; convert it to UTF-8$"
    ):
        list(read_iob(path))


@pytest.mark.parametrize(
    ("scheme", "written", "message"),
    [
        ("iob2", "O I-PER", "line 2: column TAG: expected tags in IOB2, found 'I-PER' after 'O'"),
        ("iob2", "I-PER", "line 1: column TAG: expected tags in IOB2, found 'I-PER' after 'the start'"),
        ("iob2", "B-PER I-LOC", "line 2: column TAG: expected tags in IOB2, found 'I-LOC' after 'B-PER'"),
        ("iob1", "O S-PER", "line 2: column TAG: expected tags in IOB1, found 'S-PER' after 'O'"),
        ("bioes", "U-PER", "line 1: column TAG: expected tags in BIOES, found 'U-PER' after 'the start'"),
        ("bilou", "B-PER E-PER", "line 2: column TAG: expected tags in BILOU, found 'E-PER' after 'B-PER'"),
    ],
)
def test_a_named_scheme_is_held_to(scheme: str, written: str, message: str) -> None:
    text = "".join(f"w\t{tag}\n" for tag in written.split())
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        one(text, scheme=scheme)
    one(text)


def test_an_unknown_scheme_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match=re.escape("unknown scheme of spans 'bio'; known: bilou, bioes, iob1, iob2")):
        read_iob([], scheme="bio")


def test_without_tags_words_are_enough_and_tags_are_not_looked_at() -> None:
    assert one("Ada\nwrites\n", tags=False).gold == Tags.unknown(2)
    assert one("Ada\tX\nwrites\tY\n", tags=False).gold == Tags.unknown(2)


def test_what_cannot_be_written_is_refused() -> None:
    sentence = Sentence.of(["a", "b"])
    for given_tags, message in [
        (["O"], "expected tags of 2 words, found those of 1"),
        (["O", "PER"], "column TAG: word 2 cannot be written: expected an IOB2 tag, found 'PER'"),
        (["O", "B-a\tb"], "word 2 cannot be written: expected a value without tabs and line breaks"),
    ]:
        with pytest.raises(DataError, match=re.escape(message)):
            format_iob(sentence, Tags.of(given_tags))
    with pytest.raises(DataError, match=r"^a sentence without words cannot be written$"):
        format_iob(Sentence.of([]), Tags.of([]))


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([Span(0, 1, "X")], "expected a span within words 1 to 3, found words 0 to 0"),
        ([Span(2, 2, "X")], "expected a span within words 1 to 3, found words 2 to 1"),
        ([Span(3, 5, "X")], "expected a span within words 1 to 3, found words 3 to 4"),
        ([Span(1, 2, "")], "expected a span with a label, found none for words 1 to 1"),
        ([Span(1, 3, "X"), Span(2, 4, "Y")], "expected spans that share no word, found two of words 2 to 3"),
    ],
)
def test_spans_that_no_tags_can_say(spans: list[Span], message: str) -> None:
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        iob_tags(spans, 3)


any_tags = st.lists(st.sampled_from(("O", *(f"{letter}-{label}" for letter in "BIESLU" for label in ("A", "B")))))


@given(any_tags)
def test_spans_do_not_overlap_and_survive_iob2(drawn: list[str]) -> None:
    spans = spans_of((ROOT, *drawn))
    covered = [word for span in spans for word in range(span.start, span.end)]
    assert covered == sorted(set(covered))
    assert {word for word in range(1, len(drawn) + 1) if drawn[word - 1] != "O"} == set(covered)
    written = iob_tags(spans, len(drawn))
    assert spans_of(written) == spans
    assert scheme_of(written) == "iob2"


@given(st.lists(st.tuples(words, st.sampled_from(("O", "B-A", "I-A", "B-B"))), min_size=1, max_size=6))
def test_a_file_comes_back(rows: list[tuple[str, str]]) -> None:
    forms = [form for form, _ in rows]
    values = iob_tags(spans_of((ROOT, *(tag for _, tag in rows))), len(rows))
    tagged = Tagged(Sentence.of(forms), Tags(values))
    # At the start of a file U+FEFF is no part of the text.
    first = Tagged(Sentence.of(["first"]), Tags.of(["O"]))
    stream = io.StringIO()
    assert write_iob([first, tagged, tagged], stream) == 3
    assert list(read_iob(stream.getvalue().split("\n"), scheme="iob2")) == [first, tagged, tagged]


def test_a_compressed_file_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "a.iob2.gz"
    assert write_iob([one(LINES)], path) == 1
    assert list(read_iob(path)) == [one(LINES)]


@pytest.mark.data
@pytest.mark.parametrize("name", ["uner-train", "wnut17-train"])
def test_real_files_come_back_byte_for_byte(name: str, data_dir: Path) -> None:
    path = data_dir / "ner" / f"{name}.iob2"
    stream = io.StringIO()
    write_iob(read_iob(path, scheme="iob2"), stream)
    assert stream.getvalue() == path.read_text(encoding="utf-8")


def test_every_scheme_has_a_test() -> None:
    assert SCHEMES == ("iob2", "iob1", "bioes", "bilou")
