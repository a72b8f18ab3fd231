"""k-best tags under the current weights of a tagger's learner, and updates from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from treetune.corpus.sentence import ROOT, Sentence
from treetune.corpus.tags import Tags
from treetune.models.base import Candidate
from treetune.models.online import Difference, LearnerDecoder, Pairs
from treetune.models.sequence import _kernels as kernels
from treetune.models.sequence.search import collect, run
from treetune.models.sequence.tagger import candidates, check_constraints

if TYPE_CHECKING:
    from treetune.models.sequence.learner import TaggerLearner


class TaggerOnlineDecoder(LearnerDecoder["TaggerLearner", Tags]):
    """Sentences without gold tags, tagged with the current weights of a learner."""

    def __init__(self, learner: TaggerLearner, sentences: Sequence[Sentence]) -> None:
        super().__init__(learner, sentences)
        self._encoded, _ = learner.grammar.encode(sentences)
        self._names = np.array([*learner.grammar.tags.names, ROOT], np.object_)
        self._ids = learner.grammar.tags.ids()

    def k_best(self, index: int, k: int, *, constraint: Tags | None = None) -> list[Candidate[Tags]]:
        """Return up to `k` distinct outputs of one sentence, best first, under the current weights."""
        learner = self._learner
        one, setup = self._one(index), learner.setup()
        if constraint is not None:
            sentence = [self._sentences[index]]
            check_constraints(sentence, [constraint])
            one, sets = learner.grammar.encode(sentence, [constraint])
            setup = setup._replace(sets=sets)
        result = run(setup, one, k=k, max_memory=learner.model.config.max_memory)
        return candidates(result, 0, 0, int(one.offsets[-1]), self._names, 1.0)

    def _difference(self, index: int, better: Candidate[Tags], worse: Candidate[Tags]) -> Difference:
        return Difference.between(self._pairs(index, better), self._pairs(index, worse))

    def _pairs(self, index: int, candidate: Candidate[Tags]) -> Pairs:
        setup = self._learner.setup()
        tags = np.array([setup.outputs, *[self._ids[value] for value in candidate.output.values[1:]]], np.int32)
        return collect(setup, self._one(index), tags)

    def _one(self, index: int) -> kernels.Sentences:
        start, end = self._encoded.offsets[index], self._encoded.offsets[index + 1]
        columns = np.ascontiguousarray(self._encoded.columns[:, start:end])
        offsets = np.array([0, end - start], np.int64)
        return kernels.Sentences(columns, offsets, self._encoded.sets[start:end])
