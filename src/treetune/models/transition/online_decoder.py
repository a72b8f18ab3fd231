"""Lists of candidates under weights that move, and moves from one candidate towards another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from treetune.corpus.sentence import Sentence, Tree
from treetune.models.base import Candidate
from treetune.models.constraints import encode_fixed
from treetune.models.online_update import Difference, Pairs, step_size
from treetune.models.transition import _kernels as kernels
from treetune.models.transition.k_best import distinct, first_beam
from treetune.models.transition.search import Found, Known, Mirror, make_fixed, make_space, unknown_arcs

if TYPE_CHECKING:
    from treetune.models.transition.learner import TransitionLearner


@dataclass(frozen=True)
class _Room:
    """Working memory for one beam."""

    space: kernels.Space
    fixed: kernels.Fixed


class TransitionOnlineDecoder:
    """Sentences without gold trees, parsed with the weights of a learner as they are at the moment."""

    def __init__(self, learner: TransitionLearner, sentences: Sequence[Sentence]) -> None:
        self._learner = learner
        self._sentences = sentences
        self._encoded = learner.grammar.encode(sentences)
        self._longest = max((len(sentence) for sentence in sentences), default=0)
        self._room = cache(self._make_room)

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self._sentences)

    def k_best(self, place: int, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        """Return up to `k` distinct trees of one sentence, best first, under the weights as they are."""
        one = self._one(place)
        labels = self._learner.grammar.labels
        known = unknown_arcs(int(one.offsets[-1]))
        if constraint is not None:
            known = encode_fixed([self._sentences[place]], [constraint], labels=labels)
        beam = first_beam(self._learner.parser.beam, k)
        while True:
            found = self._search(one, known, beam)
            candidates = distinct(found, 0, one.offsets, k, labels=labels, fixed_heads=known[0], scale=1.0)
            # A beam that was not full has seen everything there is.
            if len(candidates) >= k or found.widths[0] < beam:
                return candidates
            beam *= 2

    def move(self, place: int, better: Candidate[Tree], worse: Candidate[Tree], *, margin: float | None) -> bool:
        """Move the weights towards the better of two candidates; return whether they changed."""
        learner = self._learner
        # What was done up to the first difference is the same in both.
        pairs = zip(better.derivation, worse.derivation, strict=True)
        same = next((step for step, (one, other) in enumerate(pairs) if one != other), len(better.derivation))
        difference = Difference.between(self._pairs(place, better, same), self._pairs(place, worse, same))
        size = step_size(
            largest=learner.largest_step,
            margin=margin,
            lead=better.score - worse.score,
            squared_norm=difference.squared_norm,
        )
        if size > 0:
            learner.live.add(difference.features, difference.outputs, np.float32(size) * difference.counts)
        return size > 0

    def _pairs(self, place: int, candidate: Candidate[Tree], first: int) -> Pairs:
        actions = np.array(candidate.derivation, np.int32)
        templates = self._learner.templates
        features = np.empty((len(actions) - first) * len(templates.seeds), np.uint64)
        outputs = np.empty(len(features), np.uint16)
        kernels.collect_features(
            self._room(1).space, templates, self._one(place).columns, 0, len(self._sentences[place]),
            len(self._learner.grammar.labels), actions, first, len(actions), features, outputs, 0,
        )  # fmt: skip
        return features, outputs

    def _one(self, place: int) -> kernels.Sentences:
        start, end = self._encoded.offsets[place], self._encoded.offsets[place + 1]
        columns = np.ascontiguousarray(self._encoded.columns[:, start:end])
        return kernels.Sentences(columns, np.array([0, end - start], np.int64), self._encoded.tags[start:end])

    def _make_room(self, beam: int) -> _Room:
        task = self._learner.task(beam)
        return _Room(make_space(task, self._longest), make_fixed(self._longest))

    def _search(self, one: kernels.Sentences, known: Known, beam: int) -> Found:
        room, task = self._room(beam), self._learner.task(beam)
        tokens = int(one.offsets[-1])
        mirror = Mirror.of(one.offsets) if self._learner.grammar.is_backward else None
        if mirror is not None:
            known = mirror.known(known)
        found = Found(
            heads=np.full((beam, tokens), -1, np.int32),
            labels=np.full((beam, tokens), kernels.NO_LABEL, np.int32),
            scores=np.zeros((1, beam), np.float64),
            actions=np.empty((beam, 2 * tokens), np.int32),
            widths=np.zeros(1, np.int32),
        )
        kernels.parse_range(
            room.space, room.fixed, task.templates, task.store, one, task.labels, *known, task.root_kinds, beam,
            task.memo, 0, 1, beam, found.heads, found.labels, found.scores, found.actions, found.widths,
        )  # fmt: skip
        return found if mirror is None else mirror.found(found)
