"""Scores that a transition parser gives to trees of other parsers, many at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Tree
from treetune.models.feature_model import run_chunks
from treetune.models.transition import _kernels as kernels
from treetune.models.transition._kernels import Arcs, SearchSetup
from treetune.models.transition.search import CHUNK, Mirror, make_workspace


def encode_lists(lists: Sequence[Sequence[Tree]], offsets: NDArray[np.int64], ids: Mapping[str, int]) -> Arcs:
    """Return heads and labels of the trees of all sentences, ranks by tokens; labels without a number are NO_LABEL."""
    ranks = max(map(len, lists), default=0)
    heads = np.full((ranks, int(offsets[-1])), -1, np.int32)
    labels = np.full_like(heads, kernels.NO_LABEL)
    for trees, start in zip(lists, offsets[:-1].tolist(), strict=True):
        for rank, tree in enumerate(trees):
            end = start + len(tree) + 1
            heads[rank, start:end] = tree.heads
            labels[rank, start:end] = [ids.get(label, kernels.NO_LABEL) for label in tree.labels]
    return Arcs(heads, labels)


def score_lists(
    setup: SearchSetup, sentences: kernels.Sentences, trees: Arcs, *, threads: int, backward: bool
) -> NDArray[np.float64]:
    """Return the score of each tree, sentences by ranks, by its canonical transitions; NaN for trees without any.

    The trees are in the order of writing, the sentences in that of reading, which is the other one if `backward`.
    """
    heads, labels = Mirror.of(sentences.offsets).arcs(trees) if backward else trees
    ranks, tokens = heads.shape
    count, n_labels = len(sentences.offsets) - 1, len(setup.labels.at_root)
    actions = np.empty((ranks, 2 * tokens), np.int32)
    derived = np.zeros((count, ranks), np.bool_)
    kernels.derive_trees(heads, labels, sentences.offsets, n_labels, actions, derived)
    scores = np.full((count, ranks), np.nan)
    longest = int(np.diff(sentences.offsets).max(initial=1)) - 1

    def make_worker() -> Callable[[int, int], None]:
        work = make_workspace(setup, longest)
        return lambda first, last: kernels.score_range(work, setup, sentences, actions, derived, first, last, scores)

    run_chunks(count, CHUNK, threads, make_worker)
    return scores
