"""`treetune calibrate`, `treetune parse --confidence` and `treetune evaluate --confidence`, one after the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import run

import treetune
from pipeline_samples import small_pipeline
from treetune.corpus.document import Document
from treetune.corpus.treebank import write_trees
from treetune.sample import generate
from treetune.storage import inspect


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_trees(generate(80, seed=31), "dev.conllu")
    write_trees(generate(60, seed=32), "gold.conllu")
    treetune.save(small_pipeline(), "m.treetune", {"licence": "CC0"})
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_confidence_from_calibration_to_its_error() -> None:
    made = run("calibrate", "m.treetune", "dev.conllu", "--model", "c.treetune")
    assert (made.code, made.err.partition(" error on")[0]) == (0, "wrote c.treetune, expected calibration")
    info = inspect("c.treetune").info
    assert (info["licence"], info["calibration"]["dev"]["name"]) == ("CC0", "dev.conllu")
    assert run("parse", "c.treetune", "gold.conllu", "-o", "out.conllu", "--confidence", "-q").err == ""
    document = Document.from_conllu("out.conllu")
    values = [word.confidence for sentence in document for word in sentence]
    assert all(value is not None and 0 < value < 1 for value in values)
    text = run("evaluate", "gold.conllu", "out.conllu", "--confidence").out
    content = json.loads(run("evaluate", "gold.conllu", "out.conllu", "--confidence", "--json").out)
    found = content["predicted"]["confidence"]
    assert f"ECE = {100 * found['ECE']:.2f}" in text
    assert found["words"] == len(values) == sum(one["words"] for one in found["bins"])
    assert found["ECE"] < 0.2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("parse", "m.treetune", "gold.conllu", "--confidence"), 1,
         "this parser is not calibrated, so that its confidence means nothing; see 'treetune calibrate'"),
        (("parse", "m.treetune", "gold.conllu", "--confidence", "--format", "conllx"), 2,
         "--confidence needs MISC, and CoNLL-X has none; write CoNLL-U instead"),
        (("parse", "m.treetune", "gold.conllu", "--confidence", "--k-best", "2"), 2,
         "--confidence is about the best tree, --k-best writes others too; leave one of them out"),
        (("evaluate", "gold.conllu", "gold.conllu", "--confidence"), 1,
         "gold.conllu: sentence 1: word 1: expected confidence=… in MISC, found none"),
        (("calibrate", "m.treetune", "dev.conllu", "--model", "dev.conllu"), 2,
         "--model would replace dev.conllu, which is read; give another name"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(arguments: tuple[str, ...], code: int, message: str) -> None:
    result = run(*arguments)
    assert (result.code, result.err) == (code, f"error: {message}\n")


@pytest.mark.usefixtures("folder")
def test_other_models_cannot_be_calibrated() -> None:
    treetune.save(small_pipeline().taggers[0], "t.treetune")
    result = run("calibrate", "t.treetune", "dev.conllu", "--model", "c.treetune")
    assert (result.code, result.err) == (
        2,
        "error: t.treetune has no parser, expected one that keeps a calibration\n",
    )
    refused = run("parse", "t.treetune", "dev.conllu", "--confidence")
    assert (refused.code, refused.err) == (
        2,
        "error: t.treetune has no parser, and no use for --confidence; leave it out\n",
    )
