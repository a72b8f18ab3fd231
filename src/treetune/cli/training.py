"""A recipe and a treebank to a trained parser, with what is shown while it learns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from treetune.cli.console import note
from treetune.cli.guides import Guide
from treetune.cli.options import Recipe
from treetune.cli.steps import follow_epochs, follow_folds, numbers, scores_line
from treetune.corpus.sentence import Example
from treetune.evaluate.scores import evaluate as score

if TYPE_CHECKING:
    from treetune.learning.jackknife import FoldProgress
    from treetune.learning.progress import Progress
    from treetune.learning.stacking import StackProgress
    from treetune.models.base import Parser


@dataclass(slots=True)
class Job:
    """What to train and on what; `noted` is what the model is to say of a guide that was trained for it."""

    recipe: Recipe
    guide: Guide
    treebank: Sequence[Example]
    dev: Sequence[Example]
    epochs: int
    seed: int
    threads: int
    quiet: bool
    noted: dict[str, Any] = field(default_factory=dict)

    def run(self) -> tuple[Parser, list[Progress]]:
        """Return the trained parser and the record at the end of each of its epochs."""
        if self.guide.recipe is not None:
            return self._run_guided(self.guide.recipe)
        from treetune.learning.trainer import train as train_steps

        parser = self.recipe.make()
        steps = train_steps(
            parser,
            self.treebank,
            dev=self.dev,
            epochs=self.epochs,
            seed=self.seed,
            threads=self.threads,
            **self.recipe.learning,
        )
        return parser, self._follow(self.recipe, steps)

    def _run_guided(self, guide: Recipe) -> tuple[Parser, list[Progress]]:
        from treetune.learning.stacking import train_guided

        options: Any = {"epochs": self.epochs, **self.recipe.learning}
        reports = train_guided(
            guide.make,
            self.recipe.make,
            self.treebank,
            dev=self.dev,
            folds=self.guide.folds,
            guide_options={"epochs": self.epochs},
            main_options=options,
            seed=self.seed,
            threads=self.threads,
        )
        models: list[Parser] = []
        ends: list[Progress] = []
        for stage, group in groupby(reports, key=lambda report: report.stage):
            if stage == "jackknife":
                self._jackknife(guide, (report.fold for report in group if report.fold is not None))
            elif stage == "guide":
                note(f"the guide, a {guide.parser} parser, on all of TRAIN:", quiet=self.quiet)
                self._follow(guide, _trainings(group))
            else:
                note(f"the guided {self.recipe.parser} parser:", quiet=self.quiet)
                ends = self._follow(self.recipe, _trainings(group, models))
        return models[0], ends

    def _jackknife(self, guide: Recipe, reports: Iterable[FoldProgress]) -> None:
        note(f"the guide, a {guide.parser} parser, on parts of TRAIN:", quiet=self.quiet)
        total = len(self.treebank) * self.epochs * (self.guide.folds - 1)
        trees = follow_folds(reports, check=guide.check_used, total=total, quiet=self.quiet)
        scores = score(self.treebank, trees)
        note(f"jackknifed  {scores_line(scores)}", quiet=self.quiet)
        self.noted["guide"] = {"parser": guide.parser, "folds": self.guide.folds, "scores": numbers(scores)}

    def _follow(self, recipe: Recipe, steps: Iterable[Progress]) -> list[Progress]:
        total = len(self.treebank) * self.epochs
        return follow_epochs(steps, check=recipe.check_used, total=total, quiet=self.quiet)


def _trainings(reports: Iterable[StackProgress], models: list[Parser] | None = None) -> Iterator[Progress]:
    """Yield what the trainer reports; a model that comes with a report goes into `models`."""
    for report in reports:
        if report.training is not None:
            yield report.training
        if report.model is not None and models is not None:
            models.append(report.model)
