"""The tokens of a piece of text to sentences, with MISC and comments from which the text can be rebuilt exactly."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.rawtext import escape_spaces
from treetune.corpus.sentence import ABSENT
from treetune.corpus.sentence_table import SentenceTable, are_sound, make_cells
from treetune.models.tokenizer import _kernels as kernels
from treetune.models.tokenizer.multiword import MultiwordTable, Words

_UNSPACED = "SpaceAfter=No"


class Block:
    """A piece of text with what the kernels found in it."""

    def __init__(
        self,
        text: str,
        tokens: kernels.Tokens,
        is_last: NDArray[np.bool_],
        marks: NDArray[np.uint8],
        multiword: MultiwordTable,
    ) -> None:
        count = len(is_last)
        self._text = text
        self._starts, self._ends = tokens.starts[:count].tolist(), tokens.ends[:count].tolist()
        self._forms = [text[start:end] for start, end in zip(self._starts, self._ends, strict=True)]
        self._words = _multiword_tokens(self._forms, tokens.starts[:count], marks, multiword)
        lasts = (np.flatnonzero(is_last) + 1).tolist()
        self._bounds = list(zip([0, *lasts[:-1]], lasts, strict=True)) if lasts else []
        self._breaks = set(np.flatnonzero(tokens.gaps[:count] == kernels.PARAGRAPH).tolist())
        self._offset = self._number = 0
        self._is_new = True

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self._bounds)

    def placed(self, offset: int, number: int, *, is_new: bool) -> Self:
        """Say how many characters and sentences were before this block, and whether a paragraph begins with it."""
        self._offset, self._number, self._is_new = offset, number, is_new
        return self

    def hold_back(self, sentences: int) -> int:
        """Leave out the last sentences, unless that would leave none; return where what is left ends."""
        if len(self._bounds) <= sentences:
            return len(self._text)
        first = self._bounds[-sentences][0]
        del self._bounds[-sentences:]
        used: int = self._starts[first]
        self._text = self._text[:used]
        del self._starts[first:], self._ends[first:], self._forms[first:]
        return used

    def tables(self, size: int | None = None, *, ranges: bool = False) -> Iterator[SentenceTable]:
        """Yield the sentences, up to `size` at a time; `ranges` notes in MISC where each token stands."""
        forms, misc, firsts, lines = self._with_words(self._misc(ranges=ranges))
        size = size or max(len(self), 1)
        for number in range(0, len(self), size):
            bounds = self._bounds[number : number + size]
            words = slice(firsts[bounds[0][0]], firsts[bounds[-1][1]])
            sizes = [firsts[last] - firsts[first] for first, last in bounds]
            yield SentenceTable(
                make_cells(forms[words], misc[words], sizes),
                sizes,
                [self._heading(index, *bound) for index, bound in enumerate(bounds, start=number)],
                [tuple(lines.get(index, ())) for index in range(number, number + len(bounds))],
                starts=[self._offset + self._starts[first] for first, _ in bounds],
                is_sound=all(map(are_sound, self._words.values())),
            )

    def _misc(self, *, ranges: bool) -> list[str]:
        """Return MISC of each token: what follows it unless that is one space."""
        text, offset = self._text, self._offset
        if not self._starts:
            return []
        # Most tokens are followed by nothing or by one space, which the slice tells without a look at the rest.
        usual = {"": _UNSPACED, " ": ABSENT}
        after = [text[end:start] for end, start in zip(self._ends, self._starts[1:], strict=False)]
        misc = [usual[spaces] if spaces in usual else f"SpacesAfter={escape_spaces(spaces)}" for spaces in after]
        rest = text[self._ends[-1] :]
        misc.append(usual[rest] if rest in usual else f"SpacesAfter={escape_spaces(rest)}")
        if self._starts[0]:
            before = f"SpacesBefore={escape_spaces(text[: self._starts[0]])}"
            misc[0] = before if misc[0] == ABSENT else f"{misc[0]}|{before}"
        if ranges:
            indices = zip(self._starts, self._ends, strict=True)
            notes = [f"TokenRange={offset + start}:{offset + end}" for start, end in indices]
            misc = [note if old == ABSENT else f"{old}|{note}" for old, note in zip(misc, notes, strict=True)]
        return misc

    def _with_words(self, misc: list[str]) -> tuple[list[str], list[str], list[int], dict[int, list[tuple[int, str]]]]:
        """Return forms and MISC of words, the number of words before each token, and multiword lines by sentence."""
        if not self._words:
            return self._forms, misc, list(range(len(self._forms) + 1)), {}
        forms, notes = [[form] for form in self._forms], [[note] for note in misc]
        tokens = sorted(token for token in self._words if token < len(forms))
        for token in tokens:
            forms[token], notes[token] = list(self._words[token]), [ABSENT] * len(self._words[token])
        firsts = [0, *itertools.accumulate(map(len, forms))]
        lasts = [last for _, last in self._bounds]
        lines: dict[int, list[tuple[int, str]]] = {}
        for token in tokens:
            number = bisect_right(lasts, token)
            index = firsts[token] - firsts[self._bounds[number][0]] + 1
            name = f"{index}-{index + len(forms[token]) - 1}"
            line = "\t".join((name, self._forms[token], *[ABSENT] * 7, misc[token]))
            lines.setdefault(number, []).append((index, line))
        chained = itertools.chain.from_iterable
        return list(chained(forms)), list(chained(notes)), firsts, lines

    def _heading(self, number: int, first: int, last: int) -> str:
        """Return the comments of a sentence."""
        # However much white space is between two tokens, in the comment it is one space.
        text = " ".join(self._text[self._starts[first] : self._ends[last - 1]].split())
        comments = f"# sent_id = {self._number + number + 1}\n# text = {text}\n"
        if first in self._breaks or (number == 0 and self._is_new):
            comments = f"# newpar\n{comments}"
        return f"# newdoc\n{comments}" if self._number + number == 0 else comments


def _multiword_tokens(
    forms: list[str], starts: NDArray[np.int64], marks: NDArray[np.uint8], table: MultiwordTable
) -> dict[int, Words]:
    """Return the words of the tokens that have several."""
    found: dict[int, Words] = {}
    cuts: dict[int, list[int]] = {}
    indices = np.flatnonzero(marks == kernels.SPLIT)
    tokens = np.searchsorted(starts, indices, side="right") - 1
    for token, index in zip(tokens.tolist(), (indices - starts[tokens] + 1).tolist(), strict=True):
        cuts.setdefault(token, []).append(index)
    for token, inner in cuts.items():
        form = forms[token]
        bounds = [0, *inner, len(form)]
        found[token] = tuple(form[start:end] for start, end in itertools.pairwise(bounds))
    if table:
        for token, form in enumerate(forms):
            if token not in found and len(words := table.split(form)) > 1:
                found[token] = words
    return found
