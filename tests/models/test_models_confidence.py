"""Confidence: margins of k-best lists, the fit, its place in model files, and the calibration error."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import treetune
from treetune.corpus.sentence import Example, Tree
from treetune.evaluation.reliability import reliability
from treetune.learning.calibration import calibrate
from treetune.models.base import Candidate
from treetune.models.confidence import Calibration, margin_features
from treetune.models.reranker import Reranker
from treetune.models.stacked import StackedParser
from treetune.sample import generate

DEV = generate(120, seed=42)


@pytest.fixture(scope="module")
def parser() -> treetune.TransitionParser:
    return treetune.TransitionParser(beam=2).fit(generate(60, seed=7), epochs=1)


def candidate(heads: list[int], labels: str, score: float) -> Candidate[Tree]:
    return Candidate(Tree.of(heads, list(labels)), score)


def test_margins_are_those_of_the_best_alternative() -> None:
    candidates = [candidate([0, 1, 1], "rab", 9.0), candidate([0, 1, 2], "rab", 8.0), candidate([0, 1, 1], "rac", 5.0),
                  candidate([0, 3, 1], "rab", 4.5)]  # fmt: skip
    assert margin_features(candidates).tolist() == [[0, 0, 1, 4.5], [1, 4.5, 0, 0], [1, 1.0, 0, 0]]
    assert margin_features(candidates[:1]).tolist() == [[0, 0, 1, 0]] * 3


def test_the_fit_recovers_the_function_that_made_the_data(parser: treetune.TransitionParser) -> None:
    """Of a parser that is right with a known probability the parameters are found again."""
    random = np.random.default_rng(3)
    lists, dev = [], []
    for _ in range(6000):
        margin = float(random.exponential(2.0))
        wrong = random.random() > 1 / (1 + math.exp(-(0.3 + 0.9 * margin)))
        lists.append([candidate([0], "a", margin), candidate([0], "b", 0.0)])
        dev.append(Example(treetune.Sentence.of(["x"]), Tree.of([0], ["b" if wrong else "a"])))

    class Fixed:
        def k_best_batch(self, sentences: object, k: int, *, threads: int = 1) -> list[list[Candidate[Tree]]]:
            return lists

    calibration, probabilities, right = calibrate(Fixed(), dev, k=2)
    assert calibration.parameters[:2] == pytest.approx((0.3, 0.9), abs=0.15)
    assert calibration.parameters[2:] == pytest.approx((0.0, 0.0))
    assert reliability(probabilities.tolist(), right.tolist()).error < 0.02


def test_a_calibration_is_stored_with_the_model_and_goes_with_the_weights(
    parser: treetune.TransitionParser, tmp_path: Path
) -> None:
    calibration, probabilities, right = calibrate(parser, DEV, k=4)
    assert 0 < right.mean() < 1
    assert abs(probabilities.mean() - right.mean()) < 0.01
    parser.calibration = calibration
    treetune.save(parser, tmp_path / "p.treetune")
    assert treetune.load(tmp_path / "p.treetune").calibration == calibration
    assert parser.with_options(beam=4).calibration == calibration
    parser.fit(generate(10, seed=1), epochs=1)
    assert parser.calibration is None


def test_graph_parsers_are_calibrated_too(tmp_path: Path) -> None:
    parser = treetune.GraphParser().fit(generate(30, seed=7), epochs=1)
    parser.calibration, _, _ = calibrate(parser, DEV[:40], k=4)
    treetune.save(parser, tmp_path / "p.treetune")
    assert treetune.load(tmp_path / "p.treetune").calibration == parser.calibration


def test_a_document_gets_confidence() -> None:
    parser = treetune.TransitionParser(beam=2).fit(generate(60, seed=7), epochs=1)
    nlp, sentence = treetune.Pipeline(parser=parser), DEV[0].sentence
    document = nlp(sentence)
    assert document[0][0].confidence is None
    with pytest.raises(treetune.TreetuneError, match=r"^this parser is not calibrated, so that its confidence means"):
        nlp.with_confidence(document)
    parser.calibration = Calibration((0.0, 1.0, 2.0, 0.5), k=4)
    found = nlp.with_confidence(document)
    wanted = parser.calibration.probabilities(parser.k_best(sentence, 4))
    assert [word.confidence for word in found[0]] == pytest.approx(wanted.tolist(), abs=1e-4)
    assert found.text == document.text


@pytest.mark.parametrize("parameters", [[1.0, 2.0], [1.0, 2.0, 3.0, "4"], "text"])
def test_a_strange_calibration_is_refused(parameters: object, tmp_path: Path) -> None:
    parser = treetune.TransitionParser(beam=2).fit(DEV[:5], epochs=1)
    parser.calibration = Calibration((1.0, 2.0, 3.0, 4.0))
    config, tensors = parser.state()
    config["calibration"]["parameters"] = parameters
    with pytest.raises(treetune.TreetuneError, match=r"^calibration\.parameters: expected "):
        treetune.TransitionParser.from_state(config, tensors)


def test_the_calibration_error_is_the_weighted_difference() -> None:
    found = reliability([0.95, 0.95, 0.95, 0.95, 0.25, 1.0], [True, True, True, False, False, True])
    assert [(one.start, one.words, round(one.confidence, 3), round(one.right, 3)) for one in found.bins] == [
        (0.2, 1, 0.25, 0.0),
        (0.9, 5, 0.96, 0.8),
    ]
    assert found.error == pytest.approx((0.25 + 5 * 0.16) / 6)


def test_combined_parsers_keep_their_calibration(parser: treetune.TransitionParser, tmp_path: Path) -> None:
    with_trees = [
        Example(replace(one.sentence, base_tree=tree), one.gold)
        for one, tree in zip(DEV[:60], parser.predict_batch([one.sentence for one in DEV[:60]]), strict=True)
    ]
    main = treetune.TransitionParser(beam=2).fit(with_trees, epochs=1)
    for model in (StackedParser(parser, main), Reranker(parser, parser, k=4)):
        model.calibration, probabilities, right = calibrate(model, DEV)
        assert reliability(probabilities.tolist(), right.tolist()).error < 0.1
        treetune.save(model, tmp_path / model.kind)
        again = treetune.load(tmp_path / model.kind)
        assert again.calibration == model.with_options(beam=3).calibration == model.calibration
        nlp = treetune.Pipeline(parser=again)
        (found,) = nlp.with_confidence(nlp(DEV[0].sentence))
        assert all(word.confidence is not None for word in found.words)
    # Other weights are not calibrated.
    stacked = StackedParser(parser, main)
    stacked.calibration = Calibration((0.0, 1.0, 0.0, 1.0))
    for _ in treetune.train(stacked, with_trees[:5], epochs=1):
        pass
    assert stacked.calibration is None
