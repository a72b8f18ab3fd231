"""Multiword tokens whose words are not written one after the other, as French ``du`` is ``de`` and ``le``.

Those that are, as ``don't`` is ``do`` and ``n't``, are found by the tokenizer's own decisions. The others are described
by scripts, for whole tokens or for endings and beginnings that several tokens had; weights choose among those that fit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from treetune.checked_state import Fields, check_printable, expected, texts
from treetune.models.tokenizer._word_kernels import KEEP, Candidates

Words = tuple[str, ...]

TOKEN, ENDING, BEGINNING = "token", "ending", "beginning"
# An ending or beginning is a script of its own if so many different tokens, and so large a part of all that have it,
# were split by it.
_LEAST_TOKENS = 2
_LEAST_SHARE = 0.05
# What must be left of a token beside an ending or beginning.
_LEAST_STEM = 2
# Scripts that are tried on one token.
_MOST_CANDIDATES = 8
# Forms whose candidates are remembered.
_REMEMBERED = 1 << 16


def is_joined(form: str, words: Words) -> bool:
    """Whether a token is its words, written one after the other; upper case does not count."""
    return len(form) == sum(map(len, words)) and "".join(words).lower() == form.lower()


class Script(NamedTuple):
    """The words that replace a token, its ending or its beginning, in lower case.

    The first word of an ending, and the last of a beginning, is joined to the stem: ``("", "x")`` leaves the stem as
    the first word and adds a second.
    """

    place: str
    affix: str
    words: Words

    def apply(self, form: str) -> Words:
        """Return the words of a token, written as it is."""
        words = self.words
        if self.place == ENDING:
            words = (form[: len(form) - len(self.affix)] + words[0], *words[1:])
        elif self.place == BEGINNING:
            words = (*words[:-1], words[-1] + form[len(self.affix) :])
        if len(form) > 1 and form.isupper():
            return tuple(word.upper() for word in words)
        return (words[0][:1].upper() + words[0][1:], *words[1:]) if form[:1].isupper() else words


class Scripts:
    """The scripts of a treebank, numbered, and which of them fit a token."""

    def __init__(self, scripts: Iterable[Script] = ()) -> None:
        self.scripts = tuple(scripts)

    @classmethod
    def learn(cls, tokens: Iterable[tuple[str, Words]]) -> Scripts:
        """Return the scripts of the (form, words) pairs of all tokens of a treebank."""
        forms: set[str] = set()
        seen: set[tuple[str, Words]] = set()
        for form, words in tokens:
            forms.add(form.lower())
            if len(words) > 1 and not is_joined(form, words) and all(words):
                seen.add((form.lower(), tuple(word.lower() for word in words)))
        options = {token: list(_affix_scripts(*token)) for token in sorted(seen)}
        shared = _productive(Counter(script for scripts in options.values() for script in scripts), forms)
        found = set()
        for (form, words), scripts in options.items():
            fitting = [script for script in scripts if script in shared]
            found.add(min(fitting, key=lambda script: len(script.affix), default=Script(TOKEN, form, words)))
        return cls(sorted(found))

    def __bool__(self) -> bool:
        """Whether there is anything to split."""
        return bool(self.scripts)

    def __getstate__(self) -> tuple[Script, ...]:
        """Return the scripts, without what is remembered of tokens."""
        return self.scripts

    def __setstate__(self, state: tuple[Script, ...]) -> None:
        """Restore the scripts."""
        self.scripts = state

    @cached_property
    def _fitting(self) -> _Fitting:
        return _Fitting(self.scripts)

    def candidates(self, forms: Sequence[str]) -> Candidates:
        """Return the tokens that scripts fit, with the numbers of these."""
        fitting = self._fitting
        if len(fitting) > _REMEMBERED:
            fitting.clear()
        found = [(token, numbers) for token, form in enumerate(forms) if (numbers := fitting[form])]
        return Candidates(
            tokens=np.array([token for token, _ in found], np.int64),
            starts=np.cumsum([0, *(len(numbers) for _, numbers in found)], dtype=np.int64),
            scripts=np.array([number for _, numbers in found for number in numbers], np.int64),
        )

    def gold(self, form: str, words: Words) -> int:
        """Return the number of the script that gives these words, or KEEP."""
        lower = tuple(word.lower() for word in words)
        for number in self._fitting[form] if len(words) > 1 else ():
            if tuple(word.lower() for word in self.scripts[number].apply(form)) == lower:
                return number
        return KEEP

    def state(self) -> dict[str, Any]:
        """Return the scripts as plain JSON values."""
        return {"scripts": [[script.place, script.affix, *script.words] for script in self.scripts]}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Scripts:
        """Rebuild the scripts from `state()`."""
        fields = Fields(state, "multiword")
        if "scripts" not in fields and not any(state.values()):
            # Of an earlier version, and of a language without such tokens.
            return cls()
        return cls(_checked(entry, fields.path("scripts")) for entry in fields.entries("scripts"))


class _Fitting(dict[str, tuple[int, ...]]):
    """The numbers of the scripts that fit a form, found when it is first asked for."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self._numbers: defaultdict[str, dict[str, list[int]]] = defaultdict(dict)
        for number, script in enumerate(scripts):
            self._numbers[script.place].setdefault(script.affix, []).append(number)
        self._longest = {place: max(map(len, affixes)) for place, affixes in self._numbers.items()}

    def __missing__(self, form: str) -> tuple[int, ...]:
        lower = form.lower()
        found = [*self._numbers[TOKEN].get(lower, ())]
        # No longer slices than affixes can have: time must be linear in the length of the token.
        if (most := min(len(form) - _LEAST_STEM, self._longest.get(ENDING, 0))) > 0 and len(lower) == len(form):
            for length in range(most, 0, -1):
                found += self._numbers[ENDING].get(lower[-length:], ())
        if (most := min(len(form) - _LEAST_STEM, self._longest.get(BEGINNING, 0))) > 0 and len(lower) == len(form):
            for length in range(most, 0, -1):
                found += self._numbers[BEGINNING].get(lower[:length], ())
        self[form] = numbers = tuple(found[:_MOST_CANDIDATES])
        return numbers


def _affix_scripts(form: str, words: Words) -> Iterable[Script]:
    """Yield the scripts with the longest stem that begins, or ends, both the token and its first, or last, word."""
    stem = _common(form, words[0])
    if _LEAST_STEM <= stem < len(form):
        yield Script(ENDING, form[stem:], (words[0][stem:], *words[1:]))
    stem = _common(form[::-1], words[-1][::-1])
    if _LEAST_STEM <= stem < len(form):
        yield Script(BEGINNING, form[: len(form) - stem], (*words[:-1], words[-1][: len(words[-1]) - stem]))


def _productive(counts: Counter[Script], forms: Iterable[str]) -> set[Script]:
    """Return the scripts by which enough of the tokens that have their endings or beginnings are split."""
    having: Counter[tuple[str, str]] = Counter()
    wanted = {(script.place, script.affix) for script, count in counts.items() if count >= _LEAST_TOKENS}
    for form in forms if wanted else ():
        parts = ((form[at:], form[:at]) for at in range(1, len(form)))
        having.update(
            place for parts_at in parts for place in zip((ENDING, BEGINNING), parts_at, strict=True) if place in wanted
        )
    return {script for script in counts if counts[script] >= max(_LEAST_TOKENS, _LEAST_SHARE * having[script[:2]])}


def _common(left: str, right: str) -> int:
    """Return how many characters two words have in common at their beginnings."""
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def _checked(entry: Any, path: str) -> Script:
    """Return a script of a model; only the word that is joined to a stem may be empty."""
    found = texts(entry, path)
    check_printable(found, path)
    if len(found) < 4 or found[0] not in (TOKEN, ENDING, BEGINNING) or not found[1]:
        raise expected(path, "a place, an affix and two words or more", found)
    script = Script(found[0], found[1], tuple(found[2:]))
    whole = {ENDING: script.words[1:], BEGINNING: script.words[:-1]}.get(script.place, script.words)
    if not all(whole):
        raise expected(path, "words", "")
    return script
