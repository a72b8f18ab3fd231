"""What the families of parsers share: options, what was learned, one sentence as a batch of one, threads."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, ModelError, unknown_name
from treetune.models.base import Candidate

Config = TypeVar("Config")
Grammar = TypeVar("Grammar")
Weights = TypeVar("Weights")


class TreeParser(ABC, Generic[Config, Grammar, Weights]):
    """A parser with options (`config`), what it learned of a treebank (`grammar`) and averaged weights.

    `search_options` are the options that can change after training.
    """

    kind: ClassVar[str]
    search_options: ClassVar[tuple[str, ...]]

    def __init__(self, config: Config, options: dict[str, Any]) -> None:
        known = [field.name for field in fields(config)]  # type: ignore[arg-type]
        for name in options:
            if name not in known:
                raise unknown_name(f"option of {self.kind} parsers", name, known)
        self.config: Config = replace(config, **options)  # type: ignore[type-var]
        self._grammar: Grammar | None = None
        self._weights: Weights | None = None
        self._learned_by: Mapping[str, Any] = {}

    def fit(self, grammar: Grammar, weights: Weights, *, learned_by: Mapping[str, Any] | None = None) -> None:
        """Take over what was learned; trainers call this.

        `learned_by` names the learner and its largest step, to which the size of the weights belongs: whoever goes on
        from them must go on in the same way.
        """
        self._grammar, self._weights, self._learned_by = grammar, weights, learned_by or {}

    def adopt(self, other: Self) -> None:
        """Take over all that another parser of the same kind has learned."""
        self.fit(other.grammar, other.weights, learned_by=other.learned_by)

    @property
    def learned_by(self) -> Mapping[str, Any]:
        """The learner of the weights and its largest step; empty for models of versions that did not note it."""
        return self._learned_by

    @property
    def is_trained(self) -> bool:
        """Whether the parser can predict."""
        return self._weights is not None

    @property
    def grammar(self) -> Grammar:
        """What was learned of the treebank besides weights."""
        if self._grammar is None:
            raise ModelError("this parser is not trained yet; run treetune.train on it or load a trained one")
        return self._grammar

    @property
    def weights(self) -> Weights:
        """The averaged weights."""
        if self._weights is None:
            raise ModelError("this parser is not trained yet; run treetune.train on it or load a trained one")
        return self._weights

    def with_options(self, **options: Any) -> Self:
        """Return a parser with the same weights that searches otherwise: the `search_options` can change."""
        for name in options:
            if name not in self.search_options:
                raise unknown_name(f"search option of {self.kind} parsers", name, self.search_options)
        other = copy.copy(self)
        other.config = replace(self.config, **options)  # type: ignore[type-var]
        return other

    def predict(self, sentence: Sentence, *, constraint: Tree | None = None) -> Tree:
        """Return the best tree; it has everything that is known in the partial tree `constraint`."""
        return self.predict_batch([sentence], constraints=None if constraint is None else [constraint])[0]

    def k_best(self, sentence: Sentence, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        """Return up to `k` distinct trees, best first, with exact scores; see `k_best_batch`."""
        return self.k_best_batch([sentence], k, constraints=None if constraint is None else [constraint])[0]

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The labels the parser can give."""

    @abstractmethod
    def score(self, sentence: Sentence, output: Tree | Candidate[Tree]) -> float:
        """Return the exact score of an output under the averaged weights."""

    def scores(self, sentence: Sentence, trees: Sequence[Tree]) -> list[float]:
        """Return the scores of several trees of a sentence; the parser must be able to make each of them."""
        return [self.score(sentence, tree) for tree in trees]

    @abstractmethod
    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Tree]:
        """Return the best tree of each sentence; the same for any number of threads."""

    @abstractmethod
    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Tree] | None = None,
    ) -> list[list[Candidate[Tree]]]:
        """Return the k-best list of each sentence; the same for any number of threads."""


def run_chunks(count: int, chunk: int, threads: int, make_worker: Callable[[], Callable[[int, int], None]]) -> None:
    """Hand the ranges of `count` sentences, `chunk` at a time, to workers, one a thread.

    A worker has working memory of its own; it writes to places of its own too, so that the number of threads
    changes nothing.
    """
    if threads < 1:
        raise ConfigError(f"threads must be at least 1, found {threads}")
    ranges = iter([(first, min(first + chunk, count)) for first in range(0, count, chunk)])

    def work() -> None:
        worker = make_worker()
        for first, last in _shared(ranges):
            worker(first, last)

    if threads == 1 or count <= chunk:
        work()
        return
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work) for _ in range(threads)]:
            future.result()


def _shared(ranges: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield what is left of an iterator that several threads draw from (a list iterator is safe to share)."""
    while (piece := next(ranges, None)) is not None:
        yield piece
