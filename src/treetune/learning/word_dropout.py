"""Sentences with some of their words hidden, so that what is known of a few of them is not learned by heart.

A small set of sentences goes round many times beside a large treebank. A model then has a weight for every word of
theirs, and nothing is left to learn for their tags and for the way they are built, which other sentences share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import ABSENT, Sentence

# Stands for a hidden word; no word list has it.
HIDDEN = "\N{REPLACEMENT CHARACTER}"
# A sentence is met as it is, and in so many other forms: one more in every pass over the data, then again as it is.
FORMS = 7


def word_dropout(sentences: Sequence[Sentence], share: float, seed: Sequence[int]) -> list[list[Sentence]]:
    """Return the sentences as they are, and `FORMS` times with other words hidden, each with the chance of `share`.

    Tags are not hidden.
    """
    draw = np.random.default_rng(seed)
    return [list(sentences), *([_hide(one, draw.random(len(one)) < share) for one in sentences] for _ in range(FORMS))]


def _hide(sentence: Sentence, is_hidden: NDArray[np.bool_]) -> Sentence:
    forms, lemmas = list(sentence.forms), list(sentence.lemmas)
    for place in np.flatnonzero(is_hidden):
        # The first place is the root's.
        forms[place + 1], lemmas[place + 1] = HIDDEN, ABSENT
    return replace(sentence, forms=tuple(forms), lemmas=tuple(lemmas))
