"""Lists of candidates under weights that move, and moves from one candidate towards another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.features.encoding import encode_base_heads
from treetune.models.base import Candidate
from treetune.models.constraints import encode_fixed
from treetune.models.graph import _arc_kernels as kernels
from treetune.models.graph.k_best import candidates
from treetune.models.graph.scoring import (
    NO_BASE_TREES,
    NOTHING_FIXED,
    Batch,
    Found,
    Work,
    check_memory,
    make_space,
    make_work,
    pairs_of_arc,
)
from treetune.models.online_update import Difference, Pairs, step_size

if TYPE_CHECKING:
    from treetune.models.graph.learner import GraphLearner


class GraphOnlineDecoder:
    """Sentences without gold trees, parsed with the weights of a learner as they are at the moment."""

    def __init__(self, learner: GraphLearner, sentences: Sequence[Sentence]) -> None:
        self._learner = learner
        self._sentences = sentences
        grammar = learner.grammar
        columns, offsets = grammar.encoder.encode(sentences)
        base_heads = encode_base_heads(sentences) if grammar.is_stacked else NO_BASE_TREES
        self._batch = Batch(columns, offsets, grammar.labels.tags(grammar.encoder, columns), base_heads, NOTHING_FIXED)
        self._longest = max(1, int(self._batch.lengths.max(initial=0)))
        self._room = cache(self._make_room)

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self._sentences)

    def k_best(self, place: int, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        """Return up to `k` distinct trees of one sentence, best first, under the weights as they are."""
        batch, labels, task = self._batch.one(place), self._learner.grammar.labels, self._learner.task()
        if constraint is not None:
            fixed = encode_fixed([self._sentences[place]], [constraint], labels=labels, crossing=task.options.crossing)
            batch = replace(batch, fixed=np.stack(fixed))
        asked = k
        while True:
            found = self._search(batch, asked)
            if found.counts[0] == 0:
                raise DataError(f"sentence {place + 1}: no tree with one root has all that is fixed")
            best, is_all = candidates(task, labels, found, batch, 0, k, asked)
            # Trees with lifted arcs may be one and the same when the arcs are put back: then there are too few.
            if len(best) >= k or is_all:
                return best
            asked *= 2

    def move(self, place: int, better: Candidate[Tree], worse: Candidate[Tree], *, margin: float | None) -> bool:
        """Move the weights towards the better of two candidates; return whether they changed.

        Labels that are given in a second stage have no part in the search: their weights stay.
        """
        learner = self._learner
        difference = Difference.between(self._pairs(place, better), self._pairs(place, worse))
        size = step_size(
            largest=learner.largest_step,
            margin=margin,
            lead=better.score - worse.score,
            squared_norm=difference.squared_norm,
        )
        if size > 0:
            deltas = np.float32(size) * difference.counts
            is_arc = difference.outputs == kernels.ARC_OUTPUT
            learner.arcs.add(difference.features[is_arc], deltas[is_arc])
            learner.labels.add(difference.features[~is_arc], difference.outputs[~is_arc], deltas[~is_arc])
        return size > 0

    def _pairs(self, place: int, candidate: Candidate[Tree]) -> Pairs:
        batch, task = self._batch.one(place), self._learner.task()
        numbers = np.array(candidate.derivation, np.int32)
        n = len(candidate.output)
        room = n * pairs_of_arc(task.templates, n)
        features, outputs = np.empty(room, np.uint64), np.empty(room, np.uint16)
        count = kernels.collect_tree(
            task.templates, task.options, batch.columns, batch.base_heads, n, numbers[: n + 1], numbers[n + 1 :],
            self._room(1)[0], features, outputs,
        )  # fmt: skip
        features, outputs = features[:count], outputs[:count]
        if task.options.joint:
            return features, outputs
        is_arc = outputs == kernels.ARC_OUTPUT
        return features[is_arc], outputs[is_arc]

    def _make_room(self, k: int) -> tuple[kernels.Space, Work]:
        task = self._learner.task()
        allowed = self._learner.parser.config.max_memory
        check_memory(self._batch.lengths, task, k=k, allowed=allowed)
        return make_space(task, self._longest, k=k), make_work(task, self._longest, k=k)

    def _search(self, batch: Batch, k: int) -> Found:
        task = self._learner.task()
        space, work = self._room(k)
        tokens = int(batch.offsets[-1])
        found = Found(
            heads=np.full((k, tokens), -1, np.int32),
            labels=np.full((k, tokens), kernels.NO_LABEL, np.int32),
            scores=np.zeros((1, k)),
            counts=np.zeros(1, np.int64),
        )
        kernels.parse_range(
            task.templates, task.weights, task.options, batch.columns, batch.offsets, batch.base_heads, task.masks,
            batch.tags, batch.fixed, 0, 1, k, space, *work, found.heads, found.labels, found.scores, found.counts,
        )  # fmt: skip
        return found
