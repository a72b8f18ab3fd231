"""Online learning of a tagger from tagged sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Sentence
from treetune.corpus.tags import Tagged, Tags
from treetune.errors import ConfigError, DataError
from treetune.features.encoding import FIRST_ID, UNSEEN
from treetune.models.learning_options import CRF, LearnerConfig
from treetune.models.online import UPDATE_RULES, OnlineLearner
from treetune.models.sequence import _crf_kernels as crf
from treetune.models.sequence import _kernels as kernels
from treetune.models.sequence import _training_kernels as training
from treetune.models.sequence.grammar import TaggerGrammar, encode_tags, encode_words
from treetune.models.sequence.online_decoder import TaggerOnlineDecoder
from treetune.models.sequence.search import check_memory, count_states, make_marginals, make_workspace
from treetune.models.sequence.tagger import Tagger
from treetune.weights.store import FrozenWeights, LiveWeights, make_margins, make_update

# The columns that tell one word from all others.
IDENTITIES = ("w", "lower")
# After so many sentences the weights of a CRF decay, by as much as the L2 penalty asks for all of them.
DECAY_EVERY = 64


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
            raise DataError(f"{where} has a word without {' or '.join(columns)}; a tagger is trained on complete tags")


class TaggerLearner(OnlineLearner[Tagger, Tags]):
    """The online learner of a tagger.

    MIRA lets gold lead each of the `k` best outputs by the number of its wrong tags. "crf" is stochastic gradient
    ascent on the log-likelihood of gold minus `l2` times the squared weights, with a learning rate that decays (Bottou
    2010); a (feature, tag) pair has a weight if it was gold somewhere.
    """

    grammar: TaggerGrammar

    @staticmethod
    def check_options(model: Tagger, config: LearnerConfig) -> None:
        """Raise ConfigError for options that taggers do not have, or that do not go together."""
        OnlineLearner.check_options(model, config)
        if config.learner == CRF and model.config.shared:
            raise ConfigError("the learner crf cannot share weights among tags; leave shared out, or take mira")

    def _prepare(self, treebank: Sequence[Tagged], *, warm_start: bool) -> None:
        tagger = self.model
        check_gold(treebank, tagger.columns)
        sentences, gold = [item.sentence for item in treebank], [item.gold for item in treebank]
        if warm_start:
            self.grammar = _warm_grammar(tagger.grammar, sentences, gold)
            self.rows = LiveWeights.thaw(tagger.weights)
        else:
            if not any(len(sentence) for sentence in sentences):
                raise DataError("the training data has no words; expected at least one sentence with tags")
            self.grammar = TaggerGrammar.learn(sentences, gold, tagger.config)
            self.rows = LiveWeights(self.grammar.outputs)
        self._sentences, _ = self.grammar.encode(sentences)
        self.offsets = self._sentences.offsets
        # How often the words of a trained tagger were seen is not known any more.
        most = 0 if warm_start else tagger.config.unknown_dropout
        self._dropped = drop_rare(self._sentences, self.grammar.encoder.columns, most=most)
        boundary = self.grammar.tags.boundary
        numbers = encode_tags(self.grammar.tags, gold)
        self._gold = np.array([tag for tags in numbers for tag in (boundary, *tags)], np.int32)
        self._make_workspace()

    def _make_workspace(self) -> None:
        setup = self.setup()
        states = count_states(setup, self._sentences)
        check_memory(states, k=self.k, allowed=self.model.config.max_memory)
        self._workspace = make_workspace(setup, self._sentences, k=self.k, states=states)
        longest = int(np.diff(self.offsets).max(initial=1))
        # All features of gold and candidates; those with a gold context and each candidate's own are two of it.
        widest = 1 + int(np.diff(setup.parts.starts).max(initial=0))
        self.room = (2 * self.k + 1) * longest * len(setup.templates.seeds) * widest
        self.pending = make_update(self.room)
        if self.learner == CRF:
            self._marginals = make_marginals(setup, states)
        else:
            self._margins = make_margins(self.room, self.k)

    def setup(self) -> kernels.SearchSetup:
        """Return the setup of a search with the current weights."""
        return self.grammar.setup(self.rows.store, self.model.config)

    def settings(self) -> dict[str, Any]:
        """Return the options of the learner."""
        settings = super().settings()
        return {**settings, "l2": self.model.config.l2} if self.learner == CRF else settings

    def learn(self, order: NDArray[np.int64]) -> int:
        """Train on the sentences numbered `order`, one after the other; return how many led to an update."""
        self._passes += 1
        updated = start = 0
        while start < len(order):
            end = min(len(order), start + len(self) - self._seen % len(self))
            if self.learner == CRF:
                end = min(end, start + DECAY_EVERY - self._seen % DECAY_EVERY)
            is_even = (self._seen // len(self)) % 2 == 1
            self._view = self._dropped if is_even else self._sentences
            part = order[start:end]
            updated += self._ascend(part) if self.learner == CRF else self._loop(part)
            self._seen += len(part)
            start = end
        return updated

    def _ascend(self, order: NDArray[np.int64]) -> int:
        share, rate = 2 * self.model.config.l2 / len(self), self.largest_step
        self._rates = rate / (1.0 + rate * share * np.arange(self._seen, self._seen + len(order)))
        updated = self._loop(order)
        if (self._seen + len(order)) % DECAY_EVERY == 0:
            self.rows.decay(float(np.exp(-self._rates[-1] * share * DECAY_EVERY)))
        return updated

    def _train(self, order: NDArray[np.int64], first: int) -> tuple[int, int, int]:
        setup = self.setup()
        if self.learner != CRF:
            made, changed = training.train_range(
                self._workspace, setup, self.rows.averages, self._view, self._gold, UPDATE_RULES[self.learner], self.k,
                self.clip, order, first, len(order), self._margins, self.pending,
            )  # fmt: skip
            return made, changed, self.room
        made, changed, wanted = crf.ascend_range(
            self._workspace, self._marginals, setup, self.rows.averages, self._view, self._gold, self._rates, order,
            first, len(order), self.pending,
        )  # fmt: skip
        return made, changed, 2 * wanted

    def _grow(self, changes: int) -> None:
        super()._grow(changes)
        # Of a CRF no bound on the changes of a sentence is known before; what is pending was added already.
        if changes > len(self.pending.features):
            self.pending = make_update(changes)

    def online_decoder(self, sentences: Sequence[Sentence]) -> TaggerOnlineDecoder:
        """Return a decoder of sentences without gold tags, with the current weights."""
        return TaggerOnlineDecoder(self, sentences)

    def snapshot(self) -> FrozenWeights:
        """Return the averaged weights."""
        return self.rows.freeze(prune_share=self.model.config.prune)


def drop_rare(sentences: kernels.Sentences, columns: Sequence[str], *, most: int) -> kernels.Sentences:
    """Return the sentences with words that they have up to `most` times as unknown words."""
    dropped = sentences.columns.copy()
    for name in IDENTITIES:
        if name in columns:
            row = dropped[columns.index(name)]
            rare = np.bincount(row, minlength=FIRST_ID) <= most
            rare[:FIRST_ID] = False
            row[rare[row]] = UNSEEN
    return sentences._replace(columns=dropped)


def _warm_grammar(grammar: TaggerGrammar, sentences: Sequence[Sentence], gold: Sequence[Tags]) -> TaggerGrammar:
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
    words, numbers = encode_words(grammar, sentences), encode_tags(grammar.tags, gold)
    return replace(grammar, lexicon=grammar.lexicon.extended(words, numbers))
