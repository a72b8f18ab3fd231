"""What a trainer reports while it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from treetune.evaluation.scorers import Measured


@dataclass(frozen=True, slots=True)
class Tally:
    """What one objective has done since the start of the epoch.

    Of `seen` examples, `updated` changed the weights, `already_best` had nothing to gain and for `stuck` no better
    output was found. `cost` is the mean cost of the model's best outputs, `better` of those it was moved towards, or
    left with; both are None for gold trees. `dev_cost` is the mean cost on the objective's own dev data, if it has
    any, at the end of an epoch.
    """

    name: str
    seen: int = 0
    updated: int = 0
    already_best: int = 0
    stuck: int = 0
    cost: float | None = None
    better: float | None = None
    dev_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """One report: `seen` of `total` sentences of an epoch are done, of which `updated` changed the weights.

    These two are of the first objective, the treebank if there is one; `objectives` has a tally of each. At the end
    of an epoch `is_epoch_end` is true, `dev` has the scores on the development data if there is any, and `best` says
    whether this epoch is the best so far. `cpu_seconds` and `words` count from the start of the epoch. `settings` is
    how the learner learns (`Learner.settings`) and, if there is more than a treebank, what else it learns from.
    `resumed` marks a report on the best epoch before an interruption.
    """

    epoch: int
    epochs: int
    seen: int
    total: int
    updated: int
    words: int
    cpu_seconds: float
    is_epoch_end: bool = False
    dev: Measured | None = None
    best: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    objectives: tuple[Tally, ...] = ()
    resumed: bool = False
