"""CoNLL-U text to CoNLL-U text, column by column, for systems that have no reader or writer of their own.

Kept apart from treetune's reader on purpose: the peers must not depend on the code they are compared with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

ID, FORM, UPOS, XPOS, HEAD, DEPREL, COLUMNS = 0, 1, 3, 4, 6, 7, 10

Arcs = tuple[list[int], list[str]]
"""Heads (0 is the root) and labels of the words of one sentence."""


def sentences(path: Path) -> Iterator[list[str]]:
    """Yield the lines of each sentence."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        if block.strip():
            yield block.strip("\n").split("\n")


def write_sentences(path: Path, blocks: Sequence[list[str]]) -> None:
    """Write sentences, an empty line after each."""
    path.write_text("".join("\n".join(lines) + "\n\n" for lines in blocks), encoding="utf-8")


def is_word(line: str) -> bool:
    """Whether a line is a syntactic word: no comment, multiword token or empty node."""
    return line.partition("\t")[0].isdigit()


def words(lines: Sequence[str]) -> list[str]:
    """Return the forms of one sentence."""
    return [line.split("\t")[FORM] for line in lines if is_word(line)]


def count_words(path: Path) -> int:
    """Return the number of syntactic words in a file."""
    return sum(len(words(lines)) for lines in sentences(path))


def arcs(lines: Sequence[str]) -> Arcs:
    """Return heads and labels of one sentence."""
    columns = [line.split("\t") for line in lines if is_word(line)]
    return [int(column[HEAD]) for column in columns], [column[DEPREL] for column in columns]


def with_arcs(lines: Sequence[str], answer: Arcs) -> list[str]:
    """Return the lines with other heads and labels."""
    filled = []
    heads_and_labels = zip(*answer, strict=True)
    for line in lines:
        columns = line.split("\t")
        if is_word(line):
            head, columns[DEPREL] = next(heads_and_labels)
            columns[HEAD] = str(head)
        filled.append("\t".join(columns))
    return filled


def blinded(lines: Sequence[str]) -> list[str]:
    """Return the lines with nothing but ID, FORM, UPOS and XPOS: what every system may see."""
    kept = []
    for line in lines:
        columns = line.split("\t")
        if is_word(line):
            seen = {ID, FORM, UPOS, XPOS}
            columns = [columns[index] if index in seen else "_" for index in range(COLUMNS)]
        elif len(columns) == COLUMNS and "." in columns[ID]:
            continue
        kept.append("\t".join(columns))
    return kept


def is_single_root_tree(heads: Sequence[int]) -> bool:
    """Whether exactly one word hangs on the root and every word reaches it."""
    if list(heads).count(0) != 1 or any(not 0 <= head <= len(heads) for head in heads):
        return False
    for word in range(1, len(heads) + 1):
        steps, above = 0, word
        while above != 0 and steps <= len(heads):
            above, steps = heads[above - 1], steps + 1
        if above != 0:
            return False
    return True
