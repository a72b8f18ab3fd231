"""Online learning of a graph parser from a treebank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError
from treetune.filters.arc_filter import ArcFilter
from treetune.models.graph import _sentence_kernels as kernels
from treetune.models.graph import _training_kernels as training
from treetune.models.graph._arc_kernels import ARC_OUTPUT
from treetune.models.graph.grammar import GraphGrammar, GraphWeights
from treetune.models.graph.online_decoder import GraphOnlineDecoder
from treetune.models.graph.parser import GraphParser
from treetune.models.graph.search import check_memory, make_room, pairs_of_arc
from treetune.models.learning_options import FACTORED_MIRA, LearnerConfig
from treetune.models.online import UPDATE_RULES, OnlineLearner
from treetune.models.training_trees import check_gold, lift, lift_known
from treetune.weights.flat import FlatLiveWeights
from treetune.weights.store import LiveWeights, make_margins, make_update, margin_bytes

LIVE_UNITS = np.ones(2)


class GraphLearner(OnlineLearner[GraphParser, Tree]):
    """The online learner of a graph parser: weights of arcs (`arcs`) and of labels (`rows`).

    MIRA lets gold lead each of the `k` best trees by the number of its wrong words; factored MIRA lets every gold arc
    lead every other arc to the same word by one (McDonald et al. 2005).
    """

    grammar: GraphGrammar

    @staticmethod
    def check_options(model: GraphParser, config: LearnerConfig) -> None:
        """Raise ConfigError for options that a graph parser does not have, or that do not go together."""
        OnlineLearner.check_options(model, config)
        if config.learner == FACTORED_MIRA and model.config.order != 1:
            raise ConfigError("factored-mira compares single arcs, so it is for graph parsers of order 1")
        if config.learner == FACTORED_MIRA and config.cost_augmented:
            raise ConfigError("factored-mira compares every arc with the gold one, so there is no search to augment")

    def _prepare(self, treebank: Sequence[Example], *, warm_start: bool) -> None:
        parser = self.model
        sentences = [example.sentence for example in treebank]
        crossing = parser.options.crossing
        if warm_start:
            labels = parser.grammar.labels
            trees = lift_known(treebank, labels, crossing=crossing)
            self.grammar = replace(parser.grammar, labels=labels.widen_tags(sentences, trees))
            self.arcs = FlatLiveWeights.thaw(parser.weights.arcs)
            self.rows = LiveWeights.thaw(parser.weights.labels)
        else:
            check_gold(treebank)
            trees = [example.gold for example in treebank]
            if not crossing:
                trees = lift(treebank, min_lifted=parser.config.min_lifted)
            grammar = GraphGrammar.learn(sentences, trees, parser.config)
            self.grammar = replace(grammar, arc_filter=self._filter(treebank, grammar))
            self.arcs = FlatLiveWeights()
            self.rows = LiveWeights(len(self.grammar.labels))
        self._batch = self.grammar.encode(sentences)
        self.offsets = self._batch.offsets
        ids = self.grammar.labels.ids()
        heads = [head for tree in trees for head in tree.heads]
        numbers = [ids[label] for tree in trees for label in ("", *tree.labels[1:])]
        self._gold = np.array([heads, numbers], np.int32)
        self._make_room()

    def _filter(self, treebank: Sequence[Example], grammar: GraphGrammar) -> ArcFilter | None:
        """Return the arc filter of the parser: the one it was given, or one trained on the same trees."""
        parser = self.model
        if parser.config.filter is None or parser.given_filter is not None:
            return parser.given_filter
        return ArcFilter(kind=parser.config.filter).fit(treebank, seed=self.seed, encoder=grammar.encoder)

    def _make_room(self) -> None:
        setup, lengths = self.setup(), self._batch.lengths
        templates, longest = setup.templates, int(lengths.max(initial=1))
        # All different features of k + 1 trees. Factored MIRA stops where it has changed as many as of 16.
        compared = 16 if self.learner == FACTORED_MIRA else self.k + 1
        pairs = compared * longest * pairs_of_arc(templates, longest)
        allowed, more = self.model.config.max_memory, margin_bytes(pairs, self.k)
        check_memory(lengths, setup, k=self.k, allowed=allowed, more=more)
        self._room = make_room(setup, longest, k=self.k)
        self._margins = make_margins(pairs, self.k)
        # Labels of a second stage are changed beside the trees.
        self.pending = make_update(pairs + 2 * longest * int(templates.bounds[1] - templates.bounds[0]))

    @property
    def stores(self) -> dict[str, LiveWeights | FlatLiveWeights]:
        """The weights of arcs and of labels."""
        return {"arcs.": self.arcs, "labels.": self.rows}

    def setup(self) -> kernels.SearchSetup:
        """Return the setup of a search with the current weights."""
        weights = kernels.Weights(self.arcs.store, self.rows.store, LIVE_UNITS)
        return self.grammar.setup(weights, self.model.options)

    def settings(self) -> dict[str, Any]:
        """Return the options of the learner."""
        return {**super().settings(), "cost_augmented": self.config.cost_augmented}

    def _train(self, order: NDArray[np.int64], first: int) -> tuple[int, int, int]:
        averages = training.Averages(self.arcs.averages, self.rows.averages)
        learning = training.Learning(UPDATE_RULES[self.learner], self.k, self.clip, float(self.config.cost_augmented))
        made, changed, wanted = training.train_range(
            self.setup(), averages, learning, self._batch, self._gold, order, first, len(order), *self._room,
            self._margins, self.pending,
        )  # fmt: skip
        return made, changed, wanted

    def add(self, features: NDArray[np.uint64], outputs: NDArray[np.uint16], deltas: NDArray[np.float32]) -> None:
        """Add `deltas` to the weights of (feature, output) pairs, of arcs and of labels."""
        is_arc = outputs == ARC_OUTPUT
        self.arcs.add(features[is_arc], deltas[is_arc])
        self.rows.add(features[~is_arc], outputs[~is_arc], deltas[~is_arc])

    def online_decoder(self, sentences: Sequence[Sentence]) -> GraphOnlineDecoder:
        """Return a decoder of sentences without gold trees, with the current weights."""
        return GraphOnlineDecoder(self, sentences)

    def snapshot(self) -> GraphWeights:
        """Return the averaged weights."""
        return GraphWeights(self.arcs.freeze(), self.rows.freeze())
