"""Reports of trainings to moving bars, and to one line an epoch or a fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING

from treetune.cli.console import Advance, note, progress_bar, training_display
from treetune.evaluation.metrics import percent

if TYPE_CHECKING:
    from treetune.config.run import Report, Stage
    from treetune.evaluation.alignment import TextScores
    from treetune.evaluation.base import CorpusScores
    from treetune.learning.jackknife import FoldProgress
    from treetune.learning.progress import ObjectiveProgress, Progress


def follow(reports: Iterable[Report], *, on_epoch: Callable[[Report], None], quiet: bool) -> None:
    """Train and show progress, stage by stage; `on_epoch` is given the report at the end of each epoch."""
    for stage, group in groupby(reports, key=lambda report: report.stage):
        if stage.title:
            note(stage.title, quiet=quiet)
        if stage.name.startswith("jackknife"):
            _follow_folds(stage, group, quiet=quiet)
        else:
            _follow_epochs(stage, group, on_epoch=on_epoch, quiet=quiet)


def _follow_epochs(
    stage: Stage, reports: Iterable[Report], *, on_epoch: Callable[[Report], None], quiet: bool
) -> None:  # fmt: skip
    with training_display(stage.total, quiet=quiet) as show:
        for report in reports:
            if report.training is not None:
                show(report.training)
            if report.is_resumed:
                note(_resumed_line(report), quiet=quiet)
            elif report.is_epoch_end:
                on_epoch(report)
                for line in epoch_lines(report):
                    note(line, quiet=quiet)


def _follow_folds(stage: Stage, reports: Iterable[Report], *, quiet: bool) -> None:
    with fold_display(stage.total, quiet=quiet) as show:
        for report in reports:
            assert report.fold is not None
            show(report.fold)
            if report.scores is not None:
                note(f"jackknifed  {scores_line(report.scores)}", quiet=quiet)


@contextmanager
def fold_display(total: int, *, quiet: bool) -> Iterator[Callable[[FoldProgress], None]]:
    """Show a bar of `total` sentences, and a line for each fold; what it gives is called with every report."""
    with progress_bar("jackknifing", total=total, quiet=quiet) as advance:
        bar, seconds = _Bar(advance), 0.0

        def show(report: FoldProgress) -> None:
            nonlocal seconds
            if report.training is not None:
                bar.move(report.training)
                seconds += report.training.cpu_seconds if report.training.is_epoch_end else 0.0
                return
            fold = f"fold {report.fold:>{len(str(report.folds))}}/{report.folds}"
            done = f"predicted {report.parsed:,} of {report.total:,} sentences"
            note(f"{fold}  {done}  {seconds:,.1f} CPU-s", quiet=quiet)
            seconds = 0.0

        yield show


def epoch_ends(steps: Iterable[Progress], advance: Advance) -> Iterator[Progress]:
    """Train, move the bar, and yield the last report of each epoch."""
    bar = _Bar(advance)
    for step in steps:
        bar.move(step)
        if step.is_epoch_end:
            yield step


class _Bar:
    """Moves a bar by what was done since the last report, which counts from the start of its epoch."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._seen = self._words = 0

    def move(self, step: Progress) -> None:
        self._advance(step.seen - self._seen, step.words - self._words)
        self._seen, self._words = (0, 0) if step.is_epoch_end else (step.seen, step.words)


def epoch_lines(report: Report) -> Iterator[str]:
    """Yield what is shown of an epoch: a line for all, then one for each objective besides the treebank."""
    step = report.training
    if step is None:
        yield _tokenizer_line(report)
        return
    parts = [_number(step.epoch, step.epochs)]
    if step.dev is not None:
        parts.append(scores_line(step.dev))
    parts.append(f"updated on {step.updated:,} of {step.total:,} sentences")
    parts.append(f"{step.cpu_seconds:,.1f} CPU-s")
    if step.best:
        parts.append("best so far")
    yield "  ".join(parts)
    # The line of the epoch has the counts of the first objective.
    shown = [one for one in step.objectives if one.seen and (one.cost is not None or one is not step.objectives[0])]
    width = max((len(counts.name) for counts in shown), default=0)
    yield from (f"  {counts.name:<{width}}  {objective_line(counts)}" for counts in shown)


def objective_line(counts: ObjectiveProgress) -> str:
    """Return the counts of one objective."""
    parts = [f"{counts.seen:,} seen", f"{counts.updated:,} updated", f"{counts.already_best:,} already best"]
    if counts.cost is not None:
        parts += [f"{counts.no_better:,} no better candidate", f"cost {counts.cost:.4f} -> {counts.target_cost:.4f}"]
    if counts.dev_cost is not None:
        parts.append(f"dev cost {counts.dev_cost:.4f}")
    return "  ".join(parts)


def _tokenizer_line(report: Report) -> str:
    step = report.tokenizer
    assert step is not None
    scores = "" if step.dev is None else f"  {_token_scores(step.dev)}"
    return f"{_number(step.epoch, step.epochs)}{scores}"


def _token_scores(dev: TextScores) -> str:
    return "  ".join(f"{name} {percent(dev[name]):>6}" for name in ("Tokens", "Words", "Sentences"))


def _resumed_line(report: Report) -> str:
    step = report.training
    if step is None:
        return f"resumed after {_tokenizer_line(report)}"
    if not step.best:
        return "resumed"
    scores = "" if step.dev is None else f"  {scores_line(step.dev)}"
    return f"resumed; best so far: {_number(step.epoch, step.epochs)}{scores}"


def _number(epoch: int, epochs: int) -> str:
    return f"epoch {epoch:>{len(str(epochs))}}/{epochs}"


def scores_line(scores: CorpusScores) -> str:
    """Return the scores that are shown during training."""
    return "  ".join(f"{name} {percent(scores[name]):>6}" for name in scores.shown)
