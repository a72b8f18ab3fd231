"""Run the beam search over many sentences: working memory, threads, and trees out of arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.models.feature_model import run_chunks
from treetune.models.transition import _kernels as kernels
from treetune.weights._kernels import Store

# Fixed heads and labels over tokens, -1 where unknown.
Known = tuple[NDArray[np.int32], NDArray[np.int32]]

# Partial sums are worth remembering from this beam on: narrower beams meet too few states twice.
MEMO_FROM_BEAM = 4
LARGEST_MEMO = 8192
# A thread takes this many sentences at a time.
CHUNK = 32


@dataclass(frozen=True)
class Task:
    """Everything a search needs that is the same for all sentences."""

    templates: kernels.Templates
    store: Store
    labels: kernels.Labels
    root_kinds: NDArray[np.bool_]
    beam: int

    @property
    def memo(self) -> bool:
        """Whether partial sums are remembered within a sentence."""
        return self.beam >= MEMO_FROM_BEAM


@dataclass(frozen=True)
class Found:
    """The best trees of each sentence: rank by token, scores and numbers of trees by sentence."""

    heads: NDArray[np.int32]
    labels: NDArray[np.int32]
    scores: NDArray[np.float64]
    actions: NDArray[np.int32]
    widths: NDArray[np.int32]


@dataclass(frozen=True)
class Mirror:
    """Turns what is said of tokens around, sentence by sentence: the last word comes first; the root stays.

    `places` is where each token is in the other order, `sizes` the number of tokens of its sentence.
    """

    places: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, offsets: NDArray[np.int64]) -> Mirror:
        """Return the mirror of a corpus."""
        lengths = np.diff(offsets)
        starts, sizes = np.repeat(offsets[:-1], lengths), np.repeat(lengths, lengths)
        words = np.arange(int(offsets[-1])) - starts
        return cls(starts + np.where(words > 0, sizes - words, 0), sizes)

    def values(self, values: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return values over tokens (the last axis) in the other order."""
        return np.ascontiguousarray(values[..., self.places])

    def heads(self, heads: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return heads over tokens in the other order, and as places of that order; the root and unknown ones stay."""
        turned = self.values(heads)
        return np.where(turned > 0, self.sizes - turned, turned).astype(np.int32)

    def known(self, known: Known) -> Known:
        """Return fixed heads and labels in the other order."""
        return self.heads(known[0]), self.values(known[1])

    def found(self, found: Found) -> Found:
        """Return trees in the other order."""
        return replace(found, heads=self.heads(found.heads), labels=self.values(found.labels))


def make_space(task: Task, longest: int) -> kernels.Space:
    """Return working memory for sentences of up to `longest` words."""
    templates, beam = task.templates, task.beam
    outputs = 2 + 2 * len(task.labels.at_root)
    states = (2 * longest + 1) * (beam + 1)
    nodes = 2 * states + 4
    groups = len(templates.group_first) - 1
    remembered = min(LARGEST_MEMO, groups * states) if task.memo else 0
    slots = 1 << max(4, (2 * remembered - 1).bit_length()) if remembered else 16
    # Sums of int16 weights need more bits. Float32 weights of the perceptron are small integers and sum exactly;
    # those of MIRA are rounded, but a state always adds them in the same order.
    sums = np.int32 if task.store.dense.dtype == np.int16 else np.float32
    return kernels.Space(
        nodes=np.empty((nodes, kernels.NODE_FIELDS), np.int32),
        node_sets=np.empty((nodes, 2), np.int64),
        states=np.empty((states, kernels.STATE_FIELDS), np.int32),
        state_sets=np.empty(states, np.int64),
        scores=np.empty(states, np.float64),
        counters=np.zeros(8, np.int64),
        words=np.empty(len(kernels.ADDRESSES), np.int32),
        labels=np.empty(len(kernels.ADDRESSES), np.int32),
        parts=np.empty(kernels.PARTS, np.uint64),
        atoms=np.empty(len(templates.atom_address), np.uint64),
        features=np.empty(len(templates.seeds), np.uint64),
        rows=np.empty(len(templates.seeds), np.int64),
        sums=np.zeros(outputs, sums),
        best_score=np.empty(beam, np.float64),
        best_state=np.empty(beam, np.int32),
        best_action=np.empty(beam, np.int32),
        memo_keys=np.zeros(slots, np.uint64),
        memo_rows=np.zeros(slots, np.int32),
        memo_stamps=np.zeros(slots, np.int32),
        memo_sums=np.zeros((remembered + groups + 1, outputs), sums),
        group_rows=np.zeros(groups + 1, np.uint64),
        new_groups=np.zeros(groups + 1, np.int64),
    )


def make_fixed(longest: int) -> kernels.Fixed:
    """Return room for what is fixed in a sentence of up to `longest` words."""
    return kernels.Fixed(
        heads=np.empty(longest + 2, np.int32),
        labels=np.empty(longest + 2, np.int32),
        last_dependent=np.empty(longest + 2, np.int32),
        first_dependent=np.empty(longest + 2, np.int32),
        reach=np.empty(longest + 2, np.int32),
        may_be_root=np.empty(longest + 2, np.bool_),
        tags=np.empty(longest + 2, np.int32),
    )


def run(
    task: Task,
    sentences: kernels.Sentences,
    *,
    known: Known,
    k: int = 1,
    derivations: bool = False,
    threads: int = 1,
    backward: bool = False,
) -> Found:
    """Search all sentences, which are encoded in the order in which they are read.

    `known` and what is found are in the order of writing, which is the other one if `backward`.
    """
    mirror = Mirror.of(sentences.offsets) if backward else None
    if mirror is not None:
        known = mirror.known(known)
    count = len(sentences.offsets) - 1
    tokens = int(sentences.offsets[-1])
    found = Found(
        heads=np.full((k, tokens), -1, np.int32),
        labels=np.full((k, tokens), kernels.NO_LABEL, np.int32),
        scores=np.zeros((count, k), np.float64),
        actions=np.empty((k if derivations else 0, 2 * tokens), np.int32),
        widths=np.zeros(count, np.int32),
    )
    longest = int(np.diff(sentences.offsets).max()) - 1 if count else 0

    def make_worker() -> Callable[[int, int], None]:
        space, fixed = make_space(task, longest), make_fixed(longest)

        def work(first: int, last: int) -> None:
            kernels.parse_range(
                space, fixed, task.templates, task.store, sentences, task.labels, *known, task.root_kinds,
                task.beam, task.memo, first, last, k, found.heads, found.labels, found.scores, found.actions,
                found.widths,
            )  # fmt: skip

        return work

    run_chunks(count, CHUNK, threads, make_worker)
    return found if mirror is None else mirror.found(found)


def unknown_arcs(tokens: int) -> Known:
    """Return fixed heads and labels that fix nothing."""
    nothing: NDArray[Any] = np.full(tokens, -1, np.int32)
    return nothing, nothing
