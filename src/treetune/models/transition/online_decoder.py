"""k-best trees under the current weights of a transition learner, and updates from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from treetune.corpus.sentence import Sentence, Tree
from treetune.models.base import Candidate
from treetune.models.constraints import encode_fixed
from treetune.models.online import Difference, LearnerDecoder, Pairs
from treetune.models.transition import _kernels as kernels
from treetune.models.transition._kernels import Arcs
from treetune.models.transition.k_best import distinct, first_beam
from treetune.models.transition.search import make_workspace, run, unknown_arcs

if TYPE_CHECKING:
    from treetune.models.transition.learner import TransitionLearner


class TransitionOnlineDecoder(LearnerDecoder["TransitionLearner", Tree]):
    """Sentences without gold trees, parsed with the current weights of a learner."""

    def __init__(self, learner: TransitionLearner, sentences: Sequence[Sentence]) -> None:
        super().__init__(learner, sentences)
        self._encoded = learner.grammar.encode(sentences)
        longest = max((len(sentence) for sentence in sentences), default=0)
        # Without self in it: a cycle would keep the weights in memory until the next collection of garbage.
        self._workspace = cache(lambda beam: make_workspace(learner.setup(beam), longest))

    def k_best(self, index: int, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        """Return up to `k` distinct trees of one sentence, best first, under the current weights."""
        one, grammar = self._one(index), self._learner.grammar
        known = unknown_arcs(int(one.offsets[-1]))
        if constraint is not None:
            known = Arcs(*encode_fixed([self._sentences[index]], [constraint], labels=grammar.labels))
        beam = first_beam(self._learner.model.beam, k)
        while True:
            result = run(
                self._learner.setup(beam), one, known=known, k=beam, derivations=True, backward=grammar.is_backward,
                workspace=self._workspace(beam),
            )  # fmt: skip
            candidates = distinct(result, 0, one.offsets, k, labels=grammar.labels, fixed=known, scale=1.0)
            # A beam that was not full has seen everything there is.
            if len(candidates) >= k or result.widths[0] < beam:
                return candidates
            beam *= 2

    def _difference(self, index: int, better: Candidate[Tree], worse: Candidate[Tree]) -> Difference:
        # The common prefix of the transitions is the same in both.
        pairs = zip(better.derivation, worse.derivation, strict=True)
        same = next((step for step, (one, other) in enumerate(pairs) if one != other), len(better.derivation))
        return Difference.between(self._pairs(index, better, same), self._pairs(index, worse, same))

    def _pairs(self, index: int, candidate: Candidate[Tree], first: int) -> Pairs:
        actions = np.array(candidate.derivation, np.int32)
        templates = self._learner.grammar.templates
        features = np.empty((len(actions) - first) * len(templates.seeds), np.uint64)
        outputs = np.empty(len(features), np.uint16)
        kernels.collect_features(
            self._workspace(1), templates, self._one(index).columns, 0, len(self._sentences[index]),
            len(self._learner.grammar.labels), actions, first, len(actions), features, outputs, 0,
        )  # fmt: skip
        return features, outputs

    def _one(self, index: int) -> kernels.Sentences:
        start, end = self._encoded.offsets[index], self._encoded.offsets[index + 1]
        columns = np.ascontiguousarray(self._encoded.columns[:, start:end])
        return kernels.Sentences(columns, np.array([0, end - start], np.int64), self._encoded.tags[start:end])
