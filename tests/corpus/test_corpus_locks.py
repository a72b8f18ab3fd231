"""Temporary files of dead processes are removed, all others stay; locks end with their process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from treetune.corpus import locks
from treetune.corpus.files import open_output
from treetune.corpus.locks import InUse, exclusive

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no locks of this kind")

WRITE = """\
import sys, time
from treetune.corpus.files import open_output
with open_output(sys.argv[1]) as out:
    out.write("half")
    out.flush()
    print("writing", flush=True)
    time.sleep(60)
"""
LOCK = """\
import sys, time
from treetune.corpus.locks import exclusive
with exclusive(sys.argv[1]):
    print("locked", flush=True)
    time.sleep(60)
"""


def start(code: str, path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_what_a_killed_process_left_is_removed_by_the_next_that_writes_there(tmp_path: Path) -> None:
    process = start(WRITE, tmp_path / "a.txt")
    kill(process)
    (left,) = names(tmp_path)
    assert re.fullmatch(rf"\.a\.txt\.treetune-[0-9a-f]{{8}}-{process.pid}-[0-9a-f]{{8}}\.part", left)
    with open_output(tmp_path / "b.txt") as out:
        out.write("b")
    assert names(tmp_path) == ["b.txt"]


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    process = start(WRITE, tmp_path / "a.txt")
    try:
        locks.remove_stale(tmp_path)
        assert len(names(tmp_path)) == 1
    finally:
        kill(process)


def test_what_a_process_out_of_sight_writes_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As in another container: its number means nothing here.
    monkeypatch.setattr(locks, "_is_running", lambda process: False)
    process = start(WRITE, tmp_path / "a.txt")
    try:
        locks.remove_stale(tmp_path)
        assert len(names(tmp_path)) == 1
    finally:
        kill(process)
    locks._tidied.clear()
    locks.remove_stale(tmp_path)
    assert names(tmp_path) == []


def test_files_that_are_not_ours_are_never_removed(tmp_path: Path) -> None:
    host, other = locks._HOST, "0" * 8
    assert host != other
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    kept = [
        f".a.treetune-{other}-{dead.pid}-0123abcd.part",
        f".a.treetune-{host}-{dead.pid}-0123abcd.part.gz",
        f"a.treetune-{host}-{dead.pid}-0123abcd.part",
        f".a.treetune-{host}-{os.getpid()}-0123abcd.part",
        f".a.treetune-{host}-99999999999-0123abcd.part",
        ".a.0123abcd.part",
        "a.part",
    ]
    for name in kept:
        (tmp_path / name).touch()
    (tmp_path / f".d.treetune-{host}-{dead.pid}-0123abcd.part").mkdir()
    (tmp_path / f".l.treetune-{host}-{dead.pid}-0123abcd.part").symlink_to(tmp_path / "a.part")
    before = names(tmp_path)
    locks.remove_stale(tmp_path)
    assert names(tmp_path) == before
    locks.remove_stale(tmp_path / "none")


def test_a_lock_is_held_by_one_process_and_ends_with_it(tmp_path: Path) -> None:
    process = start(LOCK, tmp_path / "m")
    with pytest.raises(InUse, match=rf"^process {process.pid} on "), exclusive(tmp_path / "m"):
        pass
    with exclusive(tmp_path / "other"):
        pass
    kill(process)
    assert len(names(tmp_path)) == 1
    with exclusive(tmp_path / "m"):
        assert len(names(tmp_path)) == 1
        with pytest.raises(InUse, match=rf"^process {os.getpid()} on "), exclusive(tmp_path / "." / "m"):
            pass
    assert names(tmp_path) == []


def test_a_lock_has_room_beside_any_name(tmp_path: Path) -> None:
    first, second = "m" * 254 + "1", "m" * 254 + "2"
    with exclusive(tmp_path / first), exclusive(tmp_path / second):
        assert len(names(tmp_path)) == 2


def test_a_lock_does_not_follow_links(tmp_path: Path) -> None:
    with exclusive(tmp_path / "m"):
        (name,) = names(tmp_path)
    (tmp_path / "precious").write_text("kept")
    (tmp_path / name).symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic links"), exclusive(tmp_path / "m"):
        pass
    assert (tmp_path / "precious").read_text() == "kept"


def test_of_many_processes_one_at_a_time_holds_a_lock(tmp_path: Path) -> None:
    code = """\
import os, sys, time
from treetune.corpus.locks import InUse, exclusive
held, end = 0, time.monotonic() + 1
while time.monotonic() < end:
    try:
        with exclusive(sys.argv[1]):
            os.close(os.open(sys.argv[1], os.O_CREAT | os.O_EXCL))
            held += 1
            os.unlink(sys.argv[1])
    except InUse:
        pass
print(held)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "m")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    held = [int(process.communicate()[0]) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert sum(held) > 0
    assert names(tmp_path) == []
