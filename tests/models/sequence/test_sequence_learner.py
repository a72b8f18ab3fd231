"""Learners of taggers: against their twins, through the trainer, and what they refuse."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from sequence_samples import JOINT, MORPHOLOGY, make_learner, make_tagger, random_tagged
from sequence_twin import TwinLearner, check_equal

import treetune
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.tags import Tagged, Tags
from treetune.errors import ConfigError, DataError

INF = float("inf")


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {"learner": "perceptron"},
        {"learner": "mira", "k": 1, "clip": INF},
        {"learner": "mira", "k": 3, "clip": 0.05},
        {"learner": "mira", "k": 400, "clip": 0.3},
    ],
)
def test_learning_is_that_of_the_twin(order: int, options: dict[str, Any]) -> None:
    examples = random_tagged(order, count=10)
    tagger = make_tagger(order=order, dictionary=4)
    learner = make_learner(tagger, examples, **options)
    twin = TwinLearner(learner, examples)
    draw = random.Random(order)
    for _ in range(3):
        numbers = draw.sample(range(len(examples)), len(examples))
        assert learner.learn(np.array(numbers)) == twin.learn(numbers)
    check_equal(learner, twin)
    assert learner.words(np.arange(len(examples))) == sum(len(example.sentence) for example in examples)


@pytest.mark.parametrize("learner", ["perceptron", "mira"])
@pytest.mark.parametrize(("order", "beam"), [(1, 0), (2, 0), (1, 1)])
def test_parts_of_tags_are_learned_as_by_the_twin(order: int, beam: int, learner: str) -> None:
    examples = random_tagged(order, count=10, tags=JOINT)
    trained = make_learner(make_tagger(order=order, tag_beam=beam, **MORPHOLOGY), examples, learner=learner)
    twin = TwinLearner(trained, examples)
    assert trained.grammar.outputs == len(JOINT) + 4
    for numbers in (range(len(examples)), range(len(examples))):
        assert trained.learn(np.array(numbers)) == twin.learn(numbers)
    check_equal(trained, twin)


def test_a_crf_shares_no_weights() -> None:
    wanted = r"^the learner crf cannot share weights among tags; leave shared out, or take mira$"
    with pytest.raises(ConfigError, match=wanted):
        make_tagger(shared=True).check_learning(learner="crf")


def test_words_seen_once_are_unknown_in_every_other_epoch() -> None:
    examples = [*random_tagged(3), Tagged(Sentence.of(["once", "a"]), Tags.of(["N", "V"]))]
    weights = []
    for most in (0, 1):
        learner = make_learner(make_tagger(unknown_dropout=most), examples)
        numbers = np.arange(len(examples))
        first = learner.learn(numbers)
        assert first == learner.model.learner(examples).learn(numbers)
        learner.learn(numbers[:5])
        learner.learn(numbers[5:])
        weights.append(learner.rows.freeze().tensors())
    assert any(not np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_store_that_must_grow_learns_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = random_tagged(4, count=300, longest=12)
    tagger = make_tagger()
    whole, small = (make_learner(tagger, examples, learner="mira") for _ in range(2))
    for array in (small.rows.store.outputs, small.rows.store.weights, small.rows.averages.weights):
        array.resize(2500, refcheck=False)
    for learner in (whole, small):
        learner.learn(np.arange(len(examples)))
    ours, theirs = (learner.rows.freeze().tensors() for learner in (whole, small))
    assert len(small.rows.store.outputs) > 2500
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_mira_reaches_its_margins() -> None:
    examples = random_tagged(6, count=1, longest=4)[-1:]
    learner = make_learner(make_tagger(), examples, learner="mira", k=5, clip=INF)
    for _ in range(50):
        if not learner.learn(np.array([0])):
            break
    assert not learner.learn(np.array([0]))
    gold = examples[0].gold
    found = learner.online_decoder([examples[0].sentence]).k_best(0, 5)
    assert found[0].output == gold
    for candidate in found[1:]:
        wrong = sum(a != b for a, b in zip(gold.values, candidate.output.values, strict=True))
        assert found[0].score - candidate.score >= wrong - 1e-3


def trained(dictionary: int = 5, **options: Any) -> treetune.Tagger:
    tagger = make_tagger(dictionary=dictionary)
    examples = random_tagged(21, count=40)
    for _ in treetune.train(tagger, examples, **{"epochs": 3, **options}):
        pass
    return tagger


def test_every_option_changes_something() -> None:
    examples = [example.sentence for example in random_tagged(22, count=40)]
    usual = trained().weights.tensors()
    cases: list[dict[str, Any]] = [{"learner": "perceptron"}, {"epochs": 2}, {"seed": 2}, {"k": 1}, {"clip": 0.001}]
    for options in cases:
        other = trained(**options).weights.tensors()
        assert any(not np.array_equal(usual[name], other[name]) for name in usual), options
    assert trained().predict_batch(examples) == trained().predict_batch(examples)


def test_words_get_new_tags_by_a_warm_start() -> None:
    tagger = trained(learner="perceptron")
    word = Sentence.of(["b"])
    assert {candidate.output.values[1] for candidate in tagger.k_best(word, 9)} == {"V", "D"}
    news = [Tagged(word, Tags.of(["N"]))] * 5
    reports = list(treetune.train(tagger, news, epochs=3, warm_start=True))
    assert reports[-1].settings["learner"] == "perceptron"
    assert tagger.predict(word).values[1] == "N"
    with pytest.raises(DataError, match=r"^sentence 1 of the training data has the tag 'Q', which the model has never"):
        treetune.train(tagger, [Tagged(word, Tags.of(["Q"]))], warm_start=True)


def test_the_inline_ranker_moves_a_tagger() -> None:
    tagger = trained(dictionary=0)
    sentence = Sentence.of(["a", "b"])
    first = tagger.predict(sentence).values[1]

    def cost(sentence: Sentence, tags: Tags, reference: str) -> float:
        return float(tags.values[1] != reference)

    wanted = next(tag for tag in ("N", "V") if tag != first)
    objective = treetune.Objective([(sentence, wanted)], cost, name="first", dev=[(sentence, wanted)])
    reports = list(treetune.train(tagger, objectives=[objective], epochs=8, warm_start=True, choose_by="first"))
    assert tagger.predict(sentence).values[1] == wanted
    assert reports[-1].objectives[0].dev_cost == 0
    assert any(report.objectives[0].updated for report in reports)


def test_a_training_that_was_stopped_ends_with_the_same_bytes(tmp_path: Any) -> None:
    examples, dev = random_tagged(31, count=30), random_tagged(32)

    def run(steps: int | None, resume: bool) -> treetune.Tagger:
        tagger = make_tagger()
        reports = treetune.train(
            tagger, examples, dev=dev, epochs=3, learner="mira", checkpoint=tmp_path / "checkpoint", resume=resume
        )
        for number, _ in enumerate(reports, start=1):
            if number == steps:
                break
        return tagger

    whole = run(None, False)
    (tmp_path / "checkpoint").unlink()
    run(3, False)
    resumed = run(None, True)
    for path, tagger in (("perceptron", whole), ("resumed", resumed)):
        treetune.save(tagger, tmp_path / path)
    assert (tmp_path / "perceptron").read_bytes() == (tmp_path / "resumed").read_bytes()


def test_the_best_epoch_is_chosen_by_accuracy_or_by_what_is_asked() -> None:
    examples, dev = random_tagged(41, count=30), random_tagged(42, count=30)
    ends = [report for report in treetune.train(make_tagger(), examples, dev=dev, epochs=4) if report.is_epoch_end]
    scores = [end.dev["accuracy"] for end in ends if end.dev is not None]
    assert [end.best for end in ends] == [score > max(scores[:place], default=0) for place, score in enumerate(scores)]
    assert ends[0].dev is not None
    assert ends[0].dev.metrics == ("UPOS", "accuracy", "known", "unknown", "sentences")
    with pytest.raises(
        ConfigError,
        match=r"^the best epoch cannot be chosen by 'LAS'; known: UPOS, accuracy, known, unknown, sentences$",
    ):
        treetune.train(make_tagger(), examples, dev=dev, choose_by="LAS")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "factored-mira"}, r"the learner factored-mira is not for taggers, which have"),
        ({"update": "early"}, r"update is an option of transition parsers, not of taggers"),
        ({"cost_augmented": True}, r"cost_augmented is an option of graph parsers, not of taggers"),
        ({"k": 0}, r"k must be at least 1, found 0"),
    ],
)
def test_what_a_tagger_cannot_learn_by_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        make_tagger().check_learning(**options)
    with pytest.raises(ConfigError, match=f"^{message}"):
        treetune.train(make_tagger(), random_tagged(1), **options)


def test_gold_that_cannot_serve_is_refused() -> None:
    sentence = Sentence.of(["a", "b"])
    cases: list[tuple[list[Any], str]] = [
        (
            [Example(sentence, Tree.unknown(2))],
            r"sentence 1 of the training data: expected gold tags, found Tree; make",
        ),
        ([Tagged(sentence, Tags.of(["N"]))], r"sentence 1 of the training data has 2 words, but 1 tags"),
        ([Tagged(sentence, Tags.of(["N", ""]))], r"sentence 1 of the training data has a word without upos; a tagger"),
        ([Tagged(Sentence.of([]), Tags.of([]))], r"the training data has no words; expected at least one sentence"),
    ]
    for examples, message in cases:
        with pytest.raises(DataError, match=f"^{message}"):
            treetune.train(make_tagger(), examples)
