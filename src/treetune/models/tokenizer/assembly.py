"""The tokens of a piece of text to sentences, with MISC and comments from which the text can be rebuilt exactly."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.rawtext import escape_spaces
from treetune.corpus.sentence import ABSENT, ROOT, Sentence
from treetune.models.tokenizer import _kernels as kernels
from treetune.models.tokenizer.multiword import Words

_UNSPACED = "SpaceAfter=No"


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

    def sentences(self, *, ranges: bool = False) -> Iterator[Sentence]:
        """Yield the sentences; `ranges` notes in MISC where each token stands."""
        misc = self._misc(ranges=ranges)
        lasts = [last for _, last in self._bounds]
        with_words = {bisect_right(lasts, token) for token in self._words}
        for number, (first, last) in enumerate(self._bounds):
            forms, notes = self._forms[first:last], misc[first:last]
            multiword: tuple[tuple[int, str], ...] = ()
            if number in with_words:
                forms, notes, multiword = self._with_words(first, last, notes)
            nothing = (ROOT,) + (ABSENT,) * len(forms)
            yield Sentence(
                forms=(ROOT, *forms),
                lemmas=nothing,
                upos=nothing,
                xpos=nothing,
                feats=nothing,
                misc=(ROOT, *notes),
                comments=self._comments(number, first, last),
                multiword=multiword,
                start_char=self._offset + self._starts[first],
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

    def _with_words(
        self, first: int, last: int, misc: list[str]
    ) -> tuple[list[str], list[str], tuple[tuple[int, str], ...]]:
        """Return forms, MISC and multiword lines of a sentence that has multiword tokens."""
        forms: list[str] = []
        notes: list[str] = []
        lines = []
        for token in range(first, last):
            words = self._words.get(token)
            if words is None:
                forms.append(self._forms[token])
                notes.append(misc[token - first])
                continue
            index = len(forms) + 1
            columns = (f"{index}-{index + len(words) - 1}", self._forms[token], *[ABSENT] * 7, misc[token - first])
            lines.append((index, "\t".join(columns)))
            forms += words
            notes += [ABSENT] * len(words)
        return forms, notes, tuple(lines)

    def _comments(self, number: int, first: int, last: int) -> tuple[str, ...]:
        # However much white space is between two tokens, in the comment it is one space.
        text = " ".join(self._text[self._starts[first] : self._ends[last - 1]].split())
        comments: tuple[str, ...] = (f"# sent_id = {self._number + number + 1}", f"# text = {text}")
        if first in self._breaks or (number == 0 and self._is_new):
            comments = ("# newpar", *comments)
        return ("# newdoc", *comments) if self._number + number == 0 else comments


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
