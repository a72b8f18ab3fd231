"""K-best lists of trees to the probability that each arc, head and label, is right.

The margin of an arc is by how much the best tree beats the best one in which the word has another head or label. The
probability is a logistic function of it, fitted on trees that the parser was not trained on (Platt 1999): one function
for words with an alternative in the list, another for words that have the same arc in all trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Fields, expected, is_finite
from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.tags import Tags, with_tags
from treetune.corpus.word import CONFIDENCE_KEY
from treetune.errors import ModelError
from treetune.models.base import Candidate

# Length of the k-best lists that margins are taken from, and of the longest that a file may ask for.
CONFIDENCE_K, LARGEST_K = 32, 4096
# Offset and slope of both functions.
PARAMETERS = 4


@dataclass(frozen=True, slots=True)
class Calibration:
    """What turns margins of k-best lists into probabilities; `learning.calibration` finds the `parameters`."""

    parameters: tuple[float, ...]
    k: int = CONFIDENCE_K

    def probabilities(self, candidates: Sequence[Candidate[Tree]]) -> NDArray[np.float64]:
        """Return the probability of each arc of the best tree, one a word."""
        return logistic(margin_features(candidates) @ np.array(self.parameters))

    def annotate(self, sentence: Sentence, candidates: Sequence[Candidate[Tree]]) -> Sentence:
        """Return the sentence with the probability of each arc of the best tree in MISC; see `Word.confidence`."""
        values = Tags.of(f"{value:.4f}" for value in self.probabilities(candidates).tolist())
        return with_tags(sentence, values, (CONFIDENCE_KEY,))

    def state(self) -> dict[str, Any]:
        """Return what `from_state` takes."""
        return {"parameters": list(self.parameters), "k": self.k}

    @classmethod
    def from_state(cls, fields: Fields) -> Calibration:
        """Rebuild a calibration from `state()`."""
        parameters = fields.entries("parameters")
        if len(parameters) != PARAMETERS or not all(map(is_finite, parameters)):
            raise expected(fields.path("parameters"), f"{PARAMETERS} numbers", parameters)
        return cls(tuple(map(float, parameters)), fields.integer("k", 2, LARGEST_K))


class Calibrated:
    """What has k-best lists of trees, and can keep their calibration in its state."""

    calibration: Calibration | None = None

    def _calibration_state(self) -> dict[str, Any]:
        return {} if self.calibration is None else {"calibration": self.calibration.state()}

    def _restore_calibration(self, fields: Fields) -> None:
        if "calibration" in fields:
            self.calibration = Calibration.from_state(fields.table("calibration"))


def calibration_of(parser: object) -> Calibration:
    """Return the calibration of a parser; ModelError if it has none."""
    found = getattr(parser, "calibration", None)
    if not isinstance(found, Calibration):
        raise ModelError(
            "this parser is not calibrated, so that its confidence means nothing; see 'treetune calibrate'"
        )
    return found


def logistic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-x)), of any x."""
    found: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(values, -500, 500)))
    return found


def margin_features(candidates: Sequence[Candidate[Tree]]) -> NDArray[np.float64]:
    """Return a row for each word: 1 and its margin, in the first or in the last two of four columns.

    A word that has the same arc in all trees has the margin of the last of them, the largest that the list can tell.
    """
    best, last = candidates[0], candidates[-1]
    margins = np.full(len(best.output), best.score - last.score)
    has_other = np.zeros(len(margins), np.bool_)
    arcs = list(zip(best.output.heads, best.output.labels, strict=True))[1:]
    # From the last to the first: the best alternative counts.
    for other in reversed(candidates[1:]):
        pairs = zip(arcs, zip(other.output.heads[1:], other.output.labels[1:], strict=True), strict=True)
        differs = np.array([own != others for own, others in pairs], np.bool_)
        margins[differs] = best.score - other.score
        has_other |= differs
    rows = np.column_stack([np.ones(len(margins)), margins])
    return np.hstack([rows * has_other[:, None], rows * ~has_other[:, None]])
