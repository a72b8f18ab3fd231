"""Names of models to the files that hold them: of the package, of ``TREETUNE_HOME``, of installed packages.

A name has letters, digits, ``_`` and ``-`` alone; everything else is a path, so that a file or folder ``en`` in the
current folder is called ``./en``. Of several models with one name the first place has it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

import treetune
from treetune.errors import ModelError

SUFFIX = ".treetune"
HOME = "TREETUNE_HOME"
# Entry points of packages with models: the name of a model, and the module beside whose code its file is.
GROUP = "treetune_models"

_EMBEDDED = Path(treetune.__file__).with_name("embedded")
_NAME = re.compile(r"\w[\w-]*")


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model that can be loaded by name; `place` is ``package``, ``home`` or the installed package that has it."""

    name: str
    path: Path
    place: str


def is_name(model: str | Path) -> bool:
    """Whether a model is named and not given by the path of its file."""
    return isinstance(model, str) and _NAME.fullmatch(model) is not None


def find_model(model: str | Path) -> str | Path:
    """Return the path of a model: a path as it is, a name by where it is found; ModelError if it is nowhere."""
    if not is_name(model):
        return model
    for place in (_embedded, _at_home, _installed):
        for found in place():
            if found.name == model:
                return found.path
    raise ModelError(_unknown(str(model)))


def named_models() -> list[NamedModel]:
    """Return all models that have a name, in the order in which they are found."""
    return [*_embedded(), *_at_home(), *_installed()]


def embedded_models() -> list[str]:
    """Return the names of the models in the package."""
    return [found.name for found in _embedded()]


def model_folder() -> Path:
    """Return the folder of the user's models: ``TREETUNE_HOME``, or ``treetune`` in the data folder of the platform."""
    if named := os.environ.get(HOME):
        return Path(named)
    if sys.platform == "win32":
        data = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        data = Path.home() / "Library" / "Application Support"
    else:
        data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "treetune"


def _embedded() -> list[NamedModel]:
    return _in_folder(_EMBEDDED, "package")


def _at_home() -> list[NamedModel]:
    return _in_folder(model_folder(), "home")


def _in_folder(folder: Path, place: str) -> list[NamedModel]:
    files = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    return [NamedModel(path.stem, path, place) for path in files if is_name(path.stem)]


def _installed() -> list[NamedModel]:
    return sorted(_of_packages(), key=lambda found: (found.name, found.place))


def _of_packages() -> Iterator[NamedModel]:
    for entry in entry_points(group=GROUP):
        folder = _folder(entry)
        if folder is not None and is_name(entry.name):
            owner = entry.dist.name if entry.dist is not None else entry.module
            yield NamedModel(entry.name, folder / f"{entry.name}{SUFFIX}", owner)


def _folder(entry: EntryPoint) -> Path | None:
    """Return the folder of the module of an entry point, which is found but not run; None if it is not there."""
    try:
        spec: ModuleSpec | None = find_spec(entry.module)
    except (ImportError, ValueError):
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def _unknown(name: str) -> str:
    known = ", ".join(dict.fromkeys(found.name for found in named_models())) or "none"
    file = f"; the file of this name is called ./{name}" if Path(name).is_file() else ""
    return (
        f"there is no model called {name!r}; models here: {known}; install a package that has it, or put "
        f"{name}{SUFFIX} into {model_folder()}: treetune train TREEBANK --task pipeline --model {name}{SUFFIX}{file}"
    )
