"""Search for patterns: a `Pattern`, an expression and its sentence go in; matches with their bindings come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from treetune.corpus.sentence import ABSENT, Sentence
from treetune.semantics.expression import Expression
from treetune.semantics.patterns import (
    ANY_CONNECTIVE,
    Abstracted,
    Anything,
    Core,
    MembersPattern,
    ModifierPattern,
    Pattern,
    TuplePattern,
    Unspecified,
    WordPattern,
)
from treetune.semantics.places import Place

Bindings = Mapping[str, Expression]


@dataclass(frozen=True, slots=True)
class Match:
    """An expression that matches a pattern, and what its variables stand for; optional ones may be missing."""

    expression: Expression
    bindings: Bindings


class Matcher:
    """A pattern, ready to be searched for.

    A word of the pattern matches a word of the sentence by form or lemma, with `forms` by form alone; case is ignored.
    """

    def __init__(self, pattern: Pattern, *, forms: bool = False) -> None:
        self.pattern = pattern
        self._forms = forms
        self._required = tuple(pattern.required_words())

    def may_match(self, sentence: Sentence) -> bool:
        """Whether the sentence has all words that the pattern needs: a quick test before its expression is made."""
        columns = sentence.forms[1:] if self._forms else (*sentence.forms[1:], *sentence.lemmas[1:])
        names = {name.casefold() for name in columns}
        return all(
            not one.words.isdisjoint(names) or (one.prefixes and any(name.startswith(one.prefixes) for name in names))
            for one in self._required
        )

    def find(self, expression: Expression, sentence: Sentence) -> Iterator[Match]:
        """Yield the matches in the expression of a sentence, outer ones first."""
        search = _Search(self._forms)
        for place in Place(expression, sentence).below():
            if place.meant is not place:
                continue
            seen: list[Bindings] = []
            for found in search.match(self.pattern, place, {}):
                if found not in seen:
                    seen.append(found)
                    yield Match(place.node, found)


@dataclass(frozen=True, slots=True)
class _Search:
    """Backtracking over what a pattern may stand for in one sentence."""

    forms: bool

    def match(self, pattern: Pattern, place: Place, bound: Bindings) -> Iterator[Bindings]:
        kind, core = place.node.kind, pattern.core
        if place.stands_for is not None and not self._is_literal(core, place):
            yield from self.match(pattern, place.stands_for, bound)
        elif kind in ("unspecified", "abstraction") and pattern.is_optional:
            yield bound
        elif kind == "collection" and isinstance(core, WordPattern | TuplePattern):
            for member in place.parts()[1:]:
                yield from self.match(pattern, member, bound)
        else:
            for found in self._core(pattern, place, bound):
                yield from self._modifiers(pattern.modifiers, list(place.modifiers()), found)

    def _is_literal(self, core: Core, place: Place) -> bool:
        """Whether a pattern asks for ^, for _ or for the relative pronoun itself."""
        if isinstance(core, WordPattern):
            return self._is_word(core, place)
        wanted = {Abstracted: "abstraction", Unspecified: "unspecified"}.get(type(core))
        return place.node.kind == wanted

    def _core(self, pattern: Pattern, place: Place, bound: Bindings) -> Iterator[Bindings]:
        named = self._bind(pattern.variable, place.bare(), bound)
        if named is None:
            return
        node, core = place.node, pattern.core
        if isinstance(core, TuplePattern):
            parts = place.parts()
            if node.kind == "tuple" and (len(parts) >= len(core.items) if core.more else len(parts) == len(core.items)):
                yield from self._all(core.items, parts, named)
        elif isinstance(core, MembersPattern):
            yield from self._members(core, place, named)
        elif self._is_literal(core, place) or (isinstance(core, Anything) and place.meant is not None):
            yield named

    def _bind(self, name: str | None, node: Expression, bound: Bindings) -> Bindings | None:
        if name is None:
            return bound
        if name in bound:
            return bound if _said(bound[name]) == _said(node) else None
        return {**bound, name: node}

    def _all(self, patterns: Sequence[Pattern], places: Sequence[Place], bound: Bindings) -> Iterator[Bindings]:
        if not patterns:
            yield bound
            return
        for found in self.match(patterns[0], places[0], bound):
            yield from self._all(patterns[1:], places[1:], found)

    def _members(self, core: MembersPattern, place: Place, bound: Bindings) -> Iterator[Bindings]:
        parts = place.parts()
        if place.node.kind != ("sequence" if core.head is None else "collection"):
            return
        if core.head is not None:
            if not any(True for _ in self.match(Pattern(core.head), parts[0], bound)):
                return
            parts = parts[1:]
        wanted = [ModifierPattern(ANY_CONNECTIVE, member) for member in core.members]
        yield from self._modifiers(wanted, [("", part) for part in parts], bound)

    def _modifiers(
        self, wanted: Sequence[ModifierPattern], given: list[tuple[str, Place]], bound: Bindings
    ) -> Iterator[Bindings]:
        """Yield the bindings with all wanted modifiers or members, each another one of those given, in any order."""
        if not wanted:
            yield bound
            return
        first, *others = wanted
        fits = [
            (index, found)
            for index, (connective, place) in enumerate(given)
            if first.connective in (connective, ANY_CONNECTIVE)
            for found in self.match(first.pattern, place, bound)
        ]
        if first.is_forbidden:
            fits = [] if fits else [(len(given), bound)]
        elif first.is_optional and not fits:
            fits = [(len(given), bound)]
        for index, found in fits:
            yield from self._modifiers(others, [*given[:index], *given[index + 1 :]], found)

    def _is_word(self, core: WordPattern, place: Place) -> bool:
        node = place.node
        if node.kind != "word":
            return False
        lemma = ABSENT if self.forms or node.position is None else place.sentence.lemmas[node.position]
        names = [node.word.casefold(), *([] if lemma == ABSENT else [lemma.casefold()])]
        return any(name in core.words or (core.prefixes and name.startswith(core.prefixes)) for name in names)


def _said(expression: Expression) -> list[str]:
    """Return the words of an expression, to compare what one variable stands for in two places."""
    return [word.word.casefold() for word in expression.words()]
