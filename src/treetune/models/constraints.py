"""Partial trees to arrays of fixed heads and labels, refused where no single-root tree fits."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import UNKNOWN_HEAD, Sentence, Tree, name_sentence
from treetune.corpus.wellformed import find_cycle
from treetune.errors import DataError
from treetune.models.labels import NO_LABEL, LabelTable


def encode_fixed(
    sentences: Sequence[Sentence], fixed: Sequence[Tree], *, labels: LabelTable, crossing: bool = False
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return fixed heads and labels over all tokens, -1 where unknown.

    A label that is not in the table is left open, with a warning. Raises DataError, naming the sentence, where they
    cannot all be respected: by a projective tree, or by any if arcs may cross.
    """
    if len(fixed) != len(sentences):
        raise DataError(f"expected {len(sentences)} partial trees, one a sentence, found {len(fixed)}")
    ids = labels.ids()
    only_root, never_root = labels.root_labels()
    heads: list[int] = []
    numbers: list[int] = []
    for number, (sentence, tree) in enumerate(zip(sentences, fixed, strict=True), start=1):
        try:
            tree_heads, tree_labels = _known(sentence, tree, ids)
            _add_root_by_label(tree_heads, tree_labels, only_root)
            check_feasible(tree_heads, crossing=crossing)
            _check_root(tree_heads, tree_labels, never_root, crossing=crossing)
        except DataError as error:
            raise DataError(f"{name_sentence(number, sentence)}: {error.problem}") from None
        heads += tree_heads
        numbers += tree_labels
    return np.array(heads, np.int32), np.array(numbers, np.int32)


def _known(sentence: Sentence, tree: Tree, ids: dict[str, int]) -> tuple[list[int], list[int]]:
    if len(tree) != len(sentence):
        raise DataError(f"expected a partial tree of {len(sentence)} words, found {len(tree)}")
    numbers = []
    for label in tree.labels:
        if label not in ids:
            warnings.warn(
                f"the model has never seen the fixed label {label!r}, which is left open; heads that are fixed with it "
                "are used",
                stacklevel=2,
            )
        numbers.append(ids.get(label, NO_LABEL))
    for word in range(1, len(tree.heads)):
        head = tree.heads[word]
        if not UNKNOWN_HEAD <= head <= len(tree) or head == word:
            raise DataError(f"word {word} has the fixed head {head}, expected another word from 0 to {len(tree)}")
    return list(tree.heads), numbers


def _add_root_by_label(heads: list[int], labels: list[int], only_root: NDArray[np.bool_]) -> None:
    """A label that only the root bears fixes the head too."""
    for word in range(1, len(heads)):
        if heads[word] == UNKNOWN_HEAD and labels[word] >= 0 and only_root[labels[word]]:
            heads[word] = 0


def check_feasible(heads: Sequence[int], *, crossing: bool = False) -> None:
    """Raise DataError unless some tree with one root, projective unless arcs may cross, has all known heads.

    Unknown heads are -1.
    """
    _check_cycles_and_roots(heads)
    if not crossing:
        _check_projective(heads)


def _check_cycles_and_roots(heads: Sequence[int]) -> None:
    roots = [word for word in range(1, len(heads)) if heads[word] == 0]
    if len(roots) > 1:
        raise DataError(f"words {roots[0]} and {roots[1]} are both fixed as the root, expected at most one")
    cycle = find_cycle(heads)
    if cycle:
        raise DataError(f"the fixed heads form a cycle: {' -> '.join(str(word) for word in (*cycle, cycle[0]))}")


def _check_projective(heads: Sequence[int]) -> None:
    """Raise DataError unless a projective tree has the known heads, which have no cycle and at most one root.

    That is so when no two arcs cross and every word under an arc can be under its head: following known heads
    up from it leads to an end of the arc, or ends under the arc at a word whose head is still free.
    """
    for word in range(1, len(heads)):
        head = heads[word]
        if head < 1:
            continue
        low, high = min(word, head), max(word, head)
        for covered in range(low + 1, high):
            top = covered
            while low < top < high and heads[top] != UNKNOWN_HEAD:
                top = heads[top]
            if top not in (head, word) and (not low < top < high or _is_above(heads, top, head)):
                raise _not_projective(head, word, covered)
    if not is_projective(heads):
        raise _crossing(heads)


def _is_above(heads: Sequence[int], ancestor: int, word: int) -> bool:
    while word > 0:
        word = heads[word]
        if word == ancestor:
            return True
    return False


def _not_projective(head: int, word: int, covered: int) -> DataError:
    return DataError(
        f"the fixed arc from {head} to {word} cannot be in a projective tree with what is fixed for word {covered}; "
        "leave one of them open"
    )


def _crossing(heads: Sequence[int]) -> DataError:
    """Name the first two arcs between words that cross."""
    known = [word for word in range(1, len(heads)) if heads[word] > 0]
    spans = {word: (min(word, heads[word]), max(word, heads[word])) for word in known}
    one, other = next(
        (one, other)
        for one in known
        for other in known
        if spans[one][0] < spans[other][0] < spans[one][1] < spans[other][1]
    )
    return DataError(
        f"the fixed arcs from {heads[one]} to {one} and from {heads[other]} to {other} cross; leave one of them open"
    )


def _check_root(heads: list[int], labels: list[int], never_root: NDArray[np.bool_], *, crossing: bool) -> None:
    """Some word must be free to be the root."""
    for word in range(1, len(heads)):
        if heads[word] == 0 and labels[word] >= 0 and never_root[labels[word]]:
            raise DataError(f"word {word} is fixed as the root with a label that the model never gives to a root")
    if 0 in heads[1:] or len(heads) == 1:
        return
    covered = np.zeros(len(heads) + 1, np.int64)
    for word in range(1, len(heads)):
        if heads[word] > 0 and not crossing:
            covered[min(word, heads[word]) + 1] += 1
            covered[max(word, heads[word])] -= 1
    inside = np.cumsum(covered)[: len(heads)]
    for word in range(1, len(heads)):
        if heads[word] == UNKNOWN_HEAD and inside[word] == 0 and not (labels[word] >= 0 and never_root[labels[word]]):
            return
    raise DataError("no word is left that could be the root; leave the head of one open")
