"""Whole sentences that are not questions: declaratives and commands."""

from __future__ import annotations

from treetune.sample.clauses import Clause, agreement_of, complete
from treetune.sample.complements import (
    STYLES,
    add_relative_clause,
    adverbial_clause,
    basic_clause,
    complement_clause,
)
from treetune.sample.draw import Draw
from treetune.sample.nominals import common
from treetune.sample.verbs import BE, Agreement, command, conjugate, inflect
from treetune.sample.words import Phrase, Word, adverb, coordinate, mark, words_of


def clause_with_extras(draw: Draw, *, support: bool = False) -> Clause:
    """Make a clause of any sort, perhaps with a relative clause or a second verb phrase."""
    if draw.spend(0.24, cost=2):
        clause = complement_clause(draw, draw.weighted(STYLES), support=support)
    else:
        clause = basic_clause(draw, support=support)
    if clause.last is not None and draw.spend(0.18 if clause.last.open else 0, cost=2):
        add_relative_clause(draw, clause.rest[-1], clause.last)
    elif clause.subject is not None and clause.subject.open and draw.spend(0.1, cost=2):
        add_relative_clause(draw, clause.subject, clause.subject)
    elif draw.spend(0.12, cost=2):
        _coordinate_verb(draw, clause)
    return clause


def declarative(draw: Draw) -> Phrase:
    """Make a declarative sentence."""
    phrase = _existential(draw) if draw.maybe(0.04) else _statement(draw)
    if draw.spend(0.1, cost=3):
        second = _statement(draw)
        by = draw.weighted({"and": 6, "but": 4, "or": 1})
        coordinate(phrase, second, by=by, comma=draw.maybe(0.7))
    elif draw.spend(0.14, cost=2):
        add_adverbial_clause(draw, phrase)
    elif draw.maybe(0.05):
        opening = Phrase(adverb(draw.word("adverbs", "opening")))
        phrase.before(opening.after(mark(","), "punct"), "advmod")
    return end(phrase, ".")


def _statement(draw: Draw) -> Phrase:
    """Make a clause in the order of a statement, now and then with its last phrase moved to the front."""
    clause = clause_with_extras(draw)
    if not clause.rest or clause.rest[-1].head.rel not in ("obl", "obl:unmarked") or draw.maybe(0.85):
        return clause.statement()
    front = clause.rest.pop()
    rel = front.head.rel
    if draw.maybe(0.6):
        front.after(mark(","), "punct")
    return clause.statement().before(front, rel)


def imperative(draw: Draw) -> Phrase:
    """Make a command."""
    verb = draw.verb(role="subject", kind="person")
    group = command(verb, negative=draw.maybe(0.15))
    clause = Clause(Phrase(group.main), group, auxiliaries=group.auxiliaries)
    complete(draw, clause, verb)
    clause.middle.clear()
    if not group.auxiliaries and draw.spend(0.25):
        _coordinate_verb(draw, clause)
    phrase = clause.statement()
    if draw.maybe(0.2):
        phrase.before(Word("please", "please", "INTJ/UH"), "discourse")
    if draw.spend(0.12, cost=2):
        add_adverbial_clause(draw, phrase)
    return end(phrase, "." if draw.maybe(0.85) else "!")


def end(phrase: Phrase, form: str) -> Phrase:
    """Add the final mark."""
    return phrase.after(mark(form), "punct")


def add_adverbial_clause(draw: Draw, phrase: Phrase, *, at_end: bool = False) -> None:
    """Add an adverbial clause, in front with a comma or at the end."""
    clause = adverbial_clause(draw)
    if not at_end and draw.maybe(0.4):
        phrase.before(clause.after(mark(","), "punct"), "advcl")
    else:
        phrase.after(clause, "advcl")


def _coordinate_verb(draw: Draw, clause: Clause) -> None:
    """Add a second verb phrase that shares subject and auxiliaries with the first."""
    group, subject = clause.group, clause.subject
    if group.main is not clause.head or "Voice=Pass" in group.main.feats:
        return
    kind = subject.kind if subject is not None else "person"
    if ("subject", kind) not in draw.lexicon.verbs_by_role:
        return
    verb = draw.verb(role="subject", kind=kind)
    agreement = agreement_of(subject) if subject is not None else Agreement()
    word = inflect(verb, group.form, agreement=agreement, past=group.past)
    if group.form == "base":
        word.feats = group.main.feats
    second = Clause(Phrase(word), group)
    complete(draw, second, verb)
    by = draw.weighted({"and": 8, "or": 2, "but": 1})
    joined = coordinate(Phrase(clause.head, []), second.statement(), by=by)
    clause.rest.append(Phrase(word, joined.words))


def _existential(draw: Draw) -> Phrase:
    """Make "There is a bridge near the village"."""
    kind = draw.one_of(("building", "landmark", "animal", "problem", "dish", "person", "document", "vehicle"))
    subject = common(draw, kind, article="a")
    if subject.open and draw.spend(0.4, cost=2):
        add_relative_clause(draw, subject, subject)
    group = conjugate(draw, BE, agreement_of(subject))
    there = Word("there", "there", "PRON/EX").under(group.main, "expl")
    subject.under(group.main, "nsubj")
    return Phrase(group.main, words_of(there, *group.auxiliaries, group.main, subject))
