"""Model files: what is written comes back, the same bytes each time, and only when complete."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import treetune
from stub_parser import StubParser, stub_model_fixture, trained
from treetune import storage
from treetune.errors import DataError, ModelError
from treetune.models.registry import MODELS

__all__ = ["stub_model_fixture"]

INFO: dict[str, Any] = {"licence": "CC0", "training": {"seed": 3, "files": [{"name": "ä.conllu"}]}}


def test_a_model_comes_back_as_it_was(tmp_path: Path, stub_model: StubParser) -> None:
    storage.save(stub_model, tmp_path / "m.treetune", INFO)
    loaded = storage.load(tmp_path / "m.treetune")
    assert isinstance(loaded, StubParser)
    assert (loaded.options, loaded.labels) == ({"beam": 8, "features": "default"}, ("dep", "root"))
    assert loaded.weights is not None
    assert stub_model.weights is not None
    np.testing.assert_array_equal(loaded.weights, stub_model.weights)


def test_the_header_says_everything(tmp_path: Path, stub_model: StubParser) -> None:
    path = tmp_path / "any name"
    storage.save(stub_model, path, INFO)
    header = storage.inspect(path)
    assert header.format == storage.FORMAT == 2
    assert header.treetune == treetune.__version__
    assert header.kind == "stub"
    assert header.config == {"beam": 8, "features": "default", "labels": ["dep", "root"]}
    assert header.labels == ("dep", "root")
    assert header.tensors == {"weights": {"dtype": "float32", "shape": [100]}}
    assert header.parameters == 100
    assert header.info == INFO
    assert header.file_size == path.stat().st_size


def test_same_model_same_bytes_whatever_the_order_of_keys(tmp_path: Path, stub_model: StubParser) -> None:
    storage.save(stub_model, tmp_path / "a", {"x": 1, "y": 2})
    storage.save(stub_model, tmp_path / "b", {"y": 2, "x": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_loading_and_saving_again_gives_the_same_bytes(tmp_path: Path, stub_model: StubParser) -> None:
    storage.save(stub_model, tmp_path / "a", INFO)
    storage.save(storage.load(tmp_path / "a"), tmp_path / "b", storage.inspect(tmp_path / "a").info)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_layout_is_the_documented_one(tmp_path: Path, stub_model: StubParser) -> None:
    storage.save(stub_model, tmp_path / "m", INFO)
    data = (tmp_path / "m").read_bytes()
    assert data[:12] == bytes.fromhex("89 54 52 45 45 54 55 4E 45 0D 0A 1A")
    assert int.from_bytes(data[12:16], "little") == 2
    header_end = 96 + int.from_bytes(data[16:24], "little")
    assert len(data) == header_end + int.from_bytes(data[24:32], "little")
    assert json.loads(data[96:header_end])["kind"] == "stub"
    # The magic number of a zstd frame.
    assert data[header_end : header_end + 4] == bytes.fromhex("28 B5 2F FD")


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.float64).reshape(3, 4).T,
        np.arange(12, dtype=np.int16)[::2],
        np.zeros((0, 3), np.float32),
        np.array(7, np.int64),
        np.array([1, 2], ">u4"),
        np.array([True, False]),
    ],
    ids=["transposed", "sliced", "empty", "scalar", "big-endian", "boolean"],
)
def test_arrays_of_every_layout_survive(tmp_path: Path, stub_model: StubParser, array: np.ndarray[Any, Any]) -> None:
    stub_model.weights = array
    storage.save(stub_model, tmp_path / "m")
    loaded = storage.load(tmp_path / "m")
    assert isinstance(loaded, StubParser)
    assert loaded.weights is not None
    np.testing.assert_array_equal(loaded.weights, array)
    assert loaded.weights.shape == array.shape
    # numba compiles anew for an array that is read-only.
    assert loaded.weights.flags.writeable
    assert loaded.weights.flags.c_contiguous


@given(
    array=arrays.arrays(np.float32, arrays.array_shapes(max_dims=3, max_side=5)),
    labels=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5),
)
def test_any_weights_and_labels_survive(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray[Any, Any], labels: list[str]
) -> None:
    path = tmp_path_factory.mktemp("any") / "m"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(MODELS, "stub", "stub_parser:StubParser")
        parser = StubParser()
        parser.labels, parser.weights = tuple(labels), array
        storage.save(parser, path)
        loaded = storage.load(path)
    assert isinstance(loaded, StubParser)
    assert loaded.weights is not None
    assert loaded.weights.tobytes() == array.tobytes()
    assert list(loaded.labels) == labels


def test_an_untrained_model_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        storage.save(StubParser(), tmp_path / "m")
    assert str(caught.value) == "expected a trained model to save, found one without weights; train it first"
    assert not list(tmp_path.iterdir())


def test_info_that_is_no_json_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        storage.save(trained(), tmp_path / "m", {"las": float("nan")})
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_model(
    tmp_path: Path, stub_model: StubParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    storage.save(stub_model, path, {"version": "old"})
    before = path.read_bytes()

    class FullDisk(io.FileIO):
        def write(self, data: Any) -> int:
            if len(data) > 50:
                raise OSError(28, "No space left on device")
            return super().write(data)

    def fdopen(handle: int, mode: str) -> BinaryIO:
        return FullDisk(handle, mode)

    monkeypatch.setattr(os, "fdopen", fdopen)
    with pytest.raises(DataError, match="cannot be written: no space left on device"):
        storage.save(stub_model, path, {"version": "new"})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_looking_into_a_model_loads_no_kernels(tmp_path: Path) -> None:
    storage.save(trained(), tmp_path / "m")
    code = "import sys; from treetune import storage; storage.inspect(sys.argv[1]); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")]).returncode == 0
