"""Independent training of filters: one linear SVM a role, costs tuned on held-out sentences (Cherry & Bergsma 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from treetune.filters import _kernels as kernels
from treetune.filters import _training_kernels as training
from treetune.filters.roles import ROLES, gold_roles, make_work

# Of the arcs of held-out trees, this part must survive each classifier (footnote 9 of the paper).
COVERAGE = 0.9993
# Costs of a role that is missed, and by how much a role that is wrongly detected costs more.
COSTS = (3e-4, 1e-3, 1e-2)
VINE_COST = 1e-5
PAIR_COSTS = (1e-4, 1e-3)
RATIOS = (4.0, 16.0, 64.0, 256.0)
PASSES = 3


@dataclass(frozen=True)
class FilterData:
    """Sentences as training reads them: `treebank` for the kernels, their columns, the gold roles of their words."""

    columns: NDArray[np.int32]
    treebank: training.Treebank
    roles: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        columns: NDArray[np.int32],
        offsets: NDArray[np.int64],
        heads: NDArray[np.int32],
        features: NDArray[np.int32],
        tags: NDArray[np.int32],
    ) -> FilterData:
        """Collect what is known of encoded sentences."""
        starts = np.concatenate([[0], np.cumsum(np.diff(offsets) ** 2)]).astype(np.int64)
        return cls(columns, training.Treebank(features, tags, heads, offsets, starts), gold_roles(heads, offsets))

    @property
    def longest(self) -> int:
        """The most words of a sentence."""
        return int(np.diff(self.treebank.offsets).max(initial=1)) - 1

    @property
    def words(self) -> NDArray[np.int64]:
        """The positions of all tokens that are words."""
        is_word = np.ones(len(self.treebank.heads), np.bool_)
        is_word[self.treebank.offsets[:-1]] = False
        return np.flatnonzero(is_word)

    def role_scores(self, weights: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return the scores of tokens under weights of features: one column, or one a role."""
        padded = np.concatenate([weights, np.zeros_like(weights[:1])])
        scores = np.zeros((len(self.treebank.heads), *weights.shape[1:]), np.float64)
        for template in range(self.treebank.features.shape[1]):
            scores += padded[self.treebank.features[:, template]]
        return scores.astype(np.float32)

    def kept(
        self, filter_: kernels.Filter, scores: NDArray[np.float32], wanted: NDArray[np.bool_]
    ) -> tuple[float, float]:
        """Return coverage and reduction of the `wanted` roles, with Vine and None of a filter."""
        counts = np.zeros(4, np.int64)
        size = self.longest + 1
        training.count_kept(
            scores, self.columns, self.treebank.offsets, self.treebank.heads, filter_, wanted,
            make_work(self.longest, 1), np.empty(size * size, np.uint8), counts,
        )  # fmt: skip
        return counts[1] / max(1, counts[0]), 1 - counts[3] / max(1, counts[2])


def train_role(
    data: FilterData, held_out: FilterData, role: int, empty: kernels.Filter, rng: np.random.Generator, size: int
) -> NDArray[np.float64]:
    """Return the weights of one role that remove the most held-out arcs at `COVERAGE`; zeros if none reach it."""
    labels = np.where(data.roles[:, role], 1, -1).astype(np.int8)
    wanted = np.arange(len(ROLES)) == role
    best, most = np.zeros(size), 0.0
    words = data.words
    for cost, ratio in product(COSTS, RATIOS):
        if ratio == RATIOS[0]:
            # Costs rise from here on, so that a solution is a feasible start of the next.
            weights, alphas = np.zeros(size), np.zeros(len(labels))
        for _ in range(PASSES):
            training.train_svm(
                data.treebank.features, labels, np.array([cost * ratio, cost]), rng.permutation(words), weights, alphas
            )  # fmt: skip
        scores = np.zeros((len(held_out.treebank.heads), len(ROLES)), np.float32)
        scores[:, role] = held_out.role_scores(weights)
        coverage, reduction = held_out.kept(empty, scores, wanted)
        if coverage >= COVERAGE and reduction > most:
            best, most = weights.copy(), reduction
    return best


def train_vine(
    data: FilterData, held_out: FilterData, empty: kernels.Filter, rng: np.random.Generator
) -> tuple[NDArray[np.float32], float]:
    """Return the weights and the constant of the vine classifier, tuned as those of the roles."""
    weights, bias = np.zeros(empty.vine.shape), np.zeros(1)
    alphas = np.zeros(int(data.treebank.starts[-1]), np.float32)
    best, most = (np.zeros(empty.vine.shape, np.float32), 0.0), 0.0
    none = np.zeros(len(ROLES), np.bool_)
    scores = np.zeros((len(held_out.treebank.heads), len(ROLES)), np.float32)
    for ratio in RATIOS:
        for _ in range(PASSES):
            order = rng.permutation(len(data.treebank.offsets) - 1)
            training.train_vine(
                data.treebank, np.array([10 * ratio * VINE_COST, VINE_COST]), order, weights, bias, alphas
            )  # fmt: skip
        made = empty._replace(vine=weights.astype(np.float32), biases=np.array([0, bias[0]], np.float32))
        coverage, reduction = held_out.kept(made, scores, none)
        if coverage >= COVERAGE and reduction > most:
            best, most = (made.vine, float(bias[0])), reduction
    return best


def train_pairs(
    data: FilterData, kept: NDArray[np.uint8], filter_: kernels.Filter, costs: tuple[float, float],
    rng: np.random.Generator,
) -> NDArray[np.float32]:  # fmt: skip
    """Return the weights of the quadratic filter, trained on the arcs that are kept so far.

    `costs` are those of a gold arc that is removed and of another that is kept.
    """
    weights, alphas = np.zeros_like(filter_.pair_weights), np.zeros(len(kept), np.float32)
    for _ in range(PASSES):
        order = rng.permutation(len(data.treebank.offsets) - 1)
        training.train_pairs(
            filter_, data.columns, data.treebank, kept, np.array(costs), order, weights, alphas
        )  # fmt: skip
    return weights
