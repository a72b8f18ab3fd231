"""Warm start from a trained model: nothing is lost at first, what it cannot learn is refused, and files are enough."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treetune
from treetune import Objective, train
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, DataError, TreetuneError
from treetune.evaluation.scores import evaluate_trees
from treetune.learning.objectives import STEPS
from treetune.losses import Attachment, Root
from treetune.models.base import Parser
from treetune.models.graph.parser import GraphParser
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

DECLARATIVES = generate(60, seed=4, kinds=("declarative",))
QUESTIONS = generate(40, seed=5, kinds=("yes-no", "wh"))
TEST = generate(40, seed=6, kinds=("yes-no", "wh"))

# On samples as small as these, how many k-best lists hold a better root depends on the seed.
SEED = 0
# Parsers without `labels_by_tag`.
MAKERS: dict[str, tuple[Callable[[], Parser], dict[str, Any]]] = {
    "transition": (lambda: TransitionParser(labels_by_tag=False, beam=4), {"learner": "perceptron"}),
    "transition mira": (lambda: TransitionParser(labels_by_tag=False, beam=4), {"learner": "mira", "clip": 0.05}),
    "greedy": (lambda: TransitionParser(labels_by_tag=False, beam=1), {}),
    "graph": (GraphParser, {}),
    "graph joint": (lambda: GraphParser(labels="joint"), {"learner": "perceptron"}),
}


@cache
def state_of(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    make, options = MAKERS[kind]
    model = make()
    for _ in train(model, DECLARATIVES, epochs=4, seed=SEED, **options):
        pass
    return model.state()


def trained(kind: str) -> Parser:
    """A model of its own for every test, of weights that all share."""
    return type(MAKERS[kind][0]()).from_state(*state_of(kind))


def run(model: Parser, treebank: Sequence[Example] = (), **options: Any) -> Parser:
    for _ in train(model, treebank, warm_start=True, **{"seed": SEED, **options}):
        pass
    return model


def contents(model: Parser) -> tuple[str, dict[str, bytes]]:
    config, tensors = model.state()
    return json.dumps(config, sort_keys=True), {name: array.tobytes() for name, array in tensors.items()}


def score(model: Parser, examples: Sequence[Example], metric: str) -> float:
    return evaluate_trees(examples, model.predict_batch([example.sentence for example in examples]))[metric]


def refusal(attempt: Callable[[], object], kind: type[TreetuneError] = ConfigError) -> str:
    with pytest.raises(kind) as caught:
        attempt()
    return str(caught.value)


@pytest.mark.parametrize("kind", MAKERS)
def test_words_labels_and_templates_stay(kind: str) -> None:
    before = trained(kind).state()[0]
    after = run(trained(kind), DECLARATIVES[:10], objectives=[Objective(QUESTIONS, Root())], epochs=1).state()[0]
    for config in (before, after):
        for scale in ("scale", "arc_scale", "label_scale"):
            config.pop(scale, None)
    assert after == before


@pytest.mark.parametrize("kind", ["transition", "graph"])
@pytest.mark.parametrize("with_treebank", [False, True])
def test_a_deployed_parser_learns_roots_with_and_without_its_treebank(kind: str, with_treebank: bool) -> None:
    model, before = trained(kind), trained(kind)
    treebank = DECLARATIVES if with_treebank else []
    objective = Objective(QUESTIONS, Root())
    reports = list(train(model, treebank, objectives=[objective], warm_start=True, epochs=4, seed=SEED))
    costs = [report.objectives[-1].cost or 0.0 for report in reports if report.is_epoch_end]
    assert min(costs) < costs[0]
    assert score(model, TEST, "root") > score(before, TEST, "root") - 0.05
    # MIRA updates cost next to nothing on the source domain, even without the treebank.
    assert score(model, DECLARATIVES, "LAS") > score(before, DECLARATIVES, "LAS") - 0.01


@pytest.mark.parametrize("kind", ["transition", "graph"])
def test_perceptron_updates_lose_more_on_the_source_domain(kind: str) -> None:
    """Without a treebank that holds them in place, trees that the loss does not look at drift away."""
    smallest, whole = (
        score(run(trained(kind), objectives=[Objective(QUESTIONS, Root(), step=step)], epochs=4), DECLARATIVES, "LAS")
        for step in STEPS
    )
    assert whole < smallest - 0.05


@pytest.mark.parametrize("kind", ["transition", "graph"])
def test_a_little_new_gold_is_learned(kind: str) -> None:
    known = {label for example in DECLARATIVES for label in example.gold.labels}
    questions = [example for example in QUESTIONS if set(example.gold.labels) <= known]
    assert len(questions) >= 10
    model = run(trained(kind), questions, epochs=4)
    assert score(model, questions, "LAS") > score(trained(kind), questions, "LAS") + 0.1


@pytest.mark.parametrize("kind", MAKERS)
def test_the_model_stays_as_it_was_until_the_end(kind: str) -> None:
    model = trained(kind)
    before = contents(model)
    reports = train(model, DECLARATIVES[:10], warm_start=True, epochs=2)
    next(reports)
    assert contents(model) == before
    for _ in reports:
        pass
    assert contents(model) != before


@pytest.mark.parametrize("kind", ["transition", "transition mira", "graph", "graph joint"])
def test_a_file_is_enough_for_a_warm_start(kind: str, tmp_path: Path) -> None:
    treetune.save(trained(kind), tmp_path / "old")
    loaded = treetune.load(tmp_path / "old")
    options: dict[str, Any] = {"objectives": [Objective(QUESTIONS, Attachment())], "epochs": 2, "seed": 3}
    one = run(loaded, DECLARATIVES[:10], **options)
    other = run(trained(kind), DECLARATIVES[:10], **options)
    assert contents(one) == contents(other)
    # And on and on.
    treetune.save(one, tmp_path / "new")
    assert contents(run(treetune.load(tmp_path / "new"), DECLARATIVES[:5])) == contents(run(other, DECLARATIVES[:5]))


@pytest.mark.parametrize(
    ("kind", "trained_by"),
    [
        ("transition", {"learner": "perceptron"}),
        ("transition mira", {"learner": "mira", "clip": 0.05, "k": 5}),
        ("graph", {"learner": "mira", "clip": 0.1, "k": 5}),
        ("graph joint", {"learner": "perceptron"}),
    ],
)
def test_the_learner_of_the_weights_is_noted_and_kept(kind: str, trained_by: dict[str, Any], tmp_path: Path) -> None:
    treetune.save(trained(kind), tmp_path / "model")
    assert treetune.storage.inspect(tmp_path / "model").config["trained_by"] == trained_by
    settings = treetune.load(tmp_path / "model").learner([], warm_start=True).settings()
    assert settings["learner"] == trained_by["learner"]
    assert settings.get("clip") == trained_by.get("clip")


def test_an_unclipped_learner_stays_unclipped() -> None:
    model = GraphParser()
    for _ in train(model, DECLARATIVES[:10], epochs=1, clip=float("inf")):
        pass
    assert model.trained_by["clip"] is None
    learner = model.learner([], warm_start=True)
    assert learner.clip == float("inf")  # type: ignore[attr-defined]
    # Another step may be asked for.
    assert model.learner([], warm_start=True, clip=0.5).settings()["clip"] == 0.5


@pytest.mark.parametrize(
    ("kind", "learner", "problem"),
    [
        (
            "transition",
            "mira",
            "the model was trained by the learner perceptron, whose weights are of another scale than those of mira; "
            "continue with perceptron, or train a new model",
        ),
        (
            "graph",
            "perceptron",
            "the model was trained by the learner mira, whose weights are of another scale than those of perceptron; "
            "continue with mira, or train a new model",
        ),
        (
            "graph",
            "mirra",
            "unknown learner 'mirra'; known: crf, factored-mira, mira, perceptron (did you mean 'mira'?)",
        ),
    ],
)
def test_another_learner_is_refused(kind: str, learner: str, problem: str) -> None:
    assert refusal(lambda: train(trained(kind), DECLARATIVES, warm_start=True, learner=learner)) == problem
    # Anew it may be any.
    assert next(train(trained("transition"), DECLARATIVES[:5], learner="mira")).settings["learner"] == "mira"


def test_what_the_learner_of_the_weights_cannot_do_is_refused() -> None:
    model = GraphParser()
    for _ in train(model, DECLARATIVES[:10], epochs=1, learner="factored-mira"):
        pass
    problem = refusal(lambda: train(model, DECLARATIVES, warm_start=True, cost_augmented=True))
    assert problem == "factored-mira compares every arc with the gold one, so there is no search to augment"
    assert run(model, objectives=[Objective(QUESTIONS[:5], Root())], epochs=1).is_trained


WORDS = Sentence.of(["the", "dog", "sees", "it"], upos=["DET", "NOUN", "VERB", "PRON"])


@pytest.mark.parametrize("kind", ["graph", "graph joint"])
@pytest.mark.parametrize(
    ("tree", "label", "where", "known"),
    [
        (Tree.of([2, 3, 0, 3], ["det", "nsubj", "root", "mystery"]), "mystery", "a word", "at_word"),
        (Tree.of([2, 3, 0, 3], ["det", "nsubj", "det", "obj"]), "det", "the root", "at_root"),
        (Tree.of([2, 3, 0, 3], ["root", "nsubj", "root", "obj"]), "root", "a word", "at_word"),
    ],
)
def test_labels_that_the_model_never_saw_are_refused(kind: str, tree: Tree, label: str, where: str, known: str) -> None:
    model = trained(kind)
    table = model.grammar.labels  # type: ignore[attr-defined]
    names = [name for name, may in zip(table.names, getattr(table, known), strict=True) if may]
    treebank = [DECLARATIVES[0], Example(WORDS, tree)]
    expected = (
        f"sentence 2 of the treebank has the label {label!r} under {where}, which the model has never seen there; "
        f"it knows {', '.join(names)}; train a new model to learn others"
    )
    assert refusal(lambda: train(model, treebank, warm_start=True), DataError) == expected
    # Trees are still asked for.
    partial = [Example(WORDS, Tree.unknown(4))]
    problem = refusal(lambda: train(model, partial, warm_start=True), DataError)
    assert problem == "sentence 1 of the treebank has no complete tree with one root"


@pytest.mark.parametrize("kind", ["transition", "transition mira"])
def test_a_transition_parser_learns_new_labels_and_words(kind: str) -> None:
    model = trained(kind)
    before = model.predict_batch([example.sentence for example in TEST])
    sentence = Sentence.of(["the", "dog", "sees", "zyx"], upos=["DET", "NOUN", "VERB", "PRON"])
    gold = Tree.of([2, 3, 0, 3], ["det", "nsubj", "root", "mystery"])
    # Without an update, more labels change nothing.
    learner = model.learner([Example(sentence, gold)], warm_start=True)
    learner.install(model, learner.snapshot())
    assert model.predict_batch([example.sentence for example in TEST]) == before
    assert model.labels[-1] == "mystery"  # type: ignore[attr-defined]
    model = run(trained(kind), [Example(sentence, gold)] * 3 + DECLARATIVES[:20], epochs=8)
    assert model.predict(sentence) == gold
    assert '"zyx"' in json.dumps(model.state()[0])
    again = type(model).from_state(*model.state())
    assert again.predict(sentence) == gold


def test_the_start_has_a_share_in_the_weights() -> None:
    start = trained("transition mira")
    ways = [run(trained("transition mira"), QUESTIONS, epochs=2, start_share=share) for share in (0.0, 0.9)]
    differing = [
        sum(a != b for a, b in zip(*(m.predict_batch([e.sentence for e in TEST]) for m in (start, way)), strict=True))
        for way in ways
    ]
    assert differing[1] < differing[0]
    problem = refusal(lambda: train(trained("transition"), QUESTIONS, start_share=0.5))
    assert problem == "start_share: expected 0, or a share of less than 1 with a warm start, found 0.5"


def test_without_a_treebank_only_a_trained_model_learns() -> None:
    problem = refusal(lambda: train(TransitionParser(), objectives=[Objective(QUESTIONS, Root())]), DataError)
    assert problem == "the treebank has no words; expected at least one sentence with a tree"


@pytest.mark.parametrize("kind", ["transition", "graph"])
def test_words_of_the_new_data_stay_unknown(kind: str) -> None:
    """What left the unknown words without a gold tree would have no weights."""
    model = run(trained(kind), objectives=[Objective([(Sentence.of(["Zyx", "qwv"]), 1)], lambda *_: 1.0)], epochs=1)
    assert "Zyx" not in json.dumps(model.state()[0])


def test_both_kinds_of_weights_of_a_graph_parser_are_thawed() -> None:
    learner = trained("graph joint").learner([], warm_start=True)
    tensors = learner.tensors()
    assert {name for name in tensors if name.startswith("arcs.")}
    assert np.count_nonzero(tensors["arcs.values"]) > 100
    assert np.count_nonzero(tensors["labels.store.weights"]) > 100


def test_few_sentences_repeated_often_beside_a_large_treebank_are_warned_of() -> None:
    sentence = DECLARATIVES[0]
    with pytest.warns(UserWarning, match="questions: 1 sentences are repeated 1000 times an epoch, which can do harm"):
        train(TransitionParser(), [sentence] * 1000, objectives=[Objective([sentence], Root(), name="questions")])
