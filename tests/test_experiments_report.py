"""Pages of `experiments/`: from made-up results, and those of the repository from the stored ones."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments import figures, report, table
from experiments.__main__ import DOCS, main
from experiments.runner import RESULTS, result_path
from experiments.table import Row, Table


def spread(mean: float | None, sd: float = 0.125, repeats: int = 2) -> dict[str, Any]:
    return {"mean": mean, "sd": None if mean is None else sd, "raw": [mean] * repeats}


SCORES = {
    "UAS": spread(88.888),
    "LAS": spread(85.0),
    "root": spread(90.0),
    "UCM": spread(40.0),
    "LCM": spread(30.0),
    "crossing_UAS": spread(None),
    "words_per_cpu_second": spread(20000.4, 100.0),
}
RECORD: dict[str, Any] = {
    "table": "trial",
    "commit": "0123456789abcdef",
    "dirty": False,
    "date": "2026-01-02",
    "versions": {"python": "3.11.1"},
    "machine": {"cpu": "Test CPU", "cores": 2, "system": "Linux"},
    "commits": ["0123456789abcdef"],
    "epochs": 10,
    "quick": False,
    "seeds": [0, 1],
    "rows": [
        {
            "name": "MIRA",
            "seeds": [0, 1],
            "cpu_seconds": spread(90.0, 6.0),
            "dev": {"UAS": spread(89.0), "LAS": spread(86.0)},
            "tests": {"en_ewt-test": SCORES},
        }
    ],
    "comparisons": [
        {
            "better": "MIRA",
            "worse": "perceptron",
            "test": "en_ewt-test",
            "bootstrap": {"UAS": {"score": 0.4567, "p_value": 0.0123}, "LAS": {"score": -0.1, "p_value": 0.5}},
            "mcnemar_heads": {"median_p_value": 0.000123},
        }
    ],
    "claims": [
        {"claim": "a claim", "holds": True, "evidence": {}},
        {"claim": "a wrong one", "holds": False, "evidence": {}},
        {"claim": "a later one", "holds": None, "evidence": {}},
    ],
    "runs": [],
    "outcomes": [],
}
TABLE = Table(
    name="trial",
    texts={**dict.fromkeys(table.TEXTS, ""), "title": "A trial", "paper": "Nobody 2000", "question": "Is it?"},
    rows=(Row("MIRA", {"data": {"tests": ["en_ewt-test"]}}),),
    pairs=(),
    claims=(),
    columns=table.PARSER_COLUMNS,
    summary={"rows": ["MIRA", "perceptron"], "columns": [["en_ewt-test", "LAS"], ["en_ewt-test", "cpu_seconds"]]},
    epochs=10,
)


def page(**changes: Any) -> str:
    return report.page(TABLE, {**RECORD, **changes})


def test_a_row_shows_scores_spread_time_and_speed() -> None:
    [row] = [one for one in report.score_table(TABLE, RECORD, "en_ewt-test").splitlines() if one.startswith("| MIRA")]
    cells = ["88.89 ± 0.12", "85.00 ± 0.12", "90.00 ± 0.12", "40.00 ± 0.12", "30.00 ± 0.12", "", "86.00 ± 0.12"]
    assert row == f"| MIRA | {' | '.join(cells)} | 1.50 ± 0.10 | 20,000 ± 100 |"


def test_a_page_begins_with_question_answer_and_a_small_table() -> None:
    texts = {**TABLE.texts, "answer": "Yes, by [[en_ewt-test | LAS | MIRA]]."}
    text = report.page(replace(TABLE, texts=texts), RECORD)
    _, title, question, answer, small, *_ = text.split("\n\n")
    assert title == "# A trial"
    assert question == "**Question** (Nobody 2000). Is it?"
    assert answer == "**Answer.** Yes, by 85.0."
    rows = [
        "| `en_ewt-test` | LAS | training (CPU-min) |",
        "| :-- | --: | --: |",
        "| MIRA | 85.00 ± 0.12 | 1.50 ± 0.10 |",
    ]
    assert small.splitlines() == rows


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("[[x | LAS | a]]", "80.5"),
        ("[[x | LAS | a :: b]]", "+1.2"),
        ("[[x | LAS | b ::\na]]", "−1.2"),
        ("[[x | LAS | b // a]]", "1.2"),
        ("[[x | LAS | c :: a]]", "(not measured)"),
    ],
)
def test_numbers_of_a_text_come_from_the_results(text: str, number: str) -> None:
    rows = [{"name": name, "tests": {"x": {"LAS": {"mean": mean}}}} for name, mean in (("a", 80.54), ("b", 79.34))]
    assert report.filled(f"It is {text}.", {"rows": rows}) == f"It is {number}."


def test_one_seed_has_no_spread() -> None:
    assert report.spread(spread(1.0, repeats=1)) == "1.00"
    assert "chosen on dev; one seed.\n" in page(seeds=[0])
    assert "chosen on dev; mean ± standard deviation of 2 seeds.\n" in page()


def test_differences_have_signs_and_probabilities() -> None:
    assert "| en_ewt-test: MIRA − perceptron | +0.46 | 0.00012 | 0.012 | -0.10 | 0.5 |" in page()
    assert "Differences" not in page(comparisons=[])


def test_the_claims_say_what_holds() -> None:
    lines = [line for line in page().splitlines() if line.startswith("| a ")]
    assert lines == ["| a claim | yes |", "| a wrong one | **no** |", "| a later one | not measured |"]
    assert "\n1 of 3 hold.\n" in page()


def test_rows_stand_under_the_file_they_were_evaluated_on() -> None:
    rows = copy.deepcopy(RECORD["rows"])
    rows.append({**rows[0], "name": "Czech", "tests": {"cs_x": SCORES, "cs_y": SCORES}})
    text = page(rows=rows)
    assert text.count("\n| MIRA | 88") == 1
    assert text.count("\n| Czech") == 2
    assert text.index("en_ewt-test</code>") < text.index("cs_x</code>") < text.index("cs_y</code>")


def test_trials_missing_seeds_and_several_commits_are_told() -> None:
    assert "not a result" in page(quick=True)
    assert "not a result" not in page()
    assert "| MIRA (2 of the seeds) | " in page(seeds=[0, 1, 2])
    assert "The runs are of several commits: `0123456789ab`, `fedcba987654`." in page(
        commits=["0123456789abcdef", "fedcba9876543210"]
    )
    assert "several" not in page()


def test_the_pages_of_the_docs_are_made_from_the_stored_results(tmp_path: Path) -> None:
    tables = [table.load(name) for name in table.names()]
    written = report.write(tables, RESULTS, tmp_path)
    assert len(written) == len(tables) + 1
    for path in written:
        assert path.read_text(encoding="utf-8") == (DOCS / "experiments" / path.name).read_text(encoding="utf-8")


def test_every_table_has_results_and_its_answer_numbers() -> None:
    for name in table.names():
        record = json.loads(result_path(name).read_text(encoding="utf-8"))
        assert record["table"] == name
        assert not record["quick"]
        answer = report.filled(table.load(name).texts["answer"], record)
        assert "[[" not in answer
        assert "not measured" not in answer


def test_the_figure_of_the_docs_is_drawn_from_the_stored_results(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("one.svg", "two.svg"):
        figures.draw(result_path("augmented_study"), tmp_path / name)
    text = (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "two.svg").read_text(encoding="utf-8")
    for title in ("questions (EWT, GUM): search", "questions (EWT, GUM): rate", "questions (ATIS): partial trees"):
        assert title in text
    record = json.loads(result_path("augmented_study").read_text(encoding="utf-8"))
    rows = {row["name"]: row["tests"]["target-test"]["LAS"]["mean"] for row in record["rows"]}
    gains = figures.Gains(record)
    drawn = [*figures.SEARCHES.values(), *figures.RATES.values()]
    assert all(gains(row, "target-test", "LAS") == rows[row] - rows["treebank only"] for row in drawn)
    few = tmp_path / "few.json"
    few.write_text(json.dumps({"rows": record["rows"][:3]}), encoding="utf-8")
    figures.draw(few, tmp_path / "few.svg")
    assert (tmp_path / "few.svg").read_bytes() != (tmp_path / "one.svg").read_bytes()


def test_uptraining_is_drawn_from_the_rows_that_are_measured(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = result_path("petrov2010_table3")
    for name in ("one.svg", "two.svg"):
        figures.draw_uptraining(result, tmp_path / name)
    text = (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "two.svg").read_text(encoding="utf-8")
    assert all(f"{title}: {metric}" in text for title in figures.QUESTIONS.values() for metric in ("UAS", "LAS"))
    names = {row.name for row in table.load("petrov2010_table3").rows}
    drawn = {
        f"{one}, {size} {kind}" for one in figures.TREEBANKS for kind in figures.SIZES for size in figures.SIZES[kind]
    }
    assert drawn | set(figures.TREEBANKS) <= names
    record = json.loads(result.read_text(encoding="utf-8"))
    few = tmp_path / "few.json"
    few.write_text(json.dumps({"rows": record["rows"][:1]}), encoding="utf-8")
    figures.draw_uptraining(few, tmp_path / "few.svg")
    assert (tmp_path / "few.svg").read_bytes() != (tmp_path / "one.svg").read_bytes()


def test_the_command_lists_tables_prints_pages_and_checks_options(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == table.names()
    main(["report", "labels_by_tag"])
    assert capsys.readouterr().out == (DOCS / "experiments" / "labels_by_tag.md").read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["run", "labels_by_tag", "--seeds", "0"])
    assert capsys.readouterr().err.endswith("error: --seeds must be at least 1, found 0\n")
