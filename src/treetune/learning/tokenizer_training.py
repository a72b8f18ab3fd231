"""Train a tokenizer on the raw text of a treebank, as a generator of progress reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treetune.checked_state import expected
from treetune.corpus.document import ParsedSentence
from treetune.corpus.rawtext import paragraphs, raw_text
from treetune.corpus.sentence import Example, Tree
from treetune.errors import ConfigError, DataError
from treetune.evaluation.alignment import TextScores, evaluate_text
from treetune.learning.checkpoints import Checkpoint, fingerprint
from treetune.models.learning_options import DEFAULT_SEED

if TYPE_CHECKING:
    from treetune.models.tokenizer.tokenizer import Tokenizer

EPOCHS = 8
# Weights smaller than this part of the largest are dropped.
PRUNE = 0.01


@dataclass(frozen=True, slots=True)
class TokenizerProgress:
    """The end of an epoch, with scores if there is a dev; `resumed` marks the last epoch before an interruption."""

    epoch: int
    epochs: int
    dev: TextScores | None
    resumed: bool = False


def train_tokenizer(
    tokenizer: Tokenizer,
    treebank: Sequence[Example],
    *,
    dev: Sequence[Example] | None = None,
    epochs: int = EPOCHS,
    seed: int = DEFAULT_SEED,
    prune: float = PRUNE,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Iterator[TokenizerProgress]:
    """Train a tokenizer on the raw text of a treebank, as ``SpaceAfter`` and ``# newpar`` give it.

    Args:
        tokenizer: Is given the averaged weights after each epoch.
        treebank: Sentences in the order of the text.
        dev: Another treebank to score on after each epoch.
        epochs: Passes over the treebank.
        seed: Shuffles the paragraphs in each pass.
        prune: Weights below this part of the largest are pruned.
        checkpoint: A file to which the state of the training is written after each epoch.
        resume: Whether to resume from `checkpoint`, if it exists; the result is the same as without the interruption.
    """
    if epochs < 1:
        raise ConfigError(f"expected at least 1 epoch, found {epochs}")
    if not treebank:
        raise DataError("expected at least one sentence to train on, found none")
    if resume and checkpoint is None:
        raise ConfigError("expected a checkpoint to resume from, found none")
    file = None
    if checkpoint is not None:
        templates = tokenizer.templates
        arrays = {
            f"{name}.{key}": np.asarray(array) for name in templates for key, array in templates[name]._asdict().items()
        }
        options = {"epochs": epochs, "seed": seed, "prune": prune}
        file = Checkpoint(checkpoint, fingerprint(options, ({}, arrays), treebank, dev or ()))
    training = _train(tokenizer, treebank, dev, epochs=epochs, seed=seed, prune=prune, file=file, resume=resume)
    return training if file is None else file.held(training)


def _train(
    tokenizer: Tokenizer,
    treebank: Sequence[Example],
    dev: Sequence[Example] | None,
    *,
    epochs: int,
    seed: int,
    prune: float,
    file: Checkpoint | None,
    resume: bool,
) -> Iterator[TokenizerProgress]:
    from treetune.models.tokenizer.learner import TokenizerLearner

    def progress(epoch: int, *, resumed: bool = False) -> TokenizerProgress:
        return TokenizerProgress(epoch, epochs, None if dev is None else score_tokenizer(tokenizer, dev), resumed)

    text = list(paragraphs(example.sentence for example in treebank))
    learner = TokenizerLearner(text, tokenizer.templates, seed=seed)
    done = 0
    if resume and file is not None and (state := file.read()) is not None:
        with file.restoring():
            done = state["epoch"]
            if type(done) is not int or not 1 <= done <= epochs:
                raise expected("epoch", f"one of {epochs} epochs", done)
            learner.restore(state["learner"], done)
            tokenizer.weights = type(tokenizer).from_state(*state["best"]).weights
        yield progress(done, resumed=True)
    for epoch in range(done + 1, epochs + 1):
        learner.learn()
        tokenizer.weights = learner.freeze(prune=prune)
        if file is not None:
            file.write({"epoch": epoch}, learner.tensors(), tokenizer.state())
        yield progress(epoch)


def score_tokenizer(tokenizer: Tokenizer, gold: Sequence[Example]) -> TextScores:
    """Return the scores of a tokenizer on the raw text of a treebank; those of tags and trees are meaningless."""
    text = raw_text(example.sentence for example in gold)
    found = (ParsedSentence(sentence, Tree.unknown(len(sentence))) for sentence in tokenizer.sentences(text))
    return evaluate_text(gold, found)
