"""Draw what the study of lists, rates and known arcs has found, for the docs.

python experiments/curves.py experiments/results/augmented_study.json docs/choosing.svg
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augmented_study import ARCS, BASELINE, CONSTRAINED, GROWING, LENGTHS, RATES, listed, partial, rated

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METRICS = {"root": "#1b6ca8", "UAS": "#5a9e3d", "LAS": "#c8553d"}
TARGET, ATIS = "target-test", "atis-test"


class Found:
    """Means over seeds, by row."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._rows = {row["name"]: row["tests"] for row in record["rows"]}

    def __contains__(self, row: str) -> bool:
        """Return whether a row is measured."""
        return row in self._rows

    def mean(self, row: str, test: str, metric: str) -> float:
        """Return a mean in per cent."""
        return float(self._rows[row][test][metric]["mean"])

    def gain(self, row: str, test: str, metric: str) -> float:
        """Return the points above the treebank alone."""
        return self.mean(row, test, metric) - self.mean(BASELINE, test, metric)


def draw_line(axes: Axes, found: Found, places: Sequence[float], rows: Sequence[str], test: str) -> None:
    """Draw the gain of each score over the places whose rows are measured."""
    here = [(place, row) for place, row in zip(places, rows, strict=True) if row in found]
    for metric, colour in METRICS.items():
        gains = [found.gain(row, test, metric) for _, row in here]
        axes.plot([place for place, _ in here], gains, marker="o", markersize=4, color=colour, label=metric)
    axes.axhline(0, color="#999999", linewidth=0.8)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def draw_lists(axes: Axes, found: Found) -> None:
    """Draw lists of fixed length, then growing lists and constrained search."""
    rows = [*map(listed, LENGTHS), GROWING, CONSTRAINED]
    draw_line(axes, found, range(len(rows)), rows, TARGET)
    axes.set_xticks(range(len(rows)), [*map(str, LENGTHS), "8…64", "constr."])
    axes.set_xlabel("candidates: k best, growing, constrained")
    axes.set_ylabel("points above the treebank alone")
    axes.set_title("questions (EWT, GUM): lists")


def draw_rates(axes: Axes, found: Found) -> None:
    """Draw rates on a logarithmic axis."""
    draw_line(axes, found, RATES, list(map(rated, RATES)), TARGET)
    axes.set_xscale("log", base=2)
    axes.set_xlim(RATES[0] / 1.2, RATES[-1] * 1.2)
    axes.set_xticks(RATES, [f"{rate:g}" for rate in RATES])
    axes.set_xlabel("steps for each step on the treebank")
    axes.set_title("questions (EWT, GUM): rates")


def draw_arcs(axes: Axes, found: Found, test: str, title: str) -> None:
    """Draw the number of known arcs."""
    target = test.removesuffix("-test")
    draw_line(axes, found, ARCS, [partial(target, arcs) for arcs in ARCS], test)
    axes.set_xticks(ARCS)
    axes.set_xlabel("known arcs a sentence")
    axes.set_title(f"{title}: partial trees")


def draw(record: Mapping[str, Any], path: Path) -> None:
    """Draw four panels; the same bytes for the same results."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    found = Found(record)
    with mpl.rc_context({"svg.hashsalt": "treetune", "svg.fonttype": "none", "font.size": 9, "axes.titlesize": 10}):
        figure = Figure(figsize=(9, 6.2), layout="constrained")
        grid = figure.subplots(2, 2)
        draw_lists(grid[0, 0], found)
        draw_rates(grid[0, 1], found)
        draw_arcs(grid[1, 0], found, TARGET, "questions (EWT, GUM)")
        draw_arcs(grid[1, 1], found, ATIS, "questions (ATIS)")
        grid[0, 0].legend(frameon=False)
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Draw the given results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the file written by augmented_study.py")
    parser.add_argument("picture", type=Path, help="where to draw, .svg or .png")
    options = parser.parse_args()
    draw(json.loads(options.results.read_text(encoding="utf-8")), options.picture)


if __name__ == "__main__":
    main()
