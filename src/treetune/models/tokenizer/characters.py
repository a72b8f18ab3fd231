"""Characters to what the kernels know of them: a kind, and the lower-case letter under which words are looked up."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.errors import DataError

KINDS = (
    "space", "lower", "upper", "letter", "mark", "joiner", "digit", "number", "stop", "end", "comma", "apostrophe",
    "quote", "hyphen", "slash", "at", "open", "close", "punctuation", "currency", "symbol", "picture", "control",
)  # fmt: skip
KIND = {name: number for number, name in enumerate(KINDS)}

_NAMED = {
    "stop": ".",
    "end": "!?…。！？‼⁇⁈⁉؟।॥۔።։།။។",
    "comma": ",;:、，；：،؛၊",
    "apostrophe": "'’`´ʼ",
    "quote": '"“”„‟«»',
    "slash": "/\\",
    "at": "@",
    # A soft hyphen, and what joins letters or keeps them apart within a word.
    "joiner": "\u00ad\u034f\u200c\u200d\u2060",
    # Colours of skin belong to the picture before them.
    "mark": "".join(map(chr, range(0x1F3FB, 0x1F400))),
}
_OF_CHARACTER = {character: kind for kind, characters in _NAMED.items() for character in characters}
_OF_CATEGORY = {
    "Ll": "lower", "Lu": "upper", "Lt": "upper", "Lm": "letter", "Lo": "letter",
    "Mn": "mark", "Mc": "mark", "Me": "mark", "Nd": "digit", "Nl": "number", "No": "number",
    "Pd": "hyphen", "Ps": "open", "Pi": "open", "Pe": "close", "Pf": "close", "Pc": "punctuation", "Po": "punctuation",
    "Sc": "currency", "Sm": "symbol", "Sk": "symbol", "So": "picture",
}  # fmt: skip

_UNKNOWN = 255
_LARGEST = 0x110000


class Text(NamedTuple):
    """The characters of a text as kernels read them."""

    lower: NDArray[np.uint32]
    kinds: NDArray[np.uint8]


def kind_of(character: str) -> str:
    """Return the kind of a character, one of `KINDS`."""
    if character.isspace():
        return "space"
    named = _OF_CHARACTER.get(character)
    return named or _OF_CATEGORY.get(unicodedata.category(character), "control")


def lowered(character: str) -> str:
    """Return the character under which words are looked up: in lower case, and digits look alike."""
    if character.isdigit():
        return "0"
    lower = character.lower()
    return lower if len(lower) == 1 else character


class _Tables:
    """Kind and lower case of every character met so far."""

    def __init__(self) -> None:
        self.kinds = np.full(_LARGEST, _UNKNOWN, np.uint8)
        self.lower = np.zeros(_LARGEST, np.uint32)

    def learn(self, codes: NDArray[np.uint32]) -> None:
        for code in np.unique(codes).tolist():
            self.lower[code] = ord(lowered(chr(code)))
            # Last: another thread takes a character as known by its kind.
            self.kinds[code] = KIND[kind_of(chr(code))]


_tables: list[_Tables] = []


def encode_text(text: str) -> Text:
    """Return a text as arrays, an entry a character; a lone surrogate is a DataError."""
    try:
        codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    except UnicodeEncodeError as error:
        raise DataError(
            f"expected Unicode text, found the lone surrogate {text[error.start]!r} as character {error.start + 1}; "
            "decode the text as UTF-8"
        ) from error
    if not _tables:
        _tables.append(_Tables())
    tables = _tables[0]
    kinds = tables.kinds[codes]
    unknown = kinds == _UNKNOWN
    if unknown.any():
        tables.learn(codes[unknown])
        kinds = tables.kinds[codes]
    return Text(tables.lower[codes], kinds)
