"""Iterative parameter mixing on EWT: accuracy and time of a parser that is trained on shards, beside one process.

Shards are trained one after the other in one process, which gives the same model as a cluster does. The time that a
cluster would take on free processors is that of the slowest shard of each turn and of all that is not divided.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import treetune
from benchmarks import measure
from treetune.learning.mixing import LocalPool, ShardOutcome
from treetune.models.transition.parser import TransitionParser

PACKAGES = ("numpy", "numba")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--beam", type=int, default=8, help="beam of the parser")
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 2, 4], help="numbers of shards")
    parser.add_argument("--mixes", type=int, nargs="+", default=[1], help="how often to mix in each epoch")
    parser.add_argument("--epochs", type=int, default=10, help="epochs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="seeds of the order of sentences")
    parser.add_argument("--limit", type=int, help="sentences of the treebank, for a trial")


class _TimedPool(LocalPool):
    """Adds up the CPU time of all shards, and of the slowest one of each turn."""

    all_seconds = 0.0
    slowest_seconds = 0.0

    def train(self, *given: Any) -> Iterator[tuple[int, ShardOutcome]]:
        """Train the shards in order."""
        seconds = []
        for index, outcome in super().train(*given):
            seconds.append(outcome.cpu_seconds)
            yield index, outcome
        type(self).all_seconds += sum(seconds)
        type(self).slowest_seconds += max(seconds)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train with each number of shards in turn."""
    treebank = list(treetune.read_trees(arguments.data / measure.TRAIN))[: arguments.limit]
    parts = {name: list(treetune.read_trees(arguments.data / path)) for name, path in measure.PARTS.items()}
    record: dict[str, Any] = {
        "benchmark": "mixing", **measure.provenance(PACKAGES), "beam": arguments.beam, "epochs": arguments.epochs,
        "sentences": len(treebank), "rows": [],
    }  # fmt: skip
    # Kernels are loaded, or compiled, before anything is measured.
    _train(treebank[:200], arguments.beam, epochs=1, shards=2, mixes=1, seed=1)
    for seed in arguments.seeds:
        for shards in arguments.shards:
            for mixes in arguments.mixes if shards > 1 else [1]:
                options = {"epochs": arguments.epochs, "shards": shards, "mixes": mixes, "seed": seed}
                record["rows"].append(_measured(treebank, parts, arguments.beam, options))
                measure.say(str(record["rows"][-1]))
    return record


def _measured(treebank: Any, parts: Any, beam: int, options: dict[str, int]) -> dict[str, Any]:
    _TimedPool.all_seconds = _TimedPool.slowest_seconds = 0.0
    wall, cpu = time.perf_counter(), time.process_time()
    model = _train(treebank, beam, **options)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    divided = cpu if options["shards"] == 1 else cpu - _TimedPool.all_seconds + _TimedPool.slowest_seconds
    scores: dict[str, float] = {}
    for name, examples in parts.items():
        found = treetune.evaluate(examples, model.predict_batch([example.sentence for example in examples]))
        scores |= {f"{name}_{metric}": round(100 * found[metric], 2) for metric in ("UAS", "LAS")}
    return {
        **options, **scores, "cpu_seconds": round(cpu, 1), "wall_seconds": round(wall, 1),
        "seconds_on_free_processors": round(divided, 1),
    }  # fmt: skip


def _train(treebank: Any, beam: int, **options: Any) -> TransitionParser:
    parser = TransitionParser(beam=beam)
    for _ in treetune.train(parser, treebank, make_pool=_TimedPool, **options):
        pass
    return parser
