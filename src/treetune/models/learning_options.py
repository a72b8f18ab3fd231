"""The options of online learning: update rules by name, their parameters, and which models have them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict

from treetune.errors import ConfigError
from treetune.models.options import check_values, option

# The one default of command line and Python.
DEFAULT_SEED = 1

PERCEPTRON = "perceptron"
MIRA = "mira"
FACTORED_MIRA = "factored-mira"
CRF = "crf"

# The learners of each kind of model.
LEARNERS: dict[str, tuple[str, ...]] = {
    "transition": (PERCEPTRON, MIRA),
    "graph": (PERCEPTRON, MIRA, FACTORED_MIRA),
    "tagger": (PERCEPTRON, MIRA, CRF),
}
# Where in the sentence a transition parser is corrected.
EARLY, MAX_VIOLATION, DYNAMIC = "early", "max-violation", "dynamic"


class LearningOptions(TypedDict, total=False):
    """The fields of `LearnerConfig`, as keyword arguments."""

    learner: str | None
    update: str | None
    k: int
    clip: float | None
    learning_rate: float | None
    cost_augmented: bool


@dataclass(frozen=True)
class LearnerConfig:
    """The options of a learner; None is the default of the model.

    Beside the metadata of all options, ``kinds`` names the kinds of models that have an option, ``learners`` the
    learners that use it; without them, all.
    """

    learner: str | None = option(
        None,
        "Update rule: perceptron, mira, factored-mira (graph parsers of order 1) or crf (taggers).",
        choices=(PERCEPTRON, MIRA, FACTORED_MIRA, CRF),
    )
    update: str | None = option(
        None,
        "Where beam search is corrected: early update, max-violation, or the dynamic oracle of greedy search.",
        choices=(EARLY, MAX_VIOLATION, DYNAMIC),
        kinds=("transition",),
    )
    k: int = option(5, "k-best constraints per MIRA update.", minimum=1, learners=(MIRA,))
    clip: float | None = option(
        None, "C of MIRA: the largest step of one update.", learners=(MIRA, FACTORED_MIRA)
    )  # fmt: skip
    learning_rate: float | None = option(
        None, "Initial learning rate of stochastic gradient ascent.", kinds=("tagger",), learners=(CRF,)
    )
    cost_augmented: bool = option(
        False, "Cost-augmented decoding: search with the cost of each arc added.", kinds=("graph",)
    )

    def __post_init__(self) -> None:
        check_values(self)
        if self.clip is not None and not self.clip > 0:
            raise ConfigError(f"clip must be more than 0, found {self.clip}")
        if self.learning_rate is not None and not 0 < self.learning_rate < math.inf:
            raise ConfigError(f"learning_rate must be a finite number above 0, found {self.learning_rate}")

    def check_kind(self, kind: str) -> None:
        """Raise ConfigError for a learner or an option that models of this kind do not have."""
        if self.learner is not None and self.learner not in LEARNERS[kind]:
            known = ", ".join(LEARNERS[kind])
            raise ConfigError(f"the learner {self.learner} is not for {_plural(kind)}, which have {known}")
        for own in fields(self):
            kinds = own.metadata.get("kinds", (kind,))
            if kind not in kinds and getattr(self, own.name) != own.default:
                owners = " and ".join(map(_plural, kinds))
                raise ConfigError(f"{own.name} is an option of {owners}, not of {_plural(kind)}")

    def check_learner(self) -> None:
        """Raise ConfigError for a step size of another learner: MIRA has a clip, CRF a learning rate."""
        if self.learner == CRF and self.clip is not None:
            raise ConfigError("clip is an option of mira; the learner crf has a learning_rate")
        if self.learner not in (None, CRF) and self.learning_rate is not None:
            raise ConfigError(f"learning_rate is an option of crf; the learner is {self.learner}")

    def warm_start(self, trained_by: Mapping[str, Any]) -> LearnerConfig:
        """Return the options with which to continue from weights that were trained with those of `trained_by`.

        Raises ConfigError for another learner than that of the weights, whose updates are of another scale.
        """
        before = trained_by.get("learner")
        if self.learner is not None and before is not None and self.learner != before:
            raise ConfigError(
                f"the model was trained by the learner {before}, whose weights are of another scale than those of "
                f"{self.learner}; continue with {before}, or train a new model"
            )
        clip, rate = self.clip, self.learning_rate
        if clip is None and "clip" in trained_by:
            clip = math.inf if trained_by["clip"] is None else trained_by["clip"]
        return replace(
            self,
            learner=self.learner or before,
            clip=clip,
            learning_rate=trained_by.get("learning_rate") if rate is None else rate,
        )

    def settings(self) -> dict[str, Any]:
        """Return the learner and those of k, clip and learning rate it uses; an infinite clip is None, as in JSON."""
        settings: dict[str, Any] = {"learner": self.learner}
        if self.learner == CRF:
            return {**settings, "learning_rate": self.learning_rate}
        if self.learner != PERCEPTRON and self.clip is not None:
            settings["clip"] = self.clip if math.isfinite(self.clip) else None
        if self.learner == MIRA:
            settings["k"] = self.k
        return settings


def _plural(kind: str) -> str:
    return "taggers" if kind == "tagger" else f"{kind} parsers"
