"""Parallel text: lines with their translations, from one file with tabs or from two files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treetune.corpus.files import StrPath, display_name, read_lines
from treetune.errors import DataError


@dataclass(frozen=True, slots=True)
class Pair:
    """A line of text, which may be empty, and its translation; None if no translations are given."""

    source: str
    target: str | None = None


def read_pairs(source: StrPath, target: StrPath | None = None) -> Iterator[Pair]:
    """Yield the lines of `source`, each with the line of `target`, or with what stands behind a tab.

    Lines without a tab have no translation; then none of the file may have one.

    Raises:
        DataError: the files have not as many lines, or the lines not as many columns.
    """
    return _from_columns(source) if target is None else _from_two_files(source, target)


def _from_columns(path: StrPath) -> Iterator[Pair]:
    columns = 0
    for number, line in enumerate(read_lines(path), start=1):
        cells = line.split("\t")
        columns = columns or len(cells)
        if len(cells) > 2 or len(cells) != columns:
            expected = (
                "a sentence, a tab and its translation" if columns == 2 else "a sentence without a tab, as before"
            )
            raise DataError(
                f"expected {expected if columns < 3 else 'a sentence, or a sentence, a tab and its translation'}, "
                f"found {len(cells)} columns",
                path=display_name(path),
                line=number,
            )
        yield Pair(cells[0].strip(), cells[1].strip() if columns == 2 else None)


def _from_two_files(source: StrPath, target: StrPath) -> Iterator[Pair]:
    lines, others = iter(read_lines(source)), iter(read_lines(target))
    number = 0
    while True:
        line, other = next(lines, None), next(others, None)
        number += 1
        if line is None and other is None:
            return
        if line is None or other is None:
            raise DataError(
                f"expected as many lines in both files, found the end of this one before line {number} of the other",
                path=display_name(source if line is None else target),
            )
        yield Pair(line.strip(), other.strip())
