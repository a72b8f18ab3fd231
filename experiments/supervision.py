"""What an annotator is asked for: a gold tree goes in, the part of it that a cheap question would tell comes out."""

from __future__ import annotations

import random
from collections.abc import Sequence

from treetune import Example, Tree

ROOT = "root"
EVERYTHING = "everything"
_UNKNOWN_HEAD, _UNKNOWN_LABEL = -1, ""


def keep(examples: Sequence[Example], known: str | int) -> list[Example]:
    """Return the examples with a part of their trees.

    Args:
        examples: Complete trees.
        known: "root" for the main verb alone; a number of arcs a sentence, labels included, of which the root's is
            one and the others are drawn at random, always the same; "everything" for the whole tree.
    """
    if known == EVERYTHING:
        return list(examples)
    if known == ROOT:
        return [_part(example, set(example.gold.roots)) for example in examples]
    return [_part(example, _draw(example, int(known))) for example in examples]


def _draw(example: Example, count: int) -> set[int]:
    roots = set(example.gold.roots)
    others = [word for word in range(1, len(example.gold) + 1) if word not in roots]
    drawn = random.Random(" ".join(example.sentence.forms[1:])).sample(others, min(len(others), count - len(roots)))
    return roots | set(drawn)


def _part(example: Example, words: set[int]) -> Example:
    heads = [head if word in words else _UNKNOWN_HEAD for word, head in enumerate(example.gold.heads)]
    labels = [label if word in words else _UNKNOWN_LABEL for word, label in enumerate(example.gold.labels)]
    return Example(example.sentence, Tree(tuple(heads), tuple(labels)))
