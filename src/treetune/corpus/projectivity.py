"""Trees to projective trees and back: the pseudo-projective transform of Nivre and Nilsson 2005.

Each arc that no projective parser could build is lifted to the head of its head, the shortest arc first,
until the tree is projective; the label keeps what is needed to undo it. ``obj↑ccomp`` is an ``obj`` whose
head was a ``ccomp`` further down (their scheme Head), and ``ccomp↓`` is a word on the way down to it
(Head+Path). Neither arrow can occur in a label of Universal Dependencies: those are letters, colons and
underscores.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from itertools import chain

from treetune.corpus.sentence import Tree
from treetune.errors import ConfigError, DataError

LIFTED = "↑"
PATH = "↓"
SCHEMES = ("head", "head+path")


def is_projective(heads: Sequence[int]) -> bool:
    """Whether no two arcs cross, the arc from the artificial root at 0 included; in O(n log n).

    In a partial tree, words without a head are left out.
    """
    arcs = [(head, -word) if head < word else (word, -head) for word, head in enumerate(heads) if head >= 0]
    arcs.sort()
    # By left end, the longer first: an arc must close within every arc that is still open.
    ends: list[int] = []
    for left, right in arcs:
        while ends and ends[-1] <= left:
            ends.pop()
        if ends and ends[-1] < -right:
            return False
        ends.append(-right)
    return True


def plain_label(label: str) -> str:
    """Return a label without the marks of the transform."""
    return label.removesuffix(PATH).partition(LIFTED)[0]


def projectivize(tree: Tree, *, scheme: str = "head") -> Tree:
    """Return a projective tree over the same words, the tree itself if it is projective.

    Lifted words keep a mark in their label, unless the tree has no labels. `scheme` is ``"head"`` or
    ``"head+path"``, which recovers a little more at the price of more labels.
    """
    if scheme not in SCHEMES:
        raise ConfigError(f"unknown scheme {scheme!r}; known: {', '.join(SCHEMES)}")
    if not tree.is_complete:
        raise DataError("a tree with unknown heads cannot be made projective")
    for label in tree.labels:
        if LIFTED in label or PATH in label:
            raise DataError(f"expected labels without {LIFTED} and {PATH}, found {label!r}", column="DEPREL")
    if is_projective(tree.heads):
        return tree
    heads = list(tree.heads)
    path: set[int] = set()
    while not is_projective(heads):
        word = _shortest_crossing(heads)
        path.add(heads[word])
        heads[word] = heads[heads[word]]
    return Tree(tuple(heads), _marked(tree, heads, path if scheme == "head+path" else set()))


def _marked(tree: Tree, heads: list[int], path: set[int]) -> tuple[str, ...]:
    labels = list(tree.labels)
    if not any(labels):
        return tree.labels
    for word, head in enumerate(tree.heads):
        if heads[word] != head:
            labels[word] += LIFTED + tree.labels[head]
        if word in path:
            labels[word] += PATH
    return tuple(labels)


def _shortest_crossing(heads: list[int]) -> int:
    """Return the word at the end of the shortest arc over a word its head does not dominate, the leftmost."""
    order, last = _preorder(heads)

    def crosses(word: int) -> bool:
        head = heads[word]
        between = order[min(word, head) + 1 : max(word, head)]
        return bool(between) and (min(between) < order[head] or max(between) > last[head])

    by_length = sorted(range(1, len(heads)), key=lambda word: abs(heads[word] - word))
    return next(filter(crosses, by_length))


def _preorder(heads: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return for each word its index in preorder, and the last index in its subtree."""
    children = _children(heads)
    order, last = [0] * len(heads), [0] * len(heads)
    walk: list[int] = []
    stack = [0]
    while stack:
        word = stack.pop()
        order[word] = last[word] = len(walk)
        walk.append(word)
        stack.extend(children[word])
    for word in reversed(walk[1:]):
        last[heads[word]] = max(last[heads[word]], last[word])
    return order, last


def _children(heads: Sequence[int]) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in heads]
    for word in range(1, len(heads)):
        children[heads[word]].append(word)
    return children


def deprojectivize(tree: Tree) -> Tree:
    """Return the tree with lifted words back under the heads that their labels ask for.

    From the head of a lifted word the search goes down breadth first, left to right, along ``↓`` where there
    are such marks and otherwise everywhere, to the first word with the wanted label; if there is none, the
    word stays. All marks go.
    """
    if not any(LIFTED in label or PATH in label for label in tree.labels):
        return tree
    labels = tuple(map(plain_label, tree.labels))
    on_path = {word for word, label in enumerate(tree.labels) if label.endswith(PATH)}
    heads = list(tree.heads)
    children = _children(heads)

    def lower(word: int) -> bool:
        wanted = tree.labels[word].removesuffix(PATH).partition(LIFTED)[2]
        marked = _below(children, heads[word], without=word, only=on_path)
        anywhere = _below(children, heads[word], without=word)
        target = next((node for node in chain(marked, anywhere) if labels[node] == wanted), None)
        if target is None:
            return False
        children[heads[word]].remove(word)
        heads[word] = target
        insort(children[target], word)
        return True

    waiting = [word for word in _below(children, 0) if LIFTED in tree.labels[word]]
    # A head may itself have been lifted away, so what was not found is sought again when others have moved.
    while waiting != (again := [word for word in waiting if not lower(word)]):
        waiting = again
    return Tree(tuple(heads), labels)


def _below(
    children: list[list[int]], top: int, *, without: int | None = None, only: set[int] | None = None
) -> Iterator[int]:
    """Yield the words below one, level by level, not entering `without` nor words outside `only`."""
    level = [top]
    while level:
        level = [
            child for word in level for child in children[word] if child != without and (only is None or child in only)
        ]
        yield from level
