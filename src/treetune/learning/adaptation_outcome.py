"""The settings and the outcome of an adaptation, with its numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from treetune.corpus.sentence import Sentence, Tree
from treetune.evaluation.significance import exact_mcnemar
from treetune.learning.answers import Answers
from treetune.learning.conventions import ConventionCount
from treetune.models.pipeline import Pipeline

Method = Literal["forced decoding", "inline ranker", "both"]
# Fewer sentences than these do not speak for a domain: they must show more, and are learned with more of the start.
FEW_SENTENCES = 30
SIGNIFICANT, SIGNIFICANT_OF_FEW = 0.05, 0.01
# What so many more sentences would bring is estimated.
MORE_ANSWERS = 50
# The largest loss of attachment in the home domain, in points.
MOST_LOST = 0.3


@dataclass(frozen=True)
class Setting:
    """How to learn from answers.

    Attributes:
        method: "forced decoding" trains on the best trees that contain the answers; the "inline ranker" compares
            outputs of k-best lists by the answers they contradict; "both" does both.
        epochs: Passes over the answers.
        step: The largest step, as a part of the one that the parser was trained with.
    """

    method: Method
    epochs: int
    step: float = 1.0

    def __str__(self) -> str:
        """Return it as reports show it."""
        return f"{self.method}, {self.epochs} epochs, step size × {self.step:g}"


SETTINGS = (
    Setting("forced decoding", 3),
    Setting("forced decoding", 6, 0.3),
    Setting("inline ranker", 3),
    Setting("both", 3),
)


@dataclass(frozen=True)
class TrialProgress:
    """One fold of the cross-validation that is done.

    Attributes:
        done: Trainings done so far, of `total`; the last is the final one, if there is one.
        total: All trainings.
        setting: How was learned.
        sentences: Sentences learned from.
        cost: The share of the answers that are wrong, in all folds of this setting that are done; held out.
        root_accuracy: The share of the main verbs that are right; None if no main verbs were asked for.
    """

    done: int
    total: int
    setting: str
    sentences: int
    cost: float
    root_accuracy: float | None


@dataclass(frozen=True)
class Doubt:
    """A sentence whose answers are not learned as they are, with the reason and both trees."""

    number: int
    sentence: Sentence
    reason: str
    model_tree: Tree
    answer_tree: Tree | None


@dataclass(frozen=True)
class HeldOut:
    """Answers that are right in each sentence: of the start, and of models that learned from the other folds."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    answers: tuple[int, ...]

    @property
    def better(self) -> int:
        """Sentences with more right answers than before."""
        return sum(after > before for before, after in zip(self.before, self.after, strict=True))

    @property
    def worse(self) -> int:
        """Sentences with fewer right answers than before."""
        return sum(after < before for before, after in zip(self.before, self.after, strict=True))

    @property
    def p_value(self) -> float:
        """The two-sided sign test over sentences."""
        return exact_mcnemar(self.worse, self.better)

    @property
    def level(self) -> float:
        """The p-value that is significant."""
        return SIGNIFICANT_OF_FEW if len(self.answers) < FEW_SENTENCES else SIGNIFICANT

    @property
    def is_better(self) -> bool:
        """Whether the answers are significantly more often right than before."""
        return self.better > self.worse and self.p_value < self.level

    def accuracy(self, which: Literal["before", "after"]) -> float:
        """Return the share of answers that are right."""
        return sum(self.before if which == "before" else self.after) / sum(self.answers)

    def interval(self, which: Literal["before", "after"]) -> tuple[float, float]:
        """Return the 95 % interval of the share, by resampling sentences."""
        right, answers = np.array(getattr(self, which)), np.array(self.answers)
        drawn = np.random.default_rng(0).integers(0, len(right), (2000, len(right)))
        low, high = np.quantile(right[drawn].sum(axis=1) / answers[drawn].sum(axis=1), (0.025, 0.975))
        return float(low), float(high)


@dataclass(frozen=True)
class Home:
    """The home domain before and after, in per cent of its words.

    `measure` is "LAS" on trees, or "agreement" with the confident arcs of the start where there are no trees.
    """

    measure: str
    before: float
    after: float

    @property
    def lost(self) -> float:
        """By how many points it is worse."""
        return self.before - self.after

    @property
    def loses_much(self) -> bool:
        """Whether it is worse by more than is allowed."""
        return self.lost > MOST_LOST

    @property
    def is_harmed(self) -> bool:
        """Whether trees say so; agreement with the start may be lost by what was learned."""
        return self.measure == "LAS" and self.loses_much


@dataclass(frozen=True)
class Adaptation:
    """The outcome of `adapt`.

    Attributes:
        pipeline: The adapted model, or the one given if `is_adapted` is false.
        is_adapted: Whether held-out answers were significantly more often right after learning, and the home domain
            not harmed.
        setting: The setting with the most right answers.
        trials: Right answers by setting, held out.
        held_out: Before and after under the chosen setting, sentence by sentence.
        counts: How many sentences have answers of each kind: consistent, doubtful, no candidate found, unreachable.
        doubts: The sentences that are not consistent.
        conventions: How main verbs were marked where people and treebanks differ.
        curve: (sentences learned from, share of held-out answers that are right); 0 sentences is the start.
        home: The home domain before and after learning; None if held-out answers were not better.
        changed: Numbers, from 0, of sentences that the model now parses otherwise, with both trees.
    """

    pipeline: Pipeline
    is_adapted: bool
    setting: Setting
    trials: tuple[tuple[Setting, int], ...]
    held_out: HeldOut
    counts: dict[str, int]
    doubts: tuple[Doubt, ...]
    conventions: tuple[ConventionCount, ...]
    curve: tuple[tuple[int, float], ...]
    home: Home | None
    changed: tuple[tuple[Answers, Tree, Tree], ...]

    @property
    def next_gain(self) -> float:
        """What so many more sentences would likely bring, as a share of answers: the curve, drawn on over log n."""
        points = [(math.log(count), share) for count, share in self.curve if count]
        if len(points) < 2:
            return 0.0
        slope = float(np.polyfit([x for x, _ in points], [y for _, y in points], 1)[0])
        count = len(self.held_out.answers)
        return max(0.0, slope * math.log((count + MORE_ANSWERS) / count))

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, as JSON can hold them."""
        held = self.held_out
        return {
            "is_adapted": self.is_adapted,
            "setting": str(self.setting),
            "trials": [{"setting": str(one), "right": right} for one, right in self.trials],
            "sentences": len(held.answers),
            "answers": sum(held.answers),
            "held_out": {
                which: {"share": held.accuracy(which), "interval": list(held.interval(which))}
                for which in ("before", "after")
            },
            "better_sentences": held.better,
            "worse_sentences": held.worse,
            "p_value": held.p_value,
            "counts": self.counts,
            "conventions": [vars(one) for one in self.conventions],
            "doubtful": [
                {"sentence": one.number, "text": " ".join(one.sentence.forms[1:]), "reason": one.reason}
                for one in self.doubts
            ],
            "curve": [list(point) for point in self.curve],
            "next": {"sentences": MORE_ANSWERS, "gain": self.next_gain},
            "home": None if self.home is None else {**vars(self.home), "lost": self.home.lost},
        }
