"""Pages of `experiments/`, rendered from made-up results."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from config_samples import EXPERIMENTS, lab


def spread(mean: float | None, sd: float = 0.125, repeats: int = 2) -> dict[str, Any]:
    return {"mean": mean, "sd": None if mean is None else sd, "raw": [mean] * repeats}


SCORES = {
    "UAS": spread(88.888),
    "LAS": spread(85.0),
    "root": spread(90.0),
    "UCM": spread(40.0),
    "LCM": spread(30.0),
    "crossing_UAS": spread(None),
    "crossing_LAS": spread(None),
    "words_per_cpu_second": spread(20000.4, 100.0),
}
RECORD: dict[str, Any] = {
    "experiment": "trial",
    "title": "A trial",
    "commit": "0123456789abcdef",
    "dirty": False,
    "date": "2026-01-02",
    "versions": {"python": "3.11.1"},
    "machine": {"cpu": "Test CPU", "cores": 2, "system": "Linux"},
    "commits": ["0123456789abcdef"],
    "settings": {"epochs": 10, "quick": False, "seeds": [0, 1]},
    "rows": [
        {
            "name": "MIRA",
            "corpus": "English",
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
    "pattern": [
        {"claim": "a claim", "holds": True, "evidence": {}},
        {"claim": "a wrong one", "holds": False, "evidence": {}},
        {"claim": "a later one", "holds": None, "evidence": {}},
    ],
    "runs": [],
}


def lines_of(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


def test_a_row_shows_scores_spread_time_and_speed() -> None:
    [row] = lines_of(lab.tables.score_table(RECORD, "en_ewt-test"), "| MIRA")
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "MIRA",
        "88.89 ± 0.12",
        "85.00 ± 0.12",
        "90.00 ± 0.12",
        "40.00 ± 0.12",
        "30.00 ± 0.12",
        "",
        "86.00 ± 0.12",
        "1.50 ± 0.10",
        "20,000 ± 100",
    ]


def test_one_seed_has_no_spread() -> None:
    assert lab.tables.spread(spread(1.0, repeats=1)) == "1.00"
    record = copy.deepcopy(RECORD)
    record["settings"]["seeds"] = [0]
    assert "chosen on dev; one seed.\n" in lab.tables.section(record)
    assert "chosen on dev; mean ± standard deviation of 2 seeds.\n" in lab.tables.section(RECORD)


def test_differences_have_signs_and_probabilities() -> None:
    text = lab.tables.section(RECORD)
    assert "| en_ewt-test: MIRA − perceptron | +0.46 | 0.00012 | 0.012 | -0.10 | 0.5 |" in text
    assert "Differences" not in lab.tables.section({**RECORD, "comparisons": []})


def test_the_pattern_says_what_holds() -> None:
    text = lab.tables.section(RECORD)
    assert lines_of(text, "| a ") == ["| a claim | yes |", "| a wrong one | **no** |", "| a later one | not measured |"]


def test_rows_stand_under_the_file_they_were_tested_on() -> None:
    record = copy.deepcopy(RECORD)
    record["rows"].append({**record["rows"][0], "name": "Czech", "tests": {"cs_x": SCORES, "cs_y": SCORES}})
    text = lab.tables.section(record)
    assert len(lines_of(text, "| MIRA | 88")) == 1
    assert len(lines_of(text, "| Czech")) == 2
    assert text.index("`en_ewt-test`") < text.index("`cs_x`") < text.index("`cs_y`")


def test_a_quick_trial_says_that_it_is_no_result() -> None:
    record = {**RECORD, "settings": {**RECORD["settings"], "quick": True}}
    assert "not a result" in lab.tables.section(record)
    assert "not a result" not in lab.tables.section(RECORD)


def test_several_commits_are_all_named() -> None:
    record = {**RECORD, "commits": ["0123456789abcdef", "fedcba9876543210"]}
    assert "The runs are of several commits: `0123456789ab`, `fedcba987654`." in lab.tables.section(record)
    assert "several" not in lab.tables.section(RECORD)


@pytest.mark.parametrize("number", [1, 2])
def test_the_script_prints_a_page_of_all_files(tmp_path: Path, number: int) -> None:
    files = [tmp_path / f"{place}.json" for place in range(number)]
    for file in files:
        file.write_text(json.dumps(RECORD), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(EXPERIMENTS / "tables.py"), *map(str, files)],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8", "PATH": ""},
    )
    assert done.stdout.startswith("# Experiments\n\nMade by `python experiments/tables.py`")
    assert done.stdout.count("## A trial") == number
    assert "Measured 2026-01-02 at commit `0123456789ab` on Test CPU, 2 cores, Linux; python 3.11.1." in done.stdout
