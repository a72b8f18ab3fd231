"""Properties of the English itself, checked on the finished trees and not on how they were made."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from treetune.corpus.sentence import Example
from treetune.sample.lexicon import Frame, load_lexicon
from treetune.sample.morphology import article

LEXICON = load_lexicon()
CLASS_OF = {noun.lemma: kind for kind, nouns in LEXICON.nouns.items() for noun in nouns}
NOMINAL = ("obj", "obl", "nmod", "conj", "obl:agent")
FRAMES: dict[str, list[Frame]] = {}
for _verb in LEXICON.verbs:
    FRAMES.setdefault(_verb.lemma, []).append(_verb.frame)


def children(example: Example, head: int, *labels: str) -> list[int]:
    gold = example.gold
    return [i for i in range(1, len(gold) + 1) if gold.heads[i] == head and gold.labels[i] in labels]


def text(example: Example) -> str:
    return example.sentence.comments[1]


def is_plural(example: Example, noun: int) -> bool:
    conjuncts = children(example, noun, "conj")
    if conjuncts:
        joined = children(example, conjuncts[-1], "cc")
        if example.sentence.lemmas[joined[0]] == "and":
            return True
        noun = conjuncts[-1]
    return "Number=Plur" in example.sentence.feats[noun]


def subject_agreement(example: Example, subject: int) -> tuple[int, bool]:
    sentence, gold = example.sentence, example.gold
    if "PronType=Rel" in sentence.feats[subject]:
        return 3, is_plural(example, gold.heads[gold.heads[subject]])
    lemma = sentence.lemmas[subject]
    person = {"I": 1, "we": 1, "you": 2}.get(lemma, 3) if sentence.xpos[subject] == "PRP" else 3
    return person, is_plural(example, subject) or lemma in ("we", "they")


def finite_verbs(example: Example) -> Iterator[tuple[int, int]]:
    """Yield (finite indicative verb, its subject) wherever the subject is in the same clause."""
    for i, feats in enumerate(example.sentence.feats):
        if "Mood=Ind" not in feats:
            continue
        predicate = example.gold.heads[i] if example.gold.labels[i] in ("aux", "aux:pass", "cop") else i
        subjects = children(example, predicate, "nsubj", "nsubj:pass")
        if subjects:
            yield i, subjects[0]


def test_verbs_agree_with_their_subjects(everything: list[Example]) -> None:
    checked = 0
    for example in everything:
        sentence = example.sentence
        for verb, subject in finite_verbs(example):
            person, plural = subject_agreement(example, subject)
            checked += 1
            form, xpos = sentence.forms[verb].lower(), sentence.xpos[verb]
            assert f"Person={person}" in sentence.feats[verb], text(example)
            assert ("Number=Plur" in sentence.feats[verb]) is plural, text(example)
            if xpos in ("VBZ", "VBP"):
                assert (xpos == "VBZ") is (person == 3 and not plural), text(example)
            if sentence.lemmas[verb] == "be":
                singular = {1: ("am", "was"), 2: ("are", "were"), 3: ("is", "was")}[person]
                assert form in (("are", "were") if plural else singular), text(example)
    assert checked > 4000


def test_auxiliaries_decide_the_form_of_the_next_verb(everything: list[Example]) -> None:
    follows = {"do": "VB", "have": "VBN", "modal": "VB"}
    for example in everything:
        sentence, gold = example.sentence, example.gold
        for head in set(gold.heads[1:]):
            chain = children(example, head, "aux", "aux:pass", "cop")
            chain = [*chain, head] if sentence.upos[head] == "VERB" else chain
            for first, second in pairwise(chain):
                name = "modal" if sentence.xpos[first] == "MD" else sentence.lemmas[first]
                expected = follows.get(name) or ("VBN" if gold.labels[first] == "aux:pass" else "VBG")
                assert sentence.xpos[second] == expected, text(example)


def test_articles_fit_the_next_word(everything: list[Example]) -> None:
    forms_seen = set()
    for example in everything:
        sentence = example.sentence
        for i in range(1, len(sentence)):
            if sentence.lemmas[i] == "a" and sentence.upos[i] == "DET":
                forms_seen.add(sentence.forms[i])
                assert sentence.forms[i].lower() == article(sentence.forms[i + 1])
    assert forms_seen == {"a", "an", "A", "An"}


def test_each_kind_has_its_hallmark(by_kind: dict[str, list[Example]]) -> None:
    for example in by_kind["declarative"]:
        assert example.sentence.forms[-1] == "."
        for verb, subject in finite_verbs(example):
            assert subject < verb or "expl" in example.gold.labels
    for example in by_kind["yes-no"]:
        assert example.sentence.forms[-1] == "?"
        assert example.sentence.upos[1] == "AUX"
        assert children(example, example.gold.roots[0], "nsubj", "nsubj:pass")[0] > 1
    for example in by_kind["wh"]:
        assert example.sentence.forms[-1] == "?"
        assert any(sentence_feats.endswith("PronType=Int") for sentence_feats in example.sentence.feats[1:3])
    for example in by_kind["imperative"]:
        root = example.gold.roots[0]
        commands = [root, *children(example, root, "aux")]
        assert any("Mood=Imp" in example.sentence.feats[i] for i in commands)
        assert not children(example, root, "nsubj")


def asked_role(example: Example, word: int) -> str:
    """Return the relation of the phrase that a question word belongs to."""
    gold, upos = example.gold, example.sentence.upos
    while gold.labels[word] in ("det", "nmod:poss", "advmod", "amod") and upos[gold.heads[word]] != "VERB":
        word = gold.heads[word]
    return gold.labels[word]


def test_questions_ask_for_every_role(by_kind: dict[str, list[Example]]) -> None:
    roles = set()
    words = set()
    for example in by_kind["wh"]:
        feats = example.sentence.feats
        first = next(i for i in range(1, len(feats)) if feats[i].endswith("PronType=Int"))
        words.add(example.sentence.lemmas[first])
        roles.add(asked_role(example, first))
    assert {"nsubj", "nsubj:pass", "obj", "obl", "advmod", "root"} <= roles
    assert {"who", "what", "which", "whose", "where", "when", "why", "how"} <= words


def test_all_constructions_occur(by_kind: dict[str, list[Example]]) -> None:
    labels = {label for e in by_kind["declarative"] for label in e.gold.labels[1:]}
    assert labels >= {
        *("root", "nsubj", "nsubj:pass", "obj", "iobj", "obl", "obl:agent", "obl:unmarked", "expl", "flat"),
        *("det", "amod", "nummod", "nmod", "nmod:poss", "compound", "case", "mark", "advmod", "cc", "conj"),
        *("aux", "aux:pass", "cop", "acl", "acl:relcl", "ccomp", "xcomp", "advcl", "punct"),
    }
    links = {
        e.sentence.lemmas[i]
        for e in by_kind["declarative"]
        for i in range(1, len(e.sentence) + 1)
        if "PronType=Rel" in e.sentence.feats[i]
    }
    assert links == {"who", "which", "that"}


def test_tags_are_ambiguous_as_in_real_text(everything: list[Example]) -> None:
    tags: dict[str, set[str]] = {}
    for example in everything:
        for form, upos in zip(example.sentence.forms[1:], example.sentence.upos[1:], strict=True):
            tags.setdefault(form.lower(), set()).add(upos)
    for word in ("plan", "light", "cook", "clean", "watch", "that", "to"):
        assert len(tags[word]) > 1, word
    assert sum(len(found) > 1 for found in tags.values()) > 60


def phrases(example: Example, label: str) -> Iterator[tuple[int, str, str]]:
    """Yield (noun, preposition, class of the noun) for common nouns with a preposition before them."""
    sentence = example.sentence
    for i in range(1, len(sentence) + 1):
        if example.gold.labels[i] == label and sentence.upos[i] == "NOUN" and sentence.lemmas[i] in CLASS_OF:
            cases = [c for c in children(example, i, "case") if c < i]
            if cases and sentence.lemmas[cases[0]] != "of":
                yield i, sentence.lemmas[cases[0]], CLASS_OF[sentence.lemmas[i]]


def governor(example: Example, noun: int) -> int:
    """Climb from a noun to the predicate it is an argument of."""
    while example.gold.labels[noun] in ("nmod", "conj"):
        noun = example.gold.heads[noun]
    return example.gold.heads[noun]


def test_phrases_on_nouns_are_allowed_by_the_noun_and_not_claimed_by_the_verb(
    everything: list[Example],
) -> None:
    seen = 0
    for example in everything:
        sentence, gold = example.sentence, example.gold
        for noun, preposition, kind in phrases(example, "nmod"):
            head = sentence.lemmas[gold.heads[noun]]
            assert LEXICON.licenses(CLASS_OF[head], preposition, kind), text(example)
            verb = governor(example, noun)
            frames = FRAMES.get(sentence.lemmas[verb], [])
            if 0 < verb < noun and len(frames) == 1 and sentence.upos[verb] == "VERB":
                assert not frames[0].claims(preposition, kind), text(example)
                seen += 1
    assert seen > 300


def test_phrases_on_verbs_are_claimed_by_the_verb_or_refused_by_the_nouns_between(
    everything: list[Example],
) -> None:
    seen = 0
    for example in everything:
        sentence, gold = example.sentence, example.gold
        for noun, preposition, kind in phrases(example, "obl"):
            verb = gold.heads[noun]
            if not 0 < verb < noun or sentence.upos[verb] != "VERB":
                continue
            between = [
                CLASS_OF[sentence.lemmas[i]]
                for i in range(noun - 1, verb, -1)
                if gold.labels[i] in NOMINAL and sentence.lemmas[i] in CLASS_OF
            ]
            claims = [frame.claims(preposition, kind) for frame in FRAMES.get(sentence.lemmas[verb], [])]
            allowed = any(LEXICON.licenses(other, preposition, kind) for other in between)
            assert any(claims) or not allowed, text(example)
            seen += bool(between)
    assert seen > 300


def test_the_same_preposition_attaches_both_ways(everything: list[Example]) -> None:
    after_dish = {"nmod": 0, "obl": 0}
    for example in everything:
        for label in after_dish:
            for noun, preposition, _ in phrases(example, label):
                before = [example.sentence.lemmas[i] for i in range(max(1, noun - 4), noun)]
                dish = any(CLASS_OF.get(lemma) == "dish" for lemma in before)
                after_dish[label] += preposition == "with" and dish
    assert min(after_dish.values()) >= 10
