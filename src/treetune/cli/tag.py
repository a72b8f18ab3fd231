"""``treetune tag``: sentences in, the same sentences with tags or entities out, a thousand at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treetune.cli.compiling import compile_for
from treetune.cli.input import (
    Entities,
    FormatHelp,
    ReadHelp,
    as_pipeline,
    input_format,
    load_pipeline,
    with_entities,
)
from treetune.cli.output import Writing, output_format
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept
from treetune.corpus.formats import FORMATS, Format
from treetune.corpus.sentence import Example, Sentence
from treetune.corpus.spans import ENTITY_KEY, iob_tags, spans_of
from treetune.corpus.tags import Tags, with_tags
from treetune.corpus.word import CONFIDENCE_KEY
from treetune.errors import ConfigError
from treetune.models.file_input import Input
from treetune.models.file_parsing import ranked
from treetune.models.pipeline import Pipeline
from treetune.storage import load

if TYPE_CHECKING:
    from treetune.models.pipeline_parts import TaggerPart
    from treetune.models.sequence.tagger import Tagger


def tag(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A tagger, NER model or pipeline made by 'treetune train', or en.")
    ],
    source: Annotated[
        str,
        typer.Argument(metavar="IN", help="Raw text, or sentences in CoNLL-U, CoNLL-X, JSON lines or IOB; - is stdin."),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")
    ] = STANDARD_STREAM,
    tagger: Annotated[
        str | None, typer.Option(metavar="MODEL", help="A tagger that tags the words before MODEL looks at them.")
    ] = None,
    entities: Entities = None,
    k_best: Annotated[
        int | None, typer.Option("--k-best", min=1, help="Write the K best taggings of each sentence.")
    ] = None,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Write into MISC how probable the tag of each word is.")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads to tag with; the result is the same.")] = 1,
    read: Annotated[str | None, typer.Option("--read", metavar="NAME", help=ReadHelp)] = None,
    file_format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help=f"Of OUT: conllu, conllx, iob2, …; {FormatHelp}"),
    ] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences and report them, instead of stopping.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Tag words, or find entities; trees and other columns of the input stay as they are.

    Raw text is for pipelines with a tokenizer: treetune tag en text.txt
    """
    check_kept(output, (source, model, tagger, entities))
    found = load(model)
    if entities is not None:
        found = with_entities(as_pipeline(found, model), entities)
    pipeline = as_pipeline(found, model)
    reads = input_format(source, read, pipeline)
    if "text" in reads.holds and pipeline.tokenizer is None:
        raise ConfigError(
            f"{model} has no tokenizer, and the input is {reads.title}; name a pipeline, and a NER model by --entities"
        )
    writes = output_format(file_format, output, reads if reads.holds & {"tags", "entities"} else FORMATS["conllu"])
    job = _job(found, model, tagger, writes, k_best, confidence, threads)
    job.check()
    compile_for(job.parts, model, text="text" in reads.holds, quiet=quiet)
    report = SkipReport()
    writing = Writing(output, "tagging", quiet, source=source, reads=reads)
    taken = Input(source, reads, lenient=lenient, trees="trees" in reads.holds, partial=True)
    writing.write(taken.examples(pipeline, report), job.tag)
    writing.report(report, "tagged")


def _job(
    found: Any, model: str, tagger: str | None, writes: Format, k_best: int | None, confidence: bool, threads: int
) -> _Job | _PipelineJob:
    """Return how to tag with a model: with the tagger that it is or has, or with all taggers and the lemmatizer."""
    if isinstance(found, Pipeline) and (len(found.taggers) > 1 or (found.taggers and found.lemmatizer is not None)):
        given = {"--k-best": k_best is not None, "--confidence": confidence, "--tagger": tagger is not None}
        for flag in (flag for flag, is_given in given.items() if is_given):
            parts = ", ".join(name for name in found.parts if name.startswith(("tagger", "lemmatizer")))
            raise ConfigError(f"{flag} is for models of one tagger, and {model} has {parts}; leave it out")
        return _PipelineJob(found, writes, threads)
    first = () if tagger is None else _word_taggers(tagger)
    return _Job(_tagger(found, model), first, writes, k_best, confidence, threads)


def _word_taggers(path: str) -> Sequence[TaggerPart]:
    if not (found := load_pipeline(path).word_taggers):
        raise ConfigError(f"--tagger: {path} has no tagger of words; name a tagger or a pipeline with one")
    return found


def _tagger(found: Any, path: str) -> Tagger:
    from treetune.models.sequence.tagger import Tagger

    # A pipeline of raw text has a tagger too, and `treetune tag` leaves its other parts alone.
    tagger = found.taggers[0] if isinstance(found, Pipeline) and len(found.taggers) == 1 else found
    if not isinstance(tagger, Tagger):
        raise ConfigError(f"{path} is a {found.kind} model, expected a tagger; use 'treetune parse' for parsers")
    return tagger


@dataclass(slots=True)
class _PipelineJob:
    """How to tag with all taggers of a pipeline and its lemmatizer."""

    pipeline: Pipeline
    writes: Format
    threads: int

    @property
    def parts(self) -> Pipeline:
        """What takes part in it."""
        return Pipeline(self.pipeline.tokenizer, self.pipeline.taggers, lemmatizer=self.pipeline.lemmatizer)

    def check(self) -> None:
        """Refuse what cannot be written."""
        if "tags" not in self.writes.holds and ("entities" not in self.writes.holds or not self.pipeline.entity_tagger):
            raise ConfigError(f"{self.writes.title} files hold entities, and the model predicts tags; write CoNLL-U")

    def tag(self, chunk: Sequence[Example]) -> Iterator[str]:
        """Yield the text of each sentence."""
        sentences = self.pipeline.tag([example.sentence for example in chunk], threads=self.threads)
        for example, sentence in zip(chunk, sentences, strict=True):
            yield self.writes.form(sentence, example.gold, example.enhanced)


@dataclass(slots=True)
class _Job:
    """How to tag with one tagger."""

    tagger: Tagger
    first: Sequence[TaggerPart]
    writes: Format
    k_best: int | None
    confidence: bool
    threads: int

    @property
    def parts(self) -> Pipeline:
        """What takes part in it."""
        return Pipeline(taggers=[*self.first, self.tagger])

    def check(self) -> None:
        """Refuse what cannot be written."""
        columns, title = ", ".join(self.tagger.columns), self.writes.title
        if "tags" not in self.writes.holds and not self.tagger.config.spans:
            raise ConfigError(f"{title} files hold entities, and the model predicts {columns}; write CoNLL-U instead")
        if "entities" not in self.writes.holds and self.tagger.config.spans:
            raise ConfigError(f"{title} has no column for {columns}; write CoNLL-U or IOB instead")
        for wanted, flag in ((self.k_best is not None, "--k-best"), (self.confidence, "--confidence")):
            if wanted and "comments" not in self.writes.holds:
                raise ConfigError(f"{flag} needs comments or MISC, and {title} has none; write CoNLL-U instead")
        given = [name for tagger in self.first for name in tagger.columns]
        if given and not set(given) & set(self.tagger.config.inputs):
            raise ConfigError(f"--tagger predicts {', '.join(given)}, which the model does not use; leave it out")

    def tag(self, chunk: Sequence[Example]) -> Iterator[str]:
        """Yield the text of each sentence, as often as it has taggings to write."""
        sentences: Sequence[Sentence] = [example.sentence for example in chunk]
        for tagger in self.first:
            sentences = tagger.annotate(sentences, threads=self.threads)
        if self.k_best is None:
            outputs = self.tagger.predict_batch(sentences, threads=self.threads)
            if self.confidence:
                shares = self.tagger.confidences(sentences, outputs, threads=self.threads)
                sentences = [_confident(sentence, list(row)) for sentence, row in zip(sentences, shares, strict=True)]
            for example, sentence, tags in zip(chunk, sentences, outputs, strict=True):
                yield self._text(example, sentence, tags)
            return
        lists = self.tagger.k_best_batch(sentences, self.k_best, threads=self.threads)
        for example, sentence, candidates in zip(chunk, sentences, lists, strict=True):
            for rank, candidate in enumerate(candidates, start=1):
                yield self._text(example, ranked(sentence, rank, candidate.score), candidate.output)

    def _text(self, example: Example, sentence: Sentence, tags: Tags) -> str:
        if self.tagger.config.spans:
            tags = Tags(iob_tags(spans_of(tags.values), len(sentence)))
        # A format without columns of tags has room for entities alone, whatever the tagger calls them.
        columns = self.tagger.columns if "tags" in self.writes.holds else (ENTITY_KEY,)
        return self.writes.form(with_tags(sentence, tags, columns), example.gold, example.enhanced)


def _confident(sentence: Sentence, shares: Sequence[float]) -> Sentence:
    """Return a copy that has in MISC the probability of the tag of each word."""
    values = Tags.of(f"{share:.4f}" for share in shares[1:])
    return with_tags(sentence, values, (CONFIDENCE_KEY,))
