"""``treetune parse``: sentences in, the same sentences with trees out, a thousand at a time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated

import typer

from treetune.cli.console import Advance, Interrupted, note, progress_bar
from treetune.cli.options import given
from treetune.corpus.blocks import blocks
from treetune.corpus.conllu import format_conllu
from treetune.corpus.conllx import format_conllx
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, display_name, open_output
from treetune.corpus.guides import attach_guides
from treetune.corpus.sentence import Example, Sentence, name_sentence
from treetune.corpus.treebank import READERS, format_of, read_trees
from treetune.errors import ConfigError, DataError, unknown_name
from treetune.experiment.guides import check_strict
from treetune.experiment.recipe import check_kind
from treetune.experiment.source import FLAGS
from treetune.models.base import Parser
from treetune.storage import load_parser

# Large enough to keep threads busy, small enough that memory does not grow with the file.
CHUNK = 1000

FORMATTERS = {"conllu": format_conllu, "conllx": format_conllx}


def parse(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model made by 'treetune train'.")],
    source: Annotated[str, typer.Argument(metavar="IN", help="Sentences, CoNLL-U or CoNLL-X; - is stdin.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")
    ] = STANDARD_STREAM,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Another beam than that of the model, a transition parser.")
    ] = None,
    decoder: Annotated[str | None, typer.Option(help="Another decoder than that of the model, a graph parser.")] = None,
    max_memory: Annotated[
        float | None, typer.Option(metavar="GB", help="Memory a graph parser may take for one sentence, 2.")
    ] = None,
    guide: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Another parser's trees of IN, for a model trained with a --guide file."),
    ] = None,
    k_best: Annotated[
        int | None, typer.Option("--k-best", min=1, help="Write the K best trees of each sentence.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    constrained: Annotated[
        bool, typer.Option("--constrained", help="Keep the heads and labels that IN has; _ is unknown.")
    ] = False,
    file_format: Annotated[
        str | None, typer.Option("--format", help="conllu or conllx; without it the suffix decides.")
    ] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences and report them, instead of stopping.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Parse sentences; HEAD and DEPREL of the input are ignored unless --constrained."""
    writes = _output_format(file_format, source, output, k_best=k_best)
    if guide is not None:
        check_strict(lenient=lenient, source=FLAGS)
        if guide == source == STANDARD_STREAM:
            raise ConfigError("only one of IN and --guide can be read from stdin")
    parser = load_parser(model)
    if guide is not None and not parser.is_guided:
        raise ConfigError(f"{model} was trained without a guide and would not look at --guide; leave it out")
    search = given({"beam": beam, "decoder": decoder, "max_memory": max_memory})
    check_kind([("model", search)], parser.kind, name=parser.kind, source=FLAGS)
    parser = parser.with_options(**search)
    report = SkipReport()
    examples = read_trees(
        source,
        file_format=file_format,
        strict=not lenient,
        partial=constrained,
        trees=constrained,
        report=report,
    )
    if guide is not None:
        examples = attach_guides(examples, guide)
    job = _Job(parser, source, k_best=k_best, threads=threads, constrained=constrained)
    # A pipe into another program stays silent unless someone is watching.
    silent = quiet or (output == STANDARD_STREAM and not sys.stderr.isatty())
    started = time.perf_counter()
    _write_all(job, examples, output, file_format=writes, quiet=silent)
    if report.skipped:
        note(report.summary(), quiet=quiet)
    note(job.summary(time.perf_counter() - started), quiet=silent)


@dataclass(slots=True)
class _Job:
    """How to parse, and how far it came."""

    parser: Parser
    source: str
    k_best: int | None
    threads: int
    constrained: bool
    sentences: int = 0
    words: int = 0

    def parse(self, chunk: Sequence[Example]) -> Iterator[Example]:
        """Return the parsed sentences of a chunk, each as often as it has candidates to write."""
        try:
            return self._parse(chunk)
        except DataError as error:
            raise self._placed(chunk, error) from error

    def _parse(self, chunk: Sequence[Example]) -> Iterator[Example]:
        sentences = [example.sentence for example in chunk]
        constraints = [example.gold for example in chunk] if self.constrained else None
        if self.k_best is None:
            trees = self.parser.predict_batch(sentences, threads=self.threads, constraints=constraints)
            return map(Example, sentences, trees)
        lists = self.parser.k_best_batch(sentences, self.k_best, threads=self.threads, constraints=constraints)
        return (
            Example(_ranked(sentence, rank, candidate.score), candidate.output)
            for sentence, candidates in zip(sentences, lists, strict=True)
            for rank, candidate in enumerate(candidates, start=1)
        )

    def _placed(self, chunk: Sequence[Example], error: DataError) -> DataError:
        """Return the error with the sentence it is about, found by parsing the chunk one by one."""
        for number, example in enumerate(chunk, start=self.sentences + 1):
            try:
                # Alone and without comments, so that the parser has no other name for it.
                self._parse([replace(example, sentence=replace(example.sentence, comments=()))])
            except DataError as found:
                problem = found.problem.removeprefix("sentence 1: ")
                place = name_sentence(number, example.sentence)
                return DataError(f"{place}: {problem}", path=display_name(self.source))
        return error

    def summary(self, seconds: float) -> str:
        rate = self.words / seconds if seconds else 0
        return f"parsed {self.sentences:,} sentences, {self.words:,} words, {rate:,.0f} words/s"


def _ranked(sentence: Sentence, rank: int, score: float) -> Sentence:
    return replace(sentence, comments=(*sentence.comments, f"# kbest_rank = {rank}", f"# score = {score!r}"))


def _output_format(file_format: str | None, source: str, output: str, *, k_best: int | None) -> str:
    if file_format is not None and file_format not in READERS:
        raise unknown_name("file format", file_format, READERS)
    name = file_format or format_of(source if output == STANDARD_STREAM else output)
    if k_best is not None and name == "conllx":
        raise ConfigError("--k-best writes ranks as comments, and CoNLL-X has none; write CoNLL-U instead")
    return name


def _write_all(job: _Job, examples: Iterator[Example], output: str, *, file_format: str, quiet: bool) -> None:
    form = FORMATTERS[file_format]
    with open_output(output) as out, _bar(job.source, quiet=quiet) as advance:
        try:
            while chunk := list(islice(examples, CHUNK)):
                for parsed in job.parse(chunk):
                    out.write(form(parsed.sentence, parsed.gold))
                words = sum(len(example.sentence) for example in chunk)
                job.sentences += len(chunk)
                job.words += words
                advance(len(chunk), words)
        except DataError as error:
            problem = f"{error.problem}; {_how_far(job, output)}"
            raise DataError(problem, path=error.path, line=error.line, column=error.column) from error
        except KeyboardInterrupt:
            raise Interrupted(_how_far(job, output)) from None


def _how_far(job: _Job, output: str) -> str:
    if output == STANDARD_STREAM:
        return f"{job.sentences:,} sentences were written before"
    return f"{output} was not written"


def _bar(source: str, *, quiet: bool) -> AbstractContextManager[Advance]:
    total = None
    if source != STANDARD_STREAM and not quiet and sys.stderr.isatty():
        total = sum(1 for _ in blocks(source))
    return progress_bar("parsing", total=total, quiet=quiet)
