"""`python -m benchmarks`: run a benchmark, or write docs/benchmarks.md from the stored results."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import (
    adaptation,
    annotation_order,
    arc_filters,
    cluster,
    compare,
    costs,
    maltparser,
    measure,
    mixing,
    peers,
    raw_text,
    report,
    taggers,
    training,
    treebanks,
    versions,
    web_load,
)

HERE = Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results", HERE.parent / "docs" / "benchmarks.md"


class Benchmark(NamedTuple):
    """What a benchmark measures, its options, and the function that measures it and returns the record."""

    about: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], dict[str, Any]]


BENCHMARKS = {
    "compare": Benchmark(
        "parsers beside UDPipe 1, spaCy and MaltParser, gold tokens and tags", compare.add_options, compare.run
    ),
    "raw_text": Benchmark("the pipeline beside UDPipe 1, from raw text", raw_text.add_options, raw_text.run),
    "treebanks": Benchmark(
        "pipelines of UD treebanks beside UDPipe 1, from raw text", treebanks.add_options, treebanks.run
    ),
    "adaptation": Benchmark("the English model, adapted by few answers", adaptation.add_options, adaptation.run),
    "annotation_order": Benchmark(
        "main verbs of questions, replayed in three orders", annotation_order.add_options, annotation_order.run
    ),
    "web_load": Benchmark("the web server under load, beside spaCy", web_load.add_options, web_load.run),
    "cluster": Benchmark("two workers of a Ray cluster beside one process", cluster.add_options, cluster.run),
    "mixing": Benchmark("iterative parameter mixing on EWT", mixing.add_options, mixing.run),
    "arc_filters": Benchmark("graph parsers with arc filters", arc_filters.add_options, arc_filters.run),
    "training": Benchmark("training of parsers, over seeds", training.add_options, training.run),
    "taggers": Benchmark("taggers: accuracy, cost and speed", taggers.add_options, taggers.run),
    "startup": Benchmark(
        "time and memory of the first command and of later ones", costs.startup_options, costs.startup
    ),
    "versions": Benchmark("the speed of two commits on one model", versions.add_options, versions.run),
    "reordering": Benchmark("word order beside parsing", costs.reordering_options, costs.reordering),
    "overhead": Benchmark("the trainer beside a bare loop", costs.overhead_options, costs.overhead),
    "uptraining": Benchmark("uptraining at its full size", costs.uptraining_options, costs.uptraining),
}


def command_line() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure something").add_subparsers(dest="name", required=True)
    for name, benchmark in BENCHMARKS.items():
        one = run.add_parser(name, help=benchmark.about, description=benchmark.about)
        _shared_options(one)
        one.add_argument("--out", type=Path, help=f"result file (default: benchmarks/results/{_file(name)})")
        benchmark.add_options(one)
    train = commands.add_parser("train-peers", help="train UDPipe 1, spaCy and MaltParser (about 70 CPU-minutes, once)")
    _shared_options(train)
    commands.add_parser("report", help=f"write {PAGE.relative_to(HERE.parent)} from the stored results")
    return parser


def _file(name: str) -> str:
    return f"{name.replace('_', '-')}.json"


def _shared_options(parser: argparse.ArgumentParser) -> None:
    measure.data_option(parser)
    measure.cache_option(parser)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command."""
    options = command_line().parse_args(arguments)
    if options.command == "run":
        path = options.out or RESULTS / _file(options.name)
        measure.write_json(path, BENCHMARKS[options.name].run(options))
        measure.say(f"wrote {path}")
    elif options.command == "train-peers":
        measure.require(["ufal.udpipe", "spacy"])
        if (lacks := maltparser.missing()) is not None:
            measure.say(lacks)
        for name in peers.PEERS if lacks is None else peers.PEERS.keys() - {"maltparser"}:
            peers.train_cached(name, data=options.data, cache=options.cache)
    else:
        files = sorted(RESULTS.glob("*.json"))
        PAGE.write_text(report.page([json.loads(path.read_text(encoding="utf-8")) for path in files]), encoding="utf-8")
        measure.say(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
