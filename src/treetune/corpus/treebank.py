"""Treebank files in whichever format to examples and back, the format by suffix or by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from treetune.corpus.conllu import read_conllu, write_conllu
from treetune.corpus.conllx import read_conllx, write_conllx
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import StrPath
from treetune.corpus.sentence import Example
from treetune.errors import unknown_name

READERS = {"conllu": read_conllu, "conllx": read_conllx}
WRITERS = {"conllu": write_conllu, "conllx": write_conllx}


def format_of(path: StrPath) -> str:
    """Return the format a path stands for: `.conll` and `.conllx` are CoNLL-X, all else is CoNLL-U."""
    name = os.fspath(path).removesuffix(".gz").removesuffix(".zst")
    return "conllx" if name.endswith((".conll", ".conllx")) else "conllu"


def read_trees(
    path: StrPath,
    *,
    file_format: str | None = None,
    strict: bool = True,
    partial: bool = False,
    trees: bool = True,
    report: SkipReport | None = None,
) -> Iterator[Example]:
    """Yield the sentences of a treebank file; the options are those of `read_conllu`.

    `file_format` is ``"conllu"`` or ``"conllx"``; without it the suffix decides.
    """
    name = format_of(path) if file_format is None else file_format
    if name not in READERS:
        raise unknown_name("file format", name, READERS)
    return READERS[name](path, strict=strict, partial=partial, trees=trees, report=report)


def write_trees(examples: Iterable[Example], path: StrPath, *, file_format: str | None = None) -> int:
    """Write a treebank file, in the format of its suffix unless one is named, and return its size."""
    name = format_of(path) if file_format is None else file_format
    if name not in WRITERS:
        raise unknown_name("file format", name, WRITERS)
    return WRITERS[name](examples, path)
