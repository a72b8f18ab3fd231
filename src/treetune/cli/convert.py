"""``treetune convert``: sentences in one format in, the same sentences in another format out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from treetune.cli.console import note
from treetune.cli.output import Writing
from treetune.corpus.batches import TextChunk, take_batch
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept, display_name
from treetune.corpus.formats import FORMATS, Format, find_format, format_of, names
from treetune.corpus.sentence import Example
from treetune.corpus.spans import ENTITY_KEY
from treetune.corpus.tags import read_column
from treetune.errors import ConfigError, DataError

READABLE = [name for name in names("reader") if FORMATS[name].holds]
WRITABLE = [name for name in (*names("formatter"), *names("text_writer")) if FORMATS[name].holds]


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="The file to convert; - is stdin.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")
    ] = STANDARD_STREAM,
    read: Annotated[
        str | None,
        typer.Option("--from", metavar="NAME", help=f"Format of IN: {', '.join(READABLE)}; else its suffix decides."),
    ] = None,
    write: Annotated[
        str | None,
        typer.Option("--to", metavar="NAME", help=f"Format of OUT: {', '.join(WRITABLE)}; else its suffix decides."),
    ] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences and report them, instead of stopping.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Convert a file to another format; what the other format cannot hold is left out, and said."""
    check_kept(output, (source,))
    reads, writes = _format("IN", "--from", source, read), _format("OUT", "--to", output, write)
    if "text" in reads.holds:
        raise ConfigError(f"{reads.title} has no words to convert; 'treetune parse' finds them")
    reads, writes = find_format(reads.name, READABLE), find_format(writes.name, WRITABLE)
    _check(reads, writes)
    report = SkipReport()
    writing = Writing(output, "converting", quiet, source=source, reads=reads)
    examples = reads.read(source, strict=not lenient, partial=True, report=report)
    if writes.name == "iob2":
        examples = _with_entities(examples, source)
    writing.write_chunks(_chunks(examples, writes))
    lost = [content for content in ("trees", "tags", "entities", "comments") if content in reads.holds - writes.holds]
    if lost and writes.formatter and writes.holds & {"trees", "tags", "entities"}:
        note(
            f"{writes.title} has no room for {', '.join(lost)}: left out where there were any", quiet=writing.is_silent
        )
    writing.report(report, "converted")


def _format(metavar: str, flag: str, path: str, name: str | None) -> Format:
    if name is not None:
        return find_format(name)
    found = None if path == STANDARD_STREAM else format_of(path)
    if found is None:
        raise ConfigError(f"the format of {metavar} does not follow from its name, {path}; give it with {flag}")
    return found


def _check(reads: Format, writes: Format) -> None:
    """Refuse a conversion of which nothing would be left but words that are written as annotation."""
    if writes.name == "iob2" and "entities" not in reads.holds:
        raise ConfigError(f"{reads.title} holds no entities, and IOB files hold nothing else; write another format")
    annotation = reads.holds & {"trees", "tags", "entities"}
    columns = writes.holds & {"trees", "tags", "entities"}
    if annotation and columns and not annotation & columns:
        raise ConfigError(f"{writes.title} has no room for what {reads.title} holds; write CoNLL-U or JSON lines")


def _with_entities(examples: Iterator[Example], source: str) -> Iterator[Example]:
    """Yield examples; DataError if not one of them has an entity."""
    found = False
    for example in examples:
        found = found or any(read_column(example.sentence, ENTITY_KEY)[1:])
        yield example
    if not found:
        raise DataError(
            f"expected entities in MISC ({ENTITY_KEY}=B-PER), found none, and IOB files hold nothing else",
            path=display_name(source),
        )


def _chunks(examples: Iterator[Example], writes: Format) -> Iterator[TextChunk]:
    if writes.formatter:
        while chunk := take_batch(examples):
            texts = (writes.form(example.sentence, example.gold, example.enhanced) for example in chunk)
            words = sum(len(example.sentence) for example in chunk)
            yield texts, len(chunk), words, chunk[-1].sentence.start_char
        return
    # Between two sentences stands what both say of it.
    sentences = words = 0

    def counted() -> Iterator[Example]:
        nonlocal sentences, words
        for example in examples:
            sentences += 1
            words += len(example.sentence)
            yield example

    for piece in writes.write_text(example.sentence for example in counted()):
        yield (piece,), sentences, words, 0
        sentences = words = 0
