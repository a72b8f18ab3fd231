"""Objectives of a parser that looks at another's trees: sentences without gold get their base_trees by themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from treetune import Objective, train
from treetune.corpus.base_trees import with_base_trees
from treetune.corpus.sentence import Example, Tree
from treetune.errors import DataError, ModelError
from treetune.learning.progress import Progress
from treetune.losses import Attachment, Root
from treetune.models.base import Parser
from treetune.models.graph.parser import GraphParser
from treetune.models.stacked import StackedParser
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

TREEBANK = generate(30, seed=4, kinds=("declarative",))
QUESTIONS = generate(12, seed=5, kinds=("yes-no", "wh"))
MAINS: dict[str, Callable[[], Parser]] = {"transition": lambda: TransitionParser(beam=3), "graph": GraphParser}


@cache
def base() -> TransitionParser:
    parser = TransitionParser(beam=1)
    for _ in train(parser, TREEBANK, epochs=2):
        pass
    return parser


def stacked(examples: Sequence[Example], trees: Sequence[Tree] | None = None) -> list[Example]:
    bare = [example.sentence for example in examples]
    sentences = with_base_trees(bare, base().predict_batch(bare) if trees is None else trees)
    return [replace(example, sentence=sentence) for example, sentence in zip(examples, sentences, strict=True)]


def run(kind: str, examples: Sequence[Example], **options: Any) -> tuple[StackedParser, list[Progress]]:
    model = StackedParser(base(), MAINS[kind]())
    objective = Objective(examples, Root(), start=1, dev=examples)
    return model, list(train(model, stacked(TREEBANK), objectives=[objective], epochs=2, **options))


def contents(model: Parser) -> tuple[str, dict[str, bytes]]:
    config, tensors = model.state()
    return json.dumps(config, sort_keys=True), {name: array.tobytes() for name, array in tensors.items()}


@pytest.mark.parametrize("kind", MAINS)
def test_base_trees_are_attached_by_the_base_tree(kind: str) -> None:
    bare, reports = run(kind, QUESTIONS)
    by_hand, others = run(kind, stacked(QUESTIONS))
    assert contents(bare) == contents(by_hand)
    assert [report.objectives for report in reports] == [report.objectives for report in others]
    assert sum(report.objectives[1].updated for report in reports if report.is_epoch_end) > 0
    assert reports[-1].objectives[1].dev_cost is not None


@pytest.mark.parametrize("kind", MAINS)
def test_a_sentence_keeps_the_base_tree_it_comes_with(kind: str) -> None:
    chains = [Tree.of(range(len(example.sentence)), ["dep"] * len(example.sentence)) for example in QUESTIONS]
    assert contents(run(kind, stacked(QUESTIONS, chains))[0]) != contents(run(kind, QUESTIONS)[0])


def test_the_base_tree_itself_learns_nothing() -> None:
    before = contents(base())
    model, _ = run("graph", QUESTIONS)
    assert model.base is base()
    assert contents(base()) == before


@pytest.mark.parametrize("kind", MAINS)
def test_a_stacked_parser_is_fine_tuned_without_its_treebank(kind: str) -> None:
    model, _ = run(kind, QUESTIONS)
    before = contents(model)
    wanted = [(example.sentence, Tree.of(range(len(example.sentence)))) for example in QUESTIONS]
    reports = list(train(model, objectives=[Objective(wanted, Attachment())], warm_start=True, epochs=2))
    assert reports[0].objectives[0].seen == 12
    assert reports[0].objectives[0].updated > 0
    assert contents(model) != before


def test_a_stacked_parser_can_be_stopped(tmp_path: Path) -> None:
    expected, _ = run("transition", QUESTIONS, dev=stacked(TREEBANK[:5]))
    model = StackedParser(base(), TransitionParser(beam=3))
    objective = Objective(QUESTIONS, Root(), start=1, dev=QUESTIONS)
    options: dict[str, Any] = {"objectives": [objective], "epochs": 2, "dev": stacked(TREEBANK[:5])}
    for report in train(model, stacked(TREEBANK), checkpoint=tmp_path / "c", **options):
        if report.is_epoch_end:
            break
    for _ in train(model, stacked(TREEBANK), checkpoint=tmp_path / "c", resume=True, **options):
        pass
    assert contents(model) == contents(expected)


def test_gold_trees_need_base_trees_of_their_own() -> None:
    """Those of the base, which has seen them, would be too good."""
    model = StackedParser(base(), GraphParser())
    with pytest.raises(DataError) as caught:
        train(model, stacked(TREEBANK), objectives=[Objective(QUESTIONS, name="more trees")])
    assert str(caught.value) == (
        "sentence 31 of the treebank has no base tree; attach jackknifed trees to all of them first"
    )


@pytest.mark.parametrize("kind", MAINS)
def test_without_a_base_tree_at_hand_sentences_must_have_one(kind: str) -> None:
    """A main parser by itself cannot make base_trees."""
    with pytest.raises(ModelError) as caught:
        train(MAINS[kind](), stacked(TREEBANK), objectives=[Objective(QUESTIONS, Root())])
    assert str(caught.value) == (
        "this model was trained with the trees of a base parser; "
        "give them with --base FILE, in Python with treetune.corpus.with_base_trees"
    )
