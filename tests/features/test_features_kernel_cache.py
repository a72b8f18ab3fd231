"""Compiled kernels on disk: they are found again, and compiled again whenever they could be wrong."""

from __future__ import annotations

import ast
import gc
import hashlib
import pickle
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numba import njit
from numba.core.errors import TypingError

from treetune.features import kernel_cache, linked_code
from treetune.features._kernels import entry, inner, part


def double(value):  # type: ignore[no-untyped-def]
    return 2 * value


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep kernels in a folder of the test."""
    monkeypatch.setattr(kernel_cache._config, "CACHE_DIR", str(tmp_path / "kernels"))
    return next(kernel_cache.cache_folders())


def compiled() -> bool:
    """Call a new kernel, and say whether it had to be compiled."""
    kernel: Any = entry(double)
    assert kernel(3) == 6
    return bool(sum(kernel.stats.cache_misses.values()))


def test_a_kernel_is_compiled_once(folder: Path) -> None:
    assert not kernel_cache.is_compiled(entry(double))
    assert compiled()
    assert kernel_cache.is_compiled(entry(double))
    assert not compiled()
    assert len(list(folder.iterdir())) == 1


def test_each_signature_has_a_file_of_its_own(folder: Path) -> None:
    kernel: Any = entry(double)
    assert (kernel(3), kernel(1.5)) == (6, 3.0)
    again: Any = entry(double)
    assert (again(1.5), again(3)) == (3.0, 6)
    assert not again.stats.cache_misses
    assert len(list(folder.iterdir())) == 2


def checked(content: bytes) -> bytes:
    return hashlib.sha256(content).digest() + content


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        # A class that a later version of the package no longer has.
        lambda content: checked(b"ctreetune.features._kernels\nWork\n."),
        lambda content: checked(pickle.dumps("nothing")),
        lambda content: checked(pickle.dumps(("another key", ()))),
    ],
    ids=["empty", "cut short", "one bit", "a type that is no more", "not a pair", "another key"],
)
def test_a_file_that_cannot_be_used_is_compiled_again(folder: Path, spoil: Callable[[bytes], bytes]) -> None:
    assert compiled()
    (path,) = folder.iterdir()
    path.write_bytes(spoil(path.read_bytes()))
    assert compiled()
    assert not compiled()


def test_a_changed_kernel_file_changes_the_folder(tmp_path: Path) -> None:
    package = tmp_path / "treetune"
    shutil.copytree(kernel_cache.PACKAGE, package, ignore=shutil.ignore_patterns("*.treetune", "__pycache__"))
    before = kernel_cache.source_digest()
    assert kernel_cache.source_digest(package) == before
    digests = {before}
    for path in kernel_cache.kernel_sources(package):
        path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        digests.add(kernel_cache.source_digest(package))
    assert len(digests) == len(kernel_cache.kernel_sources(package)) + 1


def test_another_compiler_changes_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    before = kernel_cache.source_digest()
    monkeypatch.setattr("llvmlite.__version__", "0.0")
    assert kernel_cache.source_digest() != before


def test_all_that_is_compiled_into_kernels_is_hashed() -> None:
    package = kernel_cache.PACKAGE
    hashed = kernel_cache.kernel_sources()
    assert set(hashed) >= set(package.rglob("*_kernels.py"))
    for path in package.rglob("*_kernels.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("treetune."):
                source = package.parent / (node.module or "").replace(".", "/")
                imported = [source.with_suffix(".py")]
                if source.is_dir():
                    imported = [source / f"{alias.name}.py" for alias in node.names]
                assert set(imported) <= {*hashed, package / "features" / "kernel_cache.py"}


def test_kernels_that_others_call_are_linked_into_them(folder: Path) -> None:
    @part
    def halve(value):  # type: ignore[no-untyped-def]
        if value % 2:
            raise ValueError("odd")
        return value // 2

    @inner
    def quarter(value):  # type: ignore[no-untyped-def]
        return halve(halve(value))

    def eighth(value):  # type: ignore[no-untyped-def]
        return halve(quarter(value))

    for kernel in (entry(eighth), entry(eighth)):
        assert kernel(24) == 3
        with pytest.raises(ValueError, match="odd"):
            kernel(4)
    assert len(list(folder.iterdir())) == 1


def test_numbas_own_compiler_serves_where_its_parts_have_other_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(value):  # type: ignore[no-untyped-def]
        return value * 3 + 1 if value % 2 else value // 2

    def steps_to_one(options: dict[str, Any]) -> list[int]:
        inlined, linked = (njit(**options, forceinline=inline)(step) for inline in (True, False))

        @entry
        def count(value):  # type: ignore[no-untyped-def]
            found = 0
            while value != 1:
                value = linked(value) if found % 2 else inlined(value)
                found += 1
            return found

        counts = [count(value) for value in range(1, 30)]
        assert sum(count.stats.cache_misses.values()) == 1
        count._cache.flush()
        return counts

    ours = linked_code.linked_options()
    monkeypatch.setattr(linked_code, "_USED", ("no_such_method",))
    numbas = linked_code.linked_options()
    assert ours.keys() - numbas.keys() == {"pipeline_class"}
    counts = steps_to_one(ours)
    assert counts == steps_to_one(numbas)
    assert counts[26] == 111  # 27 takes the longest


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_is_as_before_when_a_kernel_is_compiled(collects: bool, folder: Path) -> None:
    def fails(value):  # type: ignore[no-untyped-def]
        return value.no_such_attribute

    was_enabled = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        assert compiled()
        assert gc.isenabled() is collects
        with pytest.raises(TypingError):
            entry(fails)(1)
        assert gc.isenabled() is collects
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_folders_of_older_sources_are_removed(folder: Path) -> None:
    older = folder.with_name(folder.name[:-16] + "0" * 16)
    other_python = folder.with_name("kernels-cpython-27-" + "0" * 16)
    for path in (older, other_python):
        path.mkdir(parents=True)
    assert compiled()
    assert sorted(folder.parent.iterdir()) == sorted([folder, other_python])


@pytest.fixture
def writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Make every folder read-only but those below the paths in the list."""
    allowed: list[Path] = []
    make_folder = kernel_cache._make_folder

    def refuse(folder: Path) -> None:
        if not any(folder.is_relative_to(parent) for parent in allowed):
            raise PermissionError(13, "Permission denied", str(folder))
        make_folder(folder)

    monkeypatch.setattr(kernel_cache, "_make_folder", refuse)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "home"))
    kernel_cache._hint.cache_clear()
    return allowed


def test_what_an_administrator_compiled_is_read_by_those_who_cannot_write(folder: Path, writable: list[Path]) -> None:
    writable.append(folder)
    assert compiled()
    writable.clear()
    assert not compiled()


def test_read_only_package_and_home_use_a_temporary_folder(tmp_path: Path, writable: list[Path]) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    writable.append(temporary)
    with pytest.warns(RuntimeWarning, match=rf"kept in {temporary}.*treetune.*NUMBA_CACHE_DIR"):
        assert compiled()
    assert not compiled()


def test_nowhere_to_write_compiles_and_says_so(writable: list[Path]) -> None:
    with pytest.warns(RuntimeWarning, match="compiled kernels are not kept, but compiled at every start"):
        assert compiled()
    assert compiled()


def test_a_temporary_folder_that_others_may_write_to_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    own = kernel_cache._temporary_folder()
    assert own is not None
    own.chmod(0o777)
    assert kernel_cache._temporary_folder() is None
    own.rmdir()
    own.symlink_to(tmp_path)
    assert kernel_cache._temporary_folder() is None


def test_without_a_home_there_are_other_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(cls: type[Path]) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr(Path, "home", classmethod(homeless))
    assert kernel_cache.PACKAGE / "__pycache__" in {path.parent for path in kernel_cache.cache_folders()}
