"""Online learning of the scripts of multiword tokens: averaged logistic regression over the tokens that scripts fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.rawtext import PARAGRAPH_BREAK, Paragraph
from treetune.models.tokenizer import _kernels as kernels
from treetune.models.tokenizer import _word_kernels as word_kernels
from treetune.models.tokenizer.characters import Text
from treetune.models.tokenizer.multiword import Scripts, Words
from treetune.models.tokenizer.templates import make_workspace
from treetune.weights.flat import FlatLiveWeights

# Tokens for whose features room is made at a time.
_BATCH = 1024


class ScriptLearner:
    """The scripts of a treebank, the tokens that they fit, and live weights."""

    def __init__(
        self, paragraphs: Sequence[Paragraph], text: Text, tokens: kernels.Tokens, templates: kernels.Templates
    ) -> None:
        gold = dict(_gold_words(paragraphs))
        written = PARAGRAPH_BREAK.join(paragraph.text for paragraph in paragraphs)
        spans = list(zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True))
        forms = [written[start:end] for start, end in spans]
        words = [gold.get(span, (form,)) for span, form in zip(spans, forms, strict=True)]
        self.scripts = Scripts.learn(zip(forms, words, strict=True))
        self.weights = FlatLiveWeights()
        self._text, self._tokens, self._templates = text, tokens, templates
        self._work = make_workspace(templates, word_kernels.WORD_ATOMS)
        self._candidates = self.scripts.candidates(forms)
        numbers = [self.scripts.gold(forms[token], words[token]) for token in self._candidates.tokens.tolist()]
        self._gold = np.array(numbers, np.int64)

    def order(self, random: np.random.Generator) -> NDArray[np.int64]:
        """Return the tokens of a pass in a random order."""
        return random.permutation(len(self._gold))

    def learn(self, order: NDArray[np.int64], rate: float) -> None:
        """Go once over all tokens that scripts fit."""
        most = int(np.diff(self._candidates.starts).max(initial=0)) * len(self._templates.seeds)
        for first in range(0, len(order), _BATCH):
            batch = order[first : first + _BATCH]
            self.weights.grow(most * len(batch))
            word_kernels.learn_scripts(
                self._text, self._tokens, self._candidates, self._gold, batch, self._templates,
                self.weights.store, self.weights.averages, self._work, rate,
            )  # fmt: skip


def _gold_words(paragraphs: Sequence[Paragraph]) -> list[tuple[tuple[int, int], Words]]:
    """Return the words of all tokens by the offsets of these in the text of all paragraphs."""
    found, offset = [], 0
    for paragraph in paragraphs:
        for spans, words in zip(paragraph.tokens, paragraph.words, strict=True):
            found += [((offset + start, offset + end), parts) for (start, end), parts in zip(spans, words, strict=True)]
        offset += len(paragraph.text) + len(PARAGRAPH_BREAK)
    return found
