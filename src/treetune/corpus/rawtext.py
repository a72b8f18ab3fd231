"""The raw text of sentences: the offsets of tokens, and the spaces between them.

``SpaceAfter=No`` in MISC says that nothing follows a token, ``SpacesAfter`` (as UDPipe writes it) what does unless it
is one space. Between sentences of a treebank that says no more stand a space, or an empty line before ``# newpar`` and
``# newdoc``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from treetune.corpus.sentence import ABSENT, Sentence

PARAGRAPH_BREAK = "\n\n"

_ESCAPES = {" ": "\\s", "\t": "\\t", "\r": "\\r", "\n": "\\n", "|": "\\p", "\\": "\\\\"}
_UNESCAPES = {code: character for character, code in _ESCAPES.items()}
_ESCAPABLE = str.maketrans(_ESCAPES)
_ESCAPED = re.compile(r"\\(?:[strnp\\]|u[0-9A-Fa-f]{4})")
# White space that has no escape of a letter: by its number, as treebanks write a space that does not break.
_OTHER_SPACE = re.compile(r"[^\S \t\r\n]")


class SurfaceToken(NamedTuple):
    """A token as it is written: a word, or a multiword token of the words from `first` to before `last`."""

    form: str
    misc: str
    first: int
    last: int


def surface_tokens(sentence: Sentence) -> list[SurfaceToken]:
    """Return the tokens of a sentence, each multiword token as one."""
    lines = dict(sentence.multiword)
    tokens, word = [], 1
    while word <= len(sentence):
        last = word + 1
        form, misc = sentence.forms[word], sentence.misc[word]
        if word in lines:
            columns = lines[word].split("\t")
            form, misc = columns[1], columns[9]
            last = int(columns[0].partition("-")[2]) + 1
        tokens.append(SurfaceToken(form, misc, word, last))
        word = last
    return tokens


def escape_spaces(spaces: str) -> str:
    """Return white space as MISC can hold it."""
    return _OTHER_SPACE.sub(lambda match: f"\\u{ord(match[0]):04X}", spaces.translate(_ESCAPABLE))


def unescape_spaces(value: str) -> str:
    """Return the white space that a value of ``SpacesAfter`` or ``SpacesBefore`` stands for."""
    return _ESCAPED.sub(lambda match: _UNESCAPES.get(match[0]) or chr(int(match[0][2:], 16)), value)


def misc_value(misc: str, key: str) -> str | None:
    """Return the value of a key in MISC, or None."""
    if misc == ABSENT:
        return None
    for entry in misc.split("|"):
        name, equals, value = entry.partition("=")
        if equals and name == key:
            return value
    return None


def spaces_after(misc: str) -> str | None:
    """Return what MISC says follows a token, or None if it says nothing."""
    if (written := misc_value(misc, "SpacesAfter")) is not None:
        return unescape_spaces(written)
    return "" if misc_value(misc, "SpaceAfter") == "No" else None


def sentence_text(sentence: Sentence) -> str:
    """Return the text of a sentence on one line: tokens with a space, or nothing, between them."""
    tokens = surface_tokens(sentence)
    pieces = [token.form + ("" if spaces_after(token.misc) == "" else " ") for token in tokens[:-1]]
    return "".join([*pieces, *(token.form for token in tokens[-1:])])


@dataclass(frozen=True, slots=True)
class Paragraph:
    """The text of a paragraph with the offsets of its tokens, sentence by sentence.

    `tokens` has for each sentence the (start, end) of its tokens in `text`; `words` the words of each of them, of
    which those of a multiword token are several.
    """

    text: str
    tokens: tuple[tuple[tuple[int, int], ...], ...]
    words: tuple[tuple[tuple[str, ...], ...], ...]


def starts_paragraph(sentence: Sentence) -> bool:
    """Whether a sentence is marked as the first of a paragraph or of a document."""
    return any(map(is_paragraph_mark, sentence.comments))


def is_paragraph_mark(comment: str) -> bool:
    """Whether a comment says that a paragraph or a document begins."""
    return comment.lstrip("# ").startswith(("newpar", "newdoc"))


def paragraphs(sentences: Iterable[Sentence]) -> Iterator[Paragraph]:
    """Yield the paragraphs of a treebank with the gold offsets of tokens and sentences."""
    held: list[Sentence] = []
    for sentence in sentences:
        if held and starts_paragraph(sentence):
            yield _paragraph(held)
            held = []
        held.append(sentence)
    if held:
        yield _paragraph(held)


def _paragraph(sentences: list[Sentence]) -> Paragraph:
    pieces: list[str] = []
    length = 0
    offsets, words = [], []
    for sentence in sentences:
        spans, parts = [], []
        for token in surface_tokens(sentence):
            spans.append((length, length + len(token.form)))
            parts.append(sentence.forms[token.first : token.last])
            after = spaces_after(token.misc)
            pieces += [token.form, " " if after is None else after]
            length += len(pieces[-2]) + len(pieces[-1])
        offsets.append(tuple(spans))
        words.append(tuple(parts))
    return Paragraph("".join(pieces), tuple(offsets), tuple(words))


def raw_text(sentences: Iterable[Sentence]) -> str:
    """Return the text of a treebank; exactly the original one if ``SpacesAfter`` and ``SpacesBefore`` were kept."""
    return lay_out(sentences)[0]


def lay_out(sentences: Iterable[Sentence]) -> tuple[str, list[int]]:
    """Return the text of sentences, as `raw_text` does, and the offset in it at which each sentence starts."""
    pieces: list[str] = []
    starts: list[int] = []
    length = 0
    for number, piece in enumerate(text_pieces(sentences)):
        # White space and sentences in turn.
        if number % 2:
            starts.append(length)
        pieces.append(piece)
        length += len(piece)
    return "".join(pieces), starts


def text_pieces(sentences: Iterable[Sentence]) -> Iterator[str]:
    """Yield the text of sentences piece by piece: the white space before each, the sentence, and what follows all."""
    pending, is_first = "", True
    for sentence in sentences:
        tokens = surface_tokens(sentence)
        if not tokens:
            continue
        if not is_first and starts_paragraph(sentence) and pending in ("", " "):
            pending = PARAGRAPH_BREAK
        pieces: list[str] = []
        for token in tokens:
            pieces += [pending, unescape_spaces(misc_value(token.misc, "SpacesBefore") or ""), token.form]
            after = spaces_after(token.misc)
            pending = " " if after is None else after
        yield "".join(pieces[:2])
        yield "".join(pieces[2:])
        is_first = False
    yield pending


def text_lines(sentences: Iterable[Sentence]) -> Iterator[str]:
    """Yield the text of each sentence as a line."""
    return (sentence_text(sentence) + "\n" for sentence in sentences)


def token_spans(sentence: Sentence) -> list[tuple[int, int]]:
    """Return the start and end offset of each surface token, counted from the start of the sentence."""
    spans, start = [], 0
    for token in surface_tokens(sentence):
        end = start + len(token.form)
        spans.append((start, end))
        after = spaces_after(token.misc)
        start = end + (1 if after is None else len(after))
    return spans
