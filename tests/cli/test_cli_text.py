"""``treetune parse`` on raw text, and ``treetune train`` of tokenizers and pipelines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from cli_samples import PLAIN, column
from commandline import run, sets, stop_after

import treetune
from pipeline_samples import TEXT, small_pipeline
from treetune import model_names, storage
from treetune.corpus.conllu import format_conllu, read_conllu, write_conllu
from treetune.corpus.files import read_chunks
from treetune.corpus.rawtext import raw_text
from treetune.corpus.sentence import UNKNOWN_HEAD, Example, Tree
from treetune.models.pipeline import Pipeline
from treetune.sample import QUESTIONS, generate
from treetune.sample import treebank as samples


@pytest.fixture
def model(tmp_path: Path) -> Path:
    treetune.save(small_pipeline(), tmp_path / "small.treetune")
    return tmp_path / "small.treetune"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_text(TEXT)
    return tmp_path / "in.txt"


@pytest.fixture
def _embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the small pipeline be the model in the package."""
    (tmp_path / "package").mkdir()
    treetune.save(small_pipeline(), tmp_path / "package" / "en.treetune")
    monkeypatch.setattr(model_names, "_EMBEDDED", tmp_path / "package")


def expected(**options: bool) -> str:
    examples = small_pipeline().parse_text(TEXT, **options)
    return "".join(format_conllu(example.sentence, example.tree) for example in examples)


def test_text_by_every_way_gives_the_same_trees(model: Path, text: Path, tmp_path: Path) -> None:
    for arguments in ((model, text), (model, "-"), (model, "--text", text), (model, "--text", "-")):
        result = run("parse", *arguments, stdin=TEXT)
        assert (result.code, result.err) == (0, "")
        assert result.out == expected()
    assert run("parse", model, text, "-o", tmp_path / "out.conllu").err.startswith("parsed 3 sentences, 19 words, ")
    assert (tmp_path / "out.conllu").read_text() == expected()
    assert raw_text(e.sentence for e in read_conllu(tmp_path / "out.conllu")) == TEXT


@pytest.mark.usefixtures("_embedded")
def test_the_model_may_be_left_out_or_named(text: Path) -> None:
    for arguments in (("-",), (text,), ("--text", text), ("en", text), ("en", "--text", text), ("en", "-")):
        result = run("parse", *arguments, stdin=TEXT)
        assert (result.code, result.err) == (0, "")
        assert result.out == expected()
    assert treetune.load("en")(TEXT) == small_pipeline()(TEXT)
    assert run("info", "en").out.startswith("kind")


@pytest.mark.usefixtures("_embedded")
def test_a_file_does_not_hide_the_model_of_its_name(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en").write_text("no model")
    assert run("parse", "en", text).out == expected()
    assert "./en is not a treetune model" in run("parse", "./en", text).err


def test_without_a_model_in_the_package_that_is_said(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_names, "_EMBEDDED", tmp_path / "none")
    result = run("parse", text)
    assert result.code == 1
    assert result.err.startswith("error: there is no model called 'en'; models here: none; ")


def test_threads_make_no_difference(model: Path, text: Path) -> None:
    assert run("parse", model, text, "--threads", 3).out == expected()


def test_ranges_are_noted_on_request(model: Path, text: Path) -> None:
    assert "TokenRange=4:7" in run("parse", model, text, "--ranges").out
    assert "TokenRange" not in run("parse", model, text).out


def test_json_has_a_sentence_a_line(model: Path, text: Path) -> None:
    lines = [json.loads(line) for line in run("parse", model, text, "--format", "json").out.splitlines()]
    assert [line["sent_id"] for line in lines] == ["1", "2", "3"]
    first = lines[0]["words"][1]
    example = small_pipeline()(TEXT)[0]
    assert {key: first[key] for key in ("id", "text", "upos", "head", "deprel", "start_char", "end_char")} == {
        "id": 2,
        "text": "dog",
        "upos": example.sentence.upos[2],
        "head": example.tree.heads[2],
        "deprel": example.tree.labels[2],
        "start_char": 4,
        "end_char": 7,
    }
    assert "lemma" not in first


@pytest.mark.parametrize("suffix", ["json", "jsonl", "jsonl.gz"])
def test_the_suffix_of_the_output_may_ask_for_json(model: Path, text: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out.{suffix}"
    assert run("parse", model, text, "-o", out).code == 0
    assert b"".join(read_chunks(out)).decode() == run("parse", model, text, "--format", "json").out
    assert run("parse", model, text, "-o", out, "--format", "conllu").code == 0
    assert b"".join(read_chunks(out)).decode() == run("parse", model, text).out


def test_json_of_sentences_has_their_multiword_tokens(model: Path) -> None:
    lines = run("parse", model, "-", "--read", "conllu", "--format", "json", stdin=PLAIN).out.splitlines()
    first = json.loads(lines[0])
    assert first["tokens"] == [{"id": [2, 3], "text": "don't", "start_char": 5, "end_char": 10}]
    assert first["text"] == "Dogs don't bark"


def test_trees_can_be_drawn(model: Path, text: Path) -> None:
    out = run("parse", model, text, "--format", "tree").out
    assert out.startswith("The dog sees a cat.\n\n")
    assert "└─ " in out
    tags = Pipeline(small_pipeline().tokenizer, small_pipeline().taggers)
    treetune.save(tags, model)
    assert "\ndog  NOUN  NN\n" in run("parse", model, text, "--format", "tree").out


def test_each_line_a_sentence_and_tokens_by_spaces(model: Path) -> None:
    heading = run("parse", model, "-", stdin="The dog\nThe cat\n").out
    wrapped = run("parse", model, "-", "--read", "wrapped", stdin="The dog\nThe cat\n").out
    assert (heading.count("# text"), wrapped.count("# text")) == (2, 1)
    lines = run("parse", model, "-", "--read", "lines", stdin="The dog sees\na cat. It sees\n").out
    assert [len(heads) for heads in column(lines, 6)] == [3, 5]
    tokens = run("parse", model, "-", "--read", "tokens", stdin="The dog sees a cat.\n\n A  cat . \n").out
    assert column(tokens, 1) == [["The", "dog", "sees", "a", "cat."], ["A", "cat", "."]]
    assert "# sent_id = 2\n# text = A cat .\n" in tokens
    assert all(len(set(heads)) > 1 for heads in column(tokens, 6))


def test_conllu_keeps_its_tokens(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.conllu").write_text(PLAIN)
    result = run("parse", model, tmp_path / "in.conllu")
    assert result.out == run("parse", model, "-", "--read", "conllu", stdin=PLAIN).out
    assert column(result.out, 1) == column(PLAIN, 1)
    assert column(result.out, 3) != column(PLAIN, 3)
    kept = run("parse", model, tmp_path / "in.conllu", "--keep-tags").out
    assert column(kept, 3) == [
        [old if old != "_" else new for old, new in zip(was, now, strict=True)]
        for was, now in zip(column(PLAIN, 3), column(kept, 3), strict=True)
    ]


def test_conllu_is_not_taken_for_text(model: Path) -> None:
    result = run("parse", model, "-", stdin=PLAIN)
    assert result.code == 1
    assert result.err.startswith(
        "error: <stdin>: expected raw text, found what looks like CoNLL-U; read it with --read conllu"
    )


def test_k_best_and_constraints_work_on_predicted_tags(model: Path, text: Path) -> None:
    out = run("parse", model, text, "--k-best", 2).out
    assert out.count("# kbest_rank = 2") == 3
    fixed = run("parse", model, "-", "--read", "conllu", "--constrained", stdin=PLAIN).out
    assert column(fixed, 6) == column(PLAIN, 6)


def test_models_of_one_part_are_used_too(model: Path, text: Path, tmp_path: Path) -> None:
    whole = small_pipeline()
    for name, part in (("tokenizer", whole.tokenizer), ("tagger", whole.taggers[0])):
        assert part is not None
        treetune.save(part, tmp_path / name)
    result = run("parse", tmp_path / "tokenizer", text)
    assert result.err == f"{tmp_path / 'tokenizer'} has no parser; what is written has no trees\n"
    assert run("parse", tmp_path / "tokenizer", text, "--quiet").err == ""
    assert run("parse", model, text).err == ""
    split = result.out
    assert column(split, 1) == column(expected(), 1)
    assert {head for heads in column(split, 6) for head in heads} == {"_"}
    tagged = run("parse", tmp_path / "tagger", "-", stdin=split).out
    assert column(tagged, 3) == column(expected(), 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'IN': a file to parse, or - for stdin (see 'treetune parse --help')"),
        (("MODEL",), "MODEL is a model, and there is nothing to parse; add a file or -: treetune parse MODEL IN"),
        (("x.treetune",), "x.treetune is a model, and there is nothing to parse"),
        (("MODEL", "IN", "--text", "IN"), "IN and --text FILE both name what to parse; leave one of them out"),
        (("MODEL", "--text", "IN", "--read", "conllu"), "--text and --read conllu contradict each other"),
        (
            ("MODEL", "IN", "--read", "conll"),
            "unknown file format 'conll'; known: conllu, conllx, iob2, json, lines, text",
        ),
        (("MODEL", "IN", "--constrained"), "--constrained is for treebanks, and the input is raw text; leave it out"),
        (
            ("MODEL", "IN", "--lenient", "--read", "tokens"),
            "--lenient is for treebanks, and the input is tokens with spaces",
        ),
        (
            ("MODEL", "IN", "--read", "conllu", "--ranges"),
            "--ranges is for raw text, and the input is CoNLL-U; leave it out",
        ),
        (
            ("MODEL", "IN", "--base", "x", "--read", "conllu"),
            "MODEL was trained without base trees and would not look at",
        ),
        (
            ("MODEL", "IN", "--decoder", "projective"),
            "unknown search option of transition parsers 'decoder'; known: beam, margin",
        ),
        (("TOKENIZER", "IN", "--k-best", "2"), "TOKENIZER has no parser, and no use for --k-best; leave it out"),
        (("TOKENIZER", "IN", "--keep-tags"), "TOKENIZER has no tagger and keeps the tags of IN anyway"),
        (("TOKENIZER", "IN", "--beam", "2"), "this model has no parser, and no use for beam"),
    ],
)
def test_wrong_usage_is_said(model: Path, text: Path, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    tokenizer = small_pipeline().tokenizer
    assert tokenizer is not None
    treetune.save(tokenizer, tmp_path / "tokenizer")
    names = {"MODEL": str(model), "IN": str(text), "TOKENIZER": str(tmp_path / "tokenizer")}
    result = run("parse", *(names.get(argument, argument) for argument in arguments))
    assert result.code == 2
    wanted = (
        message if message.startswith("Missing") else message.replace("MODEL IN", "\0").replace("MODEL", names["MODEL"])
    )
    wanted = wanted.replace("\0", f"{model} IN").replace("TOKENIZER", names["TOKENIZER"])
    assert wanted in result.err


def test_what_is_not_text_is_refused(model: Path) -> None:
    result = run("parse", model, "-", stdin=b"abc\nd\xff")
    assert result.code == 1
    assert "<stdin>:2: expected UTF-8 text, found the byte 0xff as byte 2 of the line" in result.err


def test_nothing_gives_nothing(model: Path) -> None:
    for nothing in ("", " \n\n \t"):
        assert run("parse", model, "-", stdin=nothing).out == ""


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    write_conllu(generate(60, seed=1), tmp_path / "train.conllu")
    return tmp_path / "train.conllu"


def test_a_tokenizer_is_trained(treebank: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.treetune"
    result = run("train", treebank, "--task", "tokenizer", "--dev", treebank, "--model", out, "--json")
    assert result.code == 0
    assert "epoch 8/8  Tokens" in result.err
    info = json.loads(result.out)["info"]
    assert set(info["scores"]["text"]) == {"Tokens", "Words", "Sentences"}
    assert info["training"]["train"]["sentences"] == 60
    assert treetune.load(out).kind == "tokenizer"
    assert "# text = The dog sees a cat." in run("parse", out, "-", stdin=TEXT).out


def test_a_tokenizer_needs_no_trees_and_as_many_epochs_as_are_wanted(treebank: Path, tmp_path: Path) -> None:
    bare, out = tmp_path / "bare.conllu", tmp_path / "t.treetune"
    lines = treebank.read_text().split("\n")
    cells = [line.split("\t") for line in lines]
    bare.write_text("\n".join("\t".join([*row[:6], "_", "_", *row[8:]]) if len(row) == 10 else row[0] for row in cells))
    options = ("--task", "tokenizer", "--epochs", 3, "--json")
    result = run("train", bare, *options, "--dev", bare, "--model", out)
    assert result.code == 0
    assert "epoch 3/3  Tokens" in result.err
    assert "epoch 4" not in result.err
    assert json.loads(result.out)["info"]["training"]["epochs"] == 3
    gold = tmp_path / "gold.treetune"
    without_dev = run("train", treebank, "--task", "tokenizer", "--epochs", 3, "--model", gold)
    assert without_dev.code == 0
    assert without_dev.err.startswith(f"epoch 1/3\nepoch 2/3\nepoch 3/3\nwrote {gold}")
    assert run("parse", out, "-", stdin=TEXT).out == run("parse", gold, "-", stdin=TEXT).out


def test_a_pipeline_is_trained(treebank: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.treetune"
    settings = sets("pipeline.jackknife=2", "train.licence=mine")
    options = ("--task", "pipeline", *settings, "--epochs", 1, "--beam", 2, "--seed", 3)
    result = run("train", treebank, *options, "--dev", treebank, "--model", out)
    assert (result.code, result.out) == (0, "")
    stages = ("tokenizer:", "tagger, jackknifed:", "tagger of FEATS, jackknifed:", "lemmatizer:", "parser:")
    for line in (*stages, "fold 2/2  predicted 60 of 60"):
        assert line in result.err
    assert "dev, from raw text  Tokens" in result.err
    for metric in ("UFeats", "Lemmas", "MLAS", "BLEX"):
        assert metric in result.err.rsplit("dev, from raw text", maxsplit=1)[1]
    lines = [line.split("\t") for line in run("parse", out, "-", stdin=TEXT).out.splitlines() if "\t" in line]
    assert not {"_"} & {line[2] for line in lines}
    assert {"Number=Sing"} <= {line[5] for line in lines}
    shown = run("info", out, "--all").out
    for row in ("kind", "pipeline", "jackknife = 2", "scores.text.LAS", "mine", "training.parser.best_epoch"):
        assert row in shown
    assert treetune.load(out).parser.beam == 2
    again = tmp_path / "again.treetune"
    assert run("train", treebank, *options, "--dev", treebank, "--model", again, "--quiet").err == ""
    assert again.read_bytes() == out.read_bytes()
    quantized = ("train", treebank, *options, *sets("pipeline.quantize=true"), "--model", again)
    assert run(*quantized, "--dev", treebank).code == 0
    assert again.stat().st_size < out.stat().st_size
    assert column(run("parse", again, "-", stdin=TEXT).out, 1) == column(run("parse", out, "-", stdin=TEXT).out, 1)


def test_a_parser_gets_a_tagger_of_its_own(treebank: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.treetune"
    settings = sets("pipeline.tokenizer=false", "pipeline.jackknife=2", "pipeline.tagger_learner=crf")
    options = ("--task", "pipeline", *settings, "--epochs", 1, "--beam", 2)
    assert run("train", treebank, *options, "--model", out).code == 0
    assert list(treetune.load(out).parts) == ["tagger1", "tagger2", "lemmatizer", "parser"]
    assert column(run("parse", out, treebank).out, 6)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Questions of which only the main verb is known, without tags."""
    found = samples(train=30, dev=0, test=0, seed=1, kinds=QUESTIONS).train
    heads = [[0 if head == 0 else UNKNOWN_HEAD for head in example.gold.heads[1:]] for example in found]
    sentences = [example.sentence.without("upos", "xpos", "feats") for example in found]
    write_conllu(map(Example, sentences, map(Tree.of, heads)), tmp_path / "questions.conllu")
    return tmp_path / "questions.conllu"


def test_the_parser_of_a_pipeline_is_fine_tuned_and_stays_in_it(
    model: Path, text: Path, questions: Path, tmp_path: Path
) -> None:
    out = tmp_path / "q.treetune"
    options = ("--epochs", 2, "--seed", 0)
    result = run("train", "--start-from", model, "--also", f"root:{questions}", *options, "--model", out)
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith(f"fine-tuning the parser of {model}; its")
    old, new = small_pipeline(), treetune.load(out)
    assert list(new.parts) == ["tokenizer", "tagger", "parser"]
    parsed = run("parse", out, "--text", text).out
    assert [column(parsed, number) for number in (1, 3, 4)] == [column(expected(), number) for number in (1, 3, 4)]
    sentences = [example.sentence for example in read_conllu(questions, partial=True)]
    gold = [example.gold.heads.index(0) for example in read_conllu(questions, partial=True)]

    def right(pipeline: Pipeline) -> int:
        roots = [example.tree.heads.index(0) for example in pipeline.parse(sentences)]
        return sum(root == place for root, place in zip(roots, gold, strict=True))

    assert right(new) > right(old)
    # The parser was trained on the tags of the pipeline: with those in the file nothing else comes out.
    tagged = tmp_path / "tagged" / "questions.conllu"
    tagged.parent.mkdir()
    known = [example.gold for example in read_conllu(questions, partial=True)]
    write_conllu(map(Example, old.tag(sentences), known), tagged)
    again = ("train", "--start-from", model, "--also", f"root:{tagged}", *options, "--quiet")
    assert run(*again, "--model", tmp_path / "again").err == ""
    assert treetune.load(tmp_path / "again")(TEXT) == new(TEXT)


def test_fine_tuning_of_a_pipeline_is_resumed(
    model: Path, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("train", "--start-from", model, "--also", f"root:{questions}", "--epochs", 3, "-q", "--model")
    assert run(*arguments, tmp_path / "perceptron").code == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 1, KeyboardInterrupt())
        assert run(*arguments, tmp_path / "m").code == 130
    assert run(*arguments, tmp_path / "m", "--resume").code == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "perceptron").read_bytes()


@pytest.mark.usefixtures("_embedded")
def test_the_model_in_the_package_is_gone_on_from_and_tags(
    treebank: Path, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "q.treetune"
    assert run("train", "--start-from", "en", "--also", f"root:{questions}", "--epochs", 1, "--model", out).code == 0
    noted = storage.inspect(out).info
    assert noted["training"]["start_from"]["name"] == "en.treetune"
    # Under its name, which a configuration in any folder knows.
    (tmp_path / "again.toml").write_text(run("info", out, "--config").out)
    assert 'start_from = "en"' in (tmp_path / "again.toml").read_text()
    assert run("train", tmp_path / "again.toml", "--model", tmp_path / "again").code == 0
    assert (tmp_path / "again").read_bytes() == out.read_bytes()
    untagged = tmp_path / "untagged.conllu"
    examples = list(read_conllu(treebank))
    write_conllu((replace(one, sentence=one.sentence.without("upos", "xpos")) for one in examples), untagged)
    options = ("--set", "train.tagger=en", "--epochs", 1, "--beam", 1, "--model", tmp_path / "p")
    assert run("train", untagged, *options).code == 0
    assert storage.inspect(tmp_path / "p").info["config"]["train"]["tagger"] == "en"
    assert "VERB" in treetune.load(tmp_path / "p").grammar.encoder.values["u"]


def test_what_of_a_pipeline_cannot_be_fine_tuned(model: Path, questions: Path, tmp_path: Path) -> None:
    whole = small_pipeline()
    assert whole.tokenizer is not None
    treetune.save(whole.tokenizer, tmp_path / "tok")
    treetune.save(Pipeline(whole.tokenizer, whole.taggers), tmp_path / "text")
    learned = ("--also", f"root:{questions}", "--model", tmp_path / "m")
    for name, found in (
        ("tok", f"tokenizer {tmp_path / 'tok'}"),
        ("text", f"pipeline {tmp_path / 'text'} without one"),
    ):
        result = run("train", "--start-from", tmp_path / name, *learned)
        assert (result.code, result.err) == (
            2,
            f"error: --start-from: expected a parser, or a tagger, found the {found}\n",
        )
    result = run("train", "--start-from", model, "--set", f"train.tagger={model}", *learned)
    assert (result.code, result.err) == (
        2,
        f"error: train.tagger: {model} is a pipeline that tags all words itself; leave it out\n",
    )
    result = run("train", "--start-from", model, "--model", model, *learned[:2])
    assert (result.code, "from which the training starts" in result.err) == (2, True)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--task", "pipelin"),
            "unknown task 'pipelin'; known: ner, parser, pipeline, tag, tokenizer (did you mean 'pipeline'?)",
        ),
        (
            ("--task", "tokenizer", *sets("pipeline.jackknife=2")),
            "pipeline.jackknife is for pipelines; the task is tok",
        ),
        (sets("pipeline.quantize=true"), "pipeline.quantize is for pipelines; the task is parser"),
        (("--task", "tokenizer", "--beam", 2), "--beam is not for tokenizers; leave it out"),
        (
            ("--task", "pipeline", "--also", "root:x"),
            "objectives with a loss (--also) are not for the task pipeline; leave",
        ),
        (
            ("--task", "pipeline", *sets("model.decoder=projective")),
            "model.decoder is an option of graph parsers; the parser is transition",
        ),
        (
            ("--task", "pipeline", *sets("model.columns=upos")),
            "model.columns is an option of taggers; the parser is transition",
        ),
        (("--task", "pipeline", *sets("train.base=graph")), "train.base is for parsers; the task is pipeline"),
        (
            ("--task", "pipeline", "--dev", "-"),
            "expected files to train on, whose hashes are stored in the model, found - (stdin)",
        ),
    ],
)
def test_wrong_usage_of_training_is_said(
    treebank: Path, tmp_path: Path, options: tuple[object, ...], message: str
) -> None:
    result = run("train", treebank, *options, "--model", tmp_path / "m")
    assert result.code == 2
    assert message in result.err
    assert run("train", "--task", "pipeline", "--model", tmp_path / "m").err.startswith(
        "error: expected a treebank to train on (TRAIN), found none"
    )
    assert "Missing option '--model'" in run("train", treebank, "--task", "pipeline").err


@pytest.mark.filterwarnings("always:.* results will be worse")
def test_tags_of_another_tag_set_are_replaced_on_request(model: Path, tmp_path: Path) -> None:
    parser, out = tmp_path / "parser.treetune", tmp_path / "out.conllu"
    pipeline = small_pipeline()
    treetune.save(pipeline.parser, parser)  # type: ignore[arg-type]
    known = "".join(format_conllu(one.sentence, one.tree) for one in pipeline.parse_text(TEXT))
    renamed = re.sub(r"(?m)^(\d+(?:\t[^\t]+){3}\t)", r"\1q", known)
    (tmp_path / "in.conllu").write_text(renamed)
    run("parse", parser, tmp_path / "in.conllu", "-o", out, "--tagger", model, "--retag")
    assert out.read_text() == known
    assert run("parse", model, tmp_path / "in.conllu", "--retag").out == known
    warned = run("parse", model, tmp_path / "in.conllu", "--keep-tags")
    assert warned.err.startswith("warning: 100% of the XPOS tags, such as 'q")
    assert [line for line in warned.out.splitlines() if "\tq" in line]
    for options, message in (
        (("--retag",), f"{parser} has no tagger to replace the tags of IN; name one: --tagger MODEL"),
        (("--tagger", parser), f"--tagger: {parser} has no tagger; name a tagger or a pipeline with one"),
        (("--retag", "--keep-tags"),
         "--keep-tags keeps all tags of IN, --retag those that are known; leave one of them out"),
    ):  # fmt: skip
        refused = run("parse", parser, tmp_path / "in.conllu", *options)
        assert (refused.code, refused.err) == (2, f"error: {message}\n")


@pytest.mark.parametrize("read", ["text", "lines", "conllu"])
def test_a_terminal_sees_how_much_is_left(
    read: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in"
    source.write_text("Ünter der dog.\n" * 2500 if read != "conllu" else PLAIN)
    seen: list[tuple[int | None, int]] = []

    @contextmanager
    def bar(title: str, *, total: int | None, quiet: bool) -> Iterator[Callable[[int, int], None]]:
        yield lambda amount, words: seen.append((total, amount))

    monkeypatch.setattr("treetune.cli.output.progress_bar", bar)
    arguments = ("parse", model, source, "-o", tmp_path / "out.conllu", "--read", read)
    assert run(*arguments, terminal=True).code == 0
    total = 3 if read == "conllu" else len(source.read_text())
    assert {one for one, _ in seen} == {total}
    assert all(amount > 0 for _, amount in seen)
    assert 0.98 * total <= sum(amount for _, amount in seen) <= total
    seen.clear()
    run(*arguments)
    assert {one for one, _ in seen} == {None}
