"""Compiled kernels on disk: where they are kept, and when they are compiled again.

numba's own cache looks at the file of a kernel alone, stops at an index that it cannot read, and ignores a folder that
it may not write to. This one keeps a file for each kernel, signature and processor, in a folder whose name has a hash
of all kernel sources and of the versions of the compiler: after any change the kernels are compiled again. What
cannot be read is compiled again too. Of processes that need the same kernel at the same time one compiles it
(`kernel_locks.py`).

Folders, in this order: that of the environment variable NUMBA_CACHE_DIR, `__pycache__` of the package, the user's
cache folder, a temporary folder. Kernels are read from all of them and written to the first that can be written, so
that what an administrator compiled serves every user.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import stat
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np

from treetune.features.kernel_locks import hold, release
from treetune.features.linked_code import set_environments

# Untyped, and in some versions of numba private.
_compiler: Any = import_module("numba.core.compiler")
_runtime: Any = import_module("numba.core.runtime")
_serialize: Any = import_module("numba.core.serialize")
_config: Any = numba.config

PACKAGE = Path(__file__).resolve().parents[1]
# Modules beside the kernels that decide what is compiled.
CONSTANTS = ("models/tokenizer/characters.py", "features/linked_code.py")
SUFFIX = ".nbc"
_FOLDER = f"kernels-{sys.implementation.cache_tag}-"
_DIGEST = hashlib.sha256().digest_size


def kernel_sources(package: Path = PACKAGE) -> list[Path]:
    """Return the files that decide what is compiled."""
    kernels = [*package.glob("*/_*kernels.py"), *package.glob("models/*/_*kernels.py")]
    return sorted([*kernels, *(package / name for name in CONSTANTS)])


def source_digest(package: Path = PACKAGE) -> str:
    """Return the hash of all kernel sources and of the versions of the compiler."""
    found = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__} {np.__version__}".encode())
    for path in kernel_sources(package):
        found.update(path.relative_to(package).as_posix().encode() + b"\0")
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


@cache
def _folder_name() -> str:
    return _FOLDER + source_digest()


def cache_folders() -> Iterator[Path]:
    """Yield the folders in which kernels may be kept, in order of preference; none need exist."""
    # Elsewhere than in the package, installations side by side must not remove each other's kernels.
    own = f"treetune-{hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:12]}"
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR, own, _folder_name())
    yield PACKAGE / "__pycache__" / _folder_name()
    with suppress(RuntimeError):  # there may be no home
        yield _user_cache() / own / _folder_name()
    temporary = _temporary_folder()
    if temporary is not None:
        yield temporary / own / _folder_name()


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _temporary_folder() -> Path | None:
    """Return a folder for temporary files that nobody else can write to, None if there is none.

    Compiled code is executed: a folder that another user may have prepared is not used.
    """
    try:
        if not hasattr(os, "getuid"):
            return Path(tempfile.gettempdir()) / "treetune"
        folder = Path(tempfile.gettempdir()) / f"treetune-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return folder if is_own else None


def is_compiled(kernel: Any) -> bool:
    """Whether a kernel is on disk for some signature; one that is not kept there counts as compiled."""
    found = getattr(kernel, "_cache", None)
    return not isinstance(found, KernelCache) or any(True for _ in found.files())


class KernelCache:
    """The compiled code of one kernel on disk, with the methods that numba calls: a dispatcher's `_cache`.

    A file is a checksum, the key, the code. There is no index: processes that compile the same kernel write the same
    file.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"

    @property
    def cache_path(self) -> str:
        """The folder of `kernel.stats`."""
        return str(next(cache_folders()))

    def files(self) -> Iterator[Path]:
        """Yield the files of this kernel."""
        for folder in cache_folders():
            yield from folder.glob(f"{self._name}.*{SUFFIX}")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, None if it has to be compiled, which `save_overload` has to end."""
        # What compiled code may call. `target_context.refresh()` would import all that the compiler knows, which takes
        # a quarter of the time of a short parse.
        _runtime.rtsys.initialize(target_context)
        key = sig, target_context.codegen().magic_tuple()
        found = self._load(key, target_context)
        if found is None:
            _lock(self._file(key))
            # Another process may have written it since.
            found = self._load(key, target_context)
            if found is not None:
                release(self._file(key))
        return found

    def _load(self, key: Any, target_context: Any) -> Any:
        for folder in cache_folders():
            try:
                content = (folder / self._file(key)).read_bytes()
                if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
                    continue
                stored, reduced = pickle.loads(content[_DIGEST:])
                if stored == key:
                    return _compiler.CompileResult._rebuild(target_context, *reduced)
            except Exception:  # missing, or with types in it that are no more
                continue
        return None

    def save_overload(self, sig: Any, compiled: Any) -> None:
        """Write the compiled code for a signature to the first folder that can be written to."""
        key = sig, compiled.codegen.magic_tuple()
        try:
            set_environments(compiled)
            if not compiled.library.has_dynamic_globals:
                self._save(key, compiled)
        finally:
            release(self._file(key))

    def _save(self, key: Any, compiled: Any) -> None:
        content = _serialize.dumps((key, compiled._reduce()))
        content = hashlib.sha256(content).digest() + content
        for folder in cache_folders():
            try:
                _write(folder / self._file(key), content)
            except OSError:
                continue
            if folder.parent.parent == _temporary_folder():
                _hint(f"are kept in {folder.parent.parent}")
            return
        _hint("are not kept, but compiled at every start")

    def flush(self) -> None:
        """Remove the files of this kernel."""
        for path in self.files():
            path.unlink(missing_ok=True)

    def _file(self, key: Any) -> str:
        return f"{self._name}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}{SUFFIX}"


def _lock(name: str) -> None:
    """Lock the file of a kernel in the folder where it is going to be written."""
    for folder in cache_folders():
        with suppress(OSError):
            _make_folder(folder)
            hold(folder / name)
            return


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale(folder)


def _write(path: Path, content: bytes) -> None:
    _make_folder(path.parent)
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _remove_stale(folder: Path) -> None:
    """Remove the kernels of other versions of the sources or of the compiler."""
    for other in folder.parent.glob(f"{_FOLDER}*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


@cache
def _hint(what: str) -> None:
    warnings.warn(
        f"compiled kernels {what}, because neither the package nor the user's cache folder can be written to; "
        "name a folder that stays by the environment variable NUMBA_CACHE_DIR",
        RuntimeWarning,
        stacklevel=2,
    )
