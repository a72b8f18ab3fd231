"""Text and files to objects and back."""

from __future__ import annotations

from treetune.corpus.base_trees import attach_base_trees, with_base_trees
from treetune.corpus.conllu import (
    format_conllu,
    format_conllx,
    read_conllu,
    read_conllx,
    write_conllu,
    write_conllx,
)
from treetune.corpus.faults import SentenceError, SkipReport
from treetune.corpus.files import open_atomic, open_output, read_lines
from treetune.corpus.formats import FORMATS, Format, find_format, format_of
from treetune.corpus.iob import format_iob, read_iob, write_iob
from treetune.corpus.projectivity import deprojectivize, is_projective, plain_label, projectivize
from treetune.corpus.sentence import Enhanced, Example, Sentence, Tree
from treetune.corpus.spans import Span, iob_tags, spans_of
from treetune.corpus.tags import Tagged, Tags, tagged, tags_of, with_tags
from treetune.corpus.treebank import read_tagged, read_trees, read_words, write_trees
from treetune.corpus.wellformed import find_cycle, is_tree

__all__ = [
    "FORMATS",
    "Enhanced",
    "Example",
    "Format",
    "Sentence",
    "SentenceError",
    "SkipReport",
    "Span",
    "Tagged",
    "Tags",
    "Tree",
    "attach_base_trees",
    "deprojectivize",
    "find_cycle",
    "find_format",
    "format_conllu",
    "format_conllx",
    "format_iob",
    "format_of",
    "iob_tags",
    "is_projective",
    "is_tree",
    "open_atomic",
    "open_output",
    "plain_label",
    "projectivize",
    "read_conllu",
    "read_conllx",
    "read_iob",
    "read_lines",
    "read_tagged",
    "read_trees",
    "read_words",
    "spans_of",
    "tagged",
    "tags_of",
    "with_base_trees",
    "with_tags",
    "write_conllu",
    "write_conllx",
    "write_iob",
    "write_trees",
]
