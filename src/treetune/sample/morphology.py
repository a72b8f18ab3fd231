"""Spelling: plurals, verb endings and the choice between "a" and "an"."""

from __future__ import annotations

import re

_HISS = re.compile(r"(s|x|z|ch|sh)$")
_Y = re.compile(r"[^aeiou]y$")
_O = re.compile(r"(potato|tomato|hero|echo)$")
_DOUBLES = re.compile(r"^[^aeiou]*[aeiou][bdgklmnprt]$")
_SILENT_H = ("honest", "hour", "honor")
_SOUNDS_LIKE_YOU = ("uni", "use", "euro", "one", "once")


def with_s(word: str) -> str:
    """Return the regular plural of a noun or third person of a verb."""
    if _HISS.search(word) or _O.search(word) or word == "go":
        return word + "es"
    if _Y.search(word):
        return word[:-1] + "ies"
    return word + "s"


def with_ed(verb: str) -> str:
    """Return the regular past of a verb."""
    if verb.endswith("e"):
        return verb + "d"
    if _Y.search(verb):
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def with_ing(verb: str) -> str:
    """Return the regular -ing form of a verb."""
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def article(following: str) -> str:
    """Return "a" or "an" for the word that follows.

    >>> article("honest"), article("uniform"), article("Otto"), article("old")
    ('an', 'a', 'an', 'an')
    """
    word = following.lower()
    if word.startswith(_SILENT_H):
        return "an"
    if word.startswith(_SOUNDS_LIKE_YOU):
        return "a"
    return "an" if word[0] in "aeiou" else "a"


def _doubled(verb: str) -> str:
    return verb + verb[-1] if _DOUBLES.match(verb) else verb
