"""Training of parsers: CPU time, memory, size of the model file and accuracy over seeds.

Each seed is trained by `treetune train` as users run it, with its checkpoint, on one thread, from the treebank file to
the model file; "memory above the interpreter" is its peak less that of a process that imports numpy and numba. Models
stay in the cache, beside a record of what they cost, until `--retrain`; the record names the commit.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import treetune
from benchmarks import measure
from treetune.evaluation import evaluate_trees
from treetune.models.registry import PARSERS
from treetune.storage import inspect

TRAIN, PARTS = measure.TRAIN, measure.PARTS
# What the peers see, so no FEATS.
INPUTS = ("upos", "xpos")
SCORES = ("UAS", "LAS", "LAS_without_subtypes")
COLUMNS = ("cpu_minutes", "memory_mb", "model_mb", *(f"{part}_{score}" for part in PARTS for score in SCORES))
TRANSITION, DEFAULT_BEAM = "transition", 8


@dataclass(frozen=True)
class Settings:
    """What distinguishes the models of these benchmarks."""

    beam: int | None
    epochs: int
    seed: int
    features: str = "default"
    parser: str = TRANSITION

    @property
    def kind(self) -> str:
        """The parser, its features and the beam if it has one, as part of a file name."""
        return f"{self.features}-beam{self.beam}" if self.parser == TRANSITION else f"{self.parser}-{self.features}"

    def model(self, cache: Path) -> Path:
        """Return where the model is kept."""
        return cache / f"treetune-{self.kind}-epochs{self.epochs}-seed{self.seed}.model"

    def record(self, cache: Path) -> Path:
        """Return where the cost of its training is kept."""
        return self.model(cache).with_suffix(".json")


def train_here(settings: Mapping[str, Any], data: str, cache: str) -> dict[str, Any]:
    """Train one model, write its record, and return that."""
    chosen, folder = Settings(**settings), Path(data)
    model = chosen.model(Path(cache))
    interpreter = measure.run_command([sys.executable, "-c", "import numpy, numba"])["peak_rss_mb"]
    took = measure.run_command(command(chosen, folder, model))
    record = {
        **measure.provenance(["numpy", "numba"]),
        "settings": asdict(chosen),
        "learning": inspect(model).info["config"]["learner"],
        "train_sha256": measure.sha256(folder / TRAIN),
        "cpu_seconds": took["cpu_seconds"],
        "cpu_minutes": took["cpu_seconds"] / 60,
        "peak_rss_mb": took["peak_rss_mb"],
        "memory_mb": took["peak_rss_mb"] - interpreter,
        "model_mb": measure.size_mb(model),
        **accuracies(model, folder),
    }
    measure.write_json(chosen.record(Path(cache)), record)
    return record


def command(settings: Settings, data: Path, model: Path) -> list[str]:
    """Return the command that trains a model, the best epoch chosen on dev."""
    beam = [] if settings.beam is None else [f"--beam={settings.beam}"]
    return [
        *(sys.executable, "-m", "treetune", "train", str(data / TRAIN)),
        *(f"--dev={data / PARTS['dev']}", f"--model={model}", f"--parser={settings.parser}", *beam),
        *(f"--features={settings.features}", f"--epochs={settings.epochs}", f"--seed={settings.seed}"),
        *("--set", f"model.inputs={json.dumps(INPUTS)}"),
    ]


def accuracies(model: Path, data: Path) -> dict[str, float]:
    """Return UAS, LAS, and LAS without subtypes (that of the official scorer) on dev and test."""
    parser = treetune.load(model)
    found = {}
    for part, source in PARTS.items():
        gold = list(treetune.read_trees(data / source))
        trees = parser.predict_batch([example.sentence for example in gold])
        scores, without = evaluate_trees(gold, trees), evaluate_trees(gold, trees, subtypes=False)
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
    record: dict[str, Any] = measure.in_child(
        "benchmarks.training:train_here", settings=asdict(settings), data=data, cache=cache
    )
    measure.say(
        f"{path.stem}: {record['cpu_minutes']:.1f} CPU-minutes, dev LAS {record['dev_LAS']:.2f}, "
        f"test LAS {record['test_LAS']:.2f}"
    )
    return record


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--parser", choices=list(PARSERS), default=TRANSITION, help="kind of parser")
    parser.add_argument("--beam", type=int, help=f"of training and parsing, transition only (default: {DEFAULT_BEAM})")
    parser.add_argument("--epochs", type=int, default=10, help="passes over the treebank (default: 10)")
    parser.add_argument("--features", default="default", help="feature templates (default: default)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="one model each")
    parser.add_argument("--retrain", action="store_true", help="do not use models of the cache")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Train all seeds and return the record."""
    beam = options.beam
    if options.parser == TRANSITION:
        beam = beam or DEFAULT_BEAM
    elif beam is not None:
        raise SystemExit(f"--beam: a {options.parser} parser decodes without a beam; leave it out")
    runs = [
        train_cached(
            Settings(beam, options.epochs, seed, options.features, options.parser),
            data=options.data,
            cache=options.cache,
            retrain=options.retrain,
        )
        for seed in options.seeds
    ]
    return {
        "benchmark": "training",
        **measure.provenance(["numpy", "numba"]),
        "settings": {
            "parser": options.parser,
            "beam": beam,
            "epochs": options.epochs,
            "features": options.features,
            # Missing from the records of models that an earlier version trained.
            "learning": runs[0].get("learning", {}),
            "inputs": list(INPUTS),
            "train": TRAIN.as_posix(),
        },
        "runs": runs,
        "mean": {column: measure.summary([run[column] for run in runs]) for column in COLUMNS},
    }
