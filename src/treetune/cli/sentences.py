"""Sentences to work on, from whatever a user has: the one place where another kind of input comes in."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from treetune.corpus.faults import SkipReport
from treetune.corpus.files import read_lines
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.treebank import format_of, read_trees
from treetune.errors import unknown_name

Read = Callable[[str, bool, bool, SkipReport], Iterator[Example]]


def read_sentences(
    path: str, *, kind: str | None = None, trees: bool = False, lenient: bool = False, report: SkipReport | None = None
) -> Iterator[Example]:
    """Yield sentences; with `trees`, their complete trees too.

    `kind` is one of `KINDS`; without it the suffix decides.
    """
    name = kind_of(path) if kind is None else kind
    if name not in KINDS:
        raise unknown_name("kind of input", name, KINDS)
    return KINDS[name](path, trees, lenient, report or SkipReport())


def kind_of(path: str) -> str:
    """Return the kind of input a path stands for: ``.txt`` is tokenised text, all else CoNLL-U or CoNLL-X."""
    name = path.removesuffix(".gz").removesuffix(".zst")
    return "tokens" if name.endswith(".txt") else format_of(path)


def _read_tokens(path: str, trees: bool, lenient: bool, report: SkipReport) -> Iterator[Example]:
    """Yield one sentence a line, words between spaces; empty lines are none."""
    for line in read_lines(path):
        words = line.split()
        if words:
            yield Example(Sentence.of(words), Tree.unknown(len(words)))


def _table(name: str) -> Read:
    def read(path: str, trees: bool, lenient: bool, report: SkipReport) -> Iterator[Example]:
        return read_trees(path, file_format=name, strict=not lenient, trees=trees, report=report)

    return read


# Raw text comes in here, as a line of this table, once there is a pipeline that finds sentences, words and tags.
KINDS: dict[str, Read] = {"conllu": _table("conllu"), "conllx": _table("conllx"), "tokens": _read_tokens}
