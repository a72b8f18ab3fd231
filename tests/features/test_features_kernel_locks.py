"""Processes that need the same kernel: one compiles it, the others wait, but for nobody who will not end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from numba.core.errors import TypingError

from treetune.corpus.locks import exclusive
from treetune.features import kernel_cache, kernel_locks
from treetune.features._kernels import entry

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no locks of this kind")

HOLD = """\
import sys, time
from treetune.corpus.locks import exclusive
with exclusive(sys.argv[1]):
    print("locked", flush=True)
    time.sleep(60)
"""
# Long enough that both have looked for the file before one has written it.
COMPILE = """\
import sys, time
from numba import config
config.CACHE_DIR = sys.argv[1]
from treetune.features import _kernels, kernel_cache
from test_features_kernel_locks import triple
write = kernel_cache._write
kernel_cache._write = lambda path, content: (time.sleep(1), write(path, content))
kernel = _kernels.entry(triple)
kernel(3)
print(len(kernel.stats.cache_misses))
"""


def triple(value):  # type: ignore[no-untyped-def]
    return 3 * value


def fails(value):  # type: ignore[no-untyped-def]
    return value.no_such_attribute


def is_compiled_here() -> bool:
    """Call a new kernel, and say whether it had to be compiled."""
    kernel: Any = entry(triple)
    assert kernel(3) == 9
    assert kernel_locks._held == {}
    return bool(kernel.stats.cache_misses)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a kernel that has been compiled, alone in its folder."""
    monkeypatch.setattr(kernel_cache._config, "CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(kernel_locks, "_given_up", set())
    assert is_compiled_here()
    (found,) = next(kernel_cache.cache_folders()).iterdir()
    return found


@contextmanager
def once_waited_for(action: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Do something when this process waits for a lock for the first time."""
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        if not pauses:
            action()
        pauses.append(seconds)

    monkeypatch.setattr("time.sleep", pause)
    yield
    assert pauses


def test_what_another_process_compiles_is_waited_for_and_loaded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = path.read_bytes()
    path.unlink()
    with ExitStack() as other:
        other.enter_context(exclusive(path))

        def write() -> None:
            path.write_bytes(content)
            other.close()

        with once_waited_for(write, monkeypatch):
            assert not is_compiled_here()
    assert list(path.parent.iterdir()) == [path]


def test_the_work_of_a_killed_process_is_done_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.unlink()
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline()
    with once_waited_for(process.kill, monkeypatch):
        assert is_compiled_here()
    process.communicate()
    assert list(path.parent.iterdir()) == [path]


def test_a_process_that_does_not_end_is_waited_for_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_locks, "_PATIENCE", 0.1)
    with exclusive(path):
        for pauses in (True, False):
            path.unlink()
            found: list[float] = []
            monkeypatch.setattr("time.sleep", found.append)
            assert is_compiled_here()
            assert (len(found) > 0, path.exists()) == (pauses, True)


def test_a_file_that_was_written_in_between_is_loaded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = path.read_bytes()
    path.unlink()
    monkeypatch.setattr(kernel_cache, "hold", lambda path: path.write_bytes(content))
    assert not is_compiled_here()


@pytest.mark.parametrize("error", [TypingError, KeyboardInterrupt])
def test_what_cannot_be_compiled_leaves_no_lock(
    error: type[BaseException], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if error is KeyboardInterrupt:
        monkeypatch.setattr("numba.core.compiler.Compiler.compile_extra", mock.Mock(side_effect=error))
    with pytest.raises(error):
        entry(fails)(1)
    assert kernel_locks._held == {}
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("fault", [PermissionError(13, "Permission denied"), OSError(37, "No locks available")])
def test_without_locks_kernels_are_compiled(path: Path, fault: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    path.unlink()
    monkeypatch.setattr(kernel_cache, "hold", mock.Mock(side_effect=fault))
    assert is_compiled_here()
    assert not is_compiled_here()


def test_a_folder_that_is_gone_at_the_end_of_compiling_is_no_fault(path: Path) -> None:
    kernel_locks.hold(path)
    shutil.rmtree(path.parent)
    kernel_locks.release(path.name)
    assert kernel_locks._held == {}


def test_two_processes_compile_a_kernel_once(path: Path) -> None:
    path.unlink()
    command = [sys.executable, "-c", COMPILE, str(path.parents[2])]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent) for _ in "ab"]
    assert sorted(process.communicate()[0] for process in processes) == ["0\n", "1\n"]


def test_files_without_lasting_numbers_have_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.samestat", lambda first, second: False)
    with pytest.raises(OSError, match="No locks in this file system"), exclusive(tmp_path / "m"):
        pass
