"""Train a model on a treebank and on any other objectives, epoch by epoch, as a generator of progress reports.

This is the augmented-loss algorithm of Hall et al. (2011), Algorithm 2. With a treebank alone it is plain training.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from treetune.checked_state import expected
from treetune.errors import ConfigError, check_minimum, type_of
from treetune.evaluation.scorers import Scorer
from treetune.learning.checkpoints import Checkpoint, fingerprint
from treetune.learning.epochs import LearnerEpochs
from treetune.learning.mixing import LocalPool, MakePool, MixedEpochs, ShardWork, check_mixing
from treetune.learning.model_selection import ModelSelection, check_choice
from treetune.learning.objectives import GOLD, Objective
from treetune.learning.progress import Progress
from treetune.learning.schedule import Schedule
from treetune.models.base import Learner, Model
from treetune.models.learning_options import DEFAULT_SEED, LearningOptions

# The epoch in which other objectives start by default: before, the candidates are not worth comparing.
USUAL_START = 3
# From so many passes an epoch over the data of an objective, beside so large a treebank, there is a warning.
MANY_REPETITIONS, LARGE_TREEBANK = 50, 1000


def train(
    model: Model[Any],
    treebank: Sequence[Any] = (),
    *,
    objectives: Sequence[Objective] = (),
    schedule: Schedule | None = None,
    dev: Sequence[Any] = (),
    choose_by: str | None = None,
    epochs: int = 10,
    seed: int = DEFAULT_SEED,
    threads: int = 1,
    warm_start: bool = False,
    start_share: float = 0.0,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    pretraining_cache: str | Path | None = None,
    shards: int = 1,
    mixes: int = 1,
    make_pool: MakePool = LocalPool,
    **learning: Unpack[LearningOptions],
) -> Iterator[Progress]:
    """Train `model` and yield progress; consume it all, or the model stays as it was.

    Args:
        model: Is given the averaged weights of the best epoch by `choose_by`, among those in which all objectives took
            part; of the last epoch without dev data.
        treebank: For a parser, examples with complete trees; a projective parser projectivizes them first. For a
            tagger, `Tagged` sentences (`corpus.tags.tagged`). May be empty with `warm_start`.
        objectives: The extrinsic objectives, or other treebanks; see `Objective`.
        schedule: How many steps each objective takes in each round; by default according to their rates.
        dev: Examples to choose the best epoch by.
        choose_by: A metric on `dev` ("UAS", "root", …; by default "LAS", for taggers "accuracy"), or the name of an
            objective with dev data of its own, whose mean cost is minimized.
        epochs: Passes over the treebank, or over the first objective without a treebank.
        seed: Shuffles the sentences; the same seed gives the same weights.
        threads: For parsing `dev` only; the result does not depend on it.
        warm_start: Whether to start from the weights of `model`, instead of from zero.
        start_share: With a warm start, the share of the weights at the start in the averaged weights: regularisation
            towards them. With 0.5 the model ends halfway between them and the average of all steps.
        checkpoint: A file to which the state of the training is written after each epoch. It stays when training is
            done: remove it when the model has been saved.
        resume: Whether to resume from `checkpoint`, if it exists; the final model is the same as without the
            interruption.
        pretraining_cache: A file with the state before the first of `objectives` starts (after two epochs if there are
            none), for trainings that differ only in what comes then: read if it exists, else written. The model is the
            same as without it. Not for trainings with dev data.
        shards: Into how many parts the data are divided: with more than one, each epoch trains a learner on each part
            from the same weights, and mixes (averages) their weights (McDonald, Hall & Mann 2010). For the perceptron
            and MIRA.
        mixes: How often the weights are mixed in each epoch, with shards: the data of each are divided into so many
            turns. Each time all weights are sent.
        make_pool: Where the parts are trained; the model does not depend on it. By default here, one after the other;
            `treetune.cluster.training.ray_pool(ADDRESS)` is for a cluster.
        learning: The update: `learner`, `k`, `clip`, `update`, `cost_augmented`; see `LearningOptions`.
    """
    counts = (
        ("epochs", epochs, 1), ("seed", seed, 0), ("threads", threads, 1), ("shards", shards, 1), ("mixes", mixes, 1)
    )  # fmt: skip
    for name, value, least in counts:
        check_minimum(name, value, least)
    if mixes > 1 and shards == 1:
        raise ConfigError(f"mixes: expected shards whose weights to mix, found shards=1 and mixes={mixes}")
    if resume and checkpoint is None:
        raise ConfigError("expected a checkpoint to resume from, found none")
    if not hasattr(model, "learner"):
        hint = "; train its parser, .parser" if hasattr(model, "parser") else ""
        raise ConfigError(f"expected a parser or a tagger to train, found {type_of(model)}{hint}")
    for name, examples in (("treebank", treebank), ("dev", dev)):
        if isinstance(examples, str | Path):
            raise ConfigError(
                f"{name}: expected examples, found the path {str(examples)!r}; read them first: "
                f"list(treetune.read_trees({str(examples)!r}))"
            )
    if warm_start and not model.is_trained:
        raise ConfigError("expected a trained model for a warm start, found one without weights")
    if not 0 <= start_share < 1 or (start_share and not warm_start):
        raise ConfigError(f"start_share: expected 0, or a share of less than 1 with a warm start, found {start_share}")
    treebank = treebank if isinstance(treebank, Sequence) else list(treebank)
    if not treebank and not objectives:
        raise ConfigError("expected a treebank or an objective to train on, found neither")
    everything = (*([Objective(treebank, name="treebank", start=1)] if treebank else ()), *objectives)
    _check_names(everything, model.scorer)
    if schedule is None:
        _warn_of_repetition(everything)
    check_choice(everything, model.scorer, dev, choose_by)
    gold = [example for objective in everything if objective.is_intrinsic for example in _examples(objective)]
    learner = model.learner(gold, seed=seed, warm_start=warm_start, **learning)
    if shards > 1:
        check_mixing(learner, everything, shards, mixes, schedule)
    training = _Training(
        model, learner, everything, schedule, dev,
        choose_by=choose_by or model.scorer.usual, epochs=epochs, seed=seed, threads=threads, warm_start=warm_start,
        start_share=start_share, checkpoint=checkpoint, pretraining_cache=pretraining_cache, shards=shards,
        mixes=mixes, make_pool=make_pool, learning=learning,
    )  # fmt: skip
    return training.run(resume=resume)


def _examples(objective: Objective) -> Sequence[Any]:
    examples = [item for item in objective.data if isinstance(item, GOLD)]
    if len(examples) < len(objective.data):
        raise ConfigError(f"{objective.name}: expected examples with gold trees, or a loss for other references")
    return examples


def _check_names(objectives: Sequence[Objective], scorer: Scorer) -> None:
    for objective in objectives:
        if not isinstance(objective, Objective):
            raise ConfigError(f"expected an Objective, found {type_of(objective)}; make one: Objective(data, loss)")
    names = [objective.name for objective in objectives]
    for objective in objectives:
        if names.count(objective.name) > 1:
            raise ConfigError(f"two objectives are called {objective.name!r}; give them names of their own")
        if objective.name in scorer.metrics:
            raise ConfigError(f"an objective cannot be called {objective.name}: that is a metric")
        objective.check()


def _warn_of_repetition(objectives: Sequence[Objective]) -> None:
    """Warn if the few sentences of an objective are learned by heart beside a large treebank."""
    examples = len(objectives[0].data)
    for objective in objectives[1:] if examples >= LARGE_TREEBANK else ():
        repeated = objective.rate_beside(examples) * examples / len(objective.data)
        if repeated >= MANY_REPETITIONS and not objective.is_intrinsic:
            warnings.warn(
                f"{objective.name}: {len(objective.data)} sentences are repeated {repeated:.0f} times an epoch, "
                "which can do harm; a lower rate, or treetune adapt, which tests on held-out answers, is safer",
                stacklevel=3,
            )


class _Training:
    """One run of `train`: the loop over epochs, and what a checkpoint keeps of it."""

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
        start_share: float,
        checkpoint: str | Path | None,
        pretraining_cache: str | Path | None,
        shards: int,
        mixes: int,
        make_pool: MakePool,
        learning: LearningOptions,
    ) -> None:
        self._model = model
        self._learner = learner
        self._epochs = epochs
        self._starts = _starts(objectives, epochs=epochs, warm_start=warm_start)
        self._objectives = objectives
        self._work: LearnerEpochs | MixedEpochs
        if shards == 1:
            self._work = LearnerEpochs(learner, objectives, schedule, self._starts, seed=seed)
        else:
            taken = {"seed": seed, "warm_start": warm_start, **learning}
            work = ShardWork(model, objectives, self._starts, shards, mixes, taken)
            self._work = MixedEpochs(learner, work, make_pool)
        self._settings = learner.settings() | ({"start_share": start_share} if start_share else {})
        if start_share:
            # Steps before the first update are taken with the weights of the start.
            rates = [objective.rate_beside(len(objectives[0].data)) for objective in objectives]
            steps = epochs * len(objectives[0].data) * sum(rates)
            for _ in range(round(steps / shards * start_share / (1 - start_share))):
                learner.step()
        self._selection = ModelSelection(
            dev, objectives, choose_by=choose_by, first_epoch=max(self._starts), threads=threads
        )
        self._checkpoint = self._cache = None
        self._cached_epochs = min(self._starts[1:], default=USUAL_START) - 1
        start = self._with(learner.snapshot()).state() if checkpoint or pretraining_cache else ({}, {})
        mixed = {name: count for name, count in (("shards", shards), ("mixes", mixes)) if count > 1}
        self._settings |= mixed
        options: dict[str, Any] = {"seed": seed, "warm_start": warm_start, "settings": learner.settings(), **mixed}
        if pretraining_cache is not None:
            self._check_cache()
            cached = {**options, "cached_epochs": self._cached_epochs}
            self._cache = Checkpoint(pretraining_cache, fingerprint(cached, start, objectives[0].data))
        if len(objectives) > 1 or not objectives[0].is_intrinsic:
            self._settings["objectives"] = [
                {**objective.settings(), "start": start}
                for objective, start in zip(objectives, self._starts, strict=True)
            ]
        if checkpoint is not None:
            options |= {"settings": self._settings, "epochs": epochs, "choose_by": choose_by}
            data = (*(objective.data for objective in objectives), *(objective.dev for objective in objectives), dev)
            self._checkpoint = Checkpoint(checkpoint, fingerprint(options, start, *data))

    def _check_cache(self) -> None:
        if self._selection.is_needed:
            raise ConfigError("a pretraining cache has no scores on dev data; train without dev, or without the cache")
        if not 0 < self._cached_epochs < self._epochs:
            raise ConfigError("a pretraining cache needs an epoch before objectives start, and one after it")

    def run(self, *, resume: bool) -> Iterator[Progress]:
        """Train the epochs that are left."""
        try:
            training = self._run(resume=resume)
            yield from training if self._checkpoint is None else self._checkpoint.held(training)
        finally:
            # External programs, also after an error or when the generator is closed.
            for objective in self._objectives:
                if objective.cost is not None:
                    objective.cost.close()
            if isinstance(self._work, MixedEpochs):
                self._work.close()

    def _run(self, *, resume: bool) -> Iterator[Progress]:
        done = 0
        for file in (self._checkpoint if resume else None, self._cache):
            if file is not None and (state := file.read()) is not None:
                with file.restoring():
                    done = self._restore(state)
                yield self._resumed(done)
                break
        for epoch in range(done + 1, self._epochs + 1):
            last = None
            for last in self._train_epoch(epoch):
                yield last
            assert last is not None
            end = self._evaluate(last)
            if epoch == self._epochs and self._selection.model is None:
                self._selection.model = self._with(self._learner.snapshot())
            if self._checkpoint is not None:
                self._save(self._checkpoint, epoch)
            if self._cache is not None and epoch == self._cached_epochs:
                self._save(self._cache, epoch)
            if epoch == self._epochs:
                self._finish()
            yield end
        if done == self._epochs:
            self._finish()

    def _train_epoch(self, epoch: int) -> Iterator[Progress]:
        for _ in self._work.train(epoch):
            yield self._report(epoch, self._work.cpu_seconds)

    def _report(self, epoch: int, seconds: float) -> Progress:
        tallies = self._work.tallies()
        return Progress(
            epoch=epoch,
            epochs=self._epochs,
            seen=self._work.seen,
            total=self._work.total,
            updated=tallies[0].updated,
            words=self._work.words,
            cpu_seconds=seconds,
            settings=self._settings,
            objectives=tallies,
        )

    def _evaluate(self, report: Progress) -> Progress:
        """Measure the epoch that has just ended, and keep its weights if they are the best."""
        if not self._selection.is_needed:
            return replace(report, is_epoch_end=True)
        weights = self._learner.snapshot()
        scores, costs, is_best = self._selection.evaluate(lambda: self._with(weights), report.epoch)
        objectives = tuple(replace(one, dev_cost=costs.get(one.name)) for one in report.objectives)
        return replace(report, is_epoch_end=True, dev=scores, best=is_best, objectives=objectives)

    def _with(self, weights: Any) -> Model[Any]:
        trial = copy.copy(self._model)
        self._learner.install(trial, weights)
        return trial

    def _finish(self) -> None:
        assert self._selection.model is not None
        self._model.adopt(self._selection.model)

    def _save(self, file: Checkpoint, epoch: int) -> None:
        state = {
            "epoch": epoch,
            **self._work.state(),
            **self._selection.state(),
        }
        best = self._selection.model
        # Of a finished training only the model is of use.
        learner = {} if epoch == self._epochs else self._learner.tensors()
        file.write(state, learner, None if best is None else best.state())

    def _restore(self, state: dict[str, Any]) -> int:
        done, best = state["epoch"], state["best"]
        if type(done) is not int or not 1 <= done <= self._epochs or (best is None and done == self._epochs):
            raise expected("epoch", f"one of {self._epochs} epochs, and a model after the last", done)
        self._work.restore(state)
        self._selection.restore(None if best is None else type(self._model).from_state(*best), state)
        if done < self._epochs:
            self._learner.restore(state["learner"])
        return done

    def _resumed(self, done: int) -> Progress:
        """Report on the best epoch so far, or on the last one without dev data."""
        best_epoch, best = self._selection.epoch, self._selection.model
        report = replace(self._report(best_epoch or done, 0.0), is_epoch_end=True, resumed=True)
        return replace(report, dev=self._selection.score(best), best=True) if best_epoch and best else report


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
