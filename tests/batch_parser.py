"""What the parsers for tests have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Unpack

from treetune.corpus.sentence import Sentence, Tree
from treetune.evaluation.scorers import TREES, Scorer
from treetune.models.base import Candidate
from treetune.models.learning_options import LearnerConfig, LearningOptions


class BatchParser(ABC):
    """Parses one sentence as a batch of one."""

    @property
    def scorer(self) -> Scorer:
        return TREES

    @property
    def is_stacked(self) -> bool:
        return True

    def predict(self, sentence: Sentence, *, constraint: Tree | None = None) -> Tree:
        return self.predict_batch([sentence], constraints=None if constraint is None else [constraint])[0]

    @abstractmethod
    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Tree]: ...

    def k_best(self, sentence: Sentence, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        return self.k_best_batch([sentence], k, constraints=None if constraint is None else [constraint])[0]

    @abstractmethod
    def k_best_batch(
        self, sentences: Sequence[Sentence], k: int, *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[list[Candidate[Tree]]]: ...

    def check_learning(self, **options: Unpack[LearningOptions]) -> None:
        LearnerConfig(**options)
