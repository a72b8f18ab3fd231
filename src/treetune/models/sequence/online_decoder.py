"""Lists of candidates under weights that move, and moves from one candidate towards another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from treetune.corpus.sentence import ROOT, Sentence
from treetune.corpus.tags import Tags
from treetune.models.base import Candidate
from treetune.models.online_update import Difference, Pairs, step_size
from treetune.models.sequence import _kernels as kernels
from treetune.models.sequence.search import run
from treetune.models.sequence.tagger import candidates, check_constraints, collect

if TYPE_CHECKING:
    from treetune.models.sequence.learner import TaggerLearner


class TaggerOnlineDecoder:
    """Sentences without gold tags, tagged with the weights of a learner as they are at the moment."""

    def __init__(self, learner: TaggerLearner, sentences: Sequence[Sentence]) -> None:
        self._learner = learner
        self._sentences = sentences
        self._encoded, _ = learner.grammar.encode(sentences)
        self._names = np.array([*learner.grammar.tags.names, ROOT], np.object_)
        self._ids = learner.grammar.tags.ids()

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self._sentences)

    def k_best(self, place: int, k: int, *, constraint: Tags | None = None) -> list[Candidate[Tags]]:
        """Return up to `k` distinct outputs of one sentence, best first, under the weights as they are."""
        learner = self._learner
        one, sets = self._one(place), learner.grammar.sets
        if constraint is not None:
            sentence = [self._sentences[place]]
            check_constraints(sentence, [constraint])
            one, sets = learner.grammar.encode(sentence, [constraint])
        max_memory = learner.tagger.config.max_memory
        found = run(learner.task(), sets, one, k=k, max_memory=max_memory)
        return candidates(found, 0, 0, int(one.offsets[-1]), self._names, 1.0)

    def move(self, place: int, better: Candidate[Tags], worse: Candidate[Tags], *, margin: float | None) -> bool:
        """Move the weights towards the better of two candidates; return whether they changed."""
        learner = self._learner
        difference = Difference.between(self._pairs(place, better), self._pairs(place, worse))
        size = step_size(
            largest=learner.largest_step,
            margin=margin,
            lead=better.score - worse.score,
            squared_norm=difference.squared_norm,
        )
        if size > 0:
            learner.live.add(difference.features, difference.outputs, np.float32(size) * difference.counts)
        return size > 0

    def _pairs(self, place: int, candidate: Candidate[Tags]) -> Pairs:
        learner = self._learner
        boundary = learner.grammar.tags.boundary
        tags = np.array([boundary, *[self._ids[value] for value in candidate.output.values[1:]]], np.int32)
        return collect(learner.task(), learner.grammar.sets, self._one(place), tags, boundary)

    def _one(self, place: int) -> kernels.Sentences:
        start, end = self._encoded.offsets[place], self._encoded.offsets[place + 1]
        columns = np.ascontiguousarray(self._encoded.columns[:, start:end])
        offsets = np.array([0, end - start], np.int64)
        return kernels.Sentences(columns, offsets, self._encoded.sets[start:end])
