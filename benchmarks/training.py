"""Measure training through the public API: CPU time, memory, size of the model file, accuracy over seeds.

    python benchmarks/training.py --data DIR --cache DIR --output benchmarks/results/training.json

Each seed is trained in a process of its own on one thread; "memory above the interpreter" is its peak less
what it held when numpy and numba had been imported. Models stay in the cache, beside a record of what they
cost, until `--retrain`; the record names the commit.
"""

from __future__ import annotations

import argparse
import importlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import measure

TRAIN = Path("ud", "en_ewt-train.conllu")
PARTS = {"dev": Path("ud", "en_ewt-dev.conllu"), "test": Path("ud", "en_ewt-test.conllu")}
COLUMNS = ("cpu_minutes", "memory_mb", "model_mb", "dev_UAS", "dev_LAS", "test_UAS", "test_LAS")


@dataclass(frozen=True)
class Settings:
    """What distinguishes the models of these benchmarks."""

    beam: int
    epochs: int
    seed: int

    def model(self, cache: Path) -> Path:
        """Return where the model is kept."""
        return cache / f"treetune-beam{self.beam}-epochs{self.epochs}-seed{self.seed}.model"

    def record(self, cache: Path) -> Path:
        """Return where the cost of its training is kept."""
        return self.model(cache).with_suffix(".json")


def train_here(settings: Settings, *, data: Path, cache: Path) -> dict[str, Any]:
    """Train one model in this process, write it and its record, and return the record."""
    for heavy in ("numpy", "numba"):
        importlib.import_module(heavy)
    before = measure.rss_mb()
    model = settings.model(cache)
    seconds = measure.cpu_seconds(lambda: train_and_save(settings, data / TRAIN, model))
    record = {
        **measure.provenance(["numpy", "numba"]),
        "settings": asdict(settings),
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


def train_and_save(settings: Settings, treebank: Path, model: Path) -> None:
    """Read the treebank, train, and write the model: everything a user waits for."""
    raise NotImplementedError


def accuracies(model: Path, data: Path) -> dict[str, float]:
    """Return UAS and LAS (labels with subtypes) on dev and test."""
    from treetune.corpus.treebank import read_trees
    from treetune.evaluate import evaluate
    from treetune.storage import load

    parser = load(model)
    found = {}
    for part, source in PARTS.items():
        gold = list(read_trees(data / source))
        # FEATS is taken away so that treetune sees what the peers see.
        sentences = [example.sentence.without("feats") for example in gold]
        scores = evaluate(gold, parser.predict_batch(sentences))
        found[f"{part}_UAS"], found[f"{part}_LAS"] = 100 * scores.uas, 100 * scores.las
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
    options = [f"--{name}={value}" for name, value in asdict(settings).items() if name != "seed"]
    record = measure.run_child(
        [__file__, f"--here={settings.seed}", *options, f"--data={data}", f"--cache={cache}"]
    )
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
        "settings": {"beam": arguments.beam, "epochs": arguments.epochs, "train": TRAIN.as_posix()},
        "runs": runs,
        "mean": {column: measure.summary([run[column] for run in runs]) for column in COLUMNS},
    }


def main() -> None:
    """Train all seeds and write the result; or, as a child of that, train one."""
    parser = measure.command_line(__doc__)
    parser.add_argument("--output", type=Path, help="result file (default: standard output)")
    parser.add_argument("--beam", type=int, default=8, help="beam of training and parsing (default: 8)")
    parser.add_argument("--epochs", type=int, default=10, help="passes over the treebank (default: 10)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="one model each")
    parser.add_argument("--retrain", action="store_true", help="do not use models of the cache")
    parser.add_argument("--here", type=int, metavar="SEED", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    places = {"data": arguments.data, "cache": arguments.cache}
    if arguments.here is not None:
        settings = Settings(arguments.beam, arguments.epochs, arguments.here)
        print(json.dumps(train_here(settings, **places)))
        return
    runs = [
        train_cached(Settings(arguments.beam, arguments.epochs, seed), **places, retrain=arguments.retrain)
        for seed in arguments.seeds
    ]
    measure.finish(summarise(runs, arguments), arguments.output)


if __name__ == "__main__":
    main()
