"""CoNLL-U files to examples and back (universaldependencies.org/format.html).

What is read and written back is the same byte for byte, except that line ends become LF, a byte order mark
goes, and every sentence is followed by exactly one empty line. `docs/file-formats.md` lists every rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from treetune.corpus.blocks import Source
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import StrPath
from treetune.corpus.layout import CONLLU, Mode
from treetune.corpus.rows import format_table, write_table
from treetune.corpus.sentence import Enhanced, Example, Sentence, Tree
from treetune.corpus.table import read_table

if TYPE_CHECKING:
    from treetune.corpus.document import ParsedSentence


def read_conllu(
    source: Source,
    *,
    strict: bool = True,
    partial: bool = False,
    trees: bool = True,
    report: SkipReport | None = None,
) -> Iterator[Example]:
    """Yield the sentences of a file (``-`` is standard input) or of lines, one at a time.

    Args:
        source: a path, by its suffix `.gz` or `.zst` compressed, or lines of text.
        strict: raise `DataError` at the first fault; otherwise skip the sentences that have one.
        partial: allow ``_`` for any head or label, and a tree without a root.
        trees: read HEAD, DEPREL and DEPS; otherwise ignore whatever they hold and leave the tree unknown.
        report: where to count, when not strict, what was read and what was skipped for which reason.
    """
    return read_table(source, CONLLU, mode=Mode(partial, trees), strict=strict, report=report)


def format_conllu(sentence: Sentence, tree: Tree, enhanced: Enhanced | None = None) -> str:
    """Return a sentence as CoNLL-U, the empty line after it included.

    Without `enhanced`, as for a predicted tree, DEPS is ``_`` and there are no empty nodes.
    """
    return format_table(sentence, tree, CONLLU, enhanced=enhanced)


def write_conllu(examples: Iterable[Example | ParsedSentence], target: StrPath | TextIO) -> int:
    """Write examples or parsed sentences to a path (complete or not at all; ``-`` is standard output) or a text stream.

    Returns the number of sentences.
    """
    return write_table(examples, target, format_conllu)
