"""Turn the results of experiments into a Markdown page, so that the docs quote numbers from files.

python experiments/tables.py experiments/results/*.json > docs/experiments.md
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measuring import markdown, origin

Record = Mapping[str, Any]

SCORES = {
    "UAS": "UAS",
    "LAS": "LAS",
    "root": "root",
    "complete": "UCM",
    "complete, labelled": "LCM",
    "UAS, sentences with crossing arcs": "crossing_UAS",
}
# Experiments of `tasks`, whose rows are not one parser each.
TASK = "task"
ANSWERS = {True: "yes", False: "**no**", None: "not measured"}


def spread(summary: Record, *, decimals: int = 2, per: float = 1.0) -> str:
    """Return a mean with the standard deviation over seeds, both divided by `per`; empty if there is none."""
    if summary["mean"] is None:
        return ""
    mean = f"{summary['mean'] / per:,.{decimals}f}"
    return f"{mean} ± {summary['sd'] / per:,.{decimals}f}" if len(summary["raw"]) > 1 else mean


def score_table(record: Record, test: str) -> str:
    """Return the rows that were tested on one file."""
    shown = record.get("shown", SCORES)
    has_dev = any(row["dev"] for row in record["rows"])
    has_speed = record.get("kind") != TASK
    speed = ["words per CPU-s"] if has_speed else []
    what = "parser" if has_speed else "row"
    header = (what, *shown, *(["dev LAS"] if has_dev else []), "training (CPU-min)", *speed)
    rows = [
        (
            _name(row, record),
            *(spread(row["tests"][test][metric]) for metric in shown.values()),
            *([spread(row["dev"]["LAS"]) if row["dev"] else ""] if has_dev else []),
            spread(row["cpu_seconds"], per=60),
            *([spread(row["tests"][test]["words_per_cpu_second"], decimals=0)] if has_speed else []),
        )
        for row in record["rows"]
        if test in row["tests"]
    ]
    return markdown(header, rows)


def _name(row: Record, record: Record) -> str:
    """Return the name of a row, and how many seeds it has if some are missing."""
    seeds = len(row["seeds"])
    return row["name"] if seeds == len(record["settings"]["seeds"]) else f"{row['name']} ({seeds} of the seeds)"


def comparison_table(comparisons: Sequence[Record]) -> str:
    """Return the differences in points with their p-values; of word orders too where there are some."""
    ordered = any("reorder" in one for one in comparisons)
    header = ("difference", *(("reorder", "p, bootstrap") if ordered else ()), *_COMPARED)
    return markdown(header, [_comparison(one, ordered=ordered) for one in comparisons])


_COMPARED = ("UAS", "p, McNemar", "p, bootstrap", "LAS", "p, bootstrap")


def _comparison(one: Record, *, ordered: bool) -> tuple[str, ...]:
    tested = one["bootstrap"]
    order = one.get("reorder")
    return (
        f"{one['test']}: {one['better']} − {one['worse']}",
        *((f"{order['score']:+.2f}", f"{order['p_value']:.2g}") if order else ("", "") if ordered else ()),
        f"{tested['UAS']['score']:+.2f}",
        f"{one['mcnemar_heads']['median_p_value']:.2g}",
        f"{tested['UAS']['p_value']:.2g}",
        f"{tested['LAS']['score']:+.2f}",
        f"{tested['LAS']['p_value']:.2g}",
    )


def task_comparison_table(comparisons: Sequence[Record], metrics: Sequence[str]) -> str:
    """Return the differences in points of an experiment of `tasks`, with their p-values."""
    header = ("difference", *(cell for metric in metrics for cell in (metric, "p, bootstrap")))
    rows = []
    for one in comparisons:
        tested = [one["bootstrap"][metric] for metric in metrics]
        cells = [cell for found in tested for cell in (f"{found['score']:+.2f}", f"{found['p_value']:.2g}")]
        rows.append((f"{one['test']}: {one['better']} − {one['worse']}", *cells))
    return markdown(header, rows)


def pattern_table(pattern: Sequence[Record]) -> str:
    """Return the claims and whether they hold."""
    return markdown(("expected", "holds"), [(claim["claim"], ANSWERS[claim["holds"]]) for claim in pattern])


def _chosen(record: Record) -> str:
    return "the best chosen on dev" if any(row["dev"] for row in record["rows"]) else "of which the last counts"


def own_section(record: Record) -> str:
    """Return an experiment that has tables of its own."""
    trial = " **A quick trial on a few sentences, not a result.**" if record["settings"]["quick"] else ""
    parts = [f"## {record['title']}", f"`python experiments/{record['experiment']}.py`.{trial}"]
    for table in record["tables"]:
        parts += [f"{table['title']}:", markdown(table["header"], table["rows"])]
    return "\n\n".join([*parts, pattern_table(record["pattern"]), origin(record)])


def section(record: Record) -> str:
    """Return one experiment."""
    if "tables" in record:
        return own_section(record)
    settings = record["settings"]
    seeds = len(settings["seeds"])
    trial = " **A quick trial on a few sentences, not a result.**" if settings["quick"] else ""
    about = (
        f"`python experiments/{record['experiment']}.py`: {settings['epochs']} epochs, {_chosen(record)}; "
        f"{'one seed' if seeds == 1 else f'mean ± standard deviation of {seeds} seeds'}.{trial}"
    )
    parts = [f"## {record['title']}", about]
    for test in dict.fromkeys(test for row in record["rows"] for test in row["tests"]):
        parts += [f"`{test}`", score_table(record, test)]
    if record.get("about"):
        parts.insert(2, record["about"])
    if record["comparisons"] and record.get("kind") == TASK:
        parts += ["Differences in points:", task_comparison_table(record["comparisons"], list(record["shown"]))]
    elif record["comparisons"]:
        parts += ["Differences in points:", comparison_table(record["comparisons"])]
    parts += [pattern_table(record["pattern"]), origin(record)]
    if len(record["commits"]) > 1:
        commits = ", ".join(f"`{commit[:12]}`" for commit in record["commits"])
        parts.append(f"The runs are of several commits: {commits}.")
    return "\n\n".join(parts)


ABOUT = """\
Made by `python experiments/tables.py` from the files in `experiments/results`; do not edit.

All tokens count, labels with subtypes. *root*: sentences with the right root; *complete*: sentences with all heads
right. p-values are two-sided: McNemar's test on heads (the median over seeds), and the paired bootstrap over
sentences on the mean over seeds."""


def page(records: Sequence[Record]) -> str:
    """Return all experiments as one page."""
    return "\n\n".join(["# Experiments", ABOUT, *map(section, records)]) + "\n"


def main() -> None:
    """Print the page of the given files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", help="files written by the experiments")
    files = parser.parse_args().results
    print(page([json.loads(file.read_text(encoding="utf-8")) for file in files]), end="")


if __name__ == "__main__":
    main()
