"""The records of trainers to moving bars, and to one line an epoch or a fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from treetune.cli.console import Advance, note, progress_bar, training_display
from treetune.evaluation.metrics import percent

if TYPE_CHECKING:
    from treetune.corpus.sentence import Tree
    from treetune.evaluation.base import CorpusScores
    from treetune.learning.jackknife import FoldProgress
    from treetune.learning.progress import Progress, Tally

Check = Callable[["Progress"], None]


def follow_epochs(
    steps: Iterable[Progress], *, check: Check, total: int, quiet: bool, on_end: Check = lambda end: None
) -> Progress:
    """Train and show how it goes on; return the report on the epoch whose weights were kept.

    `check` may object to any report, `on_end` is given the end of each epoch.
    """
    kept: Progress | None = None
    with training_display(total, quiet=quiet) as show:
        for step in steps:
            check(step)
            show(step)
            if step.resumed:
                note(_resumed_line(step), quiet=quiet)
                kept = step
            elif step.is_epoch_end:
                on_end(step)
                for line in epoch_lines(step):
                    note(line, quiet=quiet)
                # The last one that was the best so far, or just the last one if there is nothing to choose by.
                if step.best or kept is None or not kept.best:
                    kept = step
    assert kept is not None
    return kept if kept.best else replace(kept, epoch=kept.epochs)


def follow_folds(
    reports: Iterable[FoldProgress], *, check: Check, total: int, quiet: bool, done: str = "parsed"
) -> Sequence[Tree]:
    """Jackknife, show how it goes on, and return the trees; `check` may object to any record of a training.

    `done` is what became of the sentences of a fold.
    """
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
            note(_fold_line(report, seconds, done), quiet=quiet)
            seconds = 0.0
            trees = report.trees or ()
    return trees


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


def epoch_lines(step: Progress) -> Iterator[str]:
    """Yield what is shown of an epoch: a line for all, then one for each objective besides the treebank."""
    parts = [_number(step)]
    if step.dev is not None:
        parts.append(scores_line(step.dev))
    parts.append(f"updated on {step.updated:,} of {step.total:,} sentences")
    parts.append(f"{step.cpu_seconds:,.1f} CPU-s")
    if step.best:
        parts.append("best so far")
    yield "  ".join(parts)
    shown = [tally for tally in step.objectives if tally.seen and is_shown(tally, step)]
    width = max((len(tally.name) for tally in shown), default=0)
    yield from (f"  {tally.name:<{width}}  {tally_line(tally)}" for tally in shown)


def is_shown(tally: Tally, step: Progress) -> bool:
    """Whether a tally says more than the line of the epoch, which has the first objective's counts."""
    return tally.cost is not None or tally is not step.objectives[0]


def tally_line(tally: Tally) -> str:
    """Return what one objective has done."""
    parts = [f"{tally.seen:,} seen", f"{tally.updated:,} updated", f"{tally.already_best:,} already best"]
    if tally.cost is not None:
        parts += [f"{tally.stuck:,} no better candidate", f"cost {tally.cost:.4f} -> {tally.better:.4f}"]
    if tally.dev_cost is not None:
        parts.append(f"dev cost {tally.dev_cost:.4f}")
    return "  ".join(parts)


def _resumed_line(step: Progress) -> str:
    if not step.best:
        return "resumed"
    scores = "" if step.dev is None else f"  {scores_line(step.dev)}"
    return f"resumed; best so far: {_number(step)}{scores}"


def _number(step: Progress) -> str:
    return f"epoch {step.epoch:>{len(str(step.epochs))}}/{step.epochs}"


def scores_line(scores: CorpusScores) -> str:
    """Return the scores that are shown while work goes on."""
    return "  ".join(f"{name} {percent(scores[name]):>6}" for name in scores.shown)


def _fold_line(report: FoldProgress, seconds: float, done: str) -> str:
    fold = f"fold {report.fold:>{len(str(report.folds))}}/{report.folds}"
    return f"{fold}  {done} {report.parsed:,} of {report.total:,} sentences  {seconds:,.1f} CPU-s"
