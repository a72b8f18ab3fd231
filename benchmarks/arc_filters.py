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
from treetune.evaluation.significance import mcnemar
from treetune.features.templates import load_templates
from treetune.filters.arc_filter import FilterConfig
from treetune.filters.training import FilterTrainer
from treetune.models.stacked import StackedParser
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


Systems = dict[tuple[str, str], GraphParser | StackedParser]  # by the names of parser and filter


def measured(systems: Systems, examples: Sequence[Example], rounds: int) -> dict[str, Any]:
    """Return words per CPU-second, speed-up, UAS and LAS of each system by parser; all of them take turns."""
    sentences = [one.sentence for one in examples]
    words = sum(map(len, sentences))
    times: dict[tuple[str, str], list[float]] = {name: [] for name in systems}
    trees = {}
    for _ in range(rounds):
        for key, system in systems.items():
            began = time.process_time()
            trees[key] = system.predict_batch(sentences)
            times[key].append(time.process_time() - began)
    found: dict[str, Any] = {}
    for parser, name in systems:
        scores = evaluate_trees(examples, trees[parser, name])
        one: dict[str, float] = {
            "words per CPU-second": words / median(times[parser, name]),
            "speed-up": median(times[parser, "no filter"]) / median(times[parser, name]),
            "UAS": scores["UAS"],
            "LAS": scores["LAS"],
        }
        if name != "no filter":
            without = evaluate_trees(examples, trees[parser, "no filter"])
            one["p of LAS"] = mcnemar(without.right("LAS"), scores.right("LAS")).p_value
        entry = found.setdefault(parser, {"sentences": len(sentences), "words": words, "systems": {}})
        entry["systems"][name] = one
    return found


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--parsers", nargs="+", required=True, help="graph parsers, plain or stacked")
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
    systems: Systems = {}
    for path in arguments.parsers:
        parser = treetune.load(path)
        graph: Any = parser.main if isinstance(parser, StackedParser) else parser
        filters = filters or trained_filters(graph, train, dev)
        name = {1: "graph", 2: "graph2", 3: "graph3"}[graph.config.order] + ("" if graph is parser else ", stacked")
        for title, one in (("no filter", None), *filters.items()):
            made = graph.with_filter(one)
            systems[name, title] = made if graph is parser else StackedParser(parser.base, made)
        record["parsers"][name] = {"training": inspect(path).info.get("training")}
    long = [one for one in test if len(one.gold) >= LONG]
    for part, examples in (("all", test), (f"from {LONG} words", long)):
        for name, found in measured(systems, examples, arguments.rounds).items():
            record["parsers"][name][part] = found
    record["filters"] = {}
    for name, one in filters.items():
        scores = one.evaluate(test)
        record["filters"][name] = {
            "keep_cost": one.config.keep_cost, "remove_cost": one.config.remove_cost,
            "coverage": 100 * scores.coverage, "reduction": 100 * scores.reduction, "seconds": scores.seconds,
        }  # fmt: skip
    return record
