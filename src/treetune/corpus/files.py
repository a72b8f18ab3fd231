"""Paths to bytes and text, and back: `.gz` and `.zst` by suffix, `-` for the standard streams.

An output file appears under its name only when it is complete; until then it has a temporary name in the
same folder, and on an error it is removed (`locks.py`: after a crash too).
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from treetune.corpus.locks import remove_stale, temporary_name, try_lock
from treetune.errors import ConfigError, DataError

STANDARD_STREAM = "-"
# What messages call the standard output.
STDOUT = "stdout"
CHUNK = 1 << 20

StrPath = str | os.PathLike[str]


def display_name(path: StrPath) -> str:
    """Return the name by which messages call an input: its path, or ``<stdin>`` for ``-``."""
    name = os.fspath(path)
    return "<stdin>" if name == STANDARD_STREAM else name


def read_chunks(path: StrPath) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file in pieces of up to about a mebibyte."""
    name = os.fspath(path)
    if name == STANDARD_STREAM:
        yield from _pieces(sys.stdin.buffer)
        return
    check_readable(name)
    try:
        with Path(name).open("rb") as raw:
            yield from _decompressed(name, raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"expected a sound gzip file, found a damaged one ({error})", path=name) from error
    except OSError as error:
        raise _unusable(name, error, "read") from error


def check_readable(path: StrPath) -> None:
    """Raise DataError, as reading would, if there is no file under this name; ``-`` is standard input."""
    name = os.fspath(path)
    if name == STANDARD_STREAM:
        return
    if "\n" in name:
        raise DataError("expected the path of a file, found text with line breaks; pass its lines, text.split('\\n')")
    try:
        if stat.S_ISDIR(Path(name).stat().st_mode):
            raise IsADirectoryError
    except OSError as error:
        raise _unusable(name, error, "read") from error


def read_lines(path: StrPath) -> Iterator[str]:
    """Yield the lines of a UTF-8 file without their ends (LF or CRLF), without a byte order mark."""
    held: list[bytes] = []
    number = 1
    for chunk in read_chunks(path):
        first, *lines = chunk.split(b"\n")
        # Joined at its end: a line may be as long as a file.
        held.append(first)
        if lines:
            *lines, rest = (b"".join(held), *lines)
            held = [rest]
        for line in lines:
            yield _decoded(line, display_name(path), number)
            number += 1
    if last := b"".join(held):
        yield _decoded(last, display_name(path), number)


def check_kept(output: StrPath, inputs: Iterable[StrPath | None], *, flag: str = "--output") -> None:
    """Raise ConfigError if what is written to `output`, the value of `flag`, would replace a file that is read."""
    target = Path(output)
    if not target.is_file():
        return
    for path in inputs:
        # By the files and not by their names: links lead to the same one, and so does other case on some systems.
        if path is not None and Path(path).is_file() and target.samefile(path):
            raise ConfigError(f"{flag} would replace {os.fspath(path)}, which is read; give another name")


@contextmanager
def open_output(path: StrPath) -> Iterator[TextIO]:
    """Open a UTF-8 text file that appears under its name only if the block ends without an error.

    Compressed by suffix, with the same bytes for the same text; ``-`` is standard output, which stays open.
    """
    with open_atomic(path) as raw, ExitStack() as stack:
        packed = _compressed(os.fspath(path), raw)
        if packed is not raw:
            stack.enter_context(packed)
        text = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
        # Detached, the wrapper leaves closing to the owners of the layers below it.
        stack.callback(text.detach)
        yield text
        text.flush()


def write_texts(texts: Iterable[str], target: StrPath | TextIO) -> int:
    """Write the texts of sentences, as they come, to a path or an open text stream and return their number."""
    if isinstance(target, str | os.PathLike):
        with open_output(target) as stream:
            return write_texts(texts, stream)
    count = 0
    for text in texts:
        try:
            target.write(text)
        except UnicodeEncodeError as error:
            found = error.object[error.start]
            raise DataError(
                f"sentence {count + 1} cannot be written as UTF-8: it has the lone surrogate {found!r}"
            ) from error
        count += 1
    return count


@contextmanager
def open_atomic(path: StrPath) -> Iterator[BinaryIO]:
    """Open a file for bytes, written as they are, that appears only if the block ends without an error.

    A link is followed, an existing file keeps its permissions, and what is no regular file (``/dev/null``, a
    pipe) is written directly.
    """
    if os.fspath(path) == STANDARD_STREAM:
        with full_disk_said(STDOUT):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    try:
        final, mode = _target(path)
    except OSError as error:
        raise _unusable(os.fspath(path), error, "written") from error
    with full_disk_said(os.fspath(path)):
        if mode is None or stat.S_ISREG(mode):
            with _renamed_when_complete(final, mode) as raw:
                yield raw
        else:
            with final.open("wb") as raw:
                yield raw


@contextmanager
def _renamed_when_complete(final: Path, mode: int | None) -> Iterator[BinaryIO]:
    remove_stale(final.parent)
    temporary = temporary_name(final)
    try:
        with os.fdopen(_create(temporary, final), "wb") as raw:
            try_lock(raw.fileno())
            yield raw
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        temporary.replace(final)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _create(temporary: Path, final: Path) -> int:
    try:
        # 0o666 and not the mode of `tempfile`: the user's umask decides, as for any other new file.
        return os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        raise _unusable(str(final), error, "written") from error


@contextmanager
def full_disk_said(name: str) -> Iterator[None]:
    """Say of a disk that becomes full in the block what was written to; Python does not."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise _unusable(name, error, "written") from error


def _target(path: StrPath) -> tuple[Path, int | None]:
    """Return the file behind all links and its mode (None if there is none yet), or raise OSError."""
    final = Path(path).resolve()
    if not final.parent.is_dir():
        raise FileNotFoundError(0, f"there is no folder {final.parent}")
    if not final.exists():
        return final, None
    if final.is_dir():
        raise IsADirectoryError(0, "it is a folder")
    if not os.access(final, os.W_OK):
        raise PermissionError(0, "permission denied")
    return final, final.stat().st_mode


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    # read1 hands over what a pipe has now instead of waiting for a full chunk.
    read = getattr(stream, "read1", stream.read)
    while piece := read(CHUNK):
        yield piece


def _decompressed(name: str, raw: BinaryIO) -> Iterator[bytes]:
    if name.endswith(".gz"):
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield from _pieces(cast(BinaryIO, unpacked))
    elif name.endswith(".zst"):
        yield from _unpack_zstd(name, raw)
    else:
        yield from _pieces(raw)


def _unpack_zstd(name: str, raw: BinaryIO) -> Iterator[bytes]:
    import zstandard

    # A stream reader would take a file that was cut off for a complete one; `eof` tells them apart.
    frame = zstandard.ZstdDecompressor().decompressobj()
    complete = True
    try:
        for piece in _pieces(raw):
            while piece:
                if unpacked := frame.decompress(piece):
                    yield unpacked
                complete = frame.eof
                piece = frame.unused_data if complete else b""
                if complete:
                    frame = zstandard.ZstdDecompressor().decompressobj()
    except zstandard.ZstdError as error:
        raise DataError(f"expected a sound zstd file, found a damaged one ({error})", path=name) from error
    if not complete:
        raise DataError("expected a complete zstd file, found one that was cut off", path=name)


def _compressed(name: str, raw: BinaryIO) -> BinaryIO:
    if name.endswith(".gz"):
        # No name and no time inside: the same text gives the same bytes.
        return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0))
    if name.endswith(".zst"):
        import zstandard

        packed = zstandard.ZstdCompressor(level=9).stream_writer(raw, closefd=False)
        return cast(BinaryIO, packed)
    return raw


def _decoded(line: bytes, path: str, number: int) -> str:
    try:
        text = line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(not_utf8(line[error.start], error.start), path=path, line=number) from error
    return text.removeprefix("\ufeff") if number == 1 else text


def not_utf8(byte: int, offset: int) -> str:
    """Return the problem of a byte that is not UTF-8, `offset` bytes after the start of its line."""
    return f"expected UTF-8 text, found the byte 0x{byte:02x} as byte {offset + 1} of the line; convert it to UTF-8"


def _unusable(name: str, error: OSError, verb: str) -> DataError:
    if isinstance(error, FileNotFoundError) and verb == "read":
        return DataError("expected a file, found nothing under this name", path=name)
    if isinstance(error, IsADirectoryError) and verb == "read":
        return DataError("expected a file, found a folder", path=name)
    return DataError(f"this file cannot be {verb}: {(error.strerror or str(error)).lower()}", path=name)
