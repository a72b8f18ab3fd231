"""Numbers of words with their input tags, for lexicons that know the tags of both together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treetune.features.encoding import FIRST_ID


@dataclass(frozen=True)
class WordPairs:
    """Numbers of pairs of a word and its input tag: those of pairs seen in training come after those of tags.

    A pair that was not seen has the number of its tag; `codes` are the seen ones, sorted, ``word * tags + tag``.
    """

    codes: NDArray[np.int64]
    tags: int

    @classmethod
    def learn(cls, words: NDArray[np.int32], inputs: NDArray[np.int32], tags: int) -> WordPairs:
        """Collect the pairs of known words with known tags."""
        known = (words >= FIRST_ID) & (inputs >= FIRST_ID)
        return cls(np.unique(words[known].astype(np.int64) * tags + inputs[known]), tags)

    def __len__(self) -> int:
        """Return one more than the largest number."""
        return self.tags + len(self.codes)

    def numbers(self, words: NDArray[np.int32], inputs: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the numbers of pairs."""
        if not len(self.codes):
            return inputs
        codes = words.astype(np.int64) * self.tags + inputs
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[places] == codes, self.tags + places, inputs).astype(np.int32)

    def tag_of(self, number: int) -> int:
        """Return the input tag of a pair."""
        return number if number < self.tags else int(self.codes[number - self.tags]) % self.tags
