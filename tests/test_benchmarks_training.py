"""Which models `benchmarks/` trains and compares, by which options, and where they are kept."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

import treetune
from benchmarks import compare, costs, maltparser, measure, training
from benchmarks.__main__ import BENCHMARKS, command_line, main
from benchmarks.training import Settings
from experiment_samples import write_treebanks

PEERS = ["UDPipe beam 5", "UDPipe beam 1", "spaCy"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_treebanks(tmp_path_factory.mktemp("small"))


def options(name: str, *words: str) -> Namespace:
    return command_line().parse_args(["run", name, *words, "--cache=cache"])


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (Settings(8, 10, 7), "treetune-default-beam8-epochs10-seed7.model"),
        (Settings(1, 12, 7, "zhang-nivre"), "treetune-zhang-nivre-beam1-epochs12-seed7.model"),
        (Settings(None, 10, 7, parser="graph"), "treetune-graph-default-epochs10-seed7.model"),
        (Settings(None, 10, 7, "hall2011", "graph2"), "treetune-graph2-hall2011-epochs10-seed7.model"),
    ],
)
def test_every_setting_has_a_file_of_its_own(settings: Settings, name: str) -> None:
    assert settings.model(Path("cache")) == Path("cache", name)
    assert settings.record(Path("cache")) == Path("cache", name.replace(".model", ".json"))


def test_a_graph_parser_has_no_beam() -> None:
    with pytest.raises(SystemExit, match=r"^--beam: a graph2 parser decodes without a beam; leave it out$"):
        training.run(options("training", "--parser=graph2", "--beam=8"))


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["--beam=3"], Settings(3, 10, 5)),
        ([], Settings(8, 10, 5)),
        (["--parser=graph2", "--epochs=4"], Settings(None, 4, 5, parser="graph2")),
    ],
)
def test_the_child_is_asked_for_the_model_of_the_options(
    words: list[str], settings: Settings, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def child(function: str, **arguments: Any) -> dict[str, float]:
        assert function == "benchmarks.training:train_here"
        assert (arguments["data"], arguments["cache"]) == (small, tmp_path)
        asked.append(Settings(**arguments["settings"]))
        return {"cpu_minutes": 1.0, **dict.fromkeys(training.COLUMNS, 80.0)}

    monkeypatch.setattr(measure, "in_child", child)
    given = command_line().parse_args(
        ["run", "training", *words, "--seeds", "5", f"--data={small}", f"--cache={tmp_path}"]
    )
    record = training.run(given)
    assert asked == [settings]
    assert (record["settings"]["parser"], record["settings"]["beam"]) == (settings.parser, settings.beam)
    assert record["mean"]["test_LAS"]["raw"] == [80.0]


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (Settings(2, 1, 0), "transition"),
        (Settings(None, 1, 0, parser="graph2"), "graph"),
    ],
)
def test_model_and_record_are_kept_and_used_again(
    settings: Settings, kind: str, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = training.train_here(vars(settings), str(small), str(tmp_path))
    assert {"learner": "mira", "k": 5}.items() <= record["learning"].items()
    assert record["cpu_minutes"] == pytest.approx(record["cpu_seconds"] / 60)
    parser: Any = treetune.load(settings.model(tmp_path))
    assert parser.kind == kind
    # What no peer is given.
    assert "feats" not in parser.config.inputs
    if settings.parser == "graph2":
        assert parser.config.order == 2

    def no_child(function: str, **arguments: Any) -> None:
        raise AssertionError(f"trained again: {arguments}")

    monkeypatch.setattr(measure, "in_child", no_child)
    assert training.train_cached(settings, data=small, cache=tmp_path) == record


def test_another_treebank_is_trained_on_anew(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(None, 10, 0, parser="graph")
    settings.model(tmp_path).touch()
    settings.record(tmp_path).write_text(json.dumps({"train_sha256": "of another file", "commit": "0"}))
    fresh = {"cpu_minutes": 1.0, "dev_LAS": 80.0, "test_LAS": 80.0}
    monkeypatch.setattr(measure, "in_child", lambda function, **arguments: fresh)
    assert training.train_cached(settings, data=small, cache=tmp_path) == fresh


@pytest.fixture(autouse=True)
def no_maltparser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(maltparser.VARIABLE, raising=False)


def field(*words: str) -> dict[str, compare.Contestant]:
    return compare.contestants(vars(options("compare", *words)))


def test_graph_parsers_are_compared_beside_the_transition_parsers() -> None:
    names = ["treetune beam 8", "treetune beam 32", "treetune graph", "treetune graph2", "treetune graph3", *PEERS]
    assert list(field("--beams", "8", "32")) == names


def test_graph_parsers_can_be_left_out_or_stand_alone() -> None:
    assert list(field("--beams", "8", "--graphs")) == ["treetune beam 8", *PEERS]
    alone = field("--beams", "--graphs", "graph2", "--epochs=3", "--seed=4", "--only", "graph")
    assert list(alone) == ["treetune graph2"]
    assert alone["treetune graph2"].model == Path("cache", "treetune-graph2-default-epochs3-seed4.model")


def test_a_model_on_disk_takes_part_under_its_name() -> None:
    assert field("--model", "mine, reranked=some.model", "--only", "mine")["mine, reranked"].model == Path("some.model")


FAKE_JAVA = """#!{python}
import sys, time
given = dict(zip(sys.argv, sys.argv[1:]))
words = open(given["-i"]).read()
sum(range(10 * len(words)))
rows = [line.split("\\t") for line in words.splitlines()]
assert all(len(row) in (1, 10) and row[0].isdigit() == (len(row) == 10) for row in rows)
if given["-m"] == "learn":
    open(given["-w"] + "/" + given["-c"] + ".mco", "w").write(given["-a"])
else:
    for row in filter(lambda row: len(row) == 10, rows):
        assert row[6:8] == ["_", "_"]
        row[6:8] = [str(int(row[0]) - 1), "root" if row[0] == "1" else "dep"]
    open(given["-o"], "w").write("\\n".join("\\t".join(row) for row in rows) + "\\n")
"""


def test_maltparser_takes_part_by_its_command(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java, jar, out = tmp_path / "java", tmp_path / "maltparser-1.9.0.jar", tmp_path / "out.json"
    java.write_text(FAKE_JAVA.format(python=sys.executable))
    java.chmod(0o755)
    jar.touch()
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    words = ["--beams", "--graphs", "--only=Malt", "--repeats=2", "--copies=9", f"--maltparser={jar}"]
    main(["run", "compare", f"--data={small}", f"--cache={tmp_path}", f"--out={out}", *words])
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["versions"]["MaltParser"] == "1.9.0"
    (system,) = record["systems"]
    assert system["training"]["settings"] == maltparser.TRAINING
    gold = list(treetune.read_trees(small / "ud" / "en_ewt-test.conllu"))
    right = sum(head == word for one in gold for word, head in enumerate(one.gold.heads[1:]))
    assert system["scores"]["UAS"] == pytest.approx(100 * right / sum(len(one.sentence) for one in gold))
    # The start of the process is left out of the parse alone.
    whole, alone = (system[kind]["words_per_cpu_second"]["raw"] for kind in ("file_to_file", "parse"))
    assert all(a < b for a, b in zip(whole, alone, strict=True))


def test_maltparser_is_left_out_aloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maltparser, "JAVA", sys.executable)
    assert maltparser.missing() == (
        "MaltParser is left out: its jar is not named; use --maltparser JAR or set MALTPARSER_JAR"
    )
    monkeypatch.setenv("MALTPARSER_JAR", str(tmp_path / "none.jar"))
    assert maltparser.missing() == (
        f"MaltParser is left out: there is no file {tmp_path / 'none.jar'}; --maltparser names its jar"
    )
    monkeypatch.setattr(maltparser, "JAVA", "no-such-program")
    assert maltparser.missing() == ("MaltParser is left out: there is no 'java' on the path; install a Java runtime")
    said: list[str] = []
    monkeypatch.setattr(measure, "say", said.append)
    with pytest.raises(SystemExit, match=r"^--only: no system that can run here has 'Malt' in its name$"):
        compare.run(options("compare", "--only=Malt"))
    assert said == [maltparser.missing()]


def test_speeds_of_graph_parsers_are_divided_round_by_round() -> None:
    speed = {"treetune graph": [20.0, 30.0], "UDPipe beam 5": [10.0, 10.0], "treetune beam 8": [40.0, 40.0]}
    found = {(ratio["faster"], ratio["than"]): ratio["times"]["raw"] for ratio in compare.ratios(speed)}
    assert found[("treetune graph", "UDPipe beam 5")] == [2.0, 3.0]
    assert found[("treetune graph", "treetune beam 8")] == [0.5, 0.75]
    assert all("graph2" not in name for pair in found for name in pair)


def test_the_trainer_is_timed_beside_a_bare_loop(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "overhead.json"
    main(["run", "overhead", f"--data={small}", f"--out={out}", "--repeats=1", "--sentences=30"])
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["trainer_to_bare_loop"]["median"] > 0
    assert found["objective_to_treebank"]["median"] > 0


def test_uptraining_is_measured_as_a_command(small: Path, tmp_path: Path) -> None:
    parsed = tmp_path / "amalgum" / "news.conllu.zst"
    parsed.parent.mkdir()
    treetune.write_trees(treetune.read_trees(small / "ud" / "en_ewt-train.conllu"), parsed)
    (tmp_path / "ud").symlink_to(small / "ud")
    given = options("uptraining", f"--data={tmp_path}", "--sentences=30", "--epochs=1", "--beam=1")
    found = costs.uptraining(given)
    assert found["settings"] == {"sentences": 30, "epochs": 1, "beam": 1}
    assert 0 < found["test_LAS"] <= found["test_UAS"] <= 100
    assert min(found["cpu_seconds"], found["peak_rss_mb"], found["model_mb"]) > 0


def test_word_order_is_timed_beside_parsing(small: Path, tmp_path: Path) -> None:
    parser = treetune.TransitionParser(beam=1)
    for _ in treetune.train(parser, list(treetune.read_trees(small / "ud" / "en_ewt-train.conllu")), epochs=1):
        pass
    treetune.save(parser, tmp_path / "some.model")
    given = options("reordering", f"--model={tmp_path / 'some.model'}", f"--data={small}", "--repeats=1")
    found = costs.reordering(given)
    assert list(found["words_per_cpu_second"]) == ["parse", "parse and reorder", "reorder"]
    assert found["share_of_parsing_speed"]["raw"][0] > 0


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_can_be_asked_for(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as done:
        main(["run", name, "--help"])
    assert done.value.code == 0
    assert f"benchmarks/results/{name.replace('_', '-')}.json" in capsys.readouterr().out
