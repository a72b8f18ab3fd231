"""Taggers and NER models through the command line: train, tag, evaluate, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_samples import column
from commandline import run, sets

import treetune
from stub_parser import StubParser, stub_model_fixture
from treetune.corpus import read_iob, read_trees, write_conllu, write_iob
from treetune.corpus.sentence import Example, Sentence
from treetune.corpus.tags import Tagged, Tags
from treetune.sample import generate
from treetune.storage import inspect

__all__ = ["stub_model_fixture"]

PEOPLE, PLACES = ("Ada", "Bob", "Eve", "Max"), ("Rome", "Oslo", "Lima", "Kiev")


def entities(count: int, *, start: int = 0) -> list[Tagged]:
    """Sentences in which people go to places."""
    found = []
    for number in range(start, start + count):
        words = [PEOPLE[number % 4], "Smith", "went", "to", PLACES[number // 4 % 4], "again" if number % 3 else "."]
        found.append(Tagged(Sentence.of(words), Tags.of(["B-PER", "I-PER", "O", "O", "B-LOC", "O"])))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, a tagger of two columns and a NER model, all by the command line."""
    place = tmp_path_factory.mktemp("tag")
    for name, seed, count in (("train", 1, 150), ("dev", 2, 30)):
        write_conllu(generate(count, seed=seed), place / f"{name}.conllu")
    write_iob(entities(40), place / "train.iob2")
    write_iob(entities(10, start=40), place / "dev.iob2")
    tagger = ("--task", "tag", *sets("model.columns=upos,xpos"), "--epochs", 3, "--model", place / "tags.treetune")
    done = run("train", place / "train.conllu", "--dev", place / "dev.conllu", *tagger)
    assert (done.code, done.out) == (0, "")
    assert "UPOS" in done.err
    words = sets(f"train.tagger={place / 'tags.treetune'}")
    ner = ("--task", "ner", "--epochs", 4, *words, "--model", place / "ner.treetune")
    done = run("train", place / "train.iob2", "--dev", place / "dev.iob2", *ner)
    assert done.code == 0, done.err
    assert "F1 100.00" in done.err
    return place


def test_what_a_tagger_notes(folder: Path) -> None:
    noted = inspect(folder / "tags.treetune").info
    assert noted["config"]["model"]["task"] == "tag"
    assert noted["config"]["model"]["columns"] == ["upos", "xpos"]
    assert "spans" not in noted["config"]["model"]
    assert "projectivize" not in noted["training"]
    assert noted["config"]["train"]["choose_by"] == "accuracy"
    assert noted["scores"]["dev"]["UPOS"] > 0.8
    ner = inspect(folder / "ner.treetune").info
    assert ner["config"]["train"]["tagger"] == "tags.treetune"
    assert ner["training"]["tagger"]["name"] == "tags.treetune"
    assert ner["config"]["train"]["choose_by"] == "F1"


def test_the_stored_configuration_trains_the_same_again(folder: Path, tmp_path: Path) -> None:
    text = run("info", folder / "tags.treetune", "--config").out
    (folder / "again.toml").write_text(text)
    assert run("train", folder / "again.toml", "--model", tmp_path / "again.treetune", "-q").code == 0
    assert (tmp_path / "again.treetune").read_bytes() == (folder / "tags.treetune").read_bytes()


def test_tags_replace_those_of_the_input_and_all_else_stays(folder: Path, tmp_path: Path) -> None:
    given = list(read_trees(folder / "dev.conllu"))
    bare = [Example(example.sentence.without("upos", "xpos"), example.gold) for example in given]
    write_conllu(bare, tmp_path / "bare.conllu")
    done = run("tag", folder / "tags.treetune", tmp_path / "bare.conllu", "-o", tmp_path / "out.conllu")
    assert done.code == 0
    assert done.err.startswith("tagged 30 sentences, ")
    found = list(read_trees(tmp_path / "out.conllu"))
    assert [example.gold for example in found] == [example.gold for example in given]
    model = treetune.load(folder / "tags.treetune")
    assert [example.sentence for example in found] == model.annotate([example.sentence for example in bare])
    threads = run("tag", folder / "tags.treetune", tmp_path / "bare.conllu", "--threads", 2)
    assert threads.out == (tmp_path / "out.conllu").read_text()


def test_of_a_pipeline_the_taggers_are_taken_and_what_has_none_is_refused(
    folder: Path, tmp_path: Path, stub_model: StubParser
) -> None:
    tagger, source = treetune.load(folder / "tags.treetune"), folder / "dev.conllu"
    treetune.save(treetune.Pipeline(taggers=[tagger]), tmp_path / "one")
    assert run("tag", tmp_path / "one", source) == run("tag", folder / "tags.treetune", source)
    treetune.save(treetune.Pipeline(taggers=[tagger, treetune.load(folder / "ner.treetune")]), tmp_path / "two")
    both = run("tag", tmp_path / "two", source)
    assert column(both.out, 3) == column(run("tag", folder / "tags.treetune", source).out, 3)
    assert all("ner=" in cell for cells in column(both.out, 9) for cell in cells)
    assert run("tag", tmp_path / "two", source, "--k-best", 2).err == (
        f"error: --k-best is for models of one tagger, and {tmp_path / 'two'} has tagger1, tagger2; leave it out\n"
    )
    treetune.save(stub_model, tmp_path / "stub")
    result = run("tag", tmp_path / "stub", source)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"error: {tmp_path / 'stub'} is a stub model, expected a tagger; use 'treetune parse' for parsers\n"
    )


def test_tags_are_scored_beside_trees(folder: Path, tmp_path: Path) -> None:
    run("tag", folder / "tags.treetune", folder / "dev.conllu", "-o", tmp_path / "out.conllu", "-q")
    done = run(
        "evaluate", folder / "dev.conllu", tmp_path / "out.conllu", "--by-tag", "--known", folder / "train.conllu"
    )
    assert done.code == 0
    assert "UPOS" in done.out
    assert "taken for" in done.out
    content = json.loads(run("evaluate", folder / "dev.conllu", tmp_path / "out.conllu", "--json").out)
    scores = content["predicted"]["tags"]["scores"]
    assert content["predicted"]["scores"]["LAS"] == 1.0
    assert 0.8 < scores["UPOS"] < 1.0
    same = run("evaluate", folder / "dev.conllu", folder / "dev.conllu").out
    assert "UPOS" not in same
    two = run("evaluate", folder / "dev.conllu", tmp_path / "out.conllu", folder / "dev.conllu")
    assert two.out.count("== a = PREDICTED, b = OTHER") == 2
    counted = json.loads(
        run("evaluate", folder / "dev.conllu", tmp_path / "out.conllu", "--json", "--known", folder / "train.iob2").out
    )
    # Not a word of the sample is in the other file but full stops and "to".
    assert counted["predicted"]["tags"]["scores"]["unknown"] is not None


def test_a_file_without_trees_is_scored_by_its_tags(folder: Path, tmp_path: Path) -> None:
    tree_less = [Example(e.sentence, treetune.Tree.unknown(len(e.sentence))) for e in read_trees(folder / "dev.conllu")]
    write_conllu(tree_less, tmp_path / "gold.conllu")
    run("tag", folder / "tags.treetune", tmp_path / "gold.conllu", "-o", tmp_path / "out.conllu", "-q")
    done = run("evaluate", tmp_path / "gold.conllu", tmp_path / "out.conllu")
    assert "UPOS" in done.out
    assert "LAS" not in done.out


def test_entities_in_and_out(folder: Path, tmp_path: Path) -> None:
    words = tmp_path / "words.iob2"
    words.write_text("Eve\nSmith\nwent\nto\nOslo\n\n")
    model = folder / "ner.treetune"
    done = run("tag", model, words, "--tagger", folder / "tags.treetune")
    tags = [line.split("\t")[-1] for line in done.out.splitlines() if line]
    assert tags == ["B-PER", "I-PER", "O", "O", "B-LOC"]
    run("tag", model, folder / "dev.iob2", "-o", tmp_path / "out.iob2", "--tagger", folder / "tags.treetune", "-q")
    score = run("evaluate", folder / "dev.iob2", tmp_path / "out.iob2", "--by-label").out
    assert score.startswith(f"*|entities:exact|sents:10|v:{treetune.__version__}  (60 words counted)")
    assert "PER" in score
    content = json.loads(run("evaluate", folder / "dev.iob2", tmp_path / "out.iob2", "--json").out)
    assert content["predicted"]["scores"]["F1"] == 1.0
    assert "types" not in content["predicted"]
    # The same as CoNLL-U, where entities are in MISC.
    run("tag", model, folder / "dev.iob2", "-o", tmp_path / "out.conllu", "--tagger", folder / "tags.treetune", "-q")
    text = (tmp_path / "out.conllu").read_text()
    assert column(text, 9)[0] == ["ner=B-PER", "ner=I-PER", "ner=O", "ner=O", "ner=B-LOC", "ner=O"]
    again = run("evaluate", tmp_path / "out.conllu", tmp_path / "out.conllu", "--entities")
    assert "entities:exact" in again.out


def test_lists_and_confidence(folder: Path) -> None:
    done = run("tag", folder / "tags.treetune", folder / "dev.conllu", "--k-best", 2)
    assert done.out.count("# kbest_rank = 1") == done.out.count("# kbest_rank = 2") == 30
    done = run("tag", folder / "tags.treetune", folder / "dev.conllu", "--confidence")
    shares = [cell.rpartition("confidence=")[2] for row in column(done.out, 9) for cell in row]
    assert all(0 <= float(share) <= 1 for share in shares)
    assert len(set(shares)) > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("tags.treetune", "dev.conllu", "-o", "out.iob2"),
            "IOB files hold entities, and the model predicts upos, xpos; write CoNLL-U instead",
        ),
        (
            ("ner.treetune", "dev.iob2", "-o", "out.conll"),
            "CoNLL-X has no column for ner; write CoNLL-U or IOB instead",
        ),
        (
            ("ner.treetune", "dev.iob2", "--k-best", "2"),
            "--k-best needs comments or MISC, and IOB has none; write CoNLL-U instead",
        ),
        (
            ("ner.treetune", "dev.iob2", "--confidence"),
            "--confidence needs comments or MISC, and IOB has none; write CoNLL-U instead",
        ),
        (
            ("tags.treetune", "dev.conllu", "--tagger", "tags.treetune"),
            "--tagger predicts upos, xpos, which the model does not use; leave it out",
        ),
        (
            ("tags.treetune", "dev.conllu", "--format", "iob"),
            "unknown file format 'iob'; known: conllu, conllx, iob2, json, tokens, tree (did you mean 'iob2'?)",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(
    arguments: tuple[str, ...], message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = run("tag", *arguments)
    assert (done.code, done.out, done.err) == (2, "", f"error: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--task", "tagging"), "unknown task 'tagging'; known: ner, parser, pipeline, tag, tokenizer"),
        (("--task", "tag", "--parser", "graph"), "the task tag is for a tagger and has no parser; leave one of them"),
        (("--task", "tag", "--beam", "4"), "--beam is an option of transition parsers; the task is tag"),
        (("--task", "tag", *sets("model.columns=upos,upos")), "columns: 'upos' is named twice"),
        (("--task", "tag", *sets("train.base=transition")), "train.base is for parsers; the task is tag"),
        (
            ("--task", "tag", *sets("train.choose_by=LAS"), "--dev", "dev.conllu"),
            "train.choose_by: expected one of UPOS, accuracy, known, unknown, sentences, found 'LAS'",
        ),
        (
            ("--task", "tag", *sets("train.tagger=tags.treetune")),
            "train.tagger: the tagger predicts upos, xpos, which is to be learned",
        ),
        (
            ("--set", "train.tagger=ner.treetune"),
            "train.tagger: the tagger predicts ner, which the model does not use; leave it out",
        ),
        (
            sets("train.tagger=tags.treetune", "model.inputs=feats"),
            "train.tagger: the tagger predicts upos, xpos, which the model does not use; leave it out",
        ),
        (
            ("--task", "tag", *sets("model.columns=feats", "train.tagger=tags.treetune")),
            "train.tagger: the tagger predicts upos, xpos, which the model does not use; leave it out",
        ),
        (("--set", "model.columns=upos"), "model.columns is an option of taggers; the parser is transition"),
        (
            ("--set", "model.clusters=none.txt"),
            "no template of the feature set 'default' looks at the word clusters of none.txt",
        ),
        (("--features", "clusters"), "the feature set 'clusters' looks at word clusters; name their file"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    arguments: tuple[str, ...], message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = run("train", "train.conllu", "--model", "m.treetune", *arguments)
    assert done.code == 2
    assert done.err.startswith(f"error: {message}")
    assert not Path("m.treetune").exists()


def test_data_that_do_not_fit_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = run("train", "train.iob2", "--task", "tag", "--model", "m.treetune")
    assert done.err.startswith("error: train.iob2 is an IOB file, which has entity tags alone, not upos;")
    done = run("train", "train.conllu", "--task", "ner", "--model", "m.treetune")
    assert done.err == (
        "error: train.conllu: sentence 1: expected a value in ner for every word, found words without one\n"
    )
    done = run("train", "train.iob2", "--model", "m.treetune")
    assert done.err == ("error: train.iob2: expected trees, and IOB has none; give a treebank\n")
    done = run("evaluate", "train.iob2", "train.iob2", "--by-length")
    assert done.err == "error: --by-length is not for entities; leave it out\n"
    done = run("evaluate", "dev.conllu", "dev.conllu", "--entities")
    assert (done.code, done.err) == (1, "error: dev.conllu: expected entities, ner=B-PER in MISC, found none\n")


def test_extrinsic_losses_by_options_and_by_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    base = ("train", "train.conllu", "--task", "tag", "--epochs", 1, "--model", "a.treetune", "--json", "-q")
    start = ("--set", "objective.1.start=1")
    for also in ("main-verb:dev.conllu", "entity-hamming:train.iob2@0.5", "tags:dev.conllu"):
        done = run(*base, "--also", also, *start)
        assert done.code == 0, done.err
        (tally,) = json.loads(done.out)["epochs"][0]["objectives"][1:]
        assert tally["seen"] > 0
    table = '[[objective]]\ndata = "train.iob2"\nstart = 1\nloss = { name = "entity-f1", model = "ner.treetune" }\n'
    Path("f1.toml").write_text(f'[model]\ntask = "tag"\n\n[train]\ntreebank = "train.conllu"\nepochs = 1\n\n{table}')
    done = run("train", "f1.toml", "--model", "b.treetune", "-q")
    assert done.code == 0, done.err
    noted = inspect("b.treetune").info["config"]["objective"][0]["loss"]
    assert noted == {"name": "entity-f1", "columns": ["upos"], "model": "ner.treetune"}


def test_a_tagger_is_fine_tuned_and_resumed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = run("train", "dev.conllu", "--start-from", "tags.treetune", "--epochs", 1, "--model", "on.treetune")
    assert done.code == 0, done.err
    assert treetune.load("on.treetune").columns == ("upos", "xpos")
    done = run("train", "train.conllu", "--task", "tag", "--epochs", 1, "--model", "r.treetune", "--resume")
    assert "there is no checkpoint to resume from" in done.err


def test_iob1_is_read_and_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    text = (folder / "train.iob2").read_text().replace("B-PER", "I-PER").replace("B-LOC", "I-LOC")
    Path("old.iob").write_text(text)
    done = run("train", "old.iob", "--task", "ner", "--epochs", 1, "--model", "old.treetune")
    assert done.err.startswith("old.iob: read 40 in IOB1 of 40 sentences as IOB2\n")
    assert [one.gold for one in read_iob("old.iob")] == [one.gold for one in read_iob("train.iob2")]


def test_clusters_and_what_uses_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("text.txt").write_text("the dog runs\nthe cat runs\n\nthe dog sees the cat\n" * 3)
    done = run("clusters", "text.txt", "train.conllu", "train.iob2", "-o", "clusters.txt", "--classes", 20)
    assert done.code == 0
    assert "words in 20 classes" in done.err
    few = run("clusters", "text.txt", "-o", "-", "--classes", 3, "--min-count", 6, "-q")
    assert few.err == ""
    assert {line.split("\t")[1] for line in few.out.splitlines()} == {"the", "dog", "cat", "runs"}
    assert run("clusters", "-", "-", "-o", "x").err == "error: only one TEXT can be read from stdin\n"
    tagger = ("--task", "tag", *sets("model.clusters=clusters.txt"))
    parser = (
        "--features",
        "clusters-only",
        *sets("model.inputs=", "model.clusters=clusters.txt"),
        "--beam",
        1,
    )
    for number, options in enumerate((tagger, parser)):
        out = f"c{number}.treetune"
        done = run("train", "train.conllu", "--epochs", 1, "--model", out, "-q", *options)
        assert done.code == 0, done.err
        noted = inspect(out)
        assert noted.info["training"]["clusters"]["name"] == "clusters.txt"
        assert noted.info["config"]["model"]["clusters"] == "clusters.txt"
        assert noted.config["encoder"]["clusters"]
    moved = Path("clusters.txt").rename("moved.txt")
    assert run("parse", "c1.treetune", "dev.conllu", "-o", "parsed.conllu", "-q").code == 0
    moved.rename("clusters.txt")
