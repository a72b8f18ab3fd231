"""Measure training through the public API: CPU time, memory, size of the model file, accuracy over seeds.

    python benchmarks/training.py --data DIR --cache DIR --output benchmarks/results/training-beam8-mira.json
    python benchmarks/training.py --parser graph --output benchmarks/results/training-graph.json

Each seed is trained in a process of its own on one thread; "memory above the interpreter" is its peak less
what it held when numpy and numba had been imported. Models stay in the cache, beside a record of what they
cost, until `--retrain`; the record names the commit.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import measure
import treetune
from treetune.build import PARSERS, make_parser
from treetune.evaluation import evaluate

TRAIN = Path("ud", "en_ewt-train.conllu")
PARTS = {"dev": Path("ud", "en_ewt-dev.conllu"), "test": Path("ud", "en_ewt-test.conllu")}
# What the peers see, so no FEATS.
INPUTS = ("upos", "xpos")
SCORES = ("UAS", "LAS", "LAS_without_subtypes")
COLUMNS = ("cpu_minutes", "memory_mb", "model_mb", *(f"{part}_{score}" for part in PARTS for score in SCORES))


TRANSITION = "transition"
DEFAULT_BEAM = 8


@dataclass(frozen=True)
class Settings:
    """What distinguishes the models of these benchmarks."""

    beam: int | None
    epochs: int
    seed: int
    features: str = "default"
    parser: str = TRANSITION

    @classmethod
    def of(cls, arguments: argparse.Namespace, seed: int) -> Settings:
        """Return the settings that the options ask for."""
        return cls(arguments.beam, arguments.epochs, seed, arguments.features, arguments.parser)

    @property
    def kind(self) -> str:
        """The parser, its features and the beam if it has one, as part of a file name."""
        if self.parser == TRANSITION:
            return f"{self.features}-beam{self.beam}"
        return f"{self.parser}-{self.features}"

    def model(self, cache: Path) -> Path:
        """Return where the model is kept."""
        return cache / f"treetune-{self.kind}-epochs{self.epochs}-seed{self.seed}.model"

    def record(self, cache: Path) -> Path:
        """Return where the cost of its training is kept."""
        return self.model(cache).with_suffix(".json")


def train_here(settings: Settings, *, data: Path, cache: Path) -> dict[str, Any]:
    """Train one model in this process, write it and its record, and return the record."""
    for heavy in ("numpy", "numba"):
        importlib.import_module(heavy)
    before = measure.rss_mb()
    model = settings.model(cache)
    learning: dict[str, Any] = {}
    seconds = measure.cpu_seconds(lambda: learning.update(train_and_save(settings, data, model)))
    record = {
        **measure.provenance(["numpy", "numba"]),
        "settings": asdict(settings),
        "learning": learning,
        "train_sha256": measure.sha256(data / TRAIN),
        "cpu_seconds": seconds,
        "cpu_minutes": seconds / 60,
        "peak_rss_mb": measure.peak_rss_mb(),
        "memory_mb": measure.peak_rss_mb() - before,
        "model_mb": measure.size_mb(model),
        **accuracies(model, data),
    }
    measure.write_json(settings.record(cache), record)
    return record


def train_and_save(settings: Settings, data: Path, model: Path) -> Mapping[str, Any]:
    """Read the treebank, train with the best epoch chosen on dev, write the model: all a user waits for.

    Return how it learned: what the defaults of the parser stand for.
    """
    parser = make_parser(settings.parser, beam=settings.beam, features=settings.features, inputs=INPUTS)
    treebank, dev = (list(treetune.read_trees(data / part)) for part in (TRAIN, PARTS["dev"]))
    for progress in treetune.train(parser, treebank, dev=dev, epochs=settings.epochs, seed=settings.seed):
        if progress.dev is not None:
            measure.say(f"  epoch {progress.epoch}: dev LAS {100 * progress.dev['LAS']:.2f}")
    treetune.save(parser, model)
    return progress.settings


def accuracies(model: Path, data: Path) -> dict[str, float]:
    """Return UAS, LAS, and LAS without subtypes (that of the official scorer) on dev and test."""
    parser = treetune.load(model)
    found = {}
    for part, source in PARTS.items():
        gold = list(treetune.read_trees(data / source))
        trees = parser.predict_batch([example.sentence for example in gold])
        scores, without = evaluate(gold, trees), evaluate(gold, trees, subtypes=False)
        found[f"{part}_UAS"], found[f"{part}_LAS"] = 100 * scores.uas, 100 * scores.las
        found[f"{part}_LAS_without_subtypes"] = 100 * without.las
    return found


def train_cached(settings: Settings, *, data: Path, cache: Path, retrain: bool = False) -> dict[str, Any]:
    """Return the record of a model, which is trained in a process of its own unless the cache holds it."""
    path = settings.record(cache)
    if not retrain and path.exists() and settings.model(cache).exists():
        cached: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if cached["train_sha256"] == measure.sha256(data / TRAIN):
            measure.say(f"{path.stem}: already in {cache}, trained at commit {cached['commit'][:12]}")
            return cached
    measure.say(f"{path.stem}: training")
    cache.mkdir(parents=True, exist_ok=True)
    given = {"here": settings.seed, **asdict(settings), "data": data, "cache": cache}
    options = [f"--{name}={value}" for name, value in given.items() if name != "seed" and value is not None]
    record = measure.run_child([__file__, *options])
    measure.say(
        f"{path.stem}: {record['cpu_minutes']:.1f} CPU-minutes, dev LAS {record['dev_LAS']:.2f}, "
        f"test LAS {record['test_LAS']:.2f}"
    )
    return record


def summarise(runs: list[dict[str, Any]], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the record of all seeds."""
    return {
        "benchmark": "training",
        **measure.provenance(["numpy", "numba"]),
        "settings": {
            "parser": arguments.parser,
            "beam": arguments.beam,
            "epochs": arguments.epochs,
            "features": arguments.features,
            # Missing from the records of models that an earlier version trained.
            "learning": runs[0].get("learning", {}),
            "inputs": list(INPUTS),
            "train": TRAIN.as_posix(),
        },
        "runs": runs,
        "mean": {column: measure.summary([run[column] for run in runs]) for column in COLUMNS},
    }


def command_line(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options that the user gave, or those of `words`."""
    parser = measure.command_line(__doc__)
    parser.add_argument("--output", type=Path, help="result file (default: standard output)")
    parser.add_argument("--parser", choices=list(PARSERS), default=TRANSITION, help="kind of parser")
    parser.add_argument("--beam", type=int, help=f"of training and parsing, transition only (default: {DEFAULT_BEAM})")
    parser.add_argument("--epochs", type=int, default=10, help="passes over the treebank (default: 10)")
    parser.add_argument("--features", default="default", help="feature templates (default: default)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="one model each")
    parser.add_argument("--retrain", action="store_true", help="do not use models of the cache")
    parser.add_argument("--here", type=int, metavar="SEED", help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.parser != TRANSITION and arguments.beam is not None:
        parser.error(f"argument --beam: a {arguments.parser} parser searches without a beam; leave it out")
    if arguments.parser == TRANSITION and arguments.beam is None:
        arguments.beam = DEFAULT_BEAM
    return arguments


def main() -> None:
    """Train all seeds and write the result; or, as a child of that, train one."""
    arguments = command_line()
    places = {"data": arguments.data, "cache": arguments.cache}
    if arguments.here is not None:
        print(json.dumps(train_here(Settings.of(arguments, arguments.here), **places)))
        return
    runs = [train_cached(Settings.of(arguments, seed), **places, retrain=arguments.retrain) for seed in arguments.seeds]
    measure.finish(summarise(runs, arguments), arguments.output)


if __name__ == "__main__":
    main()
