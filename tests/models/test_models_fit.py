"""`fit` is the plain case of `treetune.train`, for parsers and taggers; prediction loads nothing of training."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treetune
from treetune.models.base import Model
from treetune.sample import generate

TREEBANK = list(generate(30, seed=1))
DEV = list(generate(10, seed=2))
# For calls that a type checker would refuse.
ANY: Any = treetune


def same(one: Model[Any], other: Model[Any]) -> bool:
    (config, ours), (other_config, theirs) = one.state(), other.state()
    assert config == other_config
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


def trained(model: Model[Any], treebank: list[Any], **options: Any) -> Model[Any]:
    for _ in treetune.train(model, treebank, **options):
        pass
    return model


def test_a_parser_is_fit_and_predicts() -> None:
    parser = treetune.TransitionParser()
    assert parser.fit(TREEBANK) is parser
    example = TREEBANK[0]
    assert parser.predict(example.sentence) == example.gold


@pytest.mark.parametrize("make", [treetune.TransitionParser, treetune.GraphParser])
def test_fitting_is_training(make: type[Any]) -> None:
    options: dict[str, Any] = {"epochs": 3, "learner": "perceptron"}
    fitted = make().fit(TREEBANK, DEV, seed=4, **options)
    assert same(fitted, trained(make(), TREEBANK, dev=DEV, seed=4, **options))
    assert not np.array_equal(
        next(iter(fitted.state()[1].values())), next(iter(make().fit(TREEBANK, epochs=1).state()[1].values()))
    )


def test_the_seed_of_a_fit_is_one() -> None:
    one, other = treetune.TransitionParser(beam=1), treetune.TransitionParser(beam=1)
    assert same(one.fit(TREEBANK, epochs=2), trained(other, TREEBANK, epochs=2, seed=1))


def test_a_tagger_takes_its_columns_of_examples() -> None:
    tagger = treetune.Tagger(columns=("upos", "xpos")).fit(TREEBANK, DEV, epochs=3)
    pairs = treetune.tagged(TREEBANK, ("upos", "xpos")), treetune.tagged(DEV, ("upos", "xpos"))
    assert same(tagger, treetune.Tagger(columns=("upos", "xpos")).fit(pairs[0], pairs[1], epochs=3))
    assert tagger.predict(pairs[0][0].sentence) == pairs[0][0].gold


TRAINING = ("treetune.learning", ".learner", ".online", ".online_decoder", "_training_kernels")
LOADED = "import sys, json; print(json.dumps(sorted(name for name in sys.modules if name.startswith('treetune'))))"


def modules_after(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return [name for name in found if name.startswith(TRAINING[0]) or name.endswith(TRAINING[1:])]


@pytest.mark.parametrize("kind", ["transition", "graph", "tagger"])
def test_a_loaded_model_predicts_without_training_code(kind: str, tmp_path: Path) -> None:
    make: Any = {"transition": treetune.TransitionParser, "graph": treetune.GraphParser, "tagger": treetune.Tagger}
    treetune.save(make[kind]().fit(TREEBANK, epochs=1), tmp_path / "model")
    assert modules_after(
        f"import treetune; model = treetune.load({str(tmp_path / 'model')!r})\n"
        "model.k_best(treetune.Sentence.of(['dogs', 'bark'], upos=['NOUN', 'VERB']), 2)"
    ) == []  # fmt: skip


def test_the_pipeline_of_the_package_runs_without_training_code() -> None:
    assert modules_after("import treetune; list(treetune.load('en')('Dogs bark.'))") == []
    code = "import treetune.models.reranker, treetune.models.stacked, treetune.models.quantize"
    assert modules_after(code) == []


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda parser: parser.k_best(TREEBANK[0].sentence, 2.5), "k must be a whole number, found 2.5"),
        (lambda parser: parser.predict(TREEBANK[0]), "expected a sentence, found an Example; give its .sentence"),
        (
            lambda parser: parser.predict_batch(TREEBANK[0].sentence),
            "expected several sentences, found one; put it into a list",
        ),
        (
            lambda parser: parser.predict_batch(example.sentence for example in TREEBANK),
            "expected a list of sentences, found a generator",
        ),
        (lambda parser: parser.predict_batch(None), "expected a list of sentences, found None"),
        (
            lambda parser: parser.fit([TREEBANK[0].sentence]),
            "treebank: expected examples or (sentence, reference) pairs, found a Sentence",
        ),
        (
            lambda parser: ANY.train(parser, TREEBANK, objectives=["root"]),
            "expected an Objective, found a str; make one: Objective(data, loss)",
        ),
        (lambda parser: ANY.train(TREEBANK, parser), "expected a parser or a tagger to train, found a list"),
        (
            lambda parser: ANY.train(treetune.Pipeline(parser=parser), TREEBANK),
            "expected a parser or a tagger to train, found a Pipeline; train its parser, .parser",
        ),
        (
            lambda parser: ANY.save("en.treetune", parser),
            "expected a model to save, found a str; the model comes first: save(model, path)",
        ),
        (
            lambda parser: treetune.load("no.treetune"),
            "cannot read the model no.treetune: there is no such file",
        ),
    ],
)
def test_arguments_of_the_wrong_type_are_named(attempt: Any, message: str) -> None:
    with pytest.raises(treetune.TreetuneError) as caught:
        attempt(treetune.TransitionParser(beam=1).fit(TREEBANK[:5], epochs=1))
    assert str(caught.value) == message
