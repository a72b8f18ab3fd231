"""What one run found to text and back: what of each word was right, numbers of each sentence; to compare runs later."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

from treetune import Example, Tree
from treetune.evaluation import Counts, Scores
from treetune.evaluation.scores import LABELLED, RIGHT_HEAD, RIGHT_LABEL

RIGHT_ARC = LABELLED | RIGHT_HEAD | RIGHT_LABEL

METRICS = ("UAS", "LAS", "root", "UCM", "LCM")
"""What is kept of every run."""
DERIVED = ("UALS", "LALS", "UALS_mean", "LALS_mean")
"""What can be told from what was right of each word, together with gold."""


def pack(scores: Scores) -> dict[str, str]:
    """Return one byte a word and one a sentence (whether the root is right), compressed, as text."""
    roots = bytes(counts.right_root_sentences for counts in scores.per_sentence)
    return {"words": _to_text(scores.outcomes), "roots": _to_text(roots)}


def pack_numbers(numbers: Sequence[Any]) -> str:
    """Return a number of each sentence, or several, compressed, as text."""
    return _to_text(json.dumps(numbers).encode())


def unpack_numbers(packed: str) -> list[Any]:
    """Return what `pack_numbers` was given."""
    found: list[Any] = json.loads(_from_text(packed))
    return found


def unpack(packed: dict[str, str], gold: Sequence[Example]) -> Scores:
    """Return scores that agree with the packed ones on all `METRICS` and those `DERIVED`; others are left out."""
    words, roots = _from_text(packed["words"]), _from_text(packed["roots"])
    per_sentence, start = [], 0
    for example, root in zip(gold, roots, strict=True):
        end = start + len(example.sentence)
        per_sentence.append(_counts(words[start:end], root, example.gold))
        start = end
    return Scores(tuple(per_sentence), words, by_label={}, by_length={}, punct=True, subtypes=True)


def _counts(words: bytes, root: int, gold: Tree) -> Counts:
    lengths = [abs(word - head) for word, head in enumerate(gold.heads)][1:]
    labelled = [bits for bits in words if bits & LABELLED]
    heads = sum(bool(bits & RIGHT_HEAD) for bits in words)
    arcs = sum(map(_is_right, labelled))
    return Counts(
        sentences=1,
        words=len(words),
        right_heads=heads,
        labelled_words=len(labelled),
        right_arcs=arcs,
        rooted_sentences=1,
        right_root_sentences=root,
        scored_sentences=1,
        complete_heads=int(heads == len(words)),
        labelled_sentences=int(bool(labelled)),
        complete_arcs=int(heads == len(words) and arcs == len(labelled)),
        length=sum(lengths),
        right_length=sum(length for bits, length in zip(words, lengths, strict=True) if bits & RIGHT_HEAD),
        labelled_length=sum(length for bits, length in zip(words, lengths, strict=True) if bits & LABELLED),
        right_labelled_length=sum(length for bits, length in zip(words, lengths, strict=True) if _is_right(bits)),
    )


def _is_right(bits: int) -> bool:
    return bits & RIGHT_ARC == RIGHT_ARC


def _to_text(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, level=9)).decode("ascii")


def _from_text(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))
