"""A prepared experiment to a trained parser, with what is shown while it learns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from treetune.cli.console import note
from treetune.cli.runfiles import RunFiles
from treetune.cli.training_progress import Check, follow_epochs, follow_folds, scores_line
from treetune.config.recipe import Recipe
from treetune.config.task import Task, numbers
from treetune.evaluation.scores import evaluate as score

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
        if experiment.stacking.recipe is not None:
            return self._run_stacked(experiment.stacking.recipe)
        if self.files.resume and not self.files.is_resuming:
            note("there is no checkpoint to resume from; starting from the beginning", quiet=self.quiet)
        self.files.begin()
        steps = self.task.train(checkpoint=self.files.checkpoint, resume=self.files.resume)
        return self._follow(experiment.recipe, steps, on_end=self.files.add)

    def _run_stacked(self, base: Recipe) -> Progress:
        kept: Progress | None = None
        for stage, group in groupby(self.task.train_stacked(), key=lambda report: report.stage):
            if stage == "jackknife":
                self._jackknife(base, (report.fold for report in group if report.fold is not None))
            elif stage == "base_tree":
                note(f"the base parser, a {base.parser} parser, on all of TRAIN:", quiet=self.quiet)
                self._follow(base, _trainings(group))
            else:
                recipe = self.task.experiment.recipe
                note(f"the stacked {recipe.parser} parser:", quiet=self.quiet)
                kept = self._follow(recipe, _trainings(group), on_end=self.files.add)
        assert kept is not None
        return kept

    def _jackknife(self, base: Recipe, reports: Iterable[FoldProgress]) -> None:
        note(f"the base parser, a {base.parser} parser, on parts of TRAIN:", quiet=self.quiet)
        folds, treebank = self.task.experiment.stacking.folds, self.task.treebank
        total = len(treebank) * self.task.experiment.train.epochs * (folds - 1)
        trees = follow_folds(reports, check=base.check_used, total=total, quiet=self.quiet)
        scores = score(treebank, trees)
        note(f"jackknifed  {scores_line(scores)}", quiet=self.quiet)
        self.task.noted["base"] = {"parser": base.parser, "folds": folds, "scores": numbers(scores)}

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
