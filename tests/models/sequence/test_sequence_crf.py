"""Probabilities of tags, and learning by likelihood: against all paths there are, and against CRFsuite."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sequence_samples import fitted, make_learner, make_tagger, random_tagged
from sequence_twin import ChainTwin

import treetune
from treetune.corpus.sentence import Sentence
from treetune.corpus.tags import Tagged, Tags
from treetune.errors import ConfigError
from treetune.weights._kernels import weight_of
from treetune.weights.store import LiveWeights, make_update

OBSERVED = str(Path(__file__).with_name("observed.txt"))


def small(tagger: treetune.Tagger) -> treetune.Tagger:
    """Make scores small, so that no output is all but certain."""
    tagger.weights.scale = 4.0
    return tagger


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_probabilities_are_those_of_all_paths(order: int, temperature: float) -> None:
    examples = random_tagged(order, count=8)
    tagger = small(fitted(examples, order, order=order, dictionary=4))
    store, scale = tagger.weights.store, tagger.weights.scale

    def weight(feature: int, tag: int) -> float:
        return float(weight_of(store, np.uint64(feature), tag)) / (scale * temperature)

    sentences = [example.sentence for example in examples]
    tables = tagger.marginals(sentences, temperature=temperature, threads=2)
    for sentence, table in zip(sentences, tables, strict=True):
        chain = ChainTwin(tagger.grammar, sentence, order=order)
        total = chain.log_sum(weight)
        expected = np.zeros((len(sentence) + 1, len(tagger.tags)))
        for path in chain.paths():
            chance = math.exp(chain.score(weight, path) - total)
            for position, tag in enumerate(path, start=1):
                expected[position, tag] += chance
        np.testing.assert_allclose(table, expected, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_likelihoods_and_confidences_follow_from_scores(order: int) -> None:
    examples = [example for example in random_tagged(3) if len(example.sentence)]
    tagger = small(fitted(examples, 3, order=order, dictionary=0))
    for example, found in zip(examples, tagger.log_likelihoods(examples), strict=True):
        scores = [candidate.score for candidate in tagger.k_best(example.sentence, 1000)]
        assert len(scores) == len(tagger.tags) ** len(example.sentence)
        expected = tagger.score(example.sentence, example.gold) - np.logaddexp.reduce(scores)
        assert found == pytest.approx(expected, abs=1e-9)
    sentences = [example.sentence for example in examples]
    best, tables = tagger.predict_batch(sentences), tagger.marginals(sentences)
    for given in (None, [example.gold for example in examples]):
        confidences = tagger.confidences(sentences, given)
        for tags, table, found_ in zip(given or best, tables, confidences, strict=True):
            numbers = [tagger.tags.index(value) for value in tags.values[1:]]
            assert found_.tolist() == [1.0, *table[range(1, len(table)), numbers].tolist()]


@pytest.mark.parametrize("order", [1, 2])
def test_a_step_goes_up_the_gradient(order: int) -> None:
    examples = random_tagged(order, count=6)
    tagger = small(fitted(examples, order, order=order, dictionary=4))
    ids = tagger.grammar.tags.ids()
    for example in examples:
        learner = make_learner(tagger, [example], learner="crf", learning_rate=0.5, warm_start=True)
        learner.grammar = tagger.grammar
        before, after = learner.rows, LiveWeights.thaw(tagger.weights)
        learner.rows = after
        # Every feature counts from its first change on here.
        after.averages.seen_once.fill(2**64 - 1)
        learner.learn(np.array([0]))

        def weight(feature: int, tag: int, live: LiveWeights = before) -> float:
            return float(weight_of(live.store, np.uint64(feature), tag))

        chain = ChainTwin(tagger.grammar, example.sentence, order=order)
        gradient: dict[tuple[int, int], float] = {}
        for pair in chain.pairs(tuple(ids[value] for value in example.gold.values[1:])):
            gradient[pair] = gradient.get(pair, 0.0) + 1
        gold = set(gradient)
        total = chain.log_sum(weight)
        for path in chain.paths():
            chance = math.exp(chain.score(weight, path) - total)
            for pair in chain.pairs(path):
                gradient[pair] = gradient.get(pair, 0.0) - chance
        for pair, slope in gradient.items():
            if weight(*pair):
                assert weight(*pair, after) == pytest.approx(weight(*pair) + 0.5 * slope, abs=1e-5)
            else:  # what is never gold has no weight
                assert weight(*pair, after) == 0 or pair in gold


def test_weights_are_made_smaller_by_the_penalty() -> None:
    examples = random_tagged(2, count=127)
    norms = []
    for l2 in (0.0, 1.0, 30.0):
        learner = make_learner(make_tagger(l2=l2), examples, learner="crf")
        for _ in range(3):
            learner.learn(np.arange(len(examples)))
        norms.append(float(np.square(learner.rows.freeze(average=False).cells()[2]).sum()))
    assert norms[0] > norms[1] > norms[2] > 0


def test_a_shrunk_average_is_the_average_of_shrunk_weights() -> None:
    live = LiveWeights(3)
    live.averages.seen_once.fill(2**64 - 1)
    features, outputs = np.array([2**40, 2**50], np.uint64), np.array([0, 2], np.uint16)
    history = []
    value = np.zeros(2)
    for step in range(1, 9):
        live.step()
        live.add(features, outputs, np.array([1.0, -2.0], np.float32))
        value = value + np.array([1.0, -2.0])
        if step % 3 == 0:
            live.decay(0.5)
            value = value * 0.5
        history.append(value)
    live.step()
    # An update at step t counts from t on; the weights before the first are 0.
    expected = np.sum(history, axis=0) / 10
    found = live.freeze().cells()[2]
    np.testing.assert_allclose(np.sort(found), np.sort(expected), rtol=1e-3)


def converged(examples: list[Tagged], *, l2: float, passes: int = 400) -> treetune.Tagger:
    tagger = make_tagger(features=OBSERVED, dictionary=0, l2=l2)
    learner = make_learner(tagger, examples, learner="crf", learning_rate=0.3)
    draw = np.random.default_rng(1)
    for number in range(passes):
        if number == passes // 2:
            learner.restart_average()
        learner.learn(draw.permutation(len(examples)))
    learner.install(tagger, learner.snapshot())
    return tagger


def items(sentence: Sentence) -> list[list[str]]:
    """The same features as CRFsuite knows them; what it has no transition for, the first word, is an attribute."""
    lower = ["<root>", *(word.lower().replace("1", "0") for word in sentence.forms[1:])]
    found = [
        [f"w={word.replace('1', '0')}", f"before={before}", f"end={after[-3:]}"]
        for word, (before, after) in zip(sentence.forms[1:], itertools.pairwise(lower), strict=True)
    ]
    found[0].append("first")
    return found


def test_the_optimum_is_that_of_crfsuite(tmp_path: Path) -> None:
    crfsuite = pytest.importorskip("pycrfsuite")
    examples = [example for example in random_tagged(17, count=48, longest=7) if len(example.sentence)]
    l2 = 0.3
    trainer = crfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for example in examples:
        trainer.append(items(example.sentence), example.gold.values[1:])
    trainer.set_params({"c1": 0.0, "c2": l2, "epsilon": 1e-7, "delta": 1e-9, "max_iterations": 1000})
    trainer.train(str(tmp_path / "crfsuite"))
    theirs = crfsuite.Tagger()
    theirs.open(str(tmp_path / "crfsuite"))
    ours = converged(examples, l2=l2)
    weights = ours.weights.cells()[2].astype(np.float64)
    info = theirs.info()
    assert len(weights) == pytest.approx(len(info.state_features) + len(info.transitions), abs=3)
    objective = l2 * float(np.square(weights).sum()) - sum(ours.log_likelihoods(examples))
    assert objective == pytest.approx(trainer.logparser.last_iteration["loss"], rel=1e-3)
    for example in random_tagged(18, count=30):
        if not len(example.sentence):
            continue
        theirs.set(items(example.sentence))
        (table,) = ours.marginals([example.sentence])
        for position in range(1, len(example.sentence) + 1):
            for number, tag in enumerate(ours.tags):
                assert table[position, number] == pytest.approx(theirs.marginal(tag, position - 1), abs=0.01)


def test_training_through_the_trainer_ends_the_same_after_an_interruption(tmp_path: Path) -> None:
    examples = random_tagged(31, count=100)

    def run(steps: int | None, *, resume: bool) -> treetune.Tagger:
        tagger = make_tagger()
        options: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint", "resume": resume}
        for number, report in enumerate(treetune.train(tagger, examples, epochs=3, learner="crf", **options), start=1):
            assert report.settings == {"learner": "crf", "learning_rate": 0.1, "l2": 1.0}
            if number == steps:
                break
        return tagger

    whole = run(None, resume=False)
    (tmp_path / "checkpoint").unlink()
    run(3, resume=False)
    resumed = run(None, resume=True)
    ours, theirs = whole.weights.tensors(), resumed.weights.tensors()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert whole.trained_by["learner"] == "crf"


def test_room_for_changes_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = random_tagged(8, count=30)
    learners = [make_learner(make_tagger(), examples, learner="crf") for _ in range(2)]
    learners[1].pending = make_update(3)
    for learner in learners:
        learner.learn(np.arange(len(examples)))
    ours, theirs = (learner.rows.freeze().tensors() for learner in learners)
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_what_is_wrong_is_said() -> None:
    tagger = fitted(random_tagged(1), 1)
    sentence = Sentence.of(["a"])
    with pytest.raises(ConfigError, match=r"^temperature must be more than 0, found 0$"):
        tagger.marginals([sentence], temperature=0)
    with pytest.raises(ConfigError, match=r"^learning_rate must be a finite number above 0, found inf"):
        tagger.check_learning(learner="crf", learning_rate=math.inf)
    with pytest.raises(ConfigError, match=r"^l2 must be at least 0, found -1$"):
        treetune.Tagger(l2=-1)
    for parser in (treetune.TransitionParser(), treetune.GraphParser()):
        with pytest.raises(ConfigError, match=r"^the learner crf is not for "):
            parser.check_learning(learner="crf")
    assert tagger.confidences([sentence], [Tags.of(["N"])])[0].shape == (2,)
