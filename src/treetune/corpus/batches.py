"""Sentences to batches that are bounded in sentences and in characters, so that memory is too, whatever the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from treetune.corpus.sentence import Example, Sentence

T = TypeVar("T", Sentence, Example)

# Large enough to keep threads busy, small enough that memory does not grow with the file.
BATCH = 1000
# Characters of words: twice what so many sentences usually have.
BATCH_CHARACTERS = 1 << 18

# Texts, the number of sentences and of words in them, and of characters that were read before its last sentence.
TextChunk = tuple[Iterable[str], int, int, int]


def take_batch(items: Iterator[T]) -> list[T]:
    """Return the next items, as many as are processed together; none at the end."""
    batch: list[T] = []
    size = 0
    for item in items:
        batch.append(item)
        size += sum(map(len, item.sentence.forms if isinstance(item, Example) else item.forms))
        if len(batch) >= BATCH or size >= BATCH_CHARACTERS:
            break
    return batch
