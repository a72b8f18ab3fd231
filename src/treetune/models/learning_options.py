"""The names of the ways to learn, and what can be wrong about their options whatever the model."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, TypedDict

from treetune.errors import ConfigError, unknown_name

PERCEPTRON = "perceptron"
MIRA = "mira"
FACTORED_MIRA = "factored-mira"
CRF = "crf"
LEARNERS = (PERCEPTRON, MIRA, FACTORED_MIRA)
TAGGER_LEARNERS = (PERCEPTRON, MIRA, CRF)
DEFAULT_SEED = 1


class LearningOptions(TypedDict, total=False):
    """How a model's weights move; None or left out: what suits the model best.

    `learner` is "perceptron", "mira", for graph parsers "factored-mira" or, for taggers, "crf". `k` is how many
    candidates MIRA holds against the gold output, `clip` the largest step of all but the perceptron. `update` says, for
    transition parsers, where in the sentence the search is corrected; `cost_augmented`, for graph parsers, to search
    with the cost of each arc added.
    """

    learner: str | None
    update: str | None
    k: int
    clip: float | None
    cost_augmented: bool


def check_learner(name: str | None, *, k: int, clip: float | None, known: Collection[str] = LEARNERS) -> None:
    """Raise ConfigError unless `name` is known or None, and the numbers are in range."""
    if name is not None and name not in known:
        raise unknown_name("learner", name, known)
    if k < 1:
        raise ConfigError(f"k must be at least 1, found {k}")
    if clip is not None and not clip > 0:
        raise ConfigError(f"clip must be more than 0, found {clip}")


def learner_settings(name: str, *, k: int, clip: float) -> dict[str, Any]:
    """Return what `Learner.settings` says of a learner; a step without bounds is None, for JSON has no infinity."""
    settings: dict[str, Any] = {"learner": name}
    if name != PERCEPTRON:
        settings["clip"] = clip if math.isfinite(clip) else None
    if name == MIRA:
        settings["k"] = k
    return settings


def learner_of_warm_start(
    name: str | None, clip: float | None, learned_by: Mapping[str, Any]
) -> tuple[str | None, float | None]:
    """Return the learner and largest step with which to go on from weights; None: what suits the model best.

    Raises ConfigError for another learner than that of the weights: the steps of one are out of scale with the
    weights of the other.
    """
    before = learned_by.get("learner")
    if name is not None and before is not None and name != before:
        raise ConfigError(
            f"the model was trained by the learner {before}, whose weights are of another size than those of {name}; "
            f"go on with {before}, or train anew"
        )
    if clip is None and "clip" in learned_by:
        clip = math.inf if learned_by["clip"] is None else learned_by["clip"]
    return name or before, clip
