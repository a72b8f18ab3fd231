"""Taggers: accuracy over seeds, CPU time of training, size of the model file, speed.

Each model is trained on UD English EWT in a process of its own on one thread, the epoch chosen on dev. Speed is from
`Sentence` objects without tags to `Sentence` objects with tags (`Tagger.annotate`), encoding included, on the test
file over and over, all models in turn.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import treetune
from benchmarks import measure
from benchmarks.training import PARTS, TRAIN
from treetune.corpus.tags import tagged

# What is compared: options of `Tagger`, options of `train`.
MODELS: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "upos+xpos": ({"columns": ("upos", "xpos")}, {}),
    "upos+xpos, order 2": ({"columns": ("upos", "xpos"), "order": 2}, {}),
    "upos+xpos, perceptron": ({"columns": ("upos", "xpos")}, {"learner": "perceptron"}),
    "upos+xpos, crf": ({"columns": ("upos", "xpos"), "l2": 0.1}, {"learner": "crf"}),
    "upos+xpos, no dictionary": ({"columns": ("upos", "xpos"), "dictionary": 0}, {}),
    "upos+xpos, pruned": ({"columns": ("upos", "xpos"), "prune": 0.01}, {}),
    "upos": ({"columns": ("upos",)}, {}),
    "xpos": ({"columns": ("xpos",)}, {}),
    "feats": ({"columns": ("feats",)}, {}),
}


def model_path(cache: Path, name: str, seed: int) -> Path:
    """Return where a model is kept."""
    return cache / f"tagger-{name.replace(', ', '-').replace(' ', '')}-seed{seed}.treetune"


def train_here(name: str, seed: int, epochs: int, data: str, cache: str) -> dict[str, Any]:
    """Train one model in this process, write it, and return what it cost and reached."""
    options, learning = MODELS[name]
    before, files = measure.rss_mb(), Path(data)
    path = model_path(Path(cache), name, seed)
    done: dict[str, Any] = {}

    def work() -> None:
        tagger = treetune.Tagger(**options)
        treebank, dev = (tagged(treetune.read_trees(files / part), tagger.columns) for part in (TRAIN, PARTS["dev"]))
        for progress in treetune.train(tagger, treebank, dev=dev, epochs=epochs, seed=seed, **learning):
            if progress.is_epoch_end and progress.best:
                done.update(learning=dict(progress.settings), best_epoch=progress.epoch)
        treetune.save(tagger, path)

    seconds = measure.cpu_seconds(work)
    return {
        "seed": seed,
        **done,
        "cpu_minutes": seconds / 60,
        "memory_mb": measure.peak_rss_mb() - before,
        "model_mb": measure.size_mb(path),
        **accuracies(path, files),
    }


def load_tagger(path: Path) -> treetune.Tagger:
    """Read a model back."""
    tagger = treetune.load(path)
    assert isinstance(tagger, treetune.Tagger)
    return tagger


def accuracies(path: Path, data: Path) -> dict[str, float]:
    """Return the scores on dev and test, in per cent."""
    tagger = load_tagger(path)
    found = {}
    for part, source in PARTS.items():
        gold = tagged(treetune.read_trees(data / source), tagger.columns)
        scores = tagger.scorer.score(gold, tagger.predict_batch([item.sentence for item in gold]))
        found.update({f"{part}_{name}": 100 * scores[name] for name in scores.metrics})
    return found


def speeds(names: list[str], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return words per CPU-second of each model, in turn."""
    bare = [
        example.sentence.without("lemmas", "upos", "xpos", "feats")
        for example in treetune.read_trees(arguments.data / PARTS["test"])
    ]
    text = bare * arguments.copies
    words = sum(map(len, text))

    def task(name: str) -> Callable[[], Callable[[], object]]:
        tagger = load_tagger(model_path(arguments.cache, name, arguments.seeds[0]))
        return lambda: lambda: tagger.annotate(text)

    seconds = measure.interleaved({name: task(name) for name in names}, arguments.repeats)
    return {name: measure.summary([words / value for value in values]) for name, values in seconds.items()}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS), help="which of them")
    parser.add_argument("--epochs", type=int, default=10, help="passes over the training data (default: 10)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="one model each")
    parser.add_argument("--repeats", type=int, default=5, help="rounds of the comparison of speed")
    parser.add_argument("--copies", type=int, default=4, help="how often the test file is tagged in a round")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Train all models, time them and return the record."""
    options.cache.mkdir(parents=True, exist_ok=True)
    given = {"epochs": options.epochs, "data": options.data, "cache": options.cache}
    runs: dict[str, list[dict[str, Any]]] = {}
    for name in options.models:
        for seed in options.seeds:
            record = measure.in_child("benchmarks.taggers:train_here", name=name, seed=seed, **given)
            measure.say(f"{name}, seed {seed}: {record['cpu_minutes']:.1f} CPU-min, dev {record['dev_accuracy']:.2f}")
            runs.setdefault(name, []).append(record)
    measured = [key for key in runs[options.models[0]][0] if key not in ("seed", "learning", "best_epoch")]
    return {
        "benchmark": "tagging",
        **measure.provenance(["numpy", "numba"]),
        "train": TRAIN.as_posix(),
        "train_sha256": measure.sha256(options.data / TRAIN),
        "epochs": options.epochs,
        "options": {name: {"tagger": MODELS[name][0], "train": MODELS[name][1]} for name in runs},
        "runs": runs,
        "mean": {
            name: {key: measure.summary([record[key] for record in records]) for key in measured if key in records[0]}
            for name, records in runs.items()
        },
        "words_per_cpu_second": speeds(list(runs), options),
    }
