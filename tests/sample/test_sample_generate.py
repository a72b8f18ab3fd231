"""What `generate` and `treebank` promise: seeded, distinct, well-formed, written as CoNLL-U and read back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treetune.corpus import format_conllu, is_projective, is_tree, read_conllu, write_conllu
from treetune.corpus.sentence import Example
from treetune.errors import ConfigError
from treetune.sample import KINDS, QUESTIONS, generate, treebank

DOCS = Path(__file__).resolve().parents[2] / "docs" / "sample-english.md"


def text(example: Example) -> str:
    return next(line[9:] for line in example.sentence.comments if line.startswith("# text = "))


def test_the_same_seed_gives_the_same_sentences_and_another_seed_others() -> None:
    first = generate(200, seed=3, kinds=KINDS)
    assert generate(200, seed=3, kinds=KINDS) == first
    other = {text(example) for example in generate(200, seed=4, kinds=KINDS)}
    assert len(other & {text(example) for example in first}) < 20


def test_a_longer_call_starts_with_the_shorter_one() -> None:
    assert generate(50, seed=5, kinds=QUESTIONS) == generate(80, seed=5, kinds=QUESTIONS)[:50]


def test_the_default_is_declaratives() -> None:
    assert generate(20, seed=2) == generate(20, seed=2, kinds=("declarative",))


def test_thousands_of_distinct_sentences() -> None:
    for count, kinds in ((5000, ("declarative",)), (2000, QUESTIONS)):
        examples = generate(count, seed=1, kinds=kinds)
        assert len({text(example) for example in examples}) == len(examples) == count
        assert len({example.sentence.comments[0] for example in examples}) == count


def test_kinds_take_turns() -> None:
    types = [example.sentence.comments[2] for example in generate(8, kinds=KINDS)]
    assert types == [f"# s_type = {name}" for name in ("decl", "q", "wh", "imp")] * 2


def test_the_parts_of_a_treebank_share_no_sentence() -> None:
    bank = treebank(train=900, dev=200, test=300, seed=6, kinds=KINDS)
    assert [len(part) for part in bank] == [900, 200, 300]
    texts = [{text(example) for example in part} for part in bank]
    assert len(set.union(*texts)) == 1400
    assert bank.train == generate(900, seed=6, kinds=KINDS)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(), kind=st.sampled_from(KINDS))
def test_every_sentence_is_a_tree_with_one_root(seed: int, kind: str) -> None:
    for example in generate(10, seed=seed, kinds=(kind,)):
        sentence, gold = example.sentence, example.gold
        assert is_tree(gold.heads)
        assert len(gold.roots) == 1
        assert all(gold.labels[1:])
        assert {len(column) for column in (sentence.lemmas, sentence.misc, gold.heads, gold.labels)} == {
            len(sentence) + 1
        }
        assert (gold.labels[gold.roots[0]]) == "root"


def test_only_questions_out_of_complements_cross(by_kind: dict[str, list[Example]]) -> None:
    share = {
        kind: sum(not is_projective(e.gold.heads) for e in examples) / len(examples)
        for kind, examples in by_kind.items()
    }
    assert share["declarative"] == share["yes-no"] == share["imperative"] == 0
    assert 0.02 < share["wh"] < 0.12


def test_the_text_follows_from_the_words_and_spaces(everything: list[Example]) -> None:
    for example in everything:
        sentence = example.sentence
        spaced = "".join(
            form + ("" if misc == "SpaceAfter=No" else " ")
            for form, misc in zip(sentence.forms[1:], sentence.misc[1:], strict=True)
        )
        assert spaced.rstrip() == text(example)
        assert re.fullmatch(r"[A-Z].*\w[.?!]", text(example)), text(example)
        assert not re.search(r"\s[,.?!]|\s'|\sn't|  ", text(example))


def test_lengths_and_vocabulary_are_realistic(by_kind: dict[str, list[Example]]) -> None:
    means = {kind: sum(len(e.sentence) for e in part) / len(part) for kind, part in by_kind.items()}
    assert 9 <= means["declarative"] <= 13
    assert 7 <= means["wh"] <= 10
    assert 7 <= means["yes-no"] <= 10
    assert max(len(e.sentence) for e in by_kind["declarative"]) >= 28
    lemmas = {lemma for e in by_kind["declarative"] for lemma in e.sentence.lemmas[1:]}
    assert len(lemmas) >= 700


def test_a_test_set_has_words_that_training_never_saw(by_kind: dict[str, list[Example]]) -> None:
    statements = by_kind["declarative"]
    seen = {form.lower() for e in statements[:500] for form in e.sentence.forms}
    for held_out in (statements[500:], by_kind["yes-no"]):
        forms = [form.lower() for e in held_out for form in e.sentence.forms[1:]]
        assert 0.01 < sum(form not in seen for form in forms) / len(forms) < 0.25


def test_written_sentences_are_read_back(tmp_path: Path) -> None:
    examples = generate(100, seed=8, kinds=KINDS)
    path = tmp_path / "sample.conllu"
    write_conllu(examples, path)
    again = list(read_conllu(path))
    assert [(e.sentence, e.gold) for e in again] == [(e.sentence, e.gold) for e in examples]


def test_zero_sentences_are_none() -> None:
    assert generate(0) == []


@pytest.mark.parametrize(
    ("count", "kinds", "message"),
    [
        (-1, ("wh",), "expected a number of sentences of 0 or more, found -1"),
        (
            1,
            (),
            "expected at least one kind of sentence, found none; known: declarative, yes-no, wh, imperative",
        ),
        (
            1,
            ("declaratives",),
            "unknown kind of sentence 'declaratives'; known: declarative, imperative, wh, yes-no "
            "(did you mean 'declarative'?)",
        ),
    ],
)
def test_bad_arguments_are_refused(count: int, kinds: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        generate(count, kinds=kinds)
    assert str(caught.value) == message
    with pytest.raises(ConfigError) as caught:
        treebank(train=1, dev=1, test=count, kinds=kinds)
    assert str(caught.value) == message


def test_running_out_of_sentences_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treetune.sample.sentences.LONGEST", 2)
    monkeypatch.setattr("treetune.sample.sentences._PATIENCE", 60)
    with pytest.raises(ConfigError, match=r"^no new imperative sentence in 60 tries after \d+; ask for fewer$"):
        generate(500, kinds=("imperative",))


def test_the_examples_in_the_docs_are_what_is_generated() -> None:
    page = DOCS.read_text(encoding="utf-8")
    shown = re.findall(r"^\| (decl|q|wh|imp) \| (.*?) \|$", page, flags=re.M)
    examples = generate(16, seed=7, kinds=KINDS)
    made = [(e.sentence.comments[2][11:], text(e)) for e in examples]
    assert shown == made, "docs/sample-english.md is out of date"
    assert format_conllu(examples[2].sentence, examples[2].gold).strip() in page
