"""The models of a server: those that the operator named, and those that were adapted here."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

from treetune.models.pipeline import Pipeline
from treetune.storage import load
from treetune.web.worker import MODEL

ADAPTED = "adapted-"
# Adapted models that stay in memory.
KEPT = 4


class ModelStore:
    """Models by name, loaded once; adapted ones are called ``adapted-N`` and are files of the folder of adaptations."""

    def __init__(self, models: Mapping[str, str], folder: Path) -> None:
        self._paths = dict(models)
        self._folder = folder
        self._given: dict[str, Pipeline] = {}
        self._adapted: OrderedDict[str, Pipeline] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def default(self) -> str:
        """The first model of the operator."""
        return next(iter(self._paths))

    def path(self, name: str) -> str:
        """Return the file of a model: as the operator gave it, or in the folder of an adaptation."""
        return self._paths.get(name) or str(self._folder / name.removeprefix(ADAPTED) / MODEL)

    def get(self, name: str) -> Pipeline:
        """Return a model by name."""
        with self._lock:
            found = self._given.get(name) or self._adapted.get(name)
            if found is None:
                found = Pipeline.of(load(self.path(name)))
                (self._given if name in self._paths else self._adapted)[name] = found
                while len(self._adapted) > KEPT:
                    self._adapted.popitem(last=False)
            return found
