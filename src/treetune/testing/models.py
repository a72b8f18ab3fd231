"""The contract of models as a check."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Sentence, Tree, name_sentence
from treetune.corpus.tags import Tags
from treetune.errors import ConfigError, ModelError
from treetune.learning.trainer import train
from treetune.models.base import Candidate, Learner, Model
from treetune.testing.outputs import check_refusal, contains, only_word

State: TypeAlias = tuple[str, dict[str, bytes]]

# Scores are sums of float32 or of scaled integers, in an order of their own.
_TOLERANCE = 1e-3


def check_model(
    make_model: Callable[[], Model[Any]], treebank: Sequence[Any], *, epochs: int = 2, k: int = 8, **options: Any
) -> Model[Any]:
    """Assert that a model keeps the contract of `models.base.Model`; return it, trained.

    Args:
        make_model: Makes an untrained model, the same each time.
        treebank: A few examples that the model can be trained on.
        epochs: Epochs of training.
        k: The length of k-best lists.
        options: Other options of `train`.
    """
    sentences = [example.sentence for example in treebank]
    model = make_model()
    _check_untrained(model, sentences[0])
    for _ in train(model, treebank, epochs=epochs, **options):
        pass
    assert model.is_trained, "is_trained must be true after training"
    again = make_model()
    for _ in train(again, treebank, epochs=epochs, **options):
        pass
    assert _state(again) == _state(model), "training twice with the same seed and data must give the same state"
    outputs = model.predict_batch(sentences)
    measured = model.scorer.score(treebank, outputs)
    assert model.scorer.usual in model.scorer.metrics, f"scorer.metrics must have {model.scorer.usual!r}"
    assert 0 <= measured[model.scorer.usual] <= 1, f"{model.scorer.usual} must be from 0 to 1"
    check_predictor(model, sentences, k=k)
    _check_features(model, sentences, k)
    _check_learner(make_model(), treebank, options)
    _check_updates(make_model(), treebank, k, options)
    _check_warm_start(model, sentences)
    return model


def check_predictor(model: Any, sentences: Sequence[Sentence], *, k: int = 8) -> None:
    """Assert that a trained model predicts as `models.base.Predictor` says, and survives saving."""
    _check_predictions(model, sentences)
    _check_k_best(model, sentences, k)
    _check_constraints(model, sentences, k)
    _check_state(model, sentences, k)
    check_refusal(ConfigError, "an unknown option", model.with_options, no_such_option=1)


def _check_untrained(model: Model[Any], sentence: Sentence) -> None:
    assert isinstance(model.kind, str), f"kind must be a text, found {model.kind!r}"
    assert not model.is_trained, "is_trained must be false before training"
    check_refusal(ModelError, "predicting before training", model.predict, sentence)
    check_refusal(ConfigError, "an unknown learner", model.check_learning, learner="no such learner")
    assert model.check_learning() is None, "check_learning must accept the defaults"  # type: ignore[func-returns-value]


def _check_predictions(model: Any, sentences: Sequence[Sentence]) -> None:
    outputs = model.predict_batch(sentences)
    assert len(outputs) == len(sentences), f"expected an output for each of {len(sentences)} sentences"
    for number, (sentence, output) in enumerate(zip(sentences, outputs, strict=True), start=1):
        where = name_sentence(number, sentence)
        assert len(output) == len(sentence), (
            f"{where}: expected an output of {len(sentence)} words, found {len(output)}"
        )
        assert model.predict(sentence) == output, f"{where}: predict and predict_batch must agree"
    for threads in (2, 3):
        assert model.predict_batch(sentences, threads=threads) == outputs, f"{threads} threads must change no output"
    assert model.predict_batch([]) == [], "predict_batch of no sentences must be an empty list"


def _check_k_best(model: Any, sentences: Sequence[Sentence], k: int) -> None:
    lists = model.k_best_batch(sentences, k)
    assert model.k_best_batch(sentences, k, threads=2) == lists, "2 threads must change no k-best list"
    for number, (sentence, candidates) in enumerate(zip(sentences, lists, strict=True), start=1):
        where = name_sentence(number, sentence)
        assert model.k_best(sentence, k) == candidates, f"{where}: k_best and k_best_batch must agree"
        _check_list(candidates, k, where)
        one = model.k_best(sentence, 1)
        assert [candidate.output for candidate in one] == [model.predict(sentence)], (
            f"{where}: k_best of 1 must be what predict returns"
        )
        for candidate in candidates:
            exact = model.score(sentence, candidate)
            assert _close(exact, candidate.score), (
                f"{where}: the score of a candidate must be exact, found {candidate.score}, score() says {exact}"
            )
    check_refusal(ConfigError, "k below 1", model.k_best, sentences[0], 0)


def _check_list(candidates: Sequence[Candidate[Any]], k: int, where: str) -> None:
    assert 1 <= len(candidates) <= k, f"{where}: expected 1 to {k} candidates, found {len(candidates)}"
    scores = [candidate.score for candidate in candidates]
    assert scores == sorted(scores, reverse=True), f"{where}: candidates must be sorted, best first, found {scores}"
    outputs = {candidate.output for candidate in candidates}
    assert len(outputs) == len(candidates), f"{where}: candidates must be distinct"


def _check_constraints(model: Any, sentences: Sequence[Sentence], k: int) -> None:
    """Every part of a candidate can be asked for, for the candidate has it."""
    for number, sentence in enumerate(sentences, start=1):
        where = name_sentence(number, sentence)
        last = model.k_best(sentence, k)[-1].output
        if not isinstance(last, Tree | Tags):
            return
        words = {1, len(sentence)} if len(sentence) else set()
        constraints = [*(only_word(last, word) for word in sorted(words)), last]
        for constraint in constraints:
            output = model.predict(sentence, constraint=constraint)
            assert contains(output, constraint), f"{where}: expected an output with all of {constraint}, found {output}"
            for candidate in model.k_best(sentence, 2, constraint=constraint):
                assert contains(candidate.output, constraint), f"{where}: expected candidates with all of {constraint}"
        together = model.predict_batch([sentence] * len(constraints), constraints=constraints)
        alone = [model.predict(sentence, constraint=constraint) for constraint in constraints]
        assert together == alone, f"{where}: constraints must work in a batch as one by one"
    unknown = [type(output).unknown(len(output)) for output in model.predict_batch(sentences)]
    free = model.predict_batch(sentences, constraints=unknown)
    assert free == model.predict_batch(sentences), "a constraint of which nothing is known must change nothing"


def _check_state(model: Any, sentences: Sequence[Sentence], k: int) -> None:
    config, tensors = model.state()
    restored = type(model).from_state(
        json.loads(json.dumps(config)), {name: one.copy() for name, one in tensors.items()}
    )
    assert restored.is_trained, "from_state must make a trained model"
    assert _state(restored) == _state(model), "state and from_state must be inverse"
    assert restored.k_best_batch(sentences, k) == model.k_best_batch(sentences, k), (
        "a model from state() must give the same k-best lists"
    )


def _check_features(model: Model[Any], sentences: Sequence[Sentence], k: int) -> None:
    for number, sentence in enumerate(sentences, start=1):
        where = name_sentence(number, sentence)
        for candidate in model.k_best(sentence, k):
            numbers, outputs = model.features(sentence, candidate)
            assert numbers.shape == outputs.shape, f"{where}: features() must give two arrays of the same length"
            again = model.features(sentence, candidate)
            assert np.array_equal(numbers, again[0]), f"{where}: features() must be the same whenever it is asked for"


def _check_learner(model: Model[Any], treebank: Sequence[Any], options: dict[str, Any]) -> None:
    """A learner counts its examples, and continues from tensors as if nothing had happened."""
    learning = {name: value for name, value in options.items() if name != "seed"}
    one, other = (model.learner(treebank, seed=7, **learning) for _ in range(2))
    order = np.arange(len(treebank))
    assert len(one) == len(treebank), f"expected a learner of {len(treebank)} examples, found {len(one)}"
    words = sum(len(example.sentence) for example in treebank)
    assert one.words(order) == words, f"expected {words} words, found {one.words(order)}"
    settings = one.settings()
    assert json.loads(json.dumps(settings)) == settings, f"settings() must be what JSON can hold, found {settings!r}"
    half = len(order) // 2
    updated = one.learn(order[:half])
    assert 0 <= updated <= half, f"learn() of {half} examples must return at most as many, found {updated}"
    other.restore({name: np.array(array) for name, array in one.tensors().items()})
    for learner in (one, other):
        learner.learn(order[half:])
    assert _installed(model, one) == _installed(model, other), "restore() must continue from where tensors() was taken"


def _check_updates(model: Model[Any], treebank: Sequence[Any], k: int, options: dict[str, Any]) -> None:
    """An update raises the score of the better output over the worse; with enough of a lead there is none."""
    learning = {name: value for name, value in options.items() if name != "seed"}
    learner = model.learner(treebank, seed=7, **learning)
    learner.learn(np.arange(len(treebank)))
    decoder = learner.online_decoder([example.sentence for example in treebank])
    assert len(decoder) == len(treebank), f"expected {len(treebank)} sentences, found {len(decoder)}"
    tried = 0
    for index, example in enumerate(treebank):
        where = name_sentence(index + 1, example.sentence)
        candidates = decoder.k_best(index, k)
        _check_list(candidates, k, where)
        if len(candidates) < 2:
            continue
        tried += 1
        worse, better = candidates[0], candidates[-1]
        assert not decoder.update(index, worse, better, margin=(worse.score - better.score) / 2), (
            f"{where}: an output that leads by the margin must not be updated"
        )
        assert decoder.update(index, better, worse, margin=1.0), (
            f"{where}: expected an update towards the better output"
        )
        after = {candidate.output: candidate.score for candidate in decoder.k_best(index, 4 * k)}
        if better.output in after and worse.output in after:
            lead = after[better.output] - after[worse.output]
            assert lead > better.score - worse.score, f"{where}: an update must raise the better output over the worse"
    assert tried, f"expected at least one sentence with two candidates among the {k} best"


def _check_warm_start(model: Model[Any], sentences: Sequence[Sentence]) -> None:
    before = model.predict_batch(sentences)
    other = type(model).from_state(*model.state())
    learner = other.learner([], warm_start=True)
    assert len(learner) == 0, "a learner of no examples must have the length 0"
    decoder = learner.online_decoder(sentences)
    for index, sentence in enumerate(sentences):
        where = name_sentence(index + 1, sentence)
        live, frozen = decoder.k_best(index, 1)[0], model.k_best(sentence, 1)[0]
        assert live.output == frozen.output, f"{where}: a warm start must decode as the model does"
        assert _close(live.score, frozen.score), f"{where}: a warm start must score as the model does"
    learner.install(other, learner.snapshot())
    assert other.predict_batch(sentences) == before, "a warm start must change nothing before the first update"
    other.adopt(model)
    assert _state(other) == _state(model), "adopt() must take over all that the other model has learned"


def _installed(model: Model[Any], learner: Learner[Any]) -> State:
    learner.install(model, learner.snapshot())
    return _state(model)


def _state(model: Any) -> State:
    config, tensors = model.state()
    arrays: dict[str, NDArray[Any]] = tensors
    return json.dumps(config, sort_keys=True), {name: array.tobytes() for name, array in arrays.items()}


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= _TOLERANCE * max(1.0, abs(one), abs(other))
