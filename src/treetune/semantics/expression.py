"""Natural logical forms (Alshawi et al. 2011): immutable expressions over the words of a sentence.

An expression has a core and modifiers. The core is a word, the abstraction ``^``, the unspecified argument ``_``, a
tuple ``[p, a, b]``, a collection ``and{a, b}`` or a sequence ``|a, b|``; a modifier is a connective with an expression:
``company.two:profitable`` is the word ``company`` with the modifiers ``.two`` and ``:profitable``. The modifiers of one
core have no scope among each other, so their order means nothing; `Expression.canonical` has the order that decoding
makes. `notation` has the textual form, `encoding` the labelled tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from treetune.errors import DataError

Kind = Literal["word", "abstraction", "unspecified", "tuple", "collection", "sequence"]
KINDS: tuple[Kind, ...] = get_args(Kind)
COMPOSITES = ("tuple", "collection", "sequence")

COMPOUND, UNCOVERED = "+", "%"
CONNECTIVES = "+/.:@&%"
"""Implicit relation, operator, quantification, intersection, time, conjunction, uncovered; in canonical order."""
RANKS = {connective: rank for rank, connective in enumerate(CONNECTIVES)}

MAX_DEPTH = 100
"""Expressions are nested at most this deep."""

Modifier = tuple[str, "Expression"]


@dataclass(frozen=True, slots=True)
class Expression:
    """A natural logical form: a core, and modifiers joined to it by connectives.

    `parts` are the members of a tuple, a collection (the first is its operator: ``and`` of ``and{a, b}``) or a
    sequence. `position` is the index of a word in its sentence, from 1, and None where it is not known; equality
    ignores it. Modifiers with ``+`` stand before all others.
    """

    kind: Kind
    word: str = ""
    position: int | None = field(default=None, compare=False)
    parts: tuple[Expression, ...] = ()
    modifiers: tuple[Modifier, ...] = ()

    @property
    def head(self) -> Expression:
        """The word that heads the expression, g(e) of the paper; itself if it has none (``^``, ``_``)."""
        node = self
        while node.parts:
            node = node.parts[0]
        return node

    @property
    def is_covered(self) -> bool:
        """Whether the connective ``%`` does not occur: all constructions were understood."""
        return all(connective != UNCOVERED for node in self.nodes() for connective, _ in node.modifiers)

    def nodes(self) -> Iterator[Expression]:
        """Yield the expression and all below it: each before its parts, these before its modifiers."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(modifier for _, modifier in reversed(node.modifiers))
            waiting.extend(reversed(node.parts))

    def words(self) -> Iterator[Expression]:
        """Yield the word nodes, in the order of `nodes`."""
        return (node for node in self.nodes() if node.kind == "word")

    def positions(self) -> tuple[int | None, ...]:
        """Return the positions of the words, in the order of `words`."""
        return tuple(node.position for node in self.words())

    def bare(self) -> Expression:
        """Return the core without its modifiers."""
        return replace(self, modifiers=()) if self.modifiers else self

    def modified(self, connective: str, other: Expression) -> Expression:
        """Return the expression with one more modifier; with ``+`` it is the last of these."""
        if connective != COMPOUND:
            return replace(self, modifiers=(*self.modifiers, (connective, other)))
        compounds = [one for one in self.modifiers if one[0] == COMPOUND]
        others = [one for one in self.modifiers if one[0] != COMPOUND]
        return replace(self, modifiers=(*compounds, (connective, other), *others))

    def canonical(self) -> Expression:
        """Return the expression with modifiers in canonical order: by connective, then by the position of the head."""
        return replace(
            self,
            parts=tuple(part.canonical() for part in self.parts),
            modifiers=order_modifiers((connective, modifier.canonical()) for connective, modifier in self.modifiers),
        )

    def __str__(self) -> str:
        from treetune.semantics.notation import format_expression

        return format_expression(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the expression as what JSON can hold; what is empty or unknown is left out."""
        content: dict[str, Any] = {"kind": self.kind}
        if self.kind == "word":
            content["word"] = self.word
        if self.position is not None:
            content["position"] = self.position
        if self.parts:
            content["parts"] = [part.to_dict() for part in self.parts]
        if self.modifiers:
            content["modifiers"] = [[connective, modifier.to_dict()] for connective, modifier in self.modifiers]
        return content

    @classmethod
    def from_dict(cls, content: object) -> Expression:
        """Return the expression of `to_dict`; DataError if the content is not of that form."""
        expression = _from_dict(content, 0)
        check_form(expression)
        return expression


ABSTRACTION = Expression("abstraction")
UNSPECIFIED = Expression("unspecified")


def order_modifiers(modifiers: Iterable[Modifier]) -> tuple[Modifier, ...]:
    """Return modifiers in canonical order; those whose position is not known keep their order."""
    return tuple(sorted(modifiers, key=lambda one: (RANKS[one[0]], one[1].head.position or 0)))


def word(form: str, position: int | None = None) -> Expression:
    """Return the expression of one word."""
    return Expression("word", form, position)


def composite(kind: Kind, *parts: Expression) -> Expression:
    """Return a tuple, a collection (its operator first) or a sequence of these parts."""
    return Expression(kind, parts=parts)


def check_form(expression: Expression) -> None:
    """Raise DataError unless an expression can be written: every part and connective is one of Table 1.

    Tuples, collections and sequences begin with a word, or with one of them that does; a collection has members;
    ``^`` and ``_`` have no modifiers and stand inside a tuple, collection or sequence.
    """
    if expression.kind in ("abstraction", "unspecified"):
        raise DataError(f"expected an expression with a word as its head, found {_sign(expression)} alone")
    for node in expression.nodes():
        check_node(node)


def check_node(node: Expression) -> None:
    """Raise DataError unless the core and the modifiers of an expression fit together; see `check_form`."""
    if node.kind in COMPOSITES and (not node.parts or node.head.kind != "word"):
        found = _sign(node.head) if node.parts else "nothing"
        raise DataError(f"expected a word as the first part of a {node.kind}, found {found}")
    if node.kind == "collection" and len(node.parts) < 2:
        raise DataError(f"expected a collection to have members, found only its operator {node.head.word!r}")
    if node.modifiers and node.head.kind != "word":
        raise DataError(f"expected a word before the connective {node.modifiers[0][0]}, found {_sign(node)}")
    for connective, modifier in node.modifiers:
        if connective not in RANKS:
            raise DataError(f"expected a connective, one of {' '.join(CONNECTIVES)}, found {connective!r}")
        if modifier.head.kind != "word":
            raise DataError(f"expected a word after the connective {connective}, found {_sign(modifier.head)}")


def _sign(node: Expression) -> str:
    return {"abstraction": "^", "unspecified": "_"}.get(node.kind, node.kind)


def _from_dict(content: object, depth: int) -> Expression:
    if depth > MAX_DEPTH:
        raise DataError(f"expected expressions nested at most {MAX_DEPTH} deep, found a deeper one")
    if not isinstance(content, Mapping) or content.get("kind") not in KINDS:
        raise DataError(f'expected an object with "kind", one of {", ".join(KINDS)}, found {content!r:.80}')
    form, position = content.get("word", ""), content.get("position")
    parts, modifiers = content.get("parts", []), content.get("modifiers", [])
    if not isinstance(form, str) or not (position is None or (type(position) is int and position > 0)):
        raise DataError(f'expected "word" to be a string and "position" a whole number from 1, found {content!r:.80}')
    pairs = isinstance(modifiers, list) and all(isinstance(one, list) and len(one) == 2 for one in modifiers)
    if not isinstance(parts, list) or not pairs or (parts and content["kind"] not in COMPOSITES):
        raise DataError(f'expected "parts" and pairs as "modifiers", found {content!r:.80}')
    return Expression(
        content["kind"],
        form,
        position,
        tuple(_from_dict(part, depth + 1) for part in parts),
        tuple((str(connective), _from_dict(modifier, depth + 1)) for connective, modifier in modifiers),
    )
