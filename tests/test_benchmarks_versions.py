"""The comparison of two versions of treetune in `benchmarks/`: rounds, equal trees, commits that are not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from benchmarks import versions
from experiment_samples import write_treebanks


class FakeVersion:
    """Answers as the process of a version does: the new one takes half the time."""

    asked: ClassVar[list[str]] = []

    def __init__(self, source: Path, model: Path, test: Path) -> None:
        self.name = source.name
        self.trees = "those of both" if model.name == "same" else self.name

    def cpu_seconds(self) -> float:
        self.asked.append(self.name)
        return 1.0 if self.name == "new" else 2.0

    def __enter__(self) -> FakeVersion:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    test = write_treebanks(tmp_path) / "ud" / "en_ewt-test.conllu"
    monkeypatch.setattr(versions, "Version", FakeVersion)
    monkeypatch.setattr(FakeVersion, "asked", [])
    sources = {"old": Path("old"), "new": Path("new")}

    def compare(model: str) -> Any:
        (tmp_path / model).write_bytes(b"model")
        return versions.compare("treetune x", tmp_path / model, test, sources, 2)

    return compare


def test_versions_take_turns_and_are_divided_round_by_round(compared: Any) -> None:
    record = compared("same")
    assert FakeVersion.asked == ["old", "new", "new", "old"]
    assert record["times"]["raw"] == [2.0, 2.0]
    assert record["new"]["mean"] == 2 * record["old"]["mean"] > 0


def test_nothing_is_recorded_of_versions_that_parse_otherwise(compared: Any) -> None:
    with pytest.raises(SystemExit, match="treetune x: the two versions give different trees; nothing is recorded"):
        compared("other")


def test_a_commit_that_is_not_there() -> None:
    with pytest.raises(SystemExit, match="--old: git knows no commit 'never'"), versions.checked_out("never"):
        pass
