"""The table of scores: each is a ratio of two sums over sentences, both taken from `Counts`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from treetune.errors import unknown_name
from treetune.evaluation.counts import Counts


@dataclass(frozen=True, slots=True)
class Metric:
    """A score as sum of `part` over sum of `whole`, both functions of the counts of one sentence.

    A new metric is a new line in a table such as `METRICS`; significance tests and reports then work for it as they
    stand, whatever the counts are of.
    """

    name: str
    title: str
    part: Callable[[Any], float]
    whole: Callable[[Any], float]

    def score(self, per_sentence: Iterable[Any]) -> float:
        """Score a corpus from the counts of its sentences; NaN if there was nothing to count."""
        counts = list(per_sentence)
        # fsum, so that the order of the sentences cannot show in the last digit.
        return ratio(math.fsum(map(self.part, counts)), math.fsum(map(self.whole, counts)))


def ratio(part: float, whole: float) -> float:
    """Divide; NaN, which no one mistakes for a score, if there was nothing to count."""
    return part / whole if whole else math.nan


def json_number(value: float) -> float | None:
    """Return a score as JSON can hold it: None for NaN."""
    return None if math.isnan(value) else value


def percent(score: float) -> str:
    """Write a score as it is printed everywhere: per cent with two decimals, ``n/a`` for NaN."""
    return "n/a" if math.isnan(score) else f"{100 * score:.2f}"


def resolve_metric(metric: str | Metric) -> Metric:
    """Return the metric of that name, or the metric itself."""
    if isinstance(metric, Metric):
        return metric
    if metric not in METRICS:
        raise unknown_name("metric", metric, METRICS)
    return METRICS[metric]


def _unlabelled_als(counts: Counts) -> float:
    return counts.right_length / counts.length if counts.length else 0.0


def _labelled_als(counts: Counts) -> float:
    return counts.right_labelled_length / counts.labelled_length if counts.labelled_length else 0.0


_TABLE = (
    Metric("UAS", "unlabelled attachment", lambda c: c.right_heads, lambda c: c.words),
    Metric("LAS", "labelled attachment", lambda c: c.right_arcs, lambda c: c.labelled_words),
    Metric("LA", "label accuracy", lambda c: c.right_labels, lambda c: c.labelled_words),
    Metric(
        "CLAS",
        "labelled attachment F1, content words",
        lambda c: 2 * c.content_right,
        lambda c: c.content_gold + c.content_predicted,
    ),
    Metric("root", "root accuracy", lambda c: c.right_root_sentences, lambda c: c.rooted_sentences),
    Metric("root_F1", "root F1", lambda c: 2 * c.right_roots, lambda c: c.gold_roots + c.predicted_roots),
    Metric("UCM", "complete match, heads", lambda c: c.complete_heads, lambda c: c.scored_sentences),
    Metric("LCM", "complete match, heads and labels", lambda c: c.complete_arcs, lambda c: c.labelled_sentences),
    Metric("UALS", "arc-length score, corpus", lambda c: c.right_length, lambda c: c.length),
    Metric(
        "LALS",
        "labelled arc-length score, corpus",
        lambda c: c.right_labelled_length,
        lambda c: c.labelled_length,
    ),
    Metric("UALS_mean", "arc-length score, sentence mean", _unlabelled_als, lambda c: int(c.length > 0)),
    Metric(
        "LALS_mean",
        "labelled arc-length score, sentence mean",
        _labelled_als,
        lambda c: int(c.labelled_length > 0),
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _TABLE}
