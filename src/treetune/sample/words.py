"""Words in the making: a `Word` knows its head, a `Phrase` is a run of words with one of them on top.

Order and structure are kept apart (a phrase is a plain list; heads are links between words), because a
fronted question word stands far from the verb it depends on.
"""

from __future__ import annotations

from collections.abc import Iterable


class Word:
    """One word of a sentence that is being built; `glued` means no space before it."""

    __slots__ = ("feats", "form", "glued", "head", "lemma", "rel", "upos", "xpos")

    def __init__(self, form: str, lemma: str, tags: str, *, feats: str = "_", glued: bool = False) -> None:
        self.form = form
        self.lemma = lemma
        self.upos, self.xpos = tags.split("/")
        self.feats = feats
        self.glued = glued
        self.head: Word | None = None
        self.rel = "root"

    def under(self, head: Word, rel: str) -> Word:
        """Hang this word on `head` and return it."""
        self.head = head
        self.rel = rel
        return self

    def __repr__(self) -> str:
        return f"{self.form}/{self.xpos}"


class Phrase:
    """A run of words in order, and the one that the others depend on."""

    __slots__ = ("head", "words")

    def __init__(self, head: Word, words: Iterable[Word] | None = None) -> None:
        self.head = head
        self.words = [head] if words is None else list(words)

    def under(self, head: Word, rel: str) -> Phrase:
        """Hang the phrase on a word outside it and return it."""
        self.head.under(head, rel)
        return self

    def before(self, child: Phrase | Word, rel: str) -> Phrase:
        """Put a dependent of the head at the front."""
        child.under(self.head, rel)
        self.words[:0] = words_of(child)
        return self

    def after(self, child: Phrase | Word, rel: str) -> Phrase:
        """Put a dependent of the head at the end."""
        child.under(self.head, rel)
        self.words.extend(words_of(child))
        return self


def words_of(*parts: Phrase | Word | None) -> list[Word]:
    """Return the words of several parts in a row, leaving out what is None."""
    words: list[Word] = []
    for part in parts:
        if isinstance(part, Word):
            words.append(part)
        elif part is not None:
            words.extend(part.words)
    return words


def mark(form: str) -> Word:
    """Return a comma or final mark, written without a space before it."""
    return Word(form, form, "PUNCT/," if form == "," else "PUNCT/.", glued=True)


def preposition(form: str) -> Word:
    """Return a preposition."""
    return Word(form, form, "ADP/IN")


def adverb(form: str, feats: str = "_") -> Word:
    """Return an adverb."""
    return Word(form, form, "ADV/RB", feats=feats)


def conjunction(form: str) -> Word:
    """Return "and", "or" or "but"."""
    return Word(form, form, "CCONJ/CC")


def subordinator(form: str) -> Word:
    """Return a word that opens a subordinate clause; "to" of the infinitive is a particle."""
    if form == "to":
        return Word("to", "to", "PART/TO")
    return Word(form, form, "SCONJ/IN")


def question_adverb(form: str) -> Word:
    """Return where, when, why or how."""
    return Word(form, form, "ADV/WRB", feats="PronType=Int")


def coordinate(first: Phrase, second: Phrase, *, by: str, comma: bool = False) -> Phrase:
    """Join two phrases: the second hangs on the first, the conjunction (and comma) on the second."""
    second.before(conjunction(by), "cc")
    if comma:
        second.before(mark(","), "punct")
    return first.after(second, "conj")
