"""Noun phrases: pronouns, names and common nouns with what stands before and after them."""

from __future__ import annotations

from collections.abc import Sequence

from treetune.sample.draw import Draw
from treetune.sample.lexicon import Adjective, Frame, Noun
from treetune.sample.morphology import with_s
from treetune.sample.pronouns import AGREEMENT, determiner, numeral, possessive, pronoun
from treetune.sample.words import (
    Phrase,
    Word,
    adverb,
    coordinate,
    mark,
    preposition,
    question_adverb,
    words_of,
)

_NO_VERB = Frame("none", ())


class Nominal(Phrase):
    """A noun phrase with what its neighbors must know.

    `kind` is the class of its head noun, `edge` the classes of the nouns at its right edge, nearest first;
    a phrase that follows may only hang above them if none of them would take it.
    """

    __slots__ = ("edge", "kind", "open", "person", "plural")

    def __init__(self, head: Word, kind: str, *, plural: bool = False, person: int = 3) -> None:
        super().__init__(head)
        self.kind = kind
        self.plural = plural
        self.person = person
        self.edge: list[str] = []
        self.open = False  # a common noun without a phrase after it: may take a relative clause


def nominal(draw: Draw, kinds: Sequence[str], *, subject: bool = False, verb: Frame = _NO_VERB) -> Nominal:
    """Make a noun phrase of one of the classes; `verb` is the frame of the verb it follows, if any."""
    kind = draw.one_of(kinds)
    if draw.maybe(0.3 if subject else 0.1):
        return personal(draw, kind, subject=subject)
    if draw.maybe(0.3) and (named := name(draw, kind)) is not None:
        return named
    first = common(draw, kind, verb=verb)
    return _list(draw, first, verb=verb) if draw.spend(0.07, cost=2) else first


def _list(draw: Draw, first: Nominal, *, verb: Frame) -> Nominal:
    """Make "a cat and a dog" or "a cat, a dog and a horse"; the verb agrees with the nearest after "or"."""
    by = "and" if draw.maybe(0.8) else "or"
    if draw.spend(0.2):
        middle = common(draw, first.kind, verb=verb)
        first.after(middle.before(mark(","), "punct"), "conj")
        first.edge = [*middle.edge, *first.edge]
    last = common(draw, first.kind, verb=verb)
    first.plural = by == "and" or last.plural
    first.edge, first.open = [*last.edge, *first.edge], False
    coordinate(first, last, by=by)
    return first


def personal(draw: Draw, kind: str, *, subject: bool) -> Nominal:
    """Make a pronoun that can stand for a noun of this class."""
    if kind == "person":
        who = draw.weighted({"he": 5, "she": 5, "they": 4, "I": 4, "we": 3, "you": 2})
    else:
        who = "they" if draw.maybe(0.35) else "it"
    person, plural = AGREEMENT.get(who, (3, False))
    return Nominal(pronoun(who, subject=subject), kind, plural=plural, person=person)


def name(draw: Draw, kind: str) -> Nominal | None:
    """Make a proper name, or None where a class has no names."""
    if kind == "person":
        first = _proper(draw.word("names", draw.one_of(("women", "men"))))
        full = Nominal(first, kind)
        if draw.maybe(0.35):
            full.after(_proper(draw.word("names", "surnames")), "flat")
        return full
    row = {"area": "places", "group": "groups"}.get(kind)
    return Nominal(_proper(draw.word("names", row)), kind) if row else None


def common(draw: Draw, kind: str, *, verb: Frame = _NO_VERB, article: str = "", plural: bool | None = None) -> Nominal:
    """Make a common noun with determiner, adjectives and perhaps a phrase after it."""
    if plural is None or kind in draw.lexicon.words("traits", "mass"):
        plural = _chooses_plural(draw, kind)
    noun = draw.noun(kind)
    phrase = Nominal(noun_word(noun, plural=plural), kind, plural=plural)
    phrase.edge, phrase.open = [kind], True
    _premodify(draw, phrase)
    if not article:
        _determine(draw, phrase)
    elif article == "the" or not (plural or kind in draw.lexicon.words("traits", "mass")):
        phrase.before(determiner(article), "det")
    _postmodify(draw, phrase, verb)
    return phrase


def attribute(draw: Draw) -> Nominal:
    """Make "the name of the river": something that nouns of a class have."""
    kind = draw.one_of(tuple(draw.lexicon.tables["possessed"]))
    word = draw.word("possessed", kind)
    phrase = Nominal(Word(word, word, "NOUN/NN", feats="Number=Sing"), "attribute")
    phrase.before(determiner("the"), "det")
    inner = name(draw, kind) if draw.maybe(0.3) else None
    inner = inner or common(draw, kind, article="the" if draw.maybe(0.7) else "")
    phrase.after(prepositional("of", inner), "nmod")
    phrase.edge = list(inner.edge)
    return phrase


def how_many(draw: Draw, kind: str) -> Nominal:
    """Make "how many books"."""
    phrase = bare(draw, kind, plural=True)
    many = Phrase(Word("many", "many", "ADJ/JJ", feats="Degree=Pos"))
    phrase.before(many.before(question_adverb("how"), "advmod"), "amod")
    return phrase


def bare(draw: Draw, kind: str, *, plural: bool) -> Nominal:
    """Make a noun without determiner or phrase after it, for "which …" and "how many …"."""
    phrase = Nominal(noun_word(draw.noun(kind), plural=plural), kind, plural=plural)
    phrase.edge = [kind]
    if draw.spend(0.15):
        phrase.before(adjective_word(draw.adjective(kind)), "amod")
    return phrase


def prepositional(form: str, inner: Phrase) -> Phrase:
    """Put a preposition before a noun phrase."""
    return Phrase(inner.head, words_of(preposition(form).under(inner.head, "case"), inner))


def noun_word(noun: Noun, *, plural: bool) -> Word:
    """Return a noun in its form."""
    if not plural:
        return Word(noun.lemma, noun.lemma, "NOUN/NN", feats="Number=Sing")
    return Word(noun.plural or with_s(noun.lemma), noun.lemma, "NOUN/NNS", feats="Number=Plur")


def adjective_word(adjective: Adjective, degree: str = "Pos") -> Word:
    """Return an adjective in a degree that it has a form for."""
    form = {"Pos": adjective.lemma, "Cmp": adjective.comparative, "Sup": adjective.superlative}[degree]
    return Word(
        form,
        adjective.lemma,
        {"Pos": "ADJ/JJ", "Cmp": "ADJ/JJR", "Sup": "ADJ/JJS"}[degree],
        feats=f"Degree={degree}",
    )


def _proper(form: str) -> Word:
    return Word(form, form, "PROPN/NNP", feats="Number=Sing")


def _chooses_plural(draw: Draw, kind: str) -> bool:
    return kind not in draw.lexicon.words("traits", "mass") and draw.maybe(0.28)


def _premodify(draw: Draw, phrase: Nominal) -> None:
    compounds = draw.lexicon.words("compounds", phrase.kind)
    if compounds and draw.maybe(0.12):
        noun = draw.common(compounds)
        phrase.before(Word(noun, noun, "NOUN/NN", feats="Number=Sing"), "compound")
    if draw.spend(0.3):
        described = Phrase(adjective_word(draw.adjective(phrase.kind)))
        if draw.spend(0.12):
            described.before(adverb(draw.word("adverbs", "degree")), "advmod")
        phrase.before(described, "amod")
        if draw.spend(0.1):
            phrase.before(adjective_word(draw.common(draw.lexicon.adjectives["any"])), "amod")


def _determine(draw: Draw, phrase: Nominal) -> None:
    mass = phrase.kind in draw.lexicon.words("traits", "mass")
    if draw.maybe(0.17):
        phrase.before(_possessor(draw), "nmod:poss")
    elif phrase.plural:
        _determine_plural(draw, phrase)
    elif mass:
        if draw.maybe(0.45):
            phrase.before(determiner(draw.one_of(("the", "some", "this"))), "det")
    else:
        row = {"the": 50, "a": 35, "this": 4, "that": 3, "every": 3, "another": 2, "each": 1, "no": 1}
        phrase.before(determiner(draw.weighted(row)), "det")


def _determine_plural(draw: Draw, phrase: Nominal) -> None:
    if draw.maybe(0.25):
        phrase.before(numeral(draw.word("numerals", "words")), "nummod")
        if draw.maybe(0.25):
            phrase.before(determiner(draw.one_of(("the", "these"))), "det")
    elif draw.maybe(0.65):
        phrase.before(determiner(draw.weighted({"the": 12, "some": 3, "these": 2, "those": 2, "all": 1})), "det")


def _possessor(draw: Draw) -> Phrase:
    if draw.maybe(0.6):
        return Phrase(possessive(draw.one_of(("I", "you", "he", "she", "we", "they"))))
    owner: Nominal | None = name(draw, "person") if draw.maybe(0.6) else None
    if owner is None:
        owner = Nominal(noun_word(draw.noun("person"), plural=False), "person")
        owner.before(determiner("the"), "det")
    return owner.after(Word("'s", "'s", "PART/POS", glued=True), "case")


def _postmodify(draw: Draw, phrase: Nominal, verb: Frame) -> None:
    """Add at most one phrase after the noun: one that the noun allows and the verb before does not claim."""
    choices = [
        (form, kind)
        for form, kinds in draw.lexicon.modifiers.get(phrase.kind, {}).items()
        for kind in kinds
        if not verb.claims(form, kind)
    ]
    if choices and draw.spend(0.22):
        form, kind = draw.one_of(choices)
    else:
        return
    inner = name(draw, kind) if draw.maybe(0.15) else None
    inner = inner or common(draw, kind, verb=verb)
    phrase.after(prepositional(form, inner), "nmod")
    phrase.edge, phrase.open = [*inner.edge, *phrase.edge], False
