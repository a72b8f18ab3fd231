"""A recipe (parser, options, learner, perhaps a base parser) and examples go in, a trained parser comes out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import treetune
from corpora import Data
from many_orders import MANY, ManyOrders, merged
from supervision import keep
from targeting import best_of_lists
from treetune import Objective
from treetune.learning.jackknife import TrainOptions
from treetune.learning.progress import Progress
from treetune.learning.reranking import tune_weight
from treetune.learning.stacking import train_stacked
from treetune.learning.trainer import USUAL_START
from treetune.losses import Loss, make_loss
from treetune.models.base import Parser
from treetune.models.registry import make_parser

HERE = Path(__file__).resolve().parent


def loss_of(settings: Mapping[str, Any]) -> Loss[Any, Any]:
    """Return the loss of a name and options; in commands, {here} stands for the folder of this file."""
    options = {name: value for name, value in _located(settings).items() if name != "name"}
    if settings["name"] == MANY:
        return ManyOrders(**options)
    return make_loss(settings["name"], **options)


def _located(settings: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(settings)
    if "command" in found:
        found["command"] = [word.format(here=HERE, python=sys.executable) for word in found["command"]]
    if "parts" in found:
        found["parts"] = [_located(part) for part in found["parts"]]
    return found


def portable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they read on any machine, the reverse of what `loss_of` does to commands."""
    text = json.dumps(dict(settings)).replace(json.dumps(sys.executable)[1:-1], "{python}")
    found: dict[str, Any] = json.loads(text.replace(json.dumps(str(HERE))[1:-1], "{here}"))
    return found


@dataclass(frozen=True)
class Extra:
    """An objective besides the treebank.

    `file` is one of the corpus (of `others` or `train`), of whose trees `known` is told (see `supervision`); a loss
    over word orders is told the orders beside it, and no tree. `loss` is a name and options as in experiment files,
    `options` are those of `treetune.Objective`.
    """

    file: str
    known: str | int
    loss: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self, data: Data) -> Objective:
        """Return the objective."""
        loss = loss_of(self.loss)
        return Objective(self._items(data, loss), loss, name=f"{self.loss['name']} on {self.file}", **self.options)

    def _items(self, data: Data, loss: Loss[Any, Any]) -> list[Any]:
        if self.loss["name"] == MANY:
            return merged({file: list(data.ordered(file)) for file in self.loss["rules"]})
        if loss.reference == "order":
            return [(example.sentence, order) for example, order in data.ordered(self.file)]
        return list(keep(data.others.get(self.file, data.train), self.known))


@dataclass(frozen=True)
class Recipe:
    """How a parser is made and trained.

    `parser` is a name of `treetune.models.registry.PARSERS`, `options` are those of its class, `learning` those of
    `treetune.train`. With a `base` the parser sees the trees of another one; for the training data they are
    made by jackknifing with `folds` parts. With a `second` the trees it finds are reranked by another one, whose weight
    is chosen on dev. `extras` are objectives besides the treebank, `passes` how often as many epochs as usual are made.
    `targeted` is an objective for targeted self-training instead (see `targeting`): its k is how many trees to choose
    from. `then` are objectives with which the trained parser goes on, without the treebank, for `then_epochs` passes
    over the first of them.
    """

    parser: str
    options: Mapping[str, Any] = field(default_factory=dict)
    learning: Mapping[str, Any] = field(default_factory=dict)
    base: Recipe | None = None
    folds: int = 10
    extras: tuple[Extra, ...] = ()
    passes: int = 1
    targeted: Extra | None = None
    then: tuple[Extra, ...] = ()
    then_epochs: int = 1
    second: Recipe | None = None

    def settings(self) -> dict[str, Any]:
        """Return all of it; what came later is left out where it has no part, so that older runs are recognised."""
        found = asdict(self)
        if not self.extras:
            del found["extras"]
        if self.passes == 1:
            del found["passes"]
        if self.targeted is None:
            del found["targeted"]
        if not self.then:
            del found["then"], found["then_epochs"]
        if self.base is not None:
            found["base"] = self.base.settings()
        if self.second is None:
            del found["second"]
        else:
            found["second"] = self.second.settings()
        return found

    def make(self, options: Mapping[str, Any]) -> Parser:
        """Return the untrained parser; `options` of the corpus hold where the recipe has none."""
        chosen = {**options, **self.options}
        return make_parser(self.parser, **{**chosen, "inputs": tuple(chosen["inputs"])})


@dataclass
class WarmStart:
    """A file with the state of a training before its objectives start, and what that took.

    Rows that differ only in their objectives share it: they have the same first epochs.
    """

    file: Path
    borrowed: float = 0.0
    _start: float = field(default_factory=time.process_time)

    @property
    def _seconds(self) -> Path:
        return self.file.with_suffix(".json")

    def note(self, progress: Progress) -> None:
        """Keep the CPU time of the first epochs, or take that of whoever made them."""
        if progress.resumed:
            self.borrowed = json.loads(self._seconds.read_text(encoding="utf-8"))
        elif progress.is_epoch_end and self.file.exists() and not self._seconds.exists():
            self._seconds.write_text(json.dumps(time.process_time() - self._start), encoding="utf-8")


@dataclass
class Training:
    """What is noted while a parser is trained: its scores on dev after every epoch, what its objectives did, and how
    it learns."""

    say: Callable[[str], None]
    epochs: list[dict[str, float]] = field(default_factory=list)
    learner: dict[str, Any] = field(default_factory=dict)
    tallies: list[list[dict[str, Any]]] = field(default_factory=list)
    warm: WarmStart | None = None

    def note(self, progress: Progress) -> None:
        """Take in one report."""
        self.learner = portable(progress.settings)
        if progress.is_epoch_end and len(progress.objectives) > 1:
            self.tallies.append([asdict(tally) for tally in progress.objectives])
            self.say(f"  epoch {progress.epoch} of {progress.epochs}: {progress.objectives[1:]}")
        if progress.dev is not None:
            self.epochs.append({"UAS": 100 * progress.dev["UAS"], "LAS": 100 * progress.dev["LAS"]})
            self.say(f"  epoch {progress.epoch} of {progress.epochs}: dev LAS {self.epochs[-1]['LAS']:.2f}")

    def train(self, recipe: Recipe, data: Data, *, options: Mapping[str, Any], epochs: int, seed: int) -> Parser:
        """Return a parser trained by a recipe, with the weights of the epoch that is best on dev."""
        if recipe.second is not None:
            second = Training(self.say).train(recipe.second, data, options=options, epochs=epochs, seed=seed)
            main = self.train(replace(recipe, second=None), data, options=options, epochs=epochs, seed=seed)
            return tune_weight(main, second, data.dev)[0]
        if recipe.base is not None:
            return self._train_stacked(recipe, recipe.base, data, options=options, epochs=epochs, seed=seed)
        parser = recipe.make(options)
        treebank = data.train
        if recipe.targeted is not None:
            first = self.train(replace(recipe, targeted=None), data, options=options, epochs=epochs, seed=seed)
            treebank = [*treebank, *best_of_lists(first, recipe.targeted.make(data))]
        objectives = [extra.make(data) for extra in recipe.extras]
        alone = min((objective.start or USUAL_START for objective in objectives), default=USUAL_START) - 1
        # The trees that self-training adds are in no other row's treebank.
        can_share = not data.dev and recipe.targeted is None
        warm = self.warm if can_share and 0 < alone < epochs * recipe.passes else None
        reports = treetune.train(
            parser,
            treebank,
            objectives=objectives,
            dev=data.dev,
            epochs=epochs * recipe.passes,
            seed=seed,
            pretraining_cache=None if warm is None else warm.file,
            **recipe.learning,
        )
        for progress in reports:
            self.note(progress)
            if warm is not None:
                warm.note(progress)
        if recipe.then:
            self._go_on(parser, recipe, data, seed=seed)
        return parser

    def _go_on(self, parser: Parser, recipe: Recipe, data: Data, *, seed: int) -> None:
        """Let a trained parser learn from other objectives alone."""
        objectives = [extra.make(data) for extra in recipe.then]
        for progress in treetune.train(
            parser, objectives=objectives, epochs=recipe.then_epochs, seed=seed, warm_start=True
        ):
            if progress.is_epoch_end:
                self.say(f"  pass {progress.epoch} without the treebank: {progress.objectives}")

    def _train_stacked(
        self, recipe: Recipe, base: Recipe, data: Data, *, options: Mapping[str, Any], epochs: int, seed: int
    ) -> Parser:
        reports = train_stacked(
            partial(base.make, options),
            partial(recipe.make, options),
            data.train,
            dev=data.dev,
            folds=recipe.folds,
            base_options=cast(TrainOptions, {"epochs": epochs, **base.learning}),
            main_options=cast(TrainOptions, {"epochs": epochs, **recipe.learning}),
            seed=seed,
        )
        for report in reports:
            if report.fold is not None and report.training is None:
                self.say(f"  fold {report.fold.fold} of {report.fold.folds} parsed")
            if report.stage == "main" and report.training is not None:
                self.note(report.training)
        # The last report has it.
        assert report.model is not None
        return report.model
