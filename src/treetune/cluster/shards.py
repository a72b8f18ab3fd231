"""Files to shards, each the work of one task: cut where sentences or rows end, the same for the same files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from treetune.corpus.files import check_readable
from treetune.errors import ConfigError, DataError

# Kinds of input with a document a row; all others are names of formats.
JSON_ROWS, PARQUET_ROWS = "JSON rows", "Parquet rows"
ROWS = {".jsonl": JSON_ROWS, ".json": JSON_ROWS, ".parquet": PARQUET_ROWS}

# Where a file may be cut: after these bytes. Sentences of other formats depend on what precedes them in the file.
_CUTS = {
    "conllu": re.compile(rb"\n\r?\n"),
    "conllx": re.compile(rb"\n\r?\n"),
    "json": re.compile(rb"\n"),
    JSON_ROWS: re.compile(rb"\n"),
}
_COMPRESSED = (".gz", ".zst")
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Piece:
    """A file of one kind, or a part of it: from byte `start` to `end`, of Parquet from one row group to another."""

    path: str
    kind: str
    start: int
    end: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Shard:
    """The pieces that become one file of the output, and their size in bytes."""

    number: int
    pieces: tuple[Piece, ...]
    size: int


def find_files(sources: Sequence[str]) -> list[str]:
    """Return the files that are named, in this order; of a folder those in it, by name, but hidden ones and ``_*``."""
    found: list[str] = []
    for source in sources:
        if not Path(source).is_dir():
            check_readable(source)
            found.append(source)
            continue
        inside = sorted(entry.path for entry in os.scandir(source) if entry.is_file() and entry.name[0] not in "._")
        if not inside:
            raise DataError("expected a folder with files to parse, found none in it", path=source)
        found += inside
    return found


def row_kind(path: str) -> str:
    """Return the kind of a file with a document a row."""
    bare = path.removesuffix(".gz").removesuffix(".zst")
    suffix = Path(bare).suffix
    if suffix not in ROWS or (ROWS[suffix] == PARQUET_ROWS and bare != path):
        raise ConfigError(
            f"{path}: expected a file with a document a row, .parquet or .jsonl, found another; leave --column out, "
            "or parse it by itself"
        )
    return ROWS[suffix]


def make_shards(files: Iterable[str], kind_of: Callable[[str], str], size: int) -> list[Shard]:
    """Return shards of about `size` bytes: large files are cut where that changes nothing, small ones go together."""
    shards: list[Shard] = []
    held: list[Piece] = []
    held_size = 0
    for path in files:
        for piece, piece_size in _pieces(path, kind_of(path), size):
            if held and held_size + piece_size > size:
                shards.append(Shard(len(shards), tuple(held), held_size))
                held, held_size = [], 0
            held.append(piece)
            held_size += piece_size
    if held:
        shards.append(Shard(len(shards), tuple(held), held_size))
    return shards


def _pieces(path: str, kind: str, size: int) -> Iterator[tuple[Piece, int]]:
    """Yield the parts of a file that are parsed by themselves, with their sizes."""
    if kind == PARQUET_ROWS:
        from treetune.cluster.parquet import row_groups

        groups = row_groups(path)
        for group, group_size in enumerate(groups):
            yield Piece(path, kind, group, group + 1, len(groups) == 1), group_size
        return
    total = Path(path).stat().st_size
    if kind not in _CUTS or path.endswith(_COMPRESSED) or total <= size:
        yield Piece(path, kind, 0, total, is_whole=True), total
        return
    start = 0
    with Path(path).open("rb") as file:
        while start < total:
            end = total if total - start <= size else _cut(file, start + size, total, _CUTS[kind])
            yield Piece(path, kind, start, end, is_whole=start == 0 and end == total), end - start
            start = end


def _cut(file: BinaryIO, at: int, total: int, pattern: re.Pattern[bytes]) -> int:
    """Return the first place after `at` where a file may be cut."""
    # A match may begin in one chunk and end in the next one.
    file.seek(at)
    held = b""
    while chunk := file.read(_CHUNK):
        data = held + chunk
        if match := pattern.search(data):
            return at + match.end()
        held = data[-2:]
        at += len(data) - len(held)
    return total
