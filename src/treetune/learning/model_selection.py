"""Choose the best epoch of a training on development data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treetune.errors import ConfigError
from treetune.evaluation.base import CorpusScores
from treetune.evaluation.scorers import Scorer
from treetune.learning.objectives import Objective, sentence_and_reference
from treetune.models.base import Model


class ModelSelection:
    """The best model so far by a metric on dev, or by the mean cost on the dev data of an objective.

    `is_needed` says whether there are dev data at all. `epoch` is the best one so far, 0 without any.
    """

    def __init__(
        self, dev: Sequence[Any], objectives: Sequence[Objective], *, choose_by: str, first_epoch: int, threads: int
    ) -> None:
        self._dev = dev
        self._objectives = [objective for objective in objectives if objective.dev]
        self._choose_by = choose_by
        # An epoch before all objectives have started lacks what they teach, however good its trees.
        self._first_epoch = first_epoch
        self._threads = threads
        self.is_needed = bool(dev or self._objectives)
        self.model: Model[Any] | None = None
        self.value = -float("inf")
        self.epoch = 0

    def evaluate(
        self, make_model: Callable[[], Model[Any]], epoch: int
    ) -> tuple[CorpusScores | None, dict[str, float], bool]:
        """Return the scores on dev, the mean cost of each objective with dev data, and whether it is the best epoch.

        The best model is made anew, without the workspaces of one that has predicted.
        """
        model = make_model()
        scores = self.score(model)
        costs = {objective.name: mean_cost(model, objective, self._threads) for objective in self._objectives}
        value = -costs[self._choose_by] if self._choose_by in costs else scores[self._choose_by] if scores else None
        is_best = value is not None and value > self.value and epoch >= self._first_epoch
        if value is not None and is_best:
            self.model, self.value, self.epoch = make_model(), value, epoch
        return scores, costs, is_best

    def score(self, model: Model[Any]) -> CorpusScores | None:
        """Return the scores on dev; None without dev."""
        if not self._dev:
            return None
        outputs = model.predict_batch([example.sentence for example in self._dev], threads=self._threads)
        return model.scorer.score(self._dev, outputs)

    def restore(self, model: Model[Any] | None, state: Mapping[str, Any]) -> None:
        """Restore a `state` of a checkpoint, with its best model."""
        self.model, self.value, self.epoch = model, float(state["best_value"]), int(state["best_epoch"])

    def state(self) -> dict[str, Any]:
        """Return the best epoch and its value, as JSON can hold them."""
        return {"best_epoch": self.epoch, "best_value": self.value}


def check_choice(objectives: Sequence[Objective], scorer: Scorer, dev: Sequence[Any], choose_by: str | None) -> None:
    """Raise ConfigError for a `choose_by` that is no metric on `dev` and no objective with dev data of its own."""
    if choose_by is None:
        return
    with_dev = [objective.name for objective in objectives if objective.dev]
    if choose_by not in (*scorer.metrics, *with_dev):
        known = ", ".join((*scorer.metrics, *with_dev))
        raise ConfigError(f"the best epoch cannot be chosen by {choose_by!r}; known: {known}")
    if choose_by in scorer.metrics and not dev:
        raise ConfigError(f"the best epoch cannot be chosen by {choose_by} without dev, examples to measure it on")


def mean_cost(model: Model[Any], objective: Objective, threads: int) -> float:
    """Return the mean cost of the model's outputs on the dev data of an objective."""
    items = [sentence_and_reference(item) for item in objective.dev]
    outputs = model.predict_batch([sentence for sentence, _ in items], threads=threads)
    assert objective.cost is not None
    costs = [
        objective.cost.costs(sentence, [output], reference)[0]
        for (sentence, reference), output in zip(items, outputs, strict=True)
    ]
    return sum(costs) / len(costs)
