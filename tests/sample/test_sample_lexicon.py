"""The lexicon file: its tables name only classes that exist, and spelling follows the rules of English."""

from __future__ import annotations

from collections import Counter

import pytest

from treetune.sample.lexicon import Frame, load_lexicon
from treetune.sample.morphology import article, with_ed, with_ing, with_s

LEXICON = load_lexicon()


def test_a_noun_belongs_to_one_class() -> None:
    counts = Counter(noun.lemma for nouns in LEXICON.nouns.values() for noun in nouns)
    assert [lemma for lemma, count in counts.items() if count > 1] == []


def test_there_are_at_least_five_hundred_words() -> None:
    nouns = {noun.lemma for nouns in LEXICON.nouns.values() for noun in nouns}
    verbs = {verb.lemma for verb in LEXICON.verbs}
    adjectives = {word.lemma for words in LEXICON.adjectives.values() for word in words}
    assert len(nouns) >= 300
    assert len(verbs) >= 150
    assert len(adjectives) >= 90
    assert len(nouns | verbs | adjectives) >= 500
    assert len(nouns & verbs) >= 20


def test_tables_name_classes_that_exist() -> None:
    kinds = set(LEXICON.nouns)
    for table in ("traits", "adjective_use"):
        for used in LEXICON.tables[table].values():
            assert set(used) <= kinds
    for kind, row in LEXICON.modifiers.items():
        assert {kind, *(name for names in row.values() for name in names)} <= kinds
    for verb in LEXICON.verbs:
        frame = verb.frame
        assert {*frame.subject, *frame.object, *frame.recipient} <= kinds
        assert {kind for taken in frame.prepositions.values() for kind in taken} <= kinds
        assert not frame.passive or frame.object
    assert set(LEXICON.tables["adjective_use"]) < set(LEXICON.adjectives)
    assert set(LEXICON.tables["compounds"]) | set(LEXICON.tables["possessed"]) <= kinds


def test_every_class_of_nouns_but_the_attributes_is_used() -> None:
    used = {kind for _, kind in LEXICON.verbs_by_role}
    used |= {kind for row in LEXICON.modifiers.values() for kinds in row.values() for kind in kinds}
    assert set(LEXICON.nouns) - used == {"attribute"}


@pytest.mark.parametrize(
    ("nouns", "preposition", "kind", "expected"),
    [
        (["dish"], "with", "cutlery", None),
        (["dish"], "with", "topping", "dish"),
        (["person", "dish"], "with", "topping", "dish"),
        (["dish", "building"], "from", "building", "dish"),
        (["dish"], "during", "event", None),
        ([], "with", "topping", None),
    ],
)
def test_attachment_is_decided_by_verb_then_nearest_noun(
    nouns: list[str], preposition: str, kind: str, expected: str | None
) -> None:
    frame = Frame("eat", ("person",), prepositions={"with": ("cutlery",)})
    assert LEXICON.attaches_to(frame, nouns, preposition=preposition, kind=kind) == expected


def test_the_verb_goes_before_a_noun_that_would_also_take_the_phrase() -> None:
    frame = Frame("cover", ("person",), prepositions={"with": ("topping",)})
    assert LEXICON.attaches_to(frame, ["dish"], preposition="with", kind="topping") is None


def test_irregular_and_regular_verbs() -> None:
    verbs = {verb.lemma: verb for verb in LEXICON.verbs}
    parts = {name: (verbs[name].past, verbs[name].participle, verbs[name].ing) for name in ("eat", "put", "fix")}
    assert parts == {
        "eat": ("ate", "eaten", "eating"),
        "put": ("put", "put", "putting"),
        "fix": ("fixed", "fixed", "fixing"),
    }


@pytest.mark.parametrize(
    ("word", "plural"),
    [("box", "boxes"), ("story", "stories"), ("boy", "boys"), ("potato", "potatoes"), ("church", "churches")],
)
def test_plurals(word: str, plural: str) -> None:
    assert with_s(word) == plural


@pytest.mark.parametrize(
    ("verb", "past", "ing"),
    [
        ("plan", "planned", "planning"),
        ("carry", "carried", "carrying"),
        ("stay", "stayed", "staying"),
        ("bake", "baked", "baking"),
        ("visit", "visited", "visiting"),
        ("cook", "cooked", "cooking"),
        ("own", "owned", "owning"),
        ("agree", "agreed", "agreeing"),
    ],
)
def test_regular_verb_endings(verb: str, past: str, ing: str) -> None:
    assert (with_ed(verb), with_ing(verb)) == (past, ing)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("apple", "an"), ("house", "a"), ("honest", "an"), ("uniform", "a"), ("uncle", "an"), ("useful", "a")],
)
def test_articles(word: str, expected: str) -> None:
    assert article(word) == expected
