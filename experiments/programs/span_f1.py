"""1 - F1 of the spans of subtrees: a loss as an external program, which does not import treetune.

The span of a word is from the first to the last word of its subtree. One wrong arc can change many spans, and a
ratio of counts over a sentence is no sum over arcs: no parser could optimise it by search.

Reads one JSON object a line, ``{"sentence": …, "candidate": {"heads": [null, …]}, "reference": {"heads": [null, …]}}``,
and answers one number a line. The first head is that of the root, which has none.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence


def spans(heads: Sequence[int]) -> Counter[tuple[int, int]]:
    """Return the spans of more than one word."""
    count = len(heads) - 1
    first, last = list(range(count + 1)), list(range(count + 1))
    for word in range(1, count + 1):
        above, steps = heads[word], 0
        while above > 0 and steps < count:
            first[above], last[above] = min(first[above], word), max(last[above], word)
            above, steps = heads[above], steps + 1
    return Counter((first[word], last[word]) for word in range(1, count + 1) if first[word] < last[word])


def cost(candidate: Sequence[int], reference: Sequence[int]) -> float:
    """Return 1 - F1 of two lists of heads."""
    found, wanted = spans(candidate), spans(reference)
    whole = found.total() + wanted.total()
    return 1 - 2 * (found & wanted).total() / whole if whole else 0.0


def main() -> None:
    """Answer every line at once: whoever asks waits for it."""
    for line in sys.stdin:
        task = json.loads(line)
        print(cost(task["candidate"]["heads"], task["reference"]["heads"]), flush=True)


if __name__ == "__main__":
    main()
