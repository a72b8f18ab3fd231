"""Progress reports of a training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from treetune.evaluation.base import CorpusScores


@dataclass(frozen=True, slots=True)
class ObjectiveProgress:
    """The updates on one objective since the start of the epoch.

    Of `seen` examples, `updated` changed the weights, `already_best` had a 1-best output of cost 0, and for `no_better`
    no candidate of lower cost was found. `cost` is the mean cost of the 1-best outputs, `target_cost` that of the
    outputs the weights were moved towards (without an update, the 1-best); both are None for gold trees. `dev_cost` is
    the mean cost on the objective's own dev data, if it has any, at the end of an epoch.
    """

    name: str
    seen: int = 0
    updated: int = 0
    already_best: int = 0
    no_better: int = 0
    cost: float | None = None
    target_cost: float | None = None
    dev_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """One report: `seen` of `total` sentences of an epoch are done, of which `updated` changed the weights.

    These are of the first objective, the treebank if there is one; `objectives` has the counts of each. At the end of
    an epoch `is_epoch_end` is true, `dev` has the scores on the development data if there is any, and `best` says
    whether this epoch is the best so far. `cpu_seconds` and `words` count from the start of the epoch. `settings` are
    those of the learner (`Learner.settings`) and, if there is more than a treebank, of the objectives. `resumed` marks
    a report on the best epoch before an interruption.
    """

    epoch: int
    epochs: int
    seen: int
    total: int
    updated: int
    words: int
    cpu_seconds: float
    is_epoch_end: bool = False
    dev: CorpusScores | None = None
    best: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    objectives: tuple[ObjectiveProgress, ...] = ()
    resumed: bool = False
