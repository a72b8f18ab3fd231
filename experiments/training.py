"""The settings of a row and its data go in; a trained parser comes out. All calls of treetune's trainers are here."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

import treetune
from experiments.data import Data, keep, objective_files
from treetune import Example, Objective, Sentence, Tree
from treetune.corpus.orders import WordOrder
from treetune.learning.jackknife import TrainOptions
from treetune.learning.objectives import sentence_and_reference
from treetune.learning.progress import Progress
from treetune.learning.reranking import tune_weight
from treetune.learning.stacking import train_stacked
from treetune.learning.trainer import USUAL_START
from treetune.losses import Loss, Reordering, make_loss
from treetune.models.base import Parser
from treetune.models.registry import make_parser

HERE = Path(__file__).resolve().parent
QUICK_EPOCHS, QUICK_FOLDS = 2, 2

Config = Mapping[str, Any]
Orders = Mapping[str, WordOrder]


class ManyOrders(Loss[Tree, Orders]):
    """The mean of the reordering loss over the languages for which a sentence has a word order.

    `rules` has the rule set of each file of word orders; the mean is multiplied by `weight`.
    """

    name: ClassVar[str] = "reordering of several languages"

    def __init__(self, rules: Mapping[str, str], *, weight: float = 1.0) -> None:
        self._losses = {file: Reordering(rules=one) for file, one in rules.items()}
        self._rules, self._weight = dict(rules), weight

    def __call__(self, sentence: Sentence, output: Tree, reference: Orders) -> float:
        """Return the mean cost."""
        costs = [self._losses[file](sentence, output, order) for file, order in reference.items()]
        return self._weight * sum(costs) / len(costs)

    def settings(self) -> dict[str, Any]:
        """Return name and rule sets."""
        return {"name": self.name, "rules": self._rules, "weight": self._weight}


def merged_orders(files: Mapping[str, Sequence[tuple[Example, WordOrder]]]) -> list[tuple[Sentence, Orders]]:
    """Return each sentence once, with its orders by file; sentences are the same if their words are."""
    found: dict[tuple[str, ...], tuple[Sentence, dict[str, WordOrder]]] = {}
    for file, pairs in files.items():
        for example, order in pairs:
            found.setdefault(example.sentence.forms[1:], (example.sentence, {}))[1][file] = order
    return list(found.values())


def build_loss(settings: Config) -> Loss[Any, Any]:
    """Return the loss of a name and options; in commands, {here} stands for the folder of this file."""
    options = {name: value for name, value in _located(settings).items() if name != "name"}
    return ManyOrders(**options) if settings["name"] == ManyOrders.name else make_loss(settings["name"], **options)


def _located(settings: Config) -> dict[str, Any]:
    found = dict(settings)
    if "command" in found:
        found["command"] = [word.format(here=HERE, python=sys.executable) for word in found["command"]]
    if "parts" in found:
        found["parts"] = [_located(part) for part in found["parts"]]
    return found


def portable(settings: Config) -> dict[str, Any]:
    """Return settings as they read on any machine, the reverse of what `build_loss` does to commands."""
    text = json.dumps(dict(settings)).replace(json.dumps(sys.executable)[1:-1], "{python}")
    found: dict[str, Any] = json.loads(text.replace(json.dumps(str(HERE))[1:-1], "{here}"))
    return found


def build_objective(settings: Config, data: Data) -> Objective:
    """Return an objective: its data, of whose trees `known` is kept, its loss, and the options of `Objective`."""
    loss = build_loss(settings["loss"])
    options = {key: value for key, value in settings.items() if key not in ("data", "known", "loss")}
    items: Sequence[Any]
    if isinstance(settings["data"], list):
        items = merged_orders({file: list(data.ordered(file)) for file in settings["data"]})
    elif loss.reference == "order":
        items = [(example.sentence, order) for example, order in data.ordered(settings["data"])]
    else:
        items = keep(data.others.get(settings["data"], data.train), settings.get("known", "everything"))
    return Objective(items, loss, name=f"{settings['loss']['name']} on {settings['data']}", **options)


def build_parser(config: Config) -> Parser:
    """Return the untrained parser of the table [model]."""
    options = {**config["model"], "inputs": tuple(config["model"]["inputs"])}
    return make_parser(options.pop("parser"), **options)


def quick(config: Config, epochs: int) -> dict[str, Any]:
    """Return the settings of a quick trial: few epochs, and every objective starts before the last of them."""
    changed = {**config, "train": {**config["train"], "epochs": config["train"]["epochs"] * QUICK_EPOCHS // epochs}}
    if "objective" in config:
        changed["objective"] = [{**one, "start": QUICK_EPOCHS} for one in config["objective"]]
    if "base" in config:
        changed["base"] = {**config["base"], "folds": QUICK_FOLDS}
    base = config.get("uptrain", {}).get("base", {})
    if "objective" in base:
        started = [{**one, "start": QUICK_EPOCHS} for one in base["objective"]]
        changed["uptrain"] = {**config["uptrain"], "base": {**base, "objective": started}}
    return changed


def warm_up(config: Config, data: Data) -> None:
    """Train on next to nothing, so that no run is charged for compiling."""
    little = data.first(30)
    small = {key: value for key, value in config.items() if key != "self_training"}
    small["train"] = {**config["train"], "epochs": 1}
    small["objective"] = [{**one, "start": 1} for one in config.get("objective", ())]
    if "base" in small:
        small["base"] = {**small["base"], "folds": 2}
    if "fine_tune" in small:
        small["fine_tune"] = {**small["fine_tune"], "epochs": 1}
    Training(lambda _: None).train(small, little, seed=0).predict_batch([one.sentence for one in little.train])


@dataclass
class SharedEpochs:
    """A file with the state of a training before its objectives start, and what that took.

    Rows that differ only in their objectives share it: they have the same first epochs.
    """

    file: Path
    borrowed: float = 0.0
    _start: float = field(default_factory=time.process_time)

    @classmethod
    def of(cls, folder: Path, config: Config, seed: int) -> SharedEpochs:
        """Return where the first epochs of a row are kept: in a file for all that decides them."""
        starts = [one.get("start") for one in config.get("objective", ())] or [USUAL_START]
        data = {key: value for key, value in config["data"].items() if key != "tests"}
        decides = [config["model"], config.get("learner"), config.get("base"), data, seed, starts]
        if "uptrain" in config:
            # The tagger of text learns from the sentences of objectives too.
            tagged = any(kind in config["uptrain"] for kind in ("text", "words"))
            decides += [config["uptrain"], objective_files(config) if tagged else []]
        name = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]
        return cls(folder / f"{name}.warm")

    def note(self, progress: Progress) -> None:
        """Keep the CPU time of the first epochs, or take that of whoever made them."""
        kept = self.file.with_suffix(".json")
        if progress.resumed:
            self.borrowed = json.loads(kept.read_text(encoding="utf-8"))
        elif progress.is_epoch_end and self.file.exists() and not kept.exists():
            kept.write_text(json.dumps(time.process_time() - self._start), encoding="utf-8")


@dataclass
class Training:
    """Trains the parser of a row, and notes its scores on dev after every epoch and what its objectives did."""

    say: Callable[[str], None]
    epochs: list[dict[str, float]] = field(default_factory=list)
    learner: dict[str, Any] = field(default_factory=dict)
    tallies: list[list[dict[str, Any]]] = field(default_factory=list)
    shared: SharedEpochs | None = None

    def note(self, progress: Progress) -> None:
        """Take in one report."""
        self.learner = portable(progress.settings)
        if progress.is_epoch_end and len(progress.objectives) > 1:
            self.tallies.append([asdict(tally) for tally in progress.objectives])
            self.say(f"  epoch {progress.epoch} of {progress.epochs}: {progress.objectives[1:]}")
        if progress.dev is not None:
            self.epochs.append({"UAS": 100 * progress.dev["UAS"], "LAS": 100 * progress.dev["LAS"]})
            self.say(f"  epoch {progress.epoch} of {progress.epochs}: dev LAS {self.epochs[-1]['LAS']:.2f}")

    def train(self, config: Config, data: Data, *, seed: int) -> Parser:
        """Return a parser trained by the settings of a row, with the weights of the epoch that is best on dev."""
        if "reranker" in config:
            alone = {key: value for key, value in config.items() if key != "reranker"}
            second = Training(self.say).train({**alone, **part(config, "reranker")}, data, seed=seed)
            return tune_weight(self.train(alone, data, seed=seed), second, data.dev)[0]
        if "base" in config:
            return self._train_stacked(config, data, seed=seed)
        treebank = data.train
        if "self_training" in config:
            alone = {key: value for key, value in config.items() if key != "self_training"}
            first = self.train(alone, data, seed=seed)
            treebank = [*treebank, *best_of_lists(first, build_objective(config["self_training"], data))]
        parser = self._train(config, treebank, data, seed=seed)
        if "fine_tune" in config:
            self._fine_tune(parser, config["fine_tune"], data, seed=seed)
        return parser

    def _train(self, config: Config, treebank: Sequence[Example], data: Data, *, seed: int) -> Parser:
        parser = build_parser(config)
        objectives = [build_objective(one, data) for one in config.get("objective", ())]
        alone = min((one.start or USUAL_START for one in objectives), default=USUAL_START) - 1
        # The trees that self-training adds are in no other row's treebank.
        can_share = not data.dev and "self_training" not in config and 0 < alone < config["train"]["epochs"]
        shared = self.shared if can_share else None
        for progress in treetune.train(
            parser,
            treebank,
            objectives=objectives,
            dev=data.dev,
            seed=seed,
            pretraining_cache=None if shared is None else shared.file,
            **config["train"],
            **config.get("learner", {}),
        ):
            self.note(progress)
            if shared is not None:
                shared.note(progress)
        return parser

    def _fine_tune(self, parser: Parser, config: Config, data: Data, *, seed: int) -> None:
        """Train a trained parser on other objectives, without the treebank."""
        objectives = [build_objective(one, data) for one in config["objective"]]
        for progress in treetune.train(
            parser, objectives=objectives, epochs=config["epochs"], seed=seed, warm_start=True
        ):
            if progress.is_epoch_end:
                self.say(f"  pass {progress.epoch} without the treebank: {progress.objectives}")

    def _train_stacked(self, config: Config, data: Data, *, seed: int) -> Parser:
        base = {**config, **part(config, "base")}
        reports = train_stacked(
            partial(build_parser, base),
            partial(build_parser, config),
            data.train,
            dev=data.dev,
            folds=config["base"]["folds"],
            base_options=cast(TrainOptions, {**config["train"], **base.get("learner", {})}),
            main_options=cast(TrainOptions, {**config["train"], **config.get("learner", {})}),
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


def part(config: Config, name: str) -> dict[str, Any]:
    """Return the tables of another parser of the row; it reads what the parser of the row reads."""
    other = config[name]
    return {"model": {"inputs": config["model"]["inputs"], **other["model"]}, "learner": other.get("learner", {})}


def base_of(config: Config, name: str) -> dict[str, Any]:
    """Return the settings of a base parser for uptraining; without a model it is a parser of the row's own kind."""
    other = config["uptrain"].get(name, {})
    kept = {key: config[key] for key in ("data", "train", "model", "learner") if key in config}
    own = part({**config["uptrain"], "model": config["model"]}, name) if "model" in other else {}
    return {**kept, **own, **{key: other[key] for key in ("reranker", "objective", "train") if key in other}}


def best_of_lists(parser: Parser, objective: Objective) -> list[Example]:
    """Return each sentence of an objective with that of the parser's `k` best trees that costs least.

    Targeted self-training (Katz-Brown et al. 2011): the trees are chosen once, and then learned as if they were gold.
    """
    assert objective.cost is not None
    found = []
    for sentence, reference in map(sentence_and_reference, objective.data):
        trees = [candidate.output for candidate in parser.k_best(sentence, objective.k)]
        costs = objective.cost.costs(sentence, trees, reference)
        # Of equal costs the one that the parser scores highest.
        found.append(Example(sentence, trees[costs.index(min(costs))]))
    return found
