"""Files to the words of their sentences, whatever else is in them: plain text, treebanks, IOB files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from treetune.corpus.files import StrPath, read_lines
from treetune.corpus.iob import read_iob
from treetune.corpus.treebank import format_of, is_iob, read_trees

_TABLES = (".conllu", ".conll", ".conllx")


def read_words(path: StrPath) -> Iterator[Sequence[str]]:
    """Yield the words of each sentence.

    CoNLL-U, CoNLL-X and IOB files are known by their suffix. All else is text that has its words apart: a sentence a
    line, words separated by spaces; empty lines are left out.
    """
    name = os.fspath(path).removesuffix(".gz").removesuffix(".zst")
    if is_iob(path):
        yield from (tagged.sentence.forms[1:] for tagged in read_iob(path, tags=False))
    elif name.endswith(_TABLES):
        yield from (
            example.sentence.forms[1:] for example in read_trees(path, file_format=format_of(path), trees=False)
        )
    else:
        yield from (words for line in read_lines(path) if (words := line.split()))
