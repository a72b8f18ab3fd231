"""`python -m experiments`: list the tables, run one, write the pages of the docs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import data_option, say
from experiments import figures, report, table
from experiments.runner import RESULTS, Runner, result_path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def command_line() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the tables, with their paper and title")
    run = commands.add_parser("run", help="train and evaluate the rows of a table")
    run.add_argument("table", help="name of a table, as `list` shows it")
    data_option(run)
    run.add_argument("--seeds", type=int, default=3, help="runs of each row (default: %(default)s)")
    run.add_argument("--rows", default="", metavar="ROW", help="only this row, or rows with this in their name")
    run.add_argument("--quick", action="store_true", help="a few hundred sentences and 2 epochs, to try it out")
    run.add_argument("--out", type=Path, help="result file (default: experiments/results/TABLE.json)")
    run.add_argument("--fresh", action="store_true", help="make every run again, stored or not")
    pages = commands.add_parser("report", help="write docs/experiments from the stored results")
    pages.add_argument("tables", nargs="*", metavar="TABLE", help="only the page of this table, on standard output")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command."""
    parser = command_line()
    options = parser.parse_args(arguments)
    if options.command == "list":
        for name in table.names():
            one = table.load(name)
            print(f"{name:27} {one.texts['paper']}: {one.title} ({len(one.rows)} rows)")
    elif options.command == "run":
        if options.seeds < 1:
            parser.error(f"--seeds must be at least 1, found {options.seeds}")
        runner = Runner(
            table.load(options.table), data=options.data, out=options.out, seeds=options.seeds, is_quick=options.quick
        )
        runner.run(rows=options.rows, fresh=options.fresh)
    elif options.tables:
        for name in options.tables:
            record = json.loads(result_path(table.load(name).name).read_text(encoding="utf-8"))
            print(report.page(table.load(name), record), end="")
    else:
        for path in report.write([table.load(name) for name in table.names()], RESULTS, DOCS / "experiments"):
            say(f"wrote {path}")
        figures.draw(result_path("augmented_study"), DOCS / "choosing.svg")
        figures.draw_uptraining(result_path("petrov2010_table3"), DOCS / "experiments" / "uptraining.svg")


if __name__ == "__main__":
    main()
