"""In which order to ask for main verbs: gold marks of questions, replayed in three orders, without people.

A parser that has seen no questions (``questions/source-train``) learns from the first n marks of
``questions/target-train``: as given, in random order, or the smallest margin first. The training is the final one of
`learning.adaptation`: forced decoding, eight sentences of the treebank for each question, a quarter of the start.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import treetune
from benchmarks import measure
from treetune.corpus.sentence import Example, Tree
from treetune.learning.adaptation import HOME_RATE, START_SHARE
from treetune.learning.answers import Answers, complete, with_head
from treetune.learning.questions import questions_about
from treetune.models.pipeline import Pipeline

PACKAGES = ("numpy", "numba")
SEEDS = (1, 2, 3)
ORDERS = ("as given", "random", "smallest margin first")
COUNTS = (10, 20, 40, 80, 160, 320)
METRICS = ("LAS", "UAS", "root")
EPOCHS, SHARE_OF_GAIN = 3, 0.8


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--epochs", type=int, default=10, help="epochs of the parser without questions")
    parser.add_argument("--plot", type=Path, help="file to draw the curves to, .svg or .png")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Replay the marks in all orders, and return the curves."""
    parts = ("source-train", "target-train", "target-test", "source-dev")
    data = {part: _read(arguments.data / "questions" / f"{part}.conllu") for part in parts}
    record: dict[str, Any] = {"benchmark": "annotation_order", **measure.provenance(PACKAGES), "runs": []}
    for seed in SEEDS:
        parser = treetune.TransitionParser(beam=8).fit(data["source-train"], epochs=arguments.epochs, seed=seed)
        for order in ORDERS:
            marks = [_main_verb(one) for one in _ordered(order, parser, data["target-train"], seed)]
            points = [{"answers": 0, **_scores(parser, data)}]
            for count in (*COUNTS, len(marks)):
                points.append({"answers": count, **_scores(_adapted(parser, marks[:count], data, seed), data)})
                measure.say(f"seed {seed}, {order}: {points[-1]}")
            record["runs"].append({"seed": seed, "order": order, "points": points})
    record["mean"] = {order: _mean([one for one in record["runs"] if one["order"] == order]) for order in ORDERS}
    record["answers_for_80_percent"] = enough(record["mean"])
    if arguments.plot is not None:
        draw(record, arguments.plot)
    return record


def enough(mean: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, int | None]]:
    """Return after how many answers 80 % of the gain by all of them is there, between two points on a straight line.

    The gain is the mean of the three orders: with all answers they differ by chance alone.
    """
    found: dict[str, dict[str, int | None]] = {order: {} for order in mean}
    for metric in ("LAS", "root"):
        start = mean[ORDERS[0]][0][metric]
        gain = sum(points[-1][metric] for points in mean.values()) / len(mean) - start
        for order, points in mean.items():
            found[order][metric] = _reached(points, metric, start + SHARE_OF_GAIN * gain)
    return found


def _reached(points: Sequence[dict[str, float]], metric: str, wanted: float) -> int | None:
    for before, after in itertools.pairwise(points):
        if after[metric] >= wanted > before[metric]:
            part = (wanted - before[metric]) / (after[metric] - before[metric])
            return round(before["answers"] + part * (after["answers"] - before["answers"]))
    return None


def draw(record: dict[str, Any], path: Path) -> None:
    """Draw root accuracy and LAS over the number of answers."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, places = pyplot.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for place, metric in zip(places, ("root", "LAS"), strict=True):
        for order, points in record["mean"].items():
            xs = [point["answers"] for point in points]
            place.plot(xs, [point[metric] for point in points], marker="o", markersize=3, label=order)
        place.set(xlabel="main verbs answered", ylabel=metric)
        place.set_xscale("symlog", linthresh=10)
        place.set_xticks([0, 10, 20, 40, 80, 160, 320], ["0", "10", "20", "40", "80", "160", "320"])
        place.grid(alpha=0.3)
    places[0].legend(fontsize=8)
    figure.savefig(path)
    pyplot.close(figure)


def _read(path: Path) -> list[Example]:
    return list(treetune.read_trees(path))


def _ordered(order: str, parser: Any, examples: list[Example], seed: int) -> list[Example]:
    if order == "random":
        return random.Random(seed).sample(examples, len(examples))
    if order == "as given":
        return examples
    asked = questions_about(Pipeline.of(parser), [one.sentence for one in examples], answers=1)
    certain = [one.questions[0].probability for one in asked]
    return [examples[index] for index in sorted(range(len(examples)), key=certain.__getitem__)]


def _main_verb(example: Example) -> Answers:
    """Return the mark of the main verb alone."""
    unknown = Tree.unknown(len(example.sentence))
    return Answers(example.sentence, with_head(unknown, example.gold.roots[0], 0))


def _adapted(parser: Any, marks: Sequence[Answers], data: dict[str, list[Example]], seed: int) -> Any:
    trees = complete(parser, marks)
    learned = [Example(one.sentence, tree) for one, tree in zip(marks, trees, strict=True) if tree is not None]
    source = data["source-train"]
    home = random.Random(seed).sample(source, min(len(source), HOME_RATE * len(learned) * EPOCHS))
    adapted = copy.copy(parser)
    objective = treetune.Objective(home, name="home", rate=HOME_RATE)
    for _ in treetune.train(
        adapted, learned, objectives=[objective], epochs=EPOCHS, seed=seed, warm_start=True, start_share=START_SHARE
    ):
        pass
    return adapted


def _scores(parser: Any, data: dict[str, list[Example]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, part in (("", "target-test"), ("source ", "source-dev")):
        trees = parser.predict_batch([one.sentence for one in data[part]], threads=1)
        scores = treetune.evaluate(data[part], trees)
        found |= {f"{name}{metric}": round(100 * float(scores[metric]), 2) for metric in METRICS}
    return found


def _mean(runs: Sequence[dict[str, Any]]) -> list[dict[str, float]]:
    rows = zip(*(one["points"] for one in runs), strict=True)
    return [{key: round(sum(one[key] for one in row) / len(row), 2) for key in row[0]} for row in rows]
