"""``treetune tag``: sentences in, the same sentences with tags or entities out, a thousand at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from treetune.cli.chunks import Writing
from treetune.corpus.conllu import format_conllu
from treetune.corpus.conllx import format_conllx
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, check_kept
from treetune.corpus.iob import format_iob, read_iob
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.spans import iob_tags, spans_of
from treetune.corpus.tags import Tags, with_tags
from treetune.corpus.treebank import IOB, READERS, format_of, is_iob, read_trees
from treetune.errors import ConfigError, unknown_name
from treetune.models.pipeline import Pipeline
from treetune.storage import load

if TYPE_CHECKING:
    from treetune.models.sequence.tagger import Tagger

FORMATS = (*READERS, IOB)
CONFIDENCE = "confidence"


def tag(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A tagger, NER model or pipeline made by 'treetune train', or en.")
    ],
    source: Annotated[
        str, typer.Argument(metavar="IN", help="Sentences, CoNLL-U, CoNLL-X or IOB by suffix; - is stdin.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")
    ] = STANDARD_STREAM,
    tagger: Annotated[
        str | None, typer.Option(metavar="MODEL", help="A tagger that tags the words before MODEL looks at them.")
    ] = None,
    k_best: Annotated[
        int | None, typer.Option("--k-best", min=1, help="Write the K best taggings of each sentence.")
    ] = None,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Write into MISC how probable the tag of each word is.")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads to tag with; the result is the same.")] = 1,
    file_format: Annotated[
        str | None, typer.Option("--format", help="conllu, conllx or iob2 of IN and OUT; without it suffixes decide.")
    ] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences and report them, instead of stopping.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Tag words, or find entities; trees and other columns of the input stay as they are."""
    if file_format is not None and file_format not in FORMATS:
        raise unknown_name("file format", file_format, FORMATS)
    check_kept(output, (source, model, tagger))
    reads = file_format or _format(source)
    writes = file_format or (reads if output == STANDARD_STREAM else _format(output))
    job = _Job(_load(model), None if tagger is None else _load(tagger), writes, k_best, confidence, threads)
    job.check()
    report = SkipReport()
    writing = Writing(output, "tagging", quiet, counted=source)
    writing.write(_read(source, reads, lenient=lenient, report=report), job.tag)
    writing.report(report, "tagged")


def _format(path: str) -> str:
    return IOB if is_iob(path) else format_of(path)


def _load(path: str) -> Tagger:
    from treetune.models.sequence.tagger import Tagger

    found = load(path)
    # A pipeline of raw text has a tagger too, and `treetune tag` leaves its other parts alone.
    tagger = found.taggers[0] if isinstance(found, Pipeline) and len(found.taggers) == 1 else found
    if not isinstance(tagger, Tagger):
        raise ConfigError(f"{path} is a {found.kind} model, expected a tagger; use 'treetune parse' for parsers")
    return tagger


def _read(source: str, file_format: str, *, lenient: bool, report: SkipReport) -> Iterator[Example]:
    """Yield sentences with the trees they have, whole or partial."""
    if file_format == IOB:
        for tagged in read_iob(source, strict=not lenient, tags=False, report=report):
            yield Example(tagged.sentence, Tree.unknown(len(tagged.sentence)))
        return
    yield from read_trees(source, file_format=file_format, strict=not lenient, partial=True, report=report)


@dataclass(slots=True)
class _Job:
    """How to tag."""

    tagger: Tagger
    first: Tagger | None
    writes: str
    k_best: int | None
    confidence: bool
    threads: int

    def check(self) -> None:
        """Refuse what cannot be written."""
        columns = ", ".join(self.tagger.columns)
        if self.writes == IOB and not self.tagger.config.spans:
            raise ConfigError(f"IOB files hold entities, and the model gives {columns}; write CoNLL-U instead")
        if self.writes == "conllx" and self.tagger.config.spans:
            raise ConfigError(f"CoNLL-X has no column for {columns}; write CoNLL-U or IOB instead")
        for wanted, flag in ((self.k_best is not None, "--k-best"), (self.confidence, "--confidence")):
            if wanted and self.writes != "conllu":
                raise ConfigError(f"{flag} needs comments or MISC, which only CoNLL-U has; write CoNLL-U instead")
        if self.first is not None and not set(self.first.columns) & set(self.tagger.config.inputs):
            raise ConfigError(
                f"--tagger gives {', '.join(self.first.columns)}, at which the model does not look; leave it out"
            )

    def tag(self, chunk: Sequence[Example]) -> Iterator[str]:
        """Yield the text of each sentence, as often as it has taggings to write."""
        sentences = [example.sentence for example in chunk]
        if self.first is not None:
            sentences = self.first.annotate(sentences, threads=self.threads)
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
                comments = (*sentence.comments, f"# kbest_rank = {rank}", f"# score = {candidate.score!r}")
                yield self._text(example, replace(sentence, comments=comments), candidate.output)

    def _text(self, example: Example, sentence: Sentence, tags: Tags) -> str:
        if self.tagger.config.spans:
            tags = Tags(iob_tags(spans_of(tags.values), len(sentence)))
        if self.writes == IOB:
            return format_iob(sentence, tags)
        tagged = with_tags(sentence, tags, self.tagger.columns)
        form = format_conllu if self.writes == "conllu" else format_conllx
        return form(tagged, example.gold, example.enhanced)


def _confident(sentence: Sentence, shares: Sequence[float]) -> Sentence:
    """Return a copy that has in MISC how sure the tagger is of each word."""
    values = Tags.of(f"{share:.4f}" for share in shares[1:])
    return with_tags(sentence, values, (CONFIDENCE,))
