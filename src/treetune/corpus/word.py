"""The words, tokens and entities of a parsed sentence, as objects; `corpus.document` makes them on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treetune.corpus.rawtext import SurfaceToken, misc_value
from treetune.corpus.sentence import ABSENT, UNKNOWN_HEAD

if TYPE_CHECKING:
    from treetune.corpus.document import ParsedSentence

# The key of MISC with the probability of an arc, or of a tag.
CONFIDENCE_KEY = "confidence"


class Word:
    """A word of a parsed sentence; a value that is not known is ``""``, a head that is not known is -1.

    `id` counts from 1, as in CoNLL-U, and `head` is the `id` of the head, or 0 for the root of the sentence.
    """

    __slots__ = ("id", "sentence")

    def __init__(self, sentence: ParsedSentence, number: int) -> None:
        self.sentence = sentence
        self.id = number

    @property
    def text(self) -> str:
        """The form of the word."""
        return self.sentence.sentence.forms[self.id]

    @property
    def lemma(self) -> str:
        """The lemma."""
        return self._value("lemmas")

    @property
    def upos(self) -> str:
        """The universal part-of-speech tag."""
        return self._value("upos")

    @property
    def xpos(self) -> str:
        """The language-specific part-of-speech tag."""
        return self._value("xpos")

    @property
    def feats(self) -> str:
        """The morphological features, as in ``Number=Sing|Person=3``."""
        return self._value("feats")

    @property
    def morph(self) -> dict[str, str]:
        """The same as a dictionary: ``{"Number": "Sing", "Person": "3"}``; empty if there are none."""
        pairs = (feat.partition("=") for feat in self.feats.split("|") if feat)
        return {name: value for name, _, value in pairs}

    @property
    def misc(self) -> str:
        """The MISC column."""
        return self._value("misc")

    @property
    def head(self) -> int:
        """The `id` of the head, 0 for the root."""
        return self.sentence.tree.heads[self.id]

    @property
    def deprel(self) -> str:
        """The dependency relation to the head."""
        return self.sentence.tree.labels[self.id]

    @property
    def confidence(self) -> float | None:
        """The probability that head and label are right, of a calibrated parser; None if it was not asked for."""
        try:
            return float(misc_value(self.misc, CONFIDENCE_KEY) or "")
        except ValueError:
            return None

    @property
    def start_char(self) -> int:
        """The offset of the first character in the text of the document.

        Words of a multiword token that are not written one after the other in it (French *du* = *de le*) have the
        offsets of the token.
        """
        return self.sentence.word_spans[self.id - 1][0]

    @property
    def end_char(self) -> int:
        """The offset after the last character in the text of the document."""
        return self.sentence.word_spans[self.id - 1][1]

    @property
    def parent(self) -> Word | None:
        """The head as a word; None for the root, and without a tree."""
        return self.sentence.words[self.head - 1] if self.head > 0 else None

    @property
    def children(self) -> tuple[Word, ...]:
        """The dependents, in the order of the text."""
        return tuple(self.sentence.words[child - 1] for child in self.sentence.child_ids[self.id])

    @property
    def subtree(self) -> tuple[Word, ...]:
        """The word with all words below it, in the order of the text."""
        found, left = [], [self.id]
        while left:
            word = left.pop()
            found.append(word)
            left += self.sentence.child_ids[word]
        return tuple(self.sentence.words[word - 1] for word in sorted(found))

    def to_dict(self) -> dict[str, Any]:
        """Return everything that is known of the word, ready for JSON."""
        named = {name: getattr(self, name) for name in ("text", "lemma", "upos", "xpos", "feats")}
        content = {"id": self.id} | {name: value for name, value in named.items() if value}
        if self.head != UNKNOWN_HEAD:
            content["head"] = self.head
        if self.deprel:
            content["deprel"] = self.deprel
        content |= {"start_char": self.start_char, "end_char": self.end_char}
        return content | {"misc": self.misc} if self.misc else content

    def _value(self, column: str) -> str:
        value: str = getattr(self.sentence.sentence, column)[self.id]
        return "" if value == ABSENT and not (column == "lemmas" and self.text == ABSENT) else value

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        parts = [f"{self.id}: {self.text}", self.upos]
        arc = "" if self.head < 0 else f", {self.deprel}" + (f" of {self.head}" if self.head else "")
        return f"<Word {' '.join(filter(None, parts))}{arc}>"


class Token:
    """A token as it is written: one word, or a multiword token (*don't* = *do* + *n't*)."""

    __slots__ = ("_surface", "end_char", "sentence", "start_char")

    def __init__(self, sentence: ParsedSentence, surface: SurfaceToken, span: tuple[int, int]) -> None:
        self.sentence = sentence
        self._surface = surface
        self.start_char, self.end_char = span

    @property
    def text(self) -> str:
        """The token as it is written."""
        return self._surface.form

    @property
    def words(self) -> tuple[Word, ...]:
        """The words of the token; one, unless it is a multiword token."""
        return self.sentence.words[self._surface.first - 1 : self._surface.last - 1]

    @property
    def misc(self) -> str:
        """The MISC column of the token."""
        return "" if self._surface.misc == ABSENT else self._surface.misc

    def to_dict(self) -> dict[str, Any]:
        """Return the token for JSON; `id` has the first and the last word of it."""
        content = {
            "id": [self._surface.first, self._surface.last - 1],
            "text": self.text,
            "start_char": self.start_char,
            "end_char": self.end_char,
        }
        return content | {"misc": self.misc} if self.misc else content

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Token {self.text}: {' '.join(word.text for word in self.words)}>"


class Entity:
    """Consecutive words and what they are: ``PER``, ``LOC``."""

    __slots__ = ("label", "words")

    def __init__(self, words: tuple[Word, ...], label: str) -> None:
        self.words = words
        self.label = label

    @property
    def text(self) -> str:
        """The words as they are written."""
        sentence, start = self.words[0].sentence, self.words[0].sentence.start_char
        return sentence.text[self.start_char - start : self.end_char - start]

    @property
    def start_char(self) -> int:
        """The offset of the first character in the text of the document."""
        return self.words[0].start_char

    @property
    def end_char(self) -> int:
        """The offset after the last character in the text of the document."""
        return self.words[-1].end_char

    def to_dict(self) -> dict[str, Any]:
        """Return the entity for JSON; `id` has its first and its last word."""
        return {
            "id": [self.words[0].id, self.words[-1].id],
            "label": self.label,
            "text": self.text,
            "start_char": self.start_char,
            "end_char": self.end_char,
        }

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Entity {self.label}: {self.text}>"
