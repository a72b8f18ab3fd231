"""Where an experiment was written down: what messages call its keys, and where its paths start."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from treetune.errors import ConfigError
from treetune.storage import find_model


@dataclass(frozen=True, slots=True)
class Source:
    """A file called `name` with paths relative to `folder`; or, with `flags`, the options of a command.

    Without a name the tables were made in Python.
    """

    name: str = ""
    folder: Path = Path()
    flags: bool = False

    def key(self, table: str, key: str) -> str:
        """Return what messages call a key: ``file: [table] key``, or ``--key``."""
        if self.flags:
            return "--" + key.replace("_", "-")
        return f"{self._start}[{table}] {key}"

    def error(self, table: str, key: str, problem: str) -> ConfigError:
        """Return the error about the value of a key."""
        return ConfigError(f"{self.key(table, key)}: {problem}")

    def whole(self, message: str) -> ConfigError:
        """Return the error about several tables, or about the file as a whole."""
        return ConfigError(f"{'' if self.flags else self._start}{message}")

    @contextmanager
    def within(self, table: str) -> Iterator[None]:
        """Say of every ConfigError in the block that it is about this table."""
        try:
            yield
        except ConfigError as error:
            if self.flags:
                raise
            raise ConfigError(f"{self._start}[{table}]: {error}") from None

    @property
    def _start(self) -> str:
        return f"{self.name}: " if self.name else ""

    def placed(self, path: str) -> str:
        """Return the path as this process must call it."""
        return path if self.folder == Path() else str(self.folder / path)

    def is_embedded(self, name: str) -> bool:
        """Whether a model is meant that is in the package: there is no file of this name."""
        return find_model(name) != name and not Path(self.placed(name)).exists()

    def model(self, name: str) -> str:
        """Return the path of a model, a file or one in the package, as this process must call it."""
        return str(find_model(name)) if self.is_embedded(name) else self.placed(name)

    def stored(self, paths: Iterable[str]) -> dict[str, str]:
        """Return what a model notes for each path.

        Paths of a file stay as they are. Those of a command line are made relative to the folder that they have in
        common: the same files give the same model, wherever they are and whatever the current folder is.
        """
        found = list(paths)
        if not self.flags:
            return {path: path for path in found}
        full = {path: os.path.abspath(path) for path in found}  # noqa: PTH100 - `resolve` would follow links
        try:
            base = os.path.commonpath([os.path.dirname(path) for path in full.values()])  # noqa: PTH120
        except ValueError:  # no paths, or on different drives
            return {path: path for path in found}
        return {path: Path(os.path.relpath(place, base)).as_posix() for path, place in full.items()}


FLAGS = Source(flags=True)
