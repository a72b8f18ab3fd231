"""Uptraining in the experiments: which sentences are taken, what base parsers make of them, how often they count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments import uptraining
from experiments.data import Limits, objective_files, paths, read
from experiments.runner import run_parser
from experiments.unlabelled import read_unlabelled, spoken
from experiments.uptraining import uptrained
from treetune import Example, Sentence, Tree
from treetune.corpus import write_conllu
from treetune.sample import generate

TREEBANK, QUESTIONS = generate(30, seed=1, kinds=("declarative",)), generate(12, seed=2, kinds=("wh",))
CONFIG: dict[str, Any] = {
    "data": {"folder": "questions", "train": ["source-train", "target-train"], "tests": ["target-test"]},
    "model": {"parser": "transition", "beam": 2, "inputs": ["upos"]},
    "train": {"epochs": 1},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "questions").mkdir()
    parts = {"source-train": TREEBANK, "target-train": QUESTIONS[:4], "target-test": QUESTIONS[4:6]}
    for name, examples in {**parts, "parsed": QUESTIONS[4:], "atis-train": QUESTIONS[6:10]}.items():
        write_conllu(examples, folder / "questions" / f"{name}.conllu")
    lines = [" ".join(example.sentence.forms[1:]) for example in QUESTIONS[4:]]
    (folder / "questions" / "words.txt").write_text("\n".join([*lines, lines[-1].upper()]) + "\n")
    (folder / "questions" / "text.txt").write_text("who saw mary? i don't know.\nhe's here\n")
    return folder


def made(folder: Path, **uptrain: Any) -> tuple[list[Example], list[Example]]:
    """The treebank of a row before and after uptraining."""
    config = {**CONFIG, "uptrain": uptrain}
    data = read(config, folder, Limits())
    return data.train, uptrained(config, data, seed=0, say=lambda _: None).train


def test_sentences_of_test_sets_and_repeated_ones_are_left_out(folder: Path) -> None:
    config = {**CONFIG, "uptrain": {"words": ["questions/words.txt"]}}
    found = read(config, folder, Limits()).extra
    assert [one.sentence.forms for one in found] == [one.sentence.forms for one in QUESTIONS[6:]]
    # A tagger of the treebank has tagged them.
    assert all(set(one.sentence.upos[1:]) <= {tag for two in TREEBANK for tag in two.sentence.upos} | {"PRON", "ADV"}
               for one in found)  # fmt: skip
    assert all(set(one.gold.heads[1:]) == {-1} for one in found)


def test_text_is_tokenised_line_by_line_and_limited_by_file(folder: Path) -> None:
    files = {name: folder / name for name in ("questions/text.txt", "questions/words.txt")}
    settings = {"text": ["questions/text.txt"], "words": ["questions/words.txt"]}
    found = read_unlabelled(settings, files, None, exclude=[])
    assert [one.sentence.forms[1:] for one in found[:2]] == [
        ("who", "saw", "mary", "?", "i", "do", "n't", "know", "."), ("he", "'s", "here"),
    ]  # fmt: skip
    assert len(read_unlabelled({**settings, "limit": 1}, files, None, exclude=[])) == 2
    ends = read_unlabelled({**settings, "ending": "."}, files, None, exclude=[])
    assert [one.sentence.forms[-1] for one in ends] == ["."]


def test_trees_of_sentences_that_come_tagged_are_not_used(folder: Path) -> None:
    files = {"parsed.conllu": folder / "questions" / "parsed.conllu"}
    found = read_unlabelled({"tagged": ["parsed.conllu"]}, files, 3, exclude=[])
    assert [one.sentence for one in found] == [one.sentence for one in QUESTIONS[4:7]]
    assert {head for one in found for head in one.gold.heads[1:]} == {-1}


def test_a_reranker_can_be_the_base_parser(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uptraining, "_BASES", {})
    one, other = ({"model": {"parser": parser, "beam": 2}} for parser in ("transition", "backward"))
    base = {**one, "reranker": other}
    config = {**CONFIG, "uptrain": {"words": ["questions/words.txt"], "base": base}}
    config["data"] = {**CONFIG["data"], "dev": "target-train"}
    data = uptrained(config, read(config, folder, Limits()), seed=0, say=lambda _: None)
    assert all(-1 not in one.gold.heads[1:] for one in data.train)
    # The two parsers are there for other rows.
    bases: list[Any] = list(uptraining._BASES.values())
    forward, backward, reranker = bases
    assert (reranker.base, reranker.second) == (forward, backward)


def test_spoken_sentences_have_no_marks_and_no_capitals() -> None:
    sentence = Sentence.of(
        ["Who", ",", "then", ",", "Ran", "?"], upos=["PRON", "PUNCT", "ADV", "PUNCT", "VERB", "PUNCT"]
    )
    tree = Tree.of([5, 3, 5, 3, 0, 5], ["nsubj", "punct", "advmod", "punct", "root", "punct"])
    found = spoken(Example(sentence, tree))
    assert (found.sentence.forms[1:], found.sentence.upos[1:]) == (("who", "then", "ran"), ("PRON", "ADV", "VERB"))
    assert found.gold == Tree.of([3, 3, 0], ["nsubj", "advmod", "root"])
    unknown = spoken(Example(sentence, Tree.unknown(6)))
    assert (unknown.sentence.forms[1:], unknown.gold) == (("who", "then", "ran"), Tree.unknown(3))


def test_files_of_a_row_are_named_for_its_digests(folder: Path) -> None:
    config = {**CONFIG, "uptrain": {"words": ["questions/words.txt"], "constrained": "atis-train"}}
    assert objective_files(config) == ["atis-train"]
    config["uptrain"] = {"words": ["questions/words.txt"], "tags": ["target-test", "target-train"]}
    # Of these files the tags are known, for the tagger of text.
    assert objective_files(config) == ["target-test"]
    assert paths(config, folder)["questions/words.txt"] == folder / "questions" / "words.txt"


def test_gold_trees_are_there_by_weight_beside_parsed_ones(folder: Path) -> None:
    before, after = made(folder, parsed=["questions/parsed.conllu"], weights={"target-train": 3})
    assert len(before) == 34
    assert after[:30] == before[:30]
    assert after[30:42] == [one for one in before[30:] for _ in range(3)]
    assert [one.gold for one in after[42:]] == [one.gold for one in QUESTIONS[6:]]


def test_a_base_parser_parses_text_and_is_trained_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uptraining, "_BASES", {})
    base = {"model": {"parser": "transition", "beam": 4}, "learner": {"learner": "mira"}}
    before, after = made(folder, words=["questions/words.txt"], base=base)
    assert [one.sentence.forms for one in after[len(before) :]] == [one.sentence.forms for one in QUESTIONS[6:]]
    assert all(-1 not in one.gold.heads[1:] for one in after)
    made(folder, words=["questions/words.txt"], base=base, limit=2)
    assert len(uptraining._BASES) == 1
    _, agreed = made(
        folder, words=["questions/words.txt"], base=base, agree={"model": {"parser": "backward", "beam": 1}}
    )
    assert len(uptraining._BASES) == 2
    assert set(map(repr, agreed)) <= set(map(repr, after))


def test_the_parser_of_a_row_is_the_base_parser_of_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uptraining, "_BASES", {})
    monkeypatch.setattr(uptraining, "KEPT", 4)
    data = read(CONFIG, folder, Limits())
    for beam in (1, 2, 3, 4, 5):
        config = {**CONFIG, "model": {**CONFIG["model"], "beam": beam}}
        run_parser(config, data, seed=0)
    bases: list[Any] = list(uptraining._BASES.values())
    assert [parser.beam for parser in bases] == [2, 3, 4, 5]
    said: list[str] = []
    for beam, trains in ((2, False), (1, True), (2, False)):
        base = {"model": {"parser": "transition", "beam": beam}}
        config = {**CONFIG, "uptrain": {"words": ["questions/words.txt"], "base": base}}
        uptrained(config, read(config, folder, Limits()), seed=0, say=said.append)
        assert ("  training a base parser" in said) is trains
        said.clear()


def test_known_main_verbs_are_in_the_trees_of_forced_decoding(folder: Path) -> None:
    before, after = made(folder, constrained="atis-train", weights={"atis-train": 2})
    forced = after[len(before) :: 2]
    assert after[len(before) + 1 :: 2] == forced
    for parsed, gold in zip(forced, QUESTIONS[6:10], strict=True):
        assert parsed.sentence.forms == gold.sentence.forms
        assert parsed.gold.roots == gold.gold.roots


def test_parsed_trees_are_converted(folder: Path) -> None:
    _, after = made(folder, parsed=["questions/parsed.conllu"], convert=True)
    assert [one.sentence.forms for one in after[34:]] == [one.sentence.forms for one in QUESTIONS[6:]]
    assert all(one.gold.roots for one in after[34:])
