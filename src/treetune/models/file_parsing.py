"""What to write of parsed sentences: tables or examples in, the text of their parses out, chunk by chunk."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from treetune.corpus.base_trees import attach_base_trees
from treetune.corpus.batches import TextChunk, take_batch
from treetune.corpus.conllu import format_table
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import display_name
from treetune.corpus.formats import Format
from treetune.corpus.rawtext import is_paragraph_mark
from treetune.corpus.sentence import Example, Sentence, Tree, name_sentence
from treetune.corpus.sentence_table import SentenceTable
from treetune.errors import DataError
from treetune.models.file_input import Input
from treetune.models.pipeline import KeepTags, Pipeline

if TYPE_CHECKING:
    from treetune.models.confidence import Calibration

# Sentences of a table: as many as stay in the processor's cache. Several threads take smaller ones, so that none waits
# long for the last.
TABLE, SMALLEST_TABLE = 256, 32
# Tables that a thread may be ahead of what is written.
AHEAD = 3


def ranked(sentence: Sentence, rank: int, score: float) -> Sentence:
    """Return a sentence with rank and score of one of its k best analyses as comments.

    Only the first of them begins a paragraph or a document, if the sentence does.
    """
    kept = [comment for comment in sentence.comments if rank == 1 or not is_paragraph_mark(comment)]
    return replace(sentence, comments=(*kept, f"# kbest_rank = {rank}", f"# score = {score!r}"))


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
class FileParsing:
    """How to parse, and what to write of it; `source` is what errors call the input.

    With `skipped`, sentences that cannot be parsed are left out, and their errors go there.
    """

    pipeline: Pipeline
    source: str
    writes: Format
    k_best: int | None = None
    threads: int = 1
    constrained: bool = False
    keep_tags: KeepTags = False
    calibration: Calibration | None = None
    skipped: list[DataError] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether CoNLL-U is written, with one tree for each sentence, and nothing of a tree or tag is kept."""
        is_usual = self.k_best is None and not (self.constrained or self.keep_tags)
        return self.writes.name == "conllu" and is_usual and self.calibration is None

    def chunks(
        self, taken: Input, report: SkipReport, *, ranges: bool = False, base: str | None = None
    ) -> Iterator[TextChunk]:
        """Yield the text of all sentences of an input, chunk by chunk; `base` is a file with trees of another parser.

        `ranges` notes offsets of tokens in MISC.
        """
        if self.is_plain and (taken.is_text or taken.format is self.writes) and base is None:
            size = max(TABLE // self.threads, SMALLEST_TABLE)
            yield from self.parse_tables(taken.tables(self.pipeline, report, size=size, ranges=ranges))
            return
        examples = taken.examples(self.pipeline, report, ranges=ranges)
        if base is not None:
            examples = attach_base_trees(examples, base)
        done = 0
        while chunk := take_batch(examples):
            words = sum(len(example.sentence) for example in chunk)
            yield self.texts(chunk, done=done), len(chunk), words, chunk[-1].sentence.start_char
            done += len(chunk)

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
            return self._without_bad(examples, error, done), len(table), table.ends[-1], 0
        characters = table.starts[-1] if table.starts else 0
        return (format_table(tagged, trees),), len(table), table.ends[-1], characters

    def texts(self, chunk: Sequence[Example], *, done: int) -> Iterable[str]:
        """Yield the text of each sentence of a chunk; `done` sentences went before, errors name them by number."""
        try:
            return self.parse(chunk)
        except DataError as error:
            return self._without_bad(chunk, error, done)

    def parse(self, chunk: Sequence[Example]) -> Iterator[str]:
        """Return the texts of examples; of their trees only those of constraints are looked at."""
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

    def _without_bad(self, chunk: Sequence[Example], error: DataError, done: int) -> list[str]:
        """Return the texts of a chunk that failed but for the bad sentences; without `skipped`, raise an error.

        It names the sentence that it is about, found by parsing the chunk one by one.
        """
        texts: list[str] = []
        for number, example in enumerate(chunk, start=done + 1):
            try:
                # Alone and without comments, so that the parser has no other name for it.
                self.parse([replace(example, sentence=replace(example.sentence, comments=()))])
            except DataError as found:
                problem = found.problem.removeprefix("sentence 1: ")
                place = name_sentence(number, example.sentence)
                placed = DataError(f"{place}: {problem}", path=display_name(self.source))
                if self.skipped is None:
                    raise placed from error
                self.skipped.append(placed)
            else:
                texts += self.parse([example]) if self.skipped is not None else ()
        if self.skipped is None:
            raise error
        return texts
