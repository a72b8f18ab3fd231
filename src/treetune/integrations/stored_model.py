"""The model of a spaCy component or tokenizer: loaded once a process, saved with the spaCy pipeline.

A model that is called by name is saved as its name and checksum, a model that is a file as a copy of the file.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

from treetune.model_names import SUFFIX, find_model, is_name
from treetune.models.pipeline import Pipeline
from treetune.storage import load

# By file, size and time of its last change: a tokenizer and a component share one model.
_LOADED: WeakValueDictionary[tuple[str, int, int], Pipeline] = WeakValueDictionary()
_DESCRIPTION, _COPY = "treetune.json", f"model{SUFFIX}"


class StoredModel:
    """Has a model by name or path, and the methods by which spaCy saves and loads it.

    An unknown name is an error at once. A file is read when it is needed, because a spaCy pipeline that was saved
    elsewhere brings a copy of it.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self._content: bytes | None = None
        self._pipeline: Pipeline | None = None
        if is_name(model):
            find_model(model)

    @property
    def pipeline(self) -> Pipeline:
        """The model as a pipeline."""
        if self._pipeline is None:
            self._pipeline = _load(Path(find_model(self.model)))
        return self._pipeline

    def to_bytes(self, *, exclude: Collection[str] = ()) -> bytes:
        """Return what `from_bytes` takes: a line of JSON, and the file of a model that is not called by name."""
        copy = b"" if is_name(self.model) else self._file()
        return json.dumps(self._description()).encode() + b"\n" + copy

    def from_bytes(self, data: bytes, *, exclude: Collection[str] = ()) -> Self:
        """Take over a model from `to_bytes`."""
        description, _, copy = data.partition(b"\n")
        self._restore(json.loads(description), copy or None)
        return self

    def to_disk(self, path: str | Path, *, exclude: Collection[str] = ()) -> None:
        """Write the model into a folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _DESCRIPTION).write_text(json.dumps(self._description(), indent=2) + "\n", encoding="utf-8")
        if not is_name(self.model):
            (folder / _COPY).write_bytes(self._file())

    def from_disk(self, path: str | Path, *, exclude: Collection[str] = ()) -> Self:
        """Take over a model from the folder of `to_disk`."""
        folder = Path(path)
        copy = (folder / _COPY).read_bytes() if (folder / _COPY).is_file() else None
        self._restore(json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8")), copy)
        return self

    def _file(self) -> bytes:
        return Path(find_model(self.model)).read_bytes() if self._content is None else self._content

    def _description(self) -> dict[str, Any]:
        return {"model": self.model, "sha256": hashlib.sha256(self._file()).hexdigest()}

    def _restore(self, description: dict[str, Any], copy: bytes | None) -> None:
        self.model, self._content, self._pipeline = description["model"], copy, None
        if copy is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / _COPY
                path.write_bytes(copy)
                self._pipeline = Pipeline.of(load(path))
        elif self._description()["sha256"] != description["sha256"]:
            warnings.warn(
                f"the spaCy pipeline was saved with another version of the model {self.model!r} than the one found "
                f"here, {find_model(self.model)}; its analyses may differ",
                stacklevel=3,
            )


def _load(path: Path) -> Pipeline:
    if not path.is_file():
        return Pipeline.of(load(path))
    stat = path.stat()
    key = str(path.resolve()), stat.st_size, stat.st_mtime_ns
    found = _LOADED.get(key)
    if found is None:
        found = _LOADED[key] = Pipeline.of(load(path))
    return found
