"""CoNLL-U and CoNLL-X files to examples and back.

CoNLL-U (universaldependencies.org/format.html) is read and written back byte for byte, except that line ends become LF,
a byte order mark goes, and every sentence is followed by exactly one empty line. CoNLL-X (Buchholz and Marsi 2006) has
no comments, multiword tokens or empty nodes; CPOSTAG is `upos`, POSTAG is `xpos`, and PHEAD and PDEPREL are not kept.
`docs/file-formats.md` lists every rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter, le
from typing import TYPE_CHECKING, TextIO

from treetune.corpus.blocks import Source
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import StrPath, write_texts
from treetune.corpus.layout import CONLLU, CONLLX, DEPREL, DEPS, HEAD, SPACED, WIDTH, Layout, Mode
from treetune.corpus.sentence import ABSENT, UNKNOWN_HEAD, UNKNOWN_LABEL, Enhanced, Example, Sentence, Tree, tree_of
from treetune.corpus.sentence_table import SentenceTable, are_sound
from treetune.corpus.table import read_table
from treetune.errors import DataError

if TYPE_CHECKING:
    from treetune.corpus.document import ParsedSentence

Columns = tuple[Sequence[str], ...]
_IDS = tuple(map(str, range(256)))


def read_conllu(
    source: Source,
    *,
    strict: bool = True,
    partial: bool = False,
    trees: bool = True,
    report: SkipReport | None = None,
) -> Iterator[Example]:
    """Yield the sentences of a CoNLL-U file (``-`` is standard input) or of lines, one at a time.

    Args:
        source: a path, by its suffix `.gz` or `.zst` compressed, or lines of text.
        strict: raise `DataError` at the first fault; otherwise skip the sentences that have one.
        partial: allow ``_`` for any head or label, and a tree without a root.
        trees: read HEAD, DEPREL and DEPS; otherwise ignore whatever they hold and leave the tree unknown.
        report: where to count, when not strict, what was read and what was skipped for which reason.
    """
    return read_table(source, CONLLU, mode=Mode(partial, trees), strict=strict, report=report)


def read_conllx(
    source: Source,
    *,
    strict: bool = True,
    partial: bool = False,
    trees: bool = True,
    report: SkipReport | None = None,
) -> Iterator[Example]:
    """Yield the sentences of a CoNLL-X file or of lines; the options are those of `read_conllu`."""
    return read_table(source, CONLLX, mode=Mode(partial, trees), strict=strict, report=report)


def write_conllu(items: Iterable[Example | ParsedSentence], target: StrPath | TextIO) -> int:
    """Write examples or parsed sentences as CoNLL-U and return their number.

    `target` is a path (the file appears when it is complete; ``-`` is standard output) or an open text stream.
    """
    return write_texts((format_conllu(*analysis_of(item)) for item in items), target)


def write_conllx(items: Iterable[Example | ParsedSentence], target: StrPath | TextIO) -> int:
    """Write examples or parsed sentences as CoNLL-X and return their number; see `write_conllu`."""
    return write_texts((format_conllx(*analysis_of(item)) for item in items), target)


def analysis_of(item: Example | ParsedSentence) -> tuple[Sentence, Tree, Enhanced | None]:
    """Return sentence, tree and enhanced graph of an example (its gold analysis) or of a parsed sentence."""
    return item.sentence, tree_of(item), item.enhanced if isinstance(item, Example) else None


def format_conllu(sentence: Sentence, tree: Tree, enhanced: Enhanced | None = None) -> str:
    """Return a sentence as CoNLL-U, the empty line after it included.

    Without `enhanced`, as for a predicted tree, DEPS is ``_`` and there are no empty nodes.
    """
    return _format(sentence, tree, CONLLU, enhanced)


def format_table(table: Sequence[Sentence], trees: Sequence[Tree]) -> str:
    """Return sentences with predicted trees as CoNLL-U: the text that `format_conllu` makes of them one by one."""
    heads = list(chain.from_iterable([tree.heads[1:] for tree in trees]))
    labels = list(chain.from_iterable([tree.labels[1:] for tree in trees]))
    if not isinstance(table, SentenceTable) or not _is_sound(table, trees, heads, labels):
        return "".join(map(format_conllu, table, trees))
    # The last entry is the one that index -1, an unknown head, finds.
    names = [*_ids(max(table.sizes, default=0) + 1), ABSENT]
    cells = table.cells[1:]
    cells[HEAD::WIDTH] = map(names.__getitem__, heads)
    cells[DEPREL::WIDTH] = [label or ABSENT for label in labels] if UNKNOWN_LABEL in labels else labels
    cells[DEPS::WIDTH] = [ABSENT] * len(heads)
    for heading, first, multiword in zip(table.headings, table.ends, table.multiword, strict=False):
        cells[WIDTH * first] = f"\n\n{heading}1"
        for word, line in multiword:
            cells[WIDTH * (first + word - 1)] = f"\n{line}\n{word}" if word > 1 else f"\n\n{heading}{line}\n1"
    return "\t".join(cells).replace("\t\n", "\n")[2:] + "\n\n"


def _is_sound(table: SentenceTable, trees: Sequence[Tree], heads: Sequence[int], labels: Sequence[str]) -> bool:
    """Say whether trees fit the sentences of a table, and nothing has tabs or line breaks where they would cut."""
    return (
        table.is_sound
        and [len(tree.heads) - 1 for tree in trees] == table.sizes
        and all(map(le, map(max, map(attrgetter("heads"), trees)), table.sizes))
        and min(heads, default=UNKNOWN_HEAD) >= UNKNOWN_HEAD
        and are_sound(set(labels) - {UNKNOWN_LABEL})
        and "\t\n" not in "".join(table.headings)
    )


def format_conllx(sentence: Sentence, tree: Tree, enhanced: Enhanced | None = None) -> str:
    """Return a sentence as CoNLL-X; what the format cannot hold is left out, `enhanced` too."""
    return _format(sentence, tree, CONLLX, None)


def _format(sentence: Sentence, tree: Tree, layout: Layout, enhanced: Enhanced | None) -> str:
    """Return the lines of a sentence and the empty line after it."""
    size = len(sentence)
    if not size:
        raise DataError("a sentence without words cannot be written")
    if len(tree) != size:
        raise DataError(f"expected a tree of {size} words, found one of {len(tree)}")
    if max(tree.heads) > size or min(tree.heads) < UNKNOWN_HEAD:
        wrong = next(head for head in tree.heads if not UNKNOWN_HEAD <= head <= size)
        raise DataError(f"expected heads from -1 to {size}, found {wrong}", column="HEAD")
    rows = _rows(_columns(sentence, tree, layout, enhanced), layout)
    if layout.extended and (sentence.multiword or enhanced is not None):
        rows = _with_special(rows, sentence, enhanced)
    if layout.extended and sentence.comments:
        rows = [*_checked(sentence.comments), *rows]
    return "\n".join(rows) + "\n\n"


def _columns(sentence: Sentence, tree: Tree, layout: Layout, enhanced: Enhanced | None) -> Columns:
    """Return the ten columns, root included."""
    names = _ids(len(sentence) + 1)
    # The last entry is the one that index -1, an unknown head, finds.
    heads = [*names, ABSENT]
    nothing = (ABSENT,) * len(names)
    return (
        names,
        sentence.forms,
        sentence.lemmas,
        sentence.upos,
        sentence.xpos,
        sentence.feats,
        [heads[head] for head in tree.heads],
        [label or ABSENT for label in tree.labels],
        enhanced.deps if enhanced is not None and layout.extended else nothing,
        sentence.misc if layout.extended else nothing,
    )


def _ids(count: int) -> tuple[str, ...]:
    return _IDS[:count] if count <= len(_IDS) else tuple(map(str, range(count)))


def _rows(columns: Columns, layout: Layout) -> list[str]:
    """Return the lines of the words, refusing values that would not come back as they are."""
    try:
        rows = list(map("\t".join, zip(*columns, strict=True)))[1:]
    except ValueError as error:
        lengths = ", ".join(f"{name} {len(column)}" for name, column in zip(layout.columns, columns, strict=True))
        raise DataError(f"expected columns of the same length, found {lengths}") from error
    text = "\n".join(rows)
    tabs, breaks = text.count("\t"), text.count("\n")
    if (
        tabs != len(rows) * (WIDTH - 1)
        or breaks != len(rows) - 1
        or any(bad in text for bad in ("\t\t", "\t\n", "\r"))
        or text[-1] == "\t"
    ):
        _refuse_cells(columns, layout)
    if " " in text:
        _refuse_spaces(columns, layout)
    return rows


def _with_special(rows: list[str], sentence: Sentence, enhanced: Enhanced | None) -> list[str]:
    """Return the rows of the words with those of multiword tokens and empty nodes in their places."""
    before = dict(sentence.multiword)
    empty_nodes = enhanced.empty_nodes if enhanced is not None else ()
    after: dict[int, list[str]] = {}
    for place, line in empty_nodes:
        after.setdefault(place, []).append(line)
    lines = after.get(0, [])
    for word, row in enumerate(rows, start=1):
        if word in before:
            lines.append(before[word])
        lines.append(row)
        lines.extend(after.get(word, ()))
    special = len(sentence.multiword) + len(empty_nodes)
    if len(lines) != len(rows) + special or "\n".join(lines).count("\t") != len(lines) * (WIDTH - 1):
        raise DataError("expected each multiword token and empty node once, on a line of ten columns beside a word")
    return lines


def _checked(comments: tuple[str, ...]) -> tuple[str, ...]:
    for comment in comments:
        if not comment.startswith("#") or "\n" in comment or "\r" in comment:
            raise DataError(f"expected a comment of one line that begins with #, found {comment!r}")
    return comments


def _refuse_cells(columns: Columns, layout: Layout) -> None:
    for name, column in zip(layout.columns, columns, strict=True):
        for word, value in enumerate(column):
            if word and (not value or set(value) & set("\t\n\r")):
                problem = f"word {word} cannot be written: expected a value without tabs and line breaks"
                raise DataError(f"{problem}, found {value!r}", column=name)


def _refuse_spaces(columns: Columns, layout: Layout) -> None:
    for index, (name, column) in enumerate(zip(layout.columns, columns, strict=True)):
        for word, value in enumerate(column):
            if " " in value and (index not in SPACED or value != value.strip(" ")):
                problem = f"word {word} cannot be written: expected no spaces here, found {value!r}"
                raise DataError(problem, column=name)
