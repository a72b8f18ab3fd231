"""``treetune evaluate``: tables, JSON, each option, and files that do not belong together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_samples import PLAIN
from commandline import run

import treetune
from treetune.evaluation.metrics import METRICS

WRONG = PLAIN.replace("1\tpunct", "1\tdep").replace("4\tnsubj", "2\tnsubj:pass").replace("4\taux", "4\taux:x")


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.conllu"
    path.write_text(PLAIN)
    return path


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.conllu"
    path.write_text(WRONG)
    return path


def test_gold_against_itself_is_perfect(gold: Path) -> None:
    result = run("evaluate", gold, gold, "--json")
    assert (result.code, result.err) == (0, "")
    assert json.loads(result.out)["predicted"]["scores"] == dict.fromkeys(METRICS, 1.0)


def test_the_table(gold: Path, wrong: Path) -> None:
    result = run("evaluate", gold, wrong)
    lines = result.out.split("\n")
    assert lines[0] == f"*|punct:yes|subtypes:yes|sents:3|v:{treetune.__version__}  (7 words counted)"
    # One head of seven is wrong, and two labels besides.
    assert next(line for line in lines if line.startswith("UAS")).split()[:2] == ["UAS", "85.71"]
    assert next(line for line in lines if line.startswith("LAS")).split()[:2] == ["LAS", "57.14"]


def test_punctuation_and_subtypes_change_the_scores(gold: Path, wrong: Path) -> None:
    def las(*options: str) -> float:
        content = json.loads(run("evaluate", gold, wrong, "--json", *options).out)
        return float(content["predicted"]["scores"]["LAS"])

    assert las() == pytest.approx(4 / 7)
    assert las("--no-punct") == pytest.approx(4 / 6)
    assert las("--no-subtypes") == pytest.approx(5 / 7)
    assert las("--no-subtypes", "--no-punct") == pytest.approx(5 / 6)


def test_tables_of_labels_and_lengths_on_request(gold: Path, wrong: Path) -> None:
    plain, labels, lengths = (run("evaluate", gold, wrong, *o).out for o in ((), ("--by-label",), ("--by-length",)))
    assert labels.startswith(plain.rstrip("\n"))
    assert lengths.startswith(plain.rstrip("\n"))
    assert "\nadvmod " in labels
    assert "\nadvmod " not in lengths
    assert "\n3-6 " in lengths
    assert "\n3-6 " not in labels
    for options, keys in (((), set()), (("--by-label",), {"labels"}), (("--by-length",), {"lengths"})):
        content = json.loads(run("evaluate", gold, wrong, "--json", *options).out)
        assert set(content["predicted"]) == {"scores", "signatures", "counts"} | keys


def test_two_systems_are_compared(gold: Path, wrong: Path) -> None:
    text = run("evaluate", gold, wrong, gold).out
    assert "== PREDICTED\n" in text
    assert "== OTHER\n" in text
    assert "== a = PREDICTED, b = OTHER\n" in text
    row = next(line for line in text.split("\n") if line.startswith("UAS") and "+14.29" in line)
    assert row.split()[:4] == ["UAS", "85.71", "100.00", "+14.29"]
    content = json.loads(run("evaluate", gold, wrong, gold, "--json").out)
    assert set(content) == {"predicted", "other", "comparison"}
    compared = content["comparison"]["LAS"]
    assert compared["bootstrap"]["difference"]["score"] == pytest.approx(3 / 7)
    assert compared["mcnemar"]["only_a"] == 0
    assert compared["mcnemar"]["only_b"] == 3


def test_partial_gold_counts_what_it_knows(gold: Path, tmp_path: Path) -> None:
    partial = tmp_path / "partial.conllu"
    partial.write_text(PLAIN.replace("4\tnsubj", "_\t_"))
    content = json.loads(run("evaluate", partial, gold, "--json").out)
    assert content["predicted"]["counts"]["words"] == 6


def test_other_sentences_are_refused(gold: Path, tmp_path: Path) -> None:
    shorter = tmp_path / "shorter.conllu"
    shorter.write_text(PLAIN[: PLAIN.index("# sent_id = s3")])
    result = run("evaluate", gold, shorter)
    assert result.code == 1
    assert result.out == ""
    assert "sentence 3 (sent_id s3): no prediction for it" in result.err
    assert str(shorter) in result.err
    other = tmp_path / "other.conllu"
    other.write_text(PLAIN.replace("\tRun\t", "\tWalk\t"))
    result = run("evaluate", gold, gold, other)
    assert result.code == 1
    assert "sentence 2 (sent_id s2): expected 'Run' as word 1, as in gold, found 'Walk'" in result.err
    assert str(other) in result.err


def test_a_file_without_trees_or_without_sentences_is_refused(gold: Path, tmp_path: Path) -> None:
    unparsed = tmp_path / "unparsed.conllu"
    unparsed.write_text("1\tGo\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    result = run("evaluate", gold, unparsed)
    assert result.code == 1
    assert result.err.startswith(f"error: {unparsed}:1: column HEAD: ")
    empty = tmp_path / "empty.conllu"
    empty.touch()
    result = run("evaluate", empty, empty)
    assert (result.code, result.out) == (1, "")
    assert result.err == f"error: {empty}: expected at least one sentence, found none\n"


def test_missing_file(gold: Path, tmp_path: Path) -> None:
    result = run("evaluate", gold, tmp_path / "none")
    assert result.code == 1
    assert result.err == f"error: {tmp_path / 'none'}: expected a file, found nothing under this name\n"


def test_one_of_the_files_may_be_stdin(gold: Path, wrong: Path) -> None:
    expected = run("evaluate", gold, wrong, gold)
    assert run("evaluate", "-", wrong, gold, stdin=PLAIN) == expected
    assert run("evaluate", gold, "-", gold, stdin=WRONG) == expected
    result = run("evaluate", "-", "-", stdin=PLAIN)
    assert result.code == 2
    assert result.err == "error: only one of GOLD, PRED and OTHER can be read from stdin\n"


GOLD_TEXT = """\
1\tab\t_\tNOUN\tNN\t_\t2\tnmod:poss\t_\t_
2\tc\t_\tVERB\tVB\t_\t0\troot\t_\t_

"""
OWN_TOKENS = """\
1\ta\t_\tNOUN\tNN\t_\t3\tnmod\t_\t_
2\tb\t_\tNOUN\tNN\t_\t1\tdep\t_\t_
3\tc\t_\tVERB\tVB\t_\t0\troot\t_\t_

"""


def test_a_system_with_tokens_of_its_own_is_scored_by_f1(tmp_path: Path) -> None:
    gold, own = tmp_path / "gold.conllu", tmp_path / "own.conllu"
    gold.write_text(GOLD_TEXT)
    own.write_text(OWN_TOKENS)
    result = run("evaluate", gold, own)
    lines = [line.split() for line in result.out.splitlines()]
    assert lines[0] == [f"*|tokens:own|punct:yes|subtypes:yes|sents:1|v:{treetune.__version__}"]
    assert [line[:2] for line in lines[3:]] == [
        *(["Tokens", "40.00"], ["Sentences", "100.00"], ["Words", "40.00"], ["UPOS", "40.00"], ["XPOS", "40.00"]),
        *([name, "40.00"] for name in ("UFeats", "AllTags", "Lemmas", "UAS", "LAS", "CLAS", "MLAS", "BLEX")),
    ]
    content = json.loads(run("evaluate", gold, own, "--json").out)["predicted"]
    assert content["scores"]["LAS"] == pytest.approx(0.4)
    assert content["counts"]["Words"] == {"gold": 2, "predicted": 3, "right": 1}


def test_two_systems_of_which_one_has_other_tokens_stand_side_by_side(tmp_path: Path) -> None:
    gold, own = tmp_path / "gold.conllu", tmp_path / "own.conllu"
    gold.write_text(GOLD_TEXT)
    own.write_text(OWN_TOKENS)
    result = run("evaluate", gold, gold, own)
    assert next(line for line in result.out.splitlines() if line.startswith("LAS")).split()[1:3] == ["100.00", "40.00"]
    assert "F1 of PREDICTED  F1 of OTHER" in result.out
    assert set(json.loads(run("evaluate", gold, own, gold, "--json").out)) == {"predicted", "other"}
    refused = run("evaluate", gold, own, "--by-label")
    assert refused.code == 2
    assert "--by-label needs the tokens of GOLD, and a system has others; leave it out" in refused.err
