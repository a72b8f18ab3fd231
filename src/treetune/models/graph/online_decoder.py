"""k-best trees under the current weights of a graph learner, and updates from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.models.base import Candidate
from treetune.models.constraints import encode_fixed
from treetune.models.graph import _arc_kernels as kernels
from treetune.models.graph.k_best import candidates
from treetune.models.graph.search import Room, check_memory, collect, make_room, run
from treetune.models.online import Difference, LearnerDecoder, Pairs

if TYPE_CHECKING:
    from treetune.models.graph.learner import GraphLearner


class GraphOnlineDecoder(LearnerDecoder["GraphLearner", Tree]):
    """Sentences without gold trees, parsed with the current weights of a learner."""

    def __init__(self, learner: GraphLearner, sentences: Sequence[Sentence]) -> None:
        super().__init__(learner, sentences)
        self._batch = learner.grammar.encode(sentences)
        # Without self in it: a cycle would keep the weights in memory until the next collection of garbage.
        self._room = cache(partial(_make_room, learner, self._batch.lengths))

    def k_best(self, index: int, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        """Return up to `k` distinct trees of one sentence, best first, under the current weights."""
        batch, labels, setup = self._batch.one(index), self._learner.grammar.labels, self._learner.setup()
        if constraint is not None:
            crossing = setup.options.crossing
            fixed = encode_fixed([self._sentences[index]], [constraint], labels=labels, crossing=crossing)
            batch = batch._replace(fixed=np.stack(fixed))
        asked = k
        while True:
            result = run(setup, batch, k=asked, room=self._room(asked))
            if result.counts[0] == 0:
                raise DataError(f"sentence {index + 1}: no tree with one root has all that is fixed")
            best, is_all = candidates(setup, labels, result, batch, 0, k, asked)
            # Trees with lifted arcs may be one and the same when the arcs are put back: then there are too few.
            if len(best) >= k or is_all:
                return best
            asked *= 2

    def _difference(self, index: int, better: Candidate[Tree], worse: Candidate[Tree]) -> Difference:
        """Return the difference; labels that are given in a second stage have no part in the search."""
        return Difference.between(self._pairs(index, better), self._pairs(index, worse))

    def _pairs(self, index: int, candidate: Candidate[Tree]) -> Pairs:
        setup = self._learner.setup()
        numbers = np.array(candidate.derivation, np.int32)
        size = len(candidate.output) + 1
        work = self._room(1).work
        features, outputs = collect(setup, self._batch.one(index), numbers[:size], numbers[size:], work)
        if setup.options.joint:
            return features, outputs
        is_arc = outputs == kernels.ARC_OUTPUT
        return features[is_arc], outputs[is_arc]


def _make_room(learner: GraphLearner, lengths: NDArray[np.int64], k: int) -> Room:
    setup = learner.setup()
    check_memory(lengths, setup, k=k, allowed=learner.model.config.max_memory)
    return make_room(setup, max(1, int(lengths.max(initial=0))), k=k)
