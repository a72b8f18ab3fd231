"""The names of the ways to learn, and what can be wrong about their options whatever the model."""

from __future__ import annotations

import math
from typing import Any

from treetune.errors import ConfigError, unknown_name

PERCEPTRON = "perceptron"
MIRA = "mira"
FACTORED_MIRA = "factored-mira"
LEARNERS = (PERCEPTRON, MIRA, FACTORED_MIRA)


def check_learner(name: str | None, *, k: int, clip: float | None) -> None:
    """Raise ConfigError unless `name` is known or None, and the numbers are in range."""
    if name is not None and name not in LEARNERS:
        raise unknown_name("learner", name, LEARNERS)
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
