"""Treebank files in whichever format to examples and back, the format by suffix or by name.

IOB files, which have tags but no trees, are told apart here and read by `read_tagged`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from treetune.corpus.conllu import read_conllu, write_conllu
from treetune.corpus.conllx import read_conllx, write_conllx
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import StrPath, display_name
from treetune.corpus.iob import read_iob
from treetune.corpus.sentence import Example
from treetune.corpus.tags import TAG_COLUMNS, Tagged, check_columns, hide_columns, tags_of
from treetune.errors import ConfigError, DataError, unknown_name

if TYPE_CHECKING:
    from treetune.corpus.document import ParsedSentence

READERS = {"conllu": read_conllu, "conllx": read_conllx}
IOB = "iob2"
WRITERS = {"conllu": write_conllu, "conllx": write_conllx}


IOB_SUFFIXES = (".iob2", ".iob", ".iob1", ".bio", ".bioes", ".bilou")


def is_iob(path: StrPath) -> bool:
    """Whether the suffix of a path is that of words with IOB tags."""
    return os.fspath(path).removesuffix(".gz").removesuffix(".zst").endswith(IOB_SUFFIXES)


def read_tagged(
    path: StrPath,
    columns: Sequence[str],
    *,
    file_format: str | None = None,
    strict: bool = True,
    tags: bool = True,
    report: SkipReport | None = None,
) -> Iterator[Tagged]:
    """Yield sentences with what they have in some columns as gold tags, which they do not show.

    Args:
        path: A treebank, or by its suffix (`.iob2`, …) an IOB file, whose tags are the one column there is.
        columns: UPOS, XPOS and FEATS by name, or a key of MISC; of several the tags are joint.
        file_format: ``"conllu"``, ``"conllx"`` or ``"iob2"``; without it the suffix decides.
        strict: As in `read_conllu`.
        tags: Whether an IOB file must have tags; without them all are unknown.
        report: As in `read_conllu`.
    """
    check_columns(columns)
    if file_format == IOB or (file_format is None and is_iob(path)):
        if len(columns) != 1 or columns[0] in TAG_COLUMNS:
            raise ConfigError(
                f"{display_name(path)} is an IOB file, which has entity tags alone, not {', '.join(columns)}; "
                "read a treebank instead"
            )
        yield from read_iob(path, strict=strict, tags=tags, report=report)
        return
    for example in read_trees(path, file_format=file_format, strict=strict, trees=False, report=report):
        yield Tagged(hide_columns(example.sentence, columns), tags_of(example.sentence, columns))


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
    if trees and file_format is None and is_iob(path):
        raise DataError("expected a treebank, found an IOB file by its suffix, which has no trees", path=str(path))
    if name not in READERS:
        raise unknown_name("file format", name, READERS)
    return READERS[name](path, strict=strict, partial=partial, trees=trees, report=report)


def write_trees(examples: Iterable[Example | ParsedSentence], path: StrPath, *, file_format: str | None = None) -> int:
    """Write a treebank file, in the format of its suffix unless one is named, and return its size."""
    name = format_of(path) if file_format is None else file_format
    if name not in WRITERS:
        raise unknown_name("file format", name, WRITERS)
    return WRITERS[name](examples, path)
