"""``treetune reorder parallel`` and ``align``: parallel text there and back."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pytest
from commandline import run

from pipeline_samples import small_pipeline
from stub_parser import StubParser, stub_model_fixture
from treetune import storage
from treetune.corpus.orders import read_orders
from treetune.integrations import word_aligner

__all__ = ["stub_model_fixture"]

# The stub hangs every word on the one before it, so that this rule turns sentences round.
TURN = '[[rule]]\nheads = "*"\nprecedence = [["dep", 1]]\n'
PAIRS = "a b c\tx y\n\tz\nd\t\n"


@pytest.fixture
def options(tmp_path: Path, stub_model: StubParser) -> list[object]:
    """Return the options that turn tokenized lines round."""
    storage.save(stub_model, tmp_path / "m.treetune")
    (tmp_path / "turn.toml").write_text(TURN)
    return ["--to", tmp_path / "turn.toml", "--model", tmp_path / "m.treetune", "--tokenized"]


def test_lines_stay_where_they_are(options: list[object]) -> None:
    assert run("reorder", "parallel", "-", *options, stdin=PAIRS).out == "c b a\tx y\n\tz\nd\t\n"
    assert run("reorder", "parallel", "-", *options, stdin="a b\n\nc\n").out == "b a\n\nc\n"
    assert run("reorder", "parallel", "-", *options, "--threads", 2, stdin=PAIRS).out == "c b a\tx y\n\tz\nd\t\n"
    assert run("reorder", "parallel", "-", *options, "--format", "tokens", stdin=PAIRS).out == "c b a\n\nd\n"
    assert run("reorder", "parallel", "-", *options, stdin="").out == ""


def test_two_files_are_one_with_tabs(options: list[object], tmp_path: Path) -> None:
    for name, text in (("en", "a b c\n\nd\n"), ("other", "x y\nz\n\n"), ("both", PAIRS)):
        (tmp_path / name).write_text(text)
    out = tmp_path / "out.tsv"
    result = run("reorder", "parallel", tmp_path / "en", tmp_path / "other", *options, "-o", out)
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("reordered 1 of 3 lines, 4 words, ")
    assert result.err.endswith(" words/s, by turn\n")
    assert out.read_text() == run("reorder", "parallel", tmp_path / "both", *options).out


def test_the_permutation_is_kept(options: list[object], tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert run("reorder", "parallel", "-", *options, "-o", out, "-q", stdin=PAIRS).err == ""
    assert [json.loads(line) for line in out.read_text().splitlines()] == [
        {"tokens": ["a", "b", "c"], "order": [2, 1, 0], "target": "x y"},
        {"tokens": [], "order": [], "target": "z"},
        {"tokens": ["d"], "order": [0], "target": ""},
    ]
    (line,) = run("reorder", "parallel", "-", *options, "--format", "orders", stdin="a b\n").out.splitlines()
    assert json.loads(line) == {"tokens": ["a", "b"], "order": [1, 0]}


def test_k_best_orders_have_scores(options: list[object]) -> None:
    # The second tree of the stub hangs the last word on the first.
    text = run("reorder", "parallel", "-", *options, "--k-best", 2, stdin="a b c d\n\nd\n").out
    assert text == "0 ||| d c b a ||| 8.0\n0 ||| c b d a ||| 7.0\n1 |||  ||| 0.0\n2 ||| d ||| 8.0\n"
    (line,) = run(
        "reorder", "parallel", "-", *options, "--k-best", 2, "--format", "orders", stdin="a b c d\tx\n"
    ).out.splitlines()
    assert json.loads(line) == {
        "tokens": ["a", "b", "c", "d"],
        "order": [3, 2, 1, 0],
        "k_best": [{"order": [3, 2, 1, 0], "score": 8.0}, {"order": [2, 1, 3, 0], "score": 7.0}],
        "target": "x",
    }


def test_a_line_of_raw_text_may_hold_several_sentences(tmp_path: Path) -> None:
    storage.save(small_pipeline(), tmp_path / "m.treetune")
    (tmp_path / "none.toml").write_text("")
    options = ["--to", tmp_path / "none.toml", "--model", tmp_path / "m.treetune"]
    text = "The dog sees a cat. A cat was a story.\n\nThe dog sees a cat.\n"
    assert run("reorder", "parallel", "-", *options, stdin=text).out == (
        "The dog sees a cat . A cat was a story .\n\nThe dog sees a cat .\n"
    )


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        ((), "a\n", "expected a rule set, as in --to ja; 'treetune reorder rules' lists them"),
        (("OPTIONS", "--format", "xml"), "a\n", "unknown file format 'xml'; known: orders, tokens, tsv"),
        (
            ("OPTIONS", "--format", "tsv"),
            "a\n",
            "expected translations to write tsv, found none; give them, or choose --format tokens",
        ),
        (("OPTIONS", "--k-best", "2"), "a\tx\n", "--k-best writes tokens or orders; choose --format"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], stdin: str, message: str, options: list[object]) -> None:
    given = [one for argument in arguments for one in (options if argument == "OPTIONS" else [argument])]
    result = run("reorder", "parallel", "-", *given, stdin=stdin)
    assert (result.code, result.out, result.err) == (2, "", f"error: {message}\n")


def test_raw_text_needs_a_tokenizer(options: list[object], tmp_path: Path) -> None:
    result = run("reorder", "parallel", "-", *options[:-1], stdin="a\n")
    assert result.code == 2
    assert result.err == (
        f"error: {tmp_path}/m.treetune has no tokenizer; give it words between spaces with --tokenized\n"
    )


def test_orders_from_links(tmp_path: Path) -> None:
    for name, text in (("links", "0-1 1-0\n0-0\n\n"), ("source", "a b\nc d\n\n"), ("target", "x y\nz\nz\n")):
        (tmp_path / name).write_text(text)
    paths, out = [tmp_path / "source", tmp_path / "target", "--links", tmp_path / "links"], tmp_path / "out.jsonl"
    result = run("reorder", "align", *paths, "-o", out)
    # A pair with an empty side has no order.
    assert (result.code, result.err) == (0, "wrote the orders of 2 of 3 sentence pairs\n")
    assert [(item.order.words, item.order.confidence) for item in read_orders(out)] == [((2, 1), 1.0), ((1,), 2 / 3)]
    assert run("reorder", "align", *paths).out == out.read_text()
    for name in ("out.txt", "other.conllu"):
        run("reorder", "align", *paths, "-o", tmp_path / name)
    assert (tmp_path / "out.txt").read_text() == out.read_text()
    assert (tmp_path / "other.conllu").read_text().startswith("# order = ")
    assert run("reorder", "align", *paths, "-o", out, "--min-confidence", 0.7, "-q").err == ""
    assert [item.order.words for item in read_orders(out)] == [(2, 1)]


def test_links_of_a_reordered_corpus_are_mapped_back(options: list[object], tmp_path: Path) -> None:
    out, links = tmp_path / "out.jsonl", tmp_path / "links"
    run("reorder", "parallel", "-", *options, "-o", out, "-q", stdin="a b c\tx y z\n")
    links.write_text("0-0 1-1 2-2\n")  # of c b a and x y z
    (item,) = (json.loads(line) for line in run("reorder", "align", out, "--links", links).out.splitlines())
    assert item["tokens"] == ["a", "b", "c"]
    assert item["order"] == [2, 1, 0]
    assert item["links"] == [[0, 2], [1, 1], [2, 0]]


def test_an_aligner_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("a\tx\n")
    with mock.patch.object(word_aligner, "import_module", side_effect=ImportError):
        result = run("reorder", "align", tmp_path / "pairs", "-o", tmp_path / "out.jsonl")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "error: expected the package sil-thot, which aligns words, found none; install treetune[align], or give the "
        "alignments of another aligner with --links\n"
    )
    assert not (tmp_path / "out.jsonl").exists()


def test_orders_by_an_aligner(tmp_path: Path) -> None:
    pytest.importorskip("thot.alignment", reason="needs the extra 'align'")
    words = {"dogs": "inu", "cats": "neko", "birds": "tori", "see": "miru", "hear": "kiku"}
    nouns, verbs = list(words)[:3], list(words)[3:]
    lines = [f"{a} {v} {b}\t{words[a]} {words[b]} {words[v]}\n" for a in nouns for v in verbs for b in nouns if a != b]
    (tmp_path / "pairs").write_text("".join(lines * 5) + "\tx\n")
    out = tmp_path / "out.jsonl"
    result = run("reorder", "align", tmp_path / "pairs", "-o", out)
    assert result.err == f"wrote the orders of {5 * len(lines)} of {5 * len(lines) + 1} sentence pairs\n"
    items = list(read_orders(out))
    assert {item.order.words for item in items} == {(1, 3, 2)}
    assert {item.order.confidence for item in items} == {1.0}
