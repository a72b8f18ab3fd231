"""Sentences and the trees another parser gave them to sentences that carry these trees as guides.

A guided parser looks at the guide as it looks at tags (McDonald et al. 2005, Table 3; Nivre and McDonald 2008).
For training, the guides must come from parsers that have not seen the sentences: see `learning.jackknife`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from treetune.corpus.files import StrPath, display_name
from treetune.corpus.sentence import Example, Sentence, Tree, name_sentence
from treetune.corpus.treebank import read_trees
from treetune.errors import DataError

_SAME_SENTENCES = "a guide has the same sentences in the same order"


def with_guides(sentences: Sequence[Sentence], trees: Sequence[Tree]) -> list[Sentence]:
    """Return the sentences, each with its tree as guide; labels may be unknown, heads not.

    Raises:
        DataError: the numbers of sentences and trees differ, or a tree does not fit its sentence.
    """
    if len(trees) != len(sentences):
        raise DataError(f"expected as many guides as sentences, {len(sentences)}, found {len(trees)}")
    return [
        _guided(sentence, tree, number)
        for number, (sentence, tree) in enumerate(zip(sentences, trees, strict=True), start=1)
    ]


def attach_guides(examples: Iterable[Example], path: StrPath, *, file_format: str | None = None) -> Iterator[Example]:
    """Yield the examples, each with the tree of the same sentence in the file `path` as guide.

    Both are read side by side, so that neither need fit into memory.

    Args:
        examples: what is to be guided.
        path: a treebank file with every head; it may lack labels.
        file_format: ``"conllu"`` or ``"conllx"``; without it the suffix decides.

    Raises:
        DataError: the file has other sentences, or some word in it has no head.
    """
    # Partial trees are read so that a few missing labels do no harm; missing heads are refused below.
    return _side_by_side(examples, read_trees(path, file_format=file_format, partial=True), display_name(path))


def _side_by_side(examples: Iterable[Example], guides: Iterator[Example], path: str) -> Iterator[Example]:
    number = 0
    for number, example in enumerate(examples, start=1):
        guide = next(guides, None)
        if guide is None:
            raise DataError(
                f"expected a tree for {name_sentence(number, example.sentence)}, found the end of the file; "
                f"{_SAME_SENTENCES}",
                path=path,
            )
        try:
            _check_words(example.sentence, guide.sentence, number)
            sentence = _guided(example.sentence, guide.gold, number)
        except DataError as error:
            raise DataError(error.problem, path=path) from None
        yield replace(example, sentence=sentence)
    surplus = sum(1 for _ in guides)
    if surplus:
        raise DataError(
            f"expected {number} sentences, as many as are to be guided, found {number + surplus}; {_SAME_SENTENCES}",
            path=path,
        )


def _check_words(sentence: Sentence, other: Sentence, number: int) -> None:
    if sentence.forms == other.forms:
        return
    for word, (expected, found) in enumerate(zip(sentence.words, other.words, strict=False), start=1):
        if expected != found:
            raise DataError(
                f"{name_sentence(number, sentence)}: expected {expected!r} as word {word}, found {found!r}; "
                f"{_SAME_SENTENCES}"
            )
    raise DataError(
        f"{name_sentence(number, sentence)}: expected {len(sentence)} words, found {len(other)}; {_SAME_SENTENCES}"
    )


def _guided(sentence: Sentence, tree: Tree, number: int) -> Sentence:
    size = len(sentence)
    if not len(tree.heads) == len(tree.labels) == size + 1:
        raise DataError(
            f"{name_sentence(number, sentence)}: expected a guide with {size} heads and {size} labels, "
            f"found {len(tree.heads) - 1} and {len(tree.labels) - 1}"
        )
    for word, head in enumerate(tree.heads[1:], start=1):
        if not 0 <= head <= size:
            raise DataError(
                f"{name_sentence(number, sentence)}: expected a guide with a head from 0 to {size} for word {word} "
                f"({sentence.forms[word]!r}), found {'none' if head < 0 else head}; a guide has a head for every word"
            )
    return replace(sentence, guide=tree)
