"""``treetune clusters``: text in, a file of word clusters out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Annotated

import typer

from treetune.cli.console import Advance, Interrupted, note, progress_bar
from treetune.corpus.files import STANDARD_STREAM, check_kept
from treetune.corpus.treebank import read_words
from treetune.errors import ConfigError


def clusters(
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...",
            help="Text, a sentence a line, words separated by spaces; or CoNLL-U, CoNLL-X, IOB by suffix; - is stdin.",
        ),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="CLUSTERS", help="Where to write; - is stdout.")],
    classes: Annotated[int, typer.Option(min=2, help="How many classes; time grows with their square.")] = 256,
    min_count: Annotated[int, typer.Option(min=1, help="How often a word must be seen to get a class.")] = 2,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
) -> None:
    """Learn Brown clusters: words are alike if the words around them are."""
    from treetune.features.brown import learn_clusters

    if texts.count(STANDARD_STREAM) > 1:
        raise ConfigError("only one TEXT can be read from stdin")
    check_kept(output, texts)
    started = time.process_time()
    with _Bar(quiet=quiet) as bar:
        try:
            learned = learn_clusters(_sentences(texts), classes=classes, min_count=min_count, report=bar.show)
        except KeyboardInterrupt:
            raise Interrupted(f"{output} was not written") from None
    learned.write(output)
    seconds = time.process_time() - started
    # A pipe into another program has the clusters on stdout, and this line beside it.
    note(f"{len(learned):,} words in {learned.classes:,} classes, {seconds:,.1f} CPU-s", quiet=quiet)


class _Bar(ExitStack):
    """A bar that starts when the number of words is known, after the text was read."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._quiet = quiet
        self._done = 0
        self._advance: Advance | None = None

    def show(self, done: int, total: int) -> None:
        """Show that so many of all words have a class."""
        if self._advance is None:
            self._advance = self.enter_context(progress_bar("clustering", total=total, quiet=self._quiet))
        self._advance(done - self._done, done - self._done)
        self._done = done


def _sentences(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    for path in paths:
        yield from read_words(path)
