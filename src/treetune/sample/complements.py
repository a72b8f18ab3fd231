"""Clauses inside clauses: after verbs of saying and wanting, and as modifiers of nouns and sentences."""

from __future__ import annotations

from treetune.sample.adjuncts import degree_phrase
from treetune.sample.clauses import (
    Clause,
    agreement_of,
    complete,
    complete_passive,
    copular_clause,
    passive_clause,
    verb_clause,
)
from treetune.sample.draw import Draw
from treetune.sample.lexicon import Verb
from treetune.sample.nominals import Nominal, attribute, nominal
from treetune.sample.pronouns import relative_pronoun
from treetune.sample.verbs import Group, conjugate, gerund, infinitive, inflect, negate
from treetune.sample.words import Phrase, Word, question_adverb, subordinator, words_of

STYLES = {
    "statement": 5,
    "question": 1,
    "infinitive": 5,
    "gerund": 2,
    "object_infinitive": 2,
    "raising": 1,
    "linking": 2,
}
_DESCRIBED = ("person", "building", "area", "artefact", "problem", "event", "document", "vehicle", "dish")
_SUBORDINATORS = {"because": 5, "when": 5, "if": 4, "although": 3, "while": 2, "after": 3, "before": 3}


def subject_for(draw: Draw, verb: Verb) -> Nominal:
    """Make a subject that the verb takes."""
    return nominal(draw, verb.frame.subject, subject=True)


def basic_clause(draw: Draw, *, support: bool = False) -> Clause:
    """Make a clause without another clause inside: active, passive or with "be"."""
    style = draw.weighted({"active": 62, "passive": 10, "copula": 28})
    if style == "copula":
        subject = attribute(draw) if draw.maybe(0.15) else nominal(draw, _DESCRIBED, subject=True)
        return copular_clause(draw, subject)
    verb = draw.verb()
    if style == "passive" and verb.frame.passive:
        return passive_clause(draw, verb, nominal(draw, verb.frame.object, subject=True))
    return verb_clause(draw, verb, subject_for(draw, verb), support=support)


def complement_clause(draw: Draw, style: str, *, support: bool = False) -> Clause:
    """Make a clause whose verb takes another clause of the given style (a key of `STYLES`)."""
    clause = _main_clause(draw, style, support=support)
    if style == "statement":
        inner = _that(draw, basic_clause(draw).statement(), probability=0.6)
        clause.rest.append(inner.under(clause.head, "ccomp"))
    elif style == "question":
        clause.rest.append(_embedded_question(draw).under(clause.head, "ccomp"))
    elif style == "linking":
        kind = clause.subject.kind if clause.subject is not None else "person"
        clause.rest.append(degree_phrase(draw, kind).under(clause.head, "xcomp"))
    else:
        inner_clause = open_clause(draw, draw.verb(role="subject", kind="person"), style)
        clause.rest.append(inner_clause.statement().under(clause.head, "xcomp"))
    return clause


def complement_with_gap(draw: Draw, style: str, kind: str) -> tuple[Clause, Word]:
    """Make a question clause whose inner verb lacks its object; return it with that verb."""
    clause = _main_clause(draw, style, support=True)
    verb = draw.verb(role="object", kind=kind)
    if style == "statement":
        inside = verb_clause(draw, verb, subject_for(draw, verb), missing="object", negatable=False)
        inner = _that(draw, inside.statement(), probability=0.3)
        clause.rest.append(inner.under(clause.head, "ccomp"))
    else:
        inside = open_clause(draw, verb, style, missing="object")
        clause.rest.append(inside.statement().under(clause.head, "xcomp"))
    return clause, inside.head


def open_clause(draw: Draw, verb: Verb, style: str, *, missing: str = "") -> Clause:
    """Make a clause without subject: "to eat a pizza" or "eating a pizza"."""
    group: Group = gerund(verb) if style == "gerund" else infinitive(verb)
    clause = Clause(Phrase(group.main), group, auxiliaries=group.auxiliaries)
    complete(draw, clause, verb, missing=missing)
    clause.middle.clear()
    return clause


def add_relative_clause(draw: Draw, phrase: Phrase, antecedent: Nominal) -> None:
    """Add a clause that modifies the noun at the end of `phrase`, if there are verbs for its class."""
    roles = [role for role in ("subject", "object") if (role, antecedent.kind) in draw.lexicon.verbs_by_role]
    if not roles:
        return
    role = draw.one_of(roles)
    verb = draw.verb(role=role, kind=antecedent.kind)
    if draw.maybe(0.25) and (role == "subject" or verb.frame.passive):
        phrase.after(_participle_clause(draw, verb, passive=role == "object"), "acl")
    else:
        phrase.after(_relative_clause(draw, antecedent, verb, role), "acl:relcl")


def _participle_clause(draw: Draw, verb: Verb, *, passive: bool) -> Phrase:
    """Make "reading a book" or "written by the king"."""
    form = "participle" if passive else "ing"
    word = inflect(verb, form)
    clause = Clause(Phrase(word), Group([], word, form, False, "any"))
    if passive:
        word.feats += "|Voice=Pass"
        complete_passive(draw, clause, verb)
    else:
        complete(draw, clause, verb)
    clause.middle.clear()
    return clause.statement()


def _relative_clause(draw: Draw, antecedent: Nominal, verb: Verb, role: str) -> Phrase:
    """Make "who read a book", "that was written by the king" or "(which) she read"."""
    kind = antecedent.kind
    forms = ("who", "who", "that") if kind == "person" else ("which", "that")
    link = Nominal(relative_pronoun(draw.one_of(forms)), kind, plural=antecedent.plural)
    if role == "subject":
        return verb_clause(draw, verb, link).statement()
    if verb.frame.passive and draw.maybe(0.3):
        return passive_clause(draw, verb, link).statement()
    clause = verb_clause(draw, verb, subject_for(draw, verb), missing="object")
    phrase = clause.statement()
    return phrase if draw.maybe(0.35) else phrase.before(link, "obj")


def adverbial_clause(draw: Draw) -> Phrase:
    """Make a clause that says when, why or under what condition."""
    phrase = basic_clause(draw).statement()
    form = draw.weighted(_SUBORDINATORS)
    if form == "when":
        return phrase.before(question_adverb("when"), "advmod")
    return phrase.before(subordinator(form), "mark")


def _main_clause(draw: Draw, style: str, *, support: bool) -> Clause:
    """Make the outer clause up to its complement, with the object of "ask him to …" included."""
    verb = draw.complement_verb(style)
    subject = nominal(draw, ("person",), subject=True)
    negative = draw.maybe(0.07)
    group = conjugate(draw, verb, agreement_of(subject), support=support or negative)
    clause = Clause(Phrase(group.main), group, subject, group.auxiliaries)
    subject.under(group.main, "nsubj")
    if negative:
        clause.negation = negate(draw, group.auxiliaries[0]).under(group.main, "advmod")
    if style == "object_infinitive":
        clause.rest.append(nominal(draw, ("person",)).under(group.main, "obj"))
    return clause


def _that(draw: Draw, phrase: Phrase, *, probability: float) -> Phrase:
    return phrase.before(subordinator("that"), "mark") if draw.maybe(probability) else phrase


def _embedded_question(draw: Draw) -> Phrase:
    """Make "where she lives" or "if she lives in Paris"."""
    verb = draw.verb()
    phrase = verb_clause(draw, verb, subject_for(draw, verb), negatable=False).statement()
    form = draw.one_of(("where", "when", "why", "how", "if", "whether"))
    if form in ("if", "whether"):
        return phrase.before(subordinator(form), "mark")
    word = question_adverb(form).under(phrase.head, "advmod")
    return Phrase(phrase.head, words_of(word, phrase))
