"""The text of sentences in ten columns to `Example`s, shared by CoNLL-U and CoNLL-X.

The good path handles many sentences at a time: all cells are split at once and checked column by column. What fails is
tried in halves, so that a bad sentence ends up alone, and is handed to `diagnose`, which finds the words for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from treetune.corpus.blocks import Block, Source, block_batches, source_name
from treetune.corpus.diagnose import faults
from treetune.corpus.faults import SkipReport
from treetune.corpus.layout import CONLLU, DEPREL, HEAD, SPACED, WIDTH, Layout, Mode, Numbering
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
from treetune.corpus.sentence_table import SentenceTable, Special, line_starts
from treetune.corpus.wellformed import is_tree

Columns = list[list[str]]
Share = Callable[[str, str], str]

_COMMENTS = re.compile(r"(?:#[^\n]*\n)*")
# A line that is not a word's: a multiword token or an empty node.
_SPECIAL = re.compile(r"\n[0-9]+[-.][^\n]*")
_UNSPACED = tuple(column for column in range(1, WIDTH) if column not in SPACED)
_MEMO_SIZE = 500_000
_NO_TREES = Mode(trees=False)


class Parts(NamedTuple):
    """The text of a sentence apart: the lines of its words, each after a line feed, their number, and all else.

    `heading` has the comments, lines with their ends.
    """

    words: str
    size: int
    heading: str = ""
    multiword: Special = ()
    empty_nodes: Special = ()


def read_tables(
    source: Source, *, size: int, strict: bool = True, report: SkipReport | None = None
) -> Iterator[SentenceTable]:
    """Yield the sentences of a CoNLL-U file, up to `size` at a time, without their trees; see `read_conllu`."""
    name = source_name(source)
    report = SkipReport() if report is None else report
    for batch in block_batches(source, size):
        for block, table in _tables(batch):
            if table is not None:
                report.read += len(table)
                yield table
                continue
            fault = next(faults(block, CONLLU, _NO_TREES, path=name))
            if strict:
                raise fault
            report.add(fault)


def _tables(batch: Sequence[Block]) -> Iterator[tuple[Block, SentenceTable | None]]:
    """Yield the sentences of blocks, with their first block; None for one that is not well-formed."""
    parts = _all_parts(batch, CONLLU, _NO_TREES)
    cells = None if parts is None else _cells(parts, _NO_TREES)
    if parts is not None and cells is not None:
        _, sizes, headings, multiword, _ = map(list, zip(*parts, strict=True))
        yield batch[0], SentenceTable(cells, sizes, headings, multiword)
    elif len(batch) == 1:
        yield batch[0], None
    else:
        half = len(batch) // 2
        yield from _tables(batch[:half])
        yield from _tables(batch[half:])


def read_table(
    source: Source, layout: Layout, *, mode: Mode, strict: bool, report: SkipReport | None
) -> Iterator[Example]:
    """Yield the sentences of a file or of lines; see `read_conllu` for the options."""
    name = source_name(source)
    report = SkipReport() if report is None else report
    # Equal cells become one object, which saves most of the memory of a treebank.
    memo: dict[str, str] = {}
    for batch in block_batches(source):
        for block, example in zip(batch, _examples(batch, layout, mode, memo.setdefault), strict=True):
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


def example_of(text: str, layout: Layout, mode: Mode, share: Share) -> Example | None:
    """Return the example in a well-formed block, else None."""
    return _examples([Block(1, text)], layout, mode, share)[0]


def _examples(batch: Sequence[Block], layout: Layout, mode: Mode, share: Share) -> Sequence[Example | None]:
    """Return the example in each block, None for one that is not well-formed."""
    found = _sound_examples(batch, layout, mode, share)
    if found is not None:
        return found
    if len(batch) == 1:
        return [None]
    half = len(batch) // 2
    return [*_examples(batch[:half], layout, mode, share), *_examples(batch[half:], layout, mode, share)]


def _sound_examples(batch: Sequence[Block], layout: Layout, mode: Mode, share: Share) -> list[Example] | None:
    """Return the examples in blocks that are all well-formed, else None."""
    parts = _all_parts(batch, layout, mode)
    cells = None if parts is None else _cells(parts, mode)
    if parts is None or cells is None:
        return None
    columns = [cells[column::WIDTH] for column in range(2, WIDTH + 1)]
    shared = [tuple(map(share, own, own)) for own in (*columns[:5], *columns[8:])]
    examples: list[Example] = []
    end = 0
    for part in parts:
        start, end = end, end + part.size
        tree = _tree(columns[5][start:end], columns[6][start:end], mode, share)
        if tree is None:
            return None
        forms, lemmas, upos, xpos, feats, misc = [(ROOT, *column[start:end]) for column in shared]
        if not layout.extended:
            misc = (ROOT,) + (ABSENT,) * part.size
        comments = tuple(part.heading.split("\n")[:-1])
        sentence = Sentence(forms, lemmas, upos, xpos, feats, misc, comments, part.multiword)
        deps = columns[7][start:end] if mode.trees and layout.extended else []
        if deps.count(ABSENT) == len(deps) and (not part.empty_nodes or not mode.trees):
            examples.append(Example(sentence, tree))
        else:
            enhanced = Enhanced((ROOT, *map(share, deps, deps)), part.empty_nodes)
            examples.append(Example(sentence, tree, enhanced))
    return examples


def _all_parts(batch: Sequence[Block], layout: Layout, mode: Mode) -> list[Parts] | None:
    """Return the parts of each block; None if one cannot be well-formed."""
    if any(block.damaged or "\r" in block.text for block in batch):
        return None
    if layout.extended:
        return [_parts(block.text, mode) for block in batch]
    return [Parts("\n" + block.text, block.text.count("\n") + 1) for block in batch]


def _parts(text: str, mode: Mode) -> Parts:
    """Return the parts of a CoNLL-U sentence; what is not well-formed is left among the words, and fails there."""
    heading, words = "", "\n" + text
    if text.startswith("#"):
        start = _COMMENTS.match(text).end()  # type: ignore[union-attr]  # the pattern matches any text
        if start:
            heading, words = text[:start], text[start - 1 :]
    size = words.count("\n")
    # If the last ID is the number of lines, none of them is special, or an ID is wrong, which fails later.
    if words.startswith(f"{size}\t", words.rfind("\n") + 1):
        return Parts(words, size, heading)
    return Parts(words, size, heading) if (parts := _set_aside(words, heading, mode)) is None else parts


def _cells(parts: Sequence[Parts], mode: Mode) -> list[str] | None:
    """Return an empty cell and then all cells of words, ten a line, IDs with the line feed before them.

    None unless the lines of each sentence are words 1, 2, … with ten sound cells.
    """
    # With its line feed kept, the first cell of a line is told from all others: if every tenth cell is the
    # expected ID, and there are no more cells and line feeds than that, each line has its ten columns.
    text = "".join([part.words for part in parts])
    marked = text.replace("\n", "\t\n")
    cells = marked.split("\t")
    sizes = [part.size for part in parts]
    if 0 in sizes or len(cells) != 1 + WIDTH * sum(sizes):
        return None
    if cells[1::WIDTH] != line_starts(sizes):
        return None
    if "\t\t" in marked or marked[-1] == "\t" or (" " in text and not _spaces_are_sound(marked, cells, mode)):
        return None
    return cells


def _spaces_are_sound(marked: str, cells: list[str], mode: Mode) -> bool:
    """Say whether spaces are inside of cells, and of those that may have them."""
    if "\t " in marked or " \t" in marked or marked[-1] == " ":
        return False
    checked = (column for column in _UNSPACED if mode.trees or column not in (HEAD, DEPREL))
    return not any(" " in "".join(cells[column + 1 :: WIDTH]) for column in checked)


def _set_aside(text: str, heading: str, mode: Mode) -> Parts | None:
    """Return the lines of words, and those of multiword tokens and empty nodes with their places.

    None if one of the latter is not sound, provided that the IDs of the words are.
    """
    words: list[str] = []
    multiword: list[tuple[int, str]] = []
    empty_nodes: list[tuple[int, str]] = []
    numbering = Numbering(extended=True)
    size = end = 0
    for match in _SPECIAL.finditer(text):
        before, line, end = text[end : match.start()], match[0][1:], match.end()
        words.append(before)
        size += before.count("\n")
        numbering.skip_to(size)
        if numbering.take(line.partition("\t")[0]) is not None or not _special_is_sound(line, mode):
            return None
        if numbering.range_open:
            multiword.append((size + 1, line))
        else:
            empty_nodes.append((size, line))
    words.append(text[end:])
    size += words[-1].count("\n")
    numbering.skip_to(size)
    if numbering.end() is not None:
        return None
    return Parts("".join(words), size, heading, tuple(multiword), tuple(empty_nodes))


def _special_is_sound(line: str, mode: Mode) -> bool:
    cells = line.split("\t")
    if len(cells) != WIDTH or "" in cells:
        return False
    if mode.trees and not cells[HEAD] == cells[DEPREL] == ABSENT:
        return False
    return " " not in line or _spaces_are_sound(line, ["", *cells], mode)


_head_of: dict[str, int] = {}
_unknown_tree = lru_cache(maxsize=256)(Tree.unknown)


def _tree(heads: Sequence[str], labels: Sequence[str], mode: Mode, share: Share) -> Tree | None:
    """Return the tree in the two columns if it is well-formed under the mode, else None."""
    size = len(heads)
    if not mode.trees:
        return _unknown_tree(size)
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
