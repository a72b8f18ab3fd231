"""Checkpoints: all that is needed to resume a training, in one file that is always complete."""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.files import open_atomic
from treetune.corpus.locks import InUse, exclusive
from treetune.errors import ConfigError, ModelError
from treetune.learning.objectives import Item, sentence_and_reference

Report = TypeVar("Report")
Tensors = dict[str, NDArray[Any]]
ModelState = tuple[dict[str, Any], Tensors]

_STATE, _CHECKSUM = "treetune checkpoint 3", "checksum"
_LEARNER, _BEST = "learner.", "best."
_SUFFIX = ".checkpoint"


class CheckpointOptions(TypedDict):
    """The options of a training that keeps checkpoints."""

    checkpoint: Path | None
    resume: bool


class Checkpoint:
    """A file that holds the state of one training; it appears, or is replaced, only when it is complete.

    `fingerprint` identifies the options and data: a file of another training is refused.
    """

    def __init__(self, path: str | Path, fingerprint: str) -> None:
        self._path = Path(path)
        self._fingerprint = fingerprint
        if self._path.is_dir():
            raise ConfigError(f"cannot write the checkpoint {path}: it is a directory; give the name of a file")
        _check_parent(self._path)

    def held(self, training: Iterator[Report]) -> Iterator[Report]:
        """Yield what a training yields, and keep others from the file meanwhile; ConfigError if another one has it."""
        with _held(self._path):
            yield from training

    def write(self, state: dict[str, Any], learner: Tensors, best: ModelState | None) -> None:
        """Write the state of the trainer, of the learner and of the best model so far."""
        content = {**state, "fingerprint": self._fingerprint, "best": None if best is None else best[0]}
        tensors = {_LEARNER + name: array for name, array in learner.items()}
        if best is not None:
            tensors |= {_BEST + name: array for name, array in best[1].items()}
        whole = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
        text = json.dumps(content)
        with open_atomic(self._path) as out:
            _write_tensors(out, whole, {_STATE: text, _CHECKSUM: _checksum(text, whole)})

    def read(self) -> dict[str, Any] | None:
        """Return what was written, with the arrays under "learner" and "best"; None if there is no file.

        Raises ModelError for a damaged file, ConfigError for one of another training.
        """
        import safetensors
        import safetensors.numpy

        if not self._path.exists():
            return None
        try:
            with safetensors.safe_open(self._path, framework="numpy") as file:
                notes = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        except (safetensors.SafetensorError, OSError, ValueError) as error:
            raise self._unreadable(error) from None
        if _STATE not in notes:
            raise ModelError(f"{self._path} is not a checkpoint of this version of treetune; give another name")
        if notes.get(_CHECKSUM) != _checksum(notes[_STATE], tensors):
            raise self._unreadable("its checksum does not match, it is damaged")
        with self.restoring():
            state: dict[str, Any] = dict(json.loads(notes[_STATE]))
        if state.pop("fingerprint", None) != self._fingerprint:
            raise ConfigError(
                f"the checkpoint {self._path} is of a training with other data or options; "
                "resume with the same ones, or remove it to start from the beginning"
            )
        state["learner"] = _part(tensors, _LEARNER)
        best = state.get("best")
        state["best"] = None if best is None else (best, _part(tensors, _BEST))
        return state

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Raise ModelError, naming the file, where what was read is not what such a training writes."""
        try:
            yield
        except ModelError as error:
            raise self._unreadable(error) from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise self._unreadable(f"its state is not that of this training ({error!r})") from None

    def _unreadable(self, error: Exception | str) -> ModelError:
        return ModelError(f"cannot read the checkpoint {self._path}: {error}; remove it to start from the beginning")


class StageCheckpoints:
    """A folder with a checkpoint of each stage of a training: the parts of a pipeline, the folds of a jackknife.

    Of a finished stage the checkpoint holds only the model, so finished stages are not trained again. Checkpoints of
    another training are removed unless `resume`.
    """

    def __init__(self, folder: str | Path | None, *, resume: bool) -> None:
        if resume and folder is None:
            raise ConfigError("expected a checkpoint to resume from, found none")
        self._folder = None if folder is None else Path(folder)
        self._resume = resume
        self._lock = ExitStack()
        # Also of a training that is never begun.
        weakref.finalize(self, self._lock.close)
        if self._folder is None:
            return
        if self._folder.exists() and not self._folder.is_dir():
            raise ConfigError(f"cannot write the checkpoints to {folder}: it is a file; give the name of a folder")
        _check_parent(self._folder)
        self._lock.enter_context(_held(self._folder))
        if not resume:
            remove_checkpoint(self._folder)
        self._folder.mkdir(exist_ok=True)

    def held(self, training: Iterator[Report]) -> Iterator[Report]:
        """Yield what a training yields; at its end, however it comes, others may have the folder."""
        with self._lock:
            yield from training

    def options(self, stage: str) -> CheckpointOptions:
        """Return the options of `train` for one stage."""
        path = None if self._folder is None else self._folder / (stage + _SUFFIX)
        return CheckpointOptions(checkpoint=path, resume=self._resume)


def remove_checkpoint(path: str | Path) -> None:
    """Remove a checkpoint, or a folder of them; other files in the folder stay, and so does then the folder."""
    path = Path(path)
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    for entry in path.iterdir():
        # Also what a killed process has left half written.
        if entry.name.endswith(_SUFFIX) or (entry.name.startswith(".") and _SUFFIX in entry.name):
            remove_checkpoint(entry)
    with suppress(OSError):
        path.rmdir()


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold a checkpoint, or a folder of them, for one training; locks of killed processes do not count."""
    with ExitStack() as stack:
        try:
            # The command line has a lock of its own on the path itself.
            stack.enter_context(exclusive(path.with_name(f"{path.name}.training")))
        except InUse as error:
            raise ConfigError(
                f"the checkpoint {path} is being written by another training ({error.owner}); wait until it has ended, "
                "or give another name"
            ) from None
        yield


def _check_parent(path: Path) -> None:
    """Raise ConfigError now, and not after the first epoch, if a checkpoint cannot be written."""
    if not path.parent.is_dir():
        raise ConfigError(f"cannot write the checkpoint {path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise ConfigError(f"cannot write the checkpoint {path}: the folder {path.parent} cannot be written to")


def _write_tensors(out: BinaryIO, tensors: Tensors, notes: dict[str, str]) -> None:
    """Write contiguous arrays as safetensors does, but from where they are: that would copy them twice."""
    header: dict[str, Any] = {"__metadata__": notes}
    # Wide numbers first, so that every array is aligned.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    end = 0
    for name, array in ordered:
        start, end = end, end + array.nbytes
        kind = "BOOL" if array.dtype == np.bool_ else f"{array.dtype.kind.upper()}{8 * array.itemsize}"
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, end]}
    packed = json.dumps(header, separators=(",", ":")).encode()
    packed += b" " * (-len(packed) % 8)
    out.write(len(packed).to_bytes(8, "little") + packed)
    for _, array in ordered:
        out.write(array.reshape(-1).view(np.uint8).data)


def _checksum(text: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(text.encode())
    _add(digest, tensors)
    return digest.hexdigest()


def _add(digest: hashlib._Hash, tensors: Tensors) -> None:
    for name, array in sorted(tensors.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)


def _part(tensors: Tensors, prefix: str) -> Tensors:
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}


def fingerprint(options: dict[str, Any], start: ModelState, *datasets: Iterable[Item]) -> str:
    """Return a hash of the options, the data and the model that a training starts from."""
    config, tensors = start
    digest = hashlib.sha256(json.dumps([options, config], sort_keys=True).encode())
    _add(digest, tensors)
    for items in datasets:
        digest.update(b"data")
        for item in items:
            digest.update(repr(sentence_and_reference(item)).encode())
    return digest.hexdigest()
