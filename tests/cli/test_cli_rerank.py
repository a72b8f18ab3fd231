"""``treetune rerank`` through its entry point: weights chosen and given, what is written, faults."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from commandline import run

import treetune
from pipeline_samples import TEXT, small_pipeline
from treetune import storage
from treetune.corpus import write_conllu
from treetune.models.pipeline import Pipeline
from treetune.models.reranker import Reranker
from treetune.sample import generate


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models and development data."""
    path = tmp_path_factory.mktemp("rerank")
    write_conllu(generate(40, seed=1), path / "train.conllu")
    write_conllu(generate(15, seed=2), path / "dev.conllu")
    for name in ("transition", "backward"):
        options = ("--parser", name, "--beam", 2, "--epochs", 1, "-q")
        assert run("train", path / "train.conllu", "--model", path / name, *options).code == 0
    return path


def test_the_weight_is_chosen_on_dev_and_both_are_in_the_model(folder: Path, tmp_path: Path) -> None:
    parts = (folder / "transition", folder / "backward")
    result = run("rerank", *parts, "--model", tmp_path / "m", "--dev", folder / "dev.conllu", "--k", 4)
    assert (result.code, result.out) == (0, "")
    *lines, last = result.err.splitlines()
    assert last.startswith(f"wrote {tmp_path / 'm'}, ")
    assert [line.split()[1] for line in lines] == ["0.25", "0.5", "0.75", "1", "1.5", "2", "3"]
    assert sum(line.endswith("best") for line in lines) == 1
    parser = treetune.load(tmp_path / "m")
    assert isinstance(parser, Reranker)
    assert parser.k == 4
    assert next(line for line in lines if line.endswith("best")).split()[1] == f"{parser.weight:g}"
    assert storage.inspect(tmp_path / "m").info["reranker"]["weight"] == parser.weight
    parsed = run("parse", tmp_path / "m", folder / "dev.conllu")
    assert parsed.code == 0
    assert parsed.out != run("parse", parts[0], folder / "dev.conllu").out


def test_weight_and_length_of_lists_can_be_given(folder: Path, tmp_path: Path) -> None:
    parts = (folder / "transition", folder / "backward")
    for options, expected in (((), (1.0, 16)), (("--weight", 0.5, "--k", 3, "-q", "--threads", 2), (0.5, 3))):
        result = run("rerank", *parts, "--model", tmp_path / "m", *options)
        assert (result.code, result.out) == (0, "")
        assert result.err.startswith("wrote ") != ("-q" in options)
        parser = treetune.load(tmp_path / "m")
        assert isinstance(parser, Reranker)
        assert (parser.weight, parser.k) == expected


def test_faults(folder: Path, tmp_path: Path) -> None:
    parts = (folder / "transition", folder / "backward")
    both = ("--dev", folder / "dev.conllu", "--weight", 2)
    result = run("rerank", *parts, "--model", tmp_path / "m", *both)
    assert (result.code, result.err) == (2, "error: --dev tunes the reranker weight; leave --weight out\n")
    result = run("rerank", parts[0], tmp_path / "none", "--model", tmp_path / "m")
    assert (result.code, result.err) == (
        1,
        f"error: cannot read the model {tmp_path / 'none'}: there is no such file\n",
    )
    result = run("rerank", *parts, "--model", tmp_path / "m", "--weight", 0)
    assert (result.code, result.err) == (2, "error: weight must be a number above 0, found 0\n")
    assert not (tmp_path / "m").exists()


def test_of_pipelines_the_parsers_are_combined_and_the_main_one_stays_a_pipeline(folder: Path, tmp_path: Path) -> None:
    whole = small_pipeline()
    treetune.save(whole, tmp_path / "perceptron")
    assert whole.parser is not None
    treetune.save(whole.parser, tmp_path / "parser")
    untagged = [replace(example, sentence=example.sentence.without("upos", "xpos")) for example in generate(15, seed=2)]
    write_conllu(untagged, tmp_path / "untagged.conllu")

    def combined(base: str, second: str, dev: Path) -> list[str]:
        result = run("rerank", tmp_path / base, tmp_path / second, "--model", tmp_path / "m", "--dev", dev)
        assert result.code == 0
        return [line for line in result.err.splitlines() if line.startswith("weight")]

    tried = combined("perceptron", "parser", folder / "dev.conllu")
    made = treetune.load(tmp_path / "m")
    assert list(made.parts) == ["tokenizer", "tagger", "parser"]
    assert isinstance(made.parser, Reranker)
    # A parser that reranks by itself changes nothing.
    assert made(TEXT) == whole(TEXT)
    # The weight is chosen on the tags that the pipeline gives, whatever is in the file.
    assert combined("perceptron", "parser", tmp_path / "untagged.conllu") == tried
    assert combined("parser", "parser", tmp_path / "untagged.conllu") != tried
    combined("parser", "perceptron", folder / "dev.conllu")
    assert isinstance(treetune.load(tmp_path / "m"), Reranker)


def test_only_parsers_are_combined(folder: Path, tmp_path: Path) -> None:
    whole = small_pipeline()
    treetune.save(whole.taggers[0], tmp_path / "tags")
    treetune.save(Pipeline(whole.tokenizer, whole.taggers), tmp_path / "text")
    for name, kind in (("tags", "tagger"), ("text", "pipeline without one")):
        for parts in ((tmp_path / name, folder / "backward"), (folder / "transition", tmp_path / name)):
            result = run("rerank", *parts, "--model", tmp_path / "m")
            assert (result.code, result.out) == (2, "")
            assert result.err == f"error: {tmp_path / name}: expected a model with a parser, found a {kind}\n"
    assert not (tmp_path / "m").exists()
