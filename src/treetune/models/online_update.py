"""What all learners share that move from one of their own outputs towards another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# The (feature, output of the weight rows) pairs of one output of a model.
Pairs = tuple[NDArray[np.uint64], NDArray[np.uint16]]


@dataclass(frozen=True)
class Difference:
    """Better minus worse, as a sparse vector: `counts` of the (feature, output) pairs that do not cancel."""

    features: NDArray[np.uint64]
    outputs: NDArray[np.uint16]
    counts: NDArray[np.float32]

    @classmethod
    def between(cls, better: Pairs, worse: Pairs) -> Difference:
        """Return the difference of two outputs, in the order of their features."""
        features = np.concatenate([better[0], worse[0]])
        outputs = np.concatenate([better[1], worse[1]])
        signs = np.ones(len(features), np.float32)
        signs[len(better[0]) :] = -1
        order = np.lexsort((outputs, features))
        features, outputs = features[order], outputs[order]
        is_first = np.empty(len(features), np.bool_)
        is_first[:1] = True
        is_first[1:] = (features[1:] != features[:-1]) | (outputs[1:] != outputs[:-1])
        starts = np.flatnonzero(is_first)
        counts = np.add.reduceat(signs[order], starts) if len(starts) else signs
        kept = counts != 0
        starts = starts[kept]
        return cls(features[starts], outputs[starts], counts[kept])

    @property
    def squared_norm(self) -> float:
        """The squared length of the vector."""
        return float(self.counts @ self.counts)


def step_size(*, largest: float, margin: float | None, lead: float, squared_norm: float) -> float:
    """Return how far to go along a difference; 0 where there is nothing to learn from it.

    Args:
        largest: The largest step of the learner: one of the perceptron, `clip` of MIRA.
        margin: What the better output is to lead by: the smallest step that gets there. None: a whole step, as of the
            perceptron, if the better output does not lead yet.
        lead: The score of the better output less that of the worse one.
        squared_norm: The squared length of the difference of the two.
    """
    if squared_norm == 0.0:
        return 0.0
    if margin is None:
        return min(1.0, largest) if lead <= 0 else 0.0
    return min(largest, max(0.0, margin - lead) / squared_norm)
