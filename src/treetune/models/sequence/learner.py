"""Tagged sentences as arrays, and the updates a tagger makes from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Sentence
from treetune.corpus.tags import Tagged, Tags
from treetune.errors import DataError
from treetune.features.encoding import FIRST_ID, UNSEEN
from treetune.models.learning_options import (
    CRF,
    DEFAULT_SEED,
    MIRA,
    PERCEPTRON,
    LearnerConfig,
    LearningOptions,
)
from treetune.models.sequence import _kernels as kernels
from treetune.models.sequence.grammar import TaggerGrammar, encode_tags, encode_words
from treetune.models.sequence.online_decoder import TaggerOnlineDecoder
from treetune.models.sequence.search import Task, check_memory, count_states, make_chances, make_space, make_update
from treetune.models.sequence.tagger import Tagger
from treetune.weights.store import FrozenWeights, LiveWeights, make_margins

RULES = {PERCEPTRON: kernels.PERCEPTRON, MIRA: kernels.MIRA}
DEFAULT_LEARNER = MIRA
DEFAULT_CLIP = 0.1
DEFAULT_RATE = 0.1
# The columns that tell one word from all others.
IDENTITIES = ("w", "lower")
# After so many sentences the weights of a CRF are made smaller, by as much as the penalty asks for all of them.
SHRINK_EVERY = 64


def check_gold(examples: Sequence[Tagged], columns: Sequence[str]) -> None:
    """Raise DataError unless every sentence has a tag for each word."""
    for number, example in enumerate(examples, start=1):
        where = f"sentence {number} of the training data"
        if not isinstance(example.gold, Tags):
            raise DataError(
                f"{where}: expected gold tags, found {type(example.gold).__name__}; "
                "make tagged sentences with treetune.corpus.tags.tagged"
            )
        words, found = len(example.sentence), len(example.gold)
        if words != found:
            raise DataError(f"{where} has {words} words, but {found} tags")
        if not example.gold.is_complete:
            raise DataError(f"{where} has a word without {' or '.join(columns)}; a tagger learns from complete tags")


class TaggerLearner:
    """Live weights of a tagger, and one pass over any part of its sentences at a time.

    The "perceptron" takes a step of one from the best tags to the gold ones, where they differ. "mira" takes the
    smallest step, at most `clip`, after which gold leads each of the `k` best by the number of its wrong tags. "crf"
    goes up the gradient of the log-likelihood of gold less `l2` times the squares of all weights (stochastic gradient,
    by `clip` at first and less and less); a pair of a feature and a tag has a weight if it was gold somewhere.
    """

    def __init__(
        self,
        tagger: Tagger,
        treebank: Sequence[Tagged],
        *,
        seed: int = DEFAULT_SEED,
        warm_start: bool = False,
        **options: Unpack[LearningOptions],
    ) -> None:
        config = LearnerConfig(**options)
        self.check_options(tagger, config)
        if warm_start:
            config = config.warm_start(tagger.learned_by)
            self.check_options(tagger, config)
        self.tagger = tagger
        self.learner = config.learner or DEFAULT_LEARNER
        self.clip = DEFAULT_CLIP if config.clip is None else config.clip
        self.learning_rate = DEFAULT_RATE if config.learning_rate is None else config.learning_rate
        self.k = config.k if self.learner == MIRA else 1
        self.config = replace(config, learner=self.learner, clip=self.clip, learning_rate=self.learning_rate)
        check_gold(treebank, tagger.columns)
        sentences, gold = [item.sentence for item in treebank], [item.gold for item in treebank]
        if warm_start:
            self.grammar = _to_go_on(tagger.grammar, sentences, gold)
            self.live = LiveWeights.thaw(tagger.weights)
        else:
            if not any(len(sentence) for sentence in sentences):
                raise DataError("the training data has no words; expected at least one sentence with tags")
            self.grammar = TaggerGrammar.learn(sentences, gold, tagger.config)
            self.live = LiveWeights(len(self.grammar.tags))
        self._sentences, _ = self.grammar.encode(sentences)
        # How often the words of a trained tagger were seen is not known any more.
        most = 0 if warm_start else tagger.config.unknown_dropout
        self._hidden = hide_rare(self._sentences, self.grammar.encoder.columns, most=most)
        boundary = self.grammar.tags.boundary
        numbers = encode_tags(self.grammar.tags, gold)
        self._gold = np.array([tag for tags in numbers for tag in (boundary, *tags)], np.int32)
        self._seen = 0
        self._make_space()

    @staticmethod
    def check_options(tagger: Tagger, config: LearnerConfig) -> None:
        """Raise ConfigError for options that a tagger does not have."""
        config.check_kind(tagger.kind)
        config.check_learner()

    def _make_space(self) -> None:
        task, sets = self.task(), self.grammar.sets
        states = count_states(sets, self._sentences, second_order=task.second_order)
        check_memory(states, k=self.k, allowed=self.tagger.config.max_memory)
        self._space = make_space(task, sets, self._sentences, k=self.k, states=states)
        longest = int(np.diff(self._sentences.offsets).max(initial=1))
        # All features of gold and its rivals; those with a gold context and each rival's own are two of a rival.
        self._room = (2 * self.k + 1) * longest * len(task.templates.seeds)
        self._update = make_update(self._room)
        if self.learner == CRF:
            self._chances = make_chances(task, sets, states)
        else:
            self._margins = make_margins(self._room, self.k)

    def task(self) -> Task:
        """Return what a search with the weights as they are needs to know."""
        second_order = self.tagger.config.order == 2
        return Task(self.grammar.templates, self.live.store, len(self.grammar.tags), second_order)

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self._sentences.offsets) - 1

    def words(self, order: NDArray[np.int64]) -> int:
        """Return the number of words in sentences `order`."""
        return int((self._sentences.offsets[order + 1] - self._sentences.offsets[order] - 1).sum())

    def settings(self) -> dict[str, Any]:
        """Return how it learns."""
        settings = self.config.settings()
        return {**settings, "l2": self.tagger.config.l2} if self.learner == CRF else settings

    def learn(self, order: NDArray[np.int64]) -> int:
        """Learn from the sentences numbered `order`, one after the other; return how many led to an update."""
        updated = start = 0
        while start < len(order):
            end = min(len(order), start + len(self) - self._seen % len(self))
            is_even = (self._seen // len(self)) % 2 == 1
            self._view = self._hidden if is_even else self._sentences
            updated += self._ascend(order[start:end]) if self.learner == CRF else self._correct(order[start:end])
            start = end
        return updated

    def _correct(self, order: NDArray[np.int64]) -> int:
        done = updated = 0
        self._seen += len(order)
        while done < len(order):
            task = self.task()
            made, changed = kernels.train_range(
                self._space, task.templates, task.store, self.live.averages, self.grammar.sets, self._view,
                self._gold, task.second_order, RULES[self.learner], self.k, self.clip, self.grammar.tags.boundary,
                order, done, len(order), self._margins, self._update,
            )  # fmt: skip
            done += made
            updated += changed
            if done < len(order):
                self.live.grow(self._room)
            while not kernels.finish_update(self.live.store, self.live.averages, self._update):
                self.live.grow(self._room)
        return updated

    def _ascend(self, order: NDArray[np.int64]) -> int:
        """Learn by gradient; weights are shrunk, for all steps since, each time that so many were taken."""
        updated = start = 0
        while start < len(order):
            end = min(len(order), start + SHRINK_EVERY - self._seen % SHRINK_EVERY)
            share = 2 * self.tagger.config.l2 / len(self)
            # Bottou (2010): steps in proportion to 1 / (t0 + t).
            steps = np.arange(self._seen, self._seen + end - start)
            rates = self.learning_rate / (1.0 + self.learning_rate * share * steps)
            updated += self._ascend_part(order[start:end], rates)
            self._seen += end - start
            if self._seen % SHRINK_EVERY == 0:
                self.live.shrink(float(np.exp(-rates[-1] * share * SHRINK_EVERY)))
            start = end
        return updated

    def _ascend_part(self, order: NDArray[np.int64], rates: NDArray[np.floating[Any]]) -> int:
        done = updated = 0
        while done < len(order):
            task = self.task()
            made, changed, wanted = kernels.ascend_range(
                self._space, self._chances, task.templates, task.store, self.live.averages, self.grammar.sets,
                self._view, self._gold, task.second_order, rates, order, done, len(order), self._update,
            )  # fmt: skip
            done += made
            updated += changed
            while not kernels.finish_update(self.live.store, self.live.averages, self._update):
                self.live.grow(self._room)
            if done < len(order):
                self._room = max(self._room, 2 * wanted)
                self.live.grow(self._room)
                if wanted > len(self._update.features):
                    self._update = make_update(self._room)
        return updated

    @property
    def largest_step(self) -> float:
        """The largest step along one difference; weights are of that order of size."""
        return {PERCEPTRON: 1.0, CRF: self.learning_rate}.get(self.learner, self.clip)

    def online_decoder(self, sentences: Sequence[Sentence]) -> TaggerOnlineDecoder:
        """Return lists of candidates for sentences without gold tags, under the weights as they move."""
        return TaggerOnlineDecoder(self, sentences)

    def step(self) -> None:
        """Count one example as seen."""
        self.live.step()

    def restart_average(self) -> None:
        """Average from here on only."""
        self.live.restart_average()

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all that `restore` needs to go on from here."""
        return {**self.live.tensors(), "seen": np.array([self._seen])}

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        """Go on from where `tensors` was taken."""
        self.live.restore(tensors)
        self._seen = int(tensors["seen"][0])

    def snapshot(self) -> FrozenWeights:
        """Return the averaged weights as they are now."""
        return self.live.freeze(prune_share=self.tagger.config.prune)

    def install(self, model: Tagger, weights: FrozenWeights) -> None:
        """Let a tagger predict with the weights of a snapshot."""
        learned_by = self.config.settings()
        model.fit(self.grammar, weights.share(), learned_by=learned_by)


def hide_rare(sentences: kernels.Sentences, columns: Sequence[str], *, most: int) -> kernels.Sentences:
    """Return the sentences with words that they have up to `most` times as if they had never been seen."""
    hidden = sentences.columns.copy()
    for name in IDENTITIES:
        if name in columns:
            row = hidden[columns.index(name)]
            rare = np.bincount(row, minlength=FIRST_ID) <= most
            rare[:FIRST_ID] = False
            row[rare[row]] = UNSEEN
    return sentences._replace(columns=hidden)


def _to_go_on(grammar: TaggerGrammar, sentences: Sequence[Sentence], gold: Sequence[Tags]) -> TaggerGrammar:
    """Return the grammar of a trained tagger, in which words may also have the tags that they have here.

    Raises DataError for a tag that the tagger does not know: it has no weights for it and cannot get any.
    """
    known = set(grammar.tags.names)
    for number, tags in enumerate(gold, start=1):
        for value in tags.values[1:]:
            if value not in known:
                raise DataError(
                    f"sentence {number} of the training data has the tag {value!r}, which the model has never seen; "
                    f"it knows {', '.join(grammar.tags.names)}; train a new model to learn others"
                )
    words, numbers = encode_words(grammar.encoder, sentences), encode_tags(grammar.tags, gold)
    lexicon = grammar.lexicon.extended(words, numbers)
    return TaggerGrammar(grammar.encoder, grammar.tags, lexicon, grammar.template_set)
