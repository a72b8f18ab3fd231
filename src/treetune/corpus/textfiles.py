"""Raw text: files to pieces, pieces to blocks that end with a paragraph, at constant memory; and tokenized text.

Tokenized text has a sentence a line, its tokens separated by white space.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace

from treetune.corpus.blocks import Source
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import StrPath, display_name, not_utf8, read_chunks, read_lines
from treetune.corpus.sentence import Enhanced, Example, Sentence, Tree
from treetune.errors import DataError

# Characters of a block: large enough to keep kernels busy. A longer paragraph makes a longer block, up to the limit.
BLOCK = 1 << 17
LARGEST_BLOCK = 1 << 20

_LINE_END = r"(?:\r\n|\r(?!\n)|[\n\x0c\u2028\u2029])"
# Where the text continues after an empty line, or after the end of a line.
_AFTER_PARAGRAPH = re.compile(rf"(?:{_LINE_END}[^\S\n\r]*{_LINE_END}|[\x0c\u2029])\s*(?=\S)")
_SOMETHING = re.compile(r"\S")
_AFTER_LINE = re.compile(rf"{_LINE_END}\s*(?=\S)")


def read_text(path: StrPath) -> Iterator[str]:
    """Yield the text of a UTF-8 file in pieces, without a byte order mark; `-` is standard input."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, column, is_first = 1, 0, True
    for chunk in read_chunks(path):
        held = decoder.getstate()[0]
        try:
            piece = decoder.decode(chunk)
        except UnicodeDecodeError as error:
            raise _not_text(path, held + chunk, error.start, line, column) from error
        data = (held + chunk)[: len(held) + len(chunk) - len(decoder.getstate()[0])]
        line += data.count(b"\n")
        column = len(data) - 1 - data.rfind(b"\n") + (column if b"\n" not in data else 0)
        if is_first and piece:
            piece, is_first = piece.removeprefix("\ufeff"), False
        yield piece
    rest = decoder.getstate()[0]
    if rest:
        raise _not_text(path, rest, 0, line, column)


def _not_text(path: StrPath, data: bytes, start: int, line: int, column: int) -> DataError:
    before = data[:start]
    offset = len(before) - 1 - before.rfind(b"\n") + (column if b"\n" not in before else 0)
    return DataError(not_utf8(data[start], offset), path=display_name(path), line=line + before.count(b"\n"))


def read_tokens(
    source: Source,
    *,
    strict: bool = True,
    partial: bool = False,
    trees: bool = True,
    report: SkipReport | None = None,
) -> Iterator[Example]:
    """Yield the sentences of tokenized text, numbered, with unknown trees; empty lines are skipped."""
    number = 0
    for line in read_lines(source) if isinstance(source, str | os.PathLike) else source:
        if tokens := line.split():
            number += 1
            comments = (f"# sent_id = {number}", f"# text = {' '.join(tokens)}")
            yield Example(replace(Sentence.of(tokens), comments=comments), Tree.unknown(len(tokens)))
    if report is not None:
        report.read += number


def format_tokens(sentence: Sentence, tree: Tree, enhanced: Enhanced | None = None) -> str:
    """Return the tokens of a sentence on a line, a space between them."""
    return " ".join(sentence.forms[1:]) + "\n"


def text_blocks(pieces: Iterable[str], *, lines: bool = False) -> Generator[tuple[str, bool], int, None]:
    """Yield blocks that end before a paragraph (or, with `lines`, a line) begins, the same for any pieces.

    With each comes whether it ends so: a paragraph longer than `LARGEST_BLOCK` is handed over cut. Whoever takes a
    block sends back how many characters of it were used; the rest comes again at the start of the next one.
    """
    pattern = _AFTER_LINE if lines else _AFTER_PARAGRAPH
    buffer = ""
    for piece in _gathered(pieces):
        buffer += piece
        size = BLOCK
        while len(buffer) >= size:
            cut = _last_end(pattern, buffer, size)
            if buffer[:cut].isspace():
                cut = 0
            if not cut and size < LARGEST_BLOCK:
                size *= 2
                continue
            end = cut or _within_paragraph(buffer, size)
            if not end:
                break
            used = yield buffer[:end], bool(cut)
            buffer, size = buffer[used:], BLOCK
    if buffer:
        yield buffer, True


def _within_paragraph(text: str, size: int) -> int:
    """Return where to cut a text without paragraphs: after something and before something, or 0 if there is no such."""
    first = _SOMETHING.search(text)
    after = None if first is None else _SOMETHING.search(text, max(size, first.end()))
    return 0 if after is None else after.start()


def _gathered(pieces: Iterable[str]) -> Iterator[str]:
    """Yield small pieces together, so that their number does not matter."""
    held: list[str] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= BLOCK:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


def _last_end(pattern: re.Pattern[str], text: str, size: int) -> int:
    """Return where the last match within `size` characters ends, or 0."""
    # From the back, a window at a time: most blocks have a match near their end.
    window = 2048
    start = size
    while start > 0:
        start = max(0, start - window)
        found = 0
        for match in pattern.finditer(text, start, size):
            found = match.end()
        if found:
            return found
        window *= 4
    return 0
