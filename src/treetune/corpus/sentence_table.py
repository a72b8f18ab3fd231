"""Many sentences as one list of cells, from which CoNLL-U is written and columns are read without a look at each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import overload

from treetune.corpus.layout import MISC, WIDTH
from treetune.corpus.sentence import ABSENT, ROOT, Sentence

Special = tuple[tuple[int, str], ...]

# The place of each column in the ten cells of a word.
COLUMNS = {"forms": 1, "lemmas": 2, "upos": 3, "xpos": 4, "feats": 5, "misc": MISC}
# The IDs of words, each with the line feed before it.
_STARTS = [f"\n{word}" for word in range(1, 257)]


class SentenceTable(Sequence[Sentence]):
    """Sentences held as one list of cells; a `Sentence` is made when it is asked for.

    `cells` has the ten cells of each word after an empty one, IDs with a line feed before them. `sizes` is the number
    of words of each sentence, `ends` their number up to the end of each, after a zero. `headings` are the comments of
    each sentence, lines with their ends, and `starts` its offset in the text. `is_sound` says that no cell has
    characters that would not come back from a file.
    """

    def __init__(
        self,
        cells: list[str],
        sizes: list[int],
        headings: Sequence[str],
        multiword: Sequence[Special],
        *,
        starts: Sequence[int] | None = None,
        is_sound: bool = True,
    ) -> None:
        self.cells = cells
        self.sizes = sizes
        self.ends = [0, *accumulate(sizes)]
        self.headings = headings
        self.multiword = multiword
        self.starts = starts
        self.is_sound = is_sound

    def column(self, name: str) -> list[str]:
        """Return the cells of all words in the column that `Sentence` has under this name."""
        return self.cells[COLUMNS[name] + 1 :: WIDTH]

    def with_column(self, name: str, values: list[str]) -> SentenceTable:
        """Return a table with other cells of all words in a column."""
        cells = self.cells.copy()
        cells[COLUMNS[name] + 1 :: WIDTH] = values
        is_sound = self.is_sound and are_sound(values)
        return SentenceTable(
            cells, self.sizes, self.headings, self.multiword, starts=self.starts, is_sound=is_sound
        )  # fmt: skip

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.sizes)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...

    @overload
    def __getitem__(self, index: slice) -> list[Sentence]: ...

    def __getitem__(self, index: int | slice) -> Sentence | list[Sentence]:
        """Return a sentence, or a list of them."""
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        size, end = self.sizes[index], self.ends[index + 1 if index >= 0 else index]
        rows = self.cells[1 + WIDTH * (end - size) : 1 + WIDTH * end]
        forms, lemmas, upos, xpos, feats, misc = [(ROOT, *rows[column::WIDTH]) for column in COLUMNS.values()]
        comments = tuple(self.headings[index].split("\n")[:-1])
        start = 0 if self.starts is None else self.starts[index]
        return Sentence(
            forms, lemmas, upos, xpos, feats, misc, comments, self.multiword[index], start_char=start
        )  # fmt: skip


def make_cells(forms: Sequence[str], misc: Sequence[str], sizes: Iterable[int]) -> list[str]:
    """Return the cells of sentences of these sizes, of which no more than forms and MISC are known."""
    cells = [ABSENT] * (1 + WIDTH * len(forms))
    cells[0] = ""
    cells[1::WIDTH] = line_starts(sizes)
    cells[COLUMNS["forms"] + 1 :: WIDTH] = forms
    cells[COLUMNS["misc"] + 1 :: WIDTH] = misc
    return cells


def line_starts(sizes: Iterable[int]) -> list[str]:
    """Return the IDs of the words of sentences of these sizes, each with the line feed before it."""
    return list(chain.from_iterable(map(_ids, sizes)))


def _ids(count: int) -> list[str]:
    more = (f"\n{word}" for word in range(len(_STARTS) + 1, count + 1))
    return _STARTS[:count] if count <= len(_STARTS) else [*_STARTS, *more]


def are_sound(values: Iterable[str]) -> bool:
    """Say whether all values can be cells of any column: not empty, and without spaces and line breaks."""
    return not any(not value or set(value) & set(" \t\r\n") for value in set(values))
