"""treetune beside UDPipe 1 and spaCy: accuracy, speed, memory and size, on UD English EWT in one run.

Models that the cache does not hold are trained first. Every system then parses the same file, from which all but FORM,
UPOS and XPOS was removed, on one thread: first in a process of its own (memory, accuracy), then all in one process, in
rotated order, `--repeats` times (speed, from memory to memory and from file to file).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import conllu_columns, measure, peers, systems, training
from treetune.models.registry import PARSERS

TEST = training.PARTS["test"]
GOLD, BLIND, PREDICTED = "gold.conllu", "blind.conllu", "predicted.conllu"
PACKAGES = ("numpy", "numba", "ufal.udpipe", "spacy", "thinc", "udtools")
FAST = "zhang-nivre"  # half the templates, for greedy parsing
# Whose speeds are divided: ours by theirs.
RIVALS = (
    ("treetune beam 8", "UDPipe beam 5"),
    ("treetune beam 1", "UDPipe beam 1"),
    (f"treetune beam 1, {FAST}", "UDPipe beam 1"),
    ("treetune graph", "UDPipe beam 5"),
    ("treetune graph2", "UDPipe beam 5"),
    ("treetune graph", "treetune beam 8"),
    ("treetune graph2", "treetune beam 8"),
)
# The parsers that decode without a beam.
GRAPHS = tuple(name for name, preset in PARSERS.items() if preset.kind == "graph")
# The options that decide which systems take part, as a child process is told them.
FIELD = ("data", "cache", "beams", "graphs", "epochs", "seed", "model", "only")


@dataclass(frozen=True)
class Contestant:
    """A model on disk, the record of its training, and the calls that train (if need be) and load it."""

    model: Path
    record: Path
    train: Callable[[bool], object]
    load: Callable[[], systems.System]


def contestants(options: Mapping[str, Any]) -> dict[str, Contestant]:
    """Return the systems that take part, by name."""
    data, cache = Path(options["data"]), Path(options["cache"])
    settings_of = partial(training.Settings, epochs=options["epochs"], seed=options["seed"])
    chosen = {f"treetune beam {beam}": settings_of(beam) for beam in options["beams"]}
    if 1 in options["beams"]:
        chosen[f"treetune beam 1, {FAST}"] = settings_of(1, features=FAST)
    chosen |= {f"treetune {graph}": settings_of(None, parser=graph) for graph in options["graphs"]}
    found = {name: _treetune(settings, data, cache) for name, settings in chosen.items()}
    for named in options["model"]:
        name, _, file = named.partition("=")
        model = Path(file)
        found[name] = Contestant(
            model, model.with_suffix(".json"), lambda retrain: None, partial(systems.Treetune, model)
        )
    found |= {
        "UDPipe beam 5": _peer("udpipe", systems.UDPipe, data, cache, "beam_search=5"),
        "UDPipe beam 1": _peer("udpipe", systems.UDPipe, data, cache, "beam_search=1"),
        "spaCy": _peer("spacy", systems.Spacy, data, cache),
    }
    return {name: one for name, one in found.items() if options["only"] in name}


def _treetune(settings: training.Settings, data: Path, cache: Path) -> Contestant:
    def train(retrain: bool) -> object:
        return training.train_cached(settings, data=data, cache=cache, retrain=retrain)

    model = settings.model(cache)
    return Contestant(model, settings.record(cache), train, partial(systems.Treetune, model))


def _peer(peer: str, load: Callable[..., systems.System], data: Path, cache: Path, *options: str) -> Contestant:
    model = cache / peers.PEERS[peer].model

    def train(retrain: bool) -> None:
        peers.train_cached(peer, data=data, cache=cache)

    return Contestant(model, cache / f"{peer}.json", train, partial(load, model, *options))


def write_input(test: Path, folder: Path, limit: int | None) -> None:
    """Write the gold file and its blinded copy, at most `limit` sentences."""
    blocks = list(conllu_columns.sentences(test))[:limit]
    conllu_columns.write_sentences(folder / GOLD, blocks)
    conllu_columns.write_sentences(folder / BLIND, list(map(conllu_columns.blinded, blocks)))


def probe(options: Mapping[str, Any], name: str, folder: str) -> dict[str, Any]:
    """Parse the file once in this fresh process; return the memory it took."""
    blind, predicted = Path(folder, BLIND), Path(folder, PREDICTED)
    system = contestants(options)[name].load()
    loaded = measure.rss_mb()
    system.convert(blind, predicted)
    peak = measure.peak_rss_mb()
    written = list(map(conllu_columns.arcs, conllu_columns.sentences(predicted)))
    if system.arcs(system.prepare(blind)()) != written:
        raise SystemExit("the timed call and the file that is scored differ; nothing is recorded")
    return {"sees": system.sees, "rss_mb_loaded": loaded, "peak_rss_mb": peak}


def describe(name: str, contestant: Contestant, options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Measure what needs a process of its own, and score what that process wrote."""
    measure.say(f"{name}: memory and accuracy")
    memory = measure.in_child("benchmarks.compare:probe", options=options, name=name, folder=folder)
    trained = json.loads(contestant.record.read_text("utf-8")) if contestant.record.exists() else {}
    gold, predicted = folder / GOLD, folder / PREDICTED
    return {
        "name": name,
        **memory,
        "model_mb": measure.size_mb(contestant.model),
        "training": {key: trained.get(key) for key in ("commit", "settings", "cpu_seconds", "peak_rss_mb")},
        "scores": systems.own_scores(gold, predicted),
        "official_scores": systems.official_scores(gold, predicted),
        "single_root_trees": systems.count_single_root_trees(predicted),
    }


def speeds(options: Mapping[str, Any], folder: str, repeats: int) -> dict[str, dict[str, list[float]]]:
    """Return words per CPU-second of every repeat, by kind of run and system."""
    blind, target = Path(folder, BLIND), Path(folder, "timed.conllu")
    words = conllu_columns.count_words(blind)
    loaded = {name: contestant.load() for name, contestant in contestants(options).items()}
    kinds: dict[str, dict[str, Callable[[], Callable[[], object]]]] = {
        "parse": {name: partial(system.prepare, blind) for name, system in loaded.items()},
        "file_to_file": {name: partial(partial, system.convert, blind, target) for name, system in loaded.items()},
    }
    found = {}
    for kind, tasks in kinds.items():
        measure.say(f"{kind}: {repeats} rounds")
        seconds = measure.interleaved(tasks, repeats)
        found[kind] = {name: [words / value for value in values] for name, values in seconds.items()}
    return found


def ratios(speed: Mapping[str, list[float]]) -> list[dict[str, Any]]:
    """Divide the speeds of rivals round by round: what slows the machine slows both."""
    return [
        {
            "faster": ours,
            "than": theirs,
            "times": measure.summary([a / b for a, b in zip(speed[ours], speed[theirs], strict=True)]),
        }
        for ours, theirs in RIVALS
        if ours in speed and theirs in speed
    ]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--beams", type=int, nargs="*", default=[1, 8, 32], help="transition parsers to train")
    parser.add_argument("--graphs", nargs="*", default=GRAPHS, choices=GRAPHS, help="graph parsers to train")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of each (default: %(default)s)")
    parser.add_argument(
        "--model", action="append", default=[], metavar="NAME=FILE", help="one more treetune model, as it is"
    )
    parser.add_argument("--retrain", action="store_true", help="do not use treetune models of the cache")
    parser.add_argument("--only", default="", help="only systems with this in their name")
    parser.add_argument("--repeats", type=int, default=10, help="timed rounds (default: %(default)s)")
    parser.add_argument("--limit", type=int, help="only the first sentences of the test file, for a trial")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure everything and return the record."""
    chosen = {key: getattr(options, key) for key in FIELD}
    field = contestants(chosen)
    needed = {"UDPipe": "ufal.udpipe", "spaCy": "spacy"}
    measure.require(["udtools", *(needed[name.split()[0]] for name in field if name.split()[0] in needed)])
    for contestant in field.values():
        contestant.train(options.retrain)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_input(options.data / TEST, folder, options.limit)
        described = {name: describe(name, contestant, chosen, folder) for name, contestant in field.items()}
        speed = measure.in_child("benchmarks.compare:speeds", options=chosen, folder=folder, repeats=options.repeats)
        sentences = sum(1 for _ in conllu_columns.sentences(folder / GOLD))
        words = conllu_columns.count_words(folder / GOLD)
    for kind, by_name in speed.items():
        for name, values in by_name.items():
            described[name][kind] = {"words_per_cpu_second": measure.summary(values)}
    settings = {"test": TEST.as_posix(), "limit": options.limit, "sentences": sentences, "words": words}
    return {
        "benchmark": "compare",
        **measure.provenance(PACKAGES),
        "settings": {**settings, "repeats": options.repeats, "threads": 1},
        "systems": list(described.values()),
        "ratios": ratios(speed["parse"]),
    }
