"""A treebank as arrays, and the updates a transition parser makes from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.projectivity import plain_label, projectivize
from treetune.corpus.sentence import Example, Tree
from treetune.corpus.wellformed import is_tree
from treetune.errors import DataError, unknown_name
from treetune.models.transition import _kernels as kernels
from treetune.models.transition.parser import Grammar, TransitionParser
from treetune.models.transition.search import Task, make_fixed, make_space
from treetune.weights.store import FrozenWeights, LiveWeights

RULES = {"early": kernels.EARLY, "max-violation": kernels.MAX_VIOLATION}
DYNAMIC = "dynamic"
UPDATES = (*RULES, DYNAMIC)

# Weights smaller than this part of one update are dropped when weights are frozen.
PRUNE = 0.5


def default_update(beam: int) -> str:
    """Return the update that suits a beam: greedy search learns from its own mistakes."""
    return DYNAMIC if beam == 1 else "max-violation"


class TransitionLearner:
    """Live weights of a transition parser, and one pass over any part of its treebank at a time.

    `update` is "early" or "max-violation" (averaged perceptron on the beam) or "dynamic" (greedy, dynamic
    oracle, following its own mistakes with probability `explore`).
    """

    def __init__(
        self,
        parser: TransitionParser,
        treebank: Sequence[Example],
        *,
        update: str | None = None,
        explore: float = 0.9,
        seed: int = 0,
    ) -> None:
        self.update = update or default_update(parser.beam)
        if self.update not in UPDATES:
            raise unknown_name("update", self.update, UPDATES)
        self._check(treebank)
        trees = lift(treebank, min_lifted=parser.config.min_lifted)
        sentences = [example.sentence for example in treebank]
        self.parser = parser
        self.grammar = Grammar.learn(sentences, trees, parser.config)
        self.live = LiveWeights(self.grammar.labels.outputs)
        self.explore = explore
        self.seed = seed
        self._templates = self.grammar.templates()
        self._sentences = kernels.Sentences(*self.grammar.encoder.encode(sentences))
        self._longest = max(len(sentence) for sentence in sentences)
        self._encode_gold(trees)
        self._make_space()
        self._passes = 0

    @staticmethod
    def _check(treebank: Sequence[Example]) -> None:
        if not any(len(example.sentence) for example in treebank):
            raise DataError("the treebank has no words; expected at least one sentence with a tree")
        for place, example in enumerate(treebank, start=1):
            where = f"sentence {place} of the treebank"
            words, nodes = len(example.sentence), len(example.gold)
            if words != nodes:
                raise DataError(f"{where} has {words} words, but its tree has {nodes}")
            if words and not is_tree(example.gold.heads):
                raise DataError(f"{where} has no complete tree with one root")

    def _encode_gold(self, trees: Sequence[Tree]) -> None:
        ids = self.grammar.labels.ids()
        self._heads = np.array([head for tree in trees for head in tree.heads], np.int32)
        self._labels = np.array([ids[label] for tree in trees for label in ("", *tree.labels[1:])], np.int32)
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

    def _make_space(self) -> None:
        labels = self.grammar.labels
        beam = 1 if self.update == DYNAMIC else self.parser.beam
        self._task = Task(self._templates, self.live.store, labels.masks(), labels.root_kinds(), beam)
        self._space = make_space(self._task, self._longest)
        self._fixed = make_fixed(self._longest)
        self._unknown = np.full(self._longest + 2, -1, np.int32)
        self._predicted = np.empty(2 * self._longest + 2, np.int32)
        self._scratch = np.zeros((2, 4), np.int64)
        self._room = 4 * self._longest * len(self._templates.seeds)
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
            self._templates,
            live.store,
            live.averages,
            self._sentences,
            task.labels,
        )
        if self.update == DYNAMIC:
            return kernels.train_greedy_range(  # type: ignore[no-any-return]
                *start, self._heads, self._labels, self._unknown, task.root_kinds, order, first, len(order),
                self.explore, ((self.seed << 20) + self._passes) % 2**63, self._scratch, self._update,
            )  # fmt: skip
        return kernels.train_range(  # type: ignore[no-any-return]
            *start, self._actions, self._unknown, task.root_kinds, order, first, len(order), task.beam, task.memo,
            RULES[self.update], self._predicted, self._update,
        )  # fmt: skip

    def snapshot(self) -> FrozenWeights:
        """Return the averaged weights as they are now."""
        return self.live.freeze(prune=PRUNE)

    def install(self, model: TransitionParser, weights: FrozenWeights) -> None:
        """Let a parser predict with the weights of a snapshot."""
        model.fit(self.grammar, weights.share())


def lift(treebank: Sequence[Example], *, min_lifted: int) -> list[Tree]:
    """Return projective trees: lifted arcs are marked by labels where a mark is frequent enough to learn."""
    lifted = [projectivize(example.gold) for example in treebank]
    counts = Counter(label for tree in lifted for label in tree.labels)
    rare = {label for label, count in counts.items() if count < min_lifted and plain_label(label) != label}
    return [
        Tree(tree.heads, tuple(plain_label(label) if label in rare else label for label in tree.labels))
        for tree in lifted
    ]
