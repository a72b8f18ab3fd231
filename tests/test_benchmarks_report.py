"""The page of `benchmarks/`: from made-up results, and that of the repository from the stored ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__, report
from benchmarks.__main__ import PAGE

ORIGIN = {
    "commit": "0123456789abcdef",
    "dirty": False,
    "date": "2026-01-02",
    "versions": {"python": "3.11.1", "numpy": "2.0"},
    "machine": {"cpu": "Test CPU", "cores": 2, "system": "Linux"},
}


def summary(mean: float, interval: float = 0.5, repeats: int = 2) -> dict[str, Any]:
    return {"mean": mean, "interval95": interval, "raw": [mean] * repeats}


COMPARE: dict[str, Any] = {
    "benchmark": "compare",
    **ORIGIN,
    "settings": {
        "test": "ud/x.conllu",
        "limit": None,
        "sentences": 20,
        "words": 1234,
        "repeats": 2,
        "file_to_file": "all of it",
    },
    "systems": [
        {
            "name": "treetune beam 8",
            "sees": "words, UPOS, XPOS",
            "peak_rss_mb": 180.4,
            "model_mb": 12.34,
            "training": {"cpu_seconds": 90.0},
            "scores": {"UAS": 90.126, "LAS": 87.5, "LAS_without_subtypes": 88.0},
            "official_scores": {"UAS": 90.126, "LAS": 88.0},
            "single_root_trees": 19,
            "parse": {"words_per_cpu_second": summary(40000.4, 123.4)},
            "file_to_file": {"words_per_cpu_second": summary(30000.0, 99.9)},
        }
    ],
    "ratios": {
        kind: [{"faster": "treetune beam 8", "than": "UDPipe beam 5", "times": summary(times, 0.123)}]
        for kind, times in (("file_to_file", 4.567), ("parse", 5.432))
    },
}
RAW_TEXT: dict[str, Any] = {
    "benchmark": "raw_text",
    **ORIGIN,
    "settings": {"test": "ud/x.conllu", "words": 1234, "repeats": 2, "threads": 1},
    "model": {"mb": 9.87, "info": {}},
    "stages": {"tokenizer": summary(400000.0), "tagger": summary(200000.0), "parser": summary(30000.0)},
    "load_cpu_seconds": summary(0.51, 0.02),
    "command_cpu_seconds": summary(1.51, 0.03),
    "systems": {
        "treetune": {"test": {"Words": 98.765, "LAS": 81.5}, "conllu_words_per_cpu_second": summary(22000.0, 10.0)},
        "UDPipe": {"test": {"Words": 98.1, "LAS": 76.5}, "conllu_words_per_cpu_second": summary(4000.0, 10.0)},
    },
    "times_as_fast": summary(5.5, 0.1),
}
TRAINING: dict[str, Any] = {
    "benchmark": "training",
    **ORIGIN,
    "dirty": True,
    "settings": {"beam": 8, "epochs": 10, "train": "ud/t.conllu"},
    "runs": [
        {
            "settings": {"seed": 7},
            "cpu_minutes": 4.0,
            "memory_mb": 300.0,
            "model_mb": 20.0,
            "dev_UAS": 91.0,
            "dev_LAS": 88.0,
            "test_UAS": 90.0,
            "test_LAS": 87.123,
            "test_LAS_without_subtypes": 88.5,
        }
    ],
    "mean": {
        column: summary(1.25, repeats=1)
        for column in (
            "cpu_minutes",
            "memory_mb",
            "model_mb",
            "dev_UAS",
            "dev_LAS",
            "test_UAS",
            "test_LAS",
            "test_LAS_without_subtypes",
        )
    },
}
VERSIONS: dict[str, Any] = {
    "benchmark": "versions",
    **ORIGIN,
    "settings": {"test": "ud/x.conllu", "words": 1234, "repeats": 2, "old": "fedcba9876543210"},
    "parsers": [
        {
            "name": "treetune graph",
            "old": summary(17000.4, 99.6),
            "new": summary(25000.0, 100.0),
            "times": summary(1.456, 0.01),
        }
    ],
}
STARTUP: dict[str, Any] = {
    "benchmark": "startup",
    **ORIGIN,
    "settings": {"command": "treetune parse -", "repeats": 2},
    "load_before": 0.25,
    "commands": {
        "first parse": {
            "wall_seconds": summary(5.432, 0.1),
            "cpu_seconds": summary(9.876, 0.1),
            "peak_rss_mb": summary(345.6, 1.2),
        }
    },
}
EARLIER: dict[str, Any] = {
    "benchmark": "earlier",
    "title": "Other parsers",
    "about": "Measured earlier.",
    "figures": [{"what": "first speed", "peers": {"X, order 1": 280, "Y": 3600}}],
}


def test_markdown_has_a_rule_and_one_cell_a_column() -> None:
    assert report.markdown(("a", "b"), [("x", "1")]) == "| a | b |\n| :-- | --: |\n| x | 1 |"


def test_comparison_shows_scores_speed_and_ratio() -> None:
    text = report.compare_table(COMPARE)
    row = next(line for line in text.splitlines() if line.startswith("| treetune beam 8"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == [
        "treetune beam 8",
        "words, UPOS, XPOS",
        "90.13",
        "87.50",
        "88.00",
        "19 of 20",
        "30,000 ± 100",
        "40,000 ± 123",
        "180",
        "12.3",
        "1.5",
    ]
    assert (
        "* treetune beam 8 parses 4.57 ± 0.12 times as fast as UDPipe beam 5 from file to file; "
        "the parse alone 5.43 ± 0.12 times." in text
    )
    assert "File to file: all of it." in text
    assert "1,234 words" in text


def test_raw_text_shows_scores_and_speed_of_both() -> None:
    text = report.raw_text_table(RAW_TEXT)
    assert "| system | Words | LAS | words per CPU-s, text to CoNLL-U |" in text
    assert "| treetune | 98.77 | 81.50 | 22,000 ± 10 |" in text
    assert "treetune is 5.50 ± 0.10 times as fast as UDPipe." in text
    assert "tokenizer 400,000 ± 0, tagger 200,000 ± 0, parser 30,000 ± 0." in text
    assert "9.9 MB and is ready after 0.51 ± 0.02 CPU-s; a whole command on one sentence takes 1.51 ± 0.03." in text
    alone = {key: value for key, value in RAW_TEXT.items() if key != "times_as_fast"}
    assert "times as fast" not in report.raw_text_table(alone)


def test_a_trial_on_part_of_the_file_says_so() -> None:
    settings = {**COMPARE["settings"], "limit": 20}
    assert "first 20 sentences" in report.compare_table({**COMPARE, "settings": settings})
    assert "first" not in report.compare_table(COMPARE)


def test_unknown_training_time_is_left_empty() -> None:
    system = {**COMPARE["systems"][0], "training": {"cpu_seconds": None}}
    assert report.compare_table({**COMPARE, "systems": [system]}).splitlines()[4].endswith("|  |")


def test_one_repeat_has_no_interval() -> None:
    assert report.spread(summary(2.0, repeats=1), 1) == "2.0"


def test_training_has_a_mean_for_each_parser_and_a_row_for_each_seed() -> None:
    learning = {"learner": "mira", "clip": 0.1, "k": 5}
    settings = {**TRAINING["settings"], "parser": "graph2", "beam": None, "features": "own", "learning": learning}
    text = report.training_tables([TRAINING, {**TRAINING, "settings": settings}])
    assert text.startswith("From the file `ud/t.conllu` to the model file")
    assert "| beam 8, features `default`, 10 epochs | 1.25 |" in text
    assert "| `graph2`, features `own`, learner mira, clip 0.1, k 5, 10 epochs | 1.25 |" in text
    assert text.count("| 7 | 4.00 | 300.00 | 20.00 | 91.00 | 88.00 | 90.00 | 87.12 | 88.50 |") == 2
    assert text.index("1.25") < text.index("<summary>Each seed</summary>") < text.index("4.00")


def test_versions_show_both_speeds_and_how_they_differ() -> None:
    text = report.versions_table(VERSIONS)
    assert "commit `fedcba987654` and the one below" in text
    assert "| treetune graph, parsing | 17,000 ± 100 | 25,000 ± 100 | 1.46 ± 0.01 |" in text
    assert "training" not in text
    trained = {"old": summary(1000.0), "new": summary(1100.0), "times": summary(1.1, 0.02)}
    both = report.versions_table({**VERSIONS, "parsers": [{**VERSIONS["parsers"][0], "training": trained}]})
    assert "| treetune graph, training | 1,000 ± 0 | 1,100 ± 0 | 1.10 ± 0.02 |" in both


def test_earlier_figures_stand_beside_each_other() -> None:
    assert report.section(EARLIER).endswith(
        "Measured earlier.\n\n|  | measured earlier |\n| :-- | --: |\n| first speed | X, order 1: 280; Y: 3,600 |"
    )


def test_a_page_orders_sections_and_names_their_origin() -> None:
    page = report.page([STARTUP, TRAINING, EARLIER, VERSIONS, COMPARE, RAW_TEXT])
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## From raw text",
        "## Compared with other parsers",
        "## Before and now",
        "## Other parsers",
        "## Training",
        "## Start-up",
    ]
    assert "| first parse | 5.43 ± 0.10 | 9.88 ± 0.10 | 346 ± 1 |" in page
    assert "The load average before was 0.2 on 2 cores" in page
    assert "commit `0123456789ab` on Test CPU, 2 cores" in page
    assert "commit `0123456789ab` with local changes" in page


def test_every_table_of_measured_speed_says_from_where_to_where() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for section in page.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        if "measured earlier" not in title and title != "The order of questions":
            measured = ("memory", "file to file", "the model file", "from request to response")
            assert any(words in text for words in measured), title


def test_the_page_of_the_docs_is_made_from_the_stored_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "benchmarks.md"
    monkeypatch.setattr(__main__, "PAGE", made)
    monkeypatch.setattr(__main__, "HERE", tmp_path / "benchmarks")
    __main__.main(["report"])
    assert made.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    assert capsys.readouterr().err == f"wrote {made}\n"


def test_taggers_have_scores_and_whoever_was_only_timed_has_a_speed() -> None:
    record = {
        "benchmark": "tagging",
        **ORIGIN,
        "train": "train.conllu",
        "epochs": 7,
        "runs": {"ours": [{}, {}]},
        "mean": {"ours": {"test_UPOS": summary(95.25), "model_mb": summary(3.1)}},
        "words_per_cpu_second": {"ours": summary(150_000), "theirs": summary(10_000)},
    }
    ours, theirs = report.tagging_table(record).splitlines()[-2:]
    assert ours == "| ours |  |  | 95.25 ± 0.50 |  |  |  |  |  | 3.10 ± 0.50 |  | 150,000 ± 0 |"
    assert theirs == "| theirs |" + "  |" * 10 + " 10,000 ± 0 |"
    assert report.section(record).startswith("## Taggers\n\nTrained on `train.conllu`, gold tokens, 7 epochs")


def test_word_order_beside_parsing() -> None:
    record = {
        "benchmark": "reordering",
        **ORIGIN,
        "words_per_cpu_second": {"parse": summary(29000.4), "parse and reorder": summary(27600.0)},
        "share_of_parsing_speed": summary(0.9512),
    }
    text = report.section(record)
    assert text.startswith("## Word order\n")
    assert "| parse and reorder / parse | 95.1 % |" in text


def test_the_trainer_beside_a_bare_loop() -> None:
    record = {
        "benchmark": "overhead",
        **ORIGIN,
        "sentences": 1500,
        "trainer_to_bare_loop": {"median": 0.991, "raw": [0.9, 0.991, 1.0]},
        "objective_to_treebank": {"median": 1.204, "raw": [1.204]},
    }
    text = report.section(record)
    assert "on 1,500 sentences, interleaved, the median of 3 rounds." in text
    assert "of a bare loop over the same sentences | 0.99 |" in text
    assert "a word of the treebank | 1.20 |" in text


def test_a_large_uptraining_has_its_time_memory_and_accuracy() -> None:
    record = {
        "benchmark": "uptraining",
        **ORIGIN,
        "settings": {"sentences": 100_000, "epochs": 5, "beam": 8},
        **{"cpu_seconds": 630.0, "peak_rss_mb": 1400.0, "model_mb": 30.25, "test_UAS": 88.0, "test_LAS": 84.04},
    }
    text = report.section(record)
    assert "on 100,000 parsed sentences of AMALGUM alone, without a treebank, 5 epochs, beam 8" in text
    assert "| 10.5 | 1,400.0 | 30.2 | 88.0 | 84.0 |" in text


def test_treebanks_are_shown_with_every_system() -> None:
    found: dict[str, Any] = {"test": {"Words": 99.5, "MLAS": 61.234}, "words_per_cpu_second": summary(30000.0, 500.0)}
    trained = {**found, "training": {"cpu_seconds": 90.0}}
    record = {"settings": {"repeats": 3}, "treebanks": {"xx_one": {"treetune": trained, "UDPipe": found}}}
    lines = report.treebanks_table(record).splitlines()
    assert lines[2] == "| treebank | system | Words | MLAS | words per CPU-s | training (CPU-min) |"
    assert lines[4] == "| xx_one | treetune | 99.50 | 61.23 | 30,000 ± 500 | 1.5 |"
    assert lines[5].endswith("| 30,000 ± 500 | – |")
    assert len(lines) == 6
    trained["speed_commit"] = "0" * 40
    assert "The speeds of xx_one are those of earlier models" in report.treebanks_table(record)


def test_arc_filters_are_shown_beside_no_filter() -> None:
    one = {"words per CPU-second": 30000.4, "speed-up": 2.0, "UAS": 0.9, "LAS": 0.8765}
    part = {
        "sentences": 5,
        "words": 100,
        "systems": {"no filter": {**one, "speed-up": 1.0}, "P1": {**one, "p of LAS": 0.3}},
    }
    made = {"keep_cost": 0.1, "remove_cost": 7e-05, "coverage": 99.764, "reduction": 71.66, "seconds": 1.0}
    record = {
        "treebank": "xx_one", "rounds": 5, "parsers": {"graph": {"training": {}, "all": part}}, "filters": {"P1": made}
    }  # fmt: skip
    lines = report.arc_filters_table(record).splitlines()
    assert lines[4] == "| graph | all | no filter |  |  |  | 87.65 | 30,000 | 1.00 |  |"
    assert lines[5] == "| graph | all | P1 | 7e-05 | 99.76 | 71.7 | 87.65 | 30,000 | 2.00 | 0.30 |"
