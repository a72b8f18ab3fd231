"""What workers of a test import: a way to parse that kills its process at some files."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treetune.corpus.batches import TextChunk
from treetune.models.file_parsing import FileParsing

# The command line of Ray's worker processes begins with the name of their class.
_TITLES = (b"ray::ShardWorker", b"ray::MixingWorker")


class FatalParsing(FileParsing):
    """Parses as usual, but kills its process at files called ``fatal`` and fails at those called ``failing``."""

    def chunks(self, taken: Any, report: Any, **options: Any) -> Iterator[TextChunk]:
        if "fatal" in self.source:
            os.kill(os.getpid(), signal.SIGKILL)
        if "failing" in self.source:
            raise OSError(28, "No space left on device")
        return super().chunks(taken, report, **options)


def own_workers() -> list[int]:
    """Return the workers of the cluster that this process started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _read(entry / "cmdline").startswith(_TITLES):
            parent = int(entry.name)
            while parent > 1 and parent != os.getpid():
                parent = int((_read(Path(f"/proc/{parent}/stat")).rpartition(b")")[2].split() or [b"", b"0"])[1])
            if parent == os.getpid():
                found.append(int(entry.name))
    return sorted(found)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
