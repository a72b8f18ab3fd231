"""The figures of the docs: the study of search, rate and partial trees; uptraining over the number of sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METRICS = {"root": "#1b6ca8", "UAS": "#5a9e3d", "LAS": "#c8553d"}
BASELINE, GROWING = "treebank only", "growing k, 8 to 64"
SEARCHES = {"2": "k = 2", "8": "k = 8", "64": "k = 64", "8…64": GROWING, "forced": "forced decoding"}
RATES = {0.25: f"{GROWING}, rate 0.25", 1.0: GROWING, 4.0: f"{GROWING}, rate 4"}
ARCS = {1: "1 arc", 2: "2 arcs", 5: "5 arcs"}
# Figure 2 of Petrov et al. 2010: treebanks by colour, text by line style.
TREEBANKS = {"source": "#1b6ca8", "source + questions": "#c8553d"}
SIZES = {
    "questions": {"100": 100, "1,000": 1_000, "10,000": 10_000, "all": 22_000},
    "sentences of AMALGUM": {"1,000": 1_000, "10,000": 10_000, "all": 157_000},
}
STYLES = {"questions": "-", "sentences of AMALGUM": "--"}
QUESTIONS = {"target-test": "questions (EWT, GUM)", "atis-test": "questions (ATIS)"}
SVG: dict[Any, Any] = {"svg.hashsalt": "treetune", "svg.fonttype": "none", "font.size": 9, "axes.titlesize": 10}


class Gains:
    """Points above the treebank alone: means over seeds, by row."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._rows = {row["name"]: row["tests"] for row in record["rows"]}

    def __contains__(self, row: str) -> bool:
        """Return whether a row is measured."""
        return row in self._rows

    def __call__(self, row: str, test: str, metric: str) -> float:
        """Return the points of a row above the treebank alone."""
        return float(self._rows[row][test][metric]["mean"] - self._rows[BASELINE][test][metric]["mean"])


def _draw_line(axes: Axes, gains: Gains, points: Sequence[float], rows: Sequence[str], test: str) -> None:
    """Draw the gain of each score over the points whose rows are measured."""
    here = [(point, row) for point, row in zip(points, rows, strict=True) if row in gains]
    for metric, colour in METRICS.items():
        values = [gains(row, test, metric) for _, row in here]
        axes.plot([point for point, _ in here], values, marker="o", markersize=4, color=colour, label=metric)
    axes.axhline(0, color="#999999", linewidth=0.8)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_arcs(axes: Axes, gains: Gains, target: str, title: str) -> None:
    _draw_line(axes, gains, list(ARCS), [f"{target}, {arcs}" for arcs in ARCS.values()], f"{target}-test")
    axes.set_xticks(list(ARCS))
    axes.set_xlabel("known arcs of each sentence")
    axes.set_title(f"{title}: partial trees")


def draw(results: Path, path: Path) -> None:
    """Draw four panels; the same bytes for the same results."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    gains = Gains(json.loads(results.read_text(encoding="utf-8")))
    with mpl.rc_context(SVG):
        figure = Figure(figsize=(9, 6.2), layout="constrained")
        grid = figure.subplots(2, 2)
        searches, rates = grid[0, 0], grid[0, 1]
        _draw_line(searches, gains, range(len(SEARCHES)), list(SEARCHES.values()), "target-test")
        searches.set_xticks(range(len(SEARCHES)), list(SEARCHES))
        searches.set_xlabel("search: k-best lists, growing lists, forced decoding")
        searches.set_ylabel("points above the treebank alone")
        searches.set_title("questions (EWT, GUM): search")
        searches.legend(frameon=False)
        _draw_line(rates, gains, list(RATES), list(RATES.values()), "target-test")
        rates.set_xscale("log", base=2)
        rates.set_xlim(min(RATES) / 1.2, max(RATES) * 1.2)
        rates.set_xticks(list(RATES), [f"{rate:g}" for rate in RATES])
        rates.set_xlabel("rate: updates for each update on the treebank")
        rates.set_title("questions (EWT, GUM): rate")
        _draw_arcs(grid[1, 0], gains, "target", "questions (EWT, GUM)")
        _draw_arcs(grid[1, 1], gains, "atis", "questions (ATIS)")
        figure.savefig(path, metadata={"Date": None})


def _draw_sizes(axes: Axes, scores: Mapping[str, float], treebank: str, kind: str) -> None:
    """Draw a score over the number of sentences, from those rows that are measured."""
    found = {size: scores.get(f"{treebank}, {name} {kind}") for name, size in SIZES[kind].items()}
    here = {size: score for size, score in found.items() if score is not None}
    axes.plot(
        list(here), list(here.values()), marker="o", markersize=4, linestyle=STYLES[kind], color=TREEBANKS[treebank],
        label=f"{treebank}, {kind}",
    )  # fmt: skip


def draw_uptraining(results: Path, path: Path) -> None:
    """Draw UAS and LAS on two test sets over the number of sentences that a parser is uptrained on."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rows = json.loads(results.read_text(encoding="utf-8"))["rows"]
    with mpl.rc_context(SVG):
        figure = Figure(figsize=(9, 6.2), layout="constrained")
        grid = figure.subplots(len(QUESTIONS), 2, sharex=True)
        for line, (test, title) in zip(grid, QUESTIONS.items(), strict=True):
            for axes, metric in zip(line, ("UAS", "LAS"), strict=True):
                scores = {row["name"]: row["tests"][test][metric]["mean"] for row in rows}
                for treebank, colour in TREEBANKS.items():
                    for kind in SIZES:
                        _draw_sizes(axes, scores, treebank, kind)
                    if treebank in scores:
                        axes.axhline(scores[treebank], color=colour, linewidth=0.8, linestyle=":")
                axes.set_xscale("log")
                axes.set_xlim(80, 220_000)
                axes.grid(axis="y", color="#dddddd", linewidth=0.6)
                axes.spines[["top", "right"]].set_visible(False)
                axes.set_title(f"{title}: {metric}")
        for axes in grid[-1]:
            axes.set_xlabel("parsed sentences beside the treebank (dotted: none)")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
        figure.savefig(path, metadata={"Date": None})
