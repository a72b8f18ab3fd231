"""Experiments whose rows are not one parser on one treebank: taggers, entities, parsers on predicted tags.

A row is a function that trains whatever it needs and returns, for each test file, a few counts of every sentence; all
scores are ratios of sums of these, as in `treetune.evaluation`. Runs are kept and not made again, as in `common`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import measuring
from common import ORIGIN, default_file
from findings import SIGNIFICANT, spread
from outcomes import pack_numbers, unpack_numbers
from runs import Record, ResultFile
from treetune.evaluation import Metric, paired_bootstraps

Counts = tuple[int, ...]


@dataclass(frozen=True)
class Setting:
    """What one run is given: where the data are, its seed, and how much to do."""

    data: Path
    seed: int
    epochs: int
    quick: bool

    def most(self, examples: Sequence[Any]) -> list[Any]:
        """Return the examples, or the first few of them in a quick trial."""
        return list(examples[:150] if self.quick else examples)


@dataclass(frozen=True)
class TaskRow:
    """One line of a table; `make` returns the counts of the sentences of each test file."""

    name: str
    make: Callable[[Setting], Mapping[str, Sequence[Counts]]]


@dataclass(frozen=True)
class Expectation:
    """A relation that is expected: `better` has a higher `metric` on `test` than `worse`, significantly or just so."""

    better: str
    worse: str
    test: str
    metric: str
    significant: bool = False

    @property
    def text(self) -> str:
        """The claim in words."""
        how = "significantly higher" if self.significant else "higher"
        by = " (bootstrap, p < 0.05)" if self.significant else ""
        return f"{self.test}: {self.better} has a {how} {self.metric} than {self.worse}{by}"


@dataclass(frozen=True)
class TaskExperiment:
    """The rows of a table, what is counted, and what is expected; `about` is said above its tables."""

    name: str
    title: str
    about: str
    rows: tuple[TaskRow, ...]
    metrics: tuple[Metric, ...]
    pairs: tuple[tuple[str, str], ...]
    expected: tuple[Expectation, ...]
    epochs: int
    files: tuple[str, ...]


class TaskSession:
    """An experiment with the options of one start."""

    def __init__(self, experiment: TaskExperiment, *, data: Path, out: Path | None, seeds: int, quick: bool) -> None:
        self.experiment = experiment
        self.data, self.quick = data, quick
        self.seeds = range(seeds)
        self.epochs = 2 if quick else experiment.epochs
        self.file = ResultFile(out or default_file(experiment.name, quick=quick), experiment.name)

    def run(self, *, only: str = "", fresh: bool = False) -> None:
        """Make the runs that are not stored, all rows of the first seed first, and write what they say."""
        rows = [row for row in self.experiment.rows if only in row.name]
        if not rows:
            names = "; ".join(row.name for row in self.experiment.rows)
            raise SystemExit(f"no row has {only!r} in its name; the rows are: {names}")
        for name in self.experiment.files:
            if not (self.data / name).is_file():
                raise SystemExit(f"{self.data / name} is missing; name the folder that holds it with --data")
        for seed in self.seeds:
            for row in rows:
                settings = self._settings(seed)
                if fresh or self.file.find(row.name, settings) is None:
                    measuring.say(f"{row.name}, seed {seed}")
                    self.file.write(self.describe, self._make(row, settings))
        self.file.write(self.describe)
        measuring.say(f"wrote {self.file.path}; show it with: python experiments/tables.py {self.file.path}")

    def _settings(self, seed: int) -> Record:
        digests = {name: _digest(self.data / name) for name in self.experiment.files}
        return {"epochs": self.epochs, "quick": self.quick, "seed": seed, "data": digests}

    def _make(self, row: TaskRow, settings: Record) -> Record:
        origin = measuring.provenance(["numpy", "numba"])
        started = time.process_time()
        found = row.make(Setting(self.data, settings["seed"], self.epochs, self.quick))
        seconds = time.process_time() - started
        tests = {test: {"counts": pack_numbers(counts), **self._scores(counts)} for test, counts in found.items()}
        return {"row": row.name, "settings": settings, **origin, "cpu_seconds": seconds, "tests": tests}

    def _scores(self, counts: Sequence[Counts]) -> dict[str, float]:
        return {metric.name: 100 * metric.score(counts) for metric in self.experiment.metrics}

    def describe(self, runs: list[Record]) -> Record:
        """Return the content of the result file: what the runs say together, then the runs themselves."""
        wanted = [self._settings(seed) for seed in self.seeds]
        valid = [run for run in runs if run["settings"] in wanted]
        by_row = {row.name: [run for run in valid if run["row"] == row.name] for row in self.experiment.rows}
        done = {name: sorted(found, key=lambda run: run["settings"]["seed"]) for name, found in by_row.items() if found}
        results = TaskResults(self.experiment.metrics, done)
        return {
            "experiment": self.experiment.name,
            "title": self.experiment.title,
            "about": self.experiment.about,
            "kind": "task",
            **{key: valid[-1][key] for key in ORIGIN},
            "commits": sorted({run["commit"] for run in valid}),
            "settings": {"epochs": self.epochs, "quick": self.quick, "seeds": list(self.seeds)},
            "shown": {metric.name: metric.name for metric in self.experiment.metrics},
            "rows": [{"name": name, **results.summary(name)} for name in done],
            "comparisons": [
                results.compare(better, worse, test)
                for better, worse in self.experiment.pairs
                if better in done and worse in done
                for test in done[better][0]["tests"]
                if test in done[worse][0]["tests"]
            ],
            "pattern": [results.judge(claim) for claim in self.experiment.expected],
            "runs": runs,
        }


class TaskResults:
    """The finished runs of an experiment, by row and in the order of seeds."""

    def __init__(self, metrics: Sequence[Metric], runs: Mapping[str, Sequence[Record]]) -> None:
        self.metrics, self.runs = metrics, runs

    def summary(self, row: str) -> Record:
        """Return mean and standard deviation of all that was measured of a row."""
        runs = self.runs[row]
        return {
            "seeds": [run["settings"]["seed"] for run in runs],
            "cpu_seconds": spread([run["cpu_seconds"] for run in runs]),
            "dev": None,
            "tests": {
                test: {
                    metric.name: spread([run["tests"][test][metric.name] for run in runs]) for metric in self.metrics
                }
                for test in runs[0]["tests"]
            },
        }

    def compare(self, better: str, worse: str, test: str) -> Record:
        """Test one row against another: sentences are drawn, and the runs of all seeds go along."""
        seeds = [run["settings"]["seed"] for run in self.runs[better]]
        others = {run["settings"]["seed"]: run for run in self.runs[worse]}
        pairs = [(run, others[seed]) for run, seed in zip(self.runs[better], seeds, strict=True) if seed in others]
        sums = [_summed([pair[side]["tests"][test]["counts"] for pair in pairs]) for side in (1, 0)]
        tested = paired_bootstraps(sums[0], sums[1], self.metrics)
        return {
            "better": better,
            "worse": worse,
            "test": test,
            "seeds": [run["settings"]["seed"] for run, _ in pairs],
            "bootstrap": {
                one.metric: {
                    **{name: 100 * value for name, value in asdict(one.difference).items()},
                    "p_value": one.p_value,
                }
                for one in tested
            },
        }

    def judge(self, claim: Expectation) -> Record:
        """Return a claim with its verdict; `holds` is None while something of it is not measured."""
        if claim.better not in self.runs or claim.worse not in self.runs:
            return {"claim": claim.text, "holds": None, "evidence": {"missing": "a row is not measured yet"}}
        found = self.compare(claim.better, claim.worse, claim.test)["bootstrap"][claim.metric]
        means = {
            row: statistics.fmean(run["tests"][claim.test][claim.metric] for run in self.runs[row])
            for row in (claim.better, claim.worse)
        }
        holds = means[claim.better] > means[claim.worse]
        if claim.significant:
            holds = holds and found["p_value"] < SIGNIFICANT
        return {"claim": claim.text, "holds": holds, "evidence": {**means, **found}}


@cache
def _digest(path: Path) -> str:
    digest: str = measuring.sha256(path)
    return digest


def _summed(packed: Sequence[str]) -> list[Counts]:
    """Return the counts of each sentence, summed over seeds."""
    by_seed = [unpack_numbers(text) for text in packed]
    return [tuple(map(sum, zip(*sentence, strict=True))) for sentence in zip(*by_seed, strict=True)]


def main(experiment: TaskExperiment, description: str | None, arguments: Sequence[str] | None = None) -> None:
    """Run an experiment with the options of the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    measuring.data_option(parser)
    parser.add_argument("--seeds", type=int, default=3, help="runs of each row (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a few sentences and 2 epochs, to try it out")
    parser.add_argument("--only", default="", metavar="ROW", help="make only runs of rows with this in their name")
    parser.add_argument("--out", type=Path, help="result file (default: experiments/results/NAME.json)")
    parser.add_argument("--fresh", action="store_true", help="make every run again, stored or not")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error(f"--seeds must be at least 1, found {options.seeds}")
    session = TaskSession(experiment, data=options.data, out=options.out, seeds=options.seeds, quick=options.quick)
    session.run(only=options.only, fresh=options.fresh)
