"""All models of the package keep the contract, and `check_model` says what is wrong with one that does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest

from treetune.corpus.base_trees import with_base_trees
from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.tags import Tags, tagged
from treetune.learning.trainer import train
from treetune.models.base import Candidate, Model
from treetune.models.graph.parser import GraphParser
from treetune.models.reranker import Reranker
from treetune.models.sequence.tagger import Tagger
from treetune.models.stacked import StackedParser
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate
from treetune.testing import check_model, check_predictor

TREES = generate(6, seed=2, kinds=("declarative", "wh"))
SENTENCES = [example.sentence for example in TREES]
TAGS = tagged(TREES, ("upos", "xpos"))

MODELS: dict[str, tuple[Callable[[], Model[Any]], Sequence[Any], dict[str, Any]]] = {
    "greedy": (partial(TransitionParser, beam=1), TREES, {}),
    "beam": (partial(TransitionParser, beam=4), TREES, {"learner": "perceptron"}),
    "beam, mira": (partial(TransitionParser, beam=4), TREES, {"learner": "mira"}),
    "backward": (partial(TransitionParser, beam=2, backward=True), TREES, {}),
    "graph": (GraphParser, TREES, {}),
    "graph, joint labels": (partial(GraphParser, labels="joint"), TREES, {"learner": "perceptron"}),
    "graph, second order": (partial(GraphParser, order=2), TREES, {"learner": "mira"}),
    "graph, non-projective": (partial(GraphParser, decoder="non-projective"), TREES, {}),
    "tagger": (partial(Tagger, columns=("upos", "xpos")), TAGS, {}),
    "tagger, crf": (partial(Tagger, columns=("upos",)), tagged(TREES, ("upos",)), {"learner": "crf"}),
    "tagger, spans": (partial(Tagger, columns=("ner",), spans=True, features="ner"), (), {}),
}


def entities() -> list[Any]:
    """Proper nouns as entities."""
    return [
        replace(one, gold=Tags.of("B-PER" if tag.startswith("PROPN") else "O" for tag in one.gold.values[1:]))
        for one in TAGS
    ]


# What trains with crossing arcs compiles kernels that nothing else needs.
SLOW = "graph, non-projective"


@pytest.mark.parametrize(
    "name", [*(name for name in MODELS if name != SLOW), pytest.param(SLOW, marks=pytest.mark.slow)]
)
def test_models_keep_the_contract(name: str) -> None:
    make, treebank, options = MODELS[name]
    model = check_model(make, treebank or entities(), **options)
    assert model.is_trained


def test_a_stacked_parser_keeps_the_contract() -> None:
    base = check_model(partial(TransitionParser, beam=1), TREES)
    stacked = [
        replace(example, sentence=sentence)
        for example, sentence in zip(TREES, with_base_trees(SENTENCES, base.predict_batch(SENTENCES)), strict=True)
    ]
    model = check_model(lambda: StackedParser(base, TransitionParser(beam=2)), stacked)
    # Without base trees, the base parser makes them.
    check_predictor(model, SENTENCES)


def test_a_reranker_predicts_as_the_contract_says() -> None:
    base, second = check_model(partial(TransitionParser, beam=4), TREES), check_model(GraphParser, TREES)
    check_predictor(Reranker(base, second, k=8), SENTENCES)
    with pytest.raises(AssertionError, match="is_trained must be false before training"):
        check_model(lambda: Reranker(base, second), TREES)


@cache
def trained() -> TransitionParser:
    parser = TransitionParser(beam=4)
    for _ in train(parser, TREES, epochs=2):
        pass
    return parser


class Unsorted(TransitionParser):
    def k_best_batch(self, sentences: Sequence[Sentence], k: int, **options: Any) -> list[list[Candidate[Tree]]]:
        lists = super().k_best_batch(sentences, k, **options)
        return [found[:1] + found[:0:-1] for found in lists]


class Doubled(TransitionParser):
    def k_best_batch(self, sentences: Sequence[Sentence], k: int, **options: Any) -> list[list[Candidate[Tree]]]:
        return [[found[0], *found][:k] for found in super().k_best_batch(sentences, k, **options)]


class Approximate(TransitionParser):
    def k_best_batch(self, sentences: Sequence[Sentence], k: int, **options: Any) -> list[list[Candidate[Tree]]]:
        lists = super().k_best_batch(sentences, k, **options)
        return [[replace(one, score=2 * one.score + 1) for one in found] for found in lists]


class Deaf(TransitionParser):
    def predict(self, sentence: Sentence, *, constraint: Tree | None = None) -> Tree:
        return super().predict(sentence)


class Threaded(TransitionParser):
    def predict_batch(self, sentences: Sequence[Sentence], *, threads: int = 1, **options: Any) -> list[Tree]:
        found = super().predict_batch(sentences, **options)
        return found if threads == 1 else found[::-1]


class Forgetful(TransitionParser):
    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, Any]) -> Any:
        return super().from_state(config, tensors).with_options(beam=1)


class Eager(TransitionParser):
    @property
    def is_trained(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (Unsorted, "candidates must be sorted, best first"),
        (Doubled, "candidates must be distinct"),
        (Approximate, "the score of a candidate must be exact"),
        (Deaf, "expected an output with all of"),
        (Threaded, "2 threads must change no output"),
        (Forgetful, "state and from_state must be inverse"),
    ],
)
def test_what_is_wrong_is_said(kind: type[TransitionParser], problem: str) -> None:
    model = kind(beam=4)
    model.adopt(trained())
    with pytest.raises(AssertionError, match=problem):
        check_predictor(model, SENTENCES)


def test_an_untrained_model_must_say_so() -> None:
    make: Callable[[], Any] = Eager
    with pytest.raises(AssertionError, match="is_trained must be false before training"):
        check_model(make, TREES)
