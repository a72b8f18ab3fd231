"""Clauses: a predicate with its arguments, laid out as a statement or with the auxiliary first.

A role may be left `missing`: its filler then stands elsewhere, as a question word or a relative pronoun in
front, or nowhere, as in "the book she read".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from treetune.sample.adjuncts import degree_phrase, time_phrase
from treetune.sample.draw import Draw
from treetune.sample.lexicon import Verb
from treetune.sample.nominals import Nominal, adjective_word, common, name, nominal, prepositional
from treetune.sample.verbs import BE, Agreement, Group, conjugate, negate
from treetune.sample.words import Phrase, Word, adverb, words_of

_ADJUNCTS = (("in", "area"), ("at", "building"), ("near", "landmark"), ("after", "event"), ("with", "person"))


@dataclass(slots=True)
class Clause:
    """The parts of a clause before they are put in order; `rest` follows the predicate."""

    predicate: Phrase
    group: Group
    subject: Nominal | None = None
    auxiliaries: list[Word] = field(default_factory=list)
    negation: Word | None = None
    middle: list[Word] = field(default_factory=list)
    rest: list[Phrase] = field(default_factory=list)
    last: Nominal | None = None

    @property
    def head(self) -> Word:
        """The predicate, on which everything else hangs."""
        return self.predicate.head

    def statement(self) -> Phrase:
        """Lay out with the subject, if any, before the auxiliaries."""
        first = self.auxiliaries[:1]
        words = [*words_of(self.subject), *first, *words_of(self.negation), *self.auxiliaries[1:]]
        return Phrase(self.head, [*words, *self.middle, *words_of(self.predicate, *self.rest)])

    def question(self) -> Phrase:
        """Lay out with the first auxiliary before the subject; "n't" goes with it, "not" stays."""
        first, others = self.auxiliaries[:1], self.auxiliaries[1:]
        if self.negation is not None and self.negation.glued:
            first = [*first, self.negation]
        elif self.negation is not None:
            others = [self.negation, *others]
        words = [*first, *words_of(self.subject), *others]
        return Phrase(self.head, [*words, *self.middle, *words_of(self.predicate, *self.rest)])


def verb_clause(
    draw: Draw,
    verb: Verb,
    subject: Nominal,
    *,
    missing: str = "",
    support: bool = False,
    negatable: bool = True,
) -> Clause:
    """Make an active clause; `missing` names a role ("object", or a preposition) that is filled elsewhere."""
    negative = negatable and draw.maybe(0.08)
    group = conjugate(draw, verb, agreement_of(subject), support=support or negative)
    clause = Clause(Phrase(group.main), group, subject, group.auxiliaries)
    subject.under(group.main, "nsubj")
    if negative:
        clause.negation = negate(draw, group.auxiliaries[0]).under(group.main, "advmod")
    complete(draw, clause, verb, missing=missing)
    return clause


def passive_clause(draw: Draw, verb: Verb, subject: Nominal) -> Clause:
    """Make a passive clause; the subject is of a class that the verb takes as object."""
    group = conjugate(draw, verb, agreement_of(subject), passive=True)
    clause = Clause(Phrase(group.main), group, subject, group.auxiliaries)
    subject.under(group.main, "nsubj:pass")
    if draw.maybe(0.06):
        clause.negation = negate(draw, group.auxiliaries[0]).under(group.main, "advmod")
    complete_passive(draw, clause, verb)
    return clause


def complete(draw: Draw, clause: Clause, verb: Verb, *, missing: str = "") -> None:
    """Add objects, prepositional phrases and adverbs to a clause that has its verb."""
    frame = verb.frame
    if frame.recipient and missing not in ("object", "to") and draw.maybe(0.5):
        recipient = nominal(draw, frame.recipient, verb=frame)
        clause.rest.append(recipient.under(clause.head, "iobj"))
        missing = missing or "to"
    if frame.object and missing != "object":
        clause.last = nominal(draw, frame.object, verb=frame)
        clause.rest.append(clause.last.under(clause.head, "obj"))
    _add_prepositions(draw, clause, verb, missing=missing)
    _add_adverbs(draw, clause)


def complete_passive(draw: Draw, clause: Clause, verb: Verb) -> None:
    """Add the doer, prepositional phrases and adverbs to a passive clause."""
    if draw.maybe(0.45):
        clause.last = nominal(draw, verb.frame.subject, verb=verb.frame)
        clause.rest.append(prepositional("by", clause.last).under(clause.head, "obl:agent"))
    _add_prepositions(draw, clause, verb, missing="")
    _add_adverbs(draw, clause)


def copular_clause(draw: Draw, subject: Nominal) -> Clause:
    """Make a clause with "be": an adjective, a noun phrase or a place as predicate."""
    style = draw.weighted({"adjective": 5, "comparative": 2, "noun": 4, "place": 2})
    kind = subject.kind
    if style == "noun" and kind != "attribute":
        article = "a" if draw.maybe(0.65) else "the"
        predicate: Phrase = common(draw, kind, article=article, plural=subject.plural)
    elif style == "place" and kind != "attribute":
        predicate = prepositional(draw.one_of(("in", "near")), nominal(draw, ("area", "building", "room")))
    elif style == "comparative":
        predicate = comparison(draw, kind)
    else:
        predicate = degree_phrase(draw, kind)
    return with_copula(draw, predicate, subject, negatable=True)


def with_copula(draw: Draw, predicate: Phrase, subject: Nominal, *, negatable: bool = False) -> Clause:
    """Join subject and predicate by "be"."""
    head = predicate.head
    group = conjugate(draw, BE, agreement_of(subject), upos="AUX")
    for word in group.auxiliaries:
        word.under(head, "aux")
    clause = Clause(predicate, group, subject, [*group.auxiliaries, group.main.under(head, "cop")])
    subject.under(head, "nsubj")
    if negatable and draw.maybe(0.08):
        clause.negation = negate(draw, clause.auxiliaries[0]).under(head, "advmod")
    elif negatable and draw.maybe(0.1):
        clause.middle.append(adverb(draw.word("adverbs", "frequency")).under(head, "advmod"))
    return clause


def comparison(draw: Draw, kind: str) -> Phrase:
    """Make "taller than the teacher" or "more famous than the teacher"."""
    adjective = draw.adjective(kind, gradable=True)
    if adjective.comparative:
        phrase = Phrase(adjective_word(adjective, "Cmp"))
    else:
        more = Word("more", "more", "ADV/RBR", feats="Degree=Cmp")
        phrase = Phrase(adjective_word(adjective)).before(more, "advmod")
    other = name(draw, kind) if draw.maybe(0.3) else None
    return phrase.after(prepositional("than", other or common(draw, kind)), "obl")


def agreement_of(subject: Nominal) -> Agreement:
    """Return person and number for the verb."""
    return Agreement(subject.person, subject.plural)


def _add_prepositions(draw: Draw, clause: Clause, verb: Verb, *, missing: str) -> None:
    """Add phrases with prepositions that would not rather hang on a noun before them."""
    frame = verb.frame
    edge = list(clause.last.edge) if clause.last is not None else []
    needed = frame.needs_preposition and missing not in frame.prepositions
    used = {missing}
    while needed or draw.spend(0.3):
        choices = [form for form in frame.prepositions if form not in used]
        if not choices:
            break
        form = frame.strand if needed and frame.strand else draw.one_of(choices)
        used.add(form)
        inner = nominal(draw, frame.prepositions[form], verb=frame)
        clause.rest.append(prepositional(form, inner).under(clause.head, "obl"))
        edge[:0] = inner.edge
        clause.last = inner
        needed = False
    form, kind = draw.one_of(_ADJUNCTS)
    free = draw.lexicon.attaches_to(frame, edge, preposition=form, kind=kind) is None
    if form not in used and free and draw.spend(0.15):
        clause.last = nominal(draw, (kind,), verb=frame)
        clause.rest.append(prepositional(form, clause.last).under(clause.head, "obl"))


def _add_adverbs(draw: Draw, clause: Clause) -> None:
    head = clause.head
    if draw.maybe(0.1):
        clause.middle.append(adverb(draw.word("adverbs", "frequency")).under(head, "advmod"))
    if draw.maybe(0.1):
        clause.rest.append(Phrase(adverb(draw.word("adverbs", "manner"))).under(head, "advmod"))
    elif draw.maybe(0.06):
        clause.rest.append(Phrase(adverb(draw.word("adverbs", "place"))).under(head, "advmod"))
    if draw.spend(0.22):
        phrase, rel = time_phrase(draw, clause.group.time)
        clause.rest.append(phrase.under(head, rel))
        clause.last = None
    if clause.rest and clause.rest[-1].head.rel == "advmod":
        clause.last = None
