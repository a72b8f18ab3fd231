"""The scores of one system on one corpus, whatever its outputs are: trees, tags, entities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from treetune.evaluation.metrics import Metric


class CorpusScores(Protocol):
    """The scores of one system on one corpus: fractions by name, NaN where there was nothing to count."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of all scores."""
        ...

    @property
    def shown(self) -> tuple[str, ...]:
        """The names of the scores that progress reports show."""
        ...

    def __getitem__(self, metric: str) -> float:
        """Return one score, a fraction in [0, 1] or NaN if there was nothing to count."""
        ...

    def signature(self, metric: str) -> str:
        """Return the name of a score with all that must agree before two such numbers may be compared."""
        ...

    def signed(self, metric: str) -> str:
        """Return a score as it should be printed: ``signature = percent``."""
        ...


class ComparableScores(CorpusScores, Protocol):
    """Scores with per-sentence counts, for significance tests between two systems.

    `compared` are the metrics of a comparison, `countable` those that are a share of right units, `options` the fields
    that must agree before two systems may be compared.
    """

    @property
    def per_sentence(self) -> Sequence[Any]:
        """The counts of each sentence, in corpus order."""
        ...

    def metric(self, name: str) -> Metric:
        """Return a metric by its name; an unknown name is a ConfigError that lists them."""
        ...

    @property
    def compared(self) -> Sequence[str]:
        """The metrics of a comparison."""
        ...

    @property
    def countable(self) -> Sequence[str]:
        """The metrics for which `right` can tell right from wrong."""
        ...

    @property
    def options(self) -> Sequence[str]:
        """The names of the scoring options."""
        ...

    def gold_sides(self) -> list[tuple[int, ...]]:
        """Return for each sentence what depends on gold alone: equal for all systems scored on the same corpus."""
        ...

    def right(self, metric: str) -> list[bool]:
        """Tell right from wrong for each unit that a countable metric counts."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single sentences and words, ready for JSON."""
        ...
