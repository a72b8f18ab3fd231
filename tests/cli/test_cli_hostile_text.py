"""Text that was made to break a parser, through the command line: memory is bounded, nothing of the text is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from treetune.corpus.conllu import read_conllu
from treetune.corpus.rawtext import raw_text

PYTHON = (sys.executable, "-m", "treetune")


def parsed(folder: Path, text: str) -> int:
    """Parse a text by the model of the package and return the peak of memory in bytes."""
    source, out = folder / "in.txt", folder / "out.conllu"
    source.write_text(text, newline="")
    process = subprocess.Popen([*PYTHON, "parse", str(source), "-o", str(out), "-q"])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert raw_text(example.sentence for example in read_conllu(out)) == text
    return usage.ru_maxrss * 1024


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux does")
@pytest.mark.parametrize(
    "text",
    ["x" * 10_000_000, "a" + "\n" * 1_000_000 + "b", "a" + " " * 1_000_000 + "b", "a," * 150_000],
    ids=["no-space", "newlines", "spaces", "no-sentence"],
)
def test_memory_is_bounded_for_any_text(text: str, tmp_path: Path) -> None:
    usual = parsed(tmp_path, "Time flies like an arrow. " * 40)
    assert parsed(tmp_path, text) - usual < 300e6
