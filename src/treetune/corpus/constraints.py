"""What a user fixes before parsing, as partial trees: heads and deprels word by word, or the trees themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treetune.corpus.sentence import UNKNOWN_HEAD, UNKNOWN_LABEL, Sentence, Tree
from treetune.errors import DataError

# A head, a deprel, or both.
Arc = int | str | tuple[int, str]
# Partial trees, one a sentence; or arcs by (sentence from 0, word from 1).
Constraints = Tree | Sequence[Tree | None] | Mapping[tuple[int, int], Arc]


def partial_trees(sentences: Sequence[Sentence], constraints: Constraints) -> list[Tree]:
    """Return one partial tree a sentence; where nothing is fixed, all is unknown."""
    if isinstance(constraints, Mapping):
        return _trees_of_arcs(sentences, constraints)
    trees = [constraints] if isinstance(constraints, Tree) else list(constraints)
    if len(trees) != len(sentences):
        raise DataError(f"constraints: expected {len(sentences)} partial trees, one a sentence, found {len(trees)}")
    pairs = zip(sentences, trees, strict=True)
    return [Tree.unknown(len(sentence)) if tree is None else tree for sentence, tree in pairs]


def _trees_of_arcs(sentences: Sequence[Sentence], arcs: Mapping[tuple[int, int], Arc]) -> list[Tree]:
    """Return the partial trees of heads and deprels that are given word by word."""
    heads = [[UNKNOWN_HEAD] * (len(sentence) + 1) for sentence in sentences]
    labels = [[UNKNOWN_LABEL] * (len(sentence) + 1) for sentence in sentences]
    for key, value in arcs.items():
        number, word = key if isinstance(key, tuple) and len(key) == 2 else (-1, 0)
        if not 0 <= number < len(sentences) or not 1 <= word <= len(sentences[number]):
            raise DataError(
                f"constraints: expected (sentence, word), a sentence from 0 to {len(sentences) - 1} and a word of it "
                f"from 1, found {key!r}"
            )
        if isinstance(value, tuple):
            heads[number][word], labels[number][word] = value
        elif isinstance(value, str):
            labels[number][word] = value
        else:
            heads[number][word] = value
    return [Tree(tuple(row), tuple(names)) for row, names in zip(heads, labels, strict=True)]
