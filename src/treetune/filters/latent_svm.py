"""Joint training of all roles, Vine and None: the latent SVM of Cherry & Bergsma 2012, equation (2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.filters import _kernels as kernels
from treetune.filters import _training_kernels as training
from treetune.filters.svm import FilterData

ROUNDS = 4
EPOCHS = 8


class Round(NamedTuple):
    """A round of the alternating minimisation: the objective for its events before and after, and changed events."""

    before: float
    after: float
    changed: int
    weights: training.JointWeights


def objective(
    data: FilterData, assigned: NDArray[np.int32], costs: NDArray[np.float64], weights: training.JointWeights,
    *, assign: bool = False,
) -> tuple[float, int]:  # fmt: skip
    """Return the value of equation (2) and how many events changed; with `assign` the best ones are chosen first."""
    size = data.longest + 1
    scores = np.zeros((size, kernels.ROLES), np.float32)
    loss, changed = training.joint_loss(
        data.treebank, assigned, costs, weights, scores, np.zeros(size, np.int64), assign
    )  # fmt: skip
    return loss + 0.5 * squared_norm(weights), changed


def squared_norm(weights: training.JointWeights) -> float:
    """Return the squared norm of all weights together."""
    arrays = (weights.roles, weights.vine, weights.none, weights.biases)
    return sum(float(np.square(array, dtype=np.float64).sum()) for array in arrays) * float(weights.scale[0]) ** 2


def train_joint(
    data: FilterData, weights: training.JointWeights, costs: NDArray[np.float64], rng: np.random.Generator,
    *, rounds: int = ROUNDS, epochs: int = EPOCHS,
) -> Iterator[Round]:  # fmt: skip
    """Alternate between choosing the best event of each arc and training for these events; `weights` are the start.

    A round keeps the mean of the weights at the ends of the later half of its epochs, or its start if that is better.
    """
    size, sentences = data.longest + 1, len(data.treebank.offsets) - 1
    assigned = np.full(int(data.treebank.starts[-1]), -1, np.int32)
    scores, gradients = np.zeros((2, size, kernels.ROLES), np.float32)
    roots, clock = np.zeros(size, np.int64), np.array([float(sentences + 1)])
    for _ in range(rounds):
        before, changed = objective(data, assigned, costs, weights, assign=True)
        live = copied(weights)
        sums = [np.zeros(array.shape) for array in live[:4]]
        for epoch in range(epochs):
            order = rng.permutation(sentences)
            training.train_joint(data.treebank, assigned, costs, order, live, scores, gradients, roots, clock)
            if 2 * epoch >= epochs:
                for total, array in zip(sums, live[:4], strict=True):
                    total += array * live.scale[0]
        averaged = epochs - (epochs + 1) // 2
        roles, vine, none, biases = ((total / averaged).astype(np.float32) for total in sums)
        made = training.JointWeights(roles, vine, none, biases, np.ones(1), live.uses)
        after, _ = objective(data, assigned, costs, made)
        if after < before:
            weights = made
        yield Round(before, min(before, after), int(changed), weights)


def copied(weights: training.JointWeights) -> training.JointWeights:
    """Return weights that can change without the old ones."""
    roles, vine, none, biases = (array.copy() for array in weights[:4])
    return training.JointWeights(roles, vine, none, biases, weights.scale.copy(), weights.uses)
