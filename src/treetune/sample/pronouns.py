"""Closed classes of the noun phrase: pronouns, articles and other determiners, numerals."""

from __future__ import annotations

from treetune.sample.words import Word

# lemma: (subject, object, possessive, features of person, number and gender)
_PRONOUNS = {
    "I": ("I", "me", "my", "Number=Sing|Person=1"),
    "you": ("you", "you", "your", "Person=2"),
    "he": ("he", "him", "his", "Gender=Masc|Number=Sing|Person=3"),
    "she": ("she", "her", "her", "Gender=Fem|Number=Sing|Person=3"),
    "it": ("it", "it", "its", "Gender=Neut|Number=Sing|Person=3"),
    "we": ("we", "us", "our", "Number=Plur|Person=1"),
    "they": ("they", "them", "their", "Number=Plur|Person=3"),
}
AGREEMENT = {"I": (1, False), "you": (2, False), "we": (1, True), "they": (3, True)}
_DETERMINERS = {
    "the": "Definite=Def|PronType=Art",
    "a": "Definite=Ind|PronType=Art",
    "this": "Number=Sing|PronType=Dem",
    "that": "Number=Sing|PronType=Dem",
    "these": "Number=Plur|PronType=Dem",
    "those": "Number=Plur|PronType=Dem",
    "every": "PronType=Tot",
    "each": "PronType=Tot",
    "all": "PronType=Tot",
    "some": "PronType=Ind",
    "no": "PronType=Neg",
    "another": "PronType=Ind",
}
_LEMMAS = {"these": "this", "those": "that"}


def pronoun(who: str, *, subject: bool) -> Word:
    """Return a personal pronoun as subject or object."""
    nominative, accusative, _, feats = _PRONOUNS[who]
    case = "Nom" if subject else "Acc"
    form = nominative if subject else accusative
    return Word(form, who, "PRON/PRP", feats=f"Case={case}|{feats}|PronType=Prs")


def possessive(who: str) -> Word:
    """Return my, your, his …"""
    _, _, form, feats = _PRONOUNS[who]
    return Word(form, form, "PRON/PRP$", feats=f"Case=Gen|{feats}|Poss=Yes|PronType=Prs")


def determiner(form: str) -> Word:
    """Return an article or another determiner; "a" becomes "an" later, when its neighbor is known."""
    return Word(form, _LEMMAS.get(form, form), "DET/DT", feats=_DETERMINERS[form])


def numeral(form: str) -> Word:
    """Return a numeral written as a word."""
    return Word(form, form, "NUM/CD", feats="NumForm=Word|NumType=Card")


def question_pronoun(form: str) -> Word:
    """Return who or what standing alone."""
    return Word(form, form, "PRON/WP", feats="PronType=Int")


def question_determiner(form: str) -> Word:
    """Return which, what or whose before a noun."""
    if form == "whose":
        return Word(form, form, "PRON/WP$", feats="Poss=Yes|PronType=Int")
    return Word(form, form, "DET/WDT", feats="PronType=Int")


def relative_pronoun(form: str) -> Word:
    """Return who, which or that as the link of a relative clause."""
    return Word(form, form, "PRON/WP" if form == "who" else "PRON/WDT", feats="PronType=Rel")
