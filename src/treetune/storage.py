"""A trained model to one file and back: a header that anyone can read, then compressed weights.

``docs/model-files.md`` gives the layout byte by byte. There is no pickle in it: reading a file runs none
of its content.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, BinaryIO

import treetune
from treetune.checked_state import Fields, describe, expected
from treetune.corpus.files import STANDARD_STREAM, open_atomic
from treetune.errors import ModelError, TreetuneError, type_of
from treetune.model_names import find_model
from treetune.models.base import Storable
from treetune.models.registry import MODELS, stored_class

if TYPE_CHECKING:
    import numpy as np

FORMAT = 2
# The first byte is no text, the line ends at the end show a transfer in text mode (as in PNG files).
MAGIC = b"\x89TREETUNE\r\n\x1a"
# format, length of the header, length of the payload, SHA-256 of the payload
_FIXED = struct.Struct("<IQQ32s")
_HASH_SIZE = 32
_START = len(MAGIC) + _FIXED.size + _HASH_SIZE
# Levels from 6 to 12 give the same size on weights within 1 %, higher ones take ten times the time.
_ZSTD_LEVEL = 9
# Bounds of what a file may ask for. Weights pack to a third or so of their size: what unpacks to much more is none.
_DEEPEST, _MOST_AXES, _LONGEST_REASON = 48, 8, 400
_FREE_BYTES, _LARGEST_RATIO = 1 << 26, 32
_TYPES = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2,
    "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# What a `from_state` raises when a state is not one of its own; its checks come first, this is the net below them.
_STRANGE_STATE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

Tensors = dict[str, "np.ndarray[Any, Any]"]


@dataclass(frozen=True, slots=True)
class Header:
    """What a model file says about itself.

    `config` is the resolved configuration, labels included; `tensors` gives type and shape of each array;
    `info` is what the trainer noted: training data and their hashes, seed, scores, licence.
    """

    format: int
    treetune: str
    kind: str
    config: dict[str, Any]
    tensors: dict[str, dict[str, Any]]
    info: dict[str, Any]
    file_size: int

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels the model can give; empty if its configuration does not list them."""
        return tuple(self.config.get("labels", ()))

    @property
    def parameters(self) -> int:
        """The number of values in all arrays."""
        return sum(math.prod(tensor["shape"]) for tensor in self.tensors.values())


def save(model: Storable, path: str | Path, info: dict[str, Any] | None = None) -> None:
    """Write a trained model to `path`, which appears, or is replaced, only when it is complete.

    The same model with the same `info` gives the same bytes. `info` is any dict that JSON can hold.
    """
    if not hasattr(model, "is_trained"):
        raise ModelError(f"expected a model to save, found {type_of(model)}; the model comes first: save(model, path)")
    if not model.is_trained:
        raise ModelError("expected a trained model to save, found one without weights; train it first")
    import numpy as np
    import safetensors.numpy
    import zstandard

    config, tensors = model.state()
    # safetensors copies raw memory, so a transposed or sliced array would be saved wrong.
    dense = {name: np.asarray(tensors[name], order="C") for name in sorted(tensors)}
    header = _header_bytes(model.kind, config, dense, info or {})
    payload = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(safetensors.numpy.save(dense))
    fixed = MAGIC + _FIXED.pack(FORMAT, len(header), len(payload), hashlib.sha256(payload).digest())
    check_target(path)
    with open_atomic(path) as out:
        for part in (fixed, hashlib.sha256(fixed + header).digest(), header, payload):
            out.write(part)


def load(path: str | Path) -> Any:
    """Load a model from a file, or by its name (``"en"``): of the package, of ``TREETUNE_HOME`` or of another package.

    Returns a parser, a tagger, a tokenizer or a pipeline, whatever was saved. Every fault of the file is a `ModelError`
    of one sentence.
    """
    path = find_model(path)
    with _open(path) as file:
        header, digest = _read_header(file, path)
        payload = file.read()
    if hashlib.sha256(payload).digest() != digest:
        raise _damaged(path, "the checksum of its weights does not match")
    if header.kind not in MODELS:
        raise ModelError(
            f"{path} holds a model of the unknown kind {header.kind!r}; known: {', '.join(sorted(MODELS))}"
        )
    return _rebuild(header, _unpack(payload, header, path), path)


def inspect(path: str | Path) -> Header:
    """Read what a model file says about itself; the weights are not read and not checked."""
    path = find_model(path)
    with _open(path) as file:
        return _read_header(file, path)[0]


def check_target(path: str | Path) -> None:
    """Refuse a path to which no model could be written, so that hours of training are not in vain."""
    target = Path(path)
    folder = target.parent
    if str(path) == STANDARD_STREAM:
        raise ModelError("a model is not written to stdout (-); give the name of a file")
    if target.is_dir():
        raise ModelError(f"cannot write the model {path}: it is a directory; give the name of a file")
    if not folder.is_dir():
        raise ModelError(f"cannot write the model {path}: there is no folder {folder}; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ModelError(f"cannot write the model {path}: the folder {folder} is not writable")


def _header_bytes(kind: str, config: dict[str, Any], tensors: Tensors, info: dict[str, Any]) -> bytes:
    content = {
        "format": FORMAT,
        "treetune": treetune.__version__,
        "kind": kind,
        "config": config,
        "tensors": {name: {"dtype": array.dtype.name, "shape": list(array.shape)} for name, array in tensors.items()},
        "info": info,
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8")


def _open(path: str | Path) -> BinaryIO:
    try:
        # A pipe or a device would be waited for, or read without end.
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise ModelError(f"cannot read the model {path}: it is a directory, expected a file")
        if not stat.S_ISREG(mode):
            raise ModelError(f"cannot read the model {path}: it is not a regular file")
        return Path(path).open("rb")
    except FileNotFoundError:
        raise ModelError(f"cannot read the model {path}: there is no such file") from None
    except OSError as error:
        raise ModelError(f"cannot read the model {path}: {error.strerror or error}") from None


def _read_header(file: BinaryIO, path: str | Path) -> tuple[Header, bytes]:
    """Return the checked header and the checksum the payload must have; leave `file` at the payload."""
    size = os.fstat(file.fileno()).st_size
    start = file.read(_START)
    _check_magic(start, path)
    if len(start) < _START:
        raise _truncated(path, f"at least {_START}", size)
    fixed, header_hash = start[:-_HASH_SIZE], start[-_HASH_SIZE:]
    number, header_length, payload_length, payload_hash = _FIXED.unpack(fixed[len(MAGIC) :])
    if number > FORMAT:
        raise ModelError(
            f"{path} has model format {number}, and this treetune {treetune.__version__} reads up to format "
            f"{FORMAT}; update treetune"
        )
    if number < FORMAT:
        raise ModelError(f"{path} has model format {number} of an earlier treetune, expected {FORMAT}; train it again")
    if size < _START + header_length:
        raise _truncated(path, f"at least {_START + header_length}", size)
    header = file.read(header_length)
    if hashlib.sha256(fixed + header).digest() != header_hash:
        raise _damaged(path, "the checksum of its header does not match")
    expected = _START + header_length + payload_length
    if size < expected:
        raise _truncated(path, str(expected), size)
    if size > expected:
        raise _damaged(path, f"{size - expected} bytes follow its end")
    return _parse_header(header, path, size=size), payload_hash


def _parse_header(text: bytes, path: str | Path, *, size: int) -> Header:
    # Named one by one: a later version may add keys without changing the format.
    names = ("format", "treetune", "kind", "config", "tensors", "info")
    try:
        content = json.loads(text, parse_constant=_no_number)
        if _SURROGATE.search(text):
            json.dumps(content, ensure_ascii=False).encode("utf-8")
        values = {name: content[name] for name in names}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damaged(path, "its header is not that of a model") from None
    try:
        _check_header(Fields(values))
    except ModelError as error:
        raise _damaged(path, f"its header: {error}") from None
    return Header(**values, file_size=size)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _check_header(fields: Fields) -> None:
    fields.integer("format", FORMAT, FORMAT)
    fields.text("treetune")
    fields.text("kind")
    config, tensors, info = (fields.table(name) for name in ("config", "tensors", "info"))
    _check_depth([fields.value("config"), fields.value("info")])
    if "labels" in config:
        config.texts("labels")
    for name in tensors:
        own = tensors.table(name)
        own.text("dtype", _TYPES)
        shape = own.entries("shape")
        if len(shape) > _MOST_AXES:
            raise expected(own.path("shape"), f"at most {_MOST_AXES} numbers", shape)
        for length in shape:
            if type(length) is not int or not 0 <= length < 1 << 48:
                raise expected(own.path("shape"), "whole numbers", length)
    if "config" in info:
        info.table("config")


def _check_depth(content: list[Any]) -> None:
    """Raise ModelError if tables and lists are nested deeper than those of any model."""
    level: list[Any] = content
    for _ in range(_DEEPEST):
        inner = [part.values() if isinstance(part, dict) else part for part in level]
        # Most are long lists of texts, whose types alone are looked at.
        nested = [values for values in inner if not {dict, list}.isdisjoint(map(type, values))]
        level = [value for values in nested for value in values if isinstance(value, dict | list)]
        if not level:
            return
    raise ModelError(f"config and info: expected at most {_DEEPEST} levels of tables and lists, found more")


def _check_magic(start: bytes, path: str | Path) -> None:
    if not start:
        raise ModelError(f"{path} is empty, expected a treetune model")
    if start[: len(MAGIC)] == MAGIC[: len(start)]:
        return
    if start.startswith(MAGIC[:9]):
        raise _damaged(path, "its first bytes were changed, perhaps by a transfer in text mode")
    raise ModelError(f"{path} is not a treetune model; models are written by 'treetune train'")


def _unpack(payload: bytes, header: Header, path: str | Path) -> Tensors:
    """Return the arrays, which are those that the header lists; nothing is allocated that it does not account for."""
    import safetensors
    import safetensors.numpy
    import zstandard

    listed = sum(math.prod(tensor["shape"]) * _TYPES[tensor["dtype"]] for tensor in header.tensors.values())
    try:
        size = zstandard.frame_content_size(payload)
        # Besides the arrays there is a list of them.
        most = min(listed + 1024 * (len(header.tensors) + 1), _FREE_BYTES + _LARGEST_RATIO * len(payload))
        if not listed <= size <= most:
            raise _damaged(path, f"its weights unpack to {size:,} bytes, expected {listed:,} to {most:,}")
        found = safetensors.numpy.load(zstandard.ZstdDecompressor().decompress(payload))
    except (zstandard.ZstdError, safetensors.SafetensorError, *_STRANGE_STATE) as error:
        raise _damaged(path, f"its weights cannot be unpacked ({error})") from None
    shown = {name: {"dtype": array.dtype.name, "shape": list(array.shape)} for name, array in found.items()}
    for name in sorted(shown.keys() | header.tensors.keys()):
        if shown.get(name) != header.tensors.get(name):
            wanted, own = (_type_and_shape(table.get(name)) for table in (header.tensors, shown))
            raise _damaged(path, f"of the array {describe(name)} its header lists {wanted}, found {own}")
    return found


def _type_and_shape(tensor: dict[str, Any] | None) -> str:
    return "none" if tensor is None else f"{tensor['dtype']} {tensor['shape']}"


def _rebuild(header: Header, tensors: Tensors, path: str | Path) -> Any:
    try:
        return stored_class(header.kind).from_state(header.config, tensors)
    except TreetuneError as error:
        why = shorten(str(error), _LONGEST_REASON, placeholder=" …")
        raise _damaged(path, f"it is no sound {header.kind} model ({why})") from None
    except _STRANGE_STATE as error:
        why = shorten(repr(error), _LONGEST_REASON, placeholder=" …")
        raise _damaged(path, f"its header does not describe a {header.kind} model ({why})") from None


def _truncated(path: str | Path, expected: str, found: int) -> ModelError:
    return ModelError(f"{path} is truncated: expected {expected} bytes, found {found}; copy or train it again")


def _damaged(path: str | Path, why: str) -> ModelError:
    return ModelError(f"{path} is damaged: {why}; copy or train it again")
