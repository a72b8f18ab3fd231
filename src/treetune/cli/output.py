"""What a command writes: sentences in, text out, a thousand at a time, and what it says of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from treetune.cli.console import Advance, Interrupted, for_terminal, note, progress_bar
from treetune.corpus.batches import TextChunk, take_batch
from treetune.corpus.blocks import blocks
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, open_output
from treetune.corpus.formats import Format, bare_name, find_format, format_of, names
from treetune.corpus.sentence import Example
from treetune.corpus.textfiles import read_text
from treetune.errors import ConfigError, DataError


def output_format(name: str | None, output: str, default: Format) -> Format:
    """Return the format to write sentences in: as named, else by the suffix of the output, else `default`."""
    if name is not None:
        return find_format(name, names("formatter"))
    found = None if output == STANDARD_STREAM else format_of(output)
    return default if found is None or not found.formatter else found


def check_picture(output: str, flag: str) -> None:
    """Refuse a name that ends as those of another format than SVG, in which pictures are written."""
    if Path(bare_name(output)).suffix.lower() not in ("", ".svg"):
        raise ConfigError(f"{flag}: pictures are SVG; expected a name that ends with .svg, found {output}")


@dataclass(slots=True)
class Writing:
    """Where to write, how loudly, and how far it came; `doing` is what the bar is called.

    `source`, a file in the format `reads`, tells how much there is to do: in sentences, of raw text in characters.
    """

    output: str
    doing: str
    quiet: bool
    source: str = STANDARD_STREAM
    reads: Format | None = None
    sentences: int = 0
    words: int = 0
    _started: float = field(default_factory=time.perf_counter)

    @property
    def is_silent(self) -> bool:
        """A pipe into another program stays silent unless someone is watching."""
        return self.quiet or (self.output == STANDARD_STREAM and not sys.stderr.isatty())

    def write(self, examples: Iterator[Example], texts: Callable[[Sequence[Example]], Iterable[str]]) -> None:
        """Write the texts of all examples, chunk by chunk; whatever stops it says how far it came."""
        self.write_chunks(self._chunks(examples, texts))

    def _chunks(
        self, examples: Iterator[Example], texts: Callable[[Sequence[Example]], Iterable[str]]
    ) -> Iterator[TextChunk]:
        while chunk := take_batch(examples):
            words = sum(len(example.sentence) for example in chunk)
            yield texts(chunk), len(chunk), words, chunk[-1].sentence.start_char

    def write_chunks(self, chunks: Iterable[TextChunk]) -> None:
        """Write the texts of chunks, one after the other."""
        try:
            self._write(chunks)
        except KeyboardInterrupt:
            raise Interrupted(self._how_far()) from None

    def _write(self, chunks: Iterable[TextChunk]) -> None:
        shown, before = for_terminal(self.output), 0
        with open_output(self.output) as out, self._bar() as advance:
            try:
                for texts, sentences, words, characters in chunks:
                    for text in texts:
                        out.write(shown(text))
                    self.sentences += sentences
                    self.words += words
                    advance(characters - before if self._is_text else sentences, words)
                    before = characters
            except DataError as error:
                problem = f"{error.problem}; {self._how_far()}"
                raise DataError(problem, path=error.path, line=error.line, column=error.column) from error

    def report(self, report: SkipReport, done: str, more: str = "", *, what: str = "sentences") -> None:
        """Say what was skipped, and how much was `done` how fast; `what` was counted."""
        if report.skipped:
            note(report.summary(), quiet=self.quiet)
        seconds = time.perf_counter() - self._started
        rate = self.words / seconds if seconds else 0
        note(
            f"{done} {self.sentences:,} {what}, {self.words:,} words, {rate:,.0f} words/s{more}",
            quiet=self.is_silent,
        )

    def _bar(self) -> AbstractContextManager[Advance]:
        is_seen = not self.is_silent and sys.stderr.isatty()
        return progress_bar(self.doing, total=self._total() if is_seen else None, quiet=self.is_silent)

    @property
    def _is_text(self) -> bool:
        return self.reads is not None and "text" in self.reads.holds

    def _total(self) -> int | None:
        """Return how much there is to read, None if that cannot be known without taking it away."""
        # What is no regular file, a pipe for one, can be read only once.
        if self.source == STANDARD_STREAM or not Path(self.source).is_file():
            return None
        if self._is_text:
            with suppress(DataError):
                return sum(map(len, read_text(self.source)))
        return sum(1 for _ in blocks(self.source)) if self.reads is not None and self.reads.in_blocks else None

    def _how_far(self) -> str:
        if self.output == STANDARD_STREAM:
            return f"{self.sentences:,} sentences were written before" if self.sentences else "nothing was written"
        return f"{self.output} was not written"
