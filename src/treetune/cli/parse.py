"""``treetune parse``: text or sentences in, sentences with trees out, a thousand at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from treetune.cli.chunks import Writing
from treetune.cli.console import note
from treetune.cli.inputs import LINES, TEXT, TREES, Reading, check_default, form_of, name_files
from treetune.cli.options import given
from treetune.cli.outputs import FORMATTERS
from treetune.config.build import check_owners, declared_options
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept, display_name
from treetune.corpus.sentence import Example, Sentence, Tree, name_sentence
from treetune.corpus.treebank import READERS, format_of
from treetune.errors import ConfigError, DataError, unknown_name
from treetune.models.pipeline import Pipeline
from treetune.storage import load

_JSON_SUFFIXES = (".json", ".jsonl")


def parse(
    first: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]", help="A model made by 'treetune train', or the name of one in the package, en."
        ),
    ] = None,
    second: Annotated[
        str | None,
        typer.Argument(metavar="IN", help="Raw text, or sentences in CoNLL-U or CoNLL-X; - is stdin."),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="FILE", help="Raw text to parse, in place of IN.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")
    ] = STANDARD_STREAM,
    file_format: Annotated[
        str | None, typer.Option("--format", help="conllu, conllx, json or tree; without it the suffix of OUT decides.")
    ] = None,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="IN has a sentence a line, tokens separated by spaces.")
    ] = False,
    one_per_line: Annotated[
        bool, typer.Option("--one-per-line", help="IN is raw text with a sentence a line.")
    ] = False,
    conllu: Annotated[
        bool, typer.Option("--conllu", help="IN is CoNLL-U, whatever it is called: its tokens are kept.")
    ] = False,
    keep_tags: Annotated[
        bool, typer.Option("--keep-tags", help="Keep the tags that IN has; a tagger fills in the others.")
    ] = False,
    ranges: Annotated[
        bool, typer.Option("--ranges", help="Note the place of each token in the text, TokenRange in MISC.")
    ] = False,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Another beam than that of the model, a transition parser.")
    ] = None,
    decoder: Annotated[str | None, typer.Option(help="Another decoder than that of the model, a graph parser.")] = None,
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
    threads: Annotated[int, typer.Option(min=1, help="Threads to parse with; the result is the same.")] = 1,
    constrained: Annotated[
        bool, typer.Option("--constrained", help="Keep the heads and labels that IN has; _ is unknown.")
    ] = False,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences and report them, instead of stopping.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Parse text or sentences; HEAD and DEPREL of the input are ignored unless --constrained.

    Without MODEL the English model of the package is taken: echo "Time flies." | treetune parse -
    """
    names = name_files(first, second, text)
    source = names.source
    check_kept(output, (source, names.model, base))
    writes = _output_format(file_format, source, output, k_best=k_best)
    if base is not None:
        if lenient:
            raise ConfigError(
                "--lenient skips sentences, and the base trees of --base would no longer fit; leave one out"
            )
        if base == source == STANDARD_STREAM:
            raise ConfigError("only one of IN and --base can be read from stdin")
    check_default(names.model)
    pipeline = Pipeline.of(load(names.model))
    form = form_of(names, pipeline, tokenized=tokenized, one_per_line=one_per_line, conllu=conllu)
    reading = Reading(
        source,
        form,
        file_format=file_format if file_format in READERS else None,
        lenient=lenient,
        constrained=constrained,
        base=base,
        # Who reads JSON wants to know where the words are.
        ranges=ranges or (writes == "json" and form in (TEXT, LINES)),
    )
    reading.check()
    _check_parts(pipeline, names.model, k_best=k_best, constrained=constrained, keep_tags=keep_tags, base=base)
    if pipeline.parser is None:
        note(f"{names.model} has no parser; what is written has no trees", quiet=quiet)
    search = given(beam=beam, decoder=decoder, max_memory=max_memory)
    if pipeline.parser is not None:
        known = declared_options(pipeline.parser)
        if known is not None:
            check_owners(search, known, name=pipeline.parser.kind, key=lambda key: f"--{key.replace('_', '-')}")
    pipeline = pipeline.with_options(**search)
    report = SkipReport()
    examples = reading.examples(pipeline, report)
    job = _Job(pipeline, source, k_best=k_best, threads=threads, constrained=constrained, keep_tags=keep_tags)
    writing = Writing(output, "parsing", quiet, counted=source if form == TREES else STANDARD_STREAM)
    text_of = FORMATTERS[writes]
    writing.write(
        examples,
        lambda chunk: (text_of(one.sentence, one.gold) for one in job.parse(chunk, done=writing.sentences)),
    )
    writing.report(report, "parsed")


def _check_parts(
    pipeline: Pipeline, model: str, *, k_best: int | None, constrained: bool, keep_tags: bool, base: str | None
) -> None:
    """Refuse options for a part that the model has not."""
    if pipeline.parser is None:
        for flag, is_given in (("--k-best", k_best is not None), ("--constrained", constrained)):
            if is_given:
                raise ConfigError(f"{model} has no parser, and no use for {flag}; leave it out")
    if keep_tags and not pipeline.taggers:
        raise ConfigError(f"{model} has no tagger and keeps the tags of IN anyway; leave --keep-tags out")
    if base is not None and (pipeline.parser is None or not pipeline.parser.is_stacked):
        raise ConfigError(f"{model} was trained without base trees and would not look at --base; leave it out")


@dataclass(slots=True)
class _Job:
    """How to parse."""

    pipeline: Pipeline
    source: str
    k_best: int | None
    threads: int
    constrained: bool
    keep_tags: bool

    def parse(self, chunk: Sequence[Example], *, done: int) -> Iterator[Example]:
        """Return the parsed sentences of a chunk, each as often as it has candidates to write.

        `done` sentences went before: errors name the sentence by its number.
        """
        try:
            return self._parse(chunk)
        except DataError as error:
            raise self._placed(chunk, error, done) from error

    def _parse(self, chunk: Sequence[Example]) -> Iterator[Example]:
        given_sentences = [example.sentence for example in chunk]
        sentences = self.pipeline.tag(given_sentences, threads=self.threads, keep_tags=self.keep_tags)
        parser = self.pipeline.parser
        if parser is None:
            return (Example(sentence, Tree.unknown(len(sentence))) for sentence in sentences)
        constraints = [example.gold for example in chunk] if self.constrained else None
        if self.k_best is None:
            trees = parser.predict_batch(sentences, threads=self.threads, constraints=constraints)
            return map(Example, sentences, trees)
        lists = parser.k_best_batch(sentences, self.k_best, threads=self.threads, constraints=constraints)
        return (
            Example(_ranked(sentence, rank, candidate.score), candidate.output)
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


def _ranked(sentence: Sentence, rank: int, score: float) -> Sentence:
    return replace(sentence, comments=(*sentence.comments, f"# kbest_rank = {rank}", f"# score = {score!r}"))


def _output_format(file_format: str | None, source: str, output: str, *, k_best: int | None) -> str:
    if file_format is not None and file_format not in FORMATTERS:
        raise unknown_name("file format", file_format, FORMATTERS)
    name = file_format or _format_by_suffix(source if output == STANDARD_STREAM else output)
    if k_best is not None and name == "conllx":
        raise ConfigError("--k-best writes ranks as comments, and CoNLL-X has none; write CoNLL-U instead")
    return name


def _format_by_suffix(path: str) -> str:
    plain = path.removesuffix(".gz").removesuffix(".zst")
    return "json" if plain.endswith(_JSON_SUFFIXES) else format_of(path)
