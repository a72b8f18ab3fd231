"""How the outputs of a kind of model are scored, for training code that does not know the kind.

A model names its `Scorer`; a new kind of output is a new scorer, and trainer, progress reports and logs work for it as
they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from treetune.evaluation.base import CorpusScores
from treetune.evaluation.metrics import METRICS
from treetune.evaluation.scores import evaluate_trees


@dataclass(frozen=True)
class Scorer:
    """Scores outputs against gold examples (`Example`, `Tagged`, …), sentence by sentence in the same order.

    `metrics` are the names of the metrics that can select the best epoch, `usual` the default among them.
    """

    metrics: tuple[str, ...]
    usual: str
    score: Callable[[Sequence[Any], Sequence[Any]], CorpusScores]


TREES = Scorer(tuple(METRICS), "LAS", evaluate_trees)
