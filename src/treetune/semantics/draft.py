"""Expressions under construction: parts are put at positions, modifiers are added, then all is made immutable."""

from __future__ import annotations

from treetune.semantics.expression import (
    ABSTRACTION,
    UNCOVERED,
    UNSPECIFIED,
    Expression,
    Kind,
    Modifier,
    order_modifiers,
)

GAPS = 20
"""A part is put at most this far behind the last one."""


class Draft:
    """A core with parts and modifiers that can still be added; `parent` is the draft it was put into."""

    __slots__ = ("depth", "kind", "modifiers", "parent", "parts", "position", "word")

    def __init__(self, kind: Kind, word: str = "", position: int | None = None) -> None:
        self.kind = kind
        self.word = word
        self.position = position
        self.parts: dict[int, Draft] = {}
        self.modifiers: list[tuple[str, Draft]] = []
        self.parent: Draft | None = None
        self.depth = 0

    @property
    def is_composite(self) -> bool:
        """Whether it has parts: a tuple, a collection or a sequence."""
        return self.kind in ("tuple", "collection", "sequence")

    def add(self, connective: str, other: Draft) -> None:
        """Add a modifier."""
        self.modifiers.append((connective, other))
        other.parent = self

    def put(self, position: int, other: Draft) -> None:
        """Put a part at a position, or at the next free one if that is taken."""
        position = min(position, max(self.parts, default=0) + GAPS)
        while position in self.parts:
            position += 1
        self.parts[position] = other
        other.parent = self

    def finish(self) -> Expression:
        """Return the expression: free positions before the last part are unspecified, modifiers in canonical order.

        The first part of a composite is headed by a word: if it is not, the first that is comes to the front.
        """
        if self.kind == "abstraction":
            return ABSTRACTION
        if self.kind == "unspecified":
            return UNSPECIFIED
        parts: tuple[Expression, ...] = ()
        if self.parts:
            parts = tuple(
                self.parts[place].finish() if place in self.parts else UNSPECIFIED
                for place in range(max(self.parts) + 1)
            )
        modifiers: tuple[Modifier, ...] = ()
        if self.modifiers:
            modifiers = tuple((connective, other.finish()) for connective, other in self.modifiers)
            if len(modifiers) > 1:
                modifiers = order_modifiers(modifiers)
        return Expression(self.kind, self.word, self.position, parts, modifiers)

    def attach(self, other: Draft) -> None:
        """Add what no instruction attaches."""
        self.add(UNCOVERED, other)
