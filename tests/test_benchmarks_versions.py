"""The comparison of two versions of treetune in `benchmarks/`: rounds, equal trees, commits that are not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from benchmarks import measure, versions
from experiment_samples import write_treebanks


class FakeVersion:
    """Answers as the process of a version does: the new one takes half the time to parse, and as long to train."""

    asked: ClassVar[list[str]] = []

    def __init__(self, source: Path, parser: str, data: Path, sentences: int) -> None:
        self.name = source.name
        trees = "those of both" if parser == "graph" else self.name
        self.about = {"trees": trees, "words": {"train": 3 * sentences, "parse": 40}}

    def cpu_seconds(self, work: str) -> float:
        self.asked.append(f"{self.name} {work}")
        return 1.0 if (self.name, work) == ("new", "parse") else 2.0

    def __enter__(self) -> FakeVersion:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(versions, "Version", FakeVersion)
    monkeypatch.setattr(FakeVersion, "asked", [])
    sources = {"old": Path("old"), "new": Path("new")}
    return lambda parser: versions.compare(parser, Path("data"), sources, sentences=20, repeats=2)


def test_versions_take_turns_and_are_divided_round_by_round(compared: Any) -> None:
    record = compared("graph")
    turns = ["old train", "new train", "old parse", "new parse", "new train", "old train", "new parse", "old parse"]
    assert FakeVersion.asked == turns
    assert record["name"] == "treetune graph"
    assert record["times"]["raw"] == [2.0, 2.0]
    assert (record["old"]["mean"], record["new"]["mean"]) == (20.0, 40.0)
    assert record["training"]["times"]["raw"] == [1.0, 1.0]
    assert record["training"]["new"]["raw"] == [30.0, 30.0]


def test_nothing_is_recorded_of_versions_that_parse_otherwise(compared: Any) -> None:
    with pytest.raises(SystemExit, match=r"^transition: the two versions give different trees; nothing is recorded$"):
        compared("transition")


@pytest.mark.parametrize(
    "parser", ["transition", *(pytest.param(name, marks=pytest.mark.slow) for name in ("graph", "graph2"))]
)
def test_a_version_trains_and_parses_on_demand(parser: str, small: Path) -> None:
    with versions.Version(measure.REPOSITORY / "src", parser, small, 20) as version:
        assert set(version.about) == {"trees", "words"}
        assert all(version.cpu_seconds(work) > 0 for work in ("train", "parse", "parse"))
        with versions.Version(measure.REPOSITORY / "src", parser, small, 20) as other:
            assert other.about == version.about


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_treebanks(tmp_path_factory.mktemp("small"))


def test_a_commit_that_is_not_there() -> None:
    with pytest.raises(SystemExit, match="--old: git knows no commit 'never'"), versions.checked_out("never"):
        pass
