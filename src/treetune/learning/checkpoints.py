"""Everything a training needs to go on after it was stopped, in one file that is always whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.files import open_atomic
from treetune.errors import ConfigError, ModelError
from treetune.learning.objectives import Objective, sentence_and_reference

Tensors = dict[str, NDArray[Any]]
ModelState = tuple[dict[str, Any], Tensors]

_STATE, _CHECKSUM = "treetune checkpoint 2", "checksum"
_LEARNER, _BEST = "learner.", "best."


class Checkpoint:
    """A file that holds the state of one training; it appears, or is replaced, only when it is complete.

    `told` stands for options and data: a file of another training is refused.
    """

    def __init__(self, path: str | Path, told: str) -> None:
        self._path = Path(path)
        self._told = told
        if self._path.is_dir():
            raise ConfigError(f"cannot write the checkpoint {path}: it is a directory; give the name of a file")
        if not self._path.parent.is_dir():
            raise ConfigError(f"cannot write the checkpoint {path}: there is no folder {self._path.parent}")
        # Better now than after the first epoch.
        if not os.access(self._path.parent, os.W_OK):
            raise ConfigError(
                f"cannot write the checkpoint {path}: the folder {self._path.parent} cannot be written to"
            )

    def write(self, state: dict[str, Any], learner: Tensors, best: ModelState | None) -> None:
        """Keep the state of the trainer, of the learner and of the best model so far."""
        import safetensors.numpy

        content = {**state, "told": self._told, "best": None if best is None else best[0]}
        tensors = {_LEARNER + name: array for name, array in learner.items()}
        if best is not None:
            tensors |= {_BEST + name: array for name, array in best[1].items()}
        whole = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
        text = json.dumps(content)
        with open_atomic(self._path) as out:
            out.write(safetensors.numpy.save(whole, metadata={_STATE: text, _CHECKSUM: _checksum(text, whole)}))

    def read(self) -> dict[str, Any] | None:
        """Return what was kept, with the arrays under "learner" and "best"; None if there is no file.

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
        state: dict[str, Any] = json.loads(notes[_STATE])
        if state.pop("told", None) != self._told:
            raise ConfigError(
                f"the checkpoint {self._path} is of a training with other data or options; "
                "resume with the same ones, or remove it to start from the beginning"
            )
        state["learner"] = _part(tensors, _LEARNER)
        state["best"] = None if state["best"] is None else (state["best"], _part(tensors, _BEST))
        return state

    def _unreadable(self, error: Exception | str) -> ModelError:
        return ModelError(f"cannot read the checkpoint {self._path}: {error}; remove it to start from the beginning")


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


def fingerprint(told: dict[str, Any], start: ModelState, objectives: Sequence[Objective], dev: Sequence[Any]) -> str:
    """Return a text that is the same only for the same options, data, and model to start from."""
    config, tensors = start
    digest = hashlib.sha256(json.dumps([told, config], sort_keys=True).encode())
    _add(digest, tensors)
    for items in (*(objective.data for objective in objectives), *(objective.dev for objective in objectives), dev):
        digest.update(b"data")
        for item in items:
            digest.update(repr(sentence_and_reference(item)).encode())
    return digest.hexdigest()
