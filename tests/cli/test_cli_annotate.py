"""`treetune annotate`: answers from the terminal, saved one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import run

from treetune.corpus.treebank import read_trees
from treetune.learning.answers import read_answers

TEXT = "show me flights to Oslo\nwhat is the fare\ndo you want to leave\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "questions.txt").write_text(TEXT)
    return tmp_path / "questions.txt"


def marks(path: Path) -> dict[str, int]:
    found = read_answers(read_trees(path, partial=True))
    return {" ".join(one.sentence.forms[1:]): one.main_verb for one in found}


def test_main_verbs_are_marked_taken_back_and_resumed(text: Path) -> None:
    out = text.with_name("marks.conllu")
    done = run("annotate", text, "-o", out, "--order", "as-given", stdin="\n3\nu\n1\nq\n")
    assert done.code == 0
    assert marks(out) == {"show me flights to Oslo": 1, "what is the fare": 1}
    assert "Which word is the main verb?" in done.out
    assert "2 main verbs of 3 sentences" in done.err
    again = run("annotate", text, "-o", out, "--order", "as-given", "-q", stdin="n\n")
    assert again.out.count("Which word is the main verb?") == 1
    assert "# main_verb = not sure" in out.read_text()
    assert "Which word is the main verb?" not in run("annotate", text, "-o", out, "-q").out


def test_the_least_certain_sentence_comes_first(text: Path) -> None:
    shown = [
        run("annotate", text, "-o", text.with_name(f"{order}.conllu"), "--order", order, "-q", stdin="q\n").out
        for order in ("margin", "as-given")
    ]
    assert "show" in shown[1]
    assert shown[0] != shown[1]


@pytest.mark.parametrize("answer", ["9", "x", "0"])
def test_a_wrong_answer_is_asked_again(text: Path, answer: str) -> None:
    out = text.with_name("marks.conllu")
    done = run("annotate", text, "-o", out, "--order", "as-given", "-q", stdin=f"{answer}\n2\nq\n")
    assert f"expected a number from 1 to 5, n, s, u, g or q, found '{answer}'" in done.out
    assert marks(out) == {"show me flights to Oslo": 2}


def test_what_cannot_be_is_said(text: Path) -> None:
    assert "unknown order 'best'" in run("annotate", text, "-o", "x.conllu", "--order", "best").err
    assert "expected files as IN and OUT" in run("annotate", "-", "-o", "x.conllu").err
