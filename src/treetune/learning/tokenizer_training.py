"""A treebank to a trained tokenizer: a generator of what each pass over it achieved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treetune.corpus.rawtext import paragraphs, raw_text
from treetune.corpus.sentence import Example, Tree
from treetune.errors import ConfigError, DataError
from treetune.evaluate.alignment import TextScores, evaluate_text

if TYPE_CHECKING:
    from treetune.models.tokenizer.tokenizer import Tokenizer

EPOCHS = 8
# Weights smaller than this part of the largest are dropped.
PRUNE = 0.01


@dataclass(frozen=True, slots=True)
class SegmentProgress:
    """The end of one pass: its number, from 1, of how many, and Tokens, Words and Sentences on dev if there is one."""

    epoch: int
    epochs: int
    dev: TextScores | None


def train_tokenizer(
    tokenizer: Tokenizer,
    treebank: Sequence[Example],
    *,
    dev: Sequence[Example] | None = None,
    epochs: int = EPOCHS,
    seed: int = 0,
    prune: float = PRUNE,
) -> Iterator[SegmentProgress]:
    """Train a tokenizer on the raw text of a treebank, as ``SpaceAfter`` and ``# newpar`` give it.

    Args:
        tokenizer: what learns; it can be used after each pass.
        treebank: sentences in the order of the text.
        dev: another treebank to score on after each pass.
        epochs: passes over the treebank.
        seed: decides the order of paragraphs in each pass.
        prune: weights below this part of the largest are left out.

    Raises:
        ConfigError: there is no pass to make.
        DataError: the treebank is empty.
    """
    if epochs < 1:
        raise ConfigError(f"expected at least 1 epoch, found {epochs}")
    if not treebank:
        raise DataError("expected at least one sentence to learn from, found none")
    from treetune.models.tokenizer.learner import TokenizerLearner
    from treetune.models.tokenizer.multiword import MultiwordTable
    from treetune.models.tokenizer.tokenizer import TokenizerWeights

    text = list(paragraphs(example.sentence for example in treebank))
    multiword = MultiwordTable.learn(
        (paragraph.text[start:end], words)
        for paragraph in text
        for spans, parts in zip(paragraph.tokens, paragraph.words, strict=True)
        for (start, end), words in zip(spans, parts, strict=True)
    )
    learner = TokenizerLearner(text, tokenizer.token_templates, tokenizer.sentence_templates, seed=seed)
    for epoch in range(1, epochs + 1):
        learner.learn()
        tokens, sentences = learner.freeze(prune=prune)
        tokenizer.weights = TokenizerWeights(tokens, sentences, learner.gold.runs, multiword)
        yield SegmentProgress(epoch, epochs, None if dev is None else score_tokenizer(tokenizer, dev))


def score_tokenizer(tokenizer: Tokenizer, gold: Sequence[Example]) -> TextScores:
    """Return the scores of a tokenizer on the raw text of a treebank; those of tags and trees mean nothing."""
    text = raw_text(example.sentence for example in gold)
    found = (Example(sentence, Tree.unknown(len(sentence))) for sentence in tokenizer.sentences(text))
    return evaluate_text(gold, found)
