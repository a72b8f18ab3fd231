"""Expressions in their places in the meaning of a sentence, where it is known what their missing arguments stand for.

``^`` stands for what its tuple modifies: in *companies producing toys*, ``companies:[producing, ^, toys]``, companies
produce. So does a relative pronoun. A subject that is ``_`` is that of the clause around it, or the object before it:
*Ann wants to sell*, *Ann asked Bob to sell*, *Ann came and sold*; but of a passive verb it is not known. Pronouns and
voice are told by FEATS (``PronType=Rel``, ``Voice=Pass``), without them by English words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from treetune.corpus.sentence import ABSENT, Sentence
from treetune.semantics.expression import ABSTRACTION, Expression

_MISSING = ("abstraction", "unspecified")
_NOT_NOMINAL = frozenset(("VERB", "AUX", "ADJ", "ADV", "ADP", "SCONJ", "CCONJ"))
# English; mostly for sentences without FEATS.
_RELATIVE = frozenset(("who", "whom", "which", "that"))
_PASSIVE = frozenset(("be", "is", "are", "was", "were", "been", "being", "'s", "'re", "get", "gets", "got", "getting"))
_PERFECT = frozenset(("have", "has", "had", "having", "'ve", "'d", "'s"))


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

    @property
    def is_nominal(self) -> bool:
        """Whether it may be the subject of another clause: no clause, no adjective."""
        first = self.node.parts[1] if self.node.kind == "collection" else self.node
        return first.kind != "tuple" and self._value("upos", first.head) not in _NOT_NOMINAL

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
        # Who does what modifies a passive verb, *bought to sell*, is mostly who bought.
        acts = arguments[0].meant if arguments and self._is_passive() else subject
        return [Place(predicate, self.sentence, subject=acts), *arguments]

    def _stands_for(self, argument: Expression, *, is_subject: bool) -> Place | None:
        if argument.kind == "unspecified":
            is_known = is_subject and self.subject is not None and self.subject.is_nominal and not self._is_passive()
            return self.subject if is_known else None
        if argument.kind == "abstraction" or self._is_relative(argument):
            return self.modified or self.subject
        return None

    def _is_relative(self, argument: Expression) -> bool:
        """Whether an argument is a relative pronoun, by FEATS or by its form; beside ^ there is none."""
        if self.modified is None or argument.kind != "word" or ABSTRACTION in self.node.parts:
            return False
        feats = self._value("feats", argument)
        return argument.word.lower() in _RELATIVE if feats == ABSENT else "PronType=Rel" in feats

    def _subject(self, arguments: list[Place]) -> Place | None:
        """Return the subject of a tuple; that of a preposition is that of the clause around it."""
        if not arguments or self._is_preposition():
            return self.subject
        if self._is_passive():
            return arguments[1].meant if len(arguments) > 1 else None
        return arguments[0].meant

    def _is_preposition(self) -> bool:
        upos = self._value("upos", self.node.head)
        if upos == ABSENT:
            # What modifies a predicate as a whole has no other subject.
            return self.node.parts[1] == ABSTRACTION and self.subject is not None
        return upos in ("ADP", "SCONJ")

    def _is_passive(self) -> bool:
        feats = self._value("feats", self.node.head)
        auxiliaries = {modifier.word.lower() for _, modifier in self.node.parts[0].modifiers}
        if feats == ABSENT:
            return not self.node.head.word.endswith("ing") and not _PASSIVE.isdisjoint(auxiliaries)
        # The auxiliary of coordinated verbs stands at the first: "some were injured and one killed".
        is_participle = "VerbForm=Part" in feats and "Tense=Past" in feats
        return "Voice=Pass" in feats or (is_participle and _PERFECT.isdisjoint(auxiliaries))

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

    def bare(self) -> Expression:
        """Return the expression without its preposition: who acts in a passive clause is *Ann*, not *by Ann*."""
        node = self.node
        kept = tuple(one for one in node.modifiers if not self._is_marker(*one))
        parts = node.parts
        if node.kind == "collection":
            parts = (parts[0], replace(self, node=parts[1]).bare(), *parts[2:])
        return node if (kept, parts) == (node.modifiers, node.parts) else replace(node, modifiers=kept, parts=parts)

    def _is_marker(self, connective: str, modifier: Expression) -> bool:
        upos = self._value("upos", modifier)
        return connective == "/" and (modifier.word.lower() == "by" if upos == ABSENT else upos == "ADP")

    def below(self) -> Iterator[Place]:
        """Yield the place and all places in it."""
        yield self
        for part in self.parts():
            yield from part.below()
        for _, modifier in self.modifiers():
            yield from modifier.below()
