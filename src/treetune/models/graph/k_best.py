"""The best trees of a graph parser's search to a list of distinct candidates."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Tree
from treetune.models.base import Candidate
from treetune.models.graph._sentence_kernels import SearchResult, SearchSetup
from treetune.models.graph.labelling import best_choices, keep_fixed
from treetune.models.graph.search import Batch, label_scores
from treetune.models.labels import NO_LABEL, LabelTable

# Score, heads and labels of one sentence.
Ranked: TypeAlias = tuple[float, NDArray[np.int32], NDArray[np.int32]]


def candidates(
    setup: SearchSetup, labels: LabelTable, result: SearchResult, batch: Batch, index: int, k: int, asked: int
) -> tuple[list[Candidate[Tree]], bool]:
    """Return up to k different trees of one sentence, and whether there are no others to ask for."""
    words = slice(int(batch.offsets[index]), int(batch.offsets[index + 1]))
    fixed = batch.fixed[:, words] if batch.fixed.shape[1] else None
    ranked = [
        (float(result.scores[index, rank]), result.heads[rank, words], result.labels[rank, words])
        for rank in range(int(result.counts[index]))
    ]
    if setup.options.joint and asked > 1:
        ranked = _with_other_labels(setup, ranked, batch.one(index), fixed, asked)
    distinct: dict[Tree, Candidate[Tree]] = {}
    for score, heads, numbers in ranked:
        tree = labels.tree(heads, numbers, None if fixed is None else fixed[0])
        if tree not in distinct and len(distinct) < k:
            distinct[tree] = Candidate(tree, score, (*heads.tolist(), *numbers.tolist()))
    return list(distinct.values()), len(ranked) < asked


def _with_other_labels(
    setup: SearchSetup, ranked: list[Ranked], sentence: Batch, fixed: NDArray[np.int32] | None, k: int
) -> list[Ranked]:
    """Return the k best labelled trees: their heads are among those of the k best trees, best labels given."""
    everything: list[Ranked] = []
    if fixed is not None:
        # A label that is fixed need not be one that the tag has borne.
        sentence = sentence._replace(tags=np.where(fixed[1] >= 0, np.int32(0), sentence.tags))
    for score, heads, _ in ranked:
        scores = label_scores(setup, sentence, heads)
        if fixed is not None:
            keep_fixed(scores, fixed[1, 1:])
        for loss, chosen in best_choices(scores, k):
            everything.append((score - loss, heads, np.concatenate([[NO_LABEL], chosen]).astype(np.int32)))
    return sorted(everything, key=lambda one: -one[0])[:k]
