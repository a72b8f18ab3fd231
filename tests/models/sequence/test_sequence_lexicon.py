"""Which tags a word may have."""

from __future__ import annotations

import numpy as np

from treetune.features.encoding import FIRST_ID, ROOT_ID, UNSEEN
from treetune.models.sequence import _kernels as kernels
from treetune.models.sequence.lexicon import Lexicon, TagTable
from treetune.models.sequence.word_pairs import WordPairs

N, V, A, P, X = range(5)
LEAST = 5


def learn(counts: dict[int, dict[int, int]], least: int = LEAST, least_rare: int = 3) -> Lexicon:
    words = [[word] for word, tags in counts.items() for count in tags.values() for _ in range(count)]
    tags = [[tag] for tags in counts.values() for tag, count in tags.items() for _ in range(count)]
    return Lexicon.learn(words, tags, size=FIRST_ID + 30, boundary=5, least=least, least_rare=least_rare)


def of(lexicon: Lexicon, word: int) -> set[int]:
    return set(lexicon.sets[lexicon.of_word[word]])


FIRM = {FIRST_ID + place: {N: 60, V: 60} for place in range(3)}  # three words that are both N and V
RARE = {FIRST_ID + 10 + place: {A: 1} for place in range(3)}


def test_what_a_word_may_be_depends_on_how_often_it_was_seen() -> None:
    known = {FIRST_ID + 20: {N: 7}, FIRST_ID + 21: {N: 150}, FIRST_ID + 22: {P: 2, X: 1}}
    lexicon = learn({**FIRM, **RARE, **known, UNSEEN: {V: 1}})
    assert of(lexicon, FIRST_ID) == {N, V}
    assert of(lexicon, FIRST_ID + 20) == {N, V}  # many words that are N are V too
    assert of(lexicon, FIRST_ID + 21) == {N}
    assert of(lexicon, FIRST_ID + 22) == {A, P, X}  # its own, and what rare words are
    assert of(lexicon, FIRST_ID + 10) == {A} == set(lexicon.sets[kernels.OPEN])
    assert of(lexicon, UNSEEN) == {A, V}  # one that was left out as rare has its own too
    assert of(lexicon, ROOT_ID) == {5}


def test_how_many_rare_words_must_have_a_tag_that_unseen_words_may_have() -> None:
    counts = {**FIRM, FIRST_ID + 10: {A: 1}}
    assert of(learn(counts), UNSEEN) == {N, V, A, P, X}  # none: anything
    assert of(learn(counts, least_rare=1), UNSEEN) == {A}


def test_without_a_dictionary_any_word_may_be_anything() -> None:
    lexicon = learn({**FIRM, **RARE}, least=0)
    assert of(lexicon, FIRST_ID) == of(lexicon, UNSEEN) == {N, V, A, P, X}


def test_without_rare_words_an_unseen_one_may_be_anything() -> None:
    assert of(learn(FIRM), UNSEEN) == {N, V, A, P, X}


def test_classes_are_the_usual_tags_in_order_of_their_counts() -> None:
    more = {FIRST_ID + 20: {V: 60, N: 61}, FIRST_ID + 21: {N: 99, V: 1}, FIRST_ID + 22: {N: 4}}
    classes = learn({**FIRM, **more}).classes
    assert classes[FIRST_ID] == classes[FIRST_ID + 1] == classes[FIRST_ID + 20]
    assert classes[FIRST_ID + 21] not in (UNSEEN, classes[FIRST_ID])
    assert classes[FIRST_ID + 22] == UNSEEN


def test_a_lexicon_can_learn_more_tags_of_words() -> None:
    lexicon = learn({**FIRM, **RARE})
    more = lexicon.extended([[FIRST_ID, FIRST_ID + 10, FIRST_ID + 1]], [[P, X, N]])
    assert of(more, FIRST_ID) == {N, V, P}
    assert of(more, FIRST_ID + 1) == {N, V}
    assert of(more, FIRST_ID + 10) == of(more, FIRST_ID + 11) == {A, X}  # rare words share one set
    assert np.array_equal(more.classes, lexicon.classes)
    assert of(lexicon, FIRST_ID) == {N, V}


def test_parts_of_tags_match_what_has_them() -> None:
    table = TagTable(("N m", "N n", "V n"))
    assert table.matching("N ") == [0, 1]
    assert table.matching(" n") == [1, 2]
    assert table.matching("V n") == [2]
    assert table.matching("V") == table.matching("X ") == []


def test_tags_of_words_with_their_input_tags() -> None:
    verb, noun, other = FIRST_ID, FIRST_ID + 1, FIRST_ID + 2
    saw, dog, axe, ice = range(FIRST_ID, FIRST_ID + 4)
    seen = {(saw, verb): (V, 9), (saw, noun): (N, 9), (dog, noun): (A, 1), (axe, noun): (A, 1), (ice, noun): (A, 1)}
    words, inputs = (np.array(column, np.int32) for column in zip(*seen, strict=True))
    pairs = WordPairs.learn(words, inputs, FIRST_ID + 3)
    numbers = dict(zip(seen, pairs.numbers(words, inputs).tolist(), strict=True))
    assert sorted(numbers.values()) == list(range(FIRST_ID + 3, len(pairs)))
    assert all(pairs.tag_of(number) == tag for (_, tag), number in numbers.items())
    keys = [[numbers[pair]] for pair, (_, count) in seen.items() for _ in range(count)]
    tags = [[tag] for tag, count in seen.values() for _ in range(count)]
    lexicon = Lexicon.learn(keys, tags, size=len(pairs), boundary=5, least=LEAST, least_rare=3, pairs=pairs)

    def allowed(word: int, tag: int) -> set[int]:
        return of(lexicon, int(pairs.numbers(np.array([word], np.int32), np.array([tag], np.int32))[0]))

    assert (allowed(saw, verb), allowed(saw, noun)) == ({V}, {N})
    assert allowed(dog, noun) == allowed(UNSEEN, noun) == {A}  # what rare words with this tag are
    assert allowed(dog, verb) == {V}  # no rare word has this tag, so what all have
    assert allowed(dog, other) == allowed(saw, UNSEEN) == {A}  # what rare words are


def test_parts_of_tags() -> None:
    table = TagTable(("NOUN A=1|B=2", "NOUN _", "X"))
    starts, outputs = table.parts()
    assert starts.tolist() == [0, 3, 5, 5]
    # NOUN, A=1 and B=2; NOUN and nothing; a tag of one part shares nothing
    assert outputs.tolist() == [3, 4, 5, 3, 6]
