"""What a trainer reports while it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from treetune.evaluate.scores import Scores


@dataclass(frozen=True, slots=True)
class Progress:
    """One report: `seen` of `total` sentences of an epoch are done, of which `updated` changed the weights.

    At the end of an epoch `is_epoch_end` is true, `dev` has the scores on the development data if there is
    any, and `best` says whether they are the best so far. `cpu_seconds` and `words` count from the start of
    the epoch. `settings` is how the learner learns (`Learner.settings`).
    """

    epoch: int
    epochs: int
    seen: int
    total: int
    updated: int
    words: int
    cpu_seconds: float
    is_epoch_end: bool = False
    dev: Scores | None = None
    best: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
