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
# White space from an empty line, or from the end of a line, on. No match fails after it has taken the last `\s*`, so
# that searching is linear in the text, however much white space there is.
_AFTER_PARAGRAPH = re.compile(rf"(?:{_LINE_END}[^\S\n\r]*{_LINE_END}|[\x0c\u2029])\s*")
_AFTER_LINE = re.compile(rf"{_LINE_END}\s*")
_SOMETHING = re.compile(r"\S")


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
    buffer, size, first = "", BLOCK, -1
    for piece in _gathered(pieces):
        buffer += piece
        if first < 0:
            # Only the first block begins with white space, which does not count.
            first = len(buffer) - len(buffer.lstrip())
        while len(buffer) >= first + size:
            end = _last_end(pattern, buffer, first, first + size)
            if not end and size < LARGEST_BLOCK:
                size *= 2
                continue
            end = end or _within_paragraph(buffer, first + size)
            if not end:
                break
            is_whole = pattern.search(buffer, len(buffer[:end].rstrip()), end) is not None
            used = yield buffer[:end], is_whole
            buffer, size, first = buffer[used:], BLOCK, 0
    if buffer:
        yield buffer, True


def _within_paragraph(text: str, size: int) -> int:
    """Return where to cut a text without paragraphs: before the first character after `size`, or 0 if there is none."""
    after = _SOMETHING.search(text, size)
    return 0 if after is None else after.start()


def _gathered(pieces: Iterable[str]) -> Iterator[str]:
    """Yield pieces of about a block: small ones together, large ones in parts, and white space with what follows it."""
    held: list[str] = []
    size = 0
    for piece in pieces:
        for start in range(0, len(piece), BLOCK):
            part = piece[start : start + BLOCK]
            held.append(part)
            size += len(part)
            if size >= BLOCK and not part.isspace():
                yield "".join(held)
                held, size = [], 0
    yield "".join(held)


def _last_end(pattern: re.Pattern[str], text: str, first: int, last: int) -> int:
    """Return where the last match in [first, last) that has something after it ends, or 0."""
    start = end = len(text[:last].rstrip())
    # From the back, a window at a time: most blocks have a match near their end.
    window = 2048
    while start > first:
        start = max(first, start - window)
        found = 0
        for match in pattern.finditer(text, start, end):
            found = match.end()
        if found:
            return found
        window *= 4
    return 0
