"""Files to sentences and back, in whichever format: by name, else by suffix, else CoNLL-U."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from treetune.corpus.conllu import analysis_of
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, StrPath, check_readable, display_name, read_lines, write_texts
from treetune.corpus.formats import FORMATS, Format, find_format, format_of, names
from treetune.corpus.sentence import Example
from treetune.corpus.spans import ENTITY_KEY
from treetune.corpus.tags import TAG_COLUMNS, Tagged, check_columns, hide_columns, tags_of
from treetune.errors import ConfigError, DataError

if TYPE_CHECKING:
    from treetune.corpus.document import ParsedSentence

DEFAULT_FORMAT = "conllu"


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

    `file_format` is the name of a format that can be read (``"conllu"``, ``"conllx"``, ``"json"``, …); without it the
    suffix decides. With ``trees=False`` files that hold no trees can be read too.
    """
    found = treebank_format(path, file_format, role="reader")
    if trees and "trees" not in found.holds:
        raise DataError(f"expected trees, and {found.title} has none; give a treebank", path=display_name(path))
    check_readable(path)
    return found.read(path, strict=strict, partial=partial, trees=trees, report=report)


def write_trees(
    items: Iterable[Example | ParsedSentence], target: StrPath | TextIO, *, file_format: str | None = None
) -> int:
    """Write examples or parsed sentences, in the format of the suffix unless one is named; return their number."""
    path = target if isinstance(target, str | os.PathLike) else STANDARD_STREAM
    form = treebank_format(path, file_format).form
    return write_texts((form(*analysis_of(item)) for item in items), target)


def read_tagged(
    path: StrPath,
    columns: Sequence[str],
    *,
    file_format: str | None = None,
    strict: bool = True,
    report: SkipReport | None = None,
) -> Iterator[Tagged]:
    """Yield sentences with what they have in some columns as gold tags, which they do not show.

    Args:
        path: A treebank, or an IOB file, whose tags are the one column there is.
        columns: UPOS, XPOS and FEATS by name, or a key of MISC; of several the tags are joint.
        file_format: The name of the format; without it the suffix decides.
        strict: As in `read_conllu`.
        report: As in `read_conllu`.
    """
    check_columns(columns)
    found = treebank_format(path, file_format, role="reader")
    # The entities of a file that holds nothing else may have any name.
    only_entities = "entities" in found.holds and "tags" not in found.holds
    if only_entities:
        if len(columns) != 1 or columns[0] in TAG_COLUMNS:
            raise ConfigError(
                f"{display_name(path)} is an {found.title} file, which has entity tags alone, not "
                f"{', '.join(columns)}; read a treebank instead"
            )
        columns = (ENTITY_KEY,)
    check_readable(path)
    examples = found.read(path, strict=strict, trees=only_entities, report=report)
    return (Tagged(hide_columns(one.sentence, columns), tags_of(one.sentence, columns)) for one in examples)


def read_words(path: StrPath) -> Iterator[Sequence[str]]:
    """Yield the words of each sentence.

    Treebanks and IOB files are known by their suffix. All else is text that has its words apart: a sentence a line,
    words separated by spaces; empty lines are left out.
    """
    found = format_of(path)
    if found is None or not found.reader:
        yield from (words for line in read_lines(path) if (words := line.split()))
    else:
        yield from (example.sentence.forms[1:] for example in found.read(path, trees=False))


def only_entities(path: StrPath) -> bool:
    """Whether the suffix of a path is that of a format for entities alone, such as IOB."""
    found = format_of(path)
    return found is not None and "entities" in found.holds and "tags" not in found.holds


def treebank_format(path: StrPath, name: str | None = None, *, role: str = "formatter") -> Format:
    """Return the format of this name, else that of the suffix if it has such a function, else CoNLL-U."""
    if name is not None:
        return find_format(name, names(role))
    found = format_of(path)
    return FORMATS[DEFAULT_FORMAT] if found is None or not getattr(found, role) else found
