"""CoNLL-X files to examples and back (Buchholz and Marsi 2006): no comments, ranges or empty nodes.

CPOSTAG is `upos` and POSTAG is `xpos`. PHEAD and PDEPREL are not kept: they are written as ``_``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from treetune.corpus.blocks import Source
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import StrPath
from treetune.corpus.layout import CONLLX, Mode
from treetune.corpus.rows import format_table, write_table
from treetune.corpus.sentence import Enhanced, Example, Sentence, Tree
from treetune.corpus.table import read_table

if TYPE_CHECKING:
    from treetune.corpus.document import ParsedSentence


def read_conllx(
    source: Source,
    *,
    strict: bool = True,
    partial: bool = False,
    trees: bool = True,
    report: SkipReport | None = None,
) -> Iterator[Example]:
    """Yield the sentences of a file or of lines; the options are those of `read_conllu`."""
    return read_table(source, CONLLX, mode=Mode(partial, trees), strict=strict, report=report)


def format_conllx(sentence: Sentence, tree: Tree, enhanced: Enhanced | None = None) -> str:
    """Return a sentence as CoNLL-X; what the format has no place for is left out, `enhanced` too."""
    return format_table(sentence, tree, CONLLX)


def write_conllx(examples: Iterable[Example | ParsedSentence], target: StrPath | TextIO) -> int:
    """Write examples or parsed sentences to a path or a text stream and return their number."""
    return write_table(examples, target, format_conllx)
