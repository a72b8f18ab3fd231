"""Graph parsers with and without arc filters, in turns.

Joint filters are trained on the treebank of the parsers and attached to them; speed is CPU time of one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

import treetune
from benchmarks.measure import provenance
from treetune import ArcFilter, Example, GraphParser
from treetune.evaluation.scores import evaluate_trees
from treetune.features.templates import load_templates
from treetune.filters.arc_filter import FilterConfig
from treetune.filters.training import FilterTrainer
from treetune.storage import inspect

COSTS = {"P1": 7e-5, "P2": 1e-4, "P3": 2e-4}
LONG = 20


def trained_filters(parser: GraphParser, train: Sequence[Example], dev: Sequence[Example]) -> dict[str, ArcFilter]:
    """Return a joint filter for each of `COSTS`, with the words and tags of a parser."""
    encoder = parser.grammar.encoder
    templates = load_templates(FilterConfig().features, "filter").adapt(encoder.columns, ())
    trainer = FilterTrainer(FilterConfig(), encoder, templates, train)
    data, held_out = trainer.data(train), trainer.data(dev)
    roles = trainer.roles(data, held_out, np.random.default_rng(1))
    filters = {}
    for name, cost in COSTS.items():
        trainer.config = FilterConfig(remove_cost=cost)
        made = filters[name] = ArcFilter(trainer.config)
        made._weights = trainer.train(data, held_out, np.random.default_rng(1), roles)
    return filters


def measured(systems: dict[str, GraphParser], examples: Sequence[Example], rounds: int) -> dict[str, Any]:
    """Return words per CPU-second, speed-up, UAS and LAS of each system; all of them take turns."""
    sentences = [one.sentence for one in examples]
    words = sum(map(len, sentences))
    times: dict[str, list[float]] = {name: [] for name in systems}
    trees = {}
    for _ in range(rounds):
        for name, system in systems.items():
            began = time.process_time()
            trees[name] = system.predict_batch(sentences)
            times[name].append(time.process_time() - began)
    found = {}
    for name in systems:
        scores = evaluate_trees(examples, trees[name])
        speed = words / median(times[name])
        found[name] = {
            "words per CPU-second": speed,
            "speed-up": median(times["no filter"]) / median(times[name]),
            "UAS": scores["UAS"],
            "LAS": scores["LAS"],
        }
    return {"sentences": len(sentences), "words": words, "systems": found}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--parsers", nargs="+", required=True, help="graph parsers without a filter")
    parser.add_argument("--treebank", default="en_ewt", help="of DIR/ud (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds (default: %(default)s)")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure parsers on a test set, and on its sentences of 20 words and more."""
    folder = arguments.data / "ud"
    train, dev, test = (
        list(treetune.read_trees(folder / f"{arguments.treebank}-{part}.conllu")) for part in ("train", "dev", "test")
    )
    record: dict[str, Any] = {
        "benchmark": "arc_filters",
        **provenance(("numpy", "numba")),
        "treebank": arguments.treebank,
        "rounds": arguments.rounds,
        "parsers": {},
    }
    filters: dict[str, ArcFilter] = {}
    for path in arguments.parsers:
        parser = treetune.load(path)
        filters = filters or trained_filters(parser, train, dev)
        systems = {"no filter": parser, **{name: parser.with_filter(one) for name, one in filters.items()}}
        name = {1: "graph", 2: "graph2"}[parser.config.order]
        long = [one for one in test if len(one.gold) >= LONG]
        record["parsers"][name] = {
            "training": inspect(path).info.get("training"),
            "all": measured(systems, test, arguments.rounds),
            f"from {LONG} words": measured(systems, long, arguments.rounds),
        }
    record["filters"] = {}
    for name, one in filters.items():
        scores = one.evaluate(test)
        record["filters"][name] = {
            "keep_cost": one.config.keep_cost, "remove_cost": one.config.remove_cost,
            "coverage": 100 * scores.coverage, "reduction": 100 * scores.reduction, "seconds": scores.seconds,
        }  # fmt: skip
    return record
