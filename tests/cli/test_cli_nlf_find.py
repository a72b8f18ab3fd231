"""``treetune nlf find`` and ``draw``: texts, treebanks and folders in; tables, JSON lines and pictures out."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from commandline import run

# Chirpy bought Growler in May . / Growler was n't bought by Ann's bank , which sells toys .
TREEBANK = """\
# sent_id = one
1\tChirpy\tChirpy\tPROPN\t_\t_\t2\tnsubj\t_\t_
2\tbought\tbuy\tVERB\t_\tVerbForm=Fin\t0\troot\t_\t_
3\tGrowler\tGrowler\tPROPN\t_\t_\t2\tobj\t_\t_
4\tin\tin\tADP\t_\t_\t5\tcase\t_\t_
5\tMay\tMay\tPROPN\t_\t_\t2\tobl\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

1\tGrowler\tGrowler\tPROPN\t_\t_\t4\tnsubj:pass\t_\t_
2-3\twasn't\t_\t_\t_\t_\t_\t_\t_\t_
2\twas\tbe\tAUX\t_\t_\t4\taux:pass\t_\t_
3\tn't\tnot\tPART\t_\t_\t4\tadvmod\t_\t_
4\tbought\tbuy\tVERB\t_\tVoice=Pass\t0\troot\t_\t_
5\tby\tby\tADP\t_\t_\t7\tcase\t_\t_
6\tthe\tthe\tDET\t_\t_\t7\tdet\t_\t_
7\tbank\tbank\tNOUN\t_\t_\t4\tobl:agent\t_\tSpaceAfter=No
8\t,\t,\tPUNCT\t_\t_\t10\tpunct\t_\t_
9\twhich\twhich\tPRON\t_\tPronType=Rel\t10\tnsubj\t_\t_
10\tsells\tsell\tVERB\t_\tVerbForm=Fin\t7\tacl:relcl\t_\t_
11\ttoys\ttoy\tNOUN\t_\t_\t10\tobj\t_\tSpaceAfter=No
12\t.\t.\tPUNCT\t_\t_\t4\tpunct\t_\t_

"""
SECOND = "Growler wasn't bought by the bank, which sells toys."


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a treebank, one below it, and files that are neither texts nor treebanks."""
    monkeypatch.chdir(tmp_path)
    Path("texts", "more").mkdir(parents=True)
    Path("texts", "a.conllu").write_text(TREEBANK)
    Path("texts", "more", "b.conllu").write_text(TREEBANK.partition("\n\n")[0] + "\n\n")
    Path("texts", "notes.pdf").write_text("no text")
    Path("texts", ".hidden.conllu").write_text("broken")
    return tmp_path


def test_a_table_of_all_files_of_a_folder(texts: Path) -> None:
    done = run("nlf", "find", "[buy, ?who, ?what]", "texts")
    assert (done.code, done.err) == (0, "")
    rows = [line.split("  ") for line in done.out.splitlines()]
    assert [[cell.strip() for cell in row if cell.strip()] for row in rows] == [
        ["where", "who", "what", "text"],
        ["-" * 29, "-" * 26, "-" * 16, "----"],
        ["texts/a.conllu:0-28", "Chirpy", "Growler", "Chirpy bought Growler in May."],
        ["texts/a.conllu:0-51", "the bank, which sells toys", "Growler", SECOND],
        ["texts/more/b.conllu:0-28", "Chirpy", "Growler", "Chirpy bought Growler in May."],
    ]
    assert len({line.index("Growler  ") for line in done.out.splitlines()[2:]}) == 1
    bare = run("nlf", "find", "toy", "texts").out
    assert bare == f"texts/a.conllu:47-51           {SECOND}\n"


def test_tab_separated_values(texts: Path) -> None:
    done = run("nlf", "find", "[buy/!not:[in, ^, ?when]?, ?who, ?what]", "texts/a.conllu", "--format", "tsv")
    assert done.out == (
        "file\tsentence\tstart\tend\twhen\twho\twhat\ttext\n"
        "texts/a.conllu\t1\t0\t28\tMay\tChirpy\tGrowler\tChirpy bought Growler in May.\n"
    )
    assert run("nlf", "find", "[eat, ?who, ?]", "texts", "-o", "out.tsv").code == 0
    assert Path("out.tsv").read_text() == "file\tsentence\tstart\tend\twho\ttext\n"


def test_json_lines_have_sentence_and_offsets(texts: Path) -> None:
    done = run("nlf", "find", "[sell, ?who, ?what]", "texts/a.conllu", "--format", "json")
    (found,) = map(json.loads, done.out.splitlines())
    assert found == {
        "file": "texts/a.conllu",
        "sentence": 2,
        "text": SECOND,
        "start": 35,
        "end": 51,
        "match": "[sells, which, toys]",
        "bindings": {
            "who": {"text": "the bank", "head": "bank", "start": 25, "end": 33, "expression": "bank.the"},
            "what": {"text": "toys", "head": "toys", "start": 47, "end": 51, "expression": "toys"},
        },
    }
    assert SECOND[25:33] == "the bank"


def test_forms_and_limit(texts: Path) -> None:
    assert len(run("nlf", "find", "[buy, ?, ?]", "texts", "--format", "json").out.splitlines()) == 3
    assert run("nlf", "find", "[buy, ?, ?]", "texts", "--format", "json", "--forms").out == ""
    assert len(run("nlf", "find", "[bought, ?, ?]", "texts", "--format", "json", "--forms").out.splitlines()) == 3
    assert len(run("nlf", "find", "[buy, ?, ?]", "texts", "--format", "json", "--limit", "2").out.splitlines()) == 2


def test_text_is_parsed_and_offsets_are_those_of_the_text(texts: Path) -> None:
    Path("texts", "c.txt").write_text("Nobody spoke. Ann saw the old house.\n")
    done = run("nlf", "find", "[saw, ?who, ?what]", "texts/c.txt", "--format", "json")
    found = json.loads(done.out)
    assert (found["sentence"], found["bindings"]["what"]["text"]) == (2, "the old house")
    what = found["bindings"]["what"]
    assert Path("texts", "c.txt").read_text()[what["start"] : what["end"]] == "the old house"
    piped = run("nlf", "find", "[saw, ?who, ?what]", "-", "--format", "tsv", stdin="Ann saw it.")
    assert piped.out.splitlines()[1] == "<stdin>\t1\t0\t10\tAnn\tit\tAnn saw it."


def test_what_was_found_is_said_to_whoever_watches(texts: Path) -> None:
    done = run("nlf", "find", "[buy, ?, ?]", "texts", "-o", "out.jsonl", terminal=True)
    assert "3 matches in 3 sentences, 24 words" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["[buy, ?who", "texts"], 2, "pattern '[buy, ?who', character 11: expected ',' or ']', found the end"),
        (["[buy, ?who]", "empty"], 1, "empty: expected files ending in .conllu, .conll, .conllx, .jsonl, .txt in this"),
        (["[buy, ?who]", "texts", "--format", "xml"], 2, "unknown format of matches 'xml'; known: json, table, tsv"),
        (["[buy, ?who]", "gone.txt"], 1, "gone.txt: "),
        (["[buy, ?who]", "texts/a.conllu", "-o", "texts/a.conllu"], 2, "texts/a.conllu"),
    ],
)
def test_mistakes_are_told_in_one_line(texts: Path, arguments: list[str], code: int, message: str) -> None:
    Path("empty").mkdir()
    done = run("nlf", "find", *arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("error: ")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_picture_of_a_sentence_or_of_an_expression(texts: Path) -> None:
    wrong = run("nlf", "draw", "texts/a.conllu", "-o", "out.png")
    assert wrong.err == "error: --output: pictures are SVG; expected a name that ends with .svg, found out.png\n"
    assert (wrong.code, Path("out.png").exists()) == (2, False)
    assert run("nlf", "draw", "texts/a.conllu", "--sentence", "2", "-o", "out.svg").code == 0
    shown = [text.text for text in ET.parse("out.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert shown[0] == SECOND
    assert {"bought", "n't", "bank", "which", "[ ]"} <= set(shown)
    drawn = run("nlf", "draw", "--expression", "[saw, Ann, dog.the]")
    assert "<svg" in drawn.out
    assert ">dog</text>" in drawn.out
    wrong = run("nlf", "draw", "--expression", "[saw, Ann")
    assert (wrong.code, wrong.err.count("\n")) == (1, 1)
    few = run("nlf", "draw", "texts/a.conllu", "--sentence", "3")
    assert few.err == "error: texts/a.conllu: expected at least 3 sentences to draw one, found fewer\n"
