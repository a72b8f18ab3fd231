"""What a worker does: one shard in, its part of the output and a record of it out. Nothing here knows of Ray."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from treetune.cluster import parquet
from treetune.cluster.documents import DocumentParser, ParsedText
from treetune.cluster.shards import JSON_ROWS, PARQUET_ROWS, Piece, Shard
from treetune.corpus.faults import SentenceError, SkipReport
from treetune.corpus.files import open_atomic, read_chunks
from treetune.corpus.formats import FORMATS
from treetune.errors import DataError, type_of
from treetune.models.file_input import Input
from treetune.models.file_parsing import FileParsing

# What parts of the output can be, beside text in the format of `FileParsing.writes`.
JSON, PARQUET = "json", "parquet"
RECORDS = "_records"
# Rows, and characters of them, that are parsed together.
_ROWS, _CHARACTERS = 256, 1 << 18
_CHUNK = 1 << 20


@dataclass(frozen=True)
class ShardJob:
    """How to parse shards; it is pickled for the workers.

    Attributes:
        parsing: The pipeline and what to write.
        column, id_column: Of rows, the columns with text and id.
        output: The kind of rows that are written, None for text.
        ranges: Whether to note offsets of tokens in MISC.
    """

    parsing: FileParsing
    column: str | None = None
    id_column: str | None = None
    output: str | None = None
    ranges: bool = False

    @property
    def suffix(self) -> str:
        """How names of parts end."""
        if self.column is not None or self.output == PARQUET:
            return {JSON: ".jsonl", PARQUET: ".parquet", None: ".conllu"}[self.output]
        return (*self.parsing.writes.suffixes, ".txt")[0]


@dataclass
class BadDocument:
    """What was set aside: a document or a sentence, by its file and its line or row there, and the reason."""

    file: str
    piece: int
    line: int | None
    reason: str


@dataclass
class Record:
    """What was done for one shard; `lines` has the number of lines, or rows, of each piece.

    `memory` is what the process that did it had at the end, in bytes.
    """

    shard: int
    process: int = 0
    sentences: int = 0
    words: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory: int = 0
    lines: list[int] = field(default_factory=list)
    bad: list[BadDocument] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Record:
        """Return a record that was written."""
        content = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**content, "bad": [BadDocument(**one) for one in content["bad"]]})


def part_name(shard: int, suffix: str) -> str:
    """Return the name of the part of the output for a shard."""
    return f"part-{shard:05d}{suffix}"


def parse_shard(job: ShardJob, shard: Shard, folder: str) -> Record:
    """Parse a shard; its part appears in the folder when it is complete, its record before that."""
    started, cpu = time.perf_counter(), time.process_time()
    record = Record(shard.number, os.getpid())
    with open_atomic(Path(folder, part_name(shard.number, job.suffix))) as raw:
        part = _part(job, raw, shard)
        for number, piece in enumerate(shard.pieces):
            if piece.kind in (JSON_ROWS, PARQUET_ROWS):
                _parse_rows(job, piece, number, part, record)
            else:
                _parse_piece(job, piece, number, part, record)
        part.close()
        record.seconds, record.cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
        record.memory = resident_bytes()
        with open_atomic(Path(folder, RECORDS, part_name(shard.number, ".json"))) as out:
            out.write(json.dumps(asdict(record)).encode())
    return record


class _Faults(SkipReport):
    """A report that keeps every fault."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[SentenceError] = []

    def add(self, fault: SentenceError) -> None:
        super().add(fault)
        self.found.append(fault)


def _parse_piece(job: ShardJob, piece: Piece, number: int, part: _Part, record: Record) -> None:
    """Parse the sentences of a piece; a file that cannot be read is set aside as a whole."""
    faults, skipped = _Faults(), list[DataError]()
    parsing = replace(job.parsing, source=piece.path, skipped=skipped)
    mark, sentences, words, lines = part.mark(), 0, 0, 0
    try:
        with _file_of(piece) as (path, lines):
            constrained = parsing.constrained
            taken = Input(path, FORMATS[piece.kind], lenient=True, trees=constrained, partial=constrained)
            for texts, more, more_words, _ in parsing.chunks(taken, faults, ranges=job.ranges):
                for text in texts:
                    part.add_text(piece.path, text)
                sentences += more
                words += more_words
    except DataError as error:
        part.rollback(mark)
        record.bad.append(BadDocument(piece.path, number, error.line, error.problem))
    else:
        record.sentences += sentences - len(skipped)
        record.words += words
        bad = [BadDocument(piece.path, number, one.line, one.problem) for one in (*faults.found, *skipped)]
        record.bad += sorted(bad, key=lambda one: (one.line or 0, one.reason))
    record.lines.append(lines)


@contextmanager
def _file_of(piece: Piece) -> Iterator[tuple[str, int]]:
    """Give a file with the bytes of a piece, and the number of lines in it if more of the same file may follow."""
    if piece.is_whole:
        yield piece.path, 0
        return
    lines = 0
    with tempfile.NamedTemporaryFile(prefix="treetune-") as copy, Path(piece.path).open("rb") as file:
        file.seek(piece.start)
        left = piece.end - piece.start
        while left and (chunk := file.read(min(_CHUNK, left))):
            copy.write(chunk)
            lines += chunk.count(b"\n")
            left -= len(chunk)
        if left:
            raise DataError(f"expected {piece.end:,} bytes or more, found {left:,} less: it has changed since")
        copy.flush()
        yield copy.name, lines


def _parse_rows(job: ShardJob, piece: Piece, number: int, part: _Part, record: Record) -> None:
    """Parse the documents in the rows of a piece; bad rows are set aside."""
    assert job.column is not None
    documents = DocumentParser(job.parsing, ranges=job.ranges)
    read, before = 0, len(record.bad)

    def finish(rows: list[tuple[int, parquet.Row]]) -> None:
        texts = [row.get(job.column or "") for _, row in rows]
        ids = None if job.id_column is None else [row.get(job.id_column) for _, row in rows]
        for (line, row), found in zip(rows, documents.parse(texts, ids), strict=True):
            if isinstance(found, ParsedText):
                part.add_row(row, found.conllu)
                record.sentences += found.sentences
                record.words += found.words
            else:
                reason = found.problem if job.column in row else f"expected a column {job.column!r}, found none"
                record.bad.append(BadDocument(piece.path, number, line, reason))

    held: list[tuple[int, parquet.Row]] = []
    size = 0
    try:
        for read, row in _rows(piece):
            if isinstance(row, str):
                record.bad.append(BadDocument(piece.path, number, read, row))
                continue
            held.append((read, row))
            size += len(str(row.get(job.column)))
            if len(held) >= _ROWS or size >= _CHARACTERS:
                finish(held)
                held, size = [], 0
    except DataError as error:
        record.bad.append(BadDocument(piece.path, number, None, f"after row {read}: {error.problem}"))
    finish(held)
    record.bad[before:] = sorted(record.bad[before:], key=lambda one: one.line or read + 1)
    record.lines.append(read)


def _rows(piece: Piece) -> Iterator[tuple[int, parquet.Row | str]]:
    """Yield the rows of a piece with their numbers, or what is wrong with them."""
    if piece.kind == PARQUET_ROWS:
        yield from parquet.read_rows(piece.path, piece.start, piece.end)
        return
    for number, line in enumerate(_lines(piece), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            yield number, f"expected a JSON object, found a line that is not JSON ({error})"
            continue
        yield number, row if isinstance(row, dict) else f"expected a JSON object, found {type_of(row)}"


def _lines(piece: Piece) -> Iterator[bytes]:
    if piece.is_whole:
        rest = b""
        for chunk in read_chunks(piece.path):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
        if rest:
            yield rest
        return
    with _file_of(piece) as (path, _), Path(path).open("rb") as file:
        yield from file


class _Part(Protocol):
    """A part of the output in the making."""

    def add_text(self, name: str, text: str) -> None:
        """Add sentences of a file."""

    def add_row(self, row: parquet.Row, conllu: str) -> None:
        """Add a document."""

    def mark(self) -> int:
        """Return where it is now, for `rollback`."""

    def rollback(self, mark: int) -> None:
        """Take back what was added since a mark."""

    def close(self) -> None:
        """Write what is held back."""


def _part(job: ShardJob, raw: BinaryIO, shard: Shard) -> _Part:
    if job.output != PARQUET:
        return _TextPart(raw, is_json=job.output == JSON)
    first = shard.pieces[0]
    return _ParquetPart(raw, parquet.schema_of(first.path) if first.kind == PARQUET_ROWS else None)


@dataclass
class _TextPart:
    raw: BinaryIO
    is_json: bool

    def add_text(self, name: str, text: str) -> None:
        self.raw.write(text.encode())

    def add_row(self, row: parquet.Row, conllu: str) -> None:
        if self.is_json:
            conllu = json.dumps({**row, "conllu": conllu}, ensure_ascii=False, default=str) + "\n"
        self.raw.write(conllu.encode())

    def mark(self) -> int:
        return self.raw.tell()

    def rollback(self, mark: int) -> None:
        self.raw.seek(mark)
        self.raw.truncate()

    def close(self) -> None:
        self.raw.flush()


class _ParquetPart:
    """Rows with the column ``conllu``: the documents of rows, or the sentences of files, a row each."""

    def __init__(self, raw: BinaryIO, schema: Any) -> None:
        self._writer = parquet.ParquetWriter(raw, schema, ["conllu"])
        self._rows: list[parquet.Row] = []

    def add_text(self, name: str, text: str) -> None:
        self._rows += [{"file": name, "conllu": f"{one}\n\n"} for one in text.split("\n\n") if one]

    def add_row(self, row: parquet.Row, conllu: str) -> None:
        self._rows.append({**row, "conllu": conllu})

    def mark(self) -> int:
        return len(self._rows)

    def rollback(self, mark: int) -> None:
        del self._rows[mark:]

    def close(self) -> None:
        self._writer.write(self._rows)
        self._writer.close()


def resident_bytes() -> int:
    """Return the memory of this process, the most that it had where it cannot be known otherwise."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
