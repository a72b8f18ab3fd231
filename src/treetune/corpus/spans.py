"""Tags of words to spans of words and back: entities, chunks, anything that is written as IOB2.

A span covers words `start` to `end - 1`, counted from 1 as everywhere. `spans_of` reads every way of writing spans as
tags that is in use (IOB1, IOB2, BIOES and BILOU, which is BIOES with other letters) by the rules of the CoNLL script
`conlleval`, so that scores agree with it even on sequences that no scheme allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from treetune.corpus.sentence import ROOT
from treetune.errors import DataError

# The key of MISC in which CoNLL-U files and pipelines have named entities.
ENTITY_KEY = "ner"
OUTSIDE = "O"
BEGIN, INSIDE = "B", "I"
_ENDS = ("E", "L")
_SINGLES = ("S", "U")
PREFIXES = (BEGIN, INSIDE, *_ENDS, *_SINGLES)


class Span(NamedTuple):
    """Some words in a row and what they are: ``Span(3, 5, "PER")`` is words 3 and 4."""

    start: int
    end: int
    label: str


def split_tag(tag: str) -> tuple[str, str]:
    """Return the letter and the label of a tag: ``("B", "PER")`` of ``B-PER``, ``("O", "")`` of ``O``.

    What is neither, an unknown tag for one, is outside of everything.
    """
    letter, dash, label = tag.partition("-")
    return (letter, label) if dash and letter in PREFIXES else (OUTSIDE, "")


def is_tag(tag: str) -> bool:
    """Whether a tag is ``O`` or a letter of a scheme with a label, as in ``B-PER``."""
    letter, dash, label = tag.partition("-")
    return tag == OUTSIDE or bool(dash and label and letter in PREFIXES)


def spans_of(tags: Sequence[str]) -> list[Span]:
    """Return the spans in the tags of a sentence, from left to right; `tags[0]` belongs to the artificial root.

    A span begins at ``B``, ``S`` and ``U``, and at any other letter that has no open span of its label before it.
    """
    found: list[Span] = []
    start, open_label = 0, ""
    for word in range(1, len(tags)):
        letter, label = split_tag(tags[word])
        if open_label and (label != open_label or letter in (BEGIN, *_SINGLES)):
            found.append(Span(start, word, open_label))
            open_label = ""
        if label and not open_label:
            start, open_label = word, label
        if letter in (*_ENDS, *_SINGLES):
            found.append(Span(start, word + 1, label))
            open_label = ""
    if open_label:
        found.append(Span(start, len(tags), open_label))
    return found


def iob_tags(spans: Iterable[Span], length: int) -> tuple[str, ...]:
    """Return the IOB2 tags of a sentence of `length` words, index 0 included.

    Raises:
        DataError: a span is empty or outside of the sentence, has no label, or covers a word of another one.
    """
    tags = [ROOT, *[OUTSIDE] * length]
    for span in spans:
        if not 1 <= span.start < span.end <= length + 1:
            raise DataError(f"expected a span within words 1 to {length}, found words {span.start} to {span.end - 1}")
        if not span.label:
            raise DataError(f"expected a span with a label, found none for words {span.start} to {span.end - 1}")
        if any(tag != OUTSIDE for tag in tags[span.start : span.end]):
            raise DataError(f"expected spans that share no word, found two of words {span.start} to {span.end - 1}")
        tags[span.start] = f"{BEGIN}-{span.label}"
        tags[span.start + 1 : span.end] = [f"{INSIDE}-{span.label}"] * (span.end - span.start - 1)
    return tuple(tags)


def scheme_of(tags: Sequence[str]) -> str:
    """Return the scheme in which the tags of a sentence are written: ``iob2``, ``iob1``, ``bioes`` or ``bilou``.

    What all schemes would write alike is IOB2.
    """
    letters = {split_tag(tag)[0] for tag in tags[1:]}
    if letters & {"L", "U"}:
        return "bilou"
    if letters & {"E", "S"}:
        return "bioes"
    return "iob2" if first_break(tags) is None else "iob1"


def first_break(tags: Sequence[str]) -> int | None:
    """Return the first word at which tags are not IOB2: a letter but B, I and O, or an I that continues nothing."""
    before = ""
    for word in range(1, len(tags)):
        letter, label = split_tag(tags[word])
        if letter not in (BEGIN, INSIDE, OUTSIDE) or (letter == INSIDE and label != before):
            return word
        before = label
    return None
