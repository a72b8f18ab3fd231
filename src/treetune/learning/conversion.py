"""Convert tags and trees of other treebanks to the conventions of one: annotation adaptation (Jiang et al. 2009).

A model of the other conventions annotates the treebank, which it has not seen. A second model learns the annotation of
the treebank with that of the first as features. It then annotates the other sentences, with the annotation that they
come with in place of the first model's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from treetune.corpus.base_trees import with_base_trees
from treetune.corpus.sentence import ROOT, Example, Sentence
from treetune.corpus.tags import tagged, tags_of
from treetune.learning.progress import Progress

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
    """Yield progress, then `others` with trees as in the treebank, by stacking an untrained parser on itself."""
    theirs, guided = copy.copy(parser), copy.copy(parser)
    yield from train(theirs, others, "theirs")
    sentences = [example.sentence for example in treebank]
    stacked = with_base_trees(sentences, theirs.predict_batch(sentences))
    known = [replace(example, sentence=sentence) for example, sentence in _pairs(treebank, stacked)]
    yield from train(guided, known, "guided")
    given = with_base_trees([example.sentence for example in others], [example.gold for example in others])
    found = guided.predict_batch(given)
    yield Conversion([replace(example, gold=tree) for example, tree in _pairs(others, found)])


def _pairs(examples: Sequence[Example], found: Sequence[Any]) -> Iterator[tuple[Example, Any]]:
    return zip(examples, found, strict=True)
