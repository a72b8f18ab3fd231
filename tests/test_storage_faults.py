"""Model files that cannot be used: each fault is one sentence."""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import treetune
from stub_parser import StubParser, stub_model_fixture, trained
from treetune import storage
from treetune.errors import ModelError
from treetune.models.registry import MODELS

__all__ = ["stub_model_fixture"]

Read = Callable[[Path], object]
both = pytest.mark.parametrize("read", [storage.load, storage.inspect])


def message(read: Read, path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        read(path)
    text = str(caught.value)
    assert "\n" not in text
    return text


def saved(path: Path) -> bytes:
    storage.save(trained(), path)
    return path.read_bytes()


def sealed(number: int, header: bytes, payload: bytes) -> bytes:
    """A file whose checksums are right, whatever it holds."""
    fixed = storage.MAGIC + struct.pack("<IQQ", number, len(header), len(payload))
    fixed += hashlib.sha256(payload).digest()
    return fixed + hashlib.sha256(fixed + header).digest() + header + payload


@both
def test_missing(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "none"
    assert message(read, path) == f"cannot read the model {path}: there is no such file"


@both
def test_directory(read: Read, tmp_path: Path) -> None:
    assert message(read, tmp_path) == f"cannot read the model {tmp_path}: it is a directory, expected a file"


@both
@pytest.mark.skipif(os.name == "nt", reason="no named pipes")
def test_pipe(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert message(read, path) == f"cannot read the model {path}: it is not a regular file"


@both
def test_unreadable(read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m"
    saved(path)

    def refuse(*args: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    assert message(read, path) == f"cannot read the model {path}: Permission denied"


@both
def test_path_that_cannot_exist(read: Read, tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)
    assert message(read, path) == f"cannot read the model {path}: File name too long"


@both
def test_empty(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.touch()
    assert message(read, path) == f"{path} is empty, expected a treetune model"


@both
@pytest.mark.parametrize("kind", ["conllu", "zip", "gzip", "pickle", "zeros"])
def test_foreign(read: Read, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "m"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a", "b")
    content = {
        "conllu": b"# text = Hi\n1\tHi\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n",
        "gzip": gzip.compress(b"hello"),
        "pickle": b"\x80\x04cos\nsystem\n.",
        "zeros": bytes(1000),
    }
    if kind in content:
        path.write_bytes(content[kind])
    assert message(read, path) == f"{path} is not a treetune model; models are written by 'treetune train'"


@both
def test_text_mode_transfer(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(saved(path).replace(b"\r\n", b"\n"))
    assert message(read, path) == (
        f"{path} is damaged: its first bytes were changed, perhaps by a transfer in text mode; copy or train it again"
    )


@both
def test_newer_format(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(sealed(3, b"a layout not known today", b""))
    assert message(read, path) == (
        f"{path} has model format 3, and this treetune {treetune.__version__} reads up to format 2; update treetune"
    )


@both
def test_older_format(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(sealed(1, b"a layout of the past", b""))
    assert message(read, path) == f"{path} has model format 1 of an earlier treetune, expected 2; train it again"


def test_unknown_kind_can_be_looked_at_but_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "m"
    saved(path)
    assert storage.inspect(path).kind == "stub"
    known = ", ".join(sorted(MODELS))
    assert message(storage.load, path) == f"{path} holds a model of the unknown kind 'stub'; known: {known}"


@both
@pytest.mark.parametrize("header", [b"[]", b"{}", b"not JSON", b"\xff", b"null"])
def test_strange_header(read: Read, header: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(sealed(2, header, b""))
    assert message(read, path) == (f"{path} is damaged: its header is not that of a model; copy or train it again")


def test_weights_that_do_not_unpack(tmp_path: Path, stub_model: StubParser) -> None:
    path = tmp_path / "m"
    data = saved(path)
    header = data[96 : 96 + int.from_bytes(data[16:24], "little")]
    path.write_bytes(sealed(2, header, b"no zstd frame"))
    assert message(storage.load, path).startswith(f"{path} is damaged: its weights cannot be unpacked (")


@both
def test_extra_bytes(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(saved(path) + b"abc")
    assert message(read, path) == f"{path} is damaged: 3 bytes follow its end; copy or train it again"


@both
@pytest.mark.parametrize("length", [3, 12, 50, 95])
def test_truncated_in_the_fixed_part(read: Read, length: int, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(saved(path)[:length])
    assert message(read, path) == (
        f"{path} is truncated: expected at least 96 bytes, found {length}; copy or train it again"
    )


@both
def test_truncated_in_the_header_and_in_the_weights(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "m"
    data = saved(path)
    header_end = 96 + int.from_bytes(data[16:24], "little")
    path.write_bytes(data[: header_end - 1])
    assert message(read, path) == (
        f"{path} is truncated: expected at least {header_end} bytes, found {header_end - 1}; copy or train it again"
    )
    path.write_bytes(data[:-1])
    assert message(read, path) == (
        f"{path} is truncated: expected {len(data)} bytes, found {len(data) - 1}; copy or train it again"
    )


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    path = tmp_path_factory.mktemp("sound") / "m"
    return path, saved(path)


@given(where=st.floats(0, 1, exclude_max=True))
def test_cut_anywhere(sound: tuple[Path, bytes], where: float) -> None:
    path, data = sound
    length = int(where * len(data))
    path.write_bytes(data[:length])
    text = message(storage.load, path)
    assert f"{path} is truncated: " in text if length else "is empty" in text
    message(storage.inspect, path)


@given(where=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
@example(where=0.0, flip=1)
@example(where=0.9999, flip=128)
def test_any_changed_byte_is_noticed(sound: tuple[Path, bytes], where: float, flip: int) -> None:
    path, data = sound
    place = int(where * len(data))
    changed = bytearray(data)
    changed[place] ^= flip
    path.write_bytes(bytes(changed))
    text = message(storage.load, path)
    if place >= 24:
        assert "is damaged: the checksum of its " in text
    if place >= 96 + int.from_bytes(data[16:24], "little"):
        # The weights were not looked at, so this is the one fault `inspect` does not see.
        assert storage.inspect(path).kind == "stub"


@pytest.mark.parametrize("place", range(96))
def test_any_changed_byte_of_the_fixed_part_is_noticed(place: int, tmp_path: Path) -> None:
    path = tmp_path / "m"
    changed = bytearray(saved(path))
    changed[place] ^= 0x40
    path.write_bytes(bytes(changed))
    message(storage.inspect, path)


def test_a_file_that_cannot_be_written_is_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "none"
    assert message(storage.check_target, missing / "m") == (
        f"cannot write the model {missing / 'm'}: there is no folder {missing}; create it first"
    )
    assert message(storage.check_target, tmp_path) == (
        f"cannot write the model {tmp_path}: it is a directory; give the name of a file"
    )
    assert message(storage.check_target, Path("-")) == "a model is not written to stdout (-); give the name of a file"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert message(storage.check_target, tmp_path / "m") == (
        f"cannot write the model {tmp_path / 'm'}: the folder {tmp_path} is not writable"
    )


def test_saving_checks_the_target_too(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no folder"):
        storage.save(trained(), tmp_path / "none" / "m")


def test_new_files_have_the_usual_permissions(tmp_path: Path) -> None:
    path = tmp_path / "m"
    saved(path)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
