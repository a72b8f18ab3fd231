"""Entities of pipelines through the command line: trained, attached, found in raw text, scored, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_samples import column
from commandline import run, sets

import treetune
from pipeline_samples import PETS, TEXT, entity_tagger, small_pipeline
from treetune.corpus import read_trees, write_conllu, write_iob
from treetune.corpus.sentence import Sentence
from treetune.corpus.tags import Tagged, Tags, with_tags
from treetune.models.quantize import quantize
from treetune.sample import generate
from treetune.storage import inspect


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, a text, and data with entities."""
    place = tmp_path_factory.mktemp("entities")
    treetune.save(small_pipeline(), place / "small.treetune")
    treetune.save(entity_tagger(), place / "ner.treetune")
    (place / "text.txt").write_text(TEXT)
    write_iob(PETS, place / "train.iob2")
    write_conllu(generate(40, seed=8), place / "train.conllu")
    write_conllu(generate(10, seed=9), place / "dev.conllu")
    return place


def pets(text: str) -> list[list[str]]:
    return [[cell.rpartition("ner=")[2] for cell in cells] for cells in column(text, 9)]


def test_an_entity_tagger_is_attached_to_a_pipeline(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    nlp = small_pipeline().with_entity_tagger(entity_tagger())
    assert list(nlp.parts) == ["tokenizer", "tagger1", "tagger2", "parser"]
    assert nlp.entity_tagger is entity_tagger()
    assert [(one.label, one.text, one.start_char) for one in nlp(TEXT).entities] == [
        ("PET", "dog", TEXT.index("dog")), ("PET", "cat", TEXT.index("cat")), ("PET", "cat", TEXT.rindex("cat")),
    ]  # fmt: skip
    # Tags and trees are the same with it and without it.
    plain, found = (
        run("parse", "small.treetune", "text.txt").out,
        run("parse", "small.treetune", "text.txt", "--entities", "ner.treetune").out,
    )
    for number in range(9):
        assert column(found, number) == column(plain, number)
    assert found == nlp(TEXT).to_conllu()
    assert pets(found)[0] == ["O", "B-PET", "O", "O", "B-PET", "O"]
    content = json.loads(
        run("parse", "small.treetune", "text.txt", "--entities", "ner.treetune", "--format", "json").out.splitlines()[0]
    )
    assert [entity["text"] for entity in content["entities"]] == ["dog", "cat"]
    # Another tagger of words leaves it in its place, another of entities does not.
    assert nlp.with_taggers(small_pipeline().taggers).entity_tagger is entity_tagger()
    assert nlp.with_taggers([entity_tagger()]).taggers == (entity_tagger(),)
    assert nlp.with_entity_tagger(None).taggers == small_pipeline().taggers


def test_raw_text_is_tagged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    treetune.save(quantize(small_pipeline().with_entity_tagger(entity_tagger())), "both.treetune")
    tagged = run("tag", "both.treetune", "text.txt").out
    parsed = run("parse", "both.treetune", "text.txt").out
    for number in (1, 3, 4, 9):
        assert column(tagged, number) == column(parsed, number)
    assert {cell for cells in column(tagged, 6) for cell in cells} == {"_"}
    assert run("tag", "small.treetune", "text.txt", "--entities", "ner.treetune", "--threads", 2).out == tagged
    run("tag", "both.treetune", "text.txt", "-o", "found.iob2", "-q")
    lines = Path("found.iob2").read_text().splitlines()
    assert [line.split("\t")[-1] for line in lines if "\t" in line] == [tag for tags in pets(parsed) for tag in tags]
    # A single tagger and a tokenizer are enough.
    treetune.save(treetune.Pipeline(small_pipeline().tokenizer, [entity_tagger()]), "only.treetune")
    assert pets(run("tag", "only.treetune", "text.txt").out)[0][:2] == ["O", "B-PET"]


def test_entities_of_raw_text_are_scored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    parsed = list(small_pipeline().with_entity_tagger(entity_tagger())(TEXT))
    # Gold has the text as one sentence, in which "sees a" is one token, and one entity more.
    forms = [word.text for one in parsed for word in one.words]
    forms[2:4] = ["seesa"]
    gold = Tagged(Sentence.of(forms), Tags.of(["O"] * len(forms)))
    tags = {1: "B-PET", 2: "B-PET", 3: "I-PET"}
    gold = Tagged(gold.sentence, Tags.of(tags.get(place, "O") for place in range(len(forms))))
    write_iob([gold], "gold.iob2")
    run("parse", "small.treetune", "text.txt", "--entities", "ner.treetune", "-o", "out.conllu", "-q")
    done = run("evaluate", "gold.iob2", "out.conllu", "--json")
    assert done.code == 0, done.err
    counts = json.loads(done.out)["predicted"]["counts"]
    assert set(counts) == {"Sentences", "Words", "Entities"}
    assert counts["Entities"] == {"gold": 2, "predicted": 3, "right": 1}
    assert "named entities" in run("evaluate", "gold.iob2", "out.conllu").out
    assert run("evaluate", "gold.iob2", "out.conllu", "--by-label").err == (
        "error: --by-label needs the tokens of GOLD, and a system has others; leave it out\n"
    )
    with_trees = list(read_trees("out.conllu"))
    write_conllu(with_trees[:2], "gold.conllu")
    (Path("other.conllu")).write_text(Path("gold.conllu").read_text().replace("\tdog\t", "\tdo\t"))
    done = run("evaluate", "gold.conllu", "other.conllu", "--entities")
    assert (done.code, done.err) == (
        1, "error: other.conllu: sentence 1 (sent_id 1): expected 'dog' as word 2, as in gold, found 'do'; score "
        "predictions for the same words in the same order\n",
    )  # fmt: skip


def test_entities_within_multiword_tokens_are_told_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    rows = ["1-2\tRex's\t" + "\t".join("_" * 8)] + [
        f"{number}\t{form}\t_\t_\t_\t_\t{head}\t{label}\t_\tner={tag}"
        for number, form, head, label, tag in ((1, "Rex", 3, "nmod", "B-PET"), (2, "'s", 1, "case", "O"))
    ]
    bone = "3\tbone\t_\t_\t_\t_\t0\troot\t_\tner=O"
    Path("own.conllu").write_text("\n".join([*rows, bone]) + "\n\n")
    Path("gold.iob").write_text("Rex\tB-PET\n'\tO\ns\tO\nbone\tO\n\n")
    scores = json.loads(run("evaluate", "gold.iob", "own.conllu", "--json").out)["predicted"]
    assert scores["counts"]["Entities"] == {"gold": 1, "predicted": 1, "right": 1}


def test_a_pipeline_is_trained_with_entities(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    write_iob(PETS[:50], "dev.iob2")
    Path("clusters.txt").write_text("00\tdog\t9\n01\tcat\t9\n1\tthe\t9\n")
    settings = ("pipeline.jackknife=2", "pipeline.tagger_epochs=2", "pipeline.tokenizer_epochs=1")
    files = ("--dev", "dev.conllu", "--entities", "train.iob2")
    options = (*sets(*settings, "pipeline.entities_dev=dev.iob2", "pipeline.tagger_clusters=clusters.txt"), "--beam", 1)
    done = run("train", "train.conllu", *files, "--task", "pipeline", *options, "--epochs", 1, "--model", "p.treetune")
    assert done.code == 0, done.err
    assert "entity tagger:\nepoch 1/2  F1 " in done.err
    info = inspect("p.treetune").info
    assert info["config"]["pipeline"]["entities"] == "train.iob2"
    assert info["training"]["entities"]["sentences"] == 150
    assert info["training"]["tagger_clusters"]["name"] == "clusters.txt"
    assert info["training"]["entity_tagger"]["epochs"] == 2
    assert info["scores"]["entity_tagger"]["F1"] > 0.9
    nlp = treetune.load("p.treetune")
    assert [entity.text for entity in nlp(TEXT).entities] == ["dog", "cat", "cat"]
    # The stored configuration trains the same again.
    Path("again.toml").write_text(run("info", "p.treetune", "--config").out)
    assert run("train", "again.toml", "--model", "again.treetune", "-q").code == 0
    assert Path("again.treetune").read_bytes() == Path("p.treetune").read_bytes()


def test_entities_of_the_treebank_are_learned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    def things(sentence: Sentence) -> Tags:
        return Tags.of("B-THING" if tag == "NOUN" else "O" for tag in sentence.upos[1:])

    examples = list(generate(40, seed=8))
    marked = [treetune.Example(with_tags(one.sentence, things(one.sentence), ("ner",)), one.gold) for one in examples]
    # Sentences without tags are left out.
    write_conllu([*marked[:30], *examples[30:]], "marked.conllu")
    write_conllu(marked[:10], "marked-dev.conllu")
    settings = (
        "pipeline.jackknife=2",
        "pipeline.tagger_epochs=2",
        "pipeline.lemmas=false",
        "pipeline.feats=false",
        "pipeline.tokenizer_epochs=1",
    )
    options = ("--task", "pipeline", *sets(*settings), "--beam", 1, "--epochs", 1)
    done = run("train", "marked.conllu", "--dev", "marked-dev.conllu", *options, "--model", "m.treetune")
    assert done.code == 0, done.err
    assert "of 30 sentences" in done.err.partition("entity tagger:")[2].partition("parser:")[0]
    assert "  Entities " in done.err
    assert treetune.load("m.treetune").entity_tagger is not None
    assert (
        run(*("train", "marked.conllu", *options, "--model", "n.treetune"), *sets("pipeline.entities=false")).code == 0
    )
    assert treetune.load("n.treetune").entity_tagger is None


def test_a_pipeline_with_entities_tags_the_words_of_another_ner_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    whole = small_pipeline().with_entity_tagger(entity_tagger())
    treetune.save(whole, "whole.treetune")
    write_iob(PETS[:20], "few.iob2")
    for tagger in ("whole", "small"):
        words = sets(f"train.tagger={tagger}.treetune")
        assert (
            run("train", "few.iob2", "--task", "ner", *words, "--epochs", 1, "--model", f"{tagger}.ner", "-q").code == 0
        )
    outputs = {
        run("tag", f"{model}.ner", "few.iob2", "--tagger", f"{tagger}.treetune").out
        for model in ("whole", "small")
        for tagger in ("whole", "small")
    }
    assert len(outputs) == 1
    assert run("tag", "whole.ner", "few.iob2", "--tagger", "ner.treetune").err == (
        "error: --tagger: ner.treetune has no tagger of words; name a tagger or a pipeline with one\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("parse", "small.treetune", "text.txt", "--entities", "small.treetune"),
         "--entities: small.treetune finds no entities; name a model of 'treetune train --task ner'"),
        (("tag", "ner.treetune", "text.txt", "--read", "text"),
         "ner.treetune has no tokenizer, and the input is raw text; name a pipeline, and a NER model by --entities"),
        (("tag", "small.treetune", "text.txt", "-o", "out.iob2"),
         "IOB files hold entities, and the model predicts upos, xpos; write CoNLL-U instead"),
        (("train", "train.conllu", "--model", "m", "--entities", "train.iob2"),
         "--entities is for pipelines; the task is parser"),
        (("train", "train.conllu", "--model", "m", "--task", "pipeline", *sets("pipeline.entities_dev=train.iob2")),
         "pipeline.entities_dev: belongs to a file of entities as --entities; leave it out"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(
    arguments: tuple[str, ...], message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = run(*arguments)
    assert (done.code, done.out, done.err) == (2, "", f"error: {message}\n")


def test_data_without_entities_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = run("train", "train.conllu", "--task", "pipeline", "--entities", "dev.conllu", "--model", "m")
    assert (done.code, done.err) == (
        1, "error: dev.conllu: sentence 1: expected a value in ner for every word, found words without one\n",
    )  # fmt: skip
