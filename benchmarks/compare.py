"""treetune beside UDPipe 1, spaCy and MaltParser: accuracy, speed, memory and size, on UD English EWT in one run.

Models that the cache does not hold are trained first. Every system then parses the same file, from which all but FORM,
UPOS and XPOS was removed, on one thread: first by its command (memory, accuracy); then `--repeats` times in rotated
order, all in one process with what was read before (the parse alone), and by their commands on `--copies` of the file
(file to file: start, loading, reading, parsing, writing). Of MaltParser, which is only run as a command, the parse
alone is the command less one on a single sentence.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import conllu_columns, maltparser, measure, peer_systems, peers, systems, training
from treetune.models.registry import PARSERS

TEST = training.PARTS["test"]
GOLD, BLIND, PREDICTED = "gold.conllu", "blind.conllu", "predicted.conllu"
COPIES, SINGLE = "copies.conllu", "single.conllu"
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
    ("treetune beam 1", maltparser.NAME),
    (f"treetune beam 1, {FAST}", maltparser.NAME),
)
# The parsers that decode without a beam.
GRAPHS = tuple(name for name, preset in PARSERS.items() if preset.kind == "graph")
# The options that decide which systems take part, as a child process is told them.
FIELD = ("data", "cache", "beams", "graphs", "epochs", "seed", "model", "only")


Command = Callable[[Path, Path], list[str]]


@dataclass(frozen=True)
class Contestant:
    """A model on disk, the record of its training, how it is trained (if need be), run by a command, and loaded."""

    model: Path
    record: Path
    train: Callable[[bool], object]
    command: Command
    load: Callable[[], systems.System] | None
    sees: str = "words, UPOS, XPOS"


def contestants(options: Mapping[str, Any]) -> dict[str, Contestant]:
    """Return the systems that take part, by name."""
    data, cache = Path(options["data"]), Path(options["cache"])
    settings_of = partial(training.Settings, epochs=options["epochs"], seed=options["seed"])
    chosen = {f"treetune beam {beam}": settings_of(beam) for beam in options["beams"]}
    if 1 in options["beams"]:
        chosen[f"treetune beam 1, {FAST}"] = settings_of(1, features=FAST)
    chosen |= {f"treetune {graph}": settings_of(None, parser=graph) for graph in options["graphs"]}
    found = {name: _trained(settings, data, cache) for name, settings in chosen.items()}
    for named in options["model"]:
        name, _, file = named.partition("=")
        found[name] = _treetune(Path(file), Path(file).with_suffix(".json"), lambda retrain: None)
    found |= {
        "UDPipe beam 5": _peer("udpipe", data, cache, "beam_search=5"),
        "UDPipe beam 1": _peer("udpipe", data, cache, "beam_search=1"),
        "spaCy": replace(_peer("spacy", data, cache), sees="words"),
    }
    if maltparser.missing() is None:
        found[maltparser.NAME] = _maltparser(data, cache)
    return {name: one for name, one in found.items() if options["only"] in name}


def _treetune(model: Path, record: Path, train: Callable[[bool], object]) -> Contestant:
    return Contestant(model, record, train, systems.command(model), partial(systems.Treetune, model))


def _trained(settings: training.Settings, data: Path, cache: Path) -> Contestant:
    def train(retrain: bool) -> object:
        return training.train_cached(settings, data=data, cache=cache, retrain=retrain)

    return _treetune(settings.model(cache), settings.record(cache), train)


def _peer(peer: str, data: Path, cache: Path, *options: str) -> Contestant:
    model = cache / peers.PEERS[peer].model
    command, load = peer_systems.command(peer, model, *options), partial(peer_systems.SYSTEMS[peer], model, *options)
    return Contestant(model, cache / f"{peer}.json", _training_of(peer, data, cache), command, load)


def _maltparser(data: Path, cache: Path) -> Contestant:
    model, record = cache / peers.PEERS["maltparser"].model, cache / "maltparser.json"
    command = partial(maltparser.command, model)
    return Contestant(model, record, _training_of("maltparser", data, cache), command, None)


def _training_of(peer: str, data: Path, cache: Path) -> Callable[[bool], object]:
    return lambda retrain: peers.train_cached(peer, data=data, cache=cache)


def write_input(test: Path, folder: Path, limit: int | None, copies: int) -> None:
    """Write the gold file, at most `limit` sentences, its blinded copy, several copies of that, and one sentence."""
    blocks = list(conllu_columns.sentences(test))[:limit]
    conllu_columns.write_sentences(folder / GOLD, blocks)
    blind = list(map(conllu_columns.blinded, blocks))
    for name, some in ((BLIND, blind), (COPIES, blind * copies), (SINGLE, blind[:1])):
        conllu_columns.write_sentences(folder / name, some)
        maltparser.write_words((folder / name).with_suffix(maltparser.WORDS), some)


def run_command(contestant: Contestant, source: Path, target: Path) -> dict[str, float]:
    """Parse a file by the command of a system; return what that took."""
    path = {"PYTHONPATH": measure.python_path(measure.REPOSITORY)}
    return measure.run_command(contestant.command(source, target), env=path)


def describe(name: str, contestant: Contestant, folder: Path) -> dict[str, Any]:
    """Measure the memory of the command that parses the file, and score what it wrote."""
    measure.say(f"{name}: memory and accuracy")
    gold, predicted = folder / GOLD, folder / f"{name} {PREDICTED}"
    peak = run_command(contestant, folder / BLIND, predicted)["peak_rss_mb"]
    if contestant.load is None:  # writes the words alone
        answers = map(conllu_columns.arcs, conllu_columns.sentences(predicted))
        blind = conllu_columns.sentences(folder / BLIND)
        conllu_columns.write_sentences(predicted, list(map(conllu_columns.with_arcs, blind, answers)))
    trained = json.loads(contestant.record.read_text("utf-8")) if contestant.record.exists() else {}
    return {
        "name": name,
        "sees": contestant.sees,
        "peak_rss_mb": peak,
        "model_mb": measure.size_mb(contestant.model),
        "training": {key: trained.get(key) for key in ("commit", "settings", "cpu_seconds", "peak_rss_mb")},
        "scores": systems.own_scores(gold, predicted),
        "official_scores": systems.official_scores(gold, predicted),
        "single_root_trees": systems.count_single_root_trees(predicted),
    }


def parse_speeds(options: Mapping[str, Any], folder: str, repeats: int) -> dict[str, list[float]]:
    """Return words per CPU-second of the parse alone, every repeat, of the systems that can be loaded."""
    blind = Path(folder, BLIND)
    words = conllu_columns.count_words(blind)
    field = contestants(options)
    loaded = {name: contestant.load() for name, contestant in field.items() if contestant.load is not None}
    for name, system in loaded.items():
        written = list(map(conllu_columns.arcs, conllu_columns.sentences(Path(folder, f"{name} {PREDICTED}"))))
        if system.arcs(system.prepare(blind)()) != written:
            raise SystemExit(f"{name}: the timed call and the file that is scored differ; nothing is recorded")
    measure.say(f"the parse alone: {repeats} rounds")
    seconds = measure.interleaved({name: partial(one.prepare, blind) for name, one in loaded.items()}, repeats)
    return {name: [words / value for value in values] for name, values in seconds.items()}


def command_speeds(field: Mapping[str, Contestant], folder: Path, repeats: int) -> dict[str, dict[str, list[float]]]:
    """Return words per CPU-second of whole commands, and of the parse alone of systems that have only a command."""
    words = conllu_columns.count_words(folder / COPIES)
    found: dict[str, dict[str, list[float]]] = {"file_to_file": {name: [] for name in field}, "parse": {}}
    measure.say(f"file to file: {repeats} rounds")
    for number, order in enumerate(measure.rounds(list(field), repeats), start=1):
        for name in order:
            whole = run_command(field[name], folder / COPIES, folder / "timed.conllu")["cpu_seconds"]
            found["file_to_file"][name].append(words / whole)
            if field[name].load is None:
                start = run_command(field[name], folder / SINGLE, folder / "timed.conllu")["cpu_seconds"]
                found["parse"].setdefault(name, []).append(words / (whole - start))
        latest = ", ".join(f"{name} {values[-1]:,.0f}" for name, values in found["file_to_file"].items())
        measure.say(f"  round {number} of {repeats}, words per CPU-s: {latest}")
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
    parser.add_argument("--copies", type=int, default=10, help="of the test file, for commands (default: %(default)s)")
    parser.add_argument("--maltparser", type=Path, metavar="JAR", help=f"MaltParser (default: {maltparser.VARIABLE})")
    parser.add_argument("--limit", type=int, help="only the first sentences of the test file, for a trial")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure everything and return the record."""
    if options.maltparser is not None:
        os.environ[maltparser.VARIABLE] = str(options.maltparser.resolve())
    chosen = {key: getattr(options, key) for key in FIELD}
    field = contestants(chosen)
    if options.only in maltparser.NAME and (lacks := maltparser.missing()) is not None:
        measure.say(lacks)
    if not field:
        raise SystemExit(f"--only: no system that can run here has {options.only!r} in its name")
    needed = {"UDPipe": "ufal.udpipe", "spaCy": "spacy"}
    measure.require(["udtools", *(needed[name.split()[0]] for name in field if name.split()[0] in needed)])
    for contestant in field.values():
        contestant.train(options.retrain)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_input(options.data / TEST, folder, options.limit, options.copies)
        described = {name: describe(name, contestant, folder) for name, contestant in field.items()}
        alone = measure.in_child(
            "benchmarks.compare:parse_speeds", options=chosen, folder=folder, repeats=options.repeats
        )
        speed = command_speeds(field, folder, options.repeats)
        speed["parse"] |= alone
        sentences = sum(1 for _ in conllu_columns.sentences(folder / GOLD))
        words = conllu_columns.count_words(folder / GOLD)
    for kind, by_name in speed.items():
        for name, values in by_name.items():
            described[name][kind] = {"words_per_cpu_second": measure.summary(values)}
    about = f"the whole command on {options.copies} copies of the file: start, loading, reading, parsing, writing"
    settings = {"test": TEST.as_posix(), "limit": options.limit, "sentences": sentences, "words": words}
    origin = measure.provenance(PACKAGES)
    if maltparser.NAME in field:
        origin["versions"] |= {"MaltParser": maltparser.version()}
    return {
        "benchmark": "compare",
        **origin,
        "settings": {**settings, "file_to_file": about, "repeats": options.repeats, "threads": 1},
        "systems": list(described.values()),
        "ratios": {kind: ratios(by_name) for kind, by_name in speed.items()},
    }
