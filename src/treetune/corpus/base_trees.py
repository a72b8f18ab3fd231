"""Attach the trees of a base parser to sentences, for a stacked parser.

A stacked parser has features over the base tree, as over tags (McDonald et al. 2005, Table 3; Nivre and McDonald 2008).
For training, base trees must come from parsers that have not seen the sentences: see `learning.jackknife`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from treetune.corpus.files import StrPath, display_name
from treetune.corpus.sentence import Example, Sentence, Tree, name_sentence
from treetune.corpus.treebank import read_trees
from treetune.errors import DataError

_SAME_SENTENCES = "base trees belong to the same sentences in the same order"


def with_base_trees(sentences: Sequence[Sentence], trees: Sequence[Tree]) -> list[Sentence]:
    """Return the sentences, each with its tree as base tree; labels may be unknown, heads not.

    Raises:
        DataError: the numbers of sentences and trees differ, or a tree does not fit its sentence.
    """
    if len(trees) != len(sentences):
        raise DataError(f"expected as many base trees as sentences, {len(sentences)}, found {len(trees)}")
    return [
        _with_base_tree(sentence, tree, number)
        for number, (sentence, tree) in enumerate(zip(sentences, trees, strict=True), start=1)
    ]


def attach_base_trees(
    examples: Iterable[Example], path: StrPath, *, file_format: str | None = None
) -> Iterator[Example]:
    """Yield the examples, each with the tree of the same sentence in the file `path` as base tree.

    Both are read side by side, so that neither need fit into memory.

    Args:
        examples: sentences for a stacked parser.
        path: a treebank file with every head; it may lack labels.
        file_format: ``"conllu"`` or ``"conllx"``; without it the suffix decides.

    Raises:
        DataError: the file has other sentences, or some word in it has no head.
    """
    # Partial trees are read so that a few missing labels do no harm; missing heads are refused below.
    return _side_by_side(examples, read_trees(path, file_format=file_format, partial=True), display_name(path))


def _side_by_side(examples: Iterable[Example], base_trees: Iterator[Example], path: str) -> Iterator[Example]:
    number = 0
    for number, example in enumerate(examples, start=1):
        base = next(base_trees, None)
        if base is None:
            raise DataError(
                f"expected a tree for {name_sentence(number, example.sentence)}, found the end of the file; "
                f"{_SAME_SENTENCES}",
                path=path,
            )
        try:
            _check_words(example.sentence, base.sentence, number)
            sentence = _with_base_tree(example.sentence, base.gold, number)
        except DataError as error:
            raise DataError(error.problem, path=path) from None
        yield replace(example, sentence=sentence)
    surplus = sum(1 for _ in base_trees)
    if surplus:
        raise DataError(
            f"expected {number} sentences, as many as there are sentences to stack on, found {number + surplus}; "
            f"{_SAME_SENTENCES}",
            path=path,
        )


def _check_words(sentence: Sentence, other: Sentence, number: int) -> None:
    if sentence.forms == other.forms:
        return
    for word, (expected, found) in enumerate(zip(sentence.forms[1:], other.forms[1:], strict=False), start=1):
        if expected != found:
            raise DataError(
                f"{name_sentence(number, sentence)}: expected {expected!r} as word {word}, found {found!r}; "
                f"{_SAME_SENTENCES}"
            )
    raise DataError(
        f"{name_sentence(number, sentence)}: expected {len(sentence)} words, found {len(other)}; {_SAME_SENTENCES}"
    )


def _with_base_tree(sentence: Sentence, tree: Tree, number: int) -> Sentence:
    size = len(sentence)
    if not len(tree.heads) == len(tree.labels) == size + 1:
        raise DataError(
            f"{name_sentence(number, sentence)}: expected a base tree with {size} heads and {size} labels, "
            f"found {len(tree.heads) - 1} and {len(tree.labels) - 1}"
        )
    for word, head in enumerate(tree.heads[1:], start=1):
        if not 0 <= head <= size:
            raise DataError(
                f"{name_sentence(number, sentence)}: expected a base tree with a head from 0 to {size} for word "
                f"{word} ({sentence.forms[word]!r}), found {'none' if head < 0 else head}; "
                "a base tree has a head for every word"
            )
    return replace(sentence, base_tree=tree)
