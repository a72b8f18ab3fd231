"""The snippets of docs/file-formats.md run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from corpus_samples import FULL

from treetune.corpus import open_output

PAGE = Path(__file__).resolve().parents[2] / "docs" / "file-formats.md"


def test_the_snippets_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_output("train.conllu.gz") as stream:
        stream.write(FULL)
    snippets = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(snippets) == 3
    for snippet in snippets:
        exec(snippet, {})
    assert Path("copy.conllu").read_text(encoding="utf-8") == FULL
    printed = capsys.readouterr().out
    assert printed.startswith("('De', 'le', 'sang', '25 000') (-1, 3, 3, 0, 3)\n1 skipped 1 of 2 sentences\n")
