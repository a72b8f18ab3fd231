"""Expressions in their places in the meaning of a sentence, where it is known what their missing arguments stand for.

``^`` stands for what its tuple modifies: in *companies producing toys*, ``companies:[producing, ^, toys]``, companies
produce. So does a relative pronoun (FEATS ``PronType=Rel``). A subject that is ``_`` is that of the clause around it,
or the object before it: *Ann wants to sell*, *Ann asked Bob to sell*, *Ann came and sold*; but of a passive verb
(FEATS ``Voice=Pass``) it is not known. Where there are no FEATS, only ``^`` is resolved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from treetune.corpus.sentence import ABSENT, Sentence
from treetune.semantics.expression import Expression

_MISSING = ("abstraction", "unspecified")


@dataclass(frozen=True, slots=True)
class Place:
    """An expression in its place.

    Attributes:
        node: The expression.
        sentence: The sentence that its positions count in.
        modified: What it modifies.
        subject: The subject of the clause that it belongs to, which is also its own if it has none.
        stands_for: What ``^``, ``_`` or a relative pronoun stands for here; None if it is not known.
    """

    node: Expression
    sentence: Sentence
    modified: Place | None = None
    subject: Place | None = None
    stands_for: Place | None = None

    @property
    def meant(self) -> Place | None:
        """The place of what the expression is or stands for; None if that is missing."""
        return self.stands_for or (None if self.node.kind in _MISSING else self)

    def parts(self) -> list[Place]:
        """Return the parts of a tuple, a collection or a sequence."""
        if self.node.kind != "tuple":
            return [replace(self, node=part, stands_for=None) for part in self.node.parts]
        predicate, *nodes = self.node.parts
        arguments = [
            Place(node, self.sentence, stands_for=self._stands_for(node, is_subject=index == 0))
            for index, node in enumerate(nodes)
        ]
        subject = self._subject(arguments)
        controller = subject
        for index, argument in enumerate(arguments):
            if argument.node.kind in ("tuple", "sequence"):
                arguments[index] = replace(argument, subject=controller)
            elif index > 0 and argument.meant is not None:
                controller = argument.meant
        return [Place(predicate, self.sentence, subject=subject), *arguments]

    def _stands_for(self, argument: Expression, *, is_subject: bool) -> Place | None:
        if argument.kind == "unspecified":
            return self.subject if is_subject and self._is_active() else None
        if argument.kind == "abstraction" or "PronType=Rel" in self._value("feats", argument):
            return self.modified or self.subject
        return None

    def _subject(self, arguments: list[Place]) -> Place | None:
        """Return the subject of a tuple; that of a preposition is that of the clause around it."""
        if not arguments or self._value("upos", self.node.head) in ("ADP", "SCONJ"):
            return self.subject
        of_passive = arguments[1].meant if len(arguments) > 1 else None
        return arguments[0].meant or of_passive

    def _is_active(self) -> bool:
        feats = self._value("feats", self.node.head)
        return feats != ABSENT and "Voice=Pass" not in feats

    def _value(self, column: str, word: Expression) -> str:
        values: tuple[str, ...] = getattr(self.sentence, column)
        return ABSENT if word.position is None else values[word.position]

    def modifiers(self) -> Iterator[tuple[str, Place]]:
        """Yield the modifiers with their connectives; each modifies the expression with all others."""
        subject = self._subject(self.parts()[1:]) if self.node.kind == "tuple" else self.subject
        for index, (connective, modifier) in enumerate(self.node.modifiers):
            others = (*self.node.modifiers[:index], *self.node.modifiers[index + 1 :])
            modified = replace(self, node=replace(self.node, modifiers=others))
            yield connective, Place(modifier, self.sentence, modified, subject)

    def below(self) -> Iterator[Place]:
        """Yield the place and all places in it."""
        yield self
        for part in self.parts():
            yield from part.below()
        for _, modifier in self.modifiers():
            yield from modifier.below()
