"""Multiword tokens whose words are not written one after the other, as French ``du`` is ``de`` and ``le``.

Those that are, as ``don't`` is ``do`` and ``n't``, are found by the tokenizer's own decisions. These are learned as a
table of what was seen, and as endings that were replaced in the same way in several words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from treetune.checked_state import Fields, check_printable, expected

Words = tuple[str, ...]

# An ending is believed if so many different tokens had it, and so large a part of all tokens with it were split so.
_LEAST_TOKENS = 3
_LEAST_SHARE = 0.9
# What must be left of a token before an ending that was never seen on it.
_LEAST_STEM = 3


@dataclass(frozen=True)
class MultiwordTable:
    """What tokens in lower case, and endings of longer ones, are split into.

    The words of an ending follow the stem: ``("", "x")`` leaves the stem as the first word and adds a second.
    """

    tokens: dict[str, Words] = field(default_factory=dict)
    endings: dict[str, Words] = field(default_factory=dict)

    @classmethod
    def learn(cls, tokens: Iterable[tuple[str, Words]]) -> MultiwordTable:
        """Train on the (form, words) pairs of all tokens of a treebank."""
        seen: dict[str, Counter[Words]] = defaultdict(Counter)
        for form, words in tokens:
            lower = tuple(word.lower() for word in words)
            seen[form.lower()][() if len(words) == 1 or "".join(words) == form else lower] += 1
        usual = {form: max(counts, key=lambda words: (counts[words], words)) for form, counts in seen.items()}
        table = {form: words for form, words in sorted(usual.items()) if words}
        return cls(table, _endings(usual, table))

    def split(self, form: str) -> Words:
        """Return the words of a token, written as it is; only the form itself if it is not to be split."""
        lower = form.lower()
        words = self.tokens.get(lower)
        if words is None and self.endings:
            # No longer slice than an ending can have: time must be linear in the length of the token.
            for start in range(max(_LEAST_STEM, len(lower) - self._longest), len(form)):
                ending = self.endings.get(lower[start:])
                if ending is not None:
                    words = (lower[:start] + ending[0], *ending[1:])
                    break
        return (form,) if words is None else _written_like(form, words)

    @cached_property
    def _longest(self) -> int:
        """The length of the longest ending."""
        return max(map(len, self.endings), default=0)

    def __bool__(self) -> bool:
        """Whether there is anything to split."""
        return bool(self.tokens)

    def state(self) -> dict[str, Any]:
        """Return the table as plain JSON values."""
        return {
            "tokens": {form: list(words) for form, words in self.tokens.items()},
            "endings": {form: list(words) for form, words in self.endings.items()},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> MultiwordTable:
        """Rebuild a table from `state()`."""
        fields = Fields(state, "multiword")
        return cls(*(_words(fields.table(name)) for name in ("tokens", "endings")))


def _words(table: Fields) -> dict[str, Words]:
    """Return the checked words of forms or endings; the first word of an ending may be the stem alone."""
    found = {form: tuple(table.texts(form)) for form in table}
    for form, words in found.items():
        check_printable(words, table.path(form))
        if len(words) < 2 or not all(words[1:]):
            raise expected(table.path(form), "two words or more", list(words))
    return found


def _endings(usual: dict[str, Words], table: dict[str, Words]) -> dict[str, Words]:
    """Return the endings that are split in the same way in nearly all tokens that have them."""
    found: dict[tuple[str, Words], int] = Counter()
    for form, words in table.items():
        common = 0
        while common < min(len(form), len(words[0])) and form[common] == words[0][common]:
            common += 1
        # Any shorter stem explains the split too, and an ending too long for others to have it is left out below.
        for stem in range(_LEAST_STEM, common + 1):
            if stem < len(form):
                found[form[stem:], (words[0][stem:], *words[1:])] += 1
    wanted = {ending: words for (ending, words), count in sorted(found.items()) if count >= _LEAST_TOKENS}
    having: Counter[str] = Counter()
    longest = max(map(len, wanted), default=0)
    for form in usual:
        for start in range(max(_LEAST_STEM, len(form) - longest), len(form)):
            if form[start:] in wanted:
                having[form[start:]] += 1
    return {ending: words for ending, words in wanted.items() if found[ending, words] >= _LEAST_SHARE * having[ending]}


def _written_like(form: str, words: Words) -> Words:
    """Return words in the case of the token they are made of."""
    if len(form) > 1 and form.isupper():
        return tuple(word.upper() for word in words)
    if form[:1].isupper():
        return (words[0][:1].upper() + words[0][1:], *words[1:])
    return words
