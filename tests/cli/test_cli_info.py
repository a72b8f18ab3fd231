"""``treetune info``: what a model file says, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import run

import treetune
from stub_parser import trained
from treetune import storage
from treetune.config import Config


@pytest.fixture
def model(tmp_path: Path) -> Path:
    # Not in the table of models: looking into a file needs no class.
    path = tmp_path / "m.treetune"
    info = {
        "licence": "CC BY-SA 4.0",
        "scores": {"LAS": 0.87512345},
        "training": {
            "seed": 5,
            "quick": True,
            "note": None,
            "files": [{"name": "a"}],
            "few": [1, 2],
            "many": list(range(99)),
        },
    }
    storage.save(trained(), path, info)
    return path


def test_text(model: Path) -> None:
    result = run("info", model)
    assert (result.code, result.err) == (0, "")
    rows = dict(line.split("  ", 1) for line in result.out.strip().split("\n"))
    assert {name: value.strip() for name, value in rows.items()} == {
        "kind": "stub",
        "treetune": f"{treetune.__version__} (model format 2)",
        "size": f"{model.stat().st_size / 1e6:,.2f} MB, 100 values",
        "labels (2)": "dep root",
        "config.beam": "8",
        "config.features": "default",
        "licence": "CC BY-SA 4.0",
        "scores.LAS": "0.875123",
        "training.few": "1 2",
        "training.files": "(1 entries)",
        "training.many": "(99 entries)",
        "training.note": "none",
        "training.quick": "yes",
        "training.seed": "5",
    }


def test_one_screen_unless_all_is_asked_for(tmp_path: Path) -> None:
    storage.save(trained(), tmp_path / "model", {f"row{number}": "x" * 300 for number in range(40)})
    lines = run("info", tmp_path / "model").out.splitlines()
    everything = run("info", tmp_path / "model", "--all").out.splitlines()
    assert (len(lines), len(everything)) == (23, 46)
    assert lines[:4] == everything[:4]
    assert lines[-1] == "… 24 more lines: --all"
    assert max(map(len, lines)) == 160


def test_json(model: Path) -> None:
    result = run("info", model, "--json")
    assert (result.code, result.err) == (0, "")
    content = json.loads(result.out)
    assert content == {
        "format": 2,
        "treetune": treetune.__version__,
        "kind": "stub",
        "file_size": model.stat().st_size,
        "parameters": 100,
        "labels": ["dep", "root"],
        "config": {"beam": 8, "features": "default", "labels": ["dep", "root"]},
        "tensors": {"weights": {"dtype": "float32", "shape": [100]}},
        "info": storage.inspect(model).info,
    }


def test_a_damaged_file_is_one_line(model: Path) -> None:
    model.write_bytes(model.read_bytes()[:-1])
    result = run("info", model)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"error: {model} is truncated: ")
    assert result.err.count("\n") == 1


def test_the_model_of_the_package_gives_its_configuration(tmp_path: Path) -> None:
    result = run("info", "en", "--config")
    assert (result.code, result.err) == (0, "")
    (tmp_path / "again.toml").write_text(result.out)
    config = Config.read(tmp_path / "again.toml")
    assert (config.model.task, config.train.treebank) == ("pipeline", "en_ewt-train.conllu")
