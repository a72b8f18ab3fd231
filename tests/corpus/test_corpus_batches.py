"""Batches are bounded in sentences and in characters."""

from __future__ import annotations

from treetune.corpus.batches import BATCH, BATCH_CHARACTERS, take_batch
from treetune.corpus.sentence import Example, Sentence, Tree


def test_a_batch_has_a_thousand_sentences_at_most() -> None:
    sentences = iter([Sentence.of(["a"])] * (BATCH + 1))
    assert [len(take_batch(sentences)) for _ in range(3)] == [BATCH, 1, 0]


def test_long_sentences_make_small_batches() -> None:
    long = Sentence.of(["a" * (BATCH_CHARACTERS // 2)])
    assert [len(take_batch(iter([long] * 5)))] == [2]
    examples = iter([Example(long, Tree.unknown(1))] * 5)
    assert [len(take_batch(examples)) for _ in range(4)] == [2, 2, 1, 0]
