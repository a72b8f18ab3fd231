"""The loop of `experiments/`: every run is made once, kept at once, and made again only when it must be."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config_samples import Oracle, lab, small_data_fixture
from strategies import trees
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.evaluation import compare, evaluate

__all__ = ["small_data_fixture"]

SKILLS = {"weak": 0.6, "strong": 0.9}
ORIGIN: dict[str, Any] = {"dirty": False, "date": "2026-01-02", "versions": {}, "machine": {"cpu": "Test CPU"}}
Make = Callable[..., Any]


@pytest.fixture
def made() -> list[tuple[str, int]]:
    """Each (row, seed) that was trained, in order."""
    return []


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, small_data: Path, tmp_path: Path, made: list[tuple[str, int]]) -> Make:
    """Makes sessions of an experiment with two rows, in which nothing is trained."""

    def run(row: Any, data: Any, *, epochs: int, seed: int, warm: Path) -> dict[str, Any]:
        made.append((row.name, seed))
        skill = SKILLS[row.recipe.parser]
        return {
            "cpu_seconds": 10.0 + seed,
            "learner": {},
            "epochs": [{"UAS": 50.0, "LAS": 40.0 + seed}, {"UAS": 49.0, "LAS": 39.0}],
            "tests": {name: lab.runs.score(Oracle(gold, skill, seed), gold) for name, gold in data.tests.items()},
        }

    monkeypatch.setattr(lab.common, "run", run)
    monkeypatch.setattr(lab.measuring, "provenance", lambda _: {"commit": f"commit {len(made)}", **ORIGIN})
    experiment = lab.common.Experiment(
        name="trial",
        title="A trial",
        rows=tuple(lab.runs.Row(name, lab.corpora.ENGLISH, lab.recipes.Recipe(name)) for name in SKILLS),
        pairs=(("strong", "weak"),),
        claims=(lab.findings.higher("strong", "weak", "en_ewt-test", "UAS"),),
    )

    def make(**options: Any) -> Any:
        changes = options.pop("changes", {})
        return lab.common.Session(
            replace(experiment, **changes),
            **{"data": small_data, "out": tmp_path / "trial.json", "seeds": 2, **options},
        )

    return make


def stored(tmp_path: Path, name: str = "trial") -> dict[str, Any]:
    record: dict[str, Any] = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    return record


def test_every_row_is_run_with_every_seed_all_rows_of_a_seed_first(
    session: Make, tmp_path: Path, made: list[tuple[str, int]]
) -> None:
    session().run()
    assert made == [("weak", 0), ("strong", 0), ("weak", 1), ("strong", 1)]
    record = stored(tmp_path)
    assert [(run["row"], run["settings"]["seed"]) for run in record["runs"]] == made
    assert record["settings"] == {"epochs": 5, "quick": False, "seeds": [0, 1]}


def test_a_file_names_the_commits_of_its_runs_and_the_origin_of_the_latest(session: Make, tmp_path: Path) -> None:
    session(seeds=1).run()
    session().run()
    record = stored(tmp_path)
    assert [run["commit"] for run in record["runs"]] == ["commit 0", "commit 1", "commit 2", "commit 3"]
    assert record["commits"] == ["commit 0", "commit 1", "commit 2", "commit 3"]
    assert record["commit"] == "commit 3"
    assert {key: record[key] for key in ORIGIN} == ORIGIN


def test_a_summary_has_mean_and_spread_of_all_seeds(session: Make, tmp_path: Path) -> None:
    session().run()
    record = stored(tmp_path)
    weak, strong = record["rows"]
    assert (weak["name"], weak["corpus"], weak["seeds"]) == ("weak", "English", [0, 1])
    assert weak["cpu_seconds"] == {"mean": 10.5, "sd": pytest.approx(0.5**0.5), "raw": [10.0, 11.0]}
    # Of the epoch that is best on dev.
    assert weak["dev"]["LAS"]["raw"] == [40.0, 41.0]
    assert weak["dev"]["UAS"]["mean"] == 50.0
    raw = [run["tests"]["en_ewt-test"]["UAS"] for run in record["runs"] if run["row"] == "strong"]
    assert strong["tests"]["en_ewt-test"]["UAS"]["raw"] == raw
    assert strong["tests"]["en_ewt-test"]["UAS"]["mean"] == pytest.approx(sum(raw) / 2)


def test_a_claim_that_holds_says_by_which_numbers(session: Make, tmp_path: Path) -> None:
    session().run()
    [claim] = stored(tmp_path)["pattern"]
    assert claim["claim"] == "en_ewt-test: strong has a higher UAS than weak"
    assert claim["holds"] is True
    assert claim["evidence"]["strong"] > claim["evidence"]["weak"]


def test_a_second_start_makes_no_run_and_writes_the_same_file(
    session: Make, tmp_path: Path, made: list[tuple[str, int]]
) -> None:
    session().run()
    before = stored(tmp_path)
    made.clear()
    session().run()
    assert made == []
    assert stored(tmp_path) == before


def test_a_killed_experiment_goes_on_where_it_was(
    session: Make, tmp_path: Path, made: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = lab.common.run

    def dying(row: Any, data: Any, *, epochs: int, seed: int, warm: Path) -> Any:
        if len(made) == 3:
            raise KeyboardInterrupt
        return run(row, data, epochs=epochs, seed=seed, warm=warm)

    with monkeypatch.context() as patch:
        patch.setattr(lab.common, "run", dying)
        with pytest.raises(KeyboardInterrupt):
            session().run()
    assert [(run["row"], run["settings"]["seed"]) for run in stored(tmp_path)["runs"]] == made
    assert [path.name for path in tmp_path.iterdir()] == ["trial.json"]
    made.clear()
    session().run()
    assert made == [("strong", 1)]
    assert len(stored(tmp_path)["runs"]) == 4


def test_fresh_makes_every_run_again_in_place_of_the_old(
    session: Make, tmp_path: Path, made: list[tuple[str, int]]
) -> None:
    session().run()
    made.clear()
    session().run(fresh=True)
    assert len(made) == 4
    assert len(stored(tmp_path)["runs"]) == 4


def test_only_makes_the_named_rows_and_speaks_of_all_that_are_stored(
    session: Make, tmp_path: Path, made: list[tuple[str, int]]
) -> None:
    session().run(only="stro")
    assert made == [("strong", 0), ("strong", 1)]
    record = stored(tmp_path)
    assert [row["name"] for row in record["rows"]] == ["strong"]
    assert record["comparisons"] == []
    assert record["pattern"][0]["holds"] is None
    assert record["pattern"][0]["evidence"] == {"missing": "no run of 'weak' yet"}
    session().run(only="weak")
    record = stored(tmp_path)
    assert [row["name"] for row in record["rows"]] == ["weak", "strong"]
    assert record["pattern"][0]["holds"] is True


def test_a_row_whose_name_is_part_of_another_can_be_named(
    session: Make, tmp_path: Path, made: list[tuple[str, int]]
) -> None:
    rows = session().rows
    longer = {"rows": (*rows, replace(rows[1], name="stronger"))}
    session(changes=longer, seeds=1).run(only="strong")
    assert made == [("strong", 0)]


def test_more_seeds_add_to_those_that_are_there(session: Make, tmp_path: Path, made: list[tuple[str, int]]) -> None:
    session(seeds=1).run()
    made.clear()
    session(seeds=2).run()
    assert made == [("weak", 1), ("strong", 1)]
    session(seeds=1).run()
    record = stored(tmp_path)
    assert record["rows"][0]["seeds"] == [0]
    assert len(record["runs"]) == 4


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_other_data_are_other_settings(
    session: Make, small_data: Path, tmp_path: Path, made: list[tuple[str, int]], part: str
) -> None:
    session().run()
    made.clear()
    changed = tmp_path / "changed"
    shutil.copytree(small_data, changed)
    path = changed / "ud" / f"en_ewt-{part}.conllu"
    path.write_text("\n\n".join(path.read_text(encoding="utf-8").split("\n\n")[1:]), encoding="utf-8")
    session(data=changed).run()
    assert len(made) == 4
    assert len(stored(tmp_path)["runs"]) == 4


def test_another_recipe_is_another_setting_and_its_old_run_counts_no_more(
    session: Make, tmp_path: Path, made: list[tuple[str, int]]
) -> None:
    session().run()
    made.clear()
    rows = session().rows
    changed = replace(rows[0], recipe=replace(rows[0].recipe, learning={"k": 3}))
    session(changes={"rows": (changed, rows[1])}).run(only="strong")
    assert made == []
    assert [row["name"] for row in stored(tmp_path)["rows"]] == ["strong"]
    session(changes={"rows": (changed, rows[1])}).run()
    assert made == [("weak", 0), ("weak", 1)]
    assert len(stored(tmp_path)["rows"]) == 2


def test_a_run_of_another_experiment_with_the_same_settings_is_taken_over(
    session: Make, tmp_path: Path, made: list[tuple[str, int]]
) -> None:
    session().run()
    made.clear()
    row = replace(session().rows[1], name="the same by another name")
    other = {"name": "other", "rows": (row,), "pairs": (), "claims": ()}
    session(changes=other, out=tmp_path / "other.json").run()
    assert made == []
    runs = stored(tmp_path, "other")["runs"]
    assert {run["taken_from"] for run in runs} == {"trial"}
    assert stored(tmp_path, "other")["rows"][0]["name"] == "the same by another name"
    session(changes=other, out=tmp_path / "other.json").run(fresh=True)
    assert len(made) == 2


def test_what_is_no_result_in_the_folder_is_passed_over(session: Make, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    session().run()
    assert len(stored(tmp_path)["runs"]) == 4


@pytest.mark.parametrize("content", ["{", "[]", '{"experiment": "other", "runs": []}'])
def test_a_file_of_something_else_is_not_overwritten(session: Make, tmp_path: Path, content: str) -> None:
    path = tmp_path / "trial.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit) as error:
        session().run()
    assert str(error.value) == (
        f"{path} holds no results of the experiment trial; remove it or name another file with --out"
    )
    assert path.read_text(encoding="utf-8") == content


def test_runs_that_another_process_has_added_meanwhile_are_kept(
    session: Make, tmp_path: Path, made: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = lab.common.run

    def interrupted(row: Any, data: Any, *, epochs: int, seed: int, warm: Path) -> Any:
        if not made:
            with monkeypatch.context() as patch:
                patch.setattr(lab.common, "run", run)
                session(seeds=1).run(only="strong")
        return run(row, data, epochs=epochs, seed=seed, warm=warm)

    monkeypatch.setattr(lab.common, "run", interrupted)
    session(seeds=1).run(only="weak")
    assert made == [("strong", 0), ("weak", 0)]
    assert [run["row"] for run in stored(tmp_path)["runs"]] == ["strong", "weak"]


def test_an_unknown_row_is_named_with_those_there_are(session: Make) -> None:
    with pytest.raises(SystemExit, match=r"^no row has 'x' in its name; the rows are: weak; strong$"):
        session().run(only="x")


def test_a_missing_file_is_named_before_anything_is_trained(
    session: Make, tmp_path: Path, made: list[tuple[str, int]]
) -> None:
    with pytest.raises(SystemExit) as error:
        session(data=tmp_path).run()
    path = tmp_path / "ud" / "en_ewt-train.conllu"
    assert str(error.value) == f"{path} is missing; name the folder that holds ud/ with --data"
    assert made == []


def test_rows_whose_data_are_missing_do_not_hinder_others(session: Make, small_data: Path, tmp_path: Path) -> None:
    english = tmp_path / "english"
    (english / "ud").mkdir(parents=True)
    for path in (small_data / "ud").glob("en_*"):
        shutil.copy(path, english / "ud")
    czech = replace(session().rows[0], name="foreign", corpus=lab.corpora.CZECH)
    session(data=english, changes={"rows": (*session().rows, czech)}).run(only="strong")
    assert [row["name"] for row in stored(tmp_path)["rows"]] == ["strong"]


def test_a_quick_trial_reads_little_and_keeps_away_from_the_results(session: Make) -> None:
    quick = session(quick=True)
    assert quick.epochs == 2
    assert quick.limits == lab.corpora.Limits(train=300, dev=100, test=200)
    assert lab.common.RESULTS not in lab.common.default_file("x", quick=True).parents
    assert lab.common.default_file("x", quick=False) == lab.common.RESULTS / "x.json"


def test_limits_cut_every_file(small_data: Path) -> None:
    data = lab.corpora.CZECH.read(small_data, lab.corpora.Limits(train=7, dev=5, test=3))
    # Two files to learn from: 7 of each.
    assert len(data.train) == 14
    assert len(data.dev) == 5
    assert {name: len(test) for name, test in data.tests.items()} == dict.fromkeys(lab.corpora.CZECH.tests, 3)


def test_no_file_is_both_learned_from_and_tested_on() -> None:
    for corpus in (lab.corpora.ENGLISH, lab.corpora.CZECH):
        names = [*corpus.train, corpus.dev, *corpus.tests]
        assert len(set(names)) == len(names)


@st.composite
def scored_corpora(draw: st.DrawFn) -> tuple[list[Example], list[Tree], list[Tree]]:
    gold = draw(st.lists(trees(max_size=6), min_size=1, max_size=5))
    examples = [Example(Sentence.of(["w"] * len(tree)), tree) for tree in gold]
    # Half of the trees are right, otherwise there would hardly ever be a complete one.
    first, second = ([draw(st.just(tree) | trees(size=len(tree))) for tree in gold] for _ in range(2))
    return examples, first, second


@settings(max_examples=40)
@given(corpora=scored_corpora())
def test_packed_scores_come_back_as_far_as_comparing_needs(
    corpora: tuple[list[Example], list[Tree], list[Tree]],
) -> None:
    outcomes = lab.outcomes
    gold, *answers = corpora
    direct = [evaluate(gold, answer) for answer in answers]
    back = [outcomes.unpack(json.loads(json.dumps(outcomes.pack(scores))), gold) for scores in direct]
    for one, other in zip(direct, back, strict=True):
        for metric in outcomes.METRICS:
            assert one[metric] == other[metric]
            assert one.right(metric) == other.right(metric)
    compared = [compare(a, b, metrics=outcomes.METRICS, samples=20) for a, b in (direct, back)]
    assert compared[0] == compared[1]


def test_scores_of_sentences_with_crossing_arcs_stand_apart() -> None:
    crossing, plain = Tree.of([0, 4, 1, 1], ["a"] * 4), Tree.of([0, 1], ["a"] * 2)
    gold = [Example(Sentence.of(["w"] * len(tree)), tree) for tree in (crossing, plain)]

    class Fixed:
        def predict_batch(self, sentences: list[Sentence]) -> list[Tree]:
            return [Tree.of([0, 1, 1, 1], ["a"] * 4), Tree.of([0, 1], ["a", "b"])]

    found = lab.runs.score(Fixed(), gold)
    assert found["crossing_sentences"] == 1
    assert found["crossing_UAS"] == found["crossing_LAS"] == 75.0
    assert found["UAS"] == pytest.approx(500 / 6)
    assert found["LAS"] == pytest.approx(400 / 6)
    assert found["root"] == 100.0
    assert (found["UCM"], found["LCM"]) == (50.0, 0.0)
    assert lab.runs.score(Oracle(gold[1:], 1.0, 0), gold[1:])["crossing_UAS"] is None
