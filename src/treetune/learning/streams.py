"""The shuffled data of one objective, and the updates made on them in this epoch."""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import expected, integers
from treetune.corpus.sentence import Sentence
from treetune.learning.objectives import Objective, sentence_and_reference
from treetune.learning.progress import ObjectiveProgress
from treetune.learning.ranker import Outcome, Ranker
from treetune.learning.word_dropout import word_dropout
from treetune.models.base import Learner


@dataclass(frozen=True, slots=True)
class Shard:
    """Which part of the data: every `count`-th example from `index` on."""

    index: int
    count: int


WHOLE = Shard(0, 1)


class Stream:
    """Examples without end: each pass over the data has a new order, drawn from the seed and the objective's number.

    `take` trains on the next examples; `progress` counts the updates.
    """

    def __init__(
        self,
        objective: Objective,
        learner: Learner[Any],
        *,
        seed: int,
        number: int,
        first: int,
        shard: Shard = WHOLE,
    ) -> None:
        self.objective = objective
        self._learner = learner
        # Which of the data are taken: all, or every n-th of n shards.
        own = np.arange(shard.index, len(objective.data), shard.count)
        # The learner has the gold trees of all objectives in one treebank; those of this one begin at `first`.
        self._gold = own + first
        self._size = len(own)
        # The treebank is shuffled in the same way with and without other objectives.
        seeds = [seed] if number == 0 else [seed, number]
        seeds += [] if shard.count == 1 else [number, shard.index, shard.count]
        self._shuffle = np.random.default_rng(seeds if len(seeds) > 1 else seed)
        self._order: NDArray[np.int64] = np.empty(0, np.int64)
        self._next = 0
        self._passes = 0
        self._copies = 1
        self._ranker: Ranker[Any] | None = None
        if not objective.is_intrinsic:
            self._items = [sentence_and_reference(objective.data[index]) for index in own.tolist()]
            self._ranker = Ranker(learner.online_decoder(self._sentences(seed, number)), objective)
        self.start_epoch()

    def _sentences(self, seed: int, number: int) -> list[Sentence]:
        """Return all sentences, followed by their copies with word dropout, if there are any."""
        sentences = [sentence for sentence, _ in self._items]
        if not self.objective.word_dropout:
            return sentences
        copies = word_dropout(sentences, self.objective.word_dropout, [seed, number, 1])
        self._copies = len(copies)
        return [sentence for copy in copies for sentence in copy]

    def __len__(self) -> int:
        """Return the number of examples in one pass."""
        return self._size

    def start_epoch(self) -> None:
        """Reset the counts."""
        self.words = 0
        self._counts: Counter[Outcome] = Counter()
        self._seen = 0
        self._cost = self._target_cost = 0.0

    def take(self, count: int) -> None:
        """Train on the next `count` examples."""
        while count:
            if self._next == len(self._order):
                self._order = self._shuffle.permutation(len(self))
                self._next = 0
                self._passes += 1
            part = self._order[self._next : self._next + count]
            self._next += len(part)
            count -= len(part)
            self._learn(part)

    def _learn(self, part: NDArray[np.int64]) -> None:
        self._seen += len(part)
        if self._ranker is None:
            indices = self._gold[part]
            self._counts[Outcome.UPDATED] += self._learner.learn(indices)
            self.words += self._learner.words(indices)
            return
        copy = (self._passes - 1) % self._copies
        for index in part:
            sentence, reference = self._items[index]
            self._learner.step()
            step = self._ranker.step(copy * len(self) + int(index), sentence, reference)
            self._counts[step.outcome] += 1
            self._cost += step.cost
            self._target_cost += step.target_cost
            self.words += len(sentence)

    @property
    def seen(self) -> int:
        """How many examples were taken in this epoch."""
        return self._seen

    def progress(self) -> ObjectiveProgress:
        """Return the updates since the start of the epoch."""
        updated = self._counts[Outcome.UPDATED]
        if self._ranker is None:
            return ObjectiveProgress(self.objective.name, self._seen, updated, already_best=self._seen - updated)
        return ObjectiveProgress(
            self.objective.name,
            self._seen,
            updated,
            already_best=self._counts[Outcome.ALREADY_BEST],
            no_better=self._counts[Outcome.NO_BETTER],
            cost=self._cost / self._seen if self._seen else None,
            target_cost=self._target_cost / self._seen if self._seen else None,
        )

    def state(self) -> dict[str, Any]:
        """Return the current order and the position in it, as JSON can hold them."""
        return {
            "shuffle": self._shuffle.bit_generator.state,
            "order": self._order.tolist(),
            "next": self._next,
            "passes": self._passes,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from where `state` was taken."""
        self._shuffle.bit_generator.state = state["shuffle"]
        self._order = np.array(integers(state["order"], "order", len(self)) if state["order"] else [], np.int64)
        self._next, self._passes = operator.index(state["next"]), operator.index(state["passes"])
        if not 0 <= self._next <= len(self._order) or self._passes < 0:
            raise expected("next", f"a number up to {len(self._order)}", self._next)
