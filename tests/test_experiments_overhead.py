"""The script that measures what the framework costs runs, and keeps what it finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from config_samples import lab, write_treebanks


def test_it_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_treebanks(tmp_path / "data", sizes=(30, 5, 5))
    out = tmp_path / "overhead.json"
    monkeypatch.setattr(lab.overhead, "ROUNDS", 1)
    monkeypatch.setattr("sys.argv", ["overhead.py", "--data", str(data), "--out", str(out)])
    lab.overhead.main()
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["trainer_to_bare_loop"]["median"] > 0
    assert found["objective_to_treebank"]["median"] > 0
