"""A stacked parser: what its base says reaches its main parser, and a file holds both."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_parser import EchoParser, MemoryParser
from treetune.corpus.base_trees import with_base_trees
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, DataError, ModelError
from treetune.learning.trainer import train
from treetune.models import registry
from treetune.models.stacked import StackedParser
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate
from treetune.storage import inspect, load, save

KNOWN = Example(Sentence.of(["dogs", "bark", "loudly"]), Tree.of([2, 0, 2], ["nsubj", "root", "advmod"]))
NEW = Sentence.of(["cats", "purr", "softly"])
CHAIN = Tree.of([0, 1, 2], ["new"] * 3)
OTHER = Tree.of([3, 3, 0], ["a", "b", "c"])


@pytest.fixture(autouse=True)
def _known_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.MODELS, "memory", "memory_parser:MemoryParser")
    monkeypatch.setitem(registry.MODELS, "echo", "memory_parser:EchoParser")


def trained(base_suffix: str = "") -> StackedParser:
    base, main = MemoryParser(suffix=base_suffix), EchoParser()
    base.memory, main.memory = {KNOWN.sentence.forms: KNOWN.gold}, {}
    return StackedParser(base, main)


def stacked(examples: Sequence[Example], trees: Sequence[Tree]) -> list[Example]:
    sentences = with_base_trees([example.sentence for example in examples], trees)
    return [replace(example, sentence=sentence) for example, sentence in zip(examples, sentences, strict=True)]


def test_the_main_parser_sees_what_the_base_tree_says() -> None:
    parser = trained()
    assert parser.predict(KNOWN.sentence) == KNOWN.gold
    assert parser.predict_batch([NEW, KNOWN.sentence, NEW], threads=2) == [CHAIN, KNOWN.gold, CHAIN]
    assert parser.predict_batch([]) == []
    assert [candidate.output for candidate in parser.k_best(NEW, 3)] == [CHAIN]
    assert [[candidate.score for candidate in found] for found in parser.k_best_batch([NEW, NEW], 4)] == [[4.0], [4.0]]


def test_both_get_the_threads() -> None:
    base, main = MemoryParser(), EchoParser()
    base.memory, main.memory = {}, {}
    parser = StackedParser(base, main)
    parser.predict_batch([NEW, NEW], threads=3)
    parser.k_best_batch([NEW], 2, threads=4)
    assert base.calls == main.calls == [{"sentences": 2, "threads": 3}, {"sentences": 1, "threads": 4}]


def test_a_sentence_that_comes_with_a_base_tree_keeps_it() -> None:
    parser = trained()
    (own,) = with_base_trees([KNOWN.sentence], [OTHER])
    assert parser.predict_batch([KNOWN.sentence, own, NEW]) == [KNOWN.gold, OTHER, CHAIN]
    assert parser.score(own, OTHER) == 3.0


def test_features_and_scores_are_those_of_the_main_parser_with_the_base_tree() -> None:
    parser = trained()
    assert parser.features(KNOWN.sentence, KNOWN.gold)[0].tolist() == [1, 1, 1]
    assert parser.features(KNOWN.sentence, OTHER)[0].tolist() == [0, 0, 0]
    assert parser.score(KNOWN.sentence, Tree.of([2, 0, 1])) == 2.0
    assert parser.score(NEW, parser.k_best(NEW, 1)[0]) == 3.0


def test_the_base_tree_is_constrained_too() -> None:
    parser = trained()
    fixed = Tree.of([-1, 3, -1])
    assert parser.predict(NEW, constraint=fixed) == Tree.of([0, 3, 2], ["new"] * 3)
    assert parser.k_best(NEW, 1, constraint=fixed)[0].output.heads == (-1, 0, 3, 2)
    (own,) = with_base_trees([NEW], [OTHER])
    found = parser.predict_batch([own, NEW, KNOWN.sentence], constraints=[fixed, fixed, Tree.unknown(3)])
    assert [tree.heads[1:] for tree in found] == [(3, 3, 0), (0, 3, 2), (2, 0, 2)]


def test_a_base_tree_that_cannot_respect_a_constraint_is_free_in_that_sentence_alone() -> None:
    parser = trained()
    four = Sentence.of(list("abcd"))
    crossing, plain = Tree.of([3, 4, -1, -1]), Tree.of([-1, -1, 1, -1])
    found = parser.predict_batch([four, four], constraints=[crossing, plain])
    assert [tree.heads[1:] for tree in found] == [(0, 1, 2, 3), (0, 1, 1, 3)]


def test_faults_of_constraints_are_said_by_the_main_parser(treebank: list[Example]) -> None:
    parser = StackedParser(_small(treebank), _small(treebank))
    sentences = [example.sentence for example in treebank[:2]]
    with pytest.raises(DataError, match=r"^expected 2 partial trees, one a sentence, found 1$"):
        parser.predict_batch(sentences, constraints=[Tree.unknown(len(sentences[0]))])
    wrong = [Tree.unknown(len(sentence)) for sentence in sentences]
    wrong[1] = Tree.of([0, 0, *[-1] * (len(sentences[1]) - 2)])
    with pytest.raises(DataError, match=r"^sentence 2 .*: words 1 and 2 are both fixed as the root"):
        parser.predict_batch(sentences, constraints=wrong)


@pytest.fixture(scope="module")
def treebank() -> list[Example]:
    return generate(20, seed=3)


def _small(treebank: Sequence[Example]) -> TransitionParser:
    parser = TransitionParser(beam=2)
    for _ in train(parser, treebank, epochs=1):
        pass
    return parser


def test_options_of_the_search_are_those_of_the_main_parser() -> None:
    parser = trained()
    other = parser.with_options(suffix="!")
    assert other.main is not parser.main
    assert (other.main.suffix, other.base) == ("!", parser.base)  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"^unknown search option 'beam'$"):
        parser.with_options(beam=2)


def test_trained_means_both() -> None:
    parser = trained()
    assert parser.is_trained
    assert not StackedParser(MemoryParser(), parser.main).is_trained
    assert not StackedParser(parser.base, EchoParser()).is_trained
    with pytest.raises(ModelError, match=r"^this parser is not trained yet$"):
        StackedParser(MemoryParser(), parser.main).predict(NEW)


def test_learning_teaches_the_main_parser_from_the_base_trees_the_sentences_carry() -> None:
    base = trained().base
    parser = StackedParser(base, EchoParser())
    options: dict[str, Any] = {"learner": "mira", "update": "early", "k": 7, "clip": 0.5, "cost_augmented": True}
    reports = list(train(parser, stacked([KNOWN, KNOWN], [OTHER, OTHER]), epochs=2, seed=4, **options))
    assert reports[-1].settings == {**options, "learning_rate": None, "seed": 4}
    assert (reports[-1].total, reports[-1].words) == (2, 6)
    assert isinstance(parser.main, EchoParser)
    assert parser.main.memory == {KNOWN.sentence.forms: OTHER}
    assert parser.base is base
    assert parser.predict(NEW) == CHAIN


def test_trying_weights_on_a_copy_leaves_the_model_as_it_was() -> None:
    parser = StackedParser(trained().base, EchoParser())
    learner = parser.learner(stacked([KNOWN], [OTHER]))
    learner.learn(np.arange(1))
    trial = copy.copy(parser)
    learner.install(trial, learner.snapshot())
    assert trial.is_trained
    assert not parser.is_trained
    # Halfway through a training with development data nothing is installed either.
    steps = train(parser, stacked([KNOWN], [OTHER]), dev=[KNOWN], epochs=2)
    scores = [next(steps) for _ in range(2)][-1].dev
    assert scores is not None
    assert scores["LAS"] == 1.0
    assert not parser.is_trained


def test_a_treebank_without_base_trees_or_an_untrained_base_tree_is_refused() -> None:
    parser = StackedParser(trained().base, EchoParser())
    with pytest.raises(DataError) as caught:
        parser.learner([*stacked([KNOWN], [OTHER]), KNOWN])
    assert str(caught.value) == (
        "sentence 2 of the treebank has no base tree; attach jackknifed trees to all of them first"
    )
    with pytest.raises(ModelError) as caught_model:
        StackedParser(MemoryParser(), EchoParser()).learner(stacked([KNOWN], [OTHER]))
    assert str(caught_model.value) == (
        "the base parser of this model is not trained yet; train it on the whole treebank first"
    )
    with pytest.raises(ConfigError, match=r"^k must be at least 1, found 0$"):
        parser.check_learning(k=0)


def test_the_state_holds_both_and_survives_json() -> None:
    parser = trained()
    config, tensors = parser.state()
    assert config["labels"] == ["new"]
    assert tuple(config["parts"][name]["kind"] for name in ("base", "main")) == ("memory", "echo")
    assert {name: values.tolist() for name, values in tensors.items()} == {"base.size": [1], "main.size": [0]}
    again = StackedParser.from_state(json.loads(json.dumps(config)), tensors)
    assert (type(again.base), type(again.main)) == (MemoryParser, EchoParser)
    assert again.predict_batch([NEW, KNOWN.sentence]) == [CHAIN, KNOWN.gold]


def test_a_part_of_an_unknown_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    config, tensors = trained().state()
    monkeypatch.delitem(registry.MODELS, "echo")
    with pytest.raises(ModelError) as caught:
        StackedParser.from_state(config, tensors)
    known = ", ".join(sorted(registry.MODELS))
    assert str(caught.value) == f"the main of this model is of the unknown kind 'echo'; known: {known}"


def test_a_stacked_parser_can_base_tree_and_be_kept_in_a_file(treebank: list[Example], tmp_path: Path) -> None:
    inner = StackedParser(_small(treebank), _small(treebank[:10]))
    parser = StackedParser(inner, _small(treebank[10:]))
    save(parser, tmp_path / "stacked.treetune")
    assert inspect(tmp_path / "stacked.treetune").kind == "stacked"
    assert inspect(tmp_path / "stacked.treetune").labels
    again = load(tmp_path / "stacked.treetune")
    assert isinstance(again, StackedParser)
    sentences = [example.sentence for example in treebank]
    assert again.attach(sentences) == parser.attach(sentences)
    assert again.predict_batch(sentences) == parser.predict_batch(sentences)
    save(again, tmp_path / "again.treetune")
    assert (tmp_path / "again.treetune").read_bytes() == (tmp_path / "stacked.treetune").read_bytes()
