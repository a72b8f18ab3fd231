"""Online learning of a tokenizer: averaged logistic regression over the boundaries in raw text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.rawtext import PARAGRAPH_BREAK, Paragraph
from treetune.models.learning_options import DEFAULT_SEED
from treetune.models.tokenizer import _kernels as kernels
from treetune.models.tokenizer.characters import KIND, Text, encode_text
from treetune.models.tokenizer.chunks import find_chunks, make_tokens
from treetune.models.tokenizer.multiword import is_joined
from treetune.models.tokenizer.runs import find_runs
from treetune.models.tokenizer.script_learner import ScriptLearner
from treetune.models.tokenizer.templates import make_workspace
from treetune.models.tokenizer.tokenizer import TokenizerWeights
from treetune.weights.flat import FlatLiveWeights

LEARNING_RATE = 0.1
# The chunks that are learned at a time: of a longer paragraph, parts in a random order.
_UNIT = 256


class GoldText(NamedTuple):
    """Paragraphs as one text, with what follows each of its characters."""

    text: Text
    marks: NDArray[np.uint8]
    runs: kernels.Runs


def gold_text(paragraphs: Sequence[Paragraph]) -> GoldText:
    """Return the text of paragraphs as kernels read it."""
    text = encode_text(PARAGRAPH_BREAK.join(paragraph.text for paragraph in paragraphs))
    marks = np.zeros(len(text.kinds), np.uint8)
    offset = 0
    for paragraph in paragraphs:
        for spans, words in zip(paragraph.tokens, paragraph.words, strict=True):
            for (start, end), parts in zip(spans, words, strict=True):
                marks[offset + end - 1] = kernels.TOKEN
                if len(parts) > 1 and is_joined(paragraph.text[start:end], parts):
                    indices = np.cumsum([len(part) for part in parts[:-1]])
                    marks[offset + start + indices - 1] = kernels.SPLIT
            if spans:
                marks[offset + spans[-1][1] - 1] = kernels.SENTENCE
        offset += len(paragraph.text) + len(PARAGRAPH_BREAK)
    return GoldText(text, marks, find_runs(text, marks))


class TokenizerLearner:
    """Live weights of all decisions of a tokenizer, and the text they are trained on."""

    def __init__(
        self,
        paragraphs: Sequence[Paragraph],
        templates: dict[str, kernels.Templates],
        *,
        seed: int = DEFAULT_SEED,
        learning_rate: float = LEARNING_RATE,
    ) -> None:
        self.gold = gold_text(paragraphs)
        self.templates = (templates["tokens"], templates["sentences"])
        self._works = tuple(map(make_workspace, self.templates, (kernels.BOUNDARY_ATOMS, kernels.GAP_ATOMS)))
        self._learning_rate = learning_rate
        self._done = 0
        self._random = np.random.default_rng(seed)
        self._chunks = find_chunks(self.gold.text)
        self._first_chunks = _units(_firsts(self._chunks.gaps))
        self._tokens = _gold_tokens(self.gold, self._chunks)
        kernels.describe_tokens(self.gold.text, self._tokens, len(self._tokens.starts))
        self._first_tokens = _firsts(self._tokens.gaps)
        self._is_last = self.gold.marks[self._tokens.ends - 1] == kernels.SENTENCE
        self._words = ScriptLearner(paragraphs, self.gold.text, self._tokens, templates["words"])
        self.weights = (FlatLiveWeights(), FlatLiveWeights(), self._words.weights)

    def learn(self) -> None:
        """Go once over all paragraphs, in a random order."""
        gold = self.gold
        order = self._random.permutation(len(self._first_chunks) - 1)
        for _ in self._steps(0, order):
            live = self.weights[0]
            self._done = kernels.learn_chunks(
                gold.text, self._chunks, self._first_chunks, order, self._done, gold.marks, gold.runs,
                self.templates[0], live.store, live.averages, self._works[0], self._learning_rate,
            )  # fmt: skip
        order = self._random.permutation(len(self._first_tokens) - 1)
        for _ in self._steps(1, order):
            live = self.weights[1]
            self._done = kernels.learn_sentences(
                gold.text, self._tokens, self._first_tokens, order, self._done, self._is_last, gold.runs,
                self.templates[1], live.store, live.averages, self._works[1], self._learning_rate,
            )  # fmt: skip
        self._words.learn(self._words.order(self._random), self._learning_rate)

    def _steps(self, which: int, order: NDArray[np.int64]) -> Iterator[None]:
        """Yield until all paragraphs are done, making room each time a kernel stops for want of it."""
        self._done = 0
        firsts = self._first_tokens if which else self._first_chunks
        while self._done < len(order):
            paragraph = order[self._done]
            # As many changes as the kernel may make here: two for each feature of each character, or one of each token.
            first, last = int(firsts[paragraph]), int(firsts[paragraph + 1])
            size = last - first if which else 2 * int(self._chunks.ends[last - 1] - self._chunks.starts[first])
            self.weights[which].grow(len(self.templates[which].seeds) * size)
            yield

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the live weights of all decisions, for a checkpoint."""
        return {
            f"{which}.{name}": array
            for which, live in enumerate(self.weights)
            for name, array in live.tensors().items()
        }

    def restore(self, tensors: dict[str, NDArray[Any]], epochs: int) -> None:
        """Continue after `epochs` passes from the weights that they gave."""
        for which, live in enumerate(self.weights):
            own = {name[2:]: array for name, array in tensors.items() if name.startswith(f"{which}.")}
            live.restore(own)
        for _ in range(epochs):
            self._random.permutation(len(self._first_chunks) - 1)
            self._random.permutation(len(self._first_tokens) - 1)
            self._words.order(self._random)

    def freeze(self, *, prune: float) -> TokenizerWeights:
        """Return the averaged weights of all decisions."""
        tokens, sentences, words = (live.freeze(prune=prune) for live in self.weights)
        scripts = self._words.scripts
        return TokenizerWeights(tokens, sentences, self.gold.runs, scripts, words if scripts else None)


def _gold_tokens(gold: GoldText, chunks: kernels.Chunks) -> kernels.Tokens:
    # A token that is written with a space inside is two for us.
    is_end = gold.marks >= kernels.TOKEN
    is_end[chunks.ends - 1] = True
    is_start = np.zeros(len(is_end), np.bool_)
    is_start[1:] = is_end[:-1] & (gold.text.kinds[1:] != KIND["space"])
    is_start[chunks.starts] = True
    tokens = make_tokens(int(is_end.sum()))
    tokens.starts[:] = np.flatnonzero(is_start)
    tokens.ends[:] = np.flatnonzero(is_end) + 1
    tokens.gaps[:] = kernels.NOTHING
    tokens.gaps[np.searchsorted(tokens.starts, chunks.starts)] = chunks.gaps
    return tokens


def _firsts(gaps: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return where each paragraph begins, and where the last one ends."""
    first = np.flatnonzero(gaps == kernels.PARAGRAPH)
    return np.concatenate([[0], first, [len(gaps)]]).astype(np.int64)


def _units(firsts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bounds of paragraphs with those of the parts into which longer ones are cut."""
    return np.union1d(firsts, np.arange(0, firsts[-1], _UNIT))
