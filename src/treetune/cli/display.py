"""What moves on a terminal while a parser is trained: a bar, and a table of the objectives."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from treetune.cli.console import bar_columns

if TYPE_CHECKING:
    from rich.console import RenderableType

    from treetune.learning.progress import ObjectiveProgress, Progress

Show = Callable[["Progress"], None]

COLUMNS = ("objective", "seen", "updated", "already best", "no better candidate", "cost", "after")


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
        if tally.cost is None:
            table.add_row(tally.name, *counts)
        else:
            table.add_row(tally.name, *counts, f"{tally.no_better:,}", f"{tally.cost:.4f}", f"{tally.target_cost:.4f}")
    return table
