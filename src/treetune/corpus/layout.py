"""The ten-column formats as data (CoNLL-U, CoNLL-X), what a reader is asked to do, and the rules of the ID column."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

WIDTH = 10
FORM, LEMMA, HEAD, DEPREL, DEPS, MISC = 1, 2, 6, 7, 8, 9
# Only these columns may have spaces inside; UD has words such as "25 000".
SPACED = (FORM, LEMMA, MISC)


@dataclass(frozen=True, slots=True)
class Layout:
    """A format: its name, its column names, and whether it has comments, ranges and empty nodes."""

    name: str
    columns: tuple[str, ...]
    extended: bool


CONLLU = Layout(
    "CoNLL-U",
    ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"),
    extended=True,
)
CONLLX = Layout(
    "CoNLL-X",
    ("ID", "FORM", "LEMMA", "CPOSTAG", "POSTAG", "FEATS", "HEAD", "DEPREL", "PHEAD", "PDEPREL"),
    extended=False,
)


class Mode(NamedTuple):
    """What to expect of HEAD and DEPREL: `partial` trees, or with ``trees=False`` nothing at all."""

    partial: bool = False
    trees: bool = True


_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")


@dataclass(slots=True)
class Numbering:
    """Follows the ID column down one sentence; `words` is the number of words so far."""

    extended: bool
    words: int = 0
    range_end: int = 0
    range_open: bool = False
    empty: int = 0

    def skip_to(self, words: int) -> None:
        """Take the IDs of as many words as there are then; that these are right is checked elsewhere."""
        if words > self.words:
            self.words = words
            self.empty = 0
            self.range_open = False

    def take(self, name: str) -> str | None:
        """Read the next ID; return the problem if it does not belong here, else None."""
        if name == str(self.words + 1):
            self.skip_to(self.words + 1)
            return None
        if self.extended and (match := _RANGE.fullmatch(name)):
            return self._take_range(int(match[1]), int(match[2]), name)
        if self.extended and (match := _EMPTY.fullmatch(name)):
            return self._take_empty(name)
        return f"expected {self.words + 1}, found {name!r}"

    def _take_range(self, first: int, last: int, name: str) -> str | None:
        if first != self.words + 1 or self.range_open:
            return f"expected a range before its first word, once, found {name!r} before word {self.words + 1}"
        if last < first:
            return f"expected a range that does not run backwards, found {name!r}"
        if first <= self.range_end:
            return f"expected a range after word {self.range_end}, where the last one ends, found {name!r}"
        self.range_end = last
        self.range_open = True
        return None

    def _take_empty(self, name: str) -> str | None:
        if self.range_open:
            return f"expected word {self.words + 1} after its range, found the empty node {name!r}"
        if name != f"{self.words}.{self.empty + 1}":
            return f"expected {self.words}.{self.empty + 1} or {self.words + 1}, found {name!r}"
        self.empty += 1
        return None

    def end(self) -> str | None:
        """Return the problem if the sentence cannot end here, else None."""
        if self.range_end > self.words:
            return f"expected a range within the {self.words} words, found one that ends at {self.range_end}"
        return None
