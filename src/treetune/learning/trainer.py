"""Train a model on a treebank and on any other objectives, epoch by epoch, as a generator of progress reports.

This is the augmented-loss algorithm of Hall et al. (2011), Algorithm 2. With a treebank alone it is plain training.
"""

from __future__ import annotations

import copy
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from treetune.errors import ConfigError
from treetune.evaluation.scorers import Measured, Scorer
from treetune.learning.checkpoints import Checkpoint, fingerprint
from treetune.learning.objectives import GOLD, Objective, sentence_and_reference
from treetune.learning.progress import Progress
from treetune.learning.schedule import Schedule, by_rates
from treetune.learning.streams import Stream
from treetune.models.base import Learner, Model
from treetune.models.learning_options import LearningOptions

# A report is made after this many sentences of the first objective.
REPORT_EVERY = 256
# The epoch in which other objectives join in, unless they say so themselves: the model must have learned something
# before its candidates are worth comparing.
USUAL_START = 3
# A schedule that gives the first objective no turn in so many rounds never will.
MOST_IDLE_ROUNDS = 1_000_000


def train(
    model: Model[Any],
    treebank: Sequence[Any] = (),
    *,
    objectives: Sequence[Objective] = (),
    schedule: Schedule | None = None,
    dev: Sequence[Any] = (),
    choose_by: str | None = None,
    epochs: int = 10,
    seed: int = 0,
    threads: int = 1,
    warm_start: bool = False,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    warm: str | Path | None = None,
    **learning: Unpack[LearningOptions],
) -> Iterator[Progress]:
    """Train `model` and yield progress; consume it all, or the model stays as it was.

    Args:
        model: Is given the averaged weights of the best epoch by `choose_by`, among those in which all objectives took
            part; of the last one, if there is nothing to choose by.
        treebank: For a parser, examples with complete trees; crossing arcs are lifted for one that cannot make them.
            For a tagger, `Tagged` sentences (`corpus.tags.tagged`). May be empty if `warm_start`.
        objectives: What to learn besides, and how often; see `Objective`.
        schedule: Which objective takes how many steps in which round; by default according to their rates.
        dev: Examples to choose the best epoch by.
        choose_by: A metric on `dev` ("UAS", "root", …; by default "LAS", for taggers "accuracy"), or the name of an
            objective with dev data of its own, whose mean cost is to be low.
        epochs: How many times to go through the treebank, or through the first objective without a treebank.
        seed: Orders the sentences; the same seed gives the same weights.
        threads: For parsing `dev` only; the result does not depend on it.
        warm_start: Whether to start from the weights that `model` has, instead of from none.
        checkpoint: A file to which everything is written after each epoch, to resume from. It stays when training is
            done: remove it when the model has been saved.
        resume: Whether to go on from `checkpoint`, if it is there; the final model is the same as without the
            interruption.
        warm: A file with the state before the first of `objectives` starts (after two epochs if there are none), for
            trainings that differ only in what comes then: used if it is there, else written. The model is the same as
            without it. Not for trainings with dev data.
        learning: How weights move: `learner`, `k`, `clip`, `update`, `cost_augmented`; see `LearningOptions`.
    """
    for name, value, least in (("epochs", epochs, 1), ("seed", seed, 0), ("threads", threads, 1)):
        if value < least:
            raise ConfigError(f"{name} must be at least {least}, found {value}")
    if resume and checkpoint is None:
        raise ConfigError("expected a checkpoint to resume from, found none")
    for name, examples in (("treebank", treebank), ("dev", dev)):
        if isinstance(examples, str | Path):
            raise ConfigError(
                f"{name}: expected examples, found the path {str(examples)!r}; read them first: "
                f"list(treetune.read_trees({str(examples)!r}))"
            )
    if warm_start and not model.is_trained:
        raise ConfigError("expected a trained model to go on from, found one without weights")
    treebank = treebank if isinstance(treebank, Sequence) else list(treebank)
    if not treebank and not objectives:
        raise ConfigError("expected a treebank or an objective to learn from, found neither")
    everything = (*([Objective(treebank, name="treebank", start=1)] if treebank else ()), *objectives)
    _check(everything, model.scorer, dev=dev, choose_by=choose_by)
    gold = [example for objective in everything if objective.is_intrinsic for example in _examples(objective)]
    learner = model.learner(gold, seed=seed, warm_start=warm_start, **learning)
    training = _Training(
        model, learner, everything, schedule, dev,
        choose_by=choose_by or model.scorer.usual, epochs=epochs, seed=seed, threads=threads, warm_start=warm_start,
        checkpoint=checkpoint, warm=warm,
    )  # fmt: skip
    return training.run(resume=resume)


def _examples(objective: Objective) -> Sequence[Any]:
    examples = [item for item in objective.data if isinstance(item, GOLD)]
    if len(examples) < len(objective.data):
        raise ConfigError(f"{objective.name}: expected examples with gold trees, or a loss for other references")
    return examples


def _check(objectives: Sequence[Objective], scorer: Scorer, *, dev: Sequence[Any], choose_by: str | None) -> None:
    names = [objective.name for objective in objectives]
    for objective in objectives:
        if names.count(objective.name) > 1:
            raise ConfigError(f"two objectives are called {objective.name!r}; give them names of their own")
        if objective.name in scorer.metrics:
            raise ConfigError(f"an objective cannot be called {objective.name}: that is a metric")
        objective.check()
    with_dev = [objective.name for objective in objectives if objective.dev]
    if choose_by is None:
        return
    if choose_by not in (*scorer.metrics, *with_dev):
        known = ", ".join((*scorer.metrics, *with_dev))
        raise ConfigError(f"the best epoch cannot be chosen by {choose_by!r}; known: {known}")
    if choose_by in scorer.metrics and not dev:
        raise ConfigError(f"the best epoch cannot be chosen by {choose_by} without dev, examples to measure it on")


class _Training:
    """One run of `train`: the objectives at work, and the best model so far."""

    def __init__(
        self,
        model: Model[Any],
        learner: Learner[Any],
        objectives: Sequence[Objective],
        schedule: Schedule | None,
        dev: Sequence[Any],
        *,
        choose_by: str,
        epochs: int,
        seed: int,
        threads: int,
        warm_start: bool,
        checkpoint: str | Path | None,
        warm: str | Path | None,
    ) -> None:
        self._model = model
        self._learner = learner
        self._dev = dev
        self._choose_by = choose_by
        self._epochs = epochs
        self._threads = threads
        self._schedule = schedule or by_rates([objective.rate for objective in objectives])
        self._starts = _starts(objectives, epochs=epochs, warm_start=warm_start)
        self._streams = self._make_streams(objectives, seed)
        self._rounds = 0
        self._rounds_by_epoch: list[int] = []
        self._asked = 0
        self._settings = learner.settings()
        if len(objectives) > 1 or not objectives[0].is_intrinsic:
            self._settings["objectives"] = [
                {**objective.settings(), "start": start}
                for objective, start in zip(objectives, self._starts, strict=True)
            ]
        self._best: Model[Any] | None = None
        self._best_value = -float("inf")
        self._best_epoch = 0
        self._checkpoint = self._warm = None
        start = self._with(learner.snapshot()).state() if checkpoint is not None or warm is not None else ({}, {})
        told: dict[str, Any] = {"seed": seed, "warm_start": warm_start}
        if checkpoint is not None:
            told |= {"settings": self._settings, "epochs": epochs, "choose_by": choose_by}
            self._checkpoint = Checkpoint(checkpoint, fingerprint(told, start, objectives, dev))
        self._warm_epochs = min(self._starts[1:], default=USUAL_START) - 1
        if warm is not None:
            if dev or any(objective.dev for objective in objectives):
                raise ConfigError("a warm start takes no account of dev data; train without dev, or without warm")
            if not 0 < self._warm_epochs < epochs:
                raise ConfigError("a warm start needs an epoch before objectives start, and one after it")
            told |= {"settings": learner.settings(), "warm": self._warm_epochs}
            self._warm = Checkpoint(warm, fingerprint(told, start, objectives[:1], ()))

    def _make_streams(self, objectives: Sequence[Objective], seed: int) -> list[Stream]:
        streams, first = [], 0
        for number, objective in enumerate(objectives):
            streams.append(Stream(objective, self._learner, seed=seed, number=number, first=first))
            first += len(objective.data) if objective.is_intrinsic else 0
        return streams

    def run(self, *, resume: bool) -> Iterator[Progress]:
        """Go through all epochs, or those that are left."""
        try:
            yield from self._epochs_left(resume=resume)
        finally:
            # External programs, also after an error or when nobody wants to know the rest.
            for stream in self._streams:
                if stream.objective.cost is not None:
                    stream.objective.cost.close()

    def _epochs_left(self, *, resume: bool) -> Iterator[Progress]:
        done = 0
        state = self._checkpoint.read() if resume and self._checkpoint is not None else None
        if state is None and self._warm is not None:
            state = self._warm.read()
        if state is not None:
            done = self._restore(state)
            yield self._resumed(done)
        for epoch in range(done + 1, self._epochs + 1):
            last = None
            for last in self._one_epoch(epoch):
                yield last
            assert last is not None
            end = self._evaluate_epoch(last)
            self._rounds_by_epoch.append(self._rounds)
            if self._checkpoint is not None:
                self._save(self._checkpoint, epoch)
            if self._warm is not None and epoch == self._warm_epochs:
                self._save(self._warm, epoch)
            if epoch == self._epochs:
                self._finish()
            yield end
        if done == self._epochs:
            self._finish()

    def _one_epoch(self, epoch: int) -> Iterator[Progress]:
        if epoch > 1 and epoch in self._starts:
            self._learner.restart_average()
        for stream in self._streams:
            stream.start_epoch()
        main = self._streams[0]
        active = self._active(epoch)
        started = time.process_time()
        while main.seen < len(main):
            for number, steps in self._turns(active, len(main) - main.seen):
                self._streams[number].take(steps)
            yield self._report(epoch, time.process_time() - started)

    def _active(self, epoch: int) -> list[int]:
        return [number for number, start in enumerate(self._starts) if epoch >= start]

    def _turns(self, active: Sequence[int], left: int) -> list[tuple[int, int]]:
        """Plan rounds until the next report, or until the first objective has taken all that is `left` for it.

        Returns which objective takes how many steps. Those of one that follow each other are one turn: a kernel is
        much faster on many sentences.
        """
        turns: list[tuple[int, int]] = []
        planned = idle = 0
        while planned < min(left, REPORT_EVERY):
            idle += 1
            if idle > MOST_IDLE_ROUNDS:
                name = self._streams[0].objective.name
                raise ConfigError(f"the schedule never takes a step on {name!r}, which ends the epoch")
            for number in active:
                steps = self._steps(number)
                if number == 0 and steps:
                    steps = min(steps, left - planned)
                    planned += steps
                    idle = 0
                if turns and turns[-1][0] == number:
                    steps += turns.pop()[1]
                if steps:
                    turns.append((number, steps))
            self._rounds += 1
        return turns

    def _steps(self, number: int) -> int:
        steps = int(self._schedule(number, self._rounds))
        if steps < 0:
            name = self._streams[number].objective.name
            raise ConfigError(f"the schedule gives {name!r} {steps} steps in round {self._rounds}, expected 0 or more")
        self._asked = zlib.crc32(f"{number} {steps};".encode(), self._asked)
        return steps

    def _report(self, epoch: int, seconds: float) -> Progress:
        main = self._streams[0]
        tallies = tuple(stream.tally() for stream in self._streams)
        return Progress(
            epoch=epoch,
            epochs=self._epochs,
            seen=main.seen,
            total=len(main),
            updated=tallies[0].updated,
            words=sum(stream.words for stream in self._streams),
            cpu_seconds=seconds,
            settings=self._settings,
            objectives=tallies,
        )

    def _evaluate_epoch(self, report: Progress) -> Progress:
        """Measure the epoch that has just ended, and keep its weights if they are the best."""
        devs = [stream.objective for stream in self._streams if stream.objective.dev]
        if not self._dev and not devs:
            return replace(report, is_epoch_end=True)
        weights = self._learner.snapshot()
        trial = self._with(weights)
        scores = self._score(trial)
        costs = {objective.name: _mean_cost(trial, objective, self._threads) for objective in devs}
        del trial  # what was built for it
        value = -costs[self._choose_by] if self._choose_by in costs else scores[self._choose_by] if scores else None
        # An epoch before all objectives have started would be one without what they teach, however good its trees.
        is_best = value is not None and value > self._best_value and report.epoch >= max(self._starts)
        if value is not None and is_best:
            self._best, self._best_value, self._best_epoch = self._with(weights), value, report.epoch
        tallies = tuple(replace(tally, dev_cost=costs.get(tally.name)) for tally in report.objectives)
        return replace(report, is_epoch_end=True, dev=scores, best=is_best, objectives=tallies)

    def _with(self, weights: Any) -> Model[Any]:
        trial = copy.copy(self._model)
        self._learner.install(trial, weights)
        return trial

    def _score(self, trial: Model[Any]) -> Measured | None:
        if not self._dev:
            return None
        outputs = trial.predict_batch([example.sentence for example in self._dev], threads=self._threads)
        return trial.scorer.score(self._dev, outputs)

    def _finish(self) -> None:
        if self._best is None:
            self._learner.install(self._model, self._learner.snapshot())
        else:
            self._model.adopt(self._best)

    def _save(self, file: Checkpoint, epoch: int) -> None:
        state = {
            "epoch": epoch,
            "rounds_by_epoch": self._rounds_by_epoch,
            "asked": self._asked,
            "streams": [stream.state() for stream in self._streams],
            "best_epoch": self._best_epoch,
            "best_value": self._best_value,
        }
        file.write(state, self._learner.tensors(), None if self._best is None else self._best.state())

    def _restore(self, state: dict[str, Any]) -> int:
        self._ask_again(state)
        # A warm start knows nothing of objectives that were yet to start.
        for stream, place in zip(self._streams, state["streams"], strict=False):
            stream.restore(place)
        self._learner.restore(state["learner"])
        if state["best"] is not None:
            self._best = type(self._model).from_state(*state["best"])
            self._best_value, self._best_epoch = state["best_value"], state["best_epoch"]
        return int(state["epoch"])

    def _ask_again(self, state: dict[str, Any]) -> None:
        """Ask the schedule for all rounds that were taken: so one with a memory goes on, and another one is noticed."""
        self._rounds_by_epoch = list(state["rounds_by_epoch"])
        for epoch, end in enumerate(self._rounds_by_epoch, start=1):
            active = self._active(epoch)
            while self._rounds < end:
                for number in active:
                    self._steps(number)
                self._rounds += 1
        if self._asked != state["asked"]:
            raise ConfigError(
                "the checkpoint is of a training with another schedule; "
                "resume with the same one, or remove it to start from the beginning"
            )

    def _resumed(self, done: int) -> Progress:
        """Report on the best epoch so far, or on the last one if there was nothing to choose by."""
        report = replace(self._report(self._best_epoch or done, 0.0), is_epoch_end=True, resumed=True)
        if self._best is None:
            return report
        return replace(report, dev=self._score(self._best), best=True)


def _starts(objectives: Sequence[Objective], *, epochs: int, warm_start: bool) -> list[int]:
    """Return the first epoch of each objective."""
    usual = 1 if warm_start else min(USUAL_START, epochs)
    starts = [objective.start or (usual if number else 1) for number, objective in enumerate(objectives)]
    for objective, start in zip(objectives, starts, strict=True):
        if start > epochs:
            raise ConfigError(
                f"{objective.name}: start is epoch {start}, but the last epoch is {epochs}; "
                "train longer, or start earlier"
            )
    if starts[0] > 1:
        raise ConfigError(
            f"{objectives[0].name}: the first objective, without a treebank, must start in epoch 1, found {starts[0]}"
        )
    return starts


def _mean_cost(model: Model[Any], objective: Objective, threads: int) -> float:
    items = [sentence_and_reference(item) for item in objective.dev]
    outputs = model.predict_batch([sentence for sentence, _ in items], threads=threads)
    assert objective.cost is not None
    costs = [
        objective.cost.costs(sentence, [output], reference)[0]
        for (sentence, reference), output in zip(items, outputs, strict=True)
    ]
    return sum(costs) / len(costs)
