"""The tokens of a piece of text to sentences, with MISC and comments from which the text can be rebuilt exactly."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.rawtext import escape_spaces
from treetune.corpus.sentence import ABSENT
from treetune.corpus.sentence_table import SentenceTable, are_sound, make_cells
from treetune.models.tokenizer import _kernels as kernels
from treetune.models.tokenizer.multiword import Words

# MISC of a token by what follows it: nothing, one space, and anything else, which is written out.
_USUAL = np.array(["SpaceAfter=No", ABSENT, ""], np.object_)
_UNUSUAL = 2


class Block:
    """A piece of text with what the kernels found in it."""

    def __init__(
        self,
        text: str,
        tokens: kernels.Tokens,
        is_last: NDArray[np.bool_],
        marks: NDArray[np.uint8],
        split: Callable[[list[str]], dict[int, Words]],
    ) -> None:
        count = len(is_last)
        self._text = text
        self._starts, self._ends = tokens.starts[:count].tolist(), tokens.ends[:count].tolist()
        self._forms = [text[start:end] for start, end in zip(self._starts, self._ends, strict=True)]
        # Words that meet within a token go before those of scripts.
        self._words = split(self._forms) | _split_tokens(self._forms, tokens.starts[:count], marks)
        lasts = (np.flatnonzero(is_last) + 1).tolist()
        self._bounds = list(zip([0, *lasts[:-1]], lasts, strict=True)) if lasts else []
        self._breaks = set(np.flatnonzero(tokens.gaps[:count] == kernels.PARAGRAPH).tolist())
        self._set_gaps(tokens.starts[:count], tokens.ends[:count])
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
        self._set_gaps(np.array(self._starts, np.int64), np.array(self._ends, np.int64))
        return used

    def _set_gaps(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Note what follows each token, and how many tokens before each have something unusual after them."""
        self._after = _gaps(self._text, starts, ends)
        self._unusual = [0, *np.cumsum(self._after == _UNUSUAL).tolist()]

    def tables(self, size: int | None = None, *, ranges: bool = False) -> Iterator[SentenceTable]:
        """Yield the sentences, up to `size` at a time; `ranges` notes in MISC where each token stands."""
        count = len(self._starts)
        forms, misc, lines = self._with_words(self._misc(ranges=ranges))
        lengths = np.ones(count, np.int64)
        for token in self._words:
            if token < count:
                lengths[token] = len(self._words[token])
        # The number of words before each token.
        firsts = np.append(0, np.cumsum(lengths))
        size = size or max(len(self), 1)
        is_sound = are_sound(itertools.chain.from_iterable(self._words.values()))
        for number in range(0, len(self), size):
            bounds = self._bounds[number : number + size]
            ends = firsts[[bounds[0][0], *(last for _, last in bounds)]].tolist()
            sizes = [end - start for start, end in itertools.pairwise(ends)]
            yield SentenceTable(
                make_cells(forms[ends[0] : ends[-1]], misc[ends[0] : ends[-1]], sizes),
                sizes,
                [self._heading(index, *bound) for index, bound in enumerate(bounds, start=number)],
                [tuple(lines.get(index, ())) for index in range(number, number + len(bounds))],
                starts=[self._offset + self._starts[first] for first, _ in bounds],
                is_sound=is_sound,
            )

    def _misc(self, *, ranges: bool) -> list[str]:
        """Return MISC of each token: what follows it unless that is one space."""
        text, offset = self._text, self._offset
        if not self._starts:
            return []
        misc: list[str] = _USUAL[self._after].tolist()
        for token in np.flatnonzero(self._after == _UNUSUAL).tolist():
            end = self._starts[token + 1] if token + 1 < len(self._starts) else len(text)
            misc[token] = f"SpacesAfter={escape_spaces(text[self._ends[token] : end])}"
        if self._starts[0]:
            before = f"SpacesBefore={escape_spaces(text[: self._starts[0]])}"
            misc[0] = before if misc[0] == ABSENT else f"{misc[0]}|{before}"
        if ranges:
            indices = zip(self._starts, self._ends, strict=True)
            notes = [f"TokenRange={offset + start}:{offset + end}" for start, end in indices]
            misc = [note if old == ABSENT else f"{old}|{note}" for old, note in zip(misc, notes, strict=True)]
        return misc

    def _with_words(self, misc: list[str]) -> tuple[list[str], list[str], dict[int, list[tuple[int, str]]]]:
        """Return forms and MISC of words, and the lines of multiword tokens by the number of their sentence."""
        forms: list[str] = []
        notes: list[str] = []
        lines: dict[int, list[tuple[int, str]]] = {}
        lasts = [last for _, last in self._bounds]
        done = number = before = 0
        for token in sorted(token for token in self._words if token < len(misc)):
            words = self._words[token]
            forms += self._forms[done:token]
            notes += misc[done:token]
            if lasts[number] <= token:
                number = bisect_right(lasts, token)
                # The words before the sentence.
                before = len(forms) - (token - self._bounds[number][0])
            index = len(forms) - before + 1
            columns = (f"{index}-{index + len(words) - 1}", self._forms[token], *[ABSENT] * 7, misc[token])
            lines.setdefault(number, []).append((index, "\t".join(columns)))
            forms += words
            notes += [ABSENT] * len(words)
            done = token + 1
        return forms + self._forms[done:], notes + misc[done:], lines

    def _heading(self, number: int, first: int, last: int) -> str:
        """Return the comments of a sentence."""
        text = self._text[self._starts[first] : self._ends[last - 1]]
        if self._unusual[first] != self._unusual[last - 1]:
            # However much white space is between two tokens, in the comment it is one space.
            text = " ".join(text.split())
        comments = f"# sent_id = {self._number + number + 1}\n# text = {text}\n"
        if first in self._breaks or (number == 0 and self._is_new):
            comments = f"# newpar\n{comments}"
        return f"# newdoc\n{comments}" if self._number + number == 0 else comments


def _gaps(text: str, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Say of each token what follows it: nothing, one space, or something unusual."""
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    sizes = np.append(starts[1:], len(text)) - ends
    is_space = np.append(codes, 0)[ends] == ord(" ")
    return np.where(sizes == 0, 0, np.where((sizes == 1) & is_space, 1, _UNUSUAL))


def _split_tokens(forms: list[str], starts: NDArray[np.int64], marks: NDArray[np.uint8]) -> dict[int, Words]:
    """Return the words of the tokens within which words meet."""
    cuts: dict[int, list[int]] = {}
    indices = np.flatnonzero(marks == kernels.SPLIT)
    tokens = np.searchsorted(starts, indices, side="right") - 1
    for token, index in zip(tokens.tolist(), (indices - starts[tokens] + 1).tolist(), strict=True):
        cuts.setdefault(token, []).append(index)
    found: dict[int, Words] = {}
    for token, inner in cuts.items():
        form = forms[token]
        bounds = [0, *inner, len(form)]
        found[token] = tuple(form[start:end] for start, end in itertools.pairwise(bounds))
    return found
