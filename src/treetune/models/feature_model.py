"""The base of parsers and taggers: options, weights, `fit`, single sentences as batches of one, threads."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any, ClassVar, Generic, Self, TypeVar, Unpack

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, ModelError, unknown_name
from treetune.evaluation.scorers import TREES, Scorer
from treetune.models.base import Candidate, Learner, Output
from treetune.models.confidence import Calibrated
from treetune.models.learning_options import DEFAULT_SEED, LearnerConfig, LearningOptions
from treetune.models.options import search_options, with_values
from treetune.models.registry import TRAINER, find, learner_class

Config = TypeVar("Config")
Grammar = TypeVar("Grammar")
Weights = TypeVar("Weights")


class FeatureModel(ABC, Generic[Config, Grammar, Weights, Output]):
    """A model with options (`config`), what it learned of its examples (`grammar`) and averaged weights.

    `noun` is what messages call it.
    """

    kind: ClassVar[str]
    noun: ClassVar[str]

    def __init__(self, config: Config, options: dict[str, Any]) -> None:
        known = [field.name for field in fields(config)]  # type: ignore[arg-type]
        for name in options:
            if name not in known:
                raise unknown_name(f"option of {self._plural()}", name, known)
        self.config: Config = with_values(config, options)
        self._grammar: Grammar | None = None
        self._weights: Weights | None = None
        self._trained_by: Mapping[str, Any] = {}

    @classmethod
    def _with_stored(cls, config: Config) -> Self:
        """Return an untrained model with the options of a file, which has the templates themselves beside them.

        A set that came from a user's file is not needed again.
        """
        made = cls.__new__(cls)
        FeatureModel.__init__(made, config, {})
        return made

    def set_trained(self, grammar: Grammar, weights: Weights, *, trained_by: Mapping[str, Any] | None = None) -> None:
        """Take over what was learned; learners call this.

        `trained_by` are the learner and its step size, on which the scale of the weights depends: a warm start must
        continue with the same ones.
        """
        self._grammar, self._weights, self._trained_by = grammar, weights, trained_by or {}

    def adopt(self, other: Self) -> None:
        """Take over the weights of another model of the same kind, and all that belongs to them."""
        self.set_trained(other.grammar, other.weights, trained_by=other.trained_by)

    @property
    def trained_by(self) -> Mapping[str, Any]:
        """The learner of the weights and its step size."""
        return self._trained_by

    @property
    def is_trained(self) -> bool:
        """Whether the model can predict."""
        return self._weights is not None

    @property
    def grammar(self) -> Grammar:
        """Vocabulary, tag or label set and templates of the training data."""
        if self._grammar is None:
            raise self._not_trained()
        return self._grammar

    @property
    def weights(self) -> Weights:
        """The averaged weights."""
        if self._weights is None:
            raise self._not_trained()
        return self._weights

    @property
    def search_options(self) -> tuple[str, ...]:
        """The options that can change after training."""
        return search_options(self.config)

    def with_options(self, **options: Any) -> Self:
        """Return a model with the same weights and other `search_options`."""
        for name in options:
            if name not in self.search_options:
                raise unknown_name(f"search option of {self._plural()}", name, self.search_options)
        other = copy.copy(self)
        other.config = with_values(self.config, options)
        return other

    def predict(self, sentence: Sentence, *, constraint: Output | None = None) -> Output:
        """Return the best output; it has everything that is known in the partial output `constraint`."""
        return self.predict_batch([sentence], constraints=None if constraint is None else [constraint])[0]

    def k_best(self, sentence: Sentence, k: int, *, constraint: Output | None = None) -> list[Candidate[Output]]:
        """Return up to `k` distinct outputs, best first, with exact scores; see `k_best_batch`."""
        return self.k_best_batch([sentence], k, constraints=None if constraint is None else [constraint])[0]

    @abstractmethod
    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Output] | None = None
    ) -> list[Output]:
        """Return the best output of each sentence; the same for any number of threads."""

    @abstractmethod
    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Output] | None = None,
    ) -> list[list[Candidate[Output]]]:
        """Return the k-best list of each sentence; the same for any number of threads."""

    def fit(
        self,
        treebank: Sequence[Any],
        dev: Sequence[Any] = (),
        *,
        epochs: int = 10,
        seed: int = DEFAULT_SEED,
        threads: int = 1,
        **learning: Unpack[LearningOptions],
    ) -> Self:
        """Train on gold examples and return the model: the plain case of `treetune.train`.

        Args:
            treebank: Gold examples.
            dev: Gold examples to choose the best epoch by; without them the model is that of the last one.
            epochs: How many times to go through the treebank.
            seed: Orders the sentences; the same seed gives the same weights.
            threads: For parsing `dev` only.
            learning: Update rule and its parameters; see `LearningOptions`.
        """
        train = find(TRAINER)
        data, dev = self._gold_examples(treebank), self._gold_examples(dev)
        for _ in train(self, data, dev=dev, epochs=epochs, seed=seed, threads=threads, **learning):
            pass
        return self

    def _gold_examples(self, examples: Sequence[Any]) -> Sequence[Any]:
        """Return examples as the learner takes them."""
        return examples

    def check_learning(self, **options: Unpack[LearningOptions]) -> None:
        """Raise ConfigError if `learner` would refuse these options; no data is needed to know."""
        learner_class(self.kind).check_options(self, LearnerConfig(**options))

    def learner(
        self,
        treebank: Sequence[Any],
        *,
        seed: int = DEFAULT_SEED,
        warm_start: bool = False,
        **options: Unpack[LearningOptions],
    ) -> Learner[Output]:
        """Return the online learner of this model over gold examples; see `models.base.Model.learner`."""
        make = learner_class(self.kind)
        made: Learner[Output] = make(self, treebank, seed=seed, warm_start=warm_start, **options)
        return made

    def _plural(self) -> str:
        return f"{self.noun}s" if self.kind == self.noun else f"{self.kind} {self.noun}s"

    def _not_trained(self) -> ModelError:
        return ModelError(f"this {self.noun} is not trained yet; fit it to a treebank or load a trained one")


class TreeParser(FeatureModel[Config, Grammar, Weights, Tree], Calibrated):
    """A parser: its outputs are trees."""

    noun: ClassVar[str] = "parser"
    # Whether a warm start learns labels that the parser does not know.
    learns_labels: ClassVar[bool] = False

    def set_trained(self, grammar: Grammar, weights: Weights, *, trained_by: Mapping[str, Any] | None = None) -> None:
        """Take over what was learned, and forget the calibration of other weights."""
        super().set_trained(grammar, weights, trained_by=trained_by)
        self.calibration = None

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The labels the parser can give."""

    @abstractmethod
    def score(self, sentence: Sentence, output: Tree | Candidate[Tree]) -> float:
        """Return the exact score of an output under the averaged weights."""

    def scores_batch(
        self, sentences: Sequence[Sentence], lists: Sequence[Sequence[Tree]], *, threads: int = 1
    ) -> list[list[float]]:
        """Return the scores of several trees of each sentence; the parser must be able to make each of them."""
        return [
            [self.score(sentence, tree) for tree in trees] for sentence, trees in zip(sentences, lists, strict=True)
        ]

    @property
    def scorer(self) -> Scorer:
        """Trees are scored by attachment."""
        return TREES


def run_chunks(count: int, chunk: int, threads: int, make_worker: Callable[[], Callable[[int, int], None]]) -> None:
    """Hand the ranges of `count` sentences, `chunk` at a time, to workers, one a thread.

    A worker has working memory of its own; it writes to results of its own too, so that the number of threads
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
