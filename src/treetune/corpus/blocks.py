"""A file or lines to blocks: the text of one sentence each, with the number of its first line.

Line ends are LF or CRLF; empty lines at either end or doubled between sentences, a missing end of the last
line and a byte order mark make no difference.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from treetune.corpus.files import StrPath, display_name, read_chunks

Source = StrPath | Iterable[str]

BATCH = 64

_BYTE_ORDER_MARK = "\ufeff"
# What `surrogateescape` makes of bytes that are not UTF-8.
_ESCAPED = re.compile("[\udc80-\udcff]")


class Block(NamedTuple):
    """The lines of one sentence; `damaged` if bytes that are not UTF-8 were escaped into surrogates."""

    line: int
    text: str
    damaged: bool = False


def source_name(source: Source) -> str | None:
    """Return what messages call a source; lines have no name."""
    return display_name(source) if isinstance(source, str | os.PathLike) else None


def blocks(source: Source) -> Iterator[Block]:
    """Yield the sentences of a file, or of lines with or without their ends, as they arrive."""
    return itertools.chain.from_iterable(block_batches(source))


def block_batches(source: Source, size: int = BATCH) -> Iterator[Sequence[Block]]:
    """Yield the same, up to `size` sentences at a time: those that are there already."""
    if isinstance(source, str | os.PathLike):
        for found in _from_chunks(read_chunks(source)):
            while batch := list(itertools.islice(found, size)):
                yield batch
    else:
        for block in _from_lines(source):
            yield (block,)


def _from_chunks(chunks: Iterable[bytes]) -> Iterator[Iterator[Block]]:
    rest, line = b"", 1
    for chunk in _with_line_feeds(chunks):
        data = rest + chunk
        cut = data.rfind(b"\n\n") + 2
        if cut == 1:
            rest = data
            continue
        yield _split(data[: cut - 2], line)
        line += data.count(b"\n", 0, cut)
        rest = data[cut:]
    yield _split(rest, line)


def _with_line_feeds(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks with CRLF as LF, also where a cut falls between the two."""
    held = b""
    for chunk in chunks:
        data = held + chunk
        held = b"\r" if data.endswith(b"\r") else b""
        yield data.removesuffix(held).replace(b"\r\n", b"\n") if b"\r" in data else data
    yield held


def _split(data: bytes, line: int) -> Iterator[Block]:
    """Split whole sentences: cut at line ends, so that no character is cut in two."""
    damaged = False
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
        damaged = True
    if line == 1:
        text = text.removeprefix(_BYTE_ORDER_MARK)
    for piece in text.split("\n\n"):
        body = piece.strip("\n")
        if body:
            first = line if piece[0] != "\n" else line + len(piece) - len(piece.lstrip("\n"))
            yield Block(first, body, damaged and _ESCAPED.search(body) is not None)
        line += piece.count("\n") + 2


def _from_lines(lines: Iterable[str]) -> Iterator[Block]:
    held: list[str] = []
    for number, line in enumerate(lines, start=1):
        line = line.removesuffix("\n").removesuffix("\r")
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if line:
            held.append(line)
        elif held:
            yield _joined(number - len(held), held)
            held = []
    if held:
        yield _joined(number - len(held) + 1, held)


def _joined(line: int, lines: list[str]) -> Block:
    text = "\n".join(lines)
    return Block(line, text, not text.isascii() and _ESCAPED.search(text) is not None)


def first_escaped(line: str) -> tuple[int, int] | None:
    """Return the first byte of a line that is not UTF-8 and how many bytes precede it, or None."""
    match = _ESCAPED.search(line)
    if match is None:
        return None
    before = line[: match.start()].encode("utf-8", "surrogateescape")
    return ord(match[0]) - 0xDC00, len(before)
