"""A prepared experiment to a trained parser, with what is shown while it learns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from treetune.cli.console import note
from treetune.cli.runfiles import RunFiles
from treetune.cli.steps import Check, follow_epochs, follow_folds, scores_line
from treetune.evaluate.scores import evaluate as score
from treetune.experiment.recipe import Recipe
from treetune.experiment.task import Task, numbers

if TYPE_CHECKING:
    from treetune.learning.jackknife import FoldProgress
    from treetune.learning.progress import Progress
    from treetune.learning.stacking import StackProgress


@dataclass(slots=True)
class Job:
    """What to train, and where the ends of its epochs are kept."""

    task: Task
    files: RunFiles
    quiet: bool

    def run(self) -> Progress:
        """Train the task's model; return the report on the epoch whose weights were kept."""
        experiment = self.task.experiment
        if experiment.guide.recipe is not None:
            return self._run_guided(experiment.guide.recipe)
        if self.files.resume and not self.files.is_resuming:
            note("there is no checkpoint to resume from; starting from the beginning", quiet=self.quiet)
        self.files.begin()
        steps = self.task.train(checkpoint=self.files.checkpoint, resume=self.files.resume)
        return self._follow(experiment.recipe, steps, on_end=self.files.add)

    def _run_guided(self, guide: Recipe) -> Progress:
        kept: Progress | None = None
        for stage, group in groupby(self.task.train_guided(), key=lambda report: report.stage):
            if stage == "jackknife":
                self._jackknife(guide, (report.fold for report in group if report.fold is not None))
            elif stage == "guide":
                note(f"the guide, a {guide.parser} parser, on all of TRAIN:", quiet=self.quiet)
                self._follow(guide, _trainings(group))
            else:
                recipe = self.task.experiment.recipe
                note(f"the guided {recipe.parser} parser:", quiet=self.quiet)
                kept = self._follow(recipe, _trainings(group), on_end=self.files.add)
        assert kept is not None
        return kept

    def _jackknife(self, guide: Recipe, reports: Iterable[FoldProgress]) -> None:
        note(f"the guide, a {guide.parser} parser, on parts of TRAIN:", quiet=self.quiet)
        folds, treebank = self.task.experiment.guide.folds, self.task.treebank
        total = len(treebank) * self.task.experiment.train.epochs * (folds - 1)
        trees = follow_folds(reports, check=guide.check_used, total=total, quiet=self.quiet)
        scores = score(treebank, trees)
        note(f"jackknifed  {scores_line(scores)}", quiet=self.quiet)
        self.task.noted["guide"] = {"parser": guide.parser, "folds": folds, "scores": numbers(scores)}

    def _follow(self, recipe: Recipe, steps: Iterable[Progress], on_end: Check = lambda end: None) -> Progress:
        # Without a treebank an epoch is a pass over the first objective.
        size = len(self.task.treebank) or len(self.task.objectives[0].data)
        total = size * self.task.experiment.train.epochs
        return follow_epochs(steps, check=recipe.check_used, total=total, quiet=self.quiet, on_end=on_end)


def _trainings(reports: Iterable[StackProgress]) -> Iterator[Progress]:
    """Yield what the trainer reports."""
    for report in reports:
        if report.training is not None:
            yield report.training
