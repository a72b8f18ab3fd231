"""Pipelines of UD treebanks beside UDPipe 1, both trained with their default settings on the same file, from raw text.

Both get the raw text of dev and test and write CoNLL-U, which the official scorer of Universal Dependencies compares
with gold. treetune chooses its epochs by dev, as `treetune train --dev` does; UDPipe is given no dev file. Speed is CPU
time of one thread, both in one process in rotated order.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import treetune
from benchmarks import measure, peers
from benchmarks.raw_text import PACKAGES, Treetune, UDPipe, scores, speeds
from treetune.corpus.rawtext import raw_text

TREEBANKS = ("el_gdt", "fr_partut", "hu_szeged", "tr_imst", "cs_cltt", "en_ewt")
PARTS = ("dev", "test")


def train_here(treebank: str, data: str, model: str) -> dict[str, Any]:
    """Train a pipeline with default settings by ``treetune train``, and write its record."""
    from treetune.cli import main

    train, dev = (str(Path(data, "ud", f"{treebank}-{part}.conllu")) for part in ("train", "dev"))
    arguments = ["train", train, "--dev", dev, "--task", "pipeline", "--model", model, "--quiet"]
    seconds = measure.cpu_seconds(lambda: main(arguments))
    record = {
        **measure.provenance(PACKAGES),
        "train_sha256": measure.sha256(Path(train)),
        "cpu_seconds": seconds,
        "peak_rss_mb": measure.peak_rss_mb(),
        "mb": measure.size_mb(Path(model)),
    }
    measure.write_json(Path(model).with_suffix(".json"), record)
    return record


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--treebank", nargs="+", choices=TREEBANKS, default=list(TREEBANKS), help="of DIR/ud")
    parser.add_argument("--alone", action="store_true", help="without UDPipe")
    parser.add_argument("--retrain", action="store_true", help="train treetune's models again")
    parser.add_argument("--repeats", type=int, default=3, help="timed rounds (default: %(default)s)")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure everything and return the record."""
    measure.require(["udtools"] if arguments.alone else ["udtools", "ufal.udpipe"])
    found = {name: _one(name, arguments) for name in arguments.treebank}
    return {
        "benchmark": "treebanks",
        **measure.provenance(PACKAGES),
        "settings": {"repeats": arguments.repeats, "threads": 1, "training": "defaults"},
        "treebanks": found,
    }


def _one(treebank: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train on one treebank what the cache does not hold, and measure it."""
    data, cache = arguments.data, arguments.cache
    model = cache / f"{treebank}.treetune"
    if arguments.retrain or not model.exists():
        measure.say(f"{treebank}: training treetune")
        cache.mkdir(parents=True, exist_ok=True)
        measure.in_child("benchmarks.treebanks:train_here", treebank=treebank, data=data, model=model)
    systems: dict[str, Any] = {"treetune": Treetune(str(model))}
    records = {"treetune": model.with_suffix(".json")}
    if not arguments.alone:
        peer = peers.train_treebank_cached(treebank, data=data, cache=cache)
        systems["UDPipe"] = UDPipe(peer)
        # Both records of a treebank would have the same name.
        records["UDPipe"] = peer.with_suffix(".udpipe.json")
    gold = {part: data / "ud" / f"{treebank}-{part}.conllu" for part in PARTS}
    described: dict[str, Any] = {}
    for name, system in systems.items():
        measure.say(f"{treebank}: accuracy of {name}")
        described[name] = {part: scores(system, path) for part, path in gold.items()}
        if records[name].exists():
            described[name]["training"] = json.loads(records[name].read_text(encoding="utf-8"))
    examples = list(treetune.read_trees(gold["test"]))
    text, words = raw_text(example.sentence for example in examples), sum(len(one.sentence) for one in examples)
    for name, values in speeds(systems, text, words, arguments.repeats)["conllu"].items():
        described[name]["words_per_cpu_second"] = measure.summary(values)
    return described
