"""The plainest linear model: every output of a sentence is listed, with its features, and weights are a dictionary.

A sentence is one word, an input; its outputs are the trees that differ in the label of that word. So all that learning
theory says of Y, Phi and theta can be written down and checked.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import DataError
from treetune.evaluation.scorers import TREES, Scorer
from treetune.learning.schedule import Schedule
from treetune.models.base import Candidate
from treetune.models.learning_options import LearningOptions
from treetune.weights.mixing import Cells

Vector = Mapping[str, float]
# The outputs of each input, in the order in which equal scores rank, with their features.
Space = Mapping[str, Mapping[str, Vector]]


def sentence(word: str) -> Sentence:
    return Sentence.of([word])


def output(label: str) -> Tree:
    return Tree.of([0], [label])


def example(word: str, label: str) -> Example:
    return Example(sentence(word), output(label))


def label_of(tree: Tree) -> str:
    return tree.labels[1]


def dot(one: Vector, other: Vector) -> float:
    return sum(value * other.get(name, 0.0) for name, value in one.items())


def difference(one: Vector, other: Vector) -> dict[str, float]:
    names = sorted({*one, *other})
    values = {name: one.get(name, 0.0) - other.get(name, 0.0) for name in names}
    return {name: value for name, value in values.items() if value}


def average(vectors: Sequence[Vector]) -> dict[str, float]:
    names = sorted({name for vector in vectors for name in vector})
    return {name: sum(vector.get(name, 0.0) for vector in vectors) / len(vectors) for name in names}


class LinearOnlineDecoder:
    def __init__(self, learner: LinearLearner, sentences: Sequence[Sentence]) -> None:
        self._learner = learner
        self._sentences = sentences

    def __len__(self) -> int:
        return len(self._sentences)

    def k_best(self, index: int, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        word = self._sentences[index].forms[1]
        self._learner.log.append(("parse", word))
        return ranked(self._learner.model.space[word], self._learner.weights, k, constraint)

    def update(self, index: int, better: Candidate[Tree], worse: Candidate[Tree], *, margin: float | None) -> bool:
        word = self._sentences[index].forms[1]
        return self._learner.move(word, label_of(better.output), label_of(worse.output), margin)


class LinearLearner:
    """The perceptron or MIRA, one example at a time; `log` keeps what was asked for, `moves` how far each move went.

    The average is over the weights at the start and those with which each example was met.
    """

    def __init__(
        self, model: LinearModel, treebank: Sequence[Example], options: LearningOptions, warm_start: bool
    ) -> None:
        self.model = model
        self._treebank = treebank
        self._name = options.get("learner") or "perceptron"
        # The perceptron takes steps of one, MIRA here any.
        self._largest = 1.0 if self._name == "perceptron" else float("inf")
        self.weights: dict[str, float] = dict(model.weights or {}) if warm_start else {}
        self.met: list[dict[str, float]] = [dict(self.weights)]
        self.log: list[tuple[str, str]] = []
        self.moves: list[float] = []

    def __len__(self) -> int:
        return len(self._treebank)

    def words(self, order: NDArray[np.int64]) -> int:
        return len(order)

    def learn(self, order: NDArray[np.int64]) -> int:
        updated = 0
        for index in order:
            word, gold = self._treebank[index].sentence.forms[1], label_of(self._treebank[index].gold)
            self.log.append(("learn", word))
            self.step()
            (best,) = ranked(self.model.space[word], self.weights, 1)
            if label_of(best.output) != gold:
                updated += self.move(word, gold, label_of(best.output), 1.0 if self._name == "mira" else None)
        return updated

    def move(self, word: str, better: str, worse: str, margin: float | None) -> bool:
        outputs = self.model.space[word]
        towards = difference(outputs[better], outputs[worse])
        lead, norm = dot(towards, self.weights), dot(towards, towards)
        size = float(lead <= 0) if margin is None else min(self._largest, max(0.0, margin - lead) / norm)
        if not size:
            return False
        self.moves.append(size)
        for name, value in towards.items():
            self.weights[name] = self.weights.get(name, 0.0) + size * value
        return True

    def online_decoder(self, sentences: Sequence[Sentence]) -> LinearOnlineDecoder:
        return LinearOnlineDecoder(self, sentences)

    def step(self) -> None:
        if self.model.averaged:
            self.met.append(dict(self.weights))

    def restart_average(self) -> None:
        self.log.append(("restart", ""))
        self.met = [dict(self.weights)]

    def tensors(self) -> dict[str, NDArray[Any]]:
        names = self.model.features_by_name
        rows = [[vector.get(name, 0.0) for name in names] for vector in (self.weights, *self.met)]
        return {"vectors": np.array(rows), "progress": np.zeros(2, np.int64)}

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        names = self.model.features_by_name
        self.weights, *self.met = [dict(zip(names, row, strict=True)) for row in tensors["vectors"].tolist()]

    def cells(self) -> dict[str, Cells]:
        """The weights for mixing; those with which examples were met are not averaged over shards."""
        weights = np.array([self.weights.get(name, 0.0) for name in self.model.features_by_name], np.float32)
        return {"": Cells(np.arange(len(weights), dtype=np.uint64), weights, 0 * weights, 1, np.zeros(1, np.uint64))}

    def set_cells(self, cells: dict[str, Cells], progress: NDArray[np.int64]) -> None:
        names = self.model.features_by_name
        self.weights = {names[key]: float(value) for key, value in zip(cells[""].keys, cells[""].weights, strict=True)}

    def settings(self) -> dict[str, Any]:
        return {"learner": self._name}

    def snapshot(self) -> dict[str, float]:
        return average(self.met) if self.model.averaged else dict(self.weights)

    def install(self, model: LinearModel, weights: dict[str, float]) -> None:
        model.weights = weights


class LinearModel:
    """Predicts with the last weights, of which theorems speak, or with averaged ones.

    `learners` are all that it ever made.
    """

    kind: ClassVar[str] = "linear"

    def __init__(self, space: Space, weights: Vector | None = None, *, averaged: bool = False) -> None:
        self.space = space
        self.weights = weights
        self.averaged = averaged
        self.learners: list[LinearLearner] = []

    @property
    def features_by_name(self) -> list[str]:
        return sorted({name for outputs in self.space.values() for vector in outputs.values() for name in vector})

    @property
    def is_trained(self) -> bool:
        return self.weights is not None

    @property
    def scorer(self) -> Scorer:
        return TREES

    @property
    def is_stacked(self) -> bool:
        return False

    def with_options(self, **options: Any) -> Self:
        raise NotImplementedError

    def predict(self, sentence: Sentence, *, constraint: Tree | None = None) -> Tree:
        return self.k_best(sentence, 1, constraint=constraint)[0].output

    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Tree]:
        assert constraints is None
        return [self.predict(sentence) for sentence in sentences]

    def k_best(self, sentence: Sentence, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        assert self.weights is not None
        return ranked(self.space[sentence.forms[1]], self.weights, k, constraint)

    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Tree] | None = None,
    ) -> list[list[Candidate[Tree]]]:
        assert constraints is None
        return [self.k_best(sentence, k) for sentence in sentences]

    def features(
        self, sentence: Sentence, output: Tree | Candidate[Tree]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        raise NotImplementedError

    def score(self, sentence: Sentence, output: Tree | Candidate[Tree]) -> float:
        raise NotImplementedError

    def check_learning(self, **options: Unpack[LearningOptions]) -> None:
        pass

    def learner(
        self,
        treebank: Sequence[Example],
        *,
        seed: int = 0,
        warm_start: bool = False,
        **options: Unpack[LearningOptions],
    ) -> LinearLearner:
        learner = LinearLearner(copy.copy(self), treebank, options, warm_start)
        self.learners.append(learner)
        return learner

    def adopt(self, other: Self) -> None:
        self.weights = other.weights

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        assert self.weights is not None
        return {"space": self.space, "averaged": self.averaged, "weights": dict(self.weights)}, {}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        return cls(config["space"], config["weights"], averaged=config["averaged"])


def ranked(
    outputs: Mapping[str, Vector], weights: Vector, k: int, constraint: Tree | None = None
) -> list[Candidate[Tree]]:
    """Return the k best outputs; of equal scores the one that is listed first."""
    known = "" if constraint is None else label_of(constraint)
    fitting = [label for label in outputs if known in ("", label)]
    if not fitting:
        raise DataError(f"no output has the label {known!r}")
    scores = {label: dot(outputs[label], weights) for label in fitting}
    best = sorted(fitting, key=lambda label: -scores[label])[:k]
    return [Candidate(output(label), scores[label]) for label in best]


def round_robin(objectives: int) -> Schedule:
    """One objective takes one step a round, each in its turn."""
    return lambda objective, turn: turn % objectives == objective
