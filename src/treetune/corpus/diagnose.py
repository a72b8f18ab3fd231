"""A sentence that a reader refused to its faults, in words.

This is the slow, exact twin of the checks in `table`: it runs only on sentences that fail those, and names
the line, the column, what was expected and what was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treetune.corpus.blocks import Block, first_escaped
from treetune.corpus.faults import SentenceError
from treetune.corpus.files import not_utf8
from treetune.corpus.layout import DEPREL, HEAD, SPACED, WIDTH, Layout, Mode, Numbering
from treetune.corpus.sentence import ABSENT, UNKNOWN_HEAD
from treetune.corpus.wellformed import find_cycle

_HEAD = re.compile(r"0|[1-9][0-9]{0,8}")
_WORD = re.compile(r"[0-9]+")
_LONGEST_CYCLE_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one line that is no comment, and the number of the line."""

    line: int
    cells: list[str]

    @property
    def is_word(self) -> bool:
        """Whether the row is a word, not a multiword token or an empty node."""
        return _WORD.fullmatch(self.cells[0]) is not None


def faults(block: Block, layout: Layout, mode: Mode, *, path: str | None = None) -> Iterator[SentenceError]:
    """Yield what is wrong with a sentence, first things first; nothing if it is well-formed.

    Later faults are sought only when all earlier kinds are absent: without sound columns there are no heads.
    """
    lines = list(enumerate(block.text.split("\n"), start=block.line))
    found = False
    for check in (_text_faults, _line_faults, _cell_faults, _tree_faults):
        for fault in check(lines, layout, mode):
            found = True
            fault.path = path
            fault.args = (str(fault),)
            yield fault
        if found:
            return


Lines = Sequence[tuple[int, str]]


def _text_faults(lines: Lines, layout: Layout, mode: Mode) -> Iterator[SentenceError]:
    for number, line in lines:
        escaped = first_escaped(line)
        if escaped is not None:
            yield SentenceError(not_utf8(*escaped), kind="bytes that are not UTF-8", line=number)
        if "\r" in line:
            problem = "expected lines that end in LF or CRLF, found a carriage return within a line"
            yield SentenceError(problem, kind="carriage returns", line=number)


def _line_faults(lines: Lines, layout: Layout, mode: Mode) -> Iterator[SentenceError]:
    """Check that comments come first, that words follow and that every line has its columns."""
    in_comments = layout.extended
    for number, line in lines:
        if not line.startswith("#"):
            in_comments = False
            yield from _width_faults(number, line)
        elif not in_comments:
            if layout.extended:
                problem = f"expected comments only before the first word of a sentence, found {_shown(line)}"
            else:
                problem = f"expected a word, found {_shown(line)}; {layout.name} has no comments"
            yield SentenceError(problem, kind="misplaced comments", line=number)
    if in_comments:
        problem = "expected words after the comments, found the end of the sentence"
        yield SentenceError(problem, kind="comments without words", line=lines[-1][0])


def _width_faults(number: int, line: str) -> Iterator[SentenceError]:
    width = line.count("\t") + 1
    if not line.strip():
        problem = "expected an empty line or a word, found nothing but white space"
        yield SentenceError(problem, kind="lines of white space", line=number)
    elif width != WIDTH:
        problem = f"expected {WIDTH} columns separated by tabs, found {width}"
        words = line.split()
        if width < WIDTH <= len(words) and words[0][0].isdigit():
            problem += "; it seems that tabs were replaced by spaces"
        elif width == 1 < len(words):
            problem += "; it seems to be plain text"
        yield SentenceError(problem, kind="a wrong number of columns", line=number)


def _rows(lines: Lines, layout: Layout) -> list[Row]:
    """Return the rows, leaving out comments."""
    return [Row(number, line.split("\t")) for number, line in lines if not line.startswith("#")]


def _cell_faults(lines: Lines, layout: Layout, mode: Mode) -> Iterator[SentenceError]:
    rows = _rows(lines, layout)
    numbering = Numbering(layout.extended)
    size = sum(row.is_word for row in rows)
    labelled = any(row.cells[DEPREL] != ABSENT for row in rows if row.is_word)
    range_line = 0
    for row in rows:
        problem = numbering.take(row.cells[0])
        if problem is not None:
            yield SentenceError(problem, kind="wrong IDs", line=row.line, column=layout.columns[0])
            return
        if numbering.range_open:
            range_line = row.line
        yield from _value_faults(row, layout, mode)
        if mode.trees:
            yield from _arc_faults(row, size=size, labelled=labelled, partial=mode.partial)
    problem = numbering.end()
    if problem is not None:
        yield SentenceError(problem, kind="wrong IDs", line=range_line, column=layout.columns[0])
    if not size:
        problem = "expected at least one word, found none"
        yield SentenceError(problem, kind="comments without words", line=rows[0].line)


def _value_faults(row: Row, layout: Layout, mode: Mode) -> Iterator[SentenceError]:
    for index, (column, value) in enumerate(zip(layout.columns, row.cells, strict=True)):
        if not value:
            problem, kind = f"expected a value or {ABSENT}, found nothing", "empty columns"
        elif value != value.strip(" "):
            problem, kind = f"expected no space at either end, found {_shown(value)}", "misplaced spaces"
        elif " " in value and index not in SPACED and (mode.trees or index not in (HEAD, DEPREL)):
            problem, kind = f"expected no spaces, found {_shown(value)}", "misplaced spaces"
        else:
            continue
        yield SentenceError(problem, kind=kind, line=row.line, column=column)


def _arc_faults(row: Row, *, size: int, labelled: bool, partial: bool) -> Iterator[SentenceError]:
    """Check HEAD and DEPREL of one row as far as that can be done without the others."""
    head, label = row.cells[HEAD], row.cells[DEPREL]
    if not row.is_word:
        for column, value in (("HEAD", head), ("DEPREL", label)):
            if value != ABSENT:
                where = "a multiword token" if "-" in row.cells[0] else "an empty node"
                problem = f"expected {ABSENT} on the line of {where}, found {_shown(value)}"
                kind = f"{column} of a line that is no word"
                yield SentenceError(problem, kind=kind, line=row.line, column=column)
        return
    head_problem = _head_problem(head, word=row.cells[0], size=size, partial=partial)
    if head_problem is not None:
        yield SentenceError(head_problem, kind="wrong heads", line=row.line, column="HEAD")
    if label == ABSENT and labelled and not partial:
        problem = f"expected a label, found {ABSENT!r}; either all words have labels or none"
        yield SentenceError(problem, kind="missing labels", line=row.line, column="DEPREL")


def _head_problem(head: str, *, word: str, size: int, partial: bool) -> str | None:
    if head == ABSENT:
        if partial:
            return None
        return f"expected a head from 0 to {size}, found {ABSENT!r}; only partial trees may have unknown heads"
    if not _HEAD.fullmatch(head) or int(head) > size:
        return f"expected a head from 0 to {size}, found {_shown(head)}"
    if head == word:
        return f"expected the number of another word, found the word's own number {word}"
    return None


def _tree_faults(lines: Lines, layout: Layout, mode: Mode) -> Iterator[SentenceError]:
    if not mode.trees:
        return
    rows = [row for row in _rows(lines, layout) if row.is_word]
    heads = [UNKNOWN_HEAD] * (len(rows) + 1)
    for word, row in enumerate(rows, start=1):
        if row.cells[HEAD] != ABSENT:
            heads[word] = int(row.cells[HEAD])
    roots = [word for word, head in enumerate(heads) if head == 0]
    if len(roots) > 1:
        problem = f"expected one root, found {len(roots)}: words {_listed(roots, ', ')}"
        yield SentenceError(problem, kind="several roots", line=rows[roots[1] - 1].line, column="HEAD")
    if not roots and UNKNOWN_HEAD not in heads[1:]:
        problem = "expected one root, a word with head 0, found none"
        yield SentenceError(problem, kind="no root", line=rows[0].line, column="HEAD")
    if cycle := find_cycle(heads):
        problem = f"expected a tree, found the cycle {_listed([*cycle, cycle[0]], ' → ')}"
        yield SentenceError(problem, kind="cycles", line=rows[cycle[0] - 1].line, column="HEAD")


def _listed(words: Sequence[int], separator: str) -> str:
    shown = [str(word) for word in words[:_LONGEST_CYCLE_SHOWN]]
    return separator.join([*shown, "…"] if len(words) > len(shown) else shown)


def _shown(value: str) -> str:
    """Quote a value for a message, cut to a readable length."""
    return repr(value if len(value) <= 40 else value[:39] + "…")
