"""Measure what starting costs: the first parse after installation, later ones, and ``--help``.

    python benchmarks/startup.py --data DIR --cache DIR --output benchmarks/results/startup.json

"After installation" means that numba has compiled nothing yet: each repeat gets an empty cache folder. All
runs are the command line in a new process, on ten sentences; its CPU seconds are counted from start to end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import conllu_columns
import measure
import training

SENTENCES = 10
TEST = Path("ud", "en_ewt-test.conllu")


def command_seconds(arguments: list[str], cache: Path) -> float:
    """Return the CPU seconds of one run of the command line, with compiled kernels kept in `cache`."""
    before = measure.cpu_seconds_of_children()
    environment = {**os.environ, **measure.ONE_THREAD, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "treetune", *arguments]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return measure.cpu_seconds_of_children() - before


def startup(model: Path, test: Path, repeats: int) -> dict[str, list[float]]:
    """Return the CPU seconds of every repeat, by command."""
    found: dict[str, list[float]] = {"first parse": [], "later parse": [], "--help": []}
    for number in range(1, repeats + 1):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            source = folder / "in.conllu"
            blocks = list(conllu_columns.sentences(test))[:SENTENCES]
            conllu_columns.write_sentences(source, list(map(conllu_columns.blinded, blocks)))
            parse = ["parse", str(model), str(source), "-o", str(folder / "out.conllu"), "--quiet"]
            for kind, arguments in (("first parse", parse), ("later parse", parse), ("--help", ["--help"])):
                found[kind].append(command_seconds(arguments, folder / "numba"))
        latest = ", ".join(f"{kind} {values[-1]:.2f}" for kind, values in found.items())
        measure.say(f"  {number} of {repeats}, CPU-s: {latest}")
    return found


def main() -> None:
    """Measure and write the result."""
    parser = measure.command_line(__doc__)
    parser.add_argument("--output", type=Path, help="result file (default: standard output)")
    parser.add_argument("--model", type=Path, help="a model (default: beam 8 of the cache, trained if missing)")
    parser.add_argument("--epochs", type=int, default=10, help="of that default model (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="empty caches to start from (default: 3)")
    arguments = parser.parse_args()
    model = arguments.model or default_model(arguments)
    seconds = startup(model, arguments.data / TEST, arguments.repeats)
    record = {
        "benchmark": "startup",
        **measure.provenance(["numpy", "numba"]),
        "settings": {
            "sentences": SENTENCES,
            "repeats": arguments.repeats,
            "model_mb": measure.size_mb(model),
        },
        "cpu_seconds": {kind: measure.summary(values) for kind, values in seconds.items()},
    }
    measure.finish(record, arguments.output)


def default_model(arguments: argparse.Namespace) -> Path:
    """Return the model that the other benchmarks use."""
    settings = training.Settings(8, arguments.epochs, 0)
    training.train_cached(settings, data=arguments.data, cache=arguments.cache)
    return settings.model(arguments.cache)


if __name__ == "__main__":
    main()
