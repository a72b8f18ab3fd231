"""Result files go in; pages of the docs come out, so that the docs quote numbers from files and nothing else."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import folded, markdown, origin
from experiments.steps import STEPS
from experiments.table import Table

Record = Mapping[str, Any]

LABELS = 12
ANSWERS = {True: "yes", False: "**no**", None: "not measured"}
HEADS = {
    "crossing_UAS": "UAS, non-projective sentences",
    "LALS": "labelled ALS",
    "UALS": "ALS",
    "cost": "cost (%)",
    "words_per_cpu_second": "words per CPU-s",
    "training_sentences": "training sentences",
}
# Shown without decimals.
NUMBERS = ("words_per_cpu_second", "training_sentences", "sentences")
MADE = "<!-- Made by `python -m experiments report` from the files in experiments/results; do not edit. -->"
ABOUT = """\
The tables of the papers behind treetune, made again on open treebanks. One TOML file in `experiments/tables` describes
each; `python -m experiments run NAME` trains every row with three seeds, evaluates it once on the test sets, and checks
what the paper claims; `experiments/README.md` says how.

All tokens count, labels with subtypes. *root*: sentences with the right root; *complete*: sentences with all heads
right; ± is the standard deviation over seeds. p-values are two-sided: McNemar's test on heads (the median over seeds),
and the paired bootstrap over sentences on the mean over seeds."""


def spread(summary: Record, *, decimals: int = 2, per: float = 1.0) -> str:
    """Return a mean with the standard deviation over seeds, both divided by `per`; empty if there is none."""
    if summary["mean"] is None:
        return ""
    mean = f"{summary['mean'] / per:,.{decimals}f}"
    return f"{mean} ± {summary['sd'] / per:,.{decimals}f}" if len(summary["raw"]) > 1 else mean


def filled(text: str, record: Record) -> str:
    """Return a text with its numbers from the results, so that none is typed by hand.

    ``[[TEST | METRIC | ROW]]`` is a mean over seeds, with ``ROW :: OTHER`` the difference with its sign, with
    ``ROW // OTHER`` without it.
    """
    rows = {row["name"]: row for row in record["rows"]}

    def number(found: re.Match[str]) -> str:
        test, metric, which = re.sub(r"\s+", " ", found[1]).split(" | ")
        names = re.split(r" :: | // ", which)
        if any(name not in rows for name in names):
            return "(not measured)"
        means = [rows[name]["tests"][test][metric]["mean"] for name in names]
        if len(means) == 1:
            return f"{means[0]:.1f}"
        return f"{means[0] - means[1]:+.1f}".replace("-", "−") if "::" in which else f"{abs(means[0] - means[1]):.1f}"

    return re.sub(r"\[\[(.*?)\]\]", number, text, flags=re.DOTALL)


def summary_table(table: Table, record: Record) -> str:
    """Return the small table at the top of a page."""
    by_name = {row["name"]: row for row in record["rows"]}
    columns = table.summary["columns"]
    rows = []
    for name in table.summary["rows"]:
        if name in by_name:
            rows.append((name, *(_cell(by_name[name], test, metric) for test, metric in columns)))
    tests = {test for test, _ in columns}
    heads = [_head(test, metric, only=len(tests) == 1) for test, metric in columns]
    return markdown(("" if len(tests) > 1 else f"`{columns[0][0]}`", *heads), rows)


def _head(test: str, metric: str, *, only: bool) -> str:
    if metric == "cpu_seconds":
        return "training (CPU-min)"
    name = HEADS.get(metric, metric)
    return name if only else f"{name}, {test.removeprefix('reorder/')}"


def _cell(row: Record, test: str, metric: str) -> str:
    if metric == "cpu_seconds":
        return spread(row["cpu_seconds"], per=60)
    return score(row["tests"][test], metric) if test in row["tests"] else ""


def score(scores: Record, metric: str) -> str:
    """Return a score of a row, or a number that was counted; nothing if the row has none."""
    return spread(scores[metric], decimals=0 if metric in NUMBERS else 2) if metric in scores else ""


def score_table(table: Table, record: Record, test: str) -> str:
    """Return the rows that were evaluated on one test set."""
    has_dev = any(row["dev"] for row in record["rows"])
    speed = any("words_per_cpu_second" in scores for row in record["rows"] for scores in row["tests"].values())
    header = ("row", *table.columns, *(["dev LAS"] if has_dev else []), "training (CPU-min)")
    rows = [
        (
            _name(row, record),
            *(score(row["tests"][test], metric) for metric in table.columns.values()),
            *([spread(row["dev"]["LAS"]) if row["dev"] else ""] if has_dev else []),
            spread(row["cpu_seconds"], per=60),
            *([spread(row["tests"][test]["words_per_cpu_second"], decimals=0)] if speed else []),
        )
        for row in record["rows"]
        if test in row["tests"]
    ]
    return markdown((*header, *(["words per CPU-s"] if speed else [])), rows)


def _name(row: Record, record: Record) -> str:
    """Return the name of a row, and how many seeds it has if some are missing."""
    seeds = len(row["seeds"])
    return row["name"] if seeds == len(record["seeds"]) else f"{row['name']} ({seeds} of the seeds)"


def comparison_table(comparisons: Sequence[Record], metrics: Sequence[str]) -> str:
    """Return the differences in points with their p-values."""
    by_word = any("mcnemar_heads" in one for one in comparisons)
    by_order = any("reorder" in one for one in comparisons)
    header = ["difference", *(("reorder", "p, bootstrap") if by_order else ())]
    for metric in metrics:
        header += [metric, *(("p, McNemar",) if by_word and metric == "UAS" else ()), "p, bootstrap"]
    return markdown(header, [_comparison(one, metrics, by_order=by_order) for one in comparisons])


def _comparison(one: Record, metrics: Sequence[str], *, by_order: bool) -> list[str]:
    cells = [f"{one['test']}: {one['better']} − {one['worse']}"]
    if by_order:
        order = one.get("reorder")
        cells += [f"{order['score']:+.2f}", f"{order['p_value']:.2g}"] if order else ["", ""]
    for metric in metrics:
        tested = one["bootstrap"][metric]
        heads = [f"{one['mcnemar_heads']['median_p_value']:.2g}"] if metric == "UAS" and "mcnemar_heads" in one else []
        cells += [f"{tested['score']:+.2f}", *heads, f"{tested['p_value']:.2g}"]
    return cells


def label_table(table: Table, record: Record) -> str:
    """Return the F1 of the most frequent labels of some rows; empty if the table has no such part or no such runs."""
    tests = {row["name"]: row["tests"][table.labels["on"]] for row in record["rows"]} if table.labels else {}
    rows = {name: tests[name]["labels"] for name in table.labels.get("rows", ()) if "labels" in tests.get(name, {})}
    if not rows:
        return ""
    first = next(iter(rows.values()))
    cells = [
        (label, str(first[label][0]), *(f"{found[label][1]:.1f}" for found in rows.values()))
        for label in list(first)[:LABELS]
    ]
    return f"## F1 of the most frequent labels\n\n{markdown(('label', 'frequency', *rows), cells)}"


def claims_table(claims: Sequence[Record]) -> str:
    """Return the claims and whether they hold."""
    return markdown(("claim", "holds"), [(claim["claim"], ANSWERS[claim["holds"]]) for claim in claims])


def wrapped(text: str) -> str:
    """Return a paragraph in lines of at most 120 characters."""
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def _compared_metrics(table: Table) -> list[str]:
    step = STEPS.get(table.rows[0].config.get("step", {}).get("name", ""))
    if step is None:
        return ["UAS", "LAS"]
    return [metric for metric in table.columns.values() if metric in {one.name for one in step.metrics}]


def page(table: Table, record: Record) -> str:
    """Return the page of one table: question, answer, a small table, then everything."""
    seeds = len(record["seeds"])
    chosen = "the best epoch chosen on dev" if any(row["dev"] for row in record["rows"]) else "the last epoch counts"
    trial = " **A quick trial on a few sentences, not a result.**" if record["quick"] else ""
    hold = sum(claim["holds"] is True for claim in record["claims"])
    tests = list(dict.fromkeys(test for row in record["rows"] for test in row["tests"]))
    parts = [
        MADE,
        f"# {table.title}",
        wrapped(f"**Question** ({table.texts['paper']}). {table.texts['question']}"),
        wrapped(f"**Answer.** {filled(table.texts['answer'], record)}"),
        summary_table(table, record),
        *([f"![{table.title}]({table.texts['figure']})"] if table.texts["figure"] else []),
        wrapped(f"**Setup.** {table.texts['setup']}") if table.texts["setup"] else "",
        f"`python -m experiments run {table.name}`: {record['epochs']} epochs, {chosen}; "
        f"{'one seed' if seeds == 1 else f'mean ± standard deviation of {seeds} seeds'}.{trial}",
        f"## Claims\n\n{hold} of {len(record['claims'])} hold.",
        folded("All claims", claims_table(record["claims"])),
        label_table(table, record),
        "## All scores",
    ]
    parts += [folded(f"Evaluated on <code>{test}</code>", score_table(table, record, test)) for test in tests]
    if record["comparisons"]:
        compared = comparison_table(record["comparisons"], _compared_metrics(table))
        parts += ["## Differences in points", folded("All comparisons", compared)]
    parts.append(origin(record))
    if len(record["commits"]) > 1:
        commits = ", ".join(f"`{commit[:12]}`" for commit in record["commits"])
        parts.append(f"The runs are of several commits: {commits}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def index(tables: Sequence[tuple[Table, Record]]) -> str:
    """Return the page that lists all tables."""
    rows = []
    for table, record in tables:
        hold = sum(claim["holds"] is True for claim in record["claims"])
        link = f"[{table.title}]({table.name}.md)"
        rows.append((link, table.texts["paper"], table.texts["question"], f"{hold} of {len(record['claims'])}"))
    listed = markdown(("table", "paper", "question", "claims that hold"), rows, texts=3)
    return "\n\n".join([MADE, "# Experiments", ABOUT, listed]) + "\n"


def write(tables: Sequence[Table], results: Path, docs: Path) -> list[Path]:
    """Write the page of each table that has results, and the index of all of them; return the files."""
    found = [(table, results / f"{table.name}.json") for table in tables]
    records = [(table, json.loads(path.read_text(encoding="utf-8"))) for table, path in found if path.is_file()]
    docs.mkdir(parents=True, exist_ok=True)
    pages = {docs / f"{table.name}.md": page(table, record) for table, record in records}
    pages[docs / "index.md"] = index(records)
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
    return list(pages)
