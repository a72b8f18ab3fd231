"""A file and how to read it: its sentences, which of raw text a pipeline has to find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from treetune.corpus.faults import SkipReport
from treetune.corpus.files import display_name
from treetune.corpus.formats import Format
from treetune.corpus.sentence import Example, Tree
from treetune.corpus.sentence_table import SentenceTable
from treetune.corpus.table import read_tables
from treetune.corpus.textfiles import read_text
from treetune.corpus.treebank import read_trees
from treetune.errors import DataError
from treetune.models.pipeline import Pipeline

_LOOKS_LIKE_TREES = re.compile(r"\s*(?:#[^\n]*\n)*1(?:-\d+)?\t(?:[^\t\n]*\t){8}[^\t\n]*(?:\r?\n|$)")


@dataclass(frozen=True)
class Input:
    """A file and how to read it.

    `trees` says whether its trees are wanted, `partial` whether they may be partial, `closed_lines` whether the end of
    a line ends a sentence of raw text whose format was not named, as in lists of questions without full stops.
    """

    source: str
    format: Format
    lenient: bool = False
    trees: bool = False
    partial: bool = False
    closed_lines: bool = False

    @property
    def is_text(self) -> bool:
        """Whether a tokenizer has to find the words."""
        return "text" in self.format.holds

    def examples(self, pipeline: Pipeline | None, report: SkipReport, *, ranges: bool = False) -> Iterator[Example]:
        """Yield the sentences, with their trees if these are wanted; `ranges` notes offsets of tokens in MISC."""
        if not self.is_text:
            return read_trees(
                self.source,
                file_format=self.format.name,
                strict=not self.lenient,
                partial=self.partial,
                trees=self.trees,
                report=report,
            )
        assert pipeline is not None
        sentences = pipeline.split(self._pieces(), ranges=ranges, line_sentences=self._line_sentences)
        return (Example(sentence, Tree.unknown(len(sentence))) for sentence in sentences)

    def tables(
        self, pipeline: Pipeline, report: SkipReport, *, size: int, ranges: bool = False
    ) -> Iterator[SentenceTable]:
        """Yield the sentences of raw text or CoNLL-U as tables, up to `size` at a time."""
        if not self.is_text:
            return read_tables(self.source, size=size, strict=not self.lenient, report=report)
        return pipeline.tables(self._pieces(), size=size, ranges=ranges, line_sentences=self._line_sentences)

    @property
    def _line_sentences(self) -> bool | None:
        return {"lines": True, "wrapped": False}.get(self.format.name)

    def _pieces(self) -> Iterator[str]:
        pieces = _checked_text(read_text(self.source), self.source)
        # An empty line ends a paragraph, and so a sentence.
        return (piece.replace("\n", "\n\n") for piece in pieces) if self.closed_lines else pieces


def _checked_text(pieces: Iterator[str], path: str) -> Iterator[str]:
    """Yield the pieces of a text, after a look at the first of them."""
    first = next(pieces, "")
    if _LOOKS_LIKE_TREES.match(first):
        raise DataError(
            "expected raw text, found what looks like CoNLL-U; read it with --read conllu", path=display_name(path)
        )
    return chain([first], pieces)
