"""Beam search over many sentences: working memory, threads, and trees out of arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treetune.models.feature_model import run_chunks
from treetune.models.transition import _kernels as kernels
from treetune.models.transition._kernels import Arcs, SearchResult, SearchSetup

# Partial sums are worth remembering from this beam on: narrower beams meet too few states twice.
MEMO_FROM_BEAM = 4
LARGEST_MEMO = 8192
# A thread takes this many sentences at a time.
CHUNK = 32


def has_memo(beam: int) -> bool:
    """Say whether partial sums are remembered within a sentence."""
    return beam >= MEMO_FROM_BEAM


@dataclass(frozen=True)
class Mirror:
    """Reverses what is said of tokens, sentence by sentence: the last word comes first; the root stays.

    `indices` is where each token is in the other order, `sizes` the number of tokens of its sentence.
    """

    indices: NDArray[np.int64]
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
        return np.ascontiguousarray(values[..., self.indices])

    def heads(self, heads: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return heads over tokens in the other order, as indices of that order; the root and unknown ones stay."""
        reversed_heads = self.values(heads)
        return np.where(reversed_heads > 0, self.sizes - reversed_heads, reversed_heads).astype(np.int32)

    def arcs(self, arcs: Arcs) -> Arcs:
        """Return arcs in the other order."""
        return Arcs(self.heads(arcs.heads), self.values(arcs.labels))

    def result(self, result: SearchResult) -> SearchResult:
        """Return trees in the other order."""
        return result._replace(heads=self.heads(result.heads), labels=self.values(result.labels))


def make_workspace(setup: SearchSetup, longest: int) -> kernels.Workspace:
    """Return working memory for sentences of up to `longest` words."""
    templates, beam = setup.templates, setup.beam
    outputs = 2 + 2 * len(setup.labels.at_root)
    states = (2 * longest + 1) * (beam + 1)
    nodes = 2 * states + 4
    groups = len(templates.group_first) - 1
    remembered = min(LARGEST_MEMO, groups * states) if setup.memo else 0
    slots = 1 << max(4, (2 * remembered - 1).bit_length()) if remembered else 16
    # Sums of int16 weights need more bits. Float32 weights of the perceptron are small integers and sum exactly;
    # those of MIRA are rounded, but a state always adds them in the same order.
    sums = np.int32 if setup.store.dense.dtype == np.int16 else np.float32
    return kernels.Workspace(
        fixed=_make_fixed(longest),
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
        memo=np.zeros((slots, 2), np.uint64),
        memo_sums=np.zeros((remembered + groups + 1, setup.store.dense.shape[1]), sums),
        group_rows=np.zeros(groups + 1, np.uint64),
        new_groups=np.zeros(groups + 1, np.int64),
        dense_ends=np.zeros(groups + 1, np.uint64),
        short_starts=np.zeros(groups + 1, np.uint64),
    )


def _make_fixed(longest: int) -> kernels.Fixed:
    room = longest + 2
    return kernels.Fixed(
        heads=np.empty(room, np.int32),
        labels=np.empty(room, np.int32),
        last_dependent=np.empty(room, np.int32),
        first_dependent=np.empty(room, np.int32),
        reach=np.empty(room, np.int32),
        may_be_root=np.empty(room, np.bool_),
        tags=np.empty(room, np.int32),
    )


def make_result(sentences: kernels.Sentences, *, k: int, derivations: bool) -> SearchResult:
    """Return room for up to `k` trees of each sentence."""
    count, tokens = len(sentences.offsets) - 1, int(sentences.offsets[-1])
    return SearchResult(
        heads=np.full((k, tokens), -1, np.int32),
        labels=np.full((k, tokens), kernels.NO_LABEL, np.int32),
        scores=np.zeros((count, k), np.float64),
        actions=np.empty((k if derivations else 0, 2 * tokens), np.int32),
        widths=np.zeros(count, np.int32),
    )


def run(
    setup: SearchSetup,
    sentences: kernels.Sentences,
    *,
    known: Arcs,
    k: int = 1,
    derivations: bool = False,
    threads: int = 1,
    backward: bool = False,
    workspace: kernels.Workspace | None = None,
) -> SearchResult:
    """Search all sentences, which are encoded in the order in which they are read.

    The constraints `known` and the result are in the order of writing, which is the other one if `backward`. A
    `workspace` that is given is for one thread.
    """
    mirror = Mirror.of(sentences.offsets) if backward else None
    if mirror is not None:
        known = mirror.arcs(known)
    count = len(sentences.offsets) - 1
    result = make_result(sentences, k=k, derivations=derivations)
    longest = int(np.diff(sentences.offsets).max()) - 1 if count else 0

    def make_worker() -> Callable[[int, int], None]:
        work = make_workspace(setup, longest) if workspace is None else workspace
        return lambda first, last: kernels.parse_range(work, setup, sentences, known, first, last, k, result)

    run_chunks(count, CHUNK, threads, make_worker)
    return result if mirror is None else mirror.result(result)


def unknown_arcs(tokens: int) -> Arcs:
    """Return constraints that fix nothing."""
    nothing = np.full(tokens, -1, np.int32)
    return Arcs(nothing, nothing)
