"""Patterns over expressions: a text such as ``[acquire, ?who, ?what]`` goes in; a `Pattern` comes out.

The notation is that of expressions with variables (``?name``), alternatives (``a|b``), prefixes (``acqui*``), the
connective ``~`` for any, modifiers that must be missing (``/!not``) or may be (``:[in, ^, ?when]?``), and ``...`` for
further elements of a tuple.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from treetune.errors import ConfigError
from treetune.semantics.expression import COMPOUND, CONNECTIVES

ANY_CONNECTIVE = "~"
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<more>\.\.\.)
  | (?P<quoted>"(?:[^"\\]|\\.)*")
  | (?P<variable>\?\w*)
  | (?P<mark>[][{}(),:./+@&%|!=^~])
  | (?P<word>[^][{}(),:./+@&%|?!=^~"\s]+)
  )""",
    re.VERBOSE,
)
_END = "the end"


@dataclass(frozen=True, slots=True)
class WordPattern:
    """One of several words, in lower case; one that ends in ``*`` stands for all words that begin so."""

    words: frozenset[str]
    prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unspecified:
    """The unspecified argument, ``_``."""


@dataclass(frozen=True, slots=True)
class Abstracted:
    """The abstracted argument, ``^``."""


@dataclass(frozen=True, slots=True)
class Anything:
    """Any expression."""


@dataclass(frozen=True, slots=True)
class TuplePattern:
    """A tuple; `more` allows further elements."""

    items: tuple[Pattern, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class MembersPattern:
    """A collection with its word (`head`), or a sequence (`head` is None), that has all these members."""

    head: Core | None
    members: tuple[Pattern, ...]


Core = WordPattern | Unspecified | Abstracted | Anything | TuplePattern | MembersPattern


@dataclass(frozen=True, slots=True)
class ModifierPattern:
    """A modifier that must be there, must not (`is_forbidden`) or may (`is_optional`)."""

    connective: str
    pattern: Pattern
    is_forbidden: bool = False
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """What an expression must be: its core, its modifiers, and the variable that binds it.

    An optional argument, ``?who?``, may also be unspecified.
    """

    core: Core
    modifiers: tuple[ModifierPattern, ...] = ()
    variable: str | None = None
    is_optional: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of all variables, in the order of the text."""
        return tuple(dict.fromkeys(name for name in self._variables()))

    def _variables(self) -> Iterator[str]:
        if self.variable is not None:
            yield self.variable
        for inner in _inner(self.core):
            yield from inner._variables()
        for modifier in self.modifiers:
            if not modifier.is_forbidden:
                yield from modifier.pattern._variables()

    def required_words(self) -> Iterator[WordPattern]:
        """Yield the words without which no sentence has a match."""
        if isinstance(self.core, WordPattern):
            yield self.core
        elif isinstance(self.core, MembersPattern) and isinstance(self.core.head, WordPattern):
            yield self.core.head
        for inner in _inner(self.core):
            if not inner.is_optional:
                yield from inner.required_words()
        for modifier in self.modifiers:
            if not (modifier.is_forbidden or modifier.is_optional):
                yield from modifier.pattern.required_words()


def _inner(core: Core) -> tuple[Pattern, ...]:
    if isinstance(core, TuplePattern):
        return core.items
    return core.members if isinstance(core, MembersPattern) else ()


def parse_pattern(text: str) -> Pattern:
    """Return the pattern of a text.

    Raises:
        ConfigError: The text is no pattern; the message says at which character.
    """
    reader = _Reader(text)
    found = reader.pattern()
    reader.expect(_END)
    return found


class _Reader:
    """Recursive descent over the tokens of a pattern."""

    _OPENING: ClassVar[str] = "expected a word, a variable, '[', '(', '|', '^' or '_'"

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._tokens())
        self.next = 0

    def _tokens(self) -> Iterator[tuple[str, str, int]]:
        start, end = 0, len(self.text.rstrip())
        while start < end:
            found = _TOKEN.match(self.text, start)
            if found is None:
                raise self._error("expected the end of a quoted word", end)
            kind = str(found.lastgroup)
            yield kind, found[kind], found.start(kind)
            start = found.end()
        yield "end", _END, end

    def _error(self, problem: str, start: int) -> ConfigError:
        return ConfigError(f"pattern {self.text!r}, character {start + 1}: {problem}")

    def _peek(self, *texts: str) -> bool:
        kind, text, _ = self.tokens[self.next]
        return text in texts and kind not in ("quoted", "word")

    def _take(self, *texts: str) -> bool:
        if not self._peek(*texts):
            return False
        self.next += 1
        return True

    def _unexpected(self, expected: str) -> ConfigError:
        _, text, start = self.tokens[self.next]
        return self._error(f"{expected}, found {text if text == _END else repr(text)}", start)

    def expect(self, text: str) -> None:
        """Take a token, or say what stands in its place."""
        if not self._take(text):
            raise self._unexpected(f"expected {text if text == _END else repr(text)}")

    def pattern(self) -> Pattern:
        """Read an element and the modifiers after it."""
        head = self._compound()
        modifiers = []
        while self._peek(ANY_CONNECTIVE, *CONNECTIVES):
            connective = self.tokens[self.next][1]
            self.next += 1
            forbidden, inner = self._take("!"), self._compound()
            modifiers.append(ModifierPattern(connective, inner, forbidden, is_optional=self._take("?")))
        return replace(head, modifiers=(*head.modifiers, *modifiers))

    def _compound(self) -> Pattern:
        """Read words joined by ``+``, of which the last is the head."""
        parts = [self._element()]
        while self._take(COMPOUND):
            parts.append(self._element())
        before = (ModifierPattern(COMPOUND, part) for part in parts[:-1])
        return replace(parts[-1], modifiers=(*parts[-1].modifiers, *before))

    def _element(self) -> Pattern:
        kind, text, _ = self.tokens[self.next]
        if kind == "variable":
            self.next += 1
            core: Core = self._core() if self._take("=") else Anything()
            return Pattern(core, variable=text[1:] or None, is_optional=self._take("?"))
        if self._take("("):
            found = self.pattern()
            self.expect(")")
            return found
        return Pattern(self._core())

    def _core(self) -> Core:
        kind, text, _ = self.tokens[self.next]
        if kind in ("word", "quoted"):
            return self._words() if text != "_" else self._taken(Unspecified())
        if self._take("^"):
            return Abstracted()
        if self._take("["):
            items, more = self._list("]")
            return TuplePattern(items, more)
        if self._take("|"):
            return MembersPattern(None, self._list("|")[0])
        raise self._unexpected(self._OPENING)

    def _taken(self, core: Core) -> Core:
        self.next += 1
        return core

    def _list(self, end: str) -> tuple[tuple[Pattern, ...], bool]:
        items = [self.pattern()]
        while self._take(","):
            if self.tokens[self.next][0] == "more":
                self.next += 1
                self.expect(end)
                return tuple(items), True
            items.append(self.pattern())
        if not self._take(end):
            raise self._unexpected(f"expected ',' or {end!r}")
        return tuple(items), False

    def _words(self) -> Core:
        words, prefixes = [], []
        while True:
            kind, text, _ = self.tokens[self.next]
            self.next += 1
            text = text.casefold()
            if kind == "quoted":
                words.append(re.sub(r"\\(.)", r"\1", text[1:-1]))
            elif text.endswith("*"):
                prefixes.append(text[:-1])
            else:
                words.append(text)
            if not (self._peek("|") and self.tokens[self.next + 1][0] in ("word", "quoted")):
                break
            self.next += 1
        head = WordPattern(frozenset(words), tuple(prefixes))
        return MembersPattern(head, self._list("}")[0]) if self._take("{") else head
