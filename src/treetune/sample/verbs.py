"""Verb groups: auxiliaries in order, each deciding the form of the next, and the main verb last."""

from __future__ import annotations

from dataclasses import dataclass

from treetune.sample.draw import Draw
from treetune.sample.lexicon import Frame, Verb
from treetune.sample.morphology import with_s
from treetune.sample.words import Word, subordinator

_NONE = Frame("auxiliary", ())
BE = Verb("be", "was", "been", "being", _NONE)
HAVE = Verb("have", "had", "had", "having", _NONE)
DO = Verb("do", "did", "done", "doing", _NONE)
_THIRD = {"be": "is", "have": "has", "do": "does"}
_MODALS = {"will": 6, "can": 5, "should": 2, "could": 2, "would": 2, "must": 2, "may": 1, "might": 1}
_UNCONTRACTED = {"may", "might", "am"}
_CONTRACTED = {"will": "wo", "can": "ca"}

# What stands before the main verb: (auxiliaries, past tense, time it speaks of), with a weight.
_TENSES: dict[tuple[tuple[str, ...], bool, str], int] = {
    ((), True, "past"): 45,
    ((), False, "any"): 18,
    (("modal",), False, "future"): 14,
    (("have",), False, "past"): 7,
    (("have",), True, "past"): 3,
    (("progressive",), False, "any"): 7,
    (("progressive",), True, "past"): 4,
    (("modal", "have"), False, "past"): 1,
    (("have", "progressive"), False, "any"): 1,
}
_NEXT = {"modal": "base", "do": "base", "have": "participle", "progressive": "ing", "passive": "participle"}


@dataclass(frozen=True, slots=True)
class Agreement:
    """Person and number of a subject."""

    person: int = 3
    plural: bool = False


@dataclass(slots=True)
class Group:
    """Auxiliaries in order, the main verb, the form the verb stands in, and the time it speaks of."""

    auxiliaries: list[Word]
    main: Word
    form: str
    past: bool
    time: str


def conjugate(
    draw: Draw,
    verb: Verb,
    agreement: Agreement,
    *,
    passive: bool = False,
    support: bool = False,
    upos: str = "VERB",
) -> Group:
    """Choose a tense and inflect; `support` asks for at least one auxiliary, "do" where there is no other."""
    chain, past, time = draw.weighted(_TENSES)
    if verb is BE:
        chain = tuple(name for name in chain if name != "progressive")
    chain = (*chain, "passive") if passive else chain
    if support and not chain:
        chain = ("do",)
    form = "finite"
    auxiliaries = []
    for name in chain:
        auxiliaries.append(_auxiliary(draw, name, form, agreement=agreement, past=past))
        form = _NEXT[name]
    main = inflect(verb, form, agreement=agreement, past=past, upos=upos)
    if passive:
        main.feats += "|Voice=Pass"
    for word, name in zip(auxiliaries, chain, strict=True):
        word.under(main, "aux:pass" if name == "passive" else "aux")
    return Group(auxiliaries, main, form, past, time)


def infinitive(verb: Verb, *, to: bool = True) -> Group:
    """Inflect as "to" + base form, or the base form alone."""
    main = inflect(verb, "base")
    return Group([subordinator("to").under(main, "mark")] if to else [], main, "base", False, "future")


def gerund(verb: Verb) -> Group:
    """Inflect as the -ing form of a complement."""
    return Group([], Word(verb.ing, verb.lemma, "VERB/VBG", feats="VerbForm=Ger"), "ing", False, "any")


def command(verb: Verb, *, negative: bool) -> Group:
    """Inflect as an imperative, with "do n't" if negative."""
    main = inflect(verb, "base")
    if not negative:
        main.feats = "Mood=Imp|VerbForm=Fin"
        return Group([], main, "base", False, "future")
    do = Word("do", "do", "AUX/VB", feats="Mood=Imp|VerbForm=Fin").under(main, "aux")
    return Group([do, negation(contracted=True).under(main, "advmod")], main, "base", False, "future")


def inflect(
    verb: Verb, form: str, *, agreement: Agreement | None = None, past: bool = False, upos: str = "VERB"
) -> Word:
    """Return a verb in a form: finite, base, participle or ing."""
    if form == "base":
        return Word(verb.lemma, verb.lemma, f"{upos}/VB", feats="VerbForm=Inf")
    if form == "participle":
        return Word(verb.participle, verb.lemma, f"{upos}/VBN", feats="Tense=Past|VerbForm=Part")
    if form == "ing":
        return Word(verb.ing, verb.lemma, f"{upos}/VBG", feats="Tense=Pres|VerbForm=Part")
    return _finite(verb, agreement or Agreement(), past=past, upos=upos)


def negation(*, contracted: bool) -> Word:
    """Return "not" or "n't"."""
    return Word("n't" if contracted else "not", "not", "PART/RB", feats="Polarity=Neg", glued=contracted)


def negate(draw: Draw, finite: Word) -> Word:
    """Return the negation for a finite auxiliary, contracted if it can be (will, can change their form)."""
    contracted = finite.form not in _UNCONTRACTED and draw.maybe(0.6)
    if contracted:
        finite.form = _CONTRACTED.get(finite.form, finite.form)
    return negation(contracted=contracted)


def _finite(verb: Verb, agreement: Agreement, *, past: bool, upos: str) -> Word:
    third = agreement.person == 3 and not agreement.plural
    number = "Plur" if agreement.plural else "Sing"
    feats = f"Mood=Ind|Number={number}|Person={agreement.person}|Tense={'Past' if past else 'Pres'}|VerbForm=Fin"
    if past:
        form = "were" if verb is BE and (agreement.plural or agreement.person == 2) else verb.past
    elif third:
        form = _THIRD.get(verb.lemma) or with_s(verb.lemma)
    elif verb is BE:
        form = "am" if agreement.person == 1 and not agreement.plural else "are"
    else:
        form = verb.lemma
    xpos = "VBD" if past else "VBZ" if third else "VBP"
    return Word(form, verb.lemma, f"{upos}/{xpos}", feats=feats)


def _auxiliary(draw: Draw, name: str, form: str, *, agreement: Agreement, past: bool) -> Word:
    if name == "modal":
        modal = draw.weighted(_MODALS)
        return Word(modal, modal, "AUX/MD", feats="VerbForm=Fin")
    verb = {"have": HAVE, "do": DO}.get(name, BE)
    return inflect(verb, form, agreement=agreement, past=past, upos="AUX")
