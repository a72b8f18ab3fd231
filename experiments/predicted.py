"""Predicted tags in place of gold ones: a corpus goes in, the same with UPOS tags of taggers trained on it comes out.

Sentences that a parser learns from are tagged by taggers that have not seen them (jackknifing); all others by one that
has learned from the treebank, which knows as little of questions as the parser does.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import treetune
from corpora import Data
from treetune import Example, Tagger
from treetune.corpus.tags import tagged
from treetune.learning.jackknife import jackknife_tags

COLUMNS = ("upos",)
FOLDS, EPOCHS = 5, 4

Column = list[tuple[str, ...]]


def with_predicted_tags(data: Data) -> Data:
    """Return the corpus with predicted UPOS tags; there are no others."""
    train = _kept(data.train, "train", lambda: _jackknifed(data.train))
    taggers: list[Tagger] = []

    def part(examples: list[Example]) -> list[Example]:
        def tags() -> Column:
            if not taggers:
                taggers.append(_trained(data.train))
            sentences = taggers[0].annotate([example.sentence.without(*COLUMNS) for example in examples])
            return [sentence.upos for sentence in sentences]

        return _kept(examples, f"by {_digest(data.train)}", tags)

    return replace(
        data,
        train=train,
        dev=part(data.dev),
        tests={name: part(examples) for name, examples in data.tests.items()},
        others={name: part(examples) for name, examples in data.others.items()},
    )


def _make() -> Tagger:
    return Tagger(columns=COLUMNS)


def _jackknifed(examples: list[Example]) -> Column:
    found = jackknife_tags(_make, examples, folds=FOLDS, seed=0, epochs=EPOCHS)
    return [example.sentence.upos for example in found]


def _trained(examples: Sequence[Example]) -> Tagger:
    tagger = _make()
    for _ in treetune.train(tagger, tagged(examples, COLUMNS), epochs=EPOCHS, seed=0):
        pass
    return tagger


def _kept(examples: list[Example], by: str, make: Callable[[], Column]) -> list[Example]:
    """Return the examples with the tags that `make` gives them, made once and kept in the temporary folder."""
    path = Path(tempfile.gettempdir()) / "treetune-experiments" / f"tags-{_digest(examples, by)}.json"
    if path.is_file():
        columns = [tuple(tags) for tags in json.loads(path.read_text(encoding="utf-8"))]
    else:
        columns = make()
        path.parent.mkdir(exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(columns), encoding="utf-8")
        part.replace(path)
    return [
        replace(example, sentence=replace(example.sentence.without("xpos", "feats"), upos=tags))
        for example, tags in zip(examples, columns, strict=True)
    ]


def _digest(examples: Sequence[Example], *others: str) -> str:
    digest = hashlib.sha256(repr((FOLDS, EPOCHS, *others)).encode())
    for example in examples:
        digest.update(repr((example.sentence.forms, example.sentence.upos)).encode())
    return digest.hexdigest()[:16]
