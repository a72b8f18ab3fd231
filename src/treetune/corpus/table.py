"""The text of a sentence in ten columns to an `Example`, shared by CoNLL-U and CoNLL-X.

The good path handles a sentence at a time: all cells are split at once and checked column by column. What
fails here is handed to `diagnose`, which finds the words for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from treetune.corpus.blocks import Source, blocks, source_name
from treetune.corpus.diagnose import faults
from treetune.corpus.faults import SkipReport
from treetune.corpus.layout import DEPREL, HEAD, SPACED, WIDTH, Layout, Mode, Numbering
from treetune.corpus.sentence import (
    ABSENT,
    ROOT,
    UNKNOWN_HEAD,
    UNKNOWN_LABEL,
    Enhanced,
    Example,
    Sentence,
    Tree,
)
from treetune.corpus.wellformed import is_tree

Columns = list[list[str]]
Special = tuple[tuple[int, str], ...]

_COMMENTS = re.compile(r"(?:#[^\n]*\n)*")
_UNSPACED = tuple(column for column in range(1, WIDTH) if column not in SPACED)
_MEMO_SIZE = 500_000
# The IDs of words, each but the first with the line feed before it.
_STARTS = ["1", *(f"\n{word}" for word in range(2, 257))]


def read_table(
    source: Source, layout: Layout, *, mode: Mode, strict: bool, report: SkipReport | None
) -> Iterator[Example]:
    """Yield the sentences of a file or of lines; see `read_conllu` for the options."""
    name = source_name(source)
    report = SkipReport() if report is None else report
    # Equal cells become one object, which saves most of the memory of a treebank.
    memo: dict[str, str] = {}
    for block in blocks(source):
        example = None if block.damaged else example_of(block.text, layout, mode, memo.setdefault)
        if example is not None:
            report.read += 1
            yield example
        else:
            fault = next(faults(block, layout, mode, path=name))
            if strict:
                raise fault
            report.add(fault)
        if len(memo) > _MEMO_SIZE:
            memo.clear()


def example_of(text: str, layout: Layout, mode: Mode, share: Callable[[str, str], str]) -> Example | None:
    """Return the example in a well-formed block, else None."""
    if "\r" in text:
        return None
    comments: tuple[str, ...] = ()
    if layout.extended and text[0] == "#":
        start = _COMMENTS.match(text).end()  # type: ignore[union-attr]  # the pattern matches any text
        comments = tuple(text[: start - 1].split("\n"))
        text = text[start:]
    multiword: Special = ()
    empty_nodes: Special = ()
    columns = _columns(text, mode)
    if columns is None and layout.extended:
        text, multiword, empty_nodes = _set_aside(text, mode)
        columns = _columns(text, mode)
    if columns is None:
        return None
    forms, lemmas, upos, xpos, feats, heads, labels, deps, misc = columns
    tree = _tree(heads, labels, mode, share)
    if tree is None:
        return None
    if not layout.extended:
        deps = misc = [ABSENT] * len(forms)
    sentence = Sentence(
        (ROOT, *map(share, forms, forms)),
        (ROOT, *map(share, lemmas, lemmas)),
        (ROOT, *map(share, upos, upos)),
        (ROOT, *map(share, xpos, xpos)),
        (ROOT, *map(share, feats, feats)),
        (ROOT, *map(share, misc, misc)),
        comments,
        multiword,
    )
    if not mode.trees or (not empty_nodes and deps.count(ABSENT) == len(deps)):
        return Example(sentence, tree)
    return Example(sentence, tree, Enhanced((ROOT, *map(share, deps, deps)), empty_nodes))


def _columns(text: str, mode: Mode) -> Columns | None:
    """Return the nine columns after ID if all lines are words 1, 2, … with ten sound cells, else None."""
    # With its line feed kept, the first cell of a line is told from all others: if every tenth cell is the
    # expected ID and there are no more line feeds than that, each line has its ten columns.
    marked = text.replace("\n", "\t\n")
    cells = marked.split("\t")
    size = len(cells) // WIDTH
    if len(cells) != size * WIDTH or text.count("\n") != size - 1 or cells[::WIDTH] != _line_starts(size):
        return None
    if "\t\t" in marked or marked[-1] == "\t":
        return None
    columns = [cells[column::WIDTH] for column in range(1, WIDTH)]
    if " " in text and not _spaces_are_sound(marked, columns, mode):
        return None
    return columns


def _line_starts(count: int) -> list[str]:
    more = (f"\n{word}" for word in range(len(_STARTS) + 1, count + 1))
    return _STARTS[:count] if count <= len(_STARTS) else [*_STARTS, *more]


def _spaces_are_sound(marked: str, columns: Columns, mode: Mode) -> bool:
    if "\t " in marked or " \t" in marked or marked[-1] == " ":
        return False
    checked = (column for column in _UNSPACED if mode.trees or column not in (HEAD, DEPREL))
    return not any(" " in "".join(columns[column - 1]) for column in checked)


def _set_aside(text: str, mode: Mode) -> tuple[str, Special, Special]:
    """Return the lines of words, then those of multiword tokens and of empty nodes with their places.

    If one of the latter is not sound, the text comes back as it was, and fails again as words.
    """
    words: list[str] = []
    multiword: list[tuple[int, str]] = []
    empty_nodes: list[tuple[int, str]] = []
    numbering = Numbering(extended=True)
    for line in text.split("\n"):
        name = line.partition("\t")[0]
        before = numbering.words
        if numbering.take(name) is not None:
            return text, (), ()
        if numbering.words > before:
            words.append(line)
        elif not _special_is_sound(line, mode):
            return text, (), ()
        elif numbering.range_open:
            multiword.append((before + 1, line))
        else:
            empty_nodes.append((before, line))
    if numbering.end() is not None:
        return text, (), ()
    return "\n".join(words), tuple(multiword), tuple(empty_nodes)


def _special_is_sound(line: str, mode: Mode) -> bool:
    cells = line.split("\t")
    if len(cells) != WIDTH or "" in cells:
        return False
    if mode.trees and not cells[HEAD] == cells[DEPREL] == ABSENT:
        return False
    return " " not in line or _spaces_are_sound(line, [[cell] for cell in cells[1:]], mode)


_head_of: dict[str, int] = {}


def _tree(heads: list[str], labels: list[str], mode: Mode, share: Callable[[str, str], str]) -> Tree | None:
    """Return the tree in the two columns if it is well-formed under the mode, else None."""
    size = len(heads)
    if not mode.trees:
        return Tree.unknown(size)
    if len(_head_of) < size + 2:
        # A table and not int(): that would take "+1", "1_0" and "01" too.
        _head_of.update((str(head), head) for head in range(2 * size + 2))
        _head_of[ABSENT] = UNKNOWN_HEAD
    try:
        known = (UNKNOWN_HEAD, *map(_head_of.__getitem__, heads))
    except KeyError:
        return None
    if not is_tree(known, partial=mode.partial):
        return None
    missing = labels.count(ABSENT)
    if missing == 0:
        return Tree(known, (UNKNOWN_LABEL, *map(share, labels, labels)))
    if missing == size:
        return Tree(known, (UNKNOWN_LABEL,) * (size + 1))
    if not mode.partial:
        return None
    return Tree(known, (UNKNOWN_LABEL, *(UNKNOWN_LABEL if label == ABSENT else label for label in labels)))
