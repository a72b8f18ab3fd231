"""An experiment with its data: what trains, and what the model is to say of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from treetune.corpus.orders import read_orders
from treetune.corpus.sentence import Example
from treetune.errors import ConfigError, DataError
from treetune.evaluate.judges import Measured
from treetune.experiment.experiment import Experiment
from treetune.experiment.files import Say, check_readable, described, fingerprint, projective, read_data, silent
from treetune.experiment.keys import LEARNER_HINTS
from treetune.experiment.objectives import Plan
from treetune.experiment.stored import to_json

if TYPE_CHECKING:
    from treetune.learning.objectives import Objective
    from treetune.learning.progress import Progress
    from treetune.learning.stacking import StackProgress
    from treetune.models.base import Parser


@dataclass(slots=True)
class Task:
    """An experiment whose data has been read; `model` is trained by `train` or `train_guided`.

    `noted` is what a model notes about its files, `objective_files` the same for each objective.
    """

    experiment: Experiment
    model: Parser
    treebank: list[Example]
    dev: list[Example]
    objectives: list[Objective]
    noted: dict[str, Any] = field(default_factory=dict)
    objective_files: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def prepare(cls, experiment: Experiment, *, say: Say = silent) -> Self:
        """Read all data of an experiment; `say` is told what was skipped or left out."""
        train, source, guide = experiment.train, experiment.source, experiment.guide
        for path in experiment.paths():
            check_readable(source.placed(path))
        reader = _Reader(experiment, say)
        treebank = [] if train.treebank is None else reader.trees("train", source.placed(train.treebank), guide.train)
        dev = [] if train.dev is None else reader.dev(source.placed(train.dev), guide.dev)
        objectives = [reader.objective(plan) for plan in experiment.objectives]
        if experiment.recipe.start_from is not None:
            reader.noted["start_from"] = fingerprint(source.placed(experiment.recipe.start_from))
        return cls(
            experiment, experiment.recipe.make(), treebank, dev, objectives, reader.noted, reader.objective_files
        )

    def train(self, *, checkpoint: str | Path | None = None, resume: bool = False) -> Iterator[Progress]:
        """Train `model` and yield progress, as `treetune.train` does."""
        if self.experiment.guide.recipe is not None:
            raise ConfigError("this experiment trains a guide first; use train_guided")
        from treetune.learning.trainer import train as train_steps

        train = self.experiment.train
        # What a plain training does not need is left out.
        options: dict[str, Any] = dict(self.experiment.recipe.learning)
        if self.objectives:
            options["objectives"] = self.objectives
        if train.choose_by is not None:
            options["choose_by"] = train.choose_by
        if self.experiment.recipe.start_from is not None:
            options["go_on"] = True
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

    def train_guided(self) -> Iterator[StackProgress]:
        """Train a parser as guide, then the parser itself; `model` is that of the last report."""
        from treetune.learning.stacking import train_guided

        guide, train = self.experiment.guide, self.experiment.train
        assert guide.recipe is not None
        options: Any = {"epochs": train.epochs, **self.experiment.recipe.learning}
        reports = train_guided(
            guide.recipe.make,
            self.experiment.recipe.make,
            self.treebank,
            dev=self.dev,
            folds=guide.folds,
            guide_options={"epochs": train.epochs},
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
            "projectivize": train.projectivize,
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


@dataclass(slots=True)
class _Reader:
    """Reads files by the rules of one experiment, and notes what they were."""

    experiment: Experiment
    say: Say
    noted: dict[str, Any] = field(default_factory=dict)
    objective_files: dict[str, dict[str, Any]] = field(default_factory=dict)

    def trees(self, name: str, path: str, guide: str | None = None) -> list[Example]:
        """Read the treebank and note it under `name`; crossing arcs are left out if they are not to be lifted."""
        examples = self._read(path, guide=guide)
        self.noted[name] = described(path, examples)
        if guide is not None:
            self.noted["guide"] = described(guide, examples)
        return self._learned(examples, path)

    def dev(self, path: str, guide: str | None) -> list[Example]:
        examples = self._read(path, guide=guide)
        self.noted["dev"] = described(path, examples)
        if guide is not None:
            self.noted["dev_guide"] = described(guide, examples)
        return examples

    def objective(self, plan: Plan) -> Objective:
        if plan.reads_orders:
            return self._orders(plan)
        data = self._read(plan.data, partial=not plan.is_intrinsic)
        dev = [] if plan.dev is None else self._read(plan.dev, partial=True)
        files = {"data": described(plan.data, data)}
        if plan.dev is not None:
            files["dev"] = described(plan.dev, dev)
        self.objective_files[plan.name] = files
        return plan.objective(self._learned(data, plan.data) if plan.is_intrinsic else data, dev)

    def _orders(self, plan: Plan) -> Objective:
        files = {key: path for key, path in (("data", plan.data), ("dev", plan.dev)) if path is not None}
        found = {key: list(read_orders(path)) for key, path in files.items()}
        for key, path in files.items():
            if not found[key]:
                raise DataError("expected at least one sentence, found none", path=path)
        self.objective_files[plan.name] = {key: described(path, found[key]) for key, path in files.items()}
        pairs = {key: [(item.sentence, item.order) for item in items] for key, items in found.items()}
        return plan.objective(pairs["data"], pairs.get("dev", []))

    def _read(self, path: str, *, guide: str | None = None, partial: bool = False) -> list[Example]:
        return read_data(path, guide=guide, partial=partial, lenient=self.experiment.train.lenient, say=self.say)

    def _learned(self, examples: list[Example], path: str) -> list[Example]:
        if self.experiment.train.projectivize:
            return examples
        flag = "--no-projectivize" if self.experiment.source.flags else "projectivize = false"
        return projective(examples, path=path, flag=flag, say=self.say)
