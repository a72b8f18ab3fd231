"""Opening files: compression, complete or not at all, and one clear sentence when it does not work."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import sys
from pathlib import Path
from time import process_time

import pytest
import zstandard
from corpus_samples import DOGS, FULL
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treetune.corpus import open_atomic, open_output, read_conllu, read_lines, write_conllu
from treetune.corpus.files import check_kept, read_chunks
from treetune.corpus.treebank import read_tagged, read_trees
from treetune.errors import ConfigError, DataError

as_root = hasattr(os, "geteuid") and os.geteuid() == 0


def content(path: Path) -> bytes:
    return b"".join(read_chunks(path))


@pytest.mark.parametrize("suffix", [".conllu", ".conllu.gz", ".conllu.zst"])
@given(text=st.text("a\n\r\té字🙂\x00\ufeff", max_size=200))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_text_comes_back(suffix: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"file{suffix}"
    with open_output(path) as stream:
        stream.write(text)
    assert content(path) == text.encode()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_compressed_treebank_round_trips(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"bank.conllu{suffix}"
    write_conllu(read_conllu((FULL * 300).split("\n")), path)
    assert path.stat().st_size < len(FULL) * 30
    assert content(path).decode() == FULL * 300
    assert len(list(read_conllu(path))) == 300


def test_suffixes_decide_the_compression(tmp_path: Path) -> None:
    for name, unpack in (
        ("a.gz", gzip.decompress),
        ("a.zst", lambda data: zstandard.ZstdDecompressor().stream_reader(data).read()),
        ("a.txt", bytes),
    ):
        with open_output(tmp_path / name) as stream:
            stream.write("häm\n")
        assert unpack((tmp_path / name).read_bytes()) == "häm\n".encode()


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_the_same_text_gives_the_same_bytes(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    for time in (1e9, 2e9):
        monkeypatch.setattr("time.time", lambda time=time: time)
        path = tmp_path / f"{int(time)}{suffix}"
        with open_output(path) as stream:
            stream.write(DOGS)
        written.append(path.read_bytes())
    assert written[0] == written[1]


def test_several_members_in_one_compressed_file(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one") + gzip.compress(b"two"))
    pack = zstandard.ZstdCompressor().compress
    (tmp_path / "a.zst").write_bytes(pack(b"one") + pack(b"two"))
    assert content(tmp_path / "a.gz") == content(tmp_path / "a.zst") == b"onetwo"


def test_empty_compressed_files_are_empty(tmp_path: Path) -> None:
    for name in ("a.gz", "a.zst"):
        (tmp_path / name).touch()
        assert content(tmp_path / name) == b""


def test_damaged_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    text = os.urandom(50_000)
    packed = {"a.gz": gzip.compress(text), "a.zst": zstandard.ZstdCompressor().compress(text)}
    cut = {
        "a.gz": "expected a sound gzip file, found a damaged one "
        "(Compressed file ended before the end-of-stream marker was reached)",
        "a.zst": "expected a complete zstd file, found one that was cut off",
    }
    foreign = {
        "a.gz": "expected a sound gzip file, found a damaged one (Not a gzipped file (b'no'))",
        "a.zst": "expected a sound zstd file, found a damaged one (zstd decompressor error: Unknown frame descriptor)",
    }
    for name, data in packed.items():
        path = tmp_path / name
        for bad, message in ((data[:-100], cut[name]), (b"no such format", foreign[name])):
            path.write_bytes(bad)
            with pytest.raises(DataError) as caught:
                content(path)
            assert str(caught.value) == f"{path}: {message}"


def test_a_flipped_byte_in_gzip_is_found(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(DOGS.encode() * 100))
    data[-6] ^= 1
    path = tmp_path / "a.gz"
    path.write_bytes(data)
    with pytest.raises(DataError, match="expected a sound gzip file, found a damaged one"):
        content(path)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        list(read_conllu(tmp_path / "none.conllu"))
    assert str(caught.value) == f"{tmp_path / 'none.conllu'}: expected a file, found nothing under this name"
    with pytest.raises(DataError) as caught:
        list(read_conllu(tmp_path))
    assert str(caught.value) == f"{tmp_path}: expected a file, found a folder"


def test_text_in_the_place_of_a_path_is_noticed() -> None:
    with pytest.raises(DataError) as caught:
        list(read_conllu(DOGS))
    assert str(caught.value) == (
        "expected the path of a file, found text with line breaks; pass its lines, text.split('\\n')"
    )


@pytest.mark.skipif(as_root, reason="root may read and write everything")
def test_files_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "closed"
    path.write_text("a")
    path.chmod(0)
    with pytest.raises(DataError, match="closed: this file cannot be read: permission denied"):
        content(path)
    with (
        pytest.raises(DataError, match="closed: this file cannot be written: permission denied"),
        open_output(path),
    ):
        pass


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(DataError) as caught, open_output(folder):
        pass
    assert str(caught.value) == f"{folder}: this file cannot be written: it is a folder"
    with pytest.raises(DataError) as caught, open_output(tmp_path / "no" / "out"):
        pass
    assert str(caught.value) == (
        f"{tmp_path / 'no' / 'out'}: this file cannot be written: there is no folder {tmp_path / 'no'}"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said() -> None:
    with pytest.raises(DataError) as caught, open_output("/dev/full") as stream:
        stream.write("a" * 100_000)
    assert str(caught.value) == "/dev/full: this file cannot be written: no space left on device"


class _FullDisk(io.BytesIO):
    def write(self, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_behind_stdout_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(_FullDisk()))
    with pytest.raises(DataError) as caught, open_output("-") as stream:
        stream.write("text")
    assert str(caught.value) == "stdout: this file cannot be written: no space left on device"


def test_other_errors_in_the_block_pass_through(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), open_output(tmp_path / "out"):
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("name", ["out.txt", "out.gz", "out.zst"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_output_appears_only_when_complete(name: str, error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"old")

    def fail() -> None:
        with open_output(path) as stream:
            stream.write("new" * 100_000)
            stream.flush()
            assert path.read_bytes() == b"old"
            assert len(list(tmp_path.iterdir())) == 2
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_an_output_may_replace_its_own_input(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(FULL * 50, encoding="utf-8")
    write_conllu(read_conllu(path), path)
    assert path.read_text(encoding="utf-8") == FULL * 50


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")
def test_a_file_that_is_read_is_not_to_be_replaced(tmp_path: Path) -> None:
    read, link = tmp_path / "in.txt", tmp_path / "link"
    read.write_text("old\n")
    link.symlink_to(read)
    for output in (read, link, tmp_path / "." / "in.txt"):
        with pytest.raises(ConfigError) as caught:
            check_kept(output, [None, "-", tmp_path / "none", read], flag="--model")
        assert str(caught.value) == f"--model would replace {read}, which is read; give another name"
    for output in (tmp_path / "new.txt", tmp_path, Path("/dev/null"), Path("-")):
        check_kept(output, ["-", read, "/dev/null", tmp_path])


def test_links_are_followed_and_permissions_kept(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with open_output(link) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    with open_output(tmp_path / "ours"):
        pass
    (tmp_path / "plain").touch()
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs /dev/null")
def test_devices_are_written_directly() -> None:
    with open_output("/dev/null") as stream:
        stream.write("gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_long_names_and_plain_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("é" * 120, "plain"):
        with open_output(name) as stream:
            stream.write("a")
        assert Path(name).read_text() == "a"


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    with open_atomic(tmp_path / "a.gz") as stream:
        stream.write(b"\x00\r\n")
    assert (tmp_path / "a.gz").read_bytes() == b"\x00\r\n"


def test_line_ends_are_never_translated(tmp_path: Path) -> None:
    with open_output(tmp_path / "a") as stream:
        stream.write("a\nb\r\nc")
    assert (tmp_path / "a").read_bytes() == b"a\nb\r\nc"


def test_lines_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\r\n\ntwo\u2028three\x85\nfour".encode())
    assert list(read_lines(path)) == ["one", "", "two\u2028three\x85", "four"]
    path.write_bytes(b"one\nt\xe4o\n")
    with pytest.raises(DataError) as caught:
        list(read_lines(path))
    assert (
        str(caught.value)
        == f"{path}:2: expected UTF-8 text, found the byte 0xe4 as byte 2 of the line; convert it to UTF-8"
    )


def test_a_long_line_takes_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a" * 20_000_000 + b"\nb")
    monkeypatch.setattr("treetune.corpus.files.CHUNK", 1 << 11)
    started = process_time()
    assert [len(line) for line in read_lines(path)] == [20_000_000, 1]
    # Copied with every piece that is added to it, the line would take half a minute.
    assert process_time() - started < 3


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
@pytest.mark.parametrize("data", [b"", b"\n", b"ab\n\ncd", b"ab\r\ncd\n", b"\n\na"])
def test_lines_are_the_same_for_any_pieces(
    data: bytes, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treetune.corpus.files.CHUNK", chunk)
    (tmp_path / "a").write_bytes(data)
    assert list(read_lines(tmp_path / "a")) == data.decode().splitlines()


def test_standard_output_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    with open_output("-") as stream:
        stream.write("ä\n")
    assert out.getvalue() == "ä\n".encode()
    assert not out.closed


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("ä\nb".encode()), encoding="ascii"))
    assert list(read_lines("-")) == ["ä", "b"]


def test_a_missing_file_is_noticed_at_the_call(tmp_path: Path) -> None:
    missing = f"^{tmp_path / 'none.conllu'}: expected a file, found nothing under this name$"
    with pytest.raises(DataError, match=missing):
        read_trees(tmp_path / "none.conllu")
    with pytest.raises(DataError, match=missing):
        read_tagged(tmp_path / "none.conllu", ["upos"])
    with pytest.raises(DataError, match=r"expected a file, found a folder$"):
        read_trees(tmp_path)
    with pytest.raises(ConfigError, match=r"^columns: 'upos' is named twice$"):
        read_tagged(tmp_path / "none.conllu", ["upos", "upos"])
