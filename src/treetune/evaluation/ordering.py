"""Scores of predicted word orders, with bootstrap confidence intervals.

The scores look at the words that are in the gold order, the matched ones, in the order in which the prediction has
them. A sentence with fewer than two of them has no order that could be wrong: it is not counted.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from treetune import __version__
from treetune.corpus.orders import WordOrder
from treetune.errors import DataError, unknown_name
from treetune.evaluation.metrics import Metric, percent
from treetune.evaluation.significance import Interval, PairedBootstrap, bootstrap_interval, paired_bootstraps


@dataclass(frozen=True, slots=True)
class OrderCounts:
    """What was counted in one sentence; all integers, all 0 if it has fewer than two matched words."""

    matched: int = 0
    """Words that are in the gold order."""
    chunks: int = 0
    """Runs of matched words that follow each other both in gold and in the prediction."""
    kept_neighbours: int = 0
    """Neighbours in gold, its beginning and end included, that are neighbours in the prediction."""
    inversions: int = 0
    """Pairs of matched words in the wrong order."""
    crossings: int = 0
    """Pairs of links that cross; with an order that knows no links, the inversions."""

    @property
    def is_scored(self) -> bool:
        """Whether there is an order that could be wrong."""
        return self.matched > 1

    @property
    def pairs(self) -> int:
        """Pairs of matched words."""
        return self.matched * (self.matched - 1) // 2

    @property
    def reorder(self) -> float:
        """The reorder-score of Hall et al. 2011, section 4.1; 1 where nothing can be wrong."""
        return 1 - (self.chunks - 1) / (self.matched - 1) if self.is_scored else 1.0

    @property
    def fuzzy(self) -> float:
        """The share of kept neighbours, 1 where nothing can be wrong."""
        return self.kept_neighbours / (self.matched + 1) if self.is_scored else 1.0

    @property
    def tau(self) -> float:
        """Kendall's tau, from -1 to 1; 1 where nothing can be wrong."""
        return 1 - 2 * self.inversions / self.pairs if self.is_scored else 1.0


def order_counts(gold: WordOrder, predicted: Sequence[int]) -> OrderCounts:
    """Count what a predicted order, which has all words of `gold`, keeps of it; in O(n²) at worst.

    Raises:
        DataError: a word of gold is not in the prediction.
    """
    size = len(gold.words)
    if size < 2:
        return OrderCounts()
    index = {word: number for number, word in enumerate(gold.words)}
    found = [index[word] for word in predicted if word in index]
    if len(found) != size:
        missing = sorted(set(gold.words) - set(predicted))
        raise DataError(
            f"expected the {size} words of the gold order once each in the prediction, found {len(found)} places "
            f"for them{f', none for word {missing[0]}' if missing else ''}"
        )
    followed = sum(after == before + 1 for before, after in pairwise(found))
    inversions = count_inversions(found)
    return OrderCounts(
        matched=size,
        chunks=size - followed,
        kept_neighbours=followed + (found[0] == 0) + (found[-1] == size - 1),
        inversions=inversions,
        crossings=_crossings(gold, predicted) if gold.links else inversions,
    )


def count_inversions(values: Iterable[int]) -> int:
    """Count the pairs in which the larger value stands first."""
    seen: list[int] = []
    total = 0
    for value in values:
        total += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    return total


def _crossings(gold: WordOrder, predicted: Sequence[int]) -> int:
    at = {word: number for number, word in enumerate(predicted)}
    return count_inversions(target for _, target in sorted((at[word], target) for word, target in gold.links))


_TABLE: tuple[Metric, ...] = (
    Metric("reorder", "reorder-score, sentence mean", lambda c: c.reorder if c.is_scored else 0, lambda c: c.is_scored),
    Metric("exact", "sentences in the very order", lambda c: c.is_scored and c.chunks == 1, lambda c: c.is_scored),
    Metric("fuzzy", "kept neighbours, sentence mean", lambda c: c.fuzzy if c.is_scored else 0, lambda c: c.is_scored),
    Metric("tau", "Kendall's tau, sentence mean", lambda c: c.tau if c.is_scored else 0, lambda c: c.is_scored),
    Metric(
        "reorder_corpus",
        "reorder-score over all words",
        lambda c: c.matched - c.chunks if c.is_scored else 0,
        lambda c: c.matched - 1 if c.is_scored else 0,
    ),
    Metric("crossings", "crossing links a sentence", lambda c: c.crossings, lambda c: c.is_scored),
)

ORDER_METRICS: dict[str, Metric] = {metric.name: metric for metric in _TABLE}
# Not a share, so not shown per cent.
PLAIN = ("crossings",)


@dataclass(frozen=True, slots=True)
class OrderScores:
    """The scores of one system's orders; `scores["reorder"]` is a fraction, `scores["crossings"]` a mean number."""

    per_sentence: tuple[OrderCounts, ...]

    def __getitem__(self, metric: str) -> float:
        """Return one score by its name in `ORDER_METRICS`; NaN if no sentence was scored."""
        return order_metric(metric).score(self.per_sentence)

    def signature(self, metric: str) -> str:
        """Return the signature of a score: its name, and the conditions that must agree for a comparison."""
        name = metric if metric == "*" else order_metric(metric).name
        scored = sum(counts.is_scored for counts in self.per_sentence)
        return f"{name}|aligned:yes|sents:{scored}/{len(self.per_sentence)}|v:{__version__}"

    def signed(self, metric: str) -> str:
        """Return a score as it should be printed: ``signature = score``."""
        return f"{self.signature(metric)} = {shown(metric, self[metric])}"

    def interval(self, metric: str, *, samples: int = 10_000, seed: int = 0) -> Interval:
        """Return a score with its 95 % bootstrap interval."""
        return bootstrap_interval(self.per_sentence, order_metric(metric), samples=samples, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """Return scores and signatures, ready for JSON."""
        return {
            "scores": {name: self[name] for name in ORDER_METRICS},
            "signatures": {name: self.signature(name) for name in ORDER_METRICS},
        }


def evaluate_orders(gold: Iterable[WordOrder], predicted: Iterable[Sequence[int]]) -> OrderScores:
    """Score predicted orders against gold ones, sentence by sentence.

    Raises:
        DataError: they are not orders of the same sentences; the message names the first one that differs.
    """
    counts: list[OrderCounts] = []
    answers = iter(predicted)
    for number, reference in enumerate(gold, start=1):
        answer = next(answers, None)
        if answer is None:
            raise DataError(f"expected an order for every gold order, found {number - 1} and no more")
        try:
            counts.append(order_counts(reference, answer))
        except DataError as error:
            raise DataError(f"sentence {number}: {error.problem}") from None
    if next(answers, None) is not None:
        raise DataError(f"expected {len(counts)} predicted orders, as many as gold has, found more")
    return OrderScores(tuple(counts))


def compare_orders(
    a: OrderScores, b: OrderScores, *, samples: int = 10_000, seed: int = 0
) -> dict[str, PairedBootstrap]:
    """Test on each metric whether system b differs from system a by more than chance."""
    for number, (first, second) in enumerate(zip(a.per_sentence, b.per_sentence, strict=False), start=1):
        if first.matched != second.matched:
            raise DataError(f"sentence {number}: the two systems were not scored against the same gold order")
    tested = paired_bootstraps(a.per_sentence, b.per_sentence, _TABLE, samples=samples, seed=seed)
    return {result.metric: result for result in tested}


def order_metric(name: str) -> Metric:
    """Return the metric of that name."""
    if name not in ORDER_METRICS:
        raise unknown_name("score of orders", name, ORDER_METRICS)
    return ORDER_METRICS[name]


def shown(metric: str, score: float) -> str:
    """Return a score as it is printed: per cent, or the number itself where it is not a share."""
    return f"{score:.2f}" if metric in PLAIN else percent(score)


def comparison_to_dict(tested: dict[str, PairedBootstrap]) -> dict[str, Any]:
    """Return comparisons ready for JSON."""
    return {name: asdict(result) for name, result in tested.items()}
