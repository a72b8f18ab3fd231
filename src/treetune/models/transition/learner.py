"""A treebank as arrays, and the updates a transition parser makes from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.models.learning_options import (
    DEFAULT_SEED,
    DYNAMIC,
    EARLY,
    MAX_VIOLATION,
    MIRA,
    PERCEPTRON,
    LearnerConfig,
    LearningOptions,
)
from treetune.models.training_trees import check_gold, lift, lift_known
from treetune.models.transition import _kernels as kernels
from treetune.models.transition.online_decoder import TransitionOnlineDecoder
from treetune.models.transition.parser import Grammar, TransitionParser
from treetune.models.transition.search import Mirror, Task, make_fixed, make_space
from treetune.models.transition.system import outputs
from treetune.weights.store import FrozenWeights, LiveWeights, make_margins

BEAM_UPDATES = {EARLY: kernels.EARLY, MAX_VIOLATION: kernels.MAX_VIOLATION}
UPDATES = (*BEAM_UPDATES, DYNAMIC)

# Weights smaller than this are dropped when weights are frozen: a part of one update of the perceptron; of the
# largest weight after MIRA, whose updates have no size of their own.
PRUNE = 0.5
PRUNE_SHARE = 0.004

# The largest step of MIRA along one difference, unless another is asked for.
CLIP = 0.01


def default_update(beam: int) -> str:
    """Return the update that suits a beam: greedy search learns from its own mistakes."""
    return DYNAMIC if beam == 1 else MAX_VIOLATION


def default_learner(update: str) -> str:
    """Return the learner that suits an update: large margins where the states of a beam can be compared."""
    return PERCEPTRON if update == DYNAMIC else MIRA


class TransitionLearner:
    """Live weights of a transition parser, and one pass over any part of its treebank at a time.

    `update` says where to learn: "early" or "max-violation" (the step at which the beam goes wrong) or "dynamic"
    (every decision of greedy search; dynamic oracle, following its own mistakes with probability `explore`).
    `learner` says how far to go. The "perceptron" takes a step of one away from a mistake. "mira" takes the
    smallest step, at most `clip`, after which gold leads the `k` best states there by the arcs they have lost
    (when nothing went wrong, the complete ones); in greedy search, the best worse transition by one.
    """

    def __init__(
        self,
        parser: TransitionParser,
        treebank: Sequence[Example],
        *,
        explore: float = 0.9,
        seed: int = DEFAULT_SEED,
        warm_start: bool = False,
        **options: Unpack[LearningOptions],
    ) -> None:
        config = LearnerConfig(**options)
        self.check_options(parser, config)
        if warm_start:
            config = config.warm_start(parser.learned_by)
        self.update = config.update or default_update(parser.beam)
        self.learner = config.learner or default_learner(self.update)
        self.k = config.k
        self.clip = CLIP if config.clip is None else config.clip
        self.config = replace(config, learner=self.learner, clip=self.clip)
        self.parser = parser
        sentences = [example.sentence for example in treebank]
        if warm_start:
            self.live = LiveWeights.thaw(parser.weights)
            trees = lift_known(treebank, parser.grammar.labels)
            self.grammar = replace(parser.grammar, labels=parser.grammar.labels.widen_tags(sentences, trees))
        else:
            check_gold(treebank)
            trees = lift(treebank, min_lifted=parser.config.min_lifted)
            self.grammar = Grammar.learn(sentences, trees, parser.config)
            self.live = LiveWeights(outputs(self.grammar.labels))
        self.explore = explore
        self.seed = seed
        self.templates = self.grammar.templates()
        self._sentences = self.grammar.encode(sentences)
        self._longest = max((len(sentence) for sentence in sentences), default=0)
        self._encode_gold(trees)
        self._make_space()
        self._passes = 0

    @staticmethod
    def check_options(parser: TransitionParser, config: LearnerConfig) -> None:
        """Raise ConfigError for options that a transition parser does not have."""
        config.check_kind(parser.kind)
        config.check_learner()

    def _encode_gold(self, trees: Sequence[Tree]) -> None:
        ids = self.grammar.labels.ids()
        self._heads = np.array([head for tree in trees for head in tree.heads], np.int32)
        self._labels = np.array([ids[label] for tree in trees for label in ("", *tree.labels[1:])], np.int32)
        if self.grammar.is_backward:
            self._heads, self._labels = Mirror.of(self._sentences.offsets).known((self._heads, self._labels))
        self._actions = np.empty(2 * len(self._heads), np.int32)
        stack = np.empty(self._longest + 2, np.int64)
        for start, tree in zip(self._sentences.offsets[:-1], trees, strict=True):
            kernels.oracle_actions(
                self._heads[start:], self._labels[start:], len(tree), len(self.grammar.labels), stack,
                self._actions[2 * start :],
            )  # fmt: skip
            # The dynamic oracle counts the root as the last word of the buffer.
            gold = self._heads[start + 1 : start + 1 + len(tree)]
            gold[gold == 0] = len(tree) + 1

    def task(self, beam: int) -> Task:
        """Return what a search with the weights as they are needs to know."""
        grammar = self.grammar
        return Task(self.templates, self.live.store, grammar.masks, grammar.labels.root_kinds(), beam)

    def _make_space(self) -> None:
        beam = 1 if self.update == DYNAMIC else self.parser.beam
        self._task = self.task(beam)
        self._space = make_space(self._task, self._longest)
        self._fixed = make_fixed(self._longest)
        self._unknown = np.full(self._longest + 2, -1, np.int32)
        self._predicted = np.empty(2 * self._longest + 2, np.int32)
        self._scratch = np.zeros((2, 4), np.int64)
        # Gold and its rivals have two transitions a word; there are no more rivals than states in a beam.
        k = min(self.k, beam) if self.learner == MIRA else 1
        self._room = 2 * (1 + k) * self._longest * len(self.templates.seeds)
        if self.learner == MIRA:
            self._rivals = kernels.Rivals(np.zeros(k, np.int64), np.zeros(self._longest + 2, np.bool_))
            self._margins = make_margins(self._room, k)
        self._update = kernels.Update(
            features=np.empty(self._room, np.uint64),
            outputs=np.empty(self._room, np.uint16),
            deltas=np.empty(self._room, np.float32),
            counters=np.zeros(2, np.int64),
        )

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self._sentences.offsets) - 1

    def words(self, order: NDArray[np.int64]) -> int:
        """Return the number of words in sentences `order`."""
        return int((self._sentences.offsets[order + 1] - self._sentences.offsets[order] - 1).sum())

    def settings(self) -> dict[str, Any]:
        """Return how it learns."""
        settings = {**self.config.settings(), "update": self.update}
        if self.update == DYNAMIC:
            # Greedy search has one rival at each step.
            settings.pop("k", None)
        return settings

    def learn(self, order: NDArray[np.int64]) -> int:
        """Learn from the sentences numbered `order`, one after the other; return how many led to an update."""
        done = updated = 0
        self._passes += 1
        while done < len(order):
            made, changed = self._run(order, done)
            done += made
            updated += changed
            if done < len(order):
                self.live.grow(self._room)
            while not kernels.finish_update(self.live.store, self.live.averages, self._update):
                self.live.grow(self._room)
        return updated

    def _run(self, order: NDArray[np.int64], first: int) -> tuple[int, int]:
        live, task = self.live, self._task
        start = (
            self._space,
            self._fixed,
            self.templates,
            live.store,
            live.averages,
            self._sentences,
            task.labels,
        )
        if self.update == DYNAMIC:
            return kernels.train_greedy_range(  # type: ignore[no-any-return]
                *start, self._heads, self._labels, self._unknown, task.root_kinds, order, first, len(order),
                self.explore, ((self.seed << 20) + self._passes) % 2**63, self.learner == MIRA, self.clip,
                self._scratch, self._update,
            )  # fmt: skip
        if self.learner == MIRA:
            return kernels.train_margin_range(  # type: ignore[no-any-return]
                *start, self._actions, self._heads, self._labels, self._unknown, task.root_kinds, order, first,
                len(order), task.beam, task.memo, BEAM_UPDATES[self.update], self.clip, self._rivals, self._margins,
                self._update,
            )  # fmt: skip
        return kernels.train_range(  # type: ignore[no-any-return]
            *start, self._actions, self._unknown, task.root_kinds, order, first, len(order), task.beam, task.memo,
            BEAM_UPDATES[self.update], self._predicted, self._update,
        )  # fmt: skip

    @property
    def largest_step(self) -> float:
        """The largest step along one difference; weights are of that order of size."""
        return 1.0 if self.learner == PERCEPTRON else self.clip

    def online_decoder(self, sentences: Sequence[Sentence]) -> TransitionOnlineDecoder:
        """Return lists of candidates for sentences without gold trees, under the weights as they move."""
        return TransitionOnlineDecoder(self, sentences)

    def step(self) -> None:
        """Count one example as seen."""
        self.live.step()

    def restart_average(self) -> None:
        """Average from here on only."""
        self.live.restart_average()

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all that `restore` needs to go on from here."""
        return {**self.live.tensors(), "passes": np.array([self._passes])}

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        """Go on from where `tensors` was taken."""
        self.live.restore(tensors)
        self._passes = int(tensors["passes"][0])

    def snapshot(self) -> FrozenWeights:
        """Return the averaged weights as they are now."""
        if self.learner == MIRA:
            return self.live.freeze(prune_share=PRUNE_SHARE)
        return self.live.freeze(prune=PRUNE)

    def install(self, model: TransitionParser, weights: FrozenWeights) -> None:
        """Let a parser predict with the weights of a snapshot."""
        learned_by = self.config.settings()
        model.fit(self.grammar, weights.share(), learned_by=learned_by)
