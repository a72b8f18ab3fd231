"""Two systems side by side: the difference in each metric and both significance tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from treetune.errors import ConfigError, DataError
from treetune.evaluation.base import ComparableScores
from treetune.evaluation.significance import McNemar, PairedBootstrap, mcnemar, paired_bootstraps


@dataclass(frozen=True, slots=True)
class Comparison:
    """System b against system a on one metric; `mcnemar` is None where a metric does not count units."""

    signature: str
    bootstrap: PairedBootstrap
    mcnemar: McNemar | None

    def to_dict(self) -> dict[str, object]:
        """Return all fields, ready for JSON."""
        return asdict(self)


def compare(
    a: ComparableScores,
    b: ComparableScores,
    *,
    metrics: Sequence[str] | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> dict[str, Comparison]:
    """Test on each metric whether system b differs from system a by more than chance.

    Without `metrics`, those that such scores are compared by and for which these sentences have anything to count.

    Raises:
        ConfigError: the two were scored with different options.
        DataError: the two were scored on different gold, or a metric named has nothing to count.
    """
    _check_comparable(a, b)
    if metrics is None:
        metrics = [name for name in a.compared if not math.isnan(a[name] + b[name])]
    chosen = [a.metric(name) for name in metrics]
    tested = paired_bootstraps(a.per_sentence, b.per_sentence, chosen, samples=samples, seed=seed)
    return {
        name: Comparison(
            signature=a.signature(name),
            bootstrap=bootstrap,
            mcnemar=mcnemar(a.right(name), b.right(name)) if name in a.countable else None,
        )
        for name, bootstrap in zip(metrics, tested, strict=True)
    }


def _check_comparable(a: ComparableScores, b: ComparableScores) -> None:
    if type(a) is not type(b):
        raise ConfigError("cannot compare scores of different kinds; score both systems in the same way")
    for option in a.options:
        first, second = getattr(a, option), getattr(b, option)
        if first != second:
            raise ConfigError(
                f"cannot compare scores with {option}={first} and {option}={second}; score both with the same options"
            )
    if len(a.per_sentence) != len(b.per_sentence):
        raise DataError(
            f"cannot compare scores of {len(a.per_sentence)} and {len(b.per_sentence)} sentences; "
            "score both systems against the same gold"
        )
    for number, (first, second) in enumerate(zip(a.gold_sides(), b.gold_sides(), strict=True), start=1):
        if first != second:
            raise DataError(
                f"sentence {number}: the two systems were not scored against the same gold; "
                "score both against the same gold"
            )
