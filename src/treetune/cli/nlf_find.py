"""``treetune nlf find`` and ``draw``: patterns over the meanings of texts, and pictures of meanings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer

from treetune.cli.compiling import compile_for
from treetune.cli.console import for_terminal
from treetune.cli.input import DEFAULT_MODEL, ReadHelp, input_format, load_pipeline, parse_sentences
from treetune.cli.output import Writing, check_picture
from treetune.corpus.batches import TextChunk, take_batch
from treetune.corpus.document import ParsedSentence
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept, display_name, open_output
from treetune.corpus.formats import FORMATS, bare_name, find_format, format_of
from treetune.corpus.sentence import Example
from treetune.errors import DataError, unknown_name
from treetune.models.file_input import Input
from treetune.models.mapper import Mapper
from treetune.models.pipeline import Pipeline
from treetune.semantics import parse_expression
from treetune.semantics.drawing import expression_svg
from treetune.semantics.expression import Expression
from treetune.semantics.hits import Hit, find_hits
from treetune.semantics.matching import Matcher
from treetune.semantics.meanings import meaning_of
from treetune.semantics.patterns import parse_pattern

# Widths of columns; longer cells are cut in tables, and only there.
NARROWEST, WIDEST = 16, 40
Rows = Callable[[Sequence[Hit]], Iterator[str]]
Expressed = Callable[[], Expression]

ModelHelp = "A model with a parser, or of 'treetune nlf train'; without it trees of IN, or en for text."
ModelOption = Annotated[str | None, typer.Option("--model", metavar="MODEL", help=ModelHelp)]
ReadOption = Annotated[str | None, typer.Option("--read", metavar="NAME", help=ReadHelp)]
ThreadsOption = Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]


def find(
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="What to find: '[acquire, ?who, ?what]'.")],
    paths: Annotated[
        list[str],
        typer.Argument(metavar="IN...", help="Text, treebanks, or folders of them; - is stdin."),
    ],
    model: ModelOption = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")
    ] = STANDARD_STREAM,
    file_format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Of OUT: table, tsv or json (lines); by default its suffix."),
    ] = None,
    forms: Annotated[bool, typer.Option("--forms", help="Match words by form alone, not by lemma.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Stop after N matches.")] = None,
    read: ReadOption = None,
    threads: ThreadsOption = 1,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences and report them, instead of stopping.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Find all sentences whose meaning matches a pattern, and what its variables stand for."""
    wanted = parse_pattern(pattern)
    make_rows = _formatter(file_format, output)
    meanings = Meanings(model, read=read, threads=threads, lenient=lenient, quiet=quiet)
    sources = list(expand(paths, read))
    check_kept(output, (*sources, model))
    search = _Search(Matcher(wanted, forms=forms), meanings, make_rows(wanted.variables, sources), limit)
    writing = Writing(output, "searching", quiet)
    writing.write_chunks(search.chunks(sources))
    writing.report(meanings.report, f"{search.hits:,} matches in")


def draw(
    source: Annotated[str, typer.Argument(metavar="IN", help="Text or a treebank, or with --expression a meaning.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="SVG", help="Where to write; - is stdout.")] = (
        STANDARD_STREAM
    ),
    expression: Annotated[
        bool, typer.Option("--expression", help="IN is itself an expression: '[saw, Ann, dog.the]'.")
    ] = False,
    sentence: Annotated[int, typer.Option("--sentence", min=1, help="Which sentence of IN to draw.")] = 1,
    model: ModelOption = None,
    read: ReadOption = None,
    quiet: QuietOption = False,
) -> None:
    """Draw the meaning of a sentence as SVG."""
    check_picture(output, "--output")
    if expression:
        picture = expression_svg(parse_expression(source))
    else:
        check_kept(output, (source, model))
        batches = Meanings(model, read=read, quiet=quiet).batches(source)
        found = next(islice(chain.from_iterable(batches), sentence - 1, sentence), None)
        if found is None:
            problem = f"expected at least {sentence} sentences to draw one, found fewer"
            raise DataError(problem, path=display_name(source))
        parsed, meaning = found
        picture = expression_svg(meaning(), title=parsed.text)
    with open_output(output) as out:
        out.write(for_terminal(output)(picture))


@dataclass(slots=True)
class Meanings:
    """Reads sentences and makes their expressions, from the trees of the input or by a model."""

    model: str | None
    read: str | None = None
    threads: int = 1
    lenient: bool = False
    quiet: bool = False
    report: SkipReport = field(default_factory=SkipReport)
    _mapper: Mapper | None = None

    def batches(self, source: str) -> Iterator[list[tuple[ParsedSentence, Expressed]]]:
        """Yield the sentences of a file, up to a thousand at a time, each with what makes its expression."""
        mapper = self._needed(source)
        splitter = None if mapper is None else self._splitter(mapper)
        reads = input_format(source, self.read, splitter)
        taken = Input(source, reads, lenient=self.lenient, trees=mapper is None)
        if splitter is not None and mapper is not None:
            text, name = "text" in reads.holds, self.model or DEFAULT_MODEL
            compile_for(mapper.pipeline, name, text=text and splitter is mapper.pipeline, quiet=self.quiet)
        examples = taken.examples(splitter, self.report)
        while batch := take_batch(examples):
            yield [(parsed, _expressed(parsed)) for parsed in self._parsed(batch, mapper)]

    def _parsed(self, batch: Sequence[Example], mapper: Mapper | None) -> Iterator[ParsedSentence]:
        if mapper is None:
            return (ParsedSentence(example.sentence, example.gold) for example in batch)
        sentences = [example.sentence for example in batch]
        return (ParsedSentence(*pair) for pair in parse_sentences(mapper.pipeline, sentences, self.threads))

    def _needed(self, source: str) -> Mapper | None:
        """Return the model for an input, None if the trees of the input are taken."""
        reads = format_of(source) if self.read is None else find_format(self.read)
        if self.model is None and reads is not None and "trees" in reads.holds:
            return None
        if self._mapper is None:
            self._mapper = Mapper(load_pipeline(self.model or DEFAULT_MODEL))
        return self._mapper

    def _splitter(self, mapper: Mapper) -> Pipeline:
        """Return the pipeline that splits text: that of the model, or the English one if it has no tokenizer."""
        return load_pipeline(DEFAULT_MODEL) if mapper.pipeline.tokenizer is None else mapper.pipeline


def _expressed(parsed: ParsedSentence) -> Expressed:
    return lambda: meaning_of(parsed.sentence, parsed.tree).expression


@dataclass(slots=True)
class _Search:
    """A pattern, where to look for it, and how many matches were found."""

    matcher: Matcher
    meanings: Meanings
    rows: Rows
    limit: int | None
    hits: int = 0

    def chunks(self, sources: Iterable[str]) -> Iterator[TextChunk]:
        """Yield the rows of the matches, batch by batch, and how many sentences and words were searched."""
        for source in sources:
            number = 0
            for batch in self.meanings.batches(source):
                found = list(islice(self._found(batch, source, number), self._left()))
                number += len(batch)
                self.hits += len(found)
                yield self.rows(found), len(batch), sum(len(parsed) for parsed, _ in batch), 0
                if self._left() == 0:
                    return

    def _left(self) -> int | None:
        return None if self.limit is None else self.limit - self.hits

    def _found(self, batch: Sequence[tuple[ParsedSentence, Expressed]], source: str, number: int) -> Iterator[Hit]:
        for index, (parsed, meaning) in enumerate(batch, start=number + 1):
            if self.matcher.may_match(parsed.sentence):
                yield from find_hits(self.matcher, meaning(), parsed, source=display_name(source), number=index)


def expand(paths: Sequence[str], read: str | None) -> Iterator[str]:
    """Yield files, for a folder all below it whose suffix is that of a text or a treebank."""
    for path in paths:
        if path == STANDARD_STREAM or not Path(path).is_dir():
            yield path
            continue
        found = [str(file) for file in sorted(Path(path).rglob("*")) if file.is_file() and _is_readable(file, read)]
        if not found:
            raise DataError(f"expected files ending in {', '.join(_SUFFIXES)} in this folder, found none", path=path)
        yield from found


_SUFFIXES = tuple(
    suffix for one in FORMATS.values() if one.holds & {"trees", "text"} for suffix in one.suffixes if suffix != ".json"
)


def _is_readable(file: Path, read: str | None) -> bool:
    hidden = file.name.startswith(".")
    return not hidden and (read is not None or bare_name(file).endswith(_SUFFIXES))


def _formatter(name: str | None, output: str) -> Callable[[Sequence[str], Sequence[str]], Rows]:
    """Return what makes rows from the variables of a pattern and the files that are searched."""
    suffixes = {".tsv": "tsv", ".jsonl": "json", ".json": "json"}
    chosen = name or suffixes.get(Path(output).suffix, "table")
    known: dict[str, Callable[[Sequence[str], Sequence[str]], Rows]] = {
        "table": _Table,
        "tsv": lambda variables, _: _Tsv(variables),
        "json": lambda *_: _as_json,
    }
    if chosen not in known:
        raise unknown_name("format of matches", chosen, known)
    return known[chosen]


def _as_json(hits: Sequence[Hit]) -> Iterator[str]:
    for hit in hits:
        yield json.dumps(hit.to_dict(), ensure_ascii=False) + "\n"


class _Tsv:
    """Tab-separated values with a header."""

    def __init__(self, variables: Sequence[str]) -> None:
        self.variables = variables
        self.header = ("file", "sentence", "start", "end", *variables, "text")
        self.is_begun = False

    def __call__(self, hits: Sequence[Hit]) -> Iterator[str]:
        if not self.is_begun:
            yield "\t".join(self.header) + "\n"
            self.is_begun = True
        for hit in hits:
            values = (hit.text(name) for name in self.variables)
            cells = (hit.source, hit.number, *hit.span, *values, hit.sentence.text)
            yield "\t".join(" ".join(str(cell).split()) for cell in cells) + "\n"


class _Table:
    """Aligned columns, as wide as the first matches need and at least `NARROWEST`."""

    def __init__(self, variables: Sequence[str], sources: Sequence[str]) -> None:
        self.variables = variables
        self.widths = [max(len(display_name(source)) for source in sources) + len(":1000-1000")]

    def __call__(self, hits: Sequence[Hit]) -> Iterator[str]:
        rows = [self._cells(hit) for hit in hits]
        if rows and self.variables and len(self.widths) == 1:
            self.widths += [max(NARROWEST, *map(len, column)) for column in list(zip(*rows, strict=True))[1:-1]]
            rows = [("where", *self.variables, "text"), (*("-" * width for width in self.widths), "----"), *rows]
        for *cells, text in rows:
            aligned = [cell.ljust(width) for cell, width in zip(cells, self.widths, strict=True)]
            yield "  ".join([*aligned, text]) + "\n"

    def _cells(self, hit: Hit) -> tuple[str, ...]:
        start, end = hit.span
        values = (" ".join(hit.text(name).split()) for name in self.variables)
        cut = (value if len(value) <= WIDEST else value[: WIDEST - 1] + "…" for value in values)
        return f"{hit.source}:{start}-{end}", *cut, " ".join(hit.sentence.text.split())
