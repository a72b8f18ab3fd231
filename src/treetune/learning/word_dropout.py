"""Word dropout: copies of sentences in which some words are unknown, against overfitting to a small objective.

A small set of sentences is seen many times beside a large treebank. The model then fits them by weights of single
words, and not by those of tags and structures, which generalize to other sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import ABSENT, Sentence

# Stands for a dropped word; no lexicon has it.
DROPPED = "\N{REPLACEMENT CHARACTER}"
# A pass over the sentences as they are is followed by a pass over each of so many copies, then again as they are.
COPIES = 7


def word_dropout(sentences: Sequence[Sentence], probability: float, seed: Sequence[int]) -> list[list[Sentence]]:
    """Return the sentences as they are, and `COPIES` copies in which words are dropped; their tags stay."""
    draw = np.random.default_rng(seed)
    copies = ([_drop(one, draw.random(len(one)) < probability) for one in sentences] for _ in range(COPIES))
    return [list(sentences), *copies]


def _drop(sentence: Sentence, is_dropped: NDArray[np.bool_]) -> Sentence:
    forms, lemmas = list(sentence.forms), list(sentence.lemmas)
    # Index 0 is the root.
    for index in np.flatnonzero(is_dropped) + 1:
        forms[index], lemmas[index] = DROPPED, ABSENT
    return replace(sentence, forms=tuple(forms), lemmas=tuple(lemmas))
