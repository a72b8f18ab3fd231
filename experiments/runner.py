"""Trains every row of a table with every seed, scores it once on each test set, and keeps every finished run."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import provenance, say
from experiments import data as files
from experiments.data import KEPT, QUICK, Data, Limits, objectives
from experiments.logical_forms import Measured
from experiments.results import NotMeasuredError, Results, tree_outcomes
from experiments.steps import STEPS, Setting
from experiments.store import Record, ResultFile
from experiments.table import Row, Table
from experiments.training import QUICK_EPOCHS, Config, SharedEpochs, Training, build_loss, quick, warm_up
from experiments.uptraining import remember, uptrained
from treetune import Example
from treetune.corpus.orders import WordOrder
from treetune.corpus.projectivity import is_projective
from treetune.evaluation import evaluate_trees
from treetune.models.base import Parser

RESULTS = Path(__file__).resolve().parent / "results"
ORIGIN = ("commit", "dirty", "date", "versions", "machine")


def result_path(name: str, *, is_quick: bool = False) -> Path:
    """Return where results go; those of a quick trial never among those that the docs quote."""
    return (KEPT if is_quick else RESULTS) / f"{name}.json"


class Runner:
    """A table with the options of one start; data are read when they are needed."""

    def __init__(
        self, table: Table, *, data: Path, out: Path | None = None, seeds: int = 3, is_quick: bool = False
    ) -> None:
        self.table, self.folder, self.seeds, self.is_quick = table, data, range(seeds), is_quick
        self.limits = QUICK if is_quick else Limits()
        self.rows = tuple(Row(row.name, self._config(row)) for row in table.rows)
        self.file = ResultFile(out or result_path(table.name, is_quick=is_quick), table.name)
        self._data: dict[str, Data] = {}

    def _config(self, row: Row) -> Config:
        return quick(row.config, self.table.epochs) if self.is_quick else row.config

    def run(self, *, rows: str = "", fresh: bool = False) -> None:
        """Make the runs that are not stored, all rows of the first seed first, and write what they say."""
        chosen = self._chosen(rows)
        runs = [(row, seed) for seed in self.seeds for row in chosen]
        missing = [(row, seed) for row, seed in runs if fresh or self._stored(row, seed) is None]
        say(f"{self.table.name}: {len(runs)} runs, {len(runs) - len(missing)} of them stored")
        # Shared for no longer than the code and the data are sure to be the same.
        with tempfile.TemporaryDirectory() as shared:
            for number, (row, seed) in enumerate(missing, start=1):
                say(f"run {number} of {len(missing)}: {row.name}, seed {seed}")
                made = (None if fresh else self._made_elsewhere(row, seed)) or self._make(row, seed, Path(shared))
                # Tests of significance take longer than a small run: they are made once, of all runs.
                self.file.write(partial(self.describe, conclude=number == len(missing)), made)
        if not missing:
            # Other seeds or claims than last time may be asked for.
            self.file.write(self.describe)
        say(f"wrote {self.file.path}")

    def describe(self, runs: list[Record], *, conclude: bool = True) -> Record:
        """Return what the runs say together; differences are tested, and claims checked, only to `conclude`."""
        here = [
            row for row in self.rows if all(path.is_file() for path in files.paths(row.config, self.folder).values())
        ]
        wanted = {row.name: [self.settings(row, seed) for seed in self.seeds] for row in here}
        valid = [run for run in runs if run["settings"] in wanted.get(run["row"], ())]
        done = {run["row"] for run in valid}
        finished = [row for row in here if row.name in done]
        results = self.results(valid, finished)
        return {
            "table": self.table.name,
            # Of the latest run, not of this moment, which may only have drawn conclusions.
            **{key: valid[-1][key] for key in ORIGIN},
            "commits": sorted({run["commit"] for run in valid}),
            "epochs": QUICK_EPOCHS if self.is_quick else self.table.epochs,
            "quick": self.is_quick,
            "seeds": list(self.seeds),
            "rows": [{"name": row.name, **results.summary(row.name)} for row in finished],
            "comparisons": self._comparisons(results) if conclude else [],
            "claims": [claim.check(results) for claim in self.table.claims] if conclude else [],
        }

    def results(self, runs: Sequence[Record], rows: Sequence[Row]) -> Results:
        """Return the results of some runs; the test sets of parsers are read."""
        step = STEPS.get(self.rows[0].config.get("step", {}).get("name", ""))
        gold: dict[str, list[Example]] = {}
        for row in rows if step is None else ():
            missing = [test for test in row.config["data"]["tests"] if test not in gold]
            gold |= files.read_trees(row.config, self.folder, missing, self.limits.test)
        return Results(runs, gold, () if step is None else step.metrics)

    def settings(self, row: Row, seed: int) -> Record:
        """Return all that decides a run but the code, the contents of files included."""
        priced = [*objectives(row.config), {"loss": row.config.get("loss")}]
        losses = [build_loss(one["loss"]) for one in priced if one["loss"]]
        by_order = any(loss.reference == "order" for loss in losses)
        return {
            "config": row.config,
            "seed": seed,
            "quick": self.is_quick,
            "data": files.digests(row.config, self.folder, orders=by_order),
        }

    def data(self, config: Config) -> Data:
        """Return the examples of a row, read once for all rows that have the same files."""
        key = repr((config["data"], files.objective_files(config), config.get("uptrain")))
        if key not in self._data:
            self._data[key] = files.read(config, self.folder, self.limits)
        return self._data[key]

    def _chosen(self, name: str) -> list[Row]:
        # "k = 1" is also in the name of "k = 10".
        named = [row for row in self.rows if row.name == name]
        rows = named or [row for row in self.rows if name in row.name]
        if not rows:
            raise SystemExit(f"no row has {name!r} in its name; the rows are: {'; '.join(r.name for r in self.rows)}")
        for row in rows:
            files.check(row.config, self.folder)
        return rows

    def _stored(self, row: Row, seed: int) -> Record | None:
        return self.file.find(row.name, self.settings(row, seed))

    def _made_elsewhere(self, row: Row, seed: int) -> Record | None:
        found = self.file.find_elsewhere(self.settings(row, seed))
        if found is None:
            return None
        say(f"  found in {found['taken_from']}")
        return {**found, "row": row.name}

    def _make(self, row: Row, seed: int, shared: Path) -> Record:
        origin = provenance(["numpy", "numba"])
        if "step" in row.config:
            made = run_step(row.config, Setting(self.folder, row.config, seed, is_quick=self.is_quick))
        else:
            made = run_parser(row.config, self.data(row.config), seed=seed, shared=shared)
        return {"row": row.name, "settings": self.settings(row, seed), **origin, **made}

    def _comparisons(self, results: Results) -> list[Record]:
        tests = {row.name: row.config["data"]["tests"] for row in self.rows}
        found = []
        for better, worse in self.table.pairs:
            for test in [test for test in tests[better] if test in tests[worse]]:
                try:
                    found.append(results.compare(better, worse, test))
                except NotMeasuredError:
                    continue
        return found


def run_step(config: Config, setting: Setting) -> Record:
    """Run a row that is a Python step: the scores and counts of each test set."""
    step = STEPS[config["step"]["name"]]
    started = time.process_time()
    found = step.run(setting)
    seconds = time.process_time() - started
    return {
        "cpu_seconds": seconds,
        "tests": {
            test: {
                **{metric.name: percent(metric.score(counts)) for metric in step.metrics},
                **(counts.measures if isinstance(counts, Measured) else {}),
                "outcomes": {"counts": np.array(counts)},
            }
            for test, counts in found.items()
        },
    }


def run_parser(config: Config, data: Data, *, seed: int, shared: Path | None = None) -> Record:
    """Train the parser of a row with one seed and score it on every test set, once.

    `shared` is a folder in which rows share the first epochs, before their objectives start; of the same data and code.
    """
    warm_up(config, data)
    data = uptrained(config, data, seed=seed, say=say)
    training = Training(say, shared=None if shared is None else SharedEpochs.of(shared, config, seed))
    start = time.process_time()
    parser = training.train(config, data, seed=seed)
    seconds = time.process_time() - start + (training.shared.borrowed if training.shared else 0.0)
    remember(config, data, parser, seed=seed)
    return {
        "cpu_seconds": seconds,
        "learner": training.learner,
        "epochs": training.epochs,
        **({"tallies": training.tallies} if training.tallies else {}),
        "tests": {
            name: score(parser, gold, config.get("loss"), data.orders.get(name)) for name, gold in data.tests.items()
        },
    }


def score(
    parser: Parser, gold: Sequence[Example], loss: Config | None = None, orders: Sequence[WordOrder] | None = None
) -> Record:
    """Return the scores of a parser on one file, per cent, its speed, and what is needed to compare it later."""
    sentences = [example.sentence for example in gold]
    start = time.process_time()
    trees = parser.predict_batch(sentences)
    seconds = time.process_time() - start
    scores = evaluate_trees(gold, trees)
    crossing = [pair for pair in zip(gold, trees, strict=True) if not is_projective(pair[0].gold.heads)]
    on_crossing = evaluate_trees([example for example, _ in crossing], [tree for _, tree in crossing])
    priced, outcomes = costs(loss, gold, trees, orders) if loss else ({}, {})
    return {
        **{metric: percent(scores[metric]) for metric in ("UAS", "LAS", "root", "UCM", "LCM")},
        "crossing_sentences": len(crossing),
        "crossing_UAS": percent(on_crossing.uas),
        "crossing_LAS": percent(on_crossing.las),
        "words_per_cpu_second": sum(map(len, sentences)) / seconds,
        **priced,
        "labels": {label: [tally.gold, 100 * tally.f1] for label, tally in scores.by_label.items() if tally.gold},
        "outcomes": {**tree_outcomes(scores), **outcomes},
    }


def costs(
    settings: Config, gold: Sequence[Example], trees: Sequence[Any], orders: Sequence[WordOrder] | None
) -> tuple[Record, Record]:
    """Return what trees cost by a loss, per cent: the mean, and each sentence.

    Of a loss over word orders also the reorder score, and the share of sentences in the exact order; sentences without
    two words to order are left out.
    """
    loss = build_loss(settings)
    by_order = loss.reference == "order"
    references: Sequence[Any] = (orders or ()) if by_order else [example.gold for example in gold]
    triples = [
        (example.sentence, tree, reference)
        for example, tree, reference in zip(gold, trees, references, strict=True)
        if not by_order or len(reference.words) > 1
    ]
    found = [100 * loss.costs(sentence, [tree], reference)[0] for sentence, tree, reference in triples]
    loss.close()
    cost = sum(found) / len(found)
    scores = {"reorder": 100 - cost, "exact": 100 * found.count(0) / len(found)} if by_order else {}
    return {"cost": cost, **scores}, {"costs": np.array([round(one, 3) for one in found])}


def percent(value: float) -> float | None:
    """Return a score per cent; None, which JSON knows, if there was nothing to count."""
    return None if math.isnan(value) else 100 * value
