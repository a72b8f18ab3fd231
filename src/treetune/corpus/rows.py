"""A sentence and a tree to ten-column text, for CoNLL-U and CoNLL-X, checked so that it can be read back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from treetune.corpus.files import StrPath, open_output
from treetune.corpus.layout import SPACED, WIDTH, Layout, numbers
from treetune.corpus.sentence import ABSENT, UNKNOWN_HEAD, Enhanced, Example, Sentence, Tree, tree_of
from treetune.errors import DataError

if TYPE_CHECKING:
    from treetune.corpus.document import ParsedSentence

Columns = tuple[Sequence[str], ...]


def format_table(sentence: Sentence, tree: Tree, layout: Layout, *, enhanced: Enhanced | None = None) -> str:
    """Return the lines of a sentence and the empty line after it."""
    size = len(sentence)
    if not size:
        raise DataError("a sentence without words cannot be written")
    if len(tree) != size:
        raise DataError(f"expected a tree of {size} words, found one of {len(tree)}")
    if max(tree.heads) > size or min(tree.heads) < UNKNOWN_HEAD:
        wrong = next(head for head in tree.heads if not UNKNOWN_HEAD <= head <= size)
        raise DataError(f"expected heads from -1 to {size}, found {wrong}", column="HEAD")
    rows = _rows(_columns(sentence, tree, layout, enhanced), layout)
    if layout.extended and (sentence.multiword or enhanced is not None):
        rows = _with_special(rows, sentence, enhanced)
    if layout.extended and sentence.comments:
        rows = [*_checked(sentence.comments), *rows]
    return "\n".join(rows) + "\n\n"


def _columns(sentence: Sentence, tree: Tree, layout: Layout, enhanced: Enhanced | None) -> Columns:
    """Return the ten columns, root included."""
    names = numbers(len(sentence) + 1)[: len(sentence) + 1]
    # The last entry is the one that index -1, an unknown head, finds.
    heads = [*names, ABSENT]
    nothing = (ABSENT,) * len(names)
    return (
        names,
        sentence.forms,
        sentence.lemmas,
        sentence.upos,
        sentence.xpos,
        sentence.feats,
        [heads[head] for head in tree.heads],
        [label or ABSENT for label in tree.labels],
        enhanced.deps if enhanced is not None and layout.extended else nothing,
        sentence.misc if layout.extended else nothing,
    )


def _rows(columns: Columns, layout: Layout) -> list[str]:
    """Return the lines of the words, refusing values that would not come back as they are."""
    try:
        rows = list(map("\t".join, zip(*columns, strict=True)))[1:]
    except ValueError as error:
        lengths = ", ".join(f"{name} {len(column)}" for name, column in zip(layout.columns, columns, strict=True))
        raise DataError(f"expected columns of the same length, found {lengths}") from error
    text = "\n".join(rows)
    tabs, breaks = text.count("\t"), text.count("\n")
    if (
        tabs != len(rows) * (WIDTH - 1)
        or breaks != len(rows) - 1
        or any(bad in text for bad in ("\t\t", "\t\n", "\r"))
        or text[-1] == "\t"
    ):
        _refuse_cells(columns, layout)
    if " " in text:
        _refuse_spaces(columns, layout)
    return rows


def write_table(
    examples: Iterable[Example | ParsedSentence],
    target: StrPath | TextIO,
    form: Callable[[Sentence, Tree, Enhanced | None], str],
) -> int:
    """Write examples or parsed sentences to a path or a text stream as they come, and return their number."""
    if isinstance(target, str | os.PathLike):
        with open_output(target) as stream:
            return _write(examples, stream, form)
    return _write(examples, target, form)


def _write(
    examples: Iterable[Example | ParsedSentence], stream: TextIO, form: Callable[[Sentence, Tree, Enhanced | None], str]
) -> int:
    count = 0
    for example in examples:
        try:
            enhanced = example.enhanced if isinstance(example, Example) else None
            stream.write(form(example.sentence, tree_of(example), enhanced))
        except UnicodeEncodeError as error:
            raise DataError(
                f"sentence {count + 1} cannot be written as UTF-8: it has the lone surrogate "
                f"{error.object[error.start]!r}"
            ) from error
        count += 1
    return count


def _with_special(rows: list[str], sentence: Sentence, enhanced: Enhanced | None) -> list[str]:
    """Return the rows of the words with those of multiword tokens and empty nodes in their places."""
    before = dict(sentence.multiword)
    empty_nodes = enhanced.empty_nodes if enhanced is not None else ()
    after: dict[int, list[str]] = {}
    for place, line in empty_nodes:
        after.setdefault(place, []).append(line)
    lines = after.get(0, [])
    for word, row in enumerate(rows, start=1):
        if word in before:
            lines.append(before[word])
        lines.append(row)
        lines.extend(after.get(word, ()))
    special = len(sentence.multiword) + len(empty_nodes)
    if len(lines) != len(rows) + special or "\n".join(lines).count("\t") != len(lines) * (WIDTH - 1):
        raise DataError("expected each multiword token and empty node once, on a line of ten columns beside a word")
    return lines


def _checked(comments: tuple[str, ...]) -> tuple[str, ...]:
    for comment in comments:
        if not comment.startswith("#") or "\n" in comment or "\r" in comment:
            raise DataError(f"expected a comment of one line that begins with #, found {comment!r}")
    return comments


def _refuse_cells(columns: Columns, layout: Layout) -> None:
    for name, column in zip(layout.columns, columns, strict=True):
        for word, value in enumerate(column):
            if word and (not value or set(value) & set("\t\n\r")):
                problem = f"word {word} cannot be written: expected a value without tabs and line breaks"
                raise DataError(f"{problem}, found {value!r}", column=name)


def _refuse_spaces(columns: Columns, layout: Layout) -> None:
    for index, (name, column) in enumerate(zip(layout.columns, columns, strict=True)):
        for word, value in enumerate(column):
            if " " in value and (index not in SPACED or value != value.strip(" ")):
                problem = f"word {word} cannot be written: expected no spaces here, found {value!r}"
                raise DataError(problem, column=name)
