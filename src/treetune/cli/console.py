"""What all commands share: results on stdout, everything else on stderr, and bars for long work and for training."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from treetune.corpus.files import STANDARD_STREAM, STDOUT, full_disk_said

if TYPE_CHECKING:
    from rich.console import RenderableType

    from treetune.learning.progress import ObjectiveProgress, Progress

# Takes how much, in units of the total, and how many words were done since the last call.
Advance = Callable[[int, int], None]
Show = Callable[["Progress"], None]

# The columns of the table of objectives.
COLUMNS = ("objective", "seen", "updated", "already best", "no better candidate", "cost", "after")
OK, PROBLEM, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
EXIT_CODES = (
    "Exit codes: 0 done; 1 a problem with data, a model or a file; 2 wrong usage; "
    "130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP."
)


# Control characters of both sets, by which a terminal takes commands, as they are shown.
_SHOWN = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


class Interrupted(Exception):  # noqa: N818 - not an error: the user's wish
    """Ctrl-C or a signal to end, with what became of the work as the message."""


def printable(text: str) -> str:
    """Return a text with visible escapes for control characters but line ends and tabs.

    All that goes to a terminal passes here: names and texts of models and data may come from strangers.
    """
    return text.translate(_SHOWN)


def for_terminal(output: str) -> Callable[[str], str]:
    """Return `printable` if `output` is the terminal; data that go to a file or a pipe stay as they are."""
    return printable if output == STANDARD_STREAM and sys.stdout.isatty() else lambda text: text


def note(message: str, *, quiet: bool = False) -> None:
    """Write one line to stderr, unless `quiet`."""
    if not quiet:
        sys.stderr.write(printable(message) + "\n")
        sys.stderr.flush()


def write_json(content: object) -> None:
    """Write one JSON document to stdout, in ASCII, which every terminal and pipe can take."""
    write(json.dumps(content, indent=2, allow_nan=False))


def write(text: str) -> None:
    """Write text and a line end to stdout."""
    with full_disk_said(STDOUT):
        sys.stdout.write(printable(text) + "\n")


@contextmanager
def progress_bar(description: str, *, total: int | None, quiet: bool = False) -> Iterator[Advance]:
    """Show a bar with words per second and time left; what it gives is called to move it on.

    There is no bar when `quiet` or when stderr is not a terminal, and no time left without a `total`.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda amount, words: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(*bar_columns(), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=total, rate="")
        done = 0

        def advance(amount: int, words: int) -> None:
            nonlocal done
            done += words
            elapsed = progress.tasks[0].elapsed
            rate = f"{done / elapsed:,.0f} words/s" if elapsed else ""
            progress.update(task, advance=amount, rate=rate)

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


@contextmanager
def training_display(total: int, *, quiet: bool) -> Iterator[Show]:
    """Show a bar of `total` sentences and the tallies of this epoch; what it gives is called with every report.

    There is nothing to see when `quiet` or when stderr is not a terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console
    from rich.live import Live

    picture = _Picture(total)
    with Live(get_renderable=picture.draw, console=Console(stderr=True), transient=True, refresh_per_second=8) as live:

        def show(step: Progress) -> None:
            picture.follow(step)
            live.refresh()

        yield show


class _Picture:
    def __init__(self, total: int) -> None:
        from rich.progress import Progress as Bar

        self._bar = Bar(*bar_columns())
        self._task = self._bar.add_task("training", total=total, rate="")
        self._words = self._words_before = 0
        self._tallies: tuple[ObjectiveProgress, ...] = ()

    def follow(self, step: Progress) -> None:
        if step.resumed:
            return
        done = (step.epoch - 1) * step.total + step.seen
        elapsed = self._bar.tasks[0].elapsed
        words = self._words_before + step.words
        rate = f"{words / elapsed:,.0f} words/s" if elapsed else ""
        self._bar.update(self._task, completed=done, rate=rate)
        self._tallies = step.objectives
        if step.is_epoch_end:
            self._words_before = words

    def draw(self) -> RenderableType:
        from rich.console import Group

        # The treebank alone needs no table: its counts are in the line of the epoch.
        if len(self._tallies) == 1 and self._tallies[0].cost is None:
            return self._bar.get_renderable()
        return Group(self._bar.get_renderable(), _table(self._tallies))


def _table(tallies: tuple[ObjectiveProgress, ...]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(COLUMNS):
        table.add_column(name, justify="left" if number == 0 else "right")
    for tally in tallies:
        counts = [f"{count:,}" for count in (tally.seen, tally.updated, tally.already_best)]
        if tally.cost is not None:
            counts += [f"{tally.no_better:,}", f"{tally.cost:.4f}", f"{tally.target_cost:.4f}"]
        table.add_row(printable(tally.name), *counts)
    return table
