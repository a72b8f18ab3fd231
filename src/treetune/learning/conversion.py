"""Convert tags and trees of other treebanks to the conventions of one: annotation adaptation (Jiang et al. 2009).

A model of the other conventions annotates the treebank, which it has not seen. A second model learns the annotation of
the treebank with that of the first as features. It then annotates the other sentences, with the annotation that they
come with in place of the first model's.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from treetune.corpus.base_trees import with_base_trees
from treetune.corpus.sentence import ROOT, Example, Sentence, Tree
from treetune.corpus.tags import tagged, tags_of
from treetune.corpus.wellformed import is_tree
from treetune.learning.progress import Progress

# Every so-manieth sentence of the treebank tells which kinds of changes are reliable: those met so often, of which this
# share is right, and this share at most was right before.
HELD_OUT, FEWEST, RIGHT, LOST = 8, 4, 0.6, 0.15

Change = tuple[str, str, bool]
"""The label before and after, and whether the head stays."""
Train = Callable[[Any, Sequence[Any], str], Iterator[Progress]]
"""Trains a model on examples, under the name of a checkpoint."""


class Conversion(NamedTuple):
    """Converted sentences, in order: all that have tags in these columns."""

    examples: list[Example]
    columns: tuple[str, ...] = ()


def convert_tags(
    tagger: Any, treebank: Sequence[Example], others: Sequence[Example], train: Train
) -> Iterator[Progress | Conversion]:
    """Yield progress, then `others` with tags as in the treebank, in the columns of an untrained tagger.

    The tags of the other conventions stand in FEATS, where the second tagger reads them.
    """
    columns, theirs = tagger.columns, copy.copy(tagger)
    yield from train(theirs, tagged(others, columns), "theirs")
    found = theirs.annotate([example.sentence for example in treebank])
    known = [replace(one, sentence=_with_guide(one.sentence, other, columns)) for one, other in _pairs(treebank, found)]
    guided = type(tagger)(replace(tagger.config, inputs=("feats",), features="guided"))
    yield from train(guided, tagged(known, columns), "guided")
    guides = [_with_guide(example.sentence, example.sentence, columns) for example in others]
    found = guided.annotate(guides)
    new = [
        replace(one.sentence, **{name: getattr(other, name) for name in columns})
        for one, other in _pairs(others, found)
    ]
    yield Conversion([replace(example, sentence=sentence) for example, sentence in _pairs(others, new)], columns)


def _with_guide(sentence: Sentence, other: Sentence, columns: Sequence[str]) -> Sentence:
    return replace(sentence, feats=(ROOT, *["|".join(tag.split()) for tag in tags_of(other, columns).values[1:]]))


def convert_trees(
    parser: Any, treebank: Sequence[Example], others: Sequence[Example], train: Train
) -> Iterator[Progress | Conversion]:
    """Yield progress, then `others` with trees as in the treebank, by stacking an untrained parser on itself.

    The trees of others may be better than those of the parser, so only arcs of other conventions are changed: kinds of
    changes that are right on held-out sentences of the treebank, where the arc before the change is hardly ever.
    """
    theirs, guided = copy.copy(parser), copy.copy(parser)
    yield from train(theirs, others, "theirs")
    sentences = [example.sentence for example in treebank]
    stacked = with_base_trees(sentences, theirs.predict_batch(sentences))
    known = [replace(example, sentence=sentence) for example, sentence in _pairs(treebank, stacked)]
    held_out = known[::HELD_OUT]
    yield from train(guided, [one for index, one in enumerate(known) if index % HELD_OUT], "guided")
    changes = _reliable_changes(held_out, guided.predict_batch([example.sentence for example in held_out]))
    given = with_base_trees([example.sentence for example in others], [example.gold for example in others])
    pairs = _pairs(others, guided.predict_batch(given))
    yield Conversion([replace(example, gold=_changed(example.gold, tree, changes)) for example, tree in pairs])


def _reliable_changes(examples: Sequence[Example], trees: Sequence[Tree]) -> set[Change]:
    """Return the kinds of changes of base trees that are right, and whose arcs before the change were wrong."""
    made, right, lost = Counter[Change](), Counter[Change](), Counter[Change]()
    for example, tree in zip(examples, trees, strict=True):
        base = example.sentence.base_tree
        assert base is not None
        for word, change in _changes(base, tree):
            made[change] += 1
            right[change] += _arc(tree, word) == _arc(example.gold, word)
            lost[change] += _arc(base, word) == _arc(example.gold, word)
    return {
        change
        for change, count in made.items()
        if count >= FEWEST and right[change] >= RIGHT * count and lost[change] <= LOST * count
    }


def _changed(tree: Tree, other: Tree, changes: set[Change]) -> Tree:
    """Return a tree with these kinds of changes towards another made, or the other if the result is no tree."""
    words = [word for word, change in _changes(tree, other) if change in changes]
    heads, labels = list(tree.heads), list(tree.labels)
    for word in words:
        heads[word], labels[word] = _arc(other, word)
    new = Tree(tuple(heads), tuple(labels))
    return new if is_tree(new.heads) else other


def _changes(tree: Tree, other: Tree) -> Iterator[tuple[int, Change]]:
    for word in range(1, len(tree.heads)):
        if _arc(tree, word) != _arc(other, word):
            yield word, (tree.labels[word], other.labels[word], tree.heads[word] == other.heads[word])


def _arc(tree: Tree, word: int) -> tuple[int, str]:
    return tree.heads[word], tree.labels[word]


def _pairs(examples: Sequence[Example], found: Sequence[Any]) -> Iterator[tuple[Example, Any]]:
    return zip(examples, found, strict=True)
