"""One step on an extrinsic objective: the inline ranker of Hall et al. (2011), Algorithm 3."""

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
    """What became of one step."""

    UPDATED = "updated"
    """The weights moved towards an output that costs less, or away from a costlier candidate."""
    ALREADY_BEST = "already best"
    """The best output has no cost."""
    STUCK = "no better candidate"
    """The best output costs something, and nothing that costs less was found below it."""


@dataclass(frozen=True, slots=True)
class Step:
    """The outcome of a step, the cost of the model's best output, and that of the one it was moved towards."""

    outcome: Outcome
    cost: float
    better: float


class Ranker(Generic[Output]):
    """Asks a model for candidates, a loss for costs, and moves the model from its best output to a cheaper one."""

    def __init__(self, online_decoder: OnlineDecoder[Output], objective: Objective) -> None:
        assert objective.cost is not None
        self._online_decoder = online_decoder
        self._objective = objective
        self._loss: Loss[Any, Any] = objective.cost

    def step(self, place: int, sentence: Sentence, reference: Any) -> Step:
        """Learn from one example."""
        if self._objective.search == "forced":
            return self._step_forced(place, sentence, reference)
        objective, k = self._objective, self._objective.k
        costs: dict[Output, float] = {}
        while True:
            found = self._online_decoder.k_best(place, k)
            news = self._price(costs, sentence, found, reference)
            first = costs[found[0].output]
            # Of equal costs, the one that the model likes best.
            better = min(found, key=lambda candidate: costs[candidate.output])
            if costs[better.output] < first:
                return self._move(place, better, found[0], costs[better.output], first)
            if first == 0 and (not objective.margin_updates or any(costs[candidate.output] for candidate in found)):
                return self._stay(place, found, costs)
            # A list may be shorter than asked for before it has everything, so ask until there is nothing new.
            if objective.search == "list" or k >= objective.max_k or not news:
                return self._stay(place, found, costs)
            k = min(2 * k, objective.max_k)

    def _stay(self, place: int, found: list[Candidate[Output]], costs: dict[Output, float]) -> Step:
        """Leave the best output where it is, as nothing listed costs less; keep a costlier candidate at its distance."""
        first = costs[found[0].output]
        stay = Step(Outcome.STUCK if first else Outcome.ALREADY_BEST, first, first)
        costlier = [candidate for candidate in found if costs[candidate.output] > first]
        if not self._objective.margin_updates or not costlier:
            return stay
        nearest = max(costlier, key=lambda candidate: candidate.score + costs[candidate.output])
        moved = self._online_decoder.update(place, found[0], nearest, margin=costs[nearest.output] - first)
        return Step(Outcome.UPDATED, first, first) if moved else stay

    def _step_forced(self, place: int, sentence: Sentence, reference: Any) -> Step:
        found = self._online_decoder.k_best(place, 1)[0]
        (cost,) = self._loss.costs(sentence, [found.output], reference)
        if cost == 0:
            return Step(Outcome.ALREADY_BEST, cost, cost)
        try:
            better = self._online_decoder.k_best(place, 1, constraint=self._loss.known(sentence, reference))[0]
        except DataError:
            # What is known fits into no output of this model, as crossing arcs into no projective tree.
            return Step(Outcome.STUCK, cost, cost)
        (reached,) = self._loss.costs(sentence, [better.output], reference)
        if reached >= cost:
            return Step(Outcome.STUCK, cost, cost)
        return self._move(place, better, found, reached, cost)

    def _move(self, place: int, better: Candidate[Output], worse: Candidate[Output], low: float, high: float) -> Step:
        margin = high - low if self._objective.step == "mira" else None
        changed = self._online_decoder.update(place, better, worse, margin=margin)
        # A better output that leads already was missed by the search: there is nothing to learn from that.
        return Step(Outcome.UPDATED, high, low) if changed else Step(Outcome.STUCK, high, high)

    def _price(
        self, costs: dict[Output, float], sentence: Sentence, found: list[Candidate[Output]], reference: Any
    ) -> int:
        """Add the costs of those outputs that have none yet: of a longer list, half have; return how many were new."""
        new = [candidate.output for candidate in found if candidate.output not in costs]
        if new:
            costs.update(zip(new, self._loss.costs(sentence, new, reference), strict=True))
        return len(new)
