"""Small phrases that fit almost any clause: times and adjectives with a degree."""

from __future__ import annotations

from treetune.sample.draw import Draw
from treetune.sample.nominals import adjective_word, prepositional
from treetune.sample.pronouns import determiner
from treetune.sample.words import Phrase, Word, adverb


def time_phrase(draw: Draw, time: str) -> tuple[Phrase, str]:
    """Make a phrase that says when, fit for a past, future or any tense, and its relation to the verb."""
    style = draw.weighted({"adverb": 3, "bare": 4, "preposition": 3})
    if style == "adverb":
        row = "past" if time == "past" and draw.maybe(0.6) else "any_time"
        return Phrase(adverb(draw.word("adverbs", row))), "advmod"
    if style == "bare":
        return _bare_time(draw, time), "obl:unmarked"
    return _prepositional_time(draw), "obl"


def degree_phrase(draw: Draw, kind: str) -> Phrase:
    """Make an adjective as predicate, perhaps with "very" before it or another adjective beside it."""
    adjective = draw.adjective(kind)
    phrase = Phrase(adjective_word(adjective))
    if adjective.gradable and draw.maybe(0.3):
        phrase.before(adverb(draw.word("adverbs", "degree")), "advmod")
    return phrase


def _time_noun(form: str) -> Word:
    if form[0].isupper():
        return Word(form, form, "PROPN/NNP", feats="Number=Sing")
    return Word(form, form, "NOUN/NN", feats="Number=Sing")


def _bare_time(draw: Draw, time: str) -> Phrase:
    """Make "last week", "next year" or "every day"."""
    if time == "any":
        return Phrase(_time_noun(draw.word("times", "any"))).before(determiner("every"), "det")
    which = "last" if time == "past" else "next"
    word = Word(which, which, "ADJ/JJ", feats="Degree=Pos")
    return Phrase(_time_noun(draw.word("times", time))).before(word, "amod")


def _prepositional_time(draw: Draw) -> Phrase:
    """Make "in the morning", "on Monday", "in June" or "in 1984"."""
    style = draw.one_of(("part", "day", "month", "year"))
    if style == "part":
        inner = Phrase(_time_noun(draw.word("times", "parts"))).before(determiner("the"), "det")
        return prepositional("in", inner)
    if style == "day":
        return prepositional("on", Phrase(_time_noun(draw.word("times", "days"))))
    if style == "month":
        return prepositional("in", Phrase(_time_noun(draw.word("times", "months"))))
    year = str(1900 + draw.one_of(range(120)))
    return prepositional("in", Phrase(Word(year, year, "NUM/CD", feats="NumForm=Digit|NumType=Card")))
