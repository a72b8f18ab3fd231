"""The run loop of `experiments/`: every run is made once, kept at once, and made again only when it must be."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiment_samples import Oracle, write_treebanks
from experiments import runner, table
from experiments.data import Limits, read
from experiments.runner import RESULTS, Runner, result_path, score
from experiments.table import Row, Table, merge

SKILLS = {"weak": 0.6, "strong": 0.9}
ORIGIN: dict[str, Any] = {"dirty": False, "date": "2026-01-02", "versions": {}, "machine": {"cpu": "Test CPU"}}
TRIAL = """
title = "A trial"
paper = "Nobody 2000"
question = "Is it?"
answer = "It is."
dataset = "English"
train.epochs = 5
[[rows]]
name = "weak"
model.parser = "weak"
[[rows]]
name = "strong"
model.parser = "strong"
[[compare]]
better = "strong"
worse = "weak"
[[claims]]
better = "strong"
worse = "weak"
"""
Made = list[tuple[str, int]]
Make = Callable[..., Runner]


@pytest.fixture(name="small_data", scope="module")
def small_data_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_treebanks(tmp_path_factory.mktemp("small"))


@pytest.fixture
def made() -> Made:
    """Each (row, seed) that was trained, in order."""
    return []


@pytest.fixture
def trial(tmp_path: Path) -> Table:
    path = tmp_path / "toml" / "trial.toml"
    path.parent.mkdir()
    path.write_text(TRIAL, encoding="utf-8")
    return table.read(path)


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, small_data: Path, tmp_path: Path, made: Made, trial: Table) -> Make:
    """Makes runners of a table with two rows, in which nothing is trained."""

    def run_parser(config: Any, data: Any, *, seed: int, shared: Path) -> dict[str, Any]:
        made.append((config["model"]["parser"], seed))
        skill = SKILLS[config["model"]["parser"]]
        oracles: dict[str, Any] = {name: Oracle(gold, skill, seed) for name, gold in data.tests.items()}
        return {
            "cpu_seconds": 10.0 + seed,
            "learner": {},
            "epochs": [{"UAS": 50.0, "LAS": 40.0 + seed}, {"UAS": 49.0, "LAS": 39.0}],
            "tests": {name: score(parser, data.tests[name]) for name, parser in oracles.items()},
        }

    monkeypatch.setattr(runner, "run_parser", run_parser)
    monkeypatch.setattr(runner, "provenance", lambda _: {"commit": f"commit {len(made)}", **ORIGIN})

    def make(changed: Table = trial, **options: Any) -> Runner:
        return Runner(changed, **{"data": small_data, "out": tmp_path / "trial.json", "seeds": 2, **options})

    return make


def stored(tmp_path: Path, name: str = "trial") -> dict[str, Any]:
    record: dict[str, Any] = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    return record


def runs_of(tmp_path: Path) -> Made:
    return [(run["row"], run["settings"]["seed"]) for run in stored(tmp_path)["runs"]]


def test_every_row_is_run_with_every_seed_all_rows_of_a_seed_first(make: Make, tmp_path: Path, made: Made) -> None:
    make().run()
    assert made == [("weak", 0), ("strong", 0), ("weak", 1), ("strong", 1)]
    assert runs_of(tmp_path) == made
    record = stored(tmp_path)
    assert (record["epochs"], record["quick"], record["seeds"]) == (5, False, [0, 1])


def test_a_file_names_the_commits_of_its_runs_and_the_origin_of_the_latest(make: Make, tmp_path: Path) -> None:
    make(seeds=1).run()
    make().run()
    record = stored(tmp_path)
    assert [run["commit"] for run in record["runs"]] == record["commits"] == [f"commit {i}" for i in range(4)]
    assert record["commit"] == "commit 3"
    assert {key: record[key] for key in ORIGIN} == ORIGIN


def test_a_summary_has_mean_and_standard_deviation_of_all_seeds(make: Make, tmp_path: Path) -> None:
    make().run()
    record = stored(tmp_path)
    weak, strong = record["rows"]
    assert (weak["name"], weak["seeds"]) == ("weak", [0, 1])
    assert weak["cpu_seconds"] == {"mean": 10.5, "sd": pytest.approx(0.5**0.5), "raw": [10.0, 11.0]}
    # Of the epoch that is best on dev.
    assert weak["dev"]["LAS"]["raw"] == [40.0, 41.0]
    assert weak["dev"]["UAS"]["mean"] == 50.0
    raw = [run["tests"]["en_ewt-test"]["UAS"] for run in record["runs"] if run["row"] == "strong"]
    assert strong["tests"]["en_ewt-test"]["UAS"]["raw"] == raw
    assert strong["tests"]["en_ewt-test"]["UAS"]["mean"] == pytest.approx(sum(raw) / 2)
    [claim] = record["claims"]
    assert claim["claim"] == "en_ewt-test: strong has a higher UAS than weak"
    assert claim["holds"] is True
    assert claim["evidence"]["strong"] > claim["evidence"]["weak"]


def test_a_second_start_makes_no_run_and_writes_the_same_file(make: Make, tmp_path: Path, made: Made) -> None:
    make().run()
    before = (tmp_path / "trial.json").read_bytes()
    made.clear()
    make().run()
    assert made == []
    assert (tmp_path / "trial.json").read_bytes() == before


def test_a_killed_run_is_resumed(make: Make, tmp_path: Path, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    run = runner.run_parser

    def dying(config: Any, data: Any, *, seed: int, shared: Any) -> Any:
        if len(made) == 3:
            raise KeyboardInterrupt
        return run(config, data, seed=seed, shared=shared)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "run_parser", dying)
        with pytest.raises(KeyboardInterrupt):
            make().run()
    assert runs_of(tmp_path) == made
    assert [path.name for path in tmp_path.glob("trial*")] == ["trial.json"]
    made.clear()
    make().run()
    assert made == [("strong", 1)]
    assert len(stored(tmp_path)["runs"]) == 4


def test_fresh_makes_every_run_again_in_place_of_the_old(make: Make, tmp_path: Path, made: Made) -> None:
    make().run()
    made.clear()
    make().run(fresh=True)
    assert len(made) == 4
    assert len(stored(tmp_path)["runs"]) == 4


def test_chosen_rows_are_made_and_all_stored_ones_described(make: Make, tmp_path: Path, made: Made) -> None:
    make().run(rows="stro")
    assert made == [("strong", 0), ("strong", 1)]
    record = stored(tmp_path)
    assert [row["name"] for row in record["rows"]] == ["strong"]
    assert record["comparisons"] == []
    assert record["claims"][0]["holds"] is None
    assert record["claims"][0]["evidence"] == {"missing": "no run of 'weak' yet"}
    make().run(rows="weak")
    record = stored(tmp_path)
    assert [row["name"] for row in record["rows"]] == ["weak", "strong"]
    assert record["claims"][0]["holds"] is True


def test_a_row_whose_name_is_part_of_another_can_be_named(make: Make, trial: Table, made: Made) -> None:
    longer = replace(trial, rows=(*trial.rows, Row("stronger", trial.rows[1].config)))
    make(longer, seeds=1).run(rows="strong")
    assert made == [("strong", 0)]


def test_more_seeds_add_to_those_that_are_there(make: Make, tmp_path: Path, made: Made) -> None:
    make(seeds=1).run()
    made.clear()
    make(seeds=2).run()
    assert made == [("weak", 1), ("strong", 1)]
    make(seeds=1).run()
    assert stored(tmp_path)["rows"][0]["seeds"] == [0]
    assert len(stored(tmp_path)["runs"]) == 4


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_other_data_are_other_settings(make: Make, small_data: Path, tmp_path: Path, made: Made, part: str) -> None:
    make().run()
    made.clear()
    changed = tmp_path / "changed"
    shutil.copytree(small_data, changed)
    path = changed / "ud" / f"en_ewt-{part}.conllu"
    path.write_text("\n\n".join(path.read_text(encoding="utf-8").split("\n\n")[1:]), encoding="utf-8")
    make(data=changed).run()
    assert len(made) == 4
    assert len(stored(tmp_path)["runs"]) == 4


def test_other_settings_are_run_again_and_their_old_run_counts_no_more(
    make: Make, trial: Table, tmp_path: Path, made: Made
) -> None:
    make().run()
    made.clear()
    changed = replace(trial, rows=(Row("weak", merge(trial.rows[0].config, {"learner": {"k": 3}})), trial.rows[1]))
    make(changed).run(rows="strong")
    assert made == []
    assert [row["name"] for row in stored(tmp_path)["rows"]] == ["strong"]
    make(changed).run()
    assert made == [("weak", 0), ("weak", 1)]
    assert len(stored(tmp_path)["rows"]) == 2


def test_a_run_of_another_table_with_the_same_settings_is_taken_over(
    make: Make, trial: Table, tmp_path: Path, made: Made
) -> None:
    make().run()
    made.clear()
    other = replace(trial, name="other", rows=(Row("the same", trial.rows[1].config),), pairs=(), claims=())
    make(other, out=tmp_path / "other.json").run()
    assert made == []
    assert {run["taken_from"] for run in stored(tmp_path, "other")["runs"]} == {"trial"}
    mine, theirs = stored(tmp_path, "other")["rows"][0], stored(tmp_path)["rows"][1]
    assert mine == {**theirs, "name": "the same"}
    make(other, out=tmp_path / "other.json").run(fresh=True)
    assert len(made) == 2


def test_what_is_no_result_in_the_folder_is_passed_over(make: Make, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    make().run()
    assert len(stored(tmp_path)["runs"]) == 4


@pytest.mark.parametrize("content", ["{", "[]", '{"table": "other", "runs": [], "outcomes": []}'])
def test_a_file_of_something_else_is_not_overwritten(make: Make, tmp_path: Path, content: str) -> None:
    path = tmp_path / "trial.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit) as error:
        make().run()
    assert str(error.value) == f"{path} holds no results of the table trial; remove it or name another file with --out"
    assert path.read_text(encoding="utf-8") == content


def test_runs_that_another_process_has_added_meanwhile_are_kept(
    make: Make, tmp_path: Path, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runner.run_parser

    def interrupted(config: Any, data: Any, *, seed: int, shared: Any) -> Any:
        if not made:
            with monkeypatch.context() as patch:
                patch.setattr(runner, "run_parser", run)
                make(seeds=1).run(rows="strong")
        return run(config, data, seed=seed, shared=shared)

    monkeypatch.setattr(runner, "run_parser", interrupted)
    make(seeds=1).run(rows="weak")
    assert made == [("strong", 0), ("weak", 0)]
    assert [row for row, _ in runs_of(tmp_path)] == ["strong", "weak"]


def test_an_unknown_row_is_named_with_those_there_are(make: Make) -> None:
    with pytest.raises(SystemExit, match=r"^no row has 'x' in its name; the rows are: weak; strong$"):
        make().run(rows="x")


def test_a_missing_file_is_named_before_anything_is_trained(make: Make, tmp_path: Path, made: Made) -> None:
    with pytest.raises(SystemExit) as error:
        make(data=tmp_path).run()
    path = tmp_path / "ud" / "en_ewt-train.conllu"
    assert str(error.value) == f"{path} is missing; name the folder that holds ud/ with --data"
    assert made == []


def test_rows_whose_data_are_missing_do_not_hinder_others(
    make: Make, trial: Table, small_data: Path, tmp_path: Path
) -> None:
    english = tmp_path / "english"
    (english / "ud").mkdir(parents=True)
    for path in (small_data / "ud").glob("en_*"):
        shutil.copy(path, english / "ud")
    czech = Row("foreign", table.load("mcdonald_table2").rows[-1].config)
    make(replace(trial, rows=(*trial.rows, czech)), data=english).run(rows="strong")
    assert [row["name"] for row in stored(tmp_path)["rows"]] == ["strong"]


def test_a_quick_trial_reads_little_and_keeps_away_from_the_results(make: Make) -> None:
    quick = make(is_quick=True)
    assert quick.rows[0].config["train"] == {"epochs": 2}
    assert quick.limits == Limits(train=300, dev=100, test=200)
    assert RESULTS not in result_path("x", is_quick=True).parents
    assert result_path("x") == RESULTS / "x.json"


def test_limits_cut_every_file(small_data: Path) -> None:
    config = table.load("mcdonald_table2").rows[-1].config
    data = read(config, small_data, Limits(train=7, dev=5, test=3))
    # Two files to train on: 7 of each.
    assert len(data.train) == 14
    assert len(data.dev) == 5
    assert {len(test) for test in data.tests.values()} == {3}
    assert list(data.tests) == config["data"]["tests"]
