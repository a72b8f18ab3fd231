"""``treetune nlf``: trees to expressions and back, training and mapping, scores, and faults by text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import run, stop_after

import treetune
from treetune.corpus.treebank import read_trees, write_trees
from treetune.models.mapper import Mapper
from treetune.sample import generate
from treetune.semantics import from_ud, parse_expression
from treetune.semantics.meanings import read_meanings

PAIR = '{"words": ["The", "cat", "sees", "the", "dog", "."], "nlf": "[sees, cat.The, dog.the]"}\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A treebank, its sentences as JSON lines, and a mapper that was trained on it."""
    made = tmp_path_factory.mktemp("nlf")
    items = list(generate(110, seed=1))
    write_trees(items[:80], made / "train.conllu")
    write_trees(items[80:], made / "dev.conllu")
    done = run(
        "nlf", "train", made / "train.conllu", "--dev", made / "dev.conllu", "--model", made / "m.treetune",
        "--epochs", 2,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "80 sentences" in done.err
    return made


def test_convert_writes_every_format(folder: Path, tmp_path: Path) -> None:
    source = folder / "dev.conllu"
    wanted = [str(from_ud(one.sentence, one.gold)) for one in read_trees(source)]
    assert run("nlf", "convert", source).out.splitlines() == wanted
    for name in ("a.nlf", "a.jsonl", "a.conllu"):
        assert run("nlf", "convert", source, "-o", tmp_path / name, "-q").code == 0
    assert (tmp_path / "a.nlf").read_text("utf-8").splitlines() == wanted
    for name in ("a.jsonl", "a.conllu"):
        assert [str(one.expression) for one in read_meanings(tmp_path / name)] == wanted
    indented = run("nlf", "convert", source, "--format", "indented").out.split("\n\n")[:-1]
    assert [str(parse_expression(one)) for one in indented] == wanted


def test_encode_and_decode(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(PAIR, "utf-8")
    done = run("nlf", "encode", tmp_path / "a.jsonl", "-o", tmp_path / "a.conllu")
    assert done.code == 0, done.err
    (tree,) = (one.gold for one in read_trees(tmp_path / "a.conllu"))
    assert tree.heads == (-1, 2, 3, 0, 5, 3, 5)
    assert tree.labels == ("", "*.", "-*1", "[*0", "*.", "-*2", "punct")
    decoded = run("nlf", "decode", tmp_path / "a.conllu")
    assert (decoded.out, "warning" in decoded.err) == ("[sees, cat.The, dog.the]\n", False)
    ud = (tmp_path / "a.conllu").read_text("utf-8").replace("\t*.\t", "\tdet\t")
    warned = run("nlf", "decode", "-", stdin=ud)
    assert (
        "warning: 2 of 6 words have labels that no expression is encoded by, as 'det', and are joined by %; UD trees "
        "are converted by 'treetune nlf convert'"
    ) in warned.err


def test_sentences_that_are_not_covered_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("(FRAG (NP (NN cat)) (X (SYM x))) (NP (NN dog))", "utf-8")
    assert run("nlf", "convert", tmp_path / "a.mrg").out == "cat%x\ndog\n"
    assert run("nlf", "convert", tmp_path / "a.mrg", "--covered").out == "dog\n"


def test_a_trained_mapper_maps_sentences_and_text(folder: Path, tmp_path: Path) -> None:
    mapper = Mapper(treetune.load(folder / "m.treetune"))
    assert mapper.is_direct
    sentences = [one.sentence for one in read_trees(folder / "dev.conllu")]
    wanted = [str(one) for one in mapper.map(sentences)]
    assert run("nlf", "map", folder / "m.treetune", folder / "dev.conllu").out.splitlines() == wanted
    assert run("nlf", "map", folder / "m.treetune", folder / "dev.conllu", "-o", tmp_path / "a.jsonl").code == 0
    assert [json.loads(line)["nlf"] for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()] == wanted
    assert run("nlf", "map", folder / "m.treetune", folder / "dev.conllu", "-o", tmp_path / "a.conllu").code == 0
    assert [one.gold for one in read_trees(tmp_path / "a.conllu")] == [
        one.encoded for one in mapper.meanings(sentences)
    ]
    tokens = "\n".join(" ".join(one.forms[1:]) for one in sentences)
    assert run("nlf", "map", folder / "m.treetune", "-", "--read", "tokens", stdin=tokens).out.splitlines() == wanted
    assert run("info", folder / "m.treetune").code == 0
    assert len(run("nlf", "map", folder / "m.treetune", "-", "--read", "text", stdin="The cat sees it.").out) > 5


def test_a_tokenizer_is_for_a_model_without_one(folder: Path) -> None:
    result = run("nlf", "map", "-", "--tokenizer", "nosuch", stdin="The cat sees it.")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: --tokenizer is for a model without a tokenizer, and en has one; leave it out\n"
    mapper = folder / "m.treetune"
    result = run("nlf", "map", mapper, "-", "--read", "text", "--tokenizer", mapper, stdin="The cat sees it.")
    assert (result.code, result.err) == (
        2,
        f"error: --tokenizer: {mapper} has no tokenizer; name a pipeline with one\n",
    )


def test_evaluate_scores_files_and_models(folder: Path, tmp_path: Path) -> None:
    run("nlf", "map", folder / "m.treetune", folder / "dev.conllu", "-o", tmp_path / "a.conllu")
    scores = [
        json.loads(run("nlf", "evaluate", folder / "dev.conllu", other, "--json").out)
        for other in (folder / "m.treetune", tmp_path / "a.conllu", folder / "dev.conllu")
    ]
    assert scores[0] == scores[1]
    assert 40 < scores[0]["accuracy"] <= scores[0]["heads"] <= 100
    assert scores[2]["exact"] == scores[2]["accuracy"] == 100
    shown = run("nlf", "evaluate", folder / "dev.conllu", folder / "dev.conllu", "--covered")
    assert shown.out.splitlines()[0] == "accuracy  100.00"


def test_an_interrupted_training_is_resumed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "m.treetune"
    arguments = ("train", folder / "train.conllu", "--dev", folder / "dev.conllu", "--model", model, "--epochs", 2)
    with monkeypatch.context() as patch:
        stop_after(patch, 1, KeyboardInterrupt())
        done = run("nlf", *arguments, "-q")
    assert (done.code, done.err) == (
        130,
        f"interrupted: {model} was not written; 1 of 2 epochs are in {model}.checkpoint; "
        "the same command with --resume continues from there\n",
    )
    done = run("nlf", *arguments)
    assert done.err == (
        f"error: {model}.checkpoint is of a training that was interrupted; add --resume to continue it, or remove it\n"
    )
    done = run("nlf", *arguments, "--covered", "--labels", 5, "--resume", "-q")
    assert done.err.startswith(f"error: the checkpoint {model}.checkpoint is of a training with other data or options")
    assert run("nlf", *arguments, "--resume", "-q").code == 0
    assert model.read_bytes() == (folder / "m.treetune").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.treetune"]


@pytest.mark.slow
def test_a_mapper_can_be_trained_from_pairs_by_other_parsers(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(PAIR * 3, "utf-8")
    for name, parser in (("graph", ["--parser", "graph"]), ("beam", ["--beam", "2", "--align", "--labels", "9"])):
        model = tmp_path / f"{name}.treetune"
        done = run("nlf", "train", tmp_path / "a.jsonl", "--model", model, "--epochs", 2, *parser)
        assert done.code == 0, done.err
        assert run("nlf", "evaluate", tmp_path / "a.jsonl", model).out.startswith("accuracy  100.00")


@pytest.mark.slow
def test_extrinsic_training_with_the_loss(folder: Path, tmp_path: Path) -> None:
    run("nlf", "convert", folder / "train.conllu", "-o", tmp_path / "train.conllu")
    done = run(
        "train", tmp_path / "train.conllu", "--also", f"nlf:{tmp_path / 'train.conllu'}", "--beam", 2, "--epochs", 3,
        "--model", tmp_path / "m.treetune", "--set", "model.inputs=[]", "-q",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert Mapper(treetune.load(tmp_path / "m.treetune")).is_direct


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["convert", "@IN", "--format", "svg"],
         "unknown format of expressions 'svg'; known: conllu, indented, json, text"),
        (["map", "a", "b", "c"], "expected MODEL and IN, or IN alone, found 3 arguments: a b c"),
        (["map", "en"], "en is a model, and there is nothing to map; add a file or -"),
        (["train", "-", "--model", "m"], "TRAIN and DEV are read as files, by their suffix; - is not one"),
        (["evaluate", "@IN", "@OTHER"], "@OTHER: expected 2 sentences, as in @IN, found 1"),
        (["train", "@UNCOVERED", "--covered", "--model", "m.treetune"],
         "expected at least one sentence to train on in @UNCOVERED, found none"),
    ],
)  # fmt: skip
def test_faults_are_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    names = {"@IN": tmp_path / "in.jsonl", "@OTHER": tmp_path / "other.jsonl", "@UNCOVERED": tmp_path / "un.jsonl"}
    names["@IN"].write_text(PAIR * 2, "utf-8")
    names["@OTHER"].write_text(PAIR, "utf-8")
    names["@UNCOVERED"].write_text('{"words": ["a", "b"], "nlf": "a%b"}', "utf-8")
    done = run("nlf", *(str(names.get(one, one)) for one in arguments))
    for name, path in names.items():
        message = message.replace(name, str(path))
    assert done.code != 0
    assert done.err == f"error: {message}\n"


def test_rules_make_the_meaning_of_a_plain_pipeline(tmp_path: Path) -> None:
    done = run("nlf", "map", "-", stdin="Chirpy bought two old companies in 2002.")
    assert done.out == "[bought:[in, ^, 2002], Chirpy, companies.two:old]\n", done.err
