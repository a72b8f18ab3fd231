"""Files of words with IOB tags to sentences with gold tags and back: entities, one word a line.

A line is the word, a tab and its tag (``B-PER``, ``I-PER``, ``O``); with three columns the one between them is a
part-of-speech tag, kept as XPOS. Lines that begin with ``# `` and have no tab are comments if they stand before the
first word. IOB1, BIOES and BILOU are understood too and become IOB2; what was converted is counted in the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TextIO

from treetune.corpus.blocks import Block, Source, blocks, first_escaped, source_name
from treetune.corpus.faults import SentenceError, SkipReport
from treetune.corpus.files import StrPath, not_utf8, write_texts
from treetune.corpus.sentence import ABSENT, Enhanced, Example, Sentence, Tree
from treetune.corpus.spans import ENTITY_KEY, OUTSIDE, first_break, iob_tags, is_tag, scheme_of, spans_of
from treetune.corpus.tags import Tagged, Tags, tags_of, with_tags
from treetune.errors import DataError, unknown_name

SCHEMES = ("iob2", "iob1", "bioes", "bilou")


def read_iob(
    source: Source,
    *,
    scheme: str | None = None,
    strict: bool = True,
    tags: bool = True,
    report: SkipReport | None = None,
) -> Iterator[Tagged]:
    """Yield the sentences of a file (``-`` is standard input) or of lines, with IOB2 tags, one at a time.

    Args:
        source: a path, by its suffix `.gz` or `.zst` compressed, or lines of text.
        scheme: how the file writes spans, one of `SCHEMES`; a sentence in another scheme is then a fault. None takes
            each sentence as it comes.
        strict: raise `DataError` at the first fault; otherwise skip the sentences that have one.
        tags: read the tags; otherwise ignore them, leave all tags unknown and take lines of a single word too.
        report: where to count what was read, what was converted to IOB2 and what was skipped for which reason.
    """
    if scheme is not None and scheme not in SCHEMES:
        raise unknown_name("scheme of spans", scheme, SCHEMES)
    return _read(source, scheme, strict=strict, tags=tags, report=SkipReport() if report is None else report)


def _read(source: Source, scheme: str | None, *, strict: bool, tags: bool, report: SkipReport) -> Iterator[Tagged]:
    for block in blocks(source):
        try:
            tagged, written_in = _sentence(block, scheme, with_tags=tags)
        except SentenceError as fault:
            fault.path = source_name(source)
            fault.args = (str(fault),)
            if strict:
                raise
            report.add(fault)
            continue
        report.read += 1
        if written_in != "iob2":
            report.converted[written_in] = report.converted.get(written_in, 0) + 1
        yield tagged


def _sentence(block: Block, scheme: str | None, *, with_tags: bool) -> tuple[Tagged, str]:
    """Return the sentence of a block and the scheme it was written in, or raise the first fault."""
    lines = list(enumerate(block.text.split("\n"), start=block.line))
    comments: list[str] = []
    while lines and _is_comment(lines[0][1]):
        comments.append(lines.pop(0)[1])
    if not lines:
        problem = "expected words after the comments, found the end of the sentence"
        last = block.line + len(comments) - 1
        raise SentenceError(problem, kind="comments without words", line=last)
    rows = [_cells(number, line, with_tags=with_tags) for number, line in lines]
    width = len(rows[0])
    for (number, _), cells in zip(lines, rows, strict=True):
        if len(cells) != width:
            problem = f"expected {width} columns, as in the line before, found {len(cells)}"
            raise SentenceError(problem, kind="a wrong number of columns", line=number)
    sentence = Sentence.of([row[0] for row in rows], xpos=[row[1] for row in rows] if width == 3 else None)
    sentence = replace(sentence, comments=tuple(comments))
    if not with_tags:
        return Tagged(sentence, Tags.unknown(len(rows))), "iob2"
    written = Tags.of(row[-1] for row in rows).values
    found = scheme_of(written)
    if scheme is not None:
        _check_scheme(written, scheme, first_line=lines[0][0])
        found = scheme if found != "iob2" else found
    return Tagged(sentence, Tags(written if found == "iob2" else iob_tags(spans_of(written), len(rows)))), found


def _is_comment(line: str) -> bool:
    return line.startswith("# ") and "\t" not in line


def _cells(number: int, line: str, *, with_tags: bool) -> list[str]:
    escaped = first_escaped(line)
    if escaped is not None:
        raise SentenceError(not_utf8(*escaped), kind="bytes that are not UTF-8", line=number)
    if "\r" in line:
        problem = "expected lines that end in LF or CRLF, found a carriage return within a line"
        raise SentenceError(problem, kind="carriage returns", line=number)
    if not line.strip():
        problem = "expected an empty line or a word, found nothing but white space"
        raise SentenceError(problem, kind="lines of white space", line=number)
    cells = line.split("\t")
    if len(cells) > 3 or (with_tags and len(cells) < 2):
        problem = f"expected a word, a tab and its tag, found {len(cells)} columns"
        if len(cells) == 1 and len(line.split()) > 1:
            problem += "; it seems that tabs were replaced by spaces"
        raise SentenceError(problem, kind="a wrong number of columns", line=number)
    names = ("FORM", "TAG") if len(cells) == 2 else ("FORM", "XPOS", "TAG")
    for column, cell in zip(names, cells, strict=False):
        if not cell:
            raise SentenceError("expected a value, found nothing", kind="empty columns", line=number, column=column)
        if cell != cell.strip(" ") or (column != "FORM" and " " in cell):
            problem = f"expected no space at either end, and none in a tag, found {cell!r}"
            raise SentenceError(problem, kind="misplaced spaces", line=number, column=column)
    if with_tags and not is_tag(cells[-1]):
        problem = f"expected O or a tag such as B-PER or I-PER, found {cells[-1]!r}"
        raise SentenceError(problem, kind="wrong tags", line=number, column="TAG")
    return cells


def _check_scheme(tags: Sequence[str], scheme: str, *, first_line: int) -> None:
    """Raise the fault of a sentence that is not written in the scheme its reader was told."""
    word = _first_break(tags, scheme)
    if word is not None:
        before = tags[word - 1] if word > 1 else "the start"
        problem = f"expected tags in {scheme.upper()}, found {tags[word]!r} after {before!r}"
        line = first_line + word - 1
        raise SentenceError(problem, kind=f"tags that are not {scheme.upper()}", line=line, column="TAG")


def _first_break(tags: Sequence[str], scheme: str) -> int | None:
    if scheme == "iob2":
        return first_break(tags)
    allowed = {"iob1": "BIO", "bioes": "BIOES", "bilou": "BILOU"}[scheme]
    return next((word for word in range(1, len(tags)) if tags[word][0] not in allowed), None)


def format_iob(sentence: Sentence, tags: Tags) -> str:
    """Return a sentence as IOB2 lines, the empty line after it included; an unknown tag is written as ``O``."""
    size = len(sentence)
    if not size:
        raise DataError("a sentence without words cannot be written")
    if len(tags) != size:
        raise DataError(f"expected tags of {size} words, found those of {len(tags)}")
    has_xpos = any(tag != ABSENT for tag in sentence.xpos[1:])
    rows = []
    for word in range(1, size + 1):
        cells = [sentence.forms[word], *([sentence.xpos[word]] if has_xpos else []), tags.values[word] or OUTSIDE]
        for cell in cells:
            if not cell or cell != cell.strip(" ") or set(cell) & set("\t\n\r"):
                problem = f"word {word} cannot be written: expected a value without tabs and line breaks"
                raise DataError(f"{problem}, found {cell!r}")
        if not is_tag(cells[-1]):
            raise DataError(f"word {word} cannot be written: expected an IOB2 tag, found {cells[-1]!r}", column="TAG")
        rows.append("\t".join(cells))
    comments = [comment for comment in sentence.comments if _is_comment(comment)]
    return "\n".join([*comments, *rows]) + "\n\n"


def write_iob(tagged: Iterable[Tagged], target: StrPath | TextIO) -> int:
    """Write sentences to a path (complete or not at all; ``-`` is standard output) or a text stream.

    Returns the number of sentences.
    """
    return write_texts((format_iob(one.sentence, one.gold) for one in tagged), target)


def read_entities(
    source: Source,
    *,
    strict: bool = True,
    partial: bool = False,
    trees: bool = True,
    report: SkipReport | None = None,
) -> Iterator[Example]:
    """Yield the sentences of an IOB file as a treebank has them: tags in MISC (``ner=B-PER``), unknown trees.

    The options are those of `read_conllu`; without `trees` the tags are left out and need not be there.
    """
    for one in read_iob(source, strict=strict, tags=trees, report=report):
        yield Example(with_tags(one.sentence, one.gold, (ENTITY_KEY,)), Tree.unknown(len(one.sentence)))


def format_entities(sentence: Sentence, tree: Tree, enhanced: Enhanced | None = None) -> str:
    """Return a sentence whose entities are in MISC as IOB2 lines; trees are left out."""
    return format_iob(sentence, tags_of(sentence, (ENTITY_KEY,)))
