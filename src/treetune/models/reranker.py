"""Reranking of the k-best list of a base parser by the weighted sum of its scores and those of a second parser.

Parsers that read a sentence in opposite directions make different mistakes, so a backward parser is a good reranker of
a forward one (Zhang and Clark 2008 combine two parsers in one search; here it is done on k-best lists).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, Unpack

from treetune.checked_state import Fields
from treetune.corpus.projectivity import plain_label
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, ModelError, check_minimum
from treetune.evaluation.scorers import Scorer
from treetune.models.base import Candidate, Learner, Parser
from treetune.models.confidence import Calibrated
from treetune.models.feature_model import TreeParser
from treetune.models.learning_options import LearningOptions
from treetune.models.nested_state import parsers_from_state, state_of_parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# How many trees of the base parser are reranked.
RERANK_K = 16
LARGEST_K = 4096


class Reranker(Calibrated):
    """A base parser whose `k` best trees are reranked by a second one.

    The score of a tree is that of the base parser plus `weight` times that of the second. Both are trained already, on
    the same labels. `learning.reranking` tunes the weight on dev.
    """

    kind: ClassVar[str] = "reranker"

    def __init__(self, base: Parser, second: Parser, *, weight: float = 1.0, k: int = RERANK_K) -> None:
        if not 0 < weight < math.inf:
            raise ConfigError(f"weight must be a number above 0, found {weight:g}")
        if k < 2:
            raise ConfigError(f"k must be at least 2, or there is nothing to rerank, found {k}")
        if k > LARGEST_K:
            raise ConfigError(f"k must be at most {LARGEST_K}, found {k}")
        self.base = base
        self.second = second
        self.weight = weight
        self.k = k
        _check_labels(base, second)

    @property
    def is_trained(self) -> bool:
        """Whether both parsers can predict."""
        return self.base.is_trained and self.second.is_trained

    @property
    def scorer(self) -> Scorer:
        """Its outputs are scored as those of the base parser."""
        return self.base.scorer

    @property
    def is_stacked(self) -> bool:
        """Whether base trees are looked at, by either parser."""
        return self.base.is_stacked or self.second.is_stacked

    def with_options(self, **options: Any) -> Reranker:
        """Return a reranker with the same weights and other search options of its base parser."""
        changed = copy.copy(self)
        changed.base = self.base.with_options(**options)
        return changed

    def predict(self, sentence: Sentence, *, constraint: Tree | None = None) -> Tree:
        """Return the best tree; it has everything that is known in the partial tree `constraint`."""
        return self.predict_batch([sentence], constraints=None if constraint is None else [constraint])[0]

    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Tree]:
        """Return the best tree of each sentence; the same for any number of threads."""
        lists = self.k_best_batch(sentences, 1, threads=threads, constraints=constraints)
        return [candidates[0].output for candidates in lists]

    def k_best(self, sentence: Sentence, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        """Return up to `k` distinct trees, best first, with the summed scores of both parsers."""
        return self.k_best_batch([sentence], k, constraints=None if constraint is None else [constraint])[0]

    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Tree] | None = None,
    ) -> list[list[Candidate[Tree]]]:
        """Return the k-best list of each sentence; the same for any number of threads.

        Only trees of the base parser's list are reranked, so a longer list may have a better first tree.
        """
        check_minimum("k", k, 1)
        lists = self.base.k_best_batch(sentences, max(k, self.k), threads=threads, constraints=constraints)
        second_scores = rerank_scores(self.second, sentences, lists, threads=threads)
        return [self._reranked(*both)[:k] for both in zip(lists, second_scores, strict=True)]

    def _reranked(self, candidates: Sequence[Candidate[Tree]], second_scores: Sequence[float]) -> list[Candidate[Tree]]:
        reranked = [
            replace(candidate, score=candidate.score + self.weight * second_score)
            for candidate, second_score in zip(candidates, second_scores, strict=True)
        ]
        # Of equals the base parser's favourite comes first: sorting keeps their order.
        return sorted(reranked, key=lambda candidate: -candidate.score)

    def features(
        self, sentence: Sentence, output: Tree | Candidate[Tree]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        """Return the features of the base parser; those of the second parser have weights of their own."""
        return self.base.features(sentence, output)

    def score(self, sentence: Sentence, output: Tree | Candidate[Tree]) -> float:
        """Return the exact score of an output under the weights of both parsers."""
        candidate = output if isinstance(output, Candidate) else Candidate(output, 0.0)
        second_score = rerank_scores(self.second, [sentence], [[candidate]])[0][0]
        return self.base.score(sentence, output) + self.weight * second_score

    def check_learning(self, **options: Unpack[LearningOptions]) -> None:
        """Raise ConfigError: the two parsers are trained separately."""
        self._refuse_to_learn()

    def learner(
        self,
        treebank: Sequence[Example],
        *,
        seed: int = 0,
        warm_start: bool = False,
        **options: Unpack[LearningOptions],
    ) -> Learner[Tree]:
        """Raise ConfigError: the two parsers are trained separately."""
        self._refuse_to_learn()

    def _refuse_to_learn(self) -> NoReturn:
        raise ConfigError("a reranker is not trained as one model; train both parsers, then rerank one by the other")

    def adopt(self, other: Self) -> None:
        """Take over both parsers of another reranker."""
        self.base, self.second, self.weight, self.k = other.base, other.second, other.weight, other.k
        self.calibration = other.calibration

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays) of both parsers, each array's name with its parser's before it."""
        config, tensors = state_of_parts({"second": self.second, "base": self.base})
        return {**config, "weight": self.weight, "k": self.k, **self._calibration_state()}, tensors

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Reranker:
        """Rebuild both parsers from `state()`."""
        fields, parts = Fields(config), parsers_from_state(config, tensors, ("second", "base"))
        reranker = cls(**parts, weight=fields.positive("weight"), k=fields.integer("k", 2, LARGEST_K))
        reranker._restore_calibration(fields)
        return reranker


def rerank_scores(
    second: Parser, sentences: Sequence[Sentence], lists: Sequence[Sequence[Candidate[Tree]]], *, threads: int = 1
) -> list[list[float]]:
    """Return the scores that a second parser gives to the trees of each sentence."""
    trees = [[candidate.output for candidate in candidates] for candidates in lists]
    if isinstance(second, TreeParser):
        return second.scores_batch(sentences, trees, threads=threads)
    return [[second.score(sentence, tree) for tree in some] for sentence, some in zip(sentences, trees, strict=True)]


def _check_labels(base: Parser, second: Parser) -> None:
    if not (isinstance(base, TreeParser) and isinstance(second, TreeParser) and base.is_trained and second.is_trained):
        return
    known = set(second.labels)
    strange = sorted({plain_label(label) for label in base.labels} - known)
    if strange:
        raise ModelError(
            f"the second parser has never seen the label {strange[0]!r}, which the base parser gives; "
            "train both on the same treebank"
        )
