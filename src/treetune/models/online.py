"""Online learning, once for all models: update rules, clip, averaging, the loop over examples, checkpoints.

A learner of one kind of model adds how examples are encoded and which kernel makes the updates of a sentence. Updates
from two outputs of the model itself (`LearnerDecoder.update`) go along the difference of their features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Arrays
from treetune.corpus.sentence import Sentence
from treetune.models.base import Candidate, OnlineDecoder, Output
from treetune.models.learning_options import (
    CRF,
    DEFAULT_SEED,
    FACTORED_MIRA,
    MIRA,
    PERCEPTRON,
    LearnerConfig,
    LearningOptions,
)
from treetune.weights import _kernels as kernels
from treetune.weights.flat import FlatLiveWeights
from treetune.weights.mixing import Cells, cells_of, set_cells
from treetune.weights.store import LiveWeights

ModelT = TypeVar("ModelT", bound=Any)
# Update rules as the kernels number them.
UPDATE_RULES = {PERCEPTRON: kernels.PERCEPTRON, MIRA: kernels.MIRA, FACTORED_MIRA: kernels.FACTORED_MIRA}

# The (feature, output of the weight rows) pairs of one output of a model.
Pairs = tuple[NDArray[np.uint64], NDArray[np.uint16]]


@dataclass(frozen=True)
class Difference:
    """Better minus worse, as a sparse vector: `counts` of the (feature, output) pairs that do not cancel."""

    features: NDArray[np.uint64]
    outputs: NDArray[np.uint16]
    counts: NDArray[np.float32]

    @classmethod
    def between(cls, better: Pairs, worse: Pairs) -> Difference:
        """Return the difference of two outputs, in the order of their features."""
        features = np.concatenate([better[0], worse[0]])
        outputs = np.concatenate([better[1], worse[1]])
        signs = np.ones(len(features), np.float32)
        signs[len(better[0]) :] = -1
        order = np.lexsort((outputs, features))
        features, outputs = features[order], outputs[order]
        is_first = np.empty(len(features), np.bool_)
        is_first[:1] = True
        is_first[1:] = (features[1:] != features[:-1]) | (outputs[1:] != outputs[:-1])
        starts = np.flatnonzero(is_first)
        counts = np.add.reduceat(signs[order], starts) if len(starts) else signs
        kept = counts != 0
        starts = starts[kept]
        return cls(features[starts], outputs[starts], counts[kept])

    @property
    def squared_norm(self) -> float:
        """The squared length of the vector."""
        return float(self.counts @ self.counts)


def step_size(*, largest: float, margin: float | None, lead: float, squared_norm: float) -> float:
    """Return the step along a difference: of MIRA for a margin, of the perceptron without; 0 for no update.

    Args:
        largest: The largest step of the learner: 1 of the perceptron, `clip` of MIRA.
        margin: By which the better output is to lead, reached by the smallest step (MIRA). None: a step of 1, if the
            better output does not lead yet (perceptron).
        lead: The score of the better output minus that of the worse one.
        squared_norm: The squared length of the difference of the two.
    """
    if squared_norm == 0.0:
        return 0.0
    if margin is None:
        return min(1.0, largest) if lead <= 0 else 0.0
    return min(largest, max(0.0, margin - lead) / squared_norm)


class OnlineLearner(ABC, Generic[ModelT, Output]):
    """Live weights of a model, and updates from any part of its gold examples at a time.

    The perceptron takes a step of 1 away from a mistake. MIRA takes the smallest step, at most `clip`, after which gold
    leads the k best outputs by their losses (Crammer et al. 2006; McDonald et al. 2005). Weights are averaged over all
    examples seen.

    Attributes that `_prepare` sets: `grammar`, what the model learns of its examples besides weights; `rows`, the live
    weights; `offsets`, where the tokens of each example start; `pending`, room for one update; `room`, the changes
    that weights must have room for before the next example.
    """

    default_learner: ClassVar[str] = MIRA
    default_clip: ClassVar[float] = 0.1
    default_rate: ClassVar[float] = 0.1

    grammar: Any
    rows: LiveWeights
    offsets: NDArray[np.int64]
    pending: kernels.Update
    room: int = 0

    def __init__(
        self,
        model: ModelT,
        treebank: Sequence[Any],
        *,
        seed: int = DEFAULT_SEED,
        warm_start: bool = False,
        **options: Unpack[LearningOptions],
    ) -> None:
        config = LearnerConfig(**options)
        self.check_options(model, config)
        if warm_start:
            config = config.warm_start(model.trained_by)
            # The learner of the weights may refuse what another would have taken.
            self.check_options(model, config)
        self.model = model
        self.seed = seed
        self.config = self._with_defaults(config)
        self.learner = str(self.config.learner)
        self.clip = float(self.config.clip or 0.0)
        self.k = self.config.k if self.learner == MIRA else 1
        # The number of calls of `learn`, and of the examples in them.
        self._passes = self._seen = 0
        self._prepare(treebank, warm_start=warm_start)

    @staticmethod
    def check_options(model: ModelT, config: LearnerConfig) -> None:
        """Raise ConfigError for options that the model does not have, or that do not go together."""
        config.check_kind(model.kind)
        config.check_learner()

    def _with_defaults(self, config: LearnerConfig) -> LearnerConfig:
        return replace(
            config,
            learner=config.learner or self.default_learner,
            clip=self.default_clip if config.clip is None else config.clip,
            learning_rate=self.default_rate if config.learning_rate is None else config.learning_rate,
        )

    @abstractmethod
    def _prepare(self, treebank: Sequence[Any], *, warm_start: bool) -> None:
        """Learn or take over the grammar, make or thaw the weights, encode the examples and make working memory."""

    @abstractmethod
    def _train(self, order: NDArray[np.int64], first: int) -> tuple[int, int, int]:
        """Update from order[first:] until there is no room; return how many were done and updated, and room wanted."""

    @abstractmethod
    def snapshot(self) -> Any:
        """Return the averaged weights."""

    @abstractmethod
    def online_decoder(self, sentences: Sequence[Sentence]) -> OnlineDecoder[Output]:
        """Return a decoder of sentences without gold, with the current weights."""

    @property
    def stores(self) -> dict[str, LiveWeights | FlatLiveWeights]:
        """All live weights, by the prefix of their names in checkpoints."""
        return {"": self.rows}

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.offsets) - 1

    def words(self, order: NDArray[np.int64]) -> int:
        """Return the number of words in the examples numbered `order`."""
        return int((self.offsets[order + 1] - self.offsets[order] - 1).sum())

    def settings(self) -> dict[str, Any]:
        """Return the options of the learner, every default filled in; those without effect are left out."""
        return self.config.settings()

    @property
    def largest_step(self) -> float:
        """The largest step along one difference; weights are of that scale."""
        return {PERCEPTRON: 1.0, CRF: float(self.config.learning_rate or 0.0)}.get(self.learner, self.clip)

    def learn(self, order: NDArray[np.int64]) -> int:
        """Train on the examples numbered `order`, one after the other; return how many led to an update."""
        self._passes += 1
        updated = self._loop(order)
        self._seen += len(order)
        return updated

    def _loop(self, order: NDArray[np.int64]) -> int:
        done = updated = 0
        while done < len(order):
            made, changed, wanted = self._train(order, done)
            done += made
            updated += changed
            while not kernels.finish_update(self.rows.store, self.rows.averages, self.pending):
                self._grow(wanted)
            if done < len(order):
                self._grow(wanted)
        return updated

    def _grow(self, changes: int) -> None:
        for weights in self.stores.values():
            weights.grow(max(changes, self.room))

    def add(self, features: NDArray[np.uint64], outputs: NDArray[np.uint16], deltas: NDArray[np.float32]) -> None:
        """Add `deltas` to the weights of (feature, output) pairs."""
        self.rows.add(features, outputs, deltas)

    def step(self) -> None:
        """Count one example as seen for the average; `learn` does so by itself."""
        for weights in self.stores.values():
            weights.step()

    def restart_average(self) -> None:
        """Restart the average of the weights."""
        for weights in self.stores.values():
            weights.restart_average()

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all that `restore` needs to continue from here, as arrays; they are not copies."""
        named = {
            f"{prefix}{name}": array
            for prefix, weights in self.stores.items()
            for name, array in weights.tensors().items()
        }
        return {**named, "progress": np.array([self._passes, self._seen])}

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        """Continue from where `tensors` was taken by a learner with the same examples and options."""
        for prefix, weights in self.stores.items():
            own = {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}
            weights.restore(own)
        progress = Arrays(tensors).bounded("progress", np.int64, 2, 0, 1 << 53)
        self._passes, self._seen = (int(value) for value in progress)

    def cells(self) -> dict[str, Cells]:
        """Return the weights apart from how they are stored, to be mixed with those of other learners."""
        return {name: cells_of(weights) for name, weights in self.stores.items()}

    def set_cells(self, cells: dict[str, Cells], progress: NDArray[np.int64]) -> None:
        """Continue from such weights; `progress` is that of `tensors`."""
        for name, weights in self.stores.items():
            set_cells(weights, cells[name])
        self._passes, self._seen = (int(value) for value in progress)

    def install(self, model: ModelT, weights: Any) -> None:
        """Install the weights of a snapshot in `model`."""
        model.set_trained(self.grammar, weights.share(), trained_by=self.config.settings())


LearnerT = TypeVar("LearnerT", bound=OnlineLearner[Any, Any])


class LearnerDecoder(ABC, Generic[LearnerT, Output]):
    """Sentences without gold, decoded with the current weights of a learner, and updates from what comes out."""

    def __init__(self, learner: LearnerT, sentences: Sequence[Sentence]) -> None:
        self._learner = learner
        self._sentences = sentences

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self._sentences)

    @abstractmethod
    def k_best(self, index: int, k: int, *, constraint: Output | None = None) -> list[Candidate[Output]]:
        """Return up to `k` distinct outputs of one sentence, best first, under the current weights."""

    @abstractmethod
    def _difference(self, index: int, better: Candidate[Output], worse: Candidate[Output]) -> Difference:
        """Return the difference of the features of two outputs of a sentence."""

    def update(self, index: int, better: Candidate[Output], worse: Candidate[Output], *, margin: float | None) -> bool:
        """Update the weights towards the better of two outputs, and tell whether they changed; see `step_size`.

        The scores of both must be those of the current weights.
        """
        difference = self._difference(index, better, worse)
        size = step_size(
            largest=self._learner.largest_step,
            margin=margin,
            lead=better.score - worse.score,
            squared_norm=difference.squared_norm,
        )
        if size > 0:
            self._learner.add(difference.features, difference.outputs, np.float32(size) * difference.counts)
        return size > 0
