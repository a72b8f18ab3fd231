"""``treetune parse``: text or sentences in, sentences with trees out, a thousand at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from treetune.cli.compiling import compile_for
from treetune.cli.console import note
from treetune.cli.input import (
    DEFAULT_MODEL,
    Entities,
    FormatHelp,
    Input,
    ReadHelp,
    check_only,
    input_format,
    is_model,
    load_pipeline,
    with_entities,
)
from treetune.cli.output import TextChunk, Writing, output_format, ranked
from treetune.corpus.base_trees import attach_base_trees
from treetune.corpus.conllu import format_table
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept, display_name
from treetune.corpus.formats import FORMATS, Format, find_format, format_of, names
from treetune.corpus.sentence import Example, Tree, name_sentence
from treetune.corpus.sentence_table import SentenceTable
from treetune.errors import ConfigError, DataError
from treetune.models.pipeline import KeepTags, Pipeline

if TYPE_CHECKING:
    from treetune.models.confidence import Calibration

# Sentences of a table: as many as stay in the processor's cache. Several threads take smaller ones, so that none waits
# long for the last.
TABLE, SMALLEST_TABLE = 256, 32
# Tables that a thread may be ahead of what is written.
AHEAD = 3


def parse(
    first: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]", help="A model made by 'treetune train', or the name of one ('treetune models'), en."
        ),
    ] = None,
    second: Annotated[
        str | None,
        typer.Argument(metavar="IN", help="Raw text, or sentences in CoNLL-U, CoNLL-X or JSON lines; - is stdin."),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="FILE", help="Raw text to parse, in place of IN.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")
    ] = STANDARD_STREAM,
    read: Annotated[str | None, typer.Option("--read", metavar="NAME", help=ReadHelp)] = None,
    file_format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help=f"Of OUT: conllu, conllx, json, tree, …; {FormatHelp}"),
    ] = None,
    keep_tags: Annotated[
        bool, typer.Option("--keep-tags", help="Keep the tags that IN has; a tagger fills in the others.")
    ] = False,
    retag: Annotated[
        bool, typer.Option("--retag", help="Keep the tags of IN that the tagger knows; it replaces all others.")
    ] = False,
    tagger: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Tag IN by this tagger or pipeline, not by that of MODEL."),
    ] = None,
    entities: Entities = None,
    ranges: Annotated[
        bool, typer.Option("--ranges", help="Note the character offsets of each token, TokenRange in MISC.")
    ] = False,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Another beam than that of the model, a transition parser.")
    ] = None,
    decoder: Annotated[str | None, typer.Option(help="Another decoder than that of the model, a graph parser.")] = None,
    margin: Annotated[
        float | None, typer.Option(min=0, help="Drop states this far behind the best of the beam; 1 suits MIRA.")
    ] = None,
    max_memory: Annotated[
        float | None, typer.Option(metavar="GB", help="Memory a graph parser may take for one sentence, 2.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Another parser's trees of IN, for a model trained with a --base file."),
    ] = None,
    k_best: Annotated[
        int | None, typer.Option("--k-best", min=1, help="Write the K best trees of each sentence.")
    ] = None,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Write into MISC how probable each arc is ('treetune calibrate').")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    constrained: Annotated[
        bool,
        typer.Option("--constrained", help="Forced decoding: keep the heads and labels that IN has; _ is unknown."),
    ] = False,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences and report them, instead of stopping.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Parse text or sentences; HEAD and DEPREL of the input are ignored unless --constrained.

    Without MODEL the English model of the package is taken: echo "Time flies." | treetune parse -
    """
    model, source = _model_and_source(first, second, text)
    check_kept(output, (source, model, base, tagger, entities))
    if file_format is not None:
        find_format(file_format, names("formatter"))
    if base is not None:
        if lenient:
            raise ConfigError(
                "--lenient skips sentences, and the base trees of --base would no longer fit; leave one out"
            )
        if base == source == STANDARD_STREAM:
            raise ConfigError("only one of IN and --base can be read from stdin")
    if text is not None and read not in (None, "text", "lines", "wrapped"):
        raise ConfigError(f"--text and --read {read} contradict each other; leave one of them out")
    pipeline = _with_tagger(load_pipeline(model), model, tagger, retag=retag, keep_tags=keep_tags)
    pipeline = with_entities(pipeline, entities)
    reads = input_format(source, "text" if text is not None and read is None else read, pipeline)
    check_only({"--lenient": lenient}, bool(reads.holds - {"text", "tokens"}), "treebanks", reads)
    check_only({"--constrained": constrained, "--base": base is not None}, "trees" in reads.holds, "treebanks", reads)
    check_only({"--ranges": ranges}, "text" in reads.holds, "raw text", reads)
    writes = output_format(file_format, output, _default_format(source, output))
    if k_best is not None and not writes.k_best_formatter and "comments" not in writes.holds:
        raise ConfigError(f"--k-best writes ranks as comments, and {writes.title} has none; write CoNLL-U instead")
    if confidence and "comments" not in writes.holds:
        raise ConfigError(f"--confidence needs MISC, and {writes.title} has none; write CoNLL-U instead")
    if confidence and k_best is not None:
        raise ConfigError("--confidence is about the best tree, --k-best writes others too; leave one of them out")
    for_parser = {"--k-best": k_best is not None, "--constrained": constrained, "--confidence": confidence}
    _check_parts(pipeline, model, for_parser=for_parser, keep_tags=keep_tags, base=base)
    if pipeline.parser is None:
        note(f"{model} has no parser; what is written has no trees", quiet=quiet)
    compile_for(pipeline, model, text="text" in reads.holds, quiet=quiet)
    search = {"beam": beam, "margin": margin, "decoder": decoder, "max_memory": max_memory}
    pipeline = pipeline.with_options(**{name: value for name, value in search.items() if value is not None})
    report = SkipReport()
    kept: KeepTags = "known" if retag else keep_tags
    job = _Job(pipeline, source, writes, k_best=k_best, threads=threads, constrained=constrained, keep_tags=kept)
    if confidence:
        from treetune.models.confidence import calibration_of

        job.calibration = calibration_of(pipeline.parser)
    writing = Writing(output, "parsing", quiet, source=source, reads=reads)
    taken = Input(source, reads, lenient=lenient, trees=constrained, partial=constrained)
    if job.is_plain and (taken.is_text or reads is writes) and base is None:
        size = max(TABLE // threads, SMALLEST_TABLE)
        writing.write_chunks(job.parse_tables(taken.tables(pipeline, report, size=size, ranges=ranges)))
    else:
        examples = taken.examples(pipeline, report, ranges=ranges)
        if base is not None:
            examples = attach_base_trees(examples, base)
        writing.write(examples, lambda chunk: job.texts(chunk, done=writing.sentences))
    writing.report(report, "parsed")


def _model_and_source(first: str | None, second: str | None, text: str | None) -> tuple[str, str]:
    """Tell model and input from one another: a name alone is an input, unless --text has one."""
    if text is not None:
        if second is not None:
            raise ConfigError("IN and --text FILE both name what to parse; leave one of them out")
        return first or DEFAULT_MODEL, text
    if first is None:
        raise ConfigError("Missing argument 'IN': a file to parse, or - for stdin (see 'treetune parse --help')")
    if second is not None:
        return first, second
    if is_model(first):
        raise ConfigError(
            f"{first} is a model, and there is nothing to parse; add a file or -: treetune parse {first} IN"
        )
    return DEFAULT_MODEL, first


def _with_tagger(pipeline: Pipeline, model: str, tagger: str | None, *, retag: bool, keep_tags: bool) -> Pipeline:
    """Return the pipeline with the tagger that is to replace the tags of the input."""
    if keep_tags and retag:
        raise ConfigError("--keep-tags keeps all tags of IN, --retag those that are known; leave one of them out")
    if tagger is not None:
        taggers = load_pipeline(tagger).word_taggers
        if not taggers:
            raise ConfigError(f"--tagger: {tagger} has no tagger; name a tagger or a pipeline with one")
        return pipeline.with_taggers(taggers)
    if retag and not pipeline.taggers:
        raise ConfigError(f"{model} has no tagger to replace the tags of IN; name one: --tagger MODEL")
    return pipeline


def _default_format(source: str, output: str) -> Format:
    """Return what is written where nothing says otherwise: on stdout the format of the input."""
    found = format_of(source) if output == STANDARD_STREAM else None
    return FORMATS["conllu"] if found is None or "trees" not in found.holds else found


def _check_parts(
    pipeline: Pipeline, model: str, *, for_parser: dict[str, bool], keep_tags: bool, base: str | None
) -> None:
    """Refuse options for a part that the model has not."""
    if pipeline.parser is None:
        for flag, is_given in for_parser.items():
            if is_given:
                raise ConfigError(f"{model} has no parser, and no use for {flag}; leave it out")
    if keep_tags and not pipeline.taggers:
        raise ConfigError(f"{model} has no tagger and keeps the tags of IN anyway; leave --keep-tags out")
    if base is not None and (pipeline.parser is None or not pipeline.parser.is_stacked):
        raise ConfigError(f"{model} was trained without base trees and would not look at --base; leave it out")


@dataclass(slots=True)
class _Reading:
    """Reads tables up to a fault, which `check` raises when what precedes it is written."""

    tables: Iterator[SentenceTable]
    fault: DataError | None = None

    def __iter__(self) -> Iterator[SentenceTable]:
        try:
            yield from self.tables
        except DataError as error:
            self.fault = error

    def check(self) -> None:
        if self.fault is not None:
            raise self.fault


@dataclass(slots=True)
class _Job:
    """How to parse, and what to write of it."""

    pipeline: Pipeline
    source: str
    writes: Format
    k_best: int | None
    threads: int
    constrained: bool
    keep_tags: KeepTags
    calibration: Calibration | None = None

    @property
    def is_plain(self) -> bool:
        """Whether CoNLL-U is written, with one tree for each sentence, and nothing of a tree or tag is kept."""
        is_usual = self.k_best is None and not (self.constrained or self.keep_tags)
        return self.writes.name == "conllu" and is_usual and self.calibration is None

    def parse_tables(self, tables: Iterator[SentenceTable]) -> Iterator[TextChunk]:
        """Yield the text of each table, the number of its sentences and words, and where its last sentence starts.

        With several threads, each takes the next table from its tags to its text, and this one reads ahead: while one
        is at Python, the others search.
        """
        done = 0
        if self.threads == 1:
            for table in tables:
                yield self._chunk(table, done)
                done += len(table)
            return
        pending: deque[Future[TextChunk]] = deque()
        reading = _Reading(tables)
        pool = ThreadPoolExecutor(self.threads)
        try:
            for table in reading:
                pending.append(pool.submit(self._chunk, table, done))
                done += len(table)
                while pending and (pending[0].done() or len(pending) > AHEAD * self.threads):
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
        reading.check()

    def _chunk(self, table: SentenceTable, done: int) -> TextChunk:
        """Return the text of a table; `done` sentences went before, errors name them by number."""
        parser = self.pipeline.parser
        try:
            tagged = self.pipeline.tag(table)
            trees = [Tree.unknown(size) for size in table.sizes] if parser is None else parser.predict_batch(tagged)
        except DataError as error:
            examples = [Example(sentence, Tree.unknown(len(sentence))) for sentence in table]
            raise self._placed(examples, error, done) from error
        characters = table.starts[-1] if table.starts else 0
        return (format_table(tagged, trees),), len(table), table.ends[-1], characters

    def texts(self, chunk: Sequence[Example], *, done: int) -> Iterator[str]:
        """Yield the text of each sentence of a chunk; `done` sentences went before, errors name them by number."""
        try:
            return self._parse(chunk)
        except DataError as error:
            raise self._placed(chunk, error, done) from error

    def _parse(self, chunk: Sequence[Example]) -> Iterator[str]:
        given = [example.sentence for example in chunk]
        sentences = self.pipeline.tag(given, threads=self.threads, keep_tags=self.keep_tags)
        parser, form = self.pipeline.parser, self.writes.form
        if parser is None:
            return (form(sentence, Tree.unknown(len(sentence)), None) for sentence in sentences)
        constraints = [example.gold for example in chunk] if self.constrained else None
        if self.calibration is not None:
            lists = parser.k_best_batch(sentences, self.calibration.k, threads=self.threads, constraints=constraints)
            noted = map(self.calibration.annotate, sentences, lists)
            return (form(one, found[0].output, None) for one, found in zip(noted, lists, strict=True))
        if self.k_best is None:
            trees = parser.predict_batch(sentences, threads=self.threads, constraints=constraints)
            return (form(sentence, tree, None) for sentence, tree in zip(sentences, trees, strict=True))
        lists = parser.k_best_batch(sentences, self.k_best, threads=self.threads, constraints=constraints)
        if self.writes.k_best_formatter:
            scored = ([(candidate.output, candidate.score) for candidate in candidates] for candidates in lists)
            return map(self.writes.form_k_best, sentences, scored)
        return (
            form(ranked(sentence, rank, candidate.score), candidate.output, None)
            for sentence, candidates in zip(sentences, lists, strict=True)
            for rank, candidate in enumerate(candidates, start=1)
        )

    def _placed(self, chunk: Sequence[Example], error: DataError, done: int) -> DataError:
        """Return the error with the sentence it is about, found by parsing the chunk one by one."""
        for number, example in enumerate(chunk, start=done + 1):
            try:
                # Alone and without comments, so that the parser has no other name for it.
                self._parse([replace(example, sentence=replace(example.sentence, comments=()))])
            except DataError as found:
                problem = found.problem.removeprefix("sentence 1: ")
                place = name_sentence(number, example.sentence)
                return DataError(f"{place}: {problem}", path=display_name(self.source))
        return error
