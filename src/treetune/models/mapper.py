"""Sentences to natural logical forms: by a parser of encoded trees, or by rules over the trees of any UD parser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from treetune.corpus.projectivity import plain_label
from treetune.corpus.sentence import ROOT, Sentence, Tree
from treetune.corpus.sentence_table import SentenceTable
from treetune.errors import ModelError
from treetune.models.pipeline import Pipeline
from treetune.semantics.encoding import decode, is_label
from treetune.semantics.expression import Expression
from treetune.semantics.from_ud import from_ud
from treetune.semantics.meanings import Meaning


class Mapper:
    """A model with a parser, as a function from sentences to expressions.

    If the labels of the parser are those of encoded expressions, its trees are decoded; else they are UD trees, which
    are converted by rules.
    """

    def __init__(self, model: Any) -> None:
        self.pipeline = Pipeline.of(model)
        if self.pipeline.parser is None:
            raise ModelError("this model has no parser, and a meaning needs a tree; name a model with one")
        self.is_direct = all(is_label(plain_label(label)) for label in _labels(self.pipeline.parser))

    def __call__(self, text: str, *, threads: int = 1) -> list[Expression]:
        """Return the expressions of the sentences of a text; the model needs a tokenizer."""
        return self.map(list(self.pipeline.split(text)), threads=threads)

    def map(self, sentences: Sequence[Sentence], *, threads: int = 1) -> list[Expression]:
        """Return the expression of each sentence."""
        tagged, trees = self._parse(sentences, threads)
        if self.is_direct:
            return [decode(tree, forms) for tree, forms in zip(trees, _forms(tagged), strict=True)]
        return [from_ud(sentence, tree) for sentence, tree in zip(tagged, trees, strict=True)]

    def meanings(self, sentences: Sequence[Sentence], *, threads: int = 1) -> Iterator[Meaning]:
        """Yield each sentence with its expression, and the tree that this was decoded from."""
        tagged, trees = self._parse(sentences, threads)
        for sentence, tree in zip(tagged, trees, strict=True):
            if self.is_direct:
                yield Meaning(sentence, decode(tree, sentence.forms), tree)
            else:
                yield Meaning(sentence, from_ud(sentence, tree))

    def _parse(self, sentences: Sequence[Sentence], threads: int) -> tuple[Sequence[Sentence], list[Tree]]:
        assert self.pipeline.parser is not None
        tagged = self.pipeline.tag(sentences, threads=threads)
        return tagged, self.pipeline.parser.predict_batch(tagged, threads=threads)


def _forms(sentences: Sequence[Sentence]) -> Iterator[Sequence[str]]:
    """Yield the forms of each sentence, root at 0; of a table without making its sentences."""
    if not isinstance(sentences, SentenceTable):
        yield from (sentence.forms for sentence in sentences)
        return
    forms = sentences.column("forms")
    for start, end in pairwise(sentences.ends):
        yield [ROOT, *forms[start:end]]


def _labels(parser: Any) -> tuple[str, ...]:
    """Return the labels of a parser; of a stacked parser or a reranker, those of its main part."""
    for name in ("main", "base"):
        parser = getattr(parser, name, parser)
    found: tuple[str, ...] = parser.labels
    return found
