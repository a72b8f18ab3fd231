"""How the outputs of a kind of model are scored, for whoever trains models without knowing their kind.

A model names its `Scorer`; a new kind of output is a new scorer, and trainer, progress reports and logs work for it as
they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from treetune.evaluation.metrics import METRICS
from treetune.evaluation.scores import evaluate


class Measured(Protocol):
    """The scores of one system on one corpus: fractions by name, NaN where there was nothing to count."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of all scores."""
        ...

    @property
    def shown(self) -> tuple[str, ...]:
        """The names of the scores that are shown while work goes on."""
        ...

    def __getitem__(self, metric: str) -> float:
        """Return one score."""
        ...

    def signature(self, metric: str) -> str:
        """Return the name of a score with all that must agree before two such numbers may be compared."""
        ...

    def signed(self, metric: str) -> str:
        """Return a score as it should be printed: ``signature = percent``."""
        ...


@dataclass(frozen=True)
class Scorer:
    """Scores outputs against gold examples (`Example`, `Tagged`, …), sentence by sentence in the same order.

    `metrics` are the names by which an epoch can be chosen, `usual` the one that is taken unless another is asked for.
    """

    metrics: tuple[str, ...]
    usual: str
    score: Callable[[Sequence[Any], Sequence[Any]], Measured]


TREES = Scorer(tuple(METRICS), "LAS", evaluate)
