"""The scores of one system on one corpus, whatever its outputs are: trees, tags, entities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from treetune import __version__
from treetune.errors import ConfigError, unknown_name
from treetune.evaluation.metrics import Metric, json_number, percent


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


class ComparableScores(ABC):
    """Scores with per-sentence counts, for significance tests between two systems; `scores["LAS"]` is one score.

    A subclass has a table of metrics over its counts; `default` is the metric of `signature()`, `compared` are those of
    a comparison, `countable` those that are a share of right units, `options` the fields that must agree before two
    systems may be compared.
    """

    default: ClassVar[str]
    countable: ClassVar[tuple[str, ...]]
    options: ClassVar[tuple[str, ...]]
    per_sentence: tuple[Any, ...]
    """The counts of each sentence, in corpus order."""

    @property
    @abstractmethod
    def table(self) -> Mapping[str, Metric]:
        """All metrics, by name."""

    @property
    @abstractmethod
    def compared(self) -> Sequence[str]:
        """The names of the metrics that two systems are compared by."""

    @property
    @abstractmethod
    def shown(self) -> tuple[str, ...]:
        """The names of the scores that progress reports show."""

    @property
    @abstractmethod
    def conditions(self) -> str:
        """How the scores were counted, for their signatures: ``punct:yes|subtypes:no``."""

    @abstractmethod
    def gold_sides(self) -> list[tuple[int, ...]]:
        """Return for each sentence the counts that depend on gold alone: equal for all systems on the same corpus."""

    @abstractmethod
    def outcomes_of(self, metric: str) -> list[bool]:
        """Return right or wrong for each unit of a countable metric."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of all scores."""
        return tuple(self.table)

    def metric(self, name: str) -> Metric:
        """Return a metric by its name; an unknown name is a ConfigError that lists them."""
        if name not in self.table:
            raise unknown_name("metric", name, self.table)
        return self.table[name]

    def __getitem__(self, metric: str) -> float:
        """Return one score, a fraction in [0, 1] or NaN if there was nothing to count."""
        return self.metric(metric).score(self.per_sentence)

    def __repr__(self) -> str:
        """Return the scores that progress reports show, and how they were counted."""
        shown = ", ".join(f"{name} {percent(self[name])}" for name in self.shown)
        return f"<{type(self).__name__}: {shown} ({self.signature('*')})>"

    def signature(self, metric: str | None = None) -> str:
        """Return the name of a score with all that must agree before two such numbers may be compared.

        ``"*"`` stands for all metrics, as the head of a table.
        """
        name = metric if metric == "*" else self.metric(metric or self.default).name
        return f"{name}|{self.conditions}|sents:{len(self.per_sentence)}|v:{__version__}"

    def signed(self, metric: str | None = None) -> str:
        """Return a score as it should be printed: ``signature = percent``."""
        return f"{self.signature(metric)} = {percent(self[metric or self.default])}"

    def right(self, metric: str | None = None) -> list[bool]:
        """Return right or wrong for each unit that a countable metric counts, for McNemar's test."""
        usual = self.default if self.default in self.countable else self.countable[0]
        name = self.metric(metric or usual).name
        if name not in self.countable:
            raise ConfigError(f"{name} is not a share of right units; those are: {', '.join(self.countable)}")
        return self.outcomes_of(name)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single sentences and words, ready for JSON; NaN becomes None."""
        return {
            "scores": {name: json_number(self[name]) for name in self.metrics},
            "signatures": {name: self.signature(name) for name in self.metrics},
        }
