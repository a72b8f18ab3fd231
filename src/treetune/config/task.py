"""An experiment with its data: what trains, and what the model is to say of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from treetune.config.experiment import Experiment
from treetune.config.files import Say, check_readable, fingerprint, silent
from treetune.config.keys import LEARNER_HINTS
from treetune.config.reading import make_reader
from treetune.config.stored import to_json
from treetune.errors import ConfigError
from treetune.evaluation.scorers import Measured
from treetune.models.pipeline import Pipeline

if TYPE_CHECKING:
    from treetune.learning.objectives import Objective
    from treetune.learning.progress import Progress
    from treetune.learning.stacking import StackProgress
    from treetune.models.base import Model, Storable


@dataclass(slots=True)
class Task:
    """An experiment whose data has been read; `model` is trained by `train` or `train_stacked`.

    `pipeline` is what the model was the parser of, if it goes on from a pipeline. `noted` is what a model notes about
    its files, `objective_files` the same for each objective.
    """

    experiment: Experiment
    model: Model[Any]
    treebank: list[Any]
    dev: list[Any]
    objectives: list[Objective]
    pipeline: Pipeline | None = None
    noted: dict[str, Any] = field(default_factory=dict)
    objective_files: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def prepare(cls, experiment: Experiment, *, say: Say = silent) -> Self:
        """Read all data of an experiment; `say` is told what was skipped or left out."""
        train, source, stacking = experiment.train, experiment.source, experiment.stacking
        for path in experiment.paths():
            check_readable(source.placed(path))
        pipeline = experiment.recipe.pipeline()
        reader = make_reader(experiment, pipeline, say)
        treebank = (
            [] if train.treebank is None else reader.trees("train", source.placed(train.treebank), stacking.train)
        )
        dev = [] if train.dev is None else reader.dev(source.placed(train.dev), stacking.dev)
        objectives = [reader.objective(plan) for plan in experiment.objectives]
        recipe = experiment.recipe
        named = {"start_from": recipe.start_from, "clusters": recipe.options.get("clusters"), "tagger": train.tagger}
        reader.noted |= {name: fingerprint(source.model(path)) for name, path in named.items() if path is not None}
        return cls(
            experiment, recipe.make(), list(treebank), list(dev), objectives, pipeline,
            noted=reader.noted, objective_files=reader.objective_files,
        )  # fmt: skip

    @property
    def stored(self) -> Storable:
        """What a model file is to hold: the model, or the pipeline it came from with this model as its parser."""
        return self.model if self.pipeline is None else self.pipeline.with_parser(self.model)

    def train(self, *, checkpoint: str | Path | None = None, resume: bool = False) -> Iterator[Progress]:
        """Train `model` and yield progress, as `treetune.train` does."""
        if self.experiment.stacking.recipe is not None:
            raise ConfigError("this experiment trains a base parser first; use train_stacked")
        from treetune.learning.trainer import train as train_steps

        train = self.experiment.train
        # What a plain training does not need is left out.
        options: dict[str, Any] = dict(self.experiment.recipe.learning)
        if self.objectives:
            options["objectives"] = self.objectives
        if train.choose_by is not None:
            options["choose_by"] = train.choose_by
        if self.experiment.recipe.start_from is not None:
            options["warm_start"] = True
        if checkpoint is not None:
            options |= {"checkpoint": checkpoint, "resume": resume}
        return train_steps(
            self.model,
            self.treebank,
            dev=self.dev,
            epochs=train.epochs,
            seed=train.seed,
            threads=train.threads,
            **options,
        )

    def train_stacked(self) -> Iterator[StackProgress]:
        """Train the base parser, then the parser itself; `model` is that of the last report."""
        from treetune.learning.stacking import train_stacked

        stacking, train = self.experiment.stacking, self.experiment.train
        assert stacking.recipe is not None
        options: Any = {"epochs": train.epochs, **self.experiment.recipe.learning}
        reports = train_stacked(
            stacking.recipe.make,
            self.experiment.recipe.make,
            self.treebank,
            dev=self.dev,
            folds=stacking.folds,
            base_options={"epochs": train.epochs},
            main_options=options,
            seed=train.seed,
            threads=train.threads,
        )
        for report in reports:
            if report.model is not None:
                self.model = report.model
            yield report

    def info(self, best: Progress) -> dict[str, Any]:
        """Return what the trained model is to note about its training; `best` is the report on the epoch it kept."""
        train = self.experiment.train
        settings = {key: value for key, value in best.settings.items() if key != "objectives"}
        training = {
            "epochs": train.epochs,
            "best_epoch": best.epoch,
            **settings,
            "seed": train.seed,
            **({} if self.experiment.recipe.is_tagger else {"projectivize": train.projectivize}),
            **self.noted,
        }
        of_trainer = {table["name"]: table for table in best.settings.get("objectives", ())}
        objectives = [plan.resolved(of_trainer.get(plan.name, {})) for plan in self.experiment.objectives]
        if objectives:
            training["objectives"] = [{**table, **self.objective_files[table["name"]]} for table in objectives]
        info: dict[str, Any] = {"training": training}
        scores = self._scores(best.dev)
        if scores:
            info["scores"] = scores
        if train.licence is not None:
            info["licence"] = train.licence
        # Where JSON has null, the step of the learner has no bound.
        learner = {key: math.inf if value is None else value for key, value in settings.items() if key in LEARNER_HINTS}
        tables = self.experiment.tables(self.experiment.recipe.resolved(self.model), learner, objectives)
        info["experiment"] = to_json(tables)
        return info

    def _scores(self, dev: Measured | None) -> dict[str, Any]:
        scores: dict[str, Any] = {}
        if dev is not None:
            scores |= {"dev": numbers(dev), "signature": dev.signature("*")}
        costs = {objective.name: self._mean_cost(objective) for objective in self.objectives if objective.dev}
        return {**scores, **({"costs": costs} if costs else {})}

    def _mean_cost(self, objective: Objective) -> float:
        from treetune.learning.objectives import sentence_and_reference

        assert objective.cost is not None
        items = [sentence_and_reference(item) for item in objective.dev]
        trees = self.model.predict_batch([sentence for sentence, _ in items], threads=self.experiment.train.threads)
        costs = [
            objective.cost.costs(sentence, [tree], reference)[0]
            for (sentence, reference), tree in zip(items, trees, strict=True)
        ]
        objective.cost.close()
        return sum(costs) / len(costs)


def numbers(scores: Measured) -> dict[str, float]:
    """Return all scores; one with nothing to count is not a number, which JSON has no word for."""
    return {name: scores[name] for name in scores.metrics if scores[name] == scores[name]}
