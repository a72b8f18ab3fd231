"""Turn result files into Markdown tables, so that the docs quote numbers from files and nothing else.

python benchmarks/table.py benchmarks/results/*.json > docs/benchmarks.md
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Record = Mapping[str, Any]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table: the first column flush left, the others right."""
    ruled = [header, [":--", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in ruled)


def spread(summary: Record, decimals: int = 0) -> str:
    """Return a mean with the half-width of its 95 % interval."""
    mean = f"{summary['mean']:,.{decimals}f}"
    return f"{mean} ± {summary['interval95']:,.{decimals}f}" if len(summary["raw"]) > 1 else mean


def compare_table(record: Record) -> str:
    """Return the table of systems, then the ratios of speeds."""
    header = (
        "system",
        "sees",
        "UAS",
        "LAS",
        "LAS, official scorer",
        "single-root trees",
        "words per CPU-s",
        "words per CPU-s, file to file",
        "peak memory (MB)",
        "model (MB)",
        "training (CPU-min)",
    )
    table = markdown(header, [_system_row(system, record["settings"]["sentences"]) for system in record["systems"]])
    lines = [
        f"{ratio['faster']} parses {spread(ratio['times'], 2)} times as fast as {ratio['than']}."
        for ratio in record["ratios"]
    ]
    settings = record["settings"]
    part = f", first {settings['limit']} sentences" if settings["limit"] else ""
    about = (
        f"`{settings['test']}`{part}: {settings['words']:,} words, gold tokens and tags, one thread, "
        f"{settings['repeats']} interleaved rounds; ± is the 95 % interval of the mean."
    )
    return "\n\n".join([about, table, *lines])


def _system_row(system: Record, sentences: int) -> tuple[str, ...]:
    scores, trained = system["scores"], system["training"]["cpu_seconds"]
    return (
        system["name"],
        system["sees"],
        f"{scores['UAS']:.2f}",
        f"{scores['LAS']:.2f}",
        f"{system['official_scores']['LAS']:.2f}",
        f"{system['single_root_trees']:,} of {sentences:,}",
        spread(system["parse"]["words_per_cpu_second"]),
        spread(system["file_to_file"]["words_per_cpu_second"]),
        f"{system['peak_rss_mb']:.0f}",
        f"{system['model_mb']:.1f}",
        "" if trained is None else f"{trained / 60:.1f}",
    )


TRAINING_COLUMNS = {
    "CPU-min": "cpu_minutes",
    "memory above the interpreter (MB)": "memory_mb",
    "model (MB)": "model_mb",
    "dev UAS": "dev_UAS",
    "dev LAS": "dev_LAS",
    "test UAS": "test_UAS",
    "test LAS": "test_LAS",
    "test LAS without subtypes": "test_LAS_without_subtypes",
}


def training_table(record: Record) -> str:
    """Return what training costs and what it reaches, one row a seed and their mean."""
    columns = TRAINING_COLUMNS.values()
    rows = [(str(run["settings"]["seed"]), *(f"{run[column]:.2f}" for column in columns)) for run in record["runs"]]
    mean = ("mean", *(spread(record["mean"][column], 2) for column in columns))
    settings = record["settings"]
    about = f"{trained_as(settings)}, {settings['epochs']} epochs on `{settings['train']}`, one thread."
    return "\n\n".join([about, markdown(("seed", *TRAINING_COLUMNS), [*rows, mean])])


def trained_as(settings: Record) -> str:
    """Return the parser, its features and its way of learning; what early results do not name had its default."""
    parser = settings.get("parser", "transition")
    name = f"Beam {settings['beam']}" if parser == "transition" else f"Parser `{parser}`"
    learning = [f"{option} {value}" for option, value in settings.get("learning", {}).items()]
    return ", ".join([name, f"features `{settings.get('features', 'default')}`", *learning])


def startup_table(record: Record) -> str:
    """Return the CPU seconds of each command."""
    rows = [(name, spread(summary, 2)) for name, summary in record["cpu_seconds"].items()]
    return markdown(("command", "CPU-s"), rows)


def reordering_table(record: Record) -> str:
    """Return the speed of parsing, of parsing and reordering, and of the rules alone."""
    share = record["share_of_parsing_speed"]["mean"]
    rows = [(name, spread(summary, 0)) for name, summary in record["words_per_cpu_second"].items()]
    rows.append(("parse and reorder, share of parsing speed", f"{100 * share:.1f} %"))
    return markdown(("", "words per CPU-second"), rows)


def raw_text_table(record: Record) -> str:
    """Return scores and speeds from raw text, then what the model takes."""
    metrics = list(next(iter(record["systems"].values()))["test"])
    header = ("system", *metrics, "words per CPU-s, text to CoNLL-U")
    rows = [
        (name, *(f"{system['test'][metric]:.2f}" for metric in metrics), spread(system["conllu_words_per_cpu_second"]))
        for name, system in record["systems"].items()
    ]
    settings = record["settings"]
    about = (
        f"`{settings['test']}` from raw text: {settings['words']:,} words, F1 by the official scorer, one thread, "
        f"{settings['repeats']} interleaved rounds; ± is the 95 % interval of the mean."
    )
    stages = ", ".join(f"{name} {spread(summary)}" for name, summary in record["stages"].items())
    load, command = (spread(record[f"{what}_cpu_seconds"], 2) for what in ("load", "command"))
    lines = [
        f"Words per CPU-second of the parts alone: {stages}.",
        f"The model has {record['model']['mb']:.1f} MB and is ready after {load} CPU-s; a whole command on one "
        f"sentence takes {command}.",
    ]
    if "times_as_fast" in record:
        lines.insert(0, f"treetune is {spread(record['times_as_fast'], 2)} times as fast as UDPipe.")
    return "\n\n".join([about, markdown(header, rows), *lines])


def versions_table(record: Record) -> str:
    """Return the speed of each parser at an earlier commit and now."""
    settings = record["settings"]
    header = ("system", "words per CPU-s, before", "words per CPU-s, now", "times as fast")
    rows = [
        (parser["name"], spread(parser["old"]), spread(parser["new"]), spread(parser["times"], 2))
        for parser in record["parsers"]
    ]
    about = (
        f"`{settings['test']}`, one thread: commit `{settings['old'][:12]}` and the one below with the same model and "
        f"the same trees, {settings['repeats']} rounds in turn. No other parser took part."
    )
    return "\n\n".join([about, markdown(header, rows)])


GOALS = "goals"
TAGGING_COLUMNS = {
    "dev UPOS": "dev_UPOS",
    "dev XPOS": "dev_XPOS",
    "UPOS": "test_UPOS",
    "XPOS": "test_XPOS",
    "FEATS": "test_FEATS",
    "all columns": "test_accuracy",
    "known words": "test_known",
    "unknown words": "test_unknown",
    "model (MB)": "model_mb",
    "training (CPU-min)": "cpu_minutes",
}


def tagging_table(record: Record) -> str:
    """Return what taggers reach and cost, one row a model; whoever was only timed has no more than a speed."""
    rows = []
    for name, speed in record["words_per_cpu_second"].items():
        means = record["mean"].get(name, {})
        cells = [spread(means[column], 2) if column in means else "" for column in TAGGING_COLUMNS.values()]
        rows.append((name, *cells, spread(speed)))
    seeds = max(len(runs) for runs in record["runs"].values())
    about = (
        f"Trained on `{record['train']}`, gold tokens, {record['epochs']} epochs, the best chosen on dev; scores on "
        f"test unless dev is named; {seeds} seeds, one thread; ± is the 95 % interval of the mean."
    )
    return "\n\n".join([about, markdown(("tagger", *TAGGING_COLUMNS, "words per CPU-s"), rows)])


TABLES: dict[str, tuple[str, Callable[[Record], str]]] = {
    "compare": ("Beside other parsers", compare_table),
    "versions": ("Before and now", versions_table),
    "training": ("Training", training_table),
    "tagging": ("Taggers", tagging_table),
    "startup": ("Starting", startup_table),
    "reordering": ("Word order", reordering_table),
    "raw_text": ("From raw text", raw_text_table),
}


SPEED = "words_per_cpu_second"
# What a goal can be about, with the decimals that are shown.
MEASURES = {"test_UAS": 2, "test_LAS": 2, SPEED: 0, "cpu_minutes": 1}


def goals_table(record: Record, results: Sequence[Record]) -> str:
    """Return the goals of a family of parsers beside what `results` say and what peers reached earlier."""
    header = ("", "goal", "measured", "reached", "peers, measured earlier")
    return "\n\n".join([record["about"], markdown(header, [_goal_row(goal, results) for goal in record["goals"]])])


def _goal_row(goal: Record, results: Sequence[Record]) -> tuple[str, ...]:
    peers = "; ".join(f"{name}: {figure:,}" for name, figure in goal["peers"].items())
    bound = " ".join(f"{sign} {goal[name]:,}" for name, sign in (("at_least", "≥"), ("at_most", "≤")) if name in goal)
    found = measured(goal["parser"], goal["measure"], results)
    if found is None:
        return goal["what"], bound, "", "", peers
    # A bound that a goal does not have is kept by any number.
    mean = found["mean"]
    kept = goal.get("at_least", mean) <= mean <= goal.get("at_most", mean)
    verdict = ("yes" if kept else "no") if bound else ""
    return goal["what"], bound, spread(found, MEASURES[goal["measure"]]), verdict, peers


def measured(parser: str, measure: str, results: Sequence[Record]) -> Record | None:
    """Return the first summary of a measure: the speed now or from a comparison, all else over seeds of a training."""
    if measure == SPEED:
        now = [one for result in results if result["benchmark"] == "versions" for one in result["parsers"]]
        comparisons = [result for result in results if result["benchmark"] == "compare"]
        systems = [system for result in comparisons for system in result["systems"]]
        found = [one["new"] for one in now if one["name"] == f"treetune {parser}"]
        found += [system["parse"][SPEED] for system in systems if system["name"] == f"treetune {parser}"]
    else:
        trained = [result for result in results if result["benchmark"] == "training"]
        found = [result["mean"][measure] for result in trained if result["settings"].get("parser") == parser]
    return found[0] if found else None


def section(record: Record, results: Sequence[Record]) -> str:
    """Return one result as a section with its origin; goals, which are no measurements, beside all results."""
    if record["benchmark"] == GOALS:
        return "\n\n".join([f"## {record['title']}", goals_table(record, results)])
    title, table = TABLES[record["benchmark"]]
    return "\n\n".join([f"## {title}", table(record), origin(record)])


def origin(record: Record) -> str:
    """Return the sentence that says when, at which commit and on which machine a result was measured."""
    machine = record["machine"]
    changed = " with local changes" if record["dirty"] else ""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return (
        f"Measured {record['date']} at commit `{record['commit'][:12]}`{changed} on {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}; {versions}."
    )


def page(records: Sequence[Record]) -> str:
    """Return all results as one page: goals after the comparisons."""
    order = ["raw_text", "compare", "versions", GOALS, "training", "tagging", "startup", "reordering"]
    in_order = sorted(records, key=lambda record: order.index(record["benchmark"]))
    made = "Made by `python benchmarks/table.py` from the files in `benchmarks/results`; do not edit."
    return "\n\n".join(["# Benchmarks", made, *(section(record, records) for record in in_order)]) + "\n"


def main() -> None:
    """Print the page of the given files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", help="files written by the other scripts")
    files = parser.parse_args().results
    print(page([json.loads(file.read_text(encoding="utf-8")) for file in files]), end="")


if __name__ == "__main__":
    main()
