"""Whether heads form a tree with one root. Index 0 is the artificial root and its head is -1."""

from __future__ import annotations

from collections.abc import Sequence

from treetune.corpus.sentence import UNKNOWN_HEAD


def is_tree(heads: Sequence[int], *, partial: bool = False) -> bool:
    """Whether the heads make a tree with one root; with `partial`, whether they are part of one.

    Heads must lie between 0 and n; -1 is an unknown head, never allowed without `partial`.
    """
    if not heads or min(heads[1:], default=0) < UNKNOWN_HEAD or max(heads) >= len(heads):
        return False
    roots = heads.count(0)
    if partial:
        return roots <= 1 and not find_cycle(heads)
    return roots == 1 and heads.count(UNKNOWN_HEAD) == 1 and not find_cycle(heads)


def find_cycle(heads: Sequence[int]) -> tuple[int, ...]:
    """Return the words of a cycle, each followed by its head and the smallest first, or ``()``.

    Every word is entered once, so the cost is linear.
    """
    # 0: not seen; otherwise the word from which the walk upwards that saw it began.
    seen = [0] * len(heads)
    for start in range(1, len(heads)):
        word = start
        while word > 0 and not seen[word]:
            seen[word] = start
            word = heads[word]
        if word > 0 and seen[word] == start:
            return _cycle_through(heads, word)
    return ()


def _cycle_through(heads: Sequence[int], word: int) -> tuple[int, ...]:
    cycle = [word]
    while heads[cycle[-1]] != word:
        cycle.append(heads[cycle[-1]])
    turn = cycle.index(min(cycle))
    return tuple(cycle[turn:] + cycle[:turn])
