"""One update on an extrinsic objective: the inline ranker of Hall et al. (2011), Algorithm 3."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from treetune.corpus.sentence import Sentence
from treetune.errors import DataError
from treetune.learning.objectives import Objective
from treetune.losses import Loss
from treetune.models.base import Candidate, OnlineDecoder

Output = TypeVar("Output")


class Outcome(Enum):
    """The outcome of one step."""

    UPDATED = "updated"
    """The weights were updated towards an output of lower cost, or away from a candidate of higher cost."""
    ALREADY_BEST = "already best"
    """The 1-best output has cost 0."""
    NO_BETTER = "no better candidate"
    """The 1-best output has a cost, and no candidate of lower cost was found."""


@dataclass(frozen=True, slots=True)
class Step:
    """The outcome of a step, the cost of the 1-best output, and that of the output it was updated towards."""

    outcome: Outcome
    cost: float
    target_cost: float


class Ranker(Generic[Output]):
    """Updates a model from its 1-best output towards a candidate of lower cost."""

    def __init__(self, online_decoder: OnlineDecoder[Output], objective: Objective) -> None:
        assert objective.cost is not None
        self._online_decoder = online_decoder
        self._objective = objective
        self._loss: Loss[Any, Any] = objective.cost

    def step(self, index: int, sentence: Sentence, reference: Any) -> Step:
        """Update the weights on one example."""
        if self._objective.search == "forced":
            return self._step_forced(index, sentence, reference)
        objective, k = self._objective, self._objective.k
        costs: dict[Output, float] = {}
        while True:
            candidates = self._online_decoder.k_best(index, k)
            new = self._add_costs(costs, sentence, candidates, reference)
            first = costs[candidates[0].output]
            # Of equal costs, the one that the model likes best.
            better = min(candidates, key=lambda candidate: costs[candidate.output])
            if costs[better.output] < first:
                return self._update(index, better, candidates[0], costs[better.output], first)
            if first == 0 and (not objective.margin_updates or any(costs[one.output] for one in candidates)):
                return self._keep(index, candidates, costs)
            # A list may be shorter than k before it has everything, so it grows until there is nothing new.
            if objective.search == "list" or k >= objective.max_k or not new:
                return self._keep(index, candidates, costs)
            k = min(2 * k, objective.max_k)

    def _keep(self, index: int, candidates: list[Candidate[Output]], costs: dict[Output, float]) -> Step:
        """Keep the 1-best output, as no candidate costs less; make a margin update against a costlier one."""
        first = costs[candidates[0].output]
        kept = Step(Outcome.NO_BETTER if first else Outcome.ALREADY_BEST, first, first)
        costlier = [candidate for candidate in candidates if costs[candidate.output] > first]
        if not self._objective.margin_updates or not costlier:
            return kept
        nearest = max(costlier, key=lambda candidate: candidate.score + costs[candidate.output])
        updated = self._online_decoder.update(index, candidates[0], nearest, margin=costs[nearest.output] - first)
        return Step(Outcome.UPDATED, first, first) if updated else kept

    def _step_forced(self, index: int, sentence: Sentence, reference: Any) -> Step:
        found = self._online_decoder.k_best(index, 1)[0]
        (cost,) = self._loss.costs(sentence, [found.output], reference)
        if cost == 0:
            return Step(Outcome.ALREADY_BEST, cost, cost)
        try:
            better = self._online_decoder.k_best(index, 1, constraint=self._loss.known(sentence, reference))[0]
        except DataError:
            # No output of this model contains the reference, as no projective tree contains crossing arcs.
            return Step(Outcome.NO_BETTER, cost, cost)
        (reached,) = self._loss.costs(sentence, [better.output], reference)
        if reached >= cost:
            return Step(Outcome.NO_BETTER, cost, cost)
        return self._update(index, better, found, reached, cost)

    def _update(self, index: int, better: Candidate[Output], worse: Candidate[Output], low: float, high: float) -> Step:
        margin = high - low if self._objective.step == "mira" else None
        changed = self._online_decoder.update(index, better, worse, margin=margin)
        # A better output with the higher score is a search error, and no reason to update.
        return Step(Outcome.UPDATED, high, low) if changed else Step(Outcome.NO_BETTER, high, high)

    def _add_costs(
        self, costs: dict[Output, float], sentence: Sentence, candidates: list[Candidate[Output]], reference: Any
    ) -> int:
        """Add the costs of outputs that are new in a longer list; return how many there are."""
        new = [candidate.output for candidate in candidates if candidate.output not in costs]
        if new:
            costs.update(zip(new, self._loss.costs(sentence, new, reference), strict=True))
        return len(new)
