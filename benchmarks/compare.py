"""Compare treetune with UDPipe 1 and spaCy: accuracy, speed, memory and size, on UD English EWT in one run.

    python benchmarks/compare.py --data DIR --cache DIR --output benchmarks/results/compare.json

Models that the cache does not hold are trained first. Every system then parses the same file, from which all
but FORM, UPOS and XPOS was removed, on one thread: first in a process of its own (memory, accuracy), then all
in one process, in rotated order, `--repeats` times (speed).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import conllu_columns
import measure
import scoring
import systems
import train_peers
import training
from treetune.models.registry import PARSERS

TEST = Path("ud", "en_ewt-test.conllu")
GOLD, BLIND, PREDICTED = "gold.conllu", "blind.conllu", "predicted.conllu"
PACKAGES = ("numpy", "numba", "ufal.udpipe", "spacy", "thinc", "udtools")
# Whose speeds are divided: ours by theirs.
FAST = "zhang-nivre"  # half the templates, for greedy parsing
RIVALS = (
    ("treetune beam 8", "UDPipe beam 5"),
    ("treetune beam 1", "UDPipe beam 1"),
    (f"treetune beam 1, {FAST}", "UDPipe beam 1"),
    ("treetune graph", "UDPipe beam 5"),
    ("treetune graph2", "UDPipe beam 5"),
    ("treetune graph", "treetune beam 8"),
    ("treetune graph2", "treetune beam 8"),
)
# The parsers that search without a beam.
GRAPHS = tuple(name for name, preset in PARSERS.items() if preset.kind == "graph")


@dataclass(frozen=True)
class Contestant:
    """A model on disk, the record of its training, and the calls that train (if need be) and load it."""

    model: Path
    record: Path
    train: Callable[[], object]
    load: Callable[[], systems.System]


def treetune_contestants(arguments: argparse.Namespace) -> dict[str, Contestant]:
    """Return the models trained for the comparison and those the user names."""
    data, cache, retrain = arguments.data, arguments.cache, arguments.retrain
    found = {}
    settings_of = partial(training.Settings, epochs=arguments.epochs, seed=arguments.seed)
    chosen = {f"treetune beam {beam}": settings_of(beam) for beam in arguments.beams}
    if 1 in arguments.beams:
        chosen[f"treetune beam 1, {FAST}"] = settings_of(1, features=FAST)
    chosen |= {f"treetune {graph}": settings_of(None, parser=graph) for graph in arguments.graphs}
    for name, settings in chosen.items():
        model = settings.model(cache)
        train = partial(training.train_cached, settings, data=data, cache=cache, retrain=retrain)
        load = partial(systems.Treetune, model)
        found[name] = Contestant(model, settings.record(cache), train, load)
    for named in arguments.model:
        name, _, file = named.partition("=")
        model = Path(file)
        load = partial(systems.Treetune, model)
        found[name] = Contestant(model, model.with_suffix(".json"), lambda: None, load)
    return found


def peer_contestants(arguments: argparse.Namespace) -> dict[str, Contestant]:
    """Return UDPipe with its default beam and with none, and spaCy."""

    def contestant(peer: str, load: Callable[..., systems.System], *options: str) -> Contestant:
        model = arguments.cache / train_peers.PEERS[peer].model
        train = partial(train_peers.train_cached, peer, data=arguments.data, cache=arguments.cache)
        return Contestant(model, arguments.cache / f"{peer}.json", train, partial(load, model, *options))

    return {
        "UDPipe beam 5": contestant("udpipe", systems.UDPipe, "beam_search=5"),
        "UDPipe beam 1": contestant("udpipe", systems.UDPipe, "beam_search=1"),
        "spaCy": contestant("spacy", systems.Spacy),
    }


def contestants(arguments: argparse.Namespace) -> dict[str, Contestant]:
    """Return the systems that take part, by name."""
    everyone = {**treetune_contestants(arguments), **peer_contestants(arguments)}
    return {name: one for name, one in everyone.items() if arguments.only in name}


def write_input(test: Path, folder: Path, limit: int | None) -> None:
    """Write the gold file and its blinded copy, at most `limit` sentences."""
    blocks = list(conllu_columns.sentences(test))[:limit]
    conllu_columns.write_sentences(folder / GOLD, blocks)
    conllu_columns.write_sentences(folder / BLIND, list(map(conllu_columns.blinded, blocks)))


def probe(contestant: Contestant, folder: Path) -> dict[str, Any]:
    """Parse the file once in this fresh process; return the memory it took."""
    system = contestant.load()
    loaded = measure.rss_mb()
    system.convert(folder / BLIND, folder / PREDICTED)
    peak = measure.peak_rss_mb()
    written = list(map(conllu_columns.arcs, conllu_columns.sentences(folder / PREDICTED)))
    if system.arcs(system.prepare(folder / BLIND)()) != written:
        raise SystemExit("the timed call and the file that is scored differ; nothing measured would be true")
    return {"sees": system.sees, "rss_mb_loaded": loaded, "peak_rss_mb": peak}


def run_self(*arguments: str) -> dict[str, Any]:
    """Run this script in a fresh single-threaded process, with the options it has and some more."""
    return measure.run_child([__file__, *sys.argv[1:], *arguments])


def describe(name: str, contestant: Contestant, folder: Path) -> dict[str, Any]:
    """Measure what needs a process of its own, and score what that process wrote."""
    measure.say(f"{name}: memory and accuracy")
    memory = run_self("--probe", name, "--folder", str(folder))
    trained = json.loads(contestant.record.read_text("utf-8")) if contestant.record.exists() else {}
    gold, predicted = folder / GOLD, folder / PREDICTED
    return {
        "name": name,
        **memory,
        "model_mb": measure.size_mb(contestant.model),
        "training": {key: trained.get(key) for key in ("commit", "settings", "cpu_seconds", "peak_rss_mb")},
        "scores": scoring.own_scores(gold, predicted),
        "official_scores": scoring.official_scores(gold, predicted),
        "single_root_trees": scoring.count_single_root_trees(predicted),
    }


def speeds(field: Mapping[str, Contestant], folder: Path, repeats: int) -> dict[str, dict[str, list[float]]]:
    """Return words per CPU-second of every repeat, by kind of run and system."""
    blind, target = folder / BLIND, folder / "timed.conllu"
    words = conllu_columns.count_words(blind)
    loaded = {name: contestant.load() for name, contestant in field.items()}
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


def compare(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure everything and return the record."""
    write_input(arguments.data / TEST, folder, arguments.limit)
    field = contestants(arguments)
    for contestant in field.values():
        contestant.train()
    described = {name: describe(name, contestant, folder) for name, contestant in field.items()}
    speed = run_self("--time", "--folder", str(folder))
    for kind, by_name in speed.items():
        for name, values in by_name.items():
            described[name][kind] = {"words_per_cpu_second": measure.summary(values)}
    return {
        "benchmark": "compare",
        **measure.provenance(PACKAGES),
        "settings": {
            "test": TEST.as_posix(),
            "limit": arguments.limit,
            "sentences": sum(1 for _ in conllu_columns.sentences(folder / GOLD)),
            "words": conllu_columns.count_words(folder / GOLD),
            "repeats": arguments.repeats,
            "threads": 1,
        },
        "systems": list(described.values()),
        "ratios": ratios(speed["parse"]),
    }


def command_line() -> argparse.ArgumentParser:
    """Return the options."""
    parser = measure.command_line(__doc__)
    parser.add_argument("--output", type=Path, help="result file (default: standard output)")
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
    parser.add_argument("--probe", help=argparse.SUPPRESS)
    parser.add_argument("--time", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser


def main() -> None:
    """Compare; or, as a child of that, measure the memory of one system or the speed of all."""
    arguments = command_line().parse_args()
    if arguments.probe:
        print(json.dumps(probe(contestants(arguments)[arguments.probe], arguments.folder)))
    elif arguments.time:
        print(json.dumps(speeds(contestants(arguments), arguments.folder, arguments.repeats)))
    else:
        measure.require(PACKAGES)
        with tempfile.TemporaryDirectory() as folder:
            measure.finish(compare(arguments, Path(folder)), arguments.output)


if __name__ == "__main__":
    main()
