"""Online learning of a transition parser from a treebank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.models.learning_options import DYNAMIC, EARLY, MAX_VIOLATION, MIRA, PERCEPTRON, LearnerConfig
from treetune.models.online import UPDATE_RULES, OnlineLearner
from treetune.models.training_trees import check_gold, lift, lift_known
from treetune.models.transition import _kernels as kernels
from treetune.models.transition import _training_kernels as training
from treetune.models.transition._kernels import Arcs
from treetune.models.transition.grammar import Grammar
from treetune.models.transition.online_decoder import TransitionOnlineDecoder
from treetune.models.transition.parser import TransitionParser
from treetune.models.transition.search import Mirror, make_workspace, unknown_arcs
from treetune.models.transition.templates import outputs
from treetune.weights.store import FrozenWeights, LiveWeights, make_margins, make_update

BEAM_UPDATES = {EARLY: training.EARLY, MAX_VIOLATION: training.MAX_VIOLATION}

# Weights smaller than this are dropped when weights are frozen: a part of one update of the perceptron; of the
# largest weight after MIRA, whose updates have no size of their own.
PRUNE = 0.5
PRUNE_SHARE = 0.004


class TransitionLearner(OnlineLearner[TransitionParser, Tree]):
    """The online learner of a transition parser.

    `update` says which decisions are corrected: those up to the step at which beam search goes wrong ("early" or
    "max-violation"), or every decision of greedy search ("dynamic": dynamic oracle with exploration). MIRA lets gold
    lead the `k` best states there by the arcs they have lost (when nothing went wrong, the complete ones); in greedy
    search, the best worse transition by one.
    """

    default_clip = 0.01
    # How often the dynamic oracle lets the parser continue from its own mistake.
    explore = 0.9
    grammar: Grammar

    def _with_defaults(self, config: LearnerConfig) -> LearnerConfig:
        # Greedy search is trained on its own mistakes; large margins are for states of a beam, which can be compared.
        update = config.update or (DYNAMIC if self.model.beam == 1 else MAX_VIOLATION)
        learner = config.learner or (PERCEPTRON if update == DYNAMIC else MIRA)
        return super()._with_defaults(replace(config, update=update, learner=learner))

    def _prepare(self, treebank: Sequence[Example], *, warm_start: bool) -> None:
        parser = self.model
        sentences = [example.sentence for example in treebank]
        if warm_start:
            trees = lift_known(treebank, parser.grammar.labels, widen=True)
            labels = parser.grammar.labels.widen(trees)
            encoder = parser.grammar.encoder.widen(sentences, min_count=parser.config.min_count)
            self.grammar = replace(parser.grammar, labels=labels.widen_tags(sentences, trees), encoder=encoder)
            self.rows = _thaw(parser.weights, len(parser.grammar.labels), len(labels))
        else:
            check_gold(treebank)
            trees = lift(treebank, min_lifted=parser.config.min_lifted)
            self.grammar = Grammar.learn(sentences, trees, parser.config)
            self.rows = LiveWeights(outputs(self.grammar.labels))
        self._sentences = self.grammar.encode(sentences)
        self.offsets = self._sentences.offsets
        self._longest = max((len(sentence) for sentence in sentences), default=0)
        self._gold = self._encode_gold(trees)
        self._beam = 1 if self.config.update == DYNAMIC else parser.beam
        self._workspace = make_workspace(self.setup(self._beam), self._longest)
        # Gold and candidates have two transitions a word; there are no more candidates than states in a beam.
        k = min(self.k, self._beam)
        self.room = 2 * (1 + k) * self._longest * len(self.grammar.templates.seeds)
        self.pending = make_update(self.room)
        self._margins = make_margins(self.room, k) if self.learner == MIRA else None
        self._scratch = training.Scratch(
            unknown=unknown_arcs(self._longest + 2),
            predicted=np.empty(2 * self._longest + 2, np.int32),
            candidates=np.zeros(k, np.int64),
            on_stack=np.zeros(self._longest + 2, np.bool_),
            costs=np.zeros(4, np.int64),
            chosen=np.zeros(4, np.int64),
        )

    def _encode_gold(self, trees: Sequence[Tree]) -> training.Gold:
        ids, offsets = self.grammar.labels.ids(), self.offsets
        gold = Arcs(
            np.array([head for tree in trees for head in tree.heads], np.int32),
            np.array([ids[label] for tree in trees for label in ("", *tree.labels[1:])], np.int32),
        )
        if self.grammar.is_backward:
            gold = Mirror.of(offsets).arcs(gold)
        actions = np.empty(2 * len(gold.heads), np.int32)
        stack = np.empty(self._longest + 2, np.int64)
        for start, tree in zip(offsets[:-1], trees, strict=True):
            kernels.oracle_actions(
                gold.heads[start:], gold.labels[start:], len(tree), len(self.grammar.labels), stack,
                actions[2 * start :],
            )  # fmt: skip
            # The dynamic oracle counts the root as the last word of the buffer.
            heads = gold.heads[start + 1 : start + 1 + len(tree)]
            heads[heads == 0] = len(tree) + 1
        return training.Gold(gold.heads, gold.labels, actions)

    def setup(self, beam: int) -> kernels.SearchSetup:
        """Return the setup of a search with the current weights."""
        return self.grammar.setup(self.rows.store, beam)

    def settings(self) -> dict[str, Any]:
        """Return the options of the learner."""
        settings = {**super().settings(), "update": self.config.update}
        if self.config.update == DYNAMIC:
            # Greedy search compares one transition at each step.
            settings.pop("k", None)
        return settings

    def _train(self, order: NDArray[np.int64], first: int) -> tuple[int, int, int]:
        options = training.Options(
            rule=UPDATE_RULES[self.learner],
            update=BEAM_UPDATES.get(str(self.config.update), 0),
            clip=self.clip,
            explore=self.explore,
            seed=((self.seed << 20) + self._passes) % 2**63,
        )
        start = (self._workspace, self.setup(self._beam), self.rows.averages, self._sentences, self._gold, options)
        part = (*start, order, first, len(order), self._scratch)
        if self.config.update == DYNAMIC:
            made, changed = training.train_greedy(*part, self.pending)
        elif self.learner == MIRA:
            made, changed = training.train_mira(*part, self._margins, self.pending)
        else:
            made, changed = training.train_perceptron(*part, self.pending)
        return made, changed, self.room

    def online_decoder(self, sentences: Sequence[Sentence]) -> TransitionOnlineDecoder:
        """Return a decoder of sentences without gold trees, with the current weights."""
        return TransitionOnlineDecoder(self, sentences)

    def snapshot(self) -> FrozenWeights:
        """Return the averaged weights."""
        if self.learner == MIRA:
            return self.rows.freeze(prune_share=PRUNE_SHARE)
        return self.rows.freeze(prune=PRUNE)


def _thaw(weights: FrozenWeights, labels: int, more_labels: int) -> LiveWeights:
    """Return live weights for a parser that has got labels besides: all its RIGHT transitions get other numbers."""
    added = more_labels - labels
    renumbered = np.arange(weights.outputs, dtype=np.uint16)
    renumbered[kernels.LEFT + labels :] += np.uint16(added)
    return LiveWeights.thaw(weights, renumbered, 2 * added)
