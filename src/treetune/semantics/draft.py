"""Expressions under construction: parts are put at positions, modifiers are added, then all is made immutable."""

from __future__ import annotations

from treetune.semantics.expression import (
    ABSTRACTION,
    UNSPECIFIED,
    Expression,
    Kind,
    Modifier,
    order_modifiers,
)

GAPS = 3
"""A tuple with more free positions than this is closed up; other composites always are."""


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
        while position in self.parts:
            position += 1
        self.parts[position] = other
        other.parent = self

    def finish(self) -> Expression:
        """Return the expression: free positions of a tuple are unspecified, modifiers in canonical order.

        A collection without members is its operator.
        """
        # Without a way up there is no cycle left for the garbage collector.
        self.parent = None
        if not self.modifiers and self.kind == "word":
            return Expression("word", self.word, self.position)
        if self.kind == "abstraction":
            return ABSTRACTION
        if self.kind == "unspecified":
            return UNSPECIFIED
        if self.kind == "collection" and len(self.parts) == 1:
            self.parts[0].modifiers += self.modifiers
            return self.parts[0].finish()
        modifiers: tuple[Modifier, ...] = ()
        if self.modifiers:
            modifiers = tuple([(connective, other.finish()) for connective, other in self.modifiers])
            if len(modifiers) > 1:
                modifiers = order_modifiers(modifiers)
        return Expression(self.kind, self.word, self.position, self._finish_parts() if self.parts else (), modifiers)

    def _finish_parts(self) -> tuple[Expression, ...]:
        parts, size = self.parts, max(self.parts) + 1
        if size == len(parts):
            return tuple([parts[place].finish() for place in range(size)])
        if self.kind != "tuple" or size - len(parts) > GAPS:
            return tuple([parts[place].finish() for place in sorted(parts)])
        return tuple([parts[place].finish() if place in parts else UNSPECIFIED for place in range(size)])
