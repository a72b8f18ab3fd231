"""The records of trainers to moving bars, and to one line an epoch or a fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from treetune.cli.console import Advance, note, progress_bar
from treetune.evaluate.metrics import METRICS, percent

if TYPE_CHECKING:
    from treetune.corpus.sentence import Tree
    from treetune.evaluate.scores import Scores
    from treetune.learning.jackknife import FoldProgress
    from treetune.learning.progress import Progress

Check = Callable[["Progress"], None]

SHOWN = ("LAS", "UAS", "root")


def follow_epochs(steps: Iterable[Progress], *, check: Check, total: int, quiet: bool) -> list[Progress]:
    """Train, show how it goes on, and return the record at the end of each epoch; `check` may object to any."""
    ends = []
    with progress_bar("training", total=total, quiet=quiet) as advance:
        for end in epoch_ends(_checked(steps, check), advance):
            ends.append(end)
            note(epoch_line(end), quiet=quiet)
    return ends


def follow_folds(reports: Iterable[FoldProgress], *, check: Check, total: int, quiet: bool) -> Sequence[Tree]:
    """Jackknife, show how it goes on, and return the trees; `check` may object to any record of a training."""
    trees: Sequence[Tree] = ()
    with progress_bar("jackknifing", total=total, quiet=quiet) as advance:
        seconds = 0.0
        moves = _Moves(advance)
        for report in reports:
            if report.training is not None:
                check(report.training)
                moves.follow(report.training)
                seconds += report.training.cpu_seconds if report.training.is_epoch_end else 0.0
                continue
            note(_fold_line(report, seconds), quiet=quiet)
            seconds = 0.0
            trees = report.trees or ()
    return trees


def _checked(steps: Iterable[Progress], check: Check) -> Iterator[Progress]:
    for step in steps:
        check(step)
        yield step


def epoch_ends(steps: Iterable[Progress], advance: Advance) -> Iterator[Progress]:
    """Train: take every step, move the bar on, and yield the last record of each epoch."""
    moves = _Moves(advance)
    for step in steps:
        moves.follow(step)
        if step.is_epoch_end:
            yield step


class _Moves:
    """Moves a bar by what was done since the last record, which counts from the start of its epoch."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._seen = self._words = 0

    def follow(self, step: Progress) -> None:
        self._advance(step.seen - self._seen, step.words - self._words)
        self._seen, self._words = (0, 0) if step.is_epoch_end else (step.seen, step.words)


def epoch_line(step: Progress) -> str:
    """Return what is shown of an epoch."""
    parts = [f"epoch {step.epoch:>{len(str(step.epochs))}}/{step.epochs}"]
    if step.dev is not None:
        parts.append(scores_line(step.dev))
    parts.append(f"updated on {step.updated:,} of {step.total:,} sentences")
    parts.append(f"{step.cpu_seconds:,.1f} CPU-s")
    if step.dev is not None and step.best:
        parts.append("best so far")
    return "  ".join(parts)


def scores_line(scores: Scores) -> str:
    """Return the scores that are shown while work goes on."""
    return "  ".join(f"{name} {percent(scores[name]):>6}" for name in SHOWN)


def numbers(scores: Scores) -> dict[str, float]:
    """Return all scores; one with nothing to count is not a number, which JSON has no word for."""
    return {name: scores[name] for name in METRICS if scores[name] == scores[name]}


def _fold_line(report: FoldProgress, seconds: float) -> str:
    fold = f"fold {report.fold:>{len(str(report.folds))}}/{report.folds}"
    return f"{fold}  parsed {report.parsed:,} of {report.total:,} sentences  {seconds:,.1f} CPU-s"
