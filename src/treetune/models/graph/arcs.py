"""What the searches of this room take and give: arrays of scores in, heads with their score out.

`scores[h, d]` is the score of the arc from h to d, both counted from the root 0; -inf forbids an arc, which
is also how fixed and filtered arcs are said. `siblings[h, d, s]` is added when s is the dependent of h that
is nearest to d between h and d; `siblings[h, d, h]` when there is none (`siblings[0, r, 0]` for the root's
dependent); s comes last because search runs along it. What belongs to no arc (the diagonal, column 0,
siblings in impossible places) is never read.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from treetune.errors import ConfigError, DataError
from treetune.models.base import Candidate

ArcScores: TypeAlias = NDArray[np.float64]
SiblingScores: TypeAlias = NDArray[np.float64]
Heads: TypeAlias = NDArray[np.int32]
ScoredHeads: TypeAlias = Candidate[Heads]

NO_SIBLINGS: SiblingScores = np.empty((0, 0, 0), np.float64)


def prepare(scores: ArcScores, siblings: SiblingScores | None = None) -> tuple[ArcScores, SiblingScores]:
    """Return the arrays as the kernels want them (float64, rows one after another), copied only if need be.

    Raises:
        DataError: if the shapes are not those of a sentence of one word or more.
    """
    size = len(scores) if scores.ndim else 0
    if scores.shape != (size, size) or size < 2:
        raise DataError(f"arc scores: expected shape (n + 1, n + 1) for n >= 1 words, found {scores.shape}")
    scores = np.ascontiguousarray(scores, np.float64)
    if siblings is None:
        return scores, NO_SIBLINGS
    if siblings.shape != (size, size, size):
        raise DataError(f"sibling scores: expected shape {(size, size, size)}, found {siblings.shape}")
    return scores, np.ascontiguousarray(siblings, np.float64)


def check_room(scores: ArcScores, k: int, *, longest: int, most: int) -> None:
    """Raise unless working memory for `longest` words and `most` trees serves these scores and this k."""
    if k < 1:
        raise ConfigError(f"k: expected at least 1, found {k}")
    if len(scores) - 1 > longest or k > most:
        raise ConfigError(
            f"working memory is for {longest} words and {most} trees, found {len(scores) - 1} words and {k} "
            "trees; make a larger one"
        )


def make_candidates(count: int, heads: NDArray[np.int32], out: NDArray[np.float64]) -> list[ScoredHeads]:
    """Return what a kernel wrote, best first.

    Raises:
        DataError: if the kernel met a score that is neither finite nor -inf.
    """
    if count < 0:
        raise DataError(
            "arc scores: expected finite numbers, or -inf for a forbidden arc, found NaN or inf; "
            "the weights they come from are damaged"
        )
    return [Candidate(heads[rank], float(out[rank])) for rank in range(count)]
