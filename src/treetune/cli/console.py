"""What all commands share: results on stdout, everything else on stderr, and bars for long work."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from treetune.corpus.files import STDOUT, full_disk_said

# Takes how many sentences and how many words were done since the last call.
Advance = Callable[[int, int], None]

OK, PROBLEM, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


class Interrupted(Exception):  # noqa: N818 - not an error: the user's wish
    """Ctrl-C, with what became of the work as the message."""


def note(message: str, *, quiet: bool = False) -> None:
    """Write one line to stderr, unless `quiet`."""
    if not quiet:
        sys.stderr.write(message + "\n")
        sys.stderr.flush()


def write_json(content: object) -> None:
    """Write one JSON document to stdout, in ASCII, which every terminal and pipe can take."""
    write(json.dumps(content, indent=2, allow_nan=False))


def write(text: str) -> None:
    """Write text and a line end to stdout."""
    with full_disk_said(STDOUT):
        sys.stdout.write(text + "\n")


@contextmanager
def progress_bar(description: str, *, total: int | None, quiet: bool = False) -> Iterator[Advance]:
    """Show a bar with words per second and time left; what it gives is called to move it on.

    There is no bar when `quiet` or when stderr is not a terminal, and no time left without a `total`.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda sentences, words: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(*bar_columns(), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=total, rate="")
        done = 0

        def advance(sentences: int, words: int) -> None:
            nonlocal done
            done += words
            elapsed = progress.tasks[0].elapsed
            rate = f"{done / elapsed:,.0f} words/s" if elapsed else ""
            progress.update(task, advance=sentences, rate=rate)

        yield advance


def bar_columns() -> tuple[Any, ...]:
    """Return the columns of a bar: what is done, how much of it, how fast (the field `rate`) and the time left."""
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
