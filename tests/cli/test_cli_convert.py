"""`treetune convert`: every sensible pair of formats, what is refused, and what is said."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from cli_samples import PLAIN
from commandline import run

from treetune.corpus.conllu import read_conllu
from treetune.corpus.rawtext import raw_text

ENTITIES = "# sent_id = e1\nAda\tB-PER\nLovelace\tI-PER\nwrote\tO\n\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.conllu").write_text(PLAIN)
    Path("e.iob2").write_text(ENTITIES)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("way", [("b.json",), ("b.jsonl.gz", "c.conllu.zst"), ("b.json", "c.json")])
def test_a_treebank_survives_formats_that_hold_everything(way: tuple[str, ...]) -> None:
    names = ["a.conllu", *way, "end.conllu"]
    for source, target in itertools.pairwise(names):
        result = run("convert", source, "-o", target)
        assert (result.code, result.err[:31]) == (0, "converted 3 sentences, 7 words,")
    assert Path("end.conllu").read_text() == PLAIN


@pytest.mark.usefixtures("folder")
def test_conllx_keeps_trees_and_tags() -> None:
    result = run("convert", "a.conllu", "-o", "b.conll")
    assert result.err.startswith("CoNLL-X has no room for entities, comments: left out where there were any\n")
    assert run("convert", "b.conll", "-o", "c.conllu").code == 0
    pairs = zip(read_conllu("c.conllu"), read_conllu("a.conllu"), strict=True)
    assert all(new.gold == old.gold and new.sentence.xpos == old.sentence.xpos for new, old in pairs)


@pytest.mark.usefixtures("folder")
def test_entities_survive_conllu_and_json() -> None:
    for target in ("b.conllu", "c.json", "d.iob"):
        source = {"b.conllu": "e.iob2", "c.json": "b.conllu", "d.iob": "c.json"}[target]
        assert run("convert", source, "-o", target, "-q").err == ""
    assert Path("d.iob").read_text() == ENTITIES


@pytest.mark.usefixtures("folder")
def test_text_is_written_as_it_was() -> None:
    assert run("convert", "a.conllu", "--to", "text").out == raw_text(one.sentence for one in read_conllu("a.conllu"))
    assert run("convert", "a.conllu", "--to", "lines").out == "Dogs don't bark\nRun !\nGo\n"
    assert run("convert", "a.conllu", "--to", "tokens").out == "Dogs do n't bark\nRun !\nGo\n"
    given = run("convert", "-", "--from", "tokens", "--to", "conllu", stdin="Dogs bark\n\nRun !\n").out
    assert [one.sentence.forms[1:] for one in read_conllu(given.split("\n"), partial=True)] == [
        ("Dogs", "bark"),
        ("Run", "!"),
    ]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("a.conllu", "-o", "b.iob2"), 1,
         "a.conllu: expected entities in MISC (ner=B-PER), found none, and IOB files hold nothing else; "
         "b.iob2 was not written"),
        (("a.conll", "-o", "b.iob2"), 2,
         "CoNLL-X holds no entities, and IOB files hold nothing else; write another format"),
        (("e.iob2", "-o", "b.conll"), 2,
         "CoNLL-X has no room for what IOB holds; write CoNLL-U or JSON lines"),
        (("in.txt", "-o", "b.conllu"), 2, "raw text has no words to convert; 'treetune parse' finds them"),
        (("a.conllu", "-o", "b"), 2, "the format of OUT does not follow from its name, b; give it with --to"),
        (("-", "--to", "json"), 2, "the format of IN does not follow from its name, -; give it with --from"),
        (("a.conllu", "--to", "tree"), 2,
         "unknown file format 'tree'; known: conllu, conllx, iob2, json, lines, text, tokens"),
        (("a.conllu", "-o", "a.conllu"), 2, "--output would replace a.conllu, which is read; give another name"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], code: int, message: str) -> None:
    result = run("convert", *arguments)
    assert (result.code, result.err) == (code, f"error: {message}\n")
    assert not Path("b.iob2").exists()


@pytest.mark.usefixtures("folder")
def test_bad_sentences_are_skipped_on_request() -> None:
    Path("bad.conllu").write_text(PLAIN + "1\tno\n\n")
    assert run("convert", "bad.conllu", "-o", "b.json").code == 1
    result = run("convert", "bad.conllu", "-o", "b.json", "--lenient")
    assert (result.code, result.err.startswith("skipped 1 of 4 sentences\n")) == (0, True)
