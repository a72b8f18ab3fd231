"""Significance tests between two systems: McNemar's test and the paired bootstrap.

McNemar's test compares right and wrong words (or sentences), the paired bootstrap any metric by resampling
sentences (Efron & Tibshirani 1993; Koehn 2004). The same seed gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treetune.errors import ConfigError, DataError
from treetune.evaluation.metrics import Metric, resolve_metric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Columns = NDArray[np.float64]  # a row a sentence (or a sample), a column a sum

# Up to so many discordant pairs McNemar's test is exact; beyond, chi-square agrees with it to 1e-4.
EXACT_UP_TO = 1000
_CELLS_AT_ONCE = 500_000


@dataclass(frozen=True, slots=True)
class McNemar:
    """The two kinds of disagreement and the two-sided probability of so uneven a split by chance."""

    only_a: int
    only_b: int
    p_value: float
    exact: bool


@dataclass(frozen=True, slots=True)
class Interval:
    """A score (or a difference of scores) with the interval the bootstrap gives it."""

    score: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairedBootstrap:
    """The difference b - a with its 95 % interval, and the two-sided p-value of "no difference"."""

    metric: str
    score_a: float
    score_b: float
    difference: Interval
    p_value: float
    samples: int


def mcnemar(right_a: Sequence[bool], right_b: Sequence[bool]) -> McNemar:
    """Test whether two systems err equally often on the same units; see `Scores.right`.

    Exact binomial up to `EXACT_UP_TO` disagreements, else chi-square with continuity correction.

    Raises:
        DataError: the lists differ in length.
    """
    if len(right_a) != len(right_b):
        raise DataError(
            f"McNemar's test needs the same units for both systems, found {len(right_a)} and {len(right_b)}; "
            "score both against the same gold with the same options"
        )
    only_a = sum(a and not b for a, b in zip(right_a, right_b, strict=True))
    only_b = sum(b and not a for a, b in zip(right_a, right_b, strict=True))
    exact = only_a + only_b <= EXACT_UP_TO
    p_value = exact_mcnemar(only_a, only_b) if exact else chi_square_mcnemar(only_a, only_b)
    return McNemar(only_a, only_b, p_value, exact)


def exact_mcnemar(only_a: int, only_b: int) -> float:
    """Return the two-sided binomial p-value of a split of disagreements; integers until the last division."""
    discordant = only_a + only_b
    tail = sum(math.comb(discordant, k) for k in range(min(only_a, only_b) + 1))
    return min(1.0, 2 * tail / (1 << discordant))


def chi_square_mcnemar(only_a: int, only_b: int) -> float:
    """Return the p-value of Edwards' continuity-corrected chi-square with one degree of freedom."""
    statistic = max(0, abs(only_a - only_b) - 1) ** 2 / (only_a + only_b)
    return math.erfc(math.sqrt(statistic / 2))


def bootstrap_interval(
    per_sentence: Sequence[Any],
    metric: str | Metric,
    *,
    samples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Return a score with its 95 % percentile interval under resampling of sentences.

    Raises:
        ConfigError: the metric is unknown or `samples` is not positive.
        DataError: nothing was counted.
    """
    import numpy as np

    chosen = resolve_metric(metric)
    score = _defined(chosen, per_sentence)
    sums = _resample(_columns(per_sentence, [chosen]), samples=samples, seed=seed)
    low, high = np.nanquantile(_ratios(sums)[:, 0], (0.025, 0.975))
    return Interval(score, float(low), float(high))


def paired_bootstrap(
    per_sentence_a: Sequence[Any],
    per_sentence_b: Sequence[Any],
    metric: str | Metric,
    *,
    samples: int = 10_000,
    seed: int = 0,
) -> PairedBootstrap:
    """Compare two systems on one metric; see `paired_bootstraps`."""
    return paired_bootstraps(per_sentence_a, per_sentence_b, [metric], samples=samples, seed=seed)[0]


def paired_bootstraps(
    per_sentence_a: Sequence[Any],
    per_sentence_b: Sequence[Any],
    metrics: Sequence[str | Metric],
    *,
    samples: int = 10_000,
    seed: int = 0,
) -> list[PairedBootstrap]:
    """Compare two systems on several metrics by the same resampled corpora, in one pass.

    The p-value is the share of samples whose difference, shifted to a mean of zero, is at least as far from
    zero as the one observed; observation itself is one of the samples, so it is never 0.

    Raises:
        ConfigError: a metric is unknown or `samples` is not positive.
        DataError: the systems differ in the number of sentences, or nothing was counted.
    """
    import numpy as np

    if len(per_sentence_a) != len(per_sentence_b):
        raise DataError(
            "the paired bootstrap needs the same sentences for both systems, "
            f"found {len(per_sentence_a)} and {len(per_sentence_b)}"
        )
    chosen = [resolve_metric(metric) for metric in metrics]
    scores = [(_defined(m, per_sentence_a), _defined(m, per_sentence_b)) for m in chosen]
    columns = np.hstack([_columns(per_sentence_a, chosen), _columns(per_sentence_b, chosen)])
    resampled = _ratios(_resample(columns, samples=samples, seed=seed))
    differences = resampled[:, len(chosen) :] - resampled[:, : len(chosen)]
    return [
        _paired(metric, pair, differences[:, column])
        for column, (metric, pair) in enumerate(zip(chosen, scores, strict=True))
    ]


def _paired(metric: Metric, scores: tuple[float, float], sampled: Columns) -> PairedBootstrap:
    import numpy as np

    observed = scores[1] - scores[0]
    defined = sampled[~np.isnan(sampled)]
    extreme = np.abs(defined - defined.mean()) >= abs(observed)
    low, high = np.quantile(defined, (0.025, 0.975))
    return PairedBootstrap(
        metric=metric.name,
        score_a=scores[0],
        score_b=scores[1],
        difference=Interval(observed, float(low), float(high)),
        p_value=(int(extreme.sum()) + 1) / (len(defined) + 1),
        samples=len(sampled),
    )


def _defined(metric: Metric, per_sentence: Sequence[Any]) -> float:
    score = metric.score(per_sentence)
    if math.isnan(score):
        raise DataError(f"{metric.name} has nothing to count in these {len(per_sentence)} sentences")
    return score


def _columns(per_sentence: Sequence[Any], metrics: Sequence[Metric]) -> Columns:
    """Return for each sentence (row) and metric two columns: part, whole."""
    import numpy as np

    rows = [[f(counts) for m in metrics for f in (m.part, m.whole)] for counts in per_sentence]
    return np.array(rows, dtype=np.float64)


def _resample(columns: Columns, *, samples: int, seed: int) -> Columns:
    """Return, a row a sample, the column sums over as many sentences drawn with replacement."""
    import numpy as np

    if samples < 1:
        raise ConfigError(f"expected at least 1 bootstrap sample, found {samples}")
    size = len(columns)
    draw = np.random.default_rng(seed)
    at_once = max(1, _CELLS_AT_ONCE // size)
    sums = np.empty((samples, columns.shape[1]))
    for start in range(0, samples, at_once):
        rows = min(at_once, samples - start)
        drawn = draw.integers(0, size, size=(rows, size)) + size * np.arange(rows)[:, np.newaxis]
        times = np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size)
        sums[start : start + rows] = times.astype(np.float64) @ columns
    return sums


def _ratios(sums: Columns) -> Columns:
    """Divide the parts by the wholes; NaN where a sample has nothing to count."""
    import numpy as np

    parts, wholes = sums[:, 0::2], sums[:, 1::2]
    return np.divide(parts, wholes, out=np.full_like(parts, np.nan), where=wholes > 0)
