"""`treetune validate`: faults with file and line, by the official validator and by our own checks."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from commandline import run

from treetune.corpus.conllu import write_conllu
from treetune.corpus.ud_checks import UDChecker
from treetune.sample import generate

SOUND = """\
# sent_id = s1
# text = Dogs don't bark
1\tDogs\tdog\tNOUN\tNNS\tCase=Nom|Number=Plur\t4\tnsubj\t4:nsubj\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t4:aux\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t4:advmod\t_
4\tbark\tbark\tVERB\tVB\t_\t0\troot\t0:root|4.1:conj\t_
4.1\tbite\tbite\tVERB\tVB\t_\t_\t_\t4:conj\t_

"""


def own(text: str, level: int = 2) -> list[str]:
    return [str(fault) for fault in UDChecker(level).check(text.split("\n"))]


def test_a_sound_sentence_has_no_faults() -> None:
    assert own(SOUND) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("NOUN", "N", "line 3: column UPOS: expected one of the 17 universal tags, found 'N'"),
        ("Case=Nom|", "Person=3|",
         "line 3: column FEATS: expected features sorted by name, found 'Person=3|Number=Plur'"),
        ("Case=Nom|", "Number=Sing|",
         "line 3: column FEATS: expected each feature once, found 'Number=Sing|Number=Plur'"),
        ("Case=Nom|", "case=|", "line 3: column FEATS: expected features such as Number=Sing, found 'case='"),
        ("\tnsubj\t", "\tsubject\t",
         "line 3: column DEPREL: expected a universal relation, with a subtype or without, found 'subject'"),
        ("\taux\t", "\troot\t",
         "line 5: column DEPREL: expected root for the word with head 0 and no other, found 'root' with head 4"),
        ("4:aux", "9:aux",
         "line 5: column DEPS: expected a node of the sentence and a relation, as 2:nsubj, found '9:aux'"),
        ("0:root|4.1:conj", "4.1:conj|0:root",
         "line 7: column DEPS: expected enhanced relations sorted by head, each once, found '4.1:conj|0:root'"),
        ("4:aux\t_", "4:aux\tSpaceAfter=Yes",
         "line 5: column MISC: expected SpaceAfter=No or nothing, found 'SpaceAfter=Yes'"),
        ("don't\t_", "don't\tdo", "line 4: column LEMMA: expected _ on the line of a multiword token, found 'do'"),
        ("# sent_id = s1", "# newdoc", "line 1: expected a comment '# sent_id = …', found none"),
        ("# text = Dogs don't bark", "# newpar", "line 1: expected a comment '# text = …', found none"),
        ("text = Dogs don't", "text = Dogs do n't",
         "line 1: expected the comment text to be that of the tokens, \"Dogs don't bark\", found \"Dogs do n't bark\""),
        ("\t0\troot", "\t7\troot", "line 7: column HEAD: expected a head from 0 to 4, found '7'"),
    ],
)  # fmt: skip
def test_each_rule_is_checked(old: str, new: str, fault: str) -> None:
    assert old in SOUND
    assert own(SOUND.replace(old, new, 1)) == [fault]


def test_level_1_is_the_format_alone() -> None:
    assert own(SOUND.replace("NOUN", "N"), level=1) == []
    assert own(SOUND.replace("\t0\troot", "\t7\troot"), level=1) == [
        "line 7: column HEAD: expected a head from 0 to 4, found '7'"
    ]


def test_sentence_identifiers_are_unique_in_all_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(SOUND)
    checker = UDChecker()
    assert list(checker.check(tmp_path / "a")) == []
    assert [str(fault) for fault in checker.check(tmp_path / "b")] == [
        f"{tmp_path}/b:1: expected another sent_id than 's1', which is that of the sentence at {tmp_path}/a:1"
    ]


def test_the_command_without_the_official_validator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treetune.cli.validate.find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    write_conllu(generate(30, seed=3), "sound.conllu")
    Path("bad.conllu").write_text(SOUND.replace("NOUN", "N"))
    sound = run("validate", "sound.conllu")
    assert (sound.code, sound.out, sound.err) == (0, "", "0 faults in 1 file (level 2, checks of treetune)\n")
    bad = run("validate", "sound.conllu", "bad.conllu")
    assert (bad.code, bad.err) == (1, "1 fault in 2 files (level 2, checks of treetune)\n")
    assert bad.out == "bad.conllu:3: column UPOS: expected one of the 17 universal tags, found 'N'\n"
    assert run("validate", "bad.conllu", "--level", 1, "-q").err == ""
    assert run("validate", "bad.conllu", "--level", 3).err == (
        "error: level 3 needs the official validator; install it: pip install udtools\n"
    )
    missing = run("validate", "none.conllu")
    assert (missing.code, missing.err) == (1, "error: none.conllu: expected a file, found nothing under this name\n")


@pytest.mark.filterwarnings("default")
def test_the_command_with_the_official_validator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("udtools")
    monkeypatch.chdir(tmp_path)
    write_conllu(generate(5, seed=3), "sound.conllu")
    Path("bad.conllu").write_text(SOUND.replace("NOUN", "N"))
    Path("bytes.conllu").write_bytes(SOUND.encode() + b"1\\t\xff\n\n")
    with gzip.open("bad.conllu.gz", "wt") as out:
        out.write(SOUND.replace("\tnsubj\t", "\tsubject\t"))
    sound = run("validate", "sound.conllu")
    assert (sound.code, sound.out, sound.err) == (0, "", "0 faults in 1 file (level 3, udtools)\n")
    bad = run("validate", "bad.conllu", "bad.conllu.gz", "--level", 2)
    assert bad.code == 1
    assert bad.out.startswith("bad.conllu:3: level 2: unknown-upos: Unknown UPOS tag: 'N'.\n")
    assert "bad.conllu.gz:3: level 2: unknown-udeprel: " in bad.out
    assert run("validate", "-", stdin=SOUND.replace("NOUN", "N")).out.startswith("<stdin>:3: level 2: unknown-upos: ")
    assert "bytes.conllu:10: expected UTF-8 text, found the byte 0xff" in run("validate", "bytes.conllu").out
    assert run("validate", "none").err == "error: none: this file cannot be read: no such file or directory\n"
