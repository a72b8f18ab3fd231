"""The records of epochs to a picture: scores on dev, costs and counts of each objective, epoch by epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treetune.corpus.files import open_atomic
from treetune.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = dict[str, Any]
FORMATS = ("svg", "png", "pdf")
SCORES = ("LAS", "UAS", "root")

# Colours that differ in brightness too, for those who see no red and green, and for print.
_SCORE_COLOURS = ("#08306b", "#2171b5", "#6baed6")
_COLOURS = ("#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e")
_OUTCOMES = (
    ("updated", "updated", "#d95f02"),
    ("already_best", "already best", "#cccccc"),
    ("no_better", "no better candidate", "#333333"),
)
_COSTS = (("cost", "-", ""), ("target_cost", "--", ", better candidate"), ("dev_cost", ":", ", on its dev"))


def check_plot(path: str, key: str) -> None:
    """Raise ConfigError, before any training, if no figure can be drawn to `path`, the value of `key`."""
    if Path(path).suffix[1:].lower() not in FORMATS:
        raise ConfigError(f"{key}: expected a file that ends in .{', .'.join(FORMATS)}, found {path!r}")
    if find_spec("matplotlib") is None:
        raise ConfigError(
            f"{key} needs matplotlib, which is not installed; install it with pip install 'treetune[plots]'"
        )


def draw_curves(records: Sequence[Record], path: str, *, best_epoch: int) -> None:
    """Draw the learning curves of a training to a file, which appears only when it is complete."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # Text stays text, and the same records give the same bytes.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "treetune", "font.size": 9}):
        panels = list(_panels(records))
        heights = [height for height, _ in panels]
        figure = Figure(figsize=(7, 0.5 + sum(heights)), layout="constrained")
        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        for axis, (_, draw) in zip(axes, panels, strict=True):
            draw(axis)
            axis.axvline(best_epoch, color="#999999", linewidth=0.8, linestyle=":", zorder=0)
            axis.spines[["top", "right"]].set_visible(False)
        _number_epochs(axes[-1], records, best_epoch)
        _save(figure, path)


def _panels(records: Sequence[Record]) -> Iterator[tuple[float, Callable[[Axes], None]]]:
    """Yield the height of each panel, in inches, and what draws it: scores, costs, and counts of each objective."""
    tallies = [tally for record in records for tally in record["objectives"]]
    if any(record["dev"] for record in records):
        yield 2.4, partial(_draw_scores, records)
    if any(tally["cost"] is not None or tally["dev_cost"] is not None for tally in tallies):
        yield 2.4, partial(_draw_costs, records)
    for number, name in enumerate(_names(records)):
        yield 1.3, partial(_draw_counts, records, name, with_legend=number == 0)


def _draw_scores(records: Sequence[Record], axis: Axes) -> None:
    for name, colour in zip(SCORES, _SCORE_COLOURS, strict=True):
        points = [(record["epoch"], 100 * record["dev"][name]) for record in records if name in (record["dev"] or {})]
        _draw_line(axis, points, label=name, color=colour)
    axis.set_ylabel("dev, per cent")
    axis.legend(frameon=False, ncols=len(SCORES))


def _draw_costs(records: Sequence[Record], axis: Axes) -> None:
    for number, name in enumerate(_names(records)):
        for key, style, title in _COSTS:
            points = [
                (record["epoch"], tally[key])
                for record in records
                for tally in record["objectives"]
                if tally["name"] == name and tally[key] is not None
            ]
            _draw_line(axis, points, style, label=name + title, color=_COLOURS[number % len(_COLOURS)])
    axis.set_ylabel("mean cost")
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False)


def _draw_line(axis: Axes, points: list[tuple[int, float]], style: str = "-", **look: Any) -> None:
    if points:
        epochs, values = zip(*points, strict=True)
        axis.plot(epochs, values, style, marker="o", markersize=3, **look)


def _draw_counts(records: Sequence[Record], name: str, axis: Axes, *, with_legend: bool) -> None:
    """Draw a bar for each epoch of an objective, cut into what became of its examples."""
    tallies = [(r["epoch"], t) for r in records for t in r["objectives"] if t["name"] == name and t["seen"]]
    epochs = [epoch for epoch, _ in tallies]
    below = [0.0] * len(tallies)
    for key, title, colour in _OUTCOMES:
        shares = [100 * tally[key] / tally["seen"] for _, tally in tallies]
        axis.bar(epochs, shares, 0.7, bottom=below, color=colour, label=title)
        below = [low + share for low, share in zip(below, shares, strict=True)]
    axis.set_ylabel(f"{name},\nper cent")
    axis.set_ylim(0, 100)
    if with_legend:
        axis.legend(frameon=False, ncols=len(_OUTCOMES), loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _names(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(tally["name"] for record in records for tally in record["objectives"]))


def _number_epochs(axis: Axes, records: Sequence[Record], best_epoch: int) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_xlabel(f"epoch (dotted: {best_epoch}, whose weights were kept)")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlim(records[0]["epoch"] - 0.6, records[-1]["epoch"] + 0.6)


def _save(figure: Figure, path: str) -> None:
    kind = Path(path).suffix[1:].lower()
    # No date inside, in the formats that would have one.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with open_atomic(path) as out:
        figure.savefig(out, format=kind, dpi=150, metadata=metadata)
