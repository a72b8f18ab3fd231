"""The picture of the study: drawn from its results, the same bytes each time, whatever rows there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from config_samples import lab


def record(*names: str) -> dict[str, Any]:
    def scores(place: int) -> dict[str, Any]:
        return {metric: {"mean": 80.0 + place} for metric in ("root", "UAS", "LAS")}

    tests = ("target-test", "atis-test")
    return {"rows": [{"name": name, "tests": dict.fromkeys(tests, scores(i))} for i, name in enumerate(names)]}


def test_the_study_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = [row.name for row in lab.augmented_study.EXPERIMENT.rows]
    found = record(*names)
    for name in ("one.svg", "two.svg"):
        lab.curves.draw(found, tmp_path / name)
    text = (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "two.svg").read_text(encoding="utf-8")
    for title in ("questions (EWT, GUM): lists", "questions (EWT, GUM): rates", "questions (ATIS): partial trees"):
        assert title in text


def test_rows_that_are_not_measured_are_left_out(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    study = lab.augmented_study
    lab.curves.draw(record(study.BASELINE, study.listed(8)), tmp_path / "few.svg")
    lab.curves.draw(record(study.BASELINE, study.listed(64)), tmp_path / "others.svg")
    assert (tmp_path / "few.svg").read_bytes() != (tmp_path / "others.svg").read_bytes()
    found = lab.curves.Found(record(study.BASELINE, "other", "better"))
    assert found.gain("better", "target-test", "LAS") == 2.0
    assert "none" not in found
