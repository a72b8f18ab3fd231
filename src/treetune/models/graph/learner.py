"""A treebank as arrays, and the updates a graph parser makes from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError
from treetune.features.encoding import encode_base_heads
from treetune.models.graph import _arc_kernels as kernels
from treetune.models.graph.grammar import GraphGrammar, GraphWeights
from treetune.models.graph.online_decoder import GraphOnlineDecoder
from treetune.models.graph.parser import GraphParser
from treetune.models.graph.scoring import NO_BASE_TREES, Task, check_memory, make_space, make_work, pairs_of_arc
from treetune.models.learning_options import (
    DEFAULT_SEED,
    FACTORED_MIRA,
    MIRA,
    PERCEPTRON,
    LearnerConfig,
    LearningOptions,
)
from treetune.models.training_trees import check_gold, lift, lift_known
from treetune.weights.flat import FlatLiveWeights
from treetune.weights.store import LiveWeights, make_margins, margin_bytes

RULES = {PERCEPTRON: kernels.PERCEPTRON, MIRA: kernels.MIRA, FACTORED_MIRA: kernels.FACTORED}
DEFAULT_LEARNER = MIRA
DEFAULT_CLIP = 0.1
LIVE_UNITS = np.ones(2)


class GraphLearner:
    """Live weights of a graph parser, and one pass over any part of its treebank at a time."""

    def __init__(
        self,
        parser: GraphParser,
        treebank: Sequence[Example],
        *,
        seed: int = DEFAULT_SEED,
        warm_start: bool = False,
        **options: Unpack[LearningOptions],
    ) -> None:
        config = LearnerConfig(**options)
        self.check_options(parser, config)
        self.parser = parser
        if warm_start:
            config = config.warm_start(parser.learned_by)
            # The learner of the weights may refuse what another would have taken.
            self.check_options(parser, config)
        self.learner = config.learner or DEFAULT_LEARNER
        self.clip = DEFAULT_CLIP if config.clip is None else config.clip
        self.k = config.k if self.learner == MIRA else 1
        self.cost_augmented = config.cost_augmented
        self.config = replace(config, learner=self.learner, clip=self.clip)
        sentences = [example.sentence for example in treebank]
        if warm_start:
            labels = parser.grammar.labels
            trees = lift_known(treebank, labels, crossing=parser.options.crossing)
            self.grammar = replace(parser.grammar, labels=labels.widen_tags(sentences, trees))
            self.arcs = FlatLiveWeights.thaw(parser.weights.arcs)
            self.labels = LiveWeights.thaw(parser.weights.labels)
        else:
            check_gold(treebank)
            trees = [example.gold for example in treebank]
            if not parser.options.crossing:
                trees = lift(treebank, min_lifted=parser.config.min_lifted)
            self.grammar = GraphGrammar.learn(sentences, trees, parser.config)
            self.arcs = FlatLiveWeights()
            self.labels = LiveWeights(len(self.grammar.labels))
        self._columns, self._offsets = self.grammar.encoder.encode(sentences)
        self._tags = self.grammar.labels.tags(self.grammar.encoder, self._columns)
        self._base_heads = encode_base_heads(sentences) if self.grammar.is_stacked else NO_BASE_TREES
        self._gold = self._encode_gold(trees)
        self._templates = self.grammar.templates()
        self._task = self.task()
        self._make_space(allowed=parser.config.max_memory)

    @staticmethod
    def check_options(parser: GraphParser, config: LearnerConfig) -> None:
        """Raise ConfigError for options that a graph parser does not have."""
        config.check_kind(parser.kind)
        config.check_learner()
        if config.learner == FACTORED_MIRA and parser.config.order != 1:
            raise ConfigError("factored-mira compares single arcs, so it is for graph parsers of order 1")
        if config.learner == FACTORED_MIRA and config.cost_augmented:
            raise ConfigError("factored-mira compares every arc with the gold one, so there is no search to augment")

    def _encode_gold(self, trees: Sequence[Tree]) -> NDArray[np.int32]:
        ids = self.grammar.labels.ids()
        heads = [head for tree in trees for head in tree.heads]
        return np.array([heads, [ids[label] for tree in trees for label in ("", *tree.labels[1:])]], np.int32)

    def _make_space(self, *, allowed: float) -> None:
        templates, lengths = self._task.templates, np.diff(self._offsets) - 1
        longest = int(lengths.max(initial=1))
        # All different features of k + 1 trees. Factored MIRA stops where it has changed as many as of 16.
        compared = 16 if self.learner == FACTORED_MIRA else self.k + 1
        room = compared * longest * pairs_of_arc(templates, longest)
        check_memory(lengths, self._task, k=self.k, allowed=allowed, more=margin_bytes(room, self.k))
        self._space = make_space(self._task, longest, k=self.k)
        self._work = make_work(self._task, longest, k=self.k)
        self._margins = make_margins(room, self.k)
        self._lesson = kernels.Lesson(
            rule=RULES[self.learner], k=self.k, clip=self.clip, cost=float(self.cost_augmented)
        )
        # Labels of a second stage are changed beside the trees.
        room += 2 * longest * int(templates.bounds[1] - templates.bounds[0])
        self._update = kernels.Update(
            features=np.empty(room, np.uint64),
            outputs=np.empty(room, np.uint16),
            deltas=np.empty(room, np.float32),
            counters=np.zeros(2, np.int64),
        )

    def task(self) -> Task:
        """Return what a search with the weights as they are needs to know."""
        return Task(self._templates, self._weights(), self.parser.options, self.grammar.masks)

    def _weights(self) -> kernels.Weights:
        return kernels.Weights(self.arcs.store, self.labels.store, LIVE_UNITS)

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self._offsets) - 1

    def words(self, order: NDArray[np.int64]) -> int:
        """Return the number of words in sentences `order`."""
        return int((self._offsets[order + 1] - self._offsets[order] - 1).sum())

    def learn(self, order: NDArray[np.int64]) -> int:
        """Learn from the sentences numbered `order`, one after the other; return how many led to an update."""
        done = updated = 0
        while done < len(order):
            weights, averages = self._weights(), kernels.Averages(self.arcs.averages, self.labels.averages)
            made, changed, wanted = kernels.train_range(
                self._task.templates, weights, averages, self._task.options, self._lesson, self._columns,
                self._offsets, self._base_heads, self._task.masks, self._tags, self._gold, order, done, len(order),
                self._space, *self._work, self._margins, self._update,
            )  # fmt: skip
            done += made
            updated += changed
            if done < len(order):
                self._grow(wanted)
            while not kernels.finish_update(self._weights(), averages, self._update):
                self._grow(wanted)
        return updated

    def _grow(self, changes: int) -> None:
        self.arcs.grow(changes)
        self.labels.grow(changes)

    def settings(self) -> dict[str, Any]:
        """Return how it learns, every default filled in."""
        return {
            **self.config.settings(),
            "cost_augmented": self.cost_augmented,
        }

    @property
    def largest_step(self) -> float:
        """The largest step along one difference; weights are of that order of size."""
        return 1.0 if self.learner == PERCEPTRON else self.clip

    def online_decoder(self, sentences: Sequence[Sentence]) -> GraphOnlineDecoder:
        """Return lists of candidates for sentences without gold trees, under the weights as they move."""
        return GraphOnlineDecoder(self, sentences)

    def step(self) -> None:
        """Count one example as seen."""
        self.arcs.step()
        self.labels.step()

    def restart_average(self) -> None:
        """Average from here on only."""
        self.arcs.restart_average()
        self.labels.restart_average()

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all that `restore` needs to go on from here."""
        arcs = {f"arcs.{name}": array for name, array in self.arcs.tensors().items()}
        return {**arcs, **{f"labels.{name}": array for name, array in self.labels.tensors().items()}}

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        """Go on from where `tensors` was taken."""
        for prefix, weights in (("arcs.", self.arcs), ("labels.", self.labels)):
            weights.restore(
                {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}
            )

    def snapshot(self) -> GraphWeights:
        """Return the averaged weights as they are now."""
        return GraphWeights(self.arcs.freeze(), self.labels.freeze())

    def install(self, model: GraphParser, weights: GraphWeights) -> None:
        """Let a parser predict with the weights of a snapshot."""
        learned_by = self.config.settings()
        model.fit(self.grammar, weights.share(), learned_by=learned_by)
