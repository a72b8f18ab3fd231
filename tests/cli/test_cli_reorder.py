"""``treetune reorder`` and its commands: files, forms, undoing, learning, scoring, pictures and faults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_samples import PLAIN
from commandline import run

import treetune
from pipeline_samples import TEXT, small_pipeline
from stub_parser import StubParser, stub_model_fixture
from treetune import model_names, storage
from treetune.corpus.conllu import read_conllu, write_conllu
from treetune.corpus.orders import Ordered, WordOrder, write_orders
from treetune.models.pipeline import Pipeline
from treetune.reorder import Reorderer, load_rules
from treetune.sample import generate

__all__ = ["stub_model_fixture"]

PARSED = """\
# sent_id = s1
# text = John can't hit the ball .
1\tJohn\tJohn\tPROPN\tNNP\t_\t4\tnsubj\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\thit\thit\tVERB\tVB\t_\t0\troot\t_\t_
5\tthe\tthe\tDET\tDT\t_\t6\tdet\t_\t_
6\tball\tball\tNOUN\tNN\t_\t4\tobj\t_\tSpaceAfter=No
7\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_

"""
JAPANESE = "John the ball hit n't ca .\nGo\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.conllu"
    path.write_text(PARSED)
    return path


def test_the_trees_of_the_input_are_used_without_a_model(source: Path) -> None:
    assert run("reorder", source, "--to", "ja").out == JAPANESE
    assert run("reorder", "apply", source, "--to", "ja").out == JAPANESE
    assert run("reorder", "--to", "ja", "-", stdin=PARSED).out == JAPANESE
    assert run("reorder", source, "--to", "hi").out == "John the ball n't hit ca .\nGo\n"


def test_a_model_parses_first(tmp_path: Path, stub_model: StubParser, source: Path) -> None:
    model = tmp_path / "stub.treetune"
    storage.save(stub_model, model)
    rules = tmp_path / "mine.toml"
    rules.write_text('[[rule]]\nheads = ["NOUN", "VERB"]\nprecedence = [["dep", 1]]\n')
    # The stub hangs every word on the one before it: Dogs(NOUN) turns round, bark(VERB) has nothing below.
    plain = tmp_path / "plain.conllu"
    plain.write_text(PLAIN)
    expected = "do n't bark Dogs\n! Run\nGo\n"
    assert run("reorder", model, plain, "--to", rules).out == expected
    assert run("reorder", model, plain, "--to", rules, "--threads", 2).out == expected
    # Tokenised text has no tags, which these rules do not need.
    rules.write_text('[[rule]]\nheads = "*"\nprecedence = [["dep", 1]]\n')
    text = tmp_path / "in.txt"
    text.write_text("a b c\n\nd\n")
    assert run("reorder", model, text, "--to", rules).out == "c b a\nd\n"
    assert run("reorder", model, "-", "--read", "tokens", "--to", rules, stdin="a b").out == "b a\n"


def test_rules_that_look_at_tags_need_them(tmp_path: Path, stub_model: StubParser) -> None:
    storage.save(stub_model, tmp_path / "m")
    result = run("reorder", tmp_path / "m", "-", "--read", "tokens", "--to", "ja", stdin="a b")
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        "error: <stdin>: expected tags, which the rule set ja looks at (UPOS), found none; tag the sentences first; "
        "nothing was written\n"
    )


def test_every_form_of_output(source: Path, tmp_path: Path) -> None:
    lines = run("reorder", source, "--to", "ja", "--format", "orders").out.splitlines()
    assert json.loads(lines[0]) == {
        "id": "s1",
        "tokens": ["John", "ca", "n't", "hit", "the", "ball", "."],
        "order": [0, 4, 5, 3, 2, 1, 6],
    }
    for name, suffix in (("orders", "jsonl"), ("conllu", "conllu")):
        out = tmp_path / f"out.{suffix}"
        result = run("reorder", source, "--to", "ja", "-o", out)
        assert (result.code, result.out) == (0, "")
        assert "reordered 1 of 2 sentences, 8 words" in result.err
        assert out.read_text() == run("reorder", source, "--to", "ja", "--format", name).out
    run("reorder", source, "--to", "ja", "-o", tmp_path / "out.ja", "-q")
    assert (tmp_path / "out.ja").read_text() == JAPANESE


def test_conllu_can_be_undone_to_the_byte(source: Path, tmp_path: Path) -> None:
    out, back = tmp_path / "out.conllu", tmp_path / "back.conllu"
    run("reorder", source, "--to", "ja", "-o", out)
    assert out.read_text() != PARSED
    assert "SpaceAfter=No|SourceId=6" in out.read_text()
    assert run("reorder", "--restore", out, "-o", back).code == 0
    assert back.read_text() == PARSED


def test_a_picture(source: Path, tmp_path: Path) -> None:
    svg = tmp_path / "out.svg"
    result = run("reorder", source, "--to", "ja", "--draw", svg)
    assert (result.code, result.out, result.err) == (0, "", f"drew sentence 1 of {source}: {svg}\n")
    assert svg.read_text().startswith("<svg ")
    assert ">ball</text>" in svg.read_text()
    run("reorder", source, "--to", "ja", "--draw", svg, "--sentence", 2, "-q")
    assert ">ball</text>" not in svg.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("IN",), "expected a rule set, as in --to ja, or --restore; 'treetune reorder rules' lists them"),
        (
            ("IN", "--to", "jp"),
            "unknown rule set 'jp'; known: FILE.toml, ar, fr, hi, ja, ko, ru, sov, tr, ur, xu2009, zh",
        ),
        (("a", "b", "c", "--to", "ja"), "expected MODEL and IN, or IN alone, found 3 arguments: a b c"),
        (("IN", "--to", "ja", "--format", "xml"), "unknown file format 'xml'; known: conllu, orders, tokens"),
        (
            ("IN", "--to", "ja", "--read", "raw"),
            "unknown file format 'raw'; known: conllu, conllx, iob2, json, lines, text",
        ),
        (
            ("IN", "--to", "ja", "--draw", "a.png"),
            "--draw: pictures are SVG; expected a name that ends with .svg, found a.png",
        ),
        (("--restore", "IN", "--to", "ja"), "--restore needs only IN and -o; leave --to out"),
        (("--restore", "m", "IN"), "--restore needs only IN and -o; leave MODEL out"),
        ((), "Missing argument"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], message: str, source: Path) -> None:
    result = run("reorder", *(source if argument == "IN" else argument for argument in arguments))
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {message}")


def test_problems_with_data_are_named(source: Path, tmp_path: Path) -> None:
    result = run("reorder", "--restore", source, "-o", tmp_path / "back.conllu")
    assert result.code == 1
    assert result.err == (
        f"error: {source}: sentence 1 (sent_id s1): expected SourceId=… in MISC of word 1, which 'treetune reorder' "
        "writes, found _\n"
    )
    assert not (tmp_path / "back.conllu").exists()
    result = run("reorder", source, "--to", "ja", "--draw", tmp_path / "x.svg", "--sentence", 3)
    assert result.err == f"error: {source}: expected at least 3 sentences to draw one, found fewer\n"
    treetune.save(Pipeline(small_pipeline().tokenizer), tmp_path / "split.treetune")
    result = run("reorder", tmp_path / "split.treetune", source, "--to", "ja")
    assert result.err == (
        f"error: {tmp_path / 'split.treetune'} has no parser, and word order needs trees; name a model with one\n"
    )


def test_raw_text_is_split_tagged_and_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = small_pipeline()
    reorderer = Reorderer(load_rules("ja"))
    expected = "".join(
        " ".join(example.sentence.forms[word] for word in reorderer.order(example.sentence, example.tree)) + "\n"
        for example in pipeline(TEXT)
    )
    assert expected.count("\n") == 3
    (tmp_path / "package").mkdir()
    treetune.save(pipeline, tmp_path / "package" / "en.treetune")
    monkeypatch.setattr(model_names, "_EMBEDDED", tmp_path / "package")
    text = tmp_path / "in.txt"
    text.write_text(TEXT)
    for arguments in (("en", text), ("en", "-"), (text,), ("-", "--read", "text"), ("en", text, "--threads", 2)):
        assert run("reorder", *arguments, "--to", "ja", stdin=TEXT).out == expected
    by_lines = run("reorder", "-", "--read", "lines", "--to", "ja", stdin="The dog sees a cat\nThe dog sees a cat").out
    assert by_lines.count("\n") == 2


def test_a_pipeline_keeps_the_tags_that_are_given(tmp_path: Path, source: Path) -> None:
    treetune.save(small_pipeline(), tmp_path / "small.treetune")
    out = tmp_path / "out.conllu"
    run("reorder", tmp_path / "small.treetune", source, "--to", "ja", "-o", out)
    run("reorder", "--restore", out, "-o", tmp_path / "back.conllu")
    tags = [example.sentence.xpos for example in read_conllu(tmp_path / "back.conllu")]
    assert tags == [example.sentence.xpos for example in read_conllu(source)]


def test_bad_sentences_can_be_left_out(source: Path) -> None:
    source.write_text(PARSED.replace("4\tobj", "x\tobj"))
    assert run("reorder", source, "--to", "ja").code == 1
    result = run("reorder", source, "--to", "ja", "--lenient")
    assert (result.code, result.out) == (0, "Go\n")
    assert "skipped 1 of 2 sentences" in result.err


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """Generated English in Japanese order, with its trees beside it."""
    examples = generate(120, seed=5)
    reorderer = Reorderer(load_rules("ja"))
    items = [
        Ordered(example.sentence, WordOrder(reorderer.order(example.sentence, example.gold)), example.gold)
        for example in examples
    ]
    write_orders(items, tmp_path / "gold.jsonl")
    write_conllu(examples, tmp_path / "gold.conllu")
    return tmp_path / "gold.jsonl"


def test_rules_are_learned_applied_and_scored(orders: Path, tmp_path: Path) -> None:
    rules, trees = tmp_path / "learned.toml", tmp_path / "gold.conllu"
    result = run("reorder", "learn", orders, "-o", rules)
    assert result.code == 0
    assert result.err.startswith("learned ")
    assert run("reorder", "learn", orders, "-q").out == rules.read_text()
    out, none = tmp_path / "out.jsonl", tmp_path / "none.jsonl"
    run("reorder", trees, "--to", rules, "-o", out)
    (tmp_path / "none.toml").write_text("")
    run("reorder", trees, "--to", tmp_path / "none.toml", "-o", none)
    scored = run("reorder", "evaluate", orders, out, "--samples", 200)
    assert scored.code == 0
    assert "|aligned:yes|sents:120/120|" in scored.out
    content = json.loads(run("reorder", "evaluate", orders, none, out, "--samples", 200, "--json").out)
    assert content["other"]["scores"]["reorder"] > 0.9 > content["predicted"]["scores"]["reorder"]
    assert content["comparison"]["reorder"]["p_value"] < 0.01
    assert content["other"]["intervals"]["reorder"][1] <= 1
    compared = run("reorder", "evaluate", orders, none, out, "--samples", 200).out
    assert compared.count("|aligned:yes|") == 2
    assert "p (bootstrap)" in compared


def test_reordered_conllu_is_scored_as_its_permutation(orders: Path, tmp_path: Path) -> None:
    for suffix in ("conllu", "jsonl"):
        run("reorder", tmp_path / "gold.conllu", "--to", "hi", "-o", tmp_path / f"out.{suffix}")
    scored = [
        run("reorder", "evaluate", orders, tmp_path / f"out.{suffix}", "--samples", 50)
        for suffix in ("conllu", "jsonl")
    ]
    assert scored[0] == scored[1]
    assert scored[0].code == 0


@pytest.mark.parametrize(
    "options",
    [("--prior", "hi", "--prior-weight", "30"), ("--smoothing", "0"), ("--min-count", "3"), ("--tags", "xpos")],
)
def test_every_option_of_learning_changes_the_rules(orders: Path, options: tuple[str, ...]) -> None:
    assert run("reorder", "learn", orders, *options, "-q").out != run("reorder", "learn", orders, "-q").out


def test_a_parser_can_make_the_trees_to_learn_from(orders: Path, tmp_path: Path, stub_model: StubParser) -> None:
    storage.save(stub_model, tmp_path / "m")
    (tmp_path / "gold.conllu").unlink()
    result = run("reorder", "learn", orders)
    problem = "sentence 1: expected a complete tree to learn from, found none; name a parser, as --model en"
    assert (result.code, result.err) == (1, f"error: {orders}: {problem}\n")
    assert run("reorder", "learn", orders, "--model", tmp_path / "m", "--threads", 2).out.startswith('title = "learned')


def test_orders_of_other_sentences_are_refused(orders: Path, tmp_path: Path, source: Path) -> None:
    out = tmp_path / "other.jsonl"
    run("reorder", source, "--to", "ja", "-o", out)
    result = run("reorder", "evaluate", orders, out)
    assert result.code == 1
    assert result.err.startswith(f"error: {out}: sentence 1: expected the words of gold, ")
    orders.write_text("")
    (tmp_path / "gold.conllu").unlink()
    assert (
        run("reorder", "evaluate", orders, out).err == f"error: {orders}: expected at least one sentence, found none\n"
    )


def test_rule_sets_are_listed_and_shown(tmp_path: Path) -> None:
    listed = run("reorder", "rules").out
    assert all(f"\n{name} " in listed for name in ("ar", "hi", "ja", "ko", "sov", "tr", "ur", "xu2009", "zh"))
    (tmp_path / "mine.toml").write_text(run("reorder", "rules", "hi").out)
    assert load_rules(tmp_path / "mine.toml").rules == load_rules("hi").rules
