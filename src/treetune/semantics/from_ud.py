"""Universal Dependencies trees to natural logical forms, by the rules of ``rules/ud.toml`` and those here.

A predicate with its arguments is a tuple, ``[saw, John, Mary]``; a missing subject is ``_``, or ``^`` in a clause that
modifies a noun. The copula is the predicate of its clause. Prepositions and subordinators are predicates too:
``[in, ^, 2002]``. Coordinated phrases are collections, ``and{a, b}``; coordinated clauses are joined by ``&``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.wellformed import is_tree
from treetune.errors import DataError
from treetune.semantics.draft import Draft
from treetune.semantics.expression import UNCOVERED, Expression
from treetune.semantics.tokens import word_positions

DEEPEST = 25
"""Words further from the root are attached to their ancestor at this depth, and not covered."""

_CLAUSES = frozenset(("root", "ccomp", "xcomp", "advcl", "acl", "csubj", "parataxis", "conj", "list"))
_OF_PREDICATE = frozenset(("aux", "advcl", "discourse", "vocative", "parataxis", "mark", "expl", "dislocated"))
# Before a preposition they modify it: just before noon.
_BEFORE_PREPOSITIONS = frozenset(("advmod", "obl", "nmod", "discourse", "cc", "nummod", "det"))
_SUBJECTS = frozenset(("nsubj", "csubj", "expl"))

# Makes the expression of a word with some of its dependents.
Builder = Callable[[int, list[int]], Draft]


def from_ud(sentence: Sentence, tree: Tree) -> Expression:
    """Return the natural logical form of a sentence with a UD tree; ``%`` joins what no rule covers.

    Raises:
        DataError: the heads are no tree.
    """
    if not is_tree(tree.heads):
        raise DataError("expected a complete tree with one root, found heads that make none")
    return _Converter(sentence, tree).convert()


@cache
def _rules() -> dict[str, dict[str, Any]]:
    rules = tomllib.loads(resources.files("treetune.semantics").joinpath("rules", "ud.toml").read_text("utf-8"))
    rules["words"] = {name: frozenset(words) for name, words in rules["words"].items()}
    return rules


class _Converter:
    """One sentence: `kids` are the dependents of each word that are words, `relations` theirs without subtypes."""

    def __init__(self, sentence: Sentence, tree: Tree) -> None:
        rules = _rules()
        self.arguments, self.connectives, self.lists = rules["arguments"], rules["modifiers"], rules["words"]
        self.sentence = sentence
        self.labels = list(tree.labels)
        self.words = word_positions(sentence.forms)
        self.heads = self._heads(tree)
        self.relations = [label.partition(":")[0] for label in self.labels]
        self.kids: list[list[int]] = [[] for _ in self.heads]
        for word in self.words:
            self.kids[self.heads[word]].append(word)
        for word in self.words:
            if self.labels[word] == "obl" and self._is_agent(word):
                self.labels[word] = "obl:agent"
        self.agents = {word for word in self.words if self.labels[word] == "obl:agent"}
        self.agents |= {one for word in self.agents for one in self.of(self.kids[word], "conj") if self._is_by(one)}

    def _heads(self, tree: Tree) -> list[int]:
        """Return heads that are words: dependents of punctuation are those of its head."""
        heads, wanted = list(tree.heads), set(self.words)
        for word in self.words:
            while heads[word] > 0 and heads[word] not in wanted:
                heads[word] = heads[heads[word]]
        # In Paris and in London: parsers join London to the first preposition.
        cased = {heads[word] for word in self.words if self.labels[word] == "case"}
        for word in self.words:
            if self.labels[word] == "conj" and self.labels[heads[word]] == "case" and word in cased:
                heads[word] = heads[heads[word]]
        first, *others = [word for word in self.words if heads[word] == 0]
        self.labels[first] = "root"
        for word in others:
            heads[word], self.labels[word] = first, "dep"
        depths = [0] * len(heads)
        for word in self.words:
            self._limit_depth(word, heads, depths)
        return heads

    def _limit_depth(self, word: int, heads: list[int], depths: list[int]) -> None:
        path = []
        while word > 0 and not depths[word]:
            path.append(word)
            word = heads[word]
        for one in reversed(path):
            depths[one] = depths[heads[one]] + 1
            if depths[one] > DEEPEST:
                heads[one], self.labels[one] = heads[heads[one]], "dep"
                depths[one] = DEEPEST

    def _is_agent(self, word: int) -> bool:
        """Whether a nominal names who does what a passive verb says."""
        siblings = [self.labels[kid] for kid in self.kids[self.heads[word]]]
        return self._is_by(word) and ("aux:pass" in siblings or "nsubj:pass" in siblings)

    def _is_by(self, word: int) -> bool:
        cases = self.of(self.kids[word], "case")
        return len(cases) == 1 and self.sentence.forms[cases[0]].lower() in self.lists["agents"]

    def convert(self) -> Expression:
        return self.phrase(self.kids[0][0]).finish()

    def symbol(self, word: int) -> Draft:
        return Draft("word", self.sentence.forms[word], word)

    def of(self, kids: Sequence[int], *relations: str) -> list[int]:
        return [kid for kid in kids if self.relations[kid] in relations]

    def phrase(self, word: int) -> Draft:
        """Return all below a word, with what is coordinated with it, and its prepositions or subordinators."""
        outer = self.prepositional_conjuncts(word)
        return self.coordination(word, self.kids[word], outer) if outer else self.opened(word, self.kids[word])

    def openers(self, word: int) -> list[int]:
        """Return the prepositions and subordinators that open the phrase of a word."""
        kids = self.kids[word]
        # The preposition of a nominal predicate belongs to the nominal, that of an agent is an operator.
        if self.of(kids, "cop") or word in self.agents:
            return self.of(kids, "mark") if self._marks_are_prepositions(word, kids) else []
        return self.of(kids, "case", *(["mark"] if self._marks_are_prepositions(word, kids) else []))

    def prepositional_conjuncts(self, word: int) -> list[int]:
        """Return the conjuncts of a prepositional phrase that have prepositions of their own.

        Conjuncts without one are below the preposition before them: in Paris, and to Rome and Bonn.
        """
        conjuncts = self.of(self.kids[word], "conj")
        found = [kid for kid in conjuncts if self.openers(kid)] if conjuncts and self.openers(word) else []
        if found:
            for kid in conjuncts:
                above = max((one for one in found if one < kid), default=None)
                if above is not None and kid not in found:
                    self.kids[word].remove(kid)
                    self.kids[above] = sorted([*self.kids[above], kid])
        return found

    def opened(self, word: int, kids: Sequence[int]) -> Draft:
        """Return a phrase or clause with its prepositions or subordinators, and what is coordinated below them."""
        openers = [kid for kid in self.openers(word) if kid in kids]
        if not openers:
            return self.coordination(word, kids)
        outside = [kid for kid in kids if kid < min(openers) < word and self.relations[kid] in _BEFORE_PREPOSITIONS]
        inner = self.coordination(word, [kid for kid in kids if kid not in openers and kid not in outside])
        return self.preposition(openers, outside, inner)

    def _marks_are_prepositions(self, word: int, kids: list[int]) -> bool:
        relation = self.relations[word]
        if relation not in ("advcl", "acl", "obl", "nmod", "root", "parataxis", "conj"):
            return False
        marks = self.of(kids, "mark")
        forms = [self.sentence.forms[mark].lower() for mark in marks]
        if relation == "conj":
            relation = self.relations[self.heads[word]]
        complementizers = self.lists["complementizers"] - ({"if"} if relation == "advcl" else set())
        return bool(marks) and not any(form in complementizers for form in forms)

    def preposition(self, openers: list[int], outside: list[int], inner: Draft) -> Draft:
        """Return ``[in, ^, x]``; of several words (out of) the last is the head."""
        *before, last = sorted(openers)
        head = self.phrase(last)
        for one in before:
            head.add("+", self.phrase(one))
        self.modify(head, outside)
        found = Draft("tuple")
        found.put(0, head)
        found.put(1, Draft("abstraction"))
        found.put(2, inner)
        return found

    def coordination(self, word: int, kids: Sequence[int], outer: Sequence[int] = ()) -> Draft:
        """Return a phrase or clause with its conjuncts; `outer` are those of a prepositional phrase as a whole."""
        conjuncts, items = self.of(kids, "conj"), self.of(kids, "list")
        if outer:
            conjuncts, items = list(outer), []
        elif self.of(kids, "cop"):
            # He is tall and strong: one complement.
            conjuncts = [kid for kid in conjuncts if self.is_clause(kid, self.kids[kid])]
        rest = [kid for kid in kids if kid not in conjuncts and kid not in items]
        build = self.opened if outer else self.core
        if not conjuncts and not items:
            return build(word, rest)
        operators = [kid for one in conjuncts for kid in self.of(self.kids[one], "cc")]
        if not (operators or items) or (not outer and self.is_clause(word, rest)):
            found = build(word, rest)
            for kid in conjuncts + items:
                found.add("&", self.phrase(kid))
            return found
        for one in conjuncts:
            self.kids[one] = [kid for kid in self.kids[one] if kid not in operators]
        return self.collection(word, rest, operators, conjuncts, items, build=build)

    def collection(
        self,
        word: int,
        rest: list[int],
        operators: list[int],
        conjuncts: list[int],
        items: list[int],
        *,
        build: Builder,
    ) -> Draft:
        """Return ``and{a, b}``, or ``|a, b|`` without a conjunction; later dependents of `a` modify the whole."""
        before = [kid for kid in self.of(rest, "cc") if operators]
        limit = min(operators[-1:] or conjuncts[:1] or items[:1])
        opening = self.openers(word) if build == self.opened else []
        shared = [kid for kid in rest if kid > limit > word and kid not in before and kid not in opening]
        first = build(word, [kid for kid in rest if kid not in shared and kid not in before])
        members = [first, *(self.phrase(kid) for kid in sorted(conjuncts + items))]
        found = Draft("collection" if operators else "sequence")
        if operators:
            head = self.phrase(operators[-1])
            for kid in before + operators[:-1]:
                head.add("/", self.phrase(kid))
            found.put(0, head)
        for member in members:
            found.put(len(found.parts), member)
        self.modify(found, shared)
        return found

    def is_clause(self, word: int, kids: Sequence[int]) -> bool:
        """Whether a word is a predicate: a verb in the place of a clause, or a word with a copula or arguments."""
        relations = {self.relations[kid] for kid in kids}
        if "cop" in relations or relations & _SUBJECTS:
            return True
        if relations & {"obj", "iobj"}:
            return True
        return self.sentence.upos[word] in ("VERB", "AUX") and self.relations[word] in _CLAUSES

    def core(self, word: int, kids: Sequence[int]) -> Draft:
        """Return a word with its dependents, conjuncts and prepositions apart."""
        if not self.is_clause(word, kids):
            compound, rest = self.compound(word, kids)
            self.modify(compound, rest)
            return compound
        copulas = self.of(kids, "cop")
        if copulas:
            return self.copular(word, kids, copulas[0])
        own = [kid for kid in kids if not self.is_argument(kid)]
        predicate, own = self.compound(word, own)
        return self.clause(word, predicate, [kid for kid in kids if self.is_argument(kid)], own)

    def compound(self, word: int, kids: Sequence[int]) -> tuple[Draft, list[int]]:
        """Return a name, or words of one expression, headed by its last word, and the other dependents."""
        names = [kid for kid in kids if self.relations[kid] in ("flat", "fixed", "goeswith")]
        rest = [kid for kid in kids if kid not in names]
        if not names or names[-1] < word:
            return self.symbol(word), list(kids)
        found = self.phrase(names[-1])
        for kid in (word, *names[:-1]):
            found.add("+", self.symbol(kid) if kid == word else self.phrase(kid))
        return found, rest

    def copular(self, word: int, kids: Sequence[int], copula: int) -> Draft:
        """Return ``[is, subject, complement]``."""
        inner = [kid for kid in kids if kid != copula and self._stays_inside(kid, word, copula)]
        if not self.of(inner, "conj"):
            inner = [kid for kid in inner if self.relations[kid] != "cc"]
        rest = [kid for kid in kids if kid != copula and kid not in inner]
        complement = self.complement(word, inner)
        predicate = self.symbol(copula)
        own = [kid for kid in rest if not self.is_argument(kid)] + self.kids[copula]
        return self.clause(word, predicate, [kid for kid in rest if self.is_argument(kid)], own, complement)

    def complement(self, word: int, kids: list[int]) -> Draft:
        """Return a nominal predicate with those dependents that are not its clause's."""
        every, self.kids[word] = self.kids[word], kids
        found = self.phrase(word)
        self.kids[word] = every
        return found

    def _stays_inside(self, kid: int, word: int, copula: int) -> bool:
        """Whether a dependent of a nominal predicate is part of it, not of its clause."""
        relation = self.relations[kid]
        if relation == "conj":
            return True
        if relation in _SUBJECTS or relation in _OF_PREDICATE - {"mark"} or (kid < copula) != (word < copula):
            return False
        if relation == "advmod":
            return kid == word - 1 and self.sentence.forms[kid].lower() not in ("not", "n't")
        return relation != "cc" or self.labels[kid] == "cc:preconj"

    def is_argument(self, kid: int) -> bool:
        return self._look_up(self.arguments, kid) is not None

    def clause(
        self, word: int, predicate: Draft, arguments: Sequence[int], own: Sequence[int], complement: Draft | None = None
    ) -> Draft:
        """Return the tuple of a predicate, its arguments and what is missing of them."""
        found = Draft("tuple")
        found.put(0, predicate)
        beside = [kid for kid in own if self._connective(kid) == "&"]
        self.modify(predicate, [kid for kid in own if kid not in beside])
        self.modify(found, beside)
        if complement is not None:
            found.put(2, complement)
        # Objects and complements are in the order of the sentence.
        places = {kid: int(self._look_up(self.arguments, kid)) for kid in arguments}
        for kid in sorted(arguments, key=lambda kid: (places[kid], kid)):
            found.put(places[kid], self.phrase(kid))
        self.add_missing(found, word, places)
        return found

    def add_missing(self, clause: Draft, word: int, places: dict[int, int]) -> None:
        """Put ``^`` for the noun that a clause modifies, and ``_`` for a subject that is missing."""
        place = self.abstracted(word, places) if self.relations[word] == "acl" else None
        if place is not None and place not in clause.parts:
            clause.put(place, Draft("abstraction"))
        if 1 not in clause.parts:
            clause.put(1, Draft("unspecified"))

    def abstracted(self, word: int, places: dict[int, int]) -> int | None:
        """Return the position of the noun that a clause modifies, None if a pronoun or nothing stands there."""
        if self.of(self.kids[word], "mark", "case") or self.has_relative(word):
            return None
        if 1 in places.values():
            return None if self.labels[word] == "acl" or 2 in places.values() else 2
        feats = self.sentence.feats[word]
        passive = "Voice=Pass" in feats or "aux:pass" in [self.labels[kid] for kid in self.kids[word]]
        passive = passive or (self.labels[word] == "acl" and "Tense=Past" in feats and "VerbForm=Part" in feats)
        return 2 if passive else 1

    def has_relative(self, word: int) -> bool:
        """Whether a relative pronoun stands in a clause, before its predicate."""
        waiting = [kid for kid in self.kids[word] if self.relations[kid] not in _CLAUSES]
        while waiting:
            kid = waiting.pop()
            feats = self.sentence.feats[kid]
            if "PronType=Rel" in feats or "PronType=Int" in feats:
                return True
            waiting.extend(self.kids[kid])
        return False

    def modify(self, draft: Draft, kids: Sequence[int]) -> None:
        """Add dependents to the expression of their head."""
        for kid in kids:
            place = self._look_up(self.arguments, kid)
            connective = self._connective(kid) if place is None else ":"
            draft.add(connective, self.phrase(kid))

    def _connective(self, kid: int) -> str:
        found: str | None = self._look_up(self.connectives, kid)
        if found is None:
            return UNCOVERED
        if self.relations[kid] in ("obl", "nmod") and not self.of(self.kids[kid], "case", "mark"):
            return self._bare(kid, found)
        return found

    def _bare(self, kid: int, connective: str) -> str:
        """Return the connective of a nominal without a preposition."""
        if self.labels[kid] == "nmod:poss":
            return "."
        lemma = self.sentence.lemmas[kid].lower()
        is_year = lemma.isdigit() and len(lemma) == 4
        if is_year or lemma in self.lists["temporal"] or self.labels[kid].endswith(":tmod"):
            return "@"
        return connective

    def _look_up(self, table: dict[str, Any], kid: int) -> Any:
        found = table.get(self.labels[kid])
        return table.get(self.relations[kid]) if found is None else found
