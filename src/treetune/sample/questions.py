"""Questions: the auxiliary before the subject, and a question word in front of it."""

from __future__ import annotations

from collections.abc import Callable

from treetune.sample.clauses import Clause, passive_clause, verb_clause, with_copula
from treetune.sample.complements import complement_with_gap, subject_for
from treetune.sample.draw import Draw
from treetune.sample.lexicon import Verb
from treetune.sample.nominals import (
    Nominal,
    adjective_word,
    attribute,
    bare,
    common,
    how_many,
    name,
    nominal,
    prepositional,
)
from treetune.sample.pronouns import determiner, question_determiner, question_pronoun
from treetune.sample.statements import add_adverbial_clause, clause_with_extras, end
from treetune.sample.verbs import BE, Agreement, inflect
from treetune.sample.words import Phrase, Word, adverb, preposition, question_adverb, words_of

_MEASURED = ("person", "building", "landmark", "vehicle", "artefact", "dish", "animal", "event")
_COLORED = ("vehicle", "artefact", "garment", "container")
_COUNTED = (("person", "in", "room"), ("building", "in", "area"), ("document", "on", "furniture"))
_PLURAL = Agreement(plural=True)
_SUPERLATIVE = ("building", "landmark", "area", "person", "animal", "vehicle", "document", "dish")


def yes_no(draw: Draw) -> Phrase:
    """Make a yes/no question."""
    phrase = clause_with_extras(draw, support=True).question()
    if draw.spend(0.06, cost=2):
        add_adverbial_clause(draw, phrase, at_end=True)
    return end(phrase, "?")


def wh(draw: Draw) -> Phrase:
    """Make a question with a question word."""
    return end(draw.weighted(_WH)(draw), "?")


def question_phrase(draw: Draw, kind: str, *, pronoun: float = 0.6) -> Nominal:
    """Make who or what (a share of `pronoun`), "which book", "how many books" or "whose book"."""
    human = kind in draw.lexicon.words("traits", "human")
    if draw.maybe(pronoun):
        return Nominal(question_pronoun("who" if human else "what"), kind)
    mass = kind in draw.lexicon.words("traits", "mass")
    style = draw.weighted({"which": 6, "what": 3, "how many": 3, "whose": 1})
    if style == "how many" and not mass:
        return how_many(draw, kind)
    phrase = bare(draw, kind, plural=not mass and draw.maybe(0.25))
    if style == "whose":
        phrase.before(question_determiner("whose"), "nmod:poss")
    else:
        phrase.before(question_determiner("what" if style == "what" else "which"), "det")
    return phrase


def _subject(draw: Draw) -> Phrase:
    """Who wrote the letter? (the order of a statement)"""
    if draw.maybe(0.12):
        verb = _passive_verb(draw)
        return passive_clause(draw, verb, question_phrase(draw, draw.one_of(verb.frame.object))).statement()
    verb = draw.verb()
    subject = question_phrase(draw, draw.one_of(verb.frame.subject))
    return verb_clause(draw, verb, subject, negatable=False).statement()


def _object(draw: Draw) -> Phrase:
    """What did she write?"""
    kind = draw.one_of(tuple(kind for role, kind in draw.lexicon.verbs_by_role if role == "object"))
    verb = draw.verb(role="object", kind=kind)
    clause = verb_clause(draw, verb, subject_for(draw, verb), missing="object", support=True, negatable=False)
    return _front(question_phrase(draw, kind), clause.question(), clause.head, "obj")


def _oblique(draw: Draw) -> Phrase:
    """In which city does he live?"""
    roles = tuple(key for key in draw.lexicon.verbs_by_role if key[0] not in ("subject", "object"))
    role, kind = draw.one_of(roles)
    verb = draw.verb(role=role, kind=kind)
    clause = verb_clause(draw, verb, subject_for(draw, verb), missing=role, support=True, negatable=False)
    asked = prepositional(role, question_phrase(draw, kind, pronoun=0))
    return _front(asked, clause.question(), clause.head, "obl")


def _stranded(draw: Draw) -> Phrase:
    """What is she looking for? (the preposition hangs on the question word: not projective)"""
    verb = draw.one_of(tuple(verb for verb in draw.lexicon.verbs if verb.frame.strand))
    form = verb.frame.strand
    asked = question_phrase(draw, draw.one_of(verb.frame.prepositions[form]))
    subject = subject_for(draw, verb)
    draw.budget = 0
    clause = verb_clause(draw, verb, subject, missing=form, support=True, negatable=False)
    clause.rest.insert(0, Phrase(preposition(form).under(asked.head, "case")))
    return _front(asked, clause.question(), clause.head, "obl")


def _adverbial(draw: Draw) -> Phrase:
    """Where / when / why / how / how often does she read?"""
    clause: Clause
    if draw.maybe(0.25):
        verb = _passive_verb(draw)
        clause = passive_clause(draw, verb, nominal(draw, verb.frame.object, subject=True))
    else:
        verb = draw.verb()
        clause = verb_clause(draw, verb, subject_for(draw, verb), support=True)
    clause.rest = [phrase for phrase in clause.rest if phrase.head.rel not in ("advmod", "obl:unmarked")]
    word = question_adverb(draw.weighted({"where": 4, "when": 5, "why": 4, "how": 3}))
    asked = Phrase(word)
    if word.form == "how" and draw.maybe(0.4):
        asked = Phrase(adverb(draw.word("adverbs", "measure"))).before(word, "advmod")
    return _front(asked, clause.question(), clause.head, "advmod")


def _embedded(draw: Draw) -> Phrase:
    """What did she say that he bought? What does she want to read? (not projective)"""
    kind = draw.one_of(tuple(kind for role, kind in draw.lexicon.verbs_by_role if role == "object"))
    style = draw.weighted({"statement": 3, "infinitive": 5, "gerund": 1, "object_infinitive": 2})
    clause, inner = complement_with_gap(draw, style, kind)
    return _front(question_phrase(draw, kind), clause.question(), inner, "obj")


def _identity(draw: Draw) -> Phrase:
    """What is the name of the river? Who is the tall man? (the question word is the predicate)"""
    if draw.maybe(0.65):
        subject, form = attribute(draw), "what"
        if subject.head.form in ("owner", "mayor", "author", "leader"):
            form = "who"
    elif draw.maybe(0.5):
        subject, form = common(draw, "person", article="the"), "who"
    else:
        subject, form = common(draw, draw.one_of(("problem", "building", "topic")), article="the"), "what"
    return _be(draw, Phrase(question_pronoun(form)), subject)


def _place(draw: Draw) -> Phrase:
    """Where is the bridge? When was the concert?"""
    kind = draw.one_of(("building", "landmark", "event", "person", "artefact", "area", "document"))
    named = name(draw, kind) if draw.maybe(0.25) else None
    subject = named or common(draw, kind, article="the" if draw.maybe(0.7) else "")
    form = "when" if kind == "event" and draw.maybe(0.7) else "where"
    return _be(draw, Phrase(question_adverb(form)), subject)


def _measure(draw: Draw) -> Phrase:
    """How old is the castle?"""
    kind = draw.one_of(_MEASURED)
    adjective = Phrase(adjective_word(draw.adjective(kind, gradable=True)))
    adjective.before(question_adverb("how"), "advmod")
    named = name(draw, kind) if draw.maybe(0.25) else None
    return _be(draw, adjective, named or common(draw, kind, article="the" if draw.maybe(0.7) else ""))


def _which_is(draw: Draw) -> Phrase:
    """Which river is the longest in Peru? What color is the car?"""
    if draw.maybe(0.3):
        word = draw.one_of(("color", "size", "shape"))
        asked = Phrase(Word(word, word, "NOUN/NN", feats="Number=Sing"))
        asked.before(question_determiner("what"), "det")
        return _be(draw, asked, common(draw, draw.one_of(_COLORED), article="the"))
    kind = draw.one_of(_SUPERLATIVE)
    subject = bare(draw, kind, plural=False)
    subject.before(question_determiner(draw.one_of(("which", "what"))), "det")
    clause = with_copula(draw, _superlative(draw, kind), subject)
    return clause.statement()


def _how_many_are_there(draw: Draw) -> Phrase:
    """How many bridges are there in the city?"""
    thing, form, place = draw.one_of(_COUNTED)
    subject = how_many(draw, thing)
    verb = inflect(BE, "finite", agreement=_PLURAL, past=draw.maybe(0.3))
    there = Word("there", "there", "PRON/EX").under(verb, "expl")
    where = prepositional(form, nominal(draw, (place,), verb=BE.frame)).under(verb, "obl")
    subject.under(verb, "nsubj")
    return Phrase(verb, words_of(subject, verb, there, where))


def _superlative(draw: Draw, kind: str) -> Phrase:
    adjective = draw.adjective(kind, gradable=True)
    if adjective.superlative:
        phrase = Phrase(adjective_word(adjective, "Sup"))
    else:
        most = Word("most", "most", "ADV/RBS", feats="Degree=Sup")
        phrase = Phrase(adjective_word(adjective)).before(most, "advmod")
    phrase.before(determiner("the"), "det")
    if draw.maybe(0.5):
        phrase.after(prepositional("in", nominal(draw, ("area",))), "obl")
    return phrase


def _passive_verb(draw: Draw) -> Verb:
    return draw.one_of(tuple(verb for verb in draw.lexicon.verbs if verb.frame.passive))


def _be(draw: Draw, asked: Phrase, subject: Nominal) -> Phrase:
    """Put the asked predicate in front, then "be" and the subject."""
    clause = with_copula(draw, asked, subject)
    clause.predicate = Phrase(asked.head, ())
    return Phrase(asked.head, words_of(asked, clause.question()))


def _front(asked: Phrase, clause: Phrase, head: Word, rel: str) -> Phrase:
    """Put the asked phrase first; `head` is the verb it belongs to, which may be an inner one."""
    asked.under(head, rel)
    return Phrase(clause.head, words_of(asked, clause))


_WH: dict[Callable[[Draw], Phrase], int] = {
    _subject: 17,
    _object: 18,
    _oblique: 10,
    _stranded: 3,
    _adverbial: 20,
    _embedded: 5,
    _identity: 12,
    _place: 5,
    _measure: 5,
    _which_is: 6,
    _how_many_are_there: 3,
}
