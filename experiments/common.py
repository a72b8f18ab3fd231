"""What all experiments share: the options, the loop over rows and seeds, and what is written of it.

Every run is stored as soon as it is done, and a run that is stored is not made again: an experiment can be
killed and started again. A run that another experiment has made with the same settings is taken from its file.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import measuring
from corpora import QUICK, Corpus, Data, Limits
from findings import Claim, NotMeasuredError, Results
from predicted import with_predicted_tags
from runs import Record, ResultFile, Row, run

RESULTS = Path(__file__).resolve().parent / "results"
EPOCHS, QUICK_EPOCHS, QUICK_FOLDS = 5, 2, 2
ORIGIN = ("commit", "dirty", "date", "versions", "machine")


@dataclass(frozen=True)
class Experiment:
    """The rows of a table, the pairs (better, worse) of them that are tested, and what is expected.

    `name` is that of the script and of its result file, `title` that of its section in the docs. `shown` are the
    scores of its table, by their heads; by default those of most tables.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    pairs: tuple[tuple[str, str], ...]
    claims: tuple[Claim, ...]
    epochs: int = EPOCHS
    shown: Mapping[str, str] | None = None


class Session:
    """An experiment with the options of one start; data are read when they are needed."""

    def __init__(
        self, experiment: Experiment, *, data: Path, out: Path | None = None, seeds: int = 3, quick: bool = False
    ) -> None:
        self.experiment = experiment
        self.folder = data
        self.seeds = range(seeds)
        self.limits = QUICK if quick else Limits()
        self.epochs = QUICK_EPOCHS if quick else experiment.epochs
        self.rows = tuple(map(_quick, experiment.rows)) if quick else experiment.rows
        self.file = ResultFile(out or default_file(experiment.name, quick=quick), experiment.name)
        self._data: dict[tuple[object, ...], Data] = {}

    def run(self, *, only: str = "", fresh: bool = False) -> None:
        """Make the runs that are not stored, all rows of the first seed first, and write what they say."""
        rows = self._wanted(only)
        places = [(row, seed) for seed in self.seeds for row in rows]
        missing = [place for place in places if fresh or self._stored(*place) is None]
        measuring.say(f"{self.experiment.name}: {len(places)} runs, {len(places) - len(missing)} of them stored")
        # First epochs that rows share: not for longer than the code and the data are sure to be the same.
        with tempfile.TemporaryDirectory() as warm:
            for number, (row, seed) in enumerate(missing, start=1):
                measuring.say(f"run {number} of {len(missing)}: {row.name}, seed {seed}")
                made = (None if fresh else self._made_elsewhere(row, seed)) or self._make(row, seed, Path(warm))
                # Tests of significance take longer than a small run: they are made once, of all runs.
                self.file.write(partial(self.describe, conclude=number == len(missing)), made)
        if not missing:
            # Other seeds or claims than last time may be asked for.
            self.file.write(self.describe)
        measuring.say(f"wrote {self.file.path}; show it with: python experiments/tables.py {self.file.path}")

    def describe(self, runs: list[Record], *, conclude: bool = True) -> Record:
        """Return the content of the result file: what the runs say together, then the runs themselves.

        Differences are tested, and claims judged, only to `conclude`.
        """
        here = [row for row in self.rows if not row.corpus.missing(self.folder)]
        wanted = {row.name: [self._settings(row, seed) for seed in self.seeds] for row in here}
        valid = [run for run in runs if run["settings"] in wanted.get(run["row"], ())]
        done = {run["row"] for run in valid}
        finished = [row for row in here if row.name in done]
        results = Results(valid, {test: gold for row in finished for test, gold in self.data(row.corpus).tests.items()})
        return {
            "experiment": self.experiment.name,
            "title": self.experiment.title,
            # Of the latest run, not of this moment, which may only have drawn conclusions.
            **{key: valid[-1][key] for key in ORIGIN},
            "commits": sorted({run["commit"] for run in valid}),
            "settings": {"epochs": self.epochs, "quick": self.limits == QUICK, "seeds": list(self.seeds)},
            **({"shown": dict(self.experiment.shown)} if self.experiment.shown else {}),
            "rows": [{"name": row.name, "corpus": row.corpus.name, **results.summary(row.name)} for row in finished],
            "comparisons": self._comparisons(results) if conclude else [],
            "pattern": [claim.judge(results) for claim in self.experiment.claims] if conclude else [],
            "runs": runs,
        }

    def data(self, corpus: Corpus) -> Data:
        """Return the examples of a corpus, read once."""
        key = (corpus.name, corpus.train, corpus.most, corpus.tests, corpus.others, corpus.predicted)
        if key not in self._data:
            read = corpus.read(self.folder, self.limits)
            self._data[key] = with_predicted_tags(read) if corpus.predicted else read
        return self._data[key]

    def _wanted(self, only: str) -> list[Row]:
        # "k = 1" is also in the name of "k = 10".
        named = [row for row in self.rows if row.name == only]
        rows = named or [row for row in self.rows if only in row.name]
        if not rows:
            names = "; ".join(row.name for row in self.rows)
            raise SystemExit(f"no row has {only!r} in its name; the rows are: {names}")
        for row in rows:
            for path in row.corpus.missing(self.folder):
                raise SystemExit(f"{path} is missing; name the folder that holds {row.corpus.folder}/ with --data")
        return rows

    def _settings(self, row: Row, seed: int) -> Record:
        return row.settings(data=self.folder, epochs=self.epochs, limits=self.limits, seed=seed)

    def _stored(self, row: Row, seed: int) -> Record | None:
        return self.file.find(row.name, self._settings(row, seed))

    def _made_elsewhere(self, row: Row, seed: int) -> Record | None:
        found = self.file.find_elsewhere(self._settings(row, seed))
        if found is None:
            return None
        measuring.say(f"  found in {found['taken_from']}")
        return {**found, "row": row.name}

    def _make(self, row: Row, seed: int, warm: Path) -> Record:
        origin = measuring.provenance(["numpy", "numba"])
        made = run(row, self.data(row.corpus), epochs=self.epochs, seed=seed, warm=warm)
        return {"row": row.name, "settings": self._settings(row, seed), **origin, **made}

    def _comparisons(self, results: Results) -> list[Record]:
        tests = {row.name: row.corpus.tests for row in self.rows}
        found = []
        for better, worse in self.experiment.pairs:
            for test in tests[better]:
                try:
                    found.append(results.compare(better, worse, test))
                except NotMeasuredError:
                    continue
        return found


def _quick(row: Row) -> Row:
    recipe = row.recipe
    if recipe.base:
        recipe = replace(recipe, folds=QUICK_FOLDS)
    # Every objective must have started before the last of the few epochs.
    extras = tuple(replace(extra, options={**extra.options, "start": QUICK_EPOCHS}) for extra in recipe.extras)
    return replace(row, recipe=replace(recipe, extras=extras))


def default_file(name: str, *, quick: bool) -> Path:
    """Return where results go; those of a quick trial never among those that the docs quote."""
    folder = Path(tempfile.gettempdir()) / "treetune-experiments" if quick else RESULTS
    return folder / f"{name}.json"


def main(experiment: Experiment, description: str | None, arguments: Sequence[str] | None = None) -> None:
    """Run an experiment with the options of the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    measuring.data_option(parser)
    parser.add_argument("--seeds", type=int, default=3, help="runs of each row (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a few hundred sentences and 2 epochs, to try it out")
    parser.add_argument(
        "--only", default="", metavar="ROW", help="make only runs of this row, or of rows with this in their name"
    )
    parser.add_argument("--out", type=Path, help="result file (default: experiments/results/NAME.json)")
    parser.add_argument("--fresh", action="store_true", help="make every run again, stored or not")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error(f"--seeds must be at least 1, found {options.seeds}")
    session = Session(experiment, data=options.data, out=options.out, seeds=options.seeds, quick=options.quick)
    session.run(only=options.only, fresh=options.fresh)
