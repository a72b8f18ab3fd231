"""Which models `benchmarks/` trains and compares, by which options, and where they are kept."""

from __future__ import annotations

import importlib
import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

import treetune
from experiment_samples import write_treebanks

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
PEERS = ["UDPipe beam 5", "UDPipe beam 1", "spaCy"]


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("training")


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("compare")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_treebanks(tmp_path_factory.mktemp("small"))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ([], "treetune-default-beam8-epochs10-seed7.model"),
        (["--beam=1", "--features=zhang-nivre", "--epochs=12"], "treetune-zhang-nivre-beam1-epochs12-seed7.model"),
        (["--parser=graph"], "treetune-graph-default-epochs10-seed7.model"),
        (["--parser=graph2", "--features=hall2011"], "treetune-graph2-hall2011-epochs10-seed7.model"),
    ],
)
def test_every_setting_has_a_file_of_its_own(training: Any, words: list[str], name: str) -> None:
    settings = training.Settings.of(training.command_line(words), seed=7)
    assert settings.model(Path("cache")) == Path("cache", name)
    assert settings.record(Path("cache")) == Path("cache", name.replace(".model", ".json"))


def test_a_graph_parser_has_no_beam(training: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        training.command_line(["--parser=graph2", "--beam=8"])
    assert "argument --beam: a graph2 parser searches without a beam; leave it out\n" in capsys.readouterr().err


def test_an_unknown_parser_is_refused_with_the_table(training: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        training.command_line(["--parser=graph3"])
    refusal = capsys.readouterr().err
    assert all(name in refusal for name in ("graph3", "transition", "graph", "graph2"))


@pytest.mark.parametrize("words", [["--beam=3"], ["--parser=graph"], ["--parser=graph2", "--epochs=4"]])
def test_the_child_is_asked_for_the_same_model(
    training: Any, words: list[str], small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def child(arguments: list[str]) -> dict[str, float]:
        found = training.command_line(arguments[1:])
        assert (found.data, found.cache) == (small, tmp_path)
        asked.append(training.Settings.of(found, found.here))
        return {"cpu_minutes": 1.0, "dev_LAS": 80.0, "test_LAS": 80.0}

    monkeypatch.setattr(training.measure, "run_child", child)
    settings = training.Settings.of(training.command_line(words), seed=5)
    training.train_cached(settings, data=small, cache=tmp_path)
    assert asked == [settings]


@pytest.mark.parametrize(
    ("words", "kind", "learner"),
    [
        (["--beam=2"], "transition", {"learner": "mira", "k": 5}),
        (["--parser=graph"], "graph", {"learner": "mira", "k": 5}),
        (["--parser=graph2"], "graph", {"learner": "mira", "k": 5}),
    ],
)
def test_model_and_record_are_kept_and_used_again(
    training: Any,
    words: list[str],
    kind: str,
    learner: dict[str, Any],
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = training.command_line([*words, "--epochs=1"])
    settings = training.Settings.of(arguments, seed=0)
    record = training.train_here(settings, data=small, cache=tmp_path)
    assert learner.items() <= record["learning"].items()
    assert record["cpu_minutes"] == pytest.approx(record["cpu_seconds"] / 60)
    parser: Any = treetune.load(settings.model(tmp_path))
    assert parser.kind == kind
    # What no peer is given.
    assert "feats" not in parser.config.inputs
    if settings.parser == "graph2":
        assert parser.config.order == 2

    def no_child(arguments: list[str]) -> None:
        raise AssertionError(f"trained again: {arguments}")

    monkeypatch.setattr(training.measure, "run_child", no_child)
    assert training.train_cached(settings, data=small, cache=tmp_path) == record
    summary = training.summarise([record], arguments)
    assert summary["settings"]["parser"] == settings.parser
    assert summary["settings"]["learning"] == record["learning"]
    assert summary["mean"]["test_LAS"]["raw"] == [record["test_LAS"]]


def test_another_treebank_is_trained_on_anew(
    training: Any, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = training.Settings.of(training.command_line(["--parser=graph"]), seed=0)
    settings.model(tmp_path).touch()
    settings.record(tmp_path).write_text(json.dumps({"train_sha256": "of another file", "commit": "0"}))
    fresh = {"cpu_minutes": 1.0, "dev_LAS": 80.0, "test_LAS": 80.0}
    monkeypatch.setattr(training.measure, "run_child", lambda arguments: fresh)
    assert training.train_cached(settings, data=small, cache=tmp_path) == fresh


def options(compare: Any, *words: str) -> Namespace:
    found: Namespace = compare.command_line().parse_args([*words, "--cache=cache"])
    return found


def test_graph_parsers_are_compared_beside_the_transition_parsers(compare: Any) -> None:
    names = list(compare.contestants(options(compare, "--beams", "8", "32")))
    assert names == ["treetune beam 8", "treetune beam 32", "treetune graph", "treetune graph2", *PEERS]


def test_graph_parsers_can_be_left_out_or_stand_alone(compare: Any) -> None:
    assert list(compare.contestants(options(compare, "--beams", "8", "--graphs"))) == ["treetune beam 8", *PEERS]
    alone = compare.contestants(options(compare, "--beams", "--graphs", "graph2", "--epochs=3", "--seed=4"))
    assert list(alone) == ["treetune graph2", *PEERS]
    assert alone["treetune graph2"].model == Path("cache", "treetune-graph2-default-epochs3-seed4.model")


def test_a_transition_parser_is_no_graph_parser(compare: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options(compare, "--graphs", "transition")
    assert "argument --graphs: invalid choice: 'transition'" in capsys.readouterr().err


def test_speeds_of_graph_parsers_are_divided_round_by_round(compare: Any) -> None:
    speed = {"treetune graph": [20.0, 30.0], "UDPipe beam 5": [10.0, 10.0], "treetune beam 8": [40.0, 40.0]}
    found = {(ratio["faster"], ratio["than"]): ratio["times"]["raw"] for ratio in compare.ratios(speed)}
    assert found[("treetune graph", "UDPipe beam 5")] == [2.0, 3.0]
    assert found[("treetune graph", "treetune beam 8")] == [0.5, 0.75]
    assert all("graph2" not in name for pair in found for name in pair)
