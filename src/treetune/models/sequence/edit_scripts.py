"""Edit scripts: how a lemma is made from a form, as a text that many words share (after Chrupała 2008).

A script says in which case to write the form, and what to replace at its start and at its end: ``l|0,|3,y`` writes it
in lower case and puts ``y`` in place of the last three letters (*Parties*, *party*). ``c|0,|0,`` leaves out commas
between digits (*5,000*, *5000*), ``p|0,|0,`` points. ``=be`` is the lemma itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import takewhile

_LOWER, _KEEP, _TITLE, _UPPER = "l", "k", "t", "u"
# In lower case, without what separates thousands.
_SEPARATORS = {"c": re.compile(r"(?<=\d),(?=\d)"), "p": re.compile(r"(?<=\d)\.(?=\d)")}
_DIGIT = re.compile(r"\d")
_SCRIPT = re.compile(r"([lktucp])\|(\d{1,3}),([^|]*)\|(\d{1,3}),([^|]*)")
_WHOLE = "="
# Tags have no spaces.
_SPACE, _WRITTEN_SPACE = " ", "\u2423"
# Longer words have a common start at most.
_LONGEST = 60


def lower(form: str, *, turkic: bool = False) -> str:
    """Return a form in lower case; in a `turkic` language ``I`` becomes ``ı`` and ``İ`` becomes ``i``."""
    if turkic:
        form = form.replace("I", "ı").replace("İ", "i")
    # The dot of İ would otherwise stay as a character of its own.
    return form.lower().replace("i\u0307", "i")


def is_turkic(pairs: Iterable[tuple[str, str]]) -> bool:
    """Return whether ``I`` becomes ``ı`` in most lemmas of (form, lemma) pairs that say so."""
    votes = 0
    for form, lemma in pairs:
        if "I" in form and lemma:
            votes += {"ı": 1, "i": -1}.get(lemma[form.index("I")] if form.index("I") < len(lemma) else "", 0)
    return votes > 0


def make_script(form: str, lemma: str, *, turkic: bool = False) -> str:
    """Return the script that makes a lemma from a form."""
    cases: tuple[str, ...] = (_LOWER,) if lower(lemma, turkic=turkic) == lemma else (_KEEP, _TITLE, _UPPER)
    if _DIGIT.search(form):
        cases += tuple(case for case, separator in _SEPARATORS.items() if separator.search(form))
    case = cases[0] if len(cases) == 1 else max(cases, key=lambda one: _common(_written(form, one, turkic), lemma)[2])
    written = _written(form, case, turkic)
    first, second, size = _common(written, lemma)
    start, end = lemma[:second], lemma[second + size :]
    if not size or "|" in start + end or max(first, len(written)) > 999:
        return f"{_WHOLE}{lemma}".replace(_SPACE, _WRITTEN_SPACE)
    script = f"{case}|{first},{start}|{len(written) - first - size},{end}"
    return script.replace(_SPACE, _WRITTEN_SPACE)


def apply_script(form: str, script: str, *, turkic: bool = False) -> str:
    """Return the lemma that a script makes of a form; the form in the script's case if it is too short for it."""
    if script.startswith(_WHOLE):
        return script[1:].replace(_WRITTEN_SPACE, _SPACE)
    case, first, start, last, end = _parsed(script)
    written = _written(form, case, turkic)
    if first + last >= len(written):
        return written
    return f"{start}{written[first : len(written) - last]}{end}"


def changes_digits(form: str, script: str) -> bool:
    """Return whether a script writes digits into a form that has some: it is right for this number alone."""
    if not _DIGIT.search(form):
        return False
    parts = (script,) if script.startswith(_WHOLE) else (_parsed(script)[2], _parsed(script)[4])
    return any(map(_DIGIT.search, parts))


def is_script(text: str) -> bool:
    """Return whether a text is an edit script."""
    return len(text) > 1 if text.startswith(_WHOLE) else _SCRIPT.fullmatch(text) is not None


@lru_cache(maxsize=1 << 14)
def _parsed(script: str) -> tuple[str, int, str, int, str]:
    match = _SCRIPT.fullmatch(script.replace(_WRITTEN_SPACE, _SPACE))
    assert match is not None, script
    return match[1], int(match[2]), match[3], int(match[4]), match[5]


def _written(form: str, case: str, turkic: bool) -> str:
    """Return a form in one of the cases."""
    if case == _KEEP:
        return form
    if case == _UPPER:
        return (form.replace("i", "İ") if turkic else form).upper()
    small = lower(form, turkic=turkic)
    if case in _SEPARATORS:
        return _SEPARATORS[case].sub("", small)
    return small if case == _LOWER else form[:1].upper() + small[1:]


def _common(form: str, lemma: str) -> tuple[int, int, int]:
    """Return where the longest common part starts in both, and its length."""
    if form == lemma:
        return 0, 0, len(form)
    if max(len(form), len(lemma)) > _LONGEST:
        pairs = zip(form, lemma, strict=False)
        return 0, 0, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    best = (0, 0, 0)
    lengths = [0] * (len(lemma) + 1)
    for i, character in enumerate(form, start=1):
        for j in range(len(lemma), 0, -1):
            lengths[j] = lengths[j - 1] + 1 if lemma[j - 1] == character else 0
            if lengths[j] > best[2]:
                best = (i - lengths[j], j - lengths[j], lengths[j])
    return best
