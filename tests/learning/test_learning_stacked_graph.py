"""From end to end: a transition parser base_trees a graph parser on generated English."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from treetune.corpus.base_trees import with_base_trees
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ModelError
from treetune.evaluation.scores import evaluate_trees
from treetune.learning.stacking import train_stacked
from treetune.learning.trainer import train
from treetune.models.graph.parser import GraphParser
from treetune.models.stacked import StackedParser
from treetune.models.transition.parser import TransitionParser
from treetune.sample import Treebank, treebank
from treetune.storage import load, save

# Few templates, so that the base matters.
FEATURES = """
[arc]
@also A.dist
H.t D.t
H.w D.w
[arc base]
A.base
A.base D.g
A.base H.t D.t
[label]
D.t
H.t D.t
D.g
D.g A.base
"""


@pytest.fixture(scope="module")
def sample() -> Treebank:
    return treebank(train=120, dev=40, test=60, seed=2)


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("features") / "stacked.txt"
    path.write_text(FEATURES, encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def stacked(sample: Treebank, features: str) -> StackedParser:
    *_, last = train_stacked(
        lambda: TransitionParser(beam=4),
        lambda: GraphParser(features=features),
        sample.train,
        dev=sample.dev,
        folds=4,
        base_options={"epochs": 4},
        main_options={"epochs": 4},
    )
    assert last.model is not None
    return last.model


def sentences_of(examples: Sequence[Example]) -> list[Sentence]:
    return [example.sentence for example in examples]


def test_the_stacked_parser_beats_the_same_parser_alone(
    sample: Treebank, features: str, stacked: StackedParser
) -> None:
    alone = GraphParser(features=features)
    for _ in train(alone, sample.train, dev=sample.dev, epochs=4):
        pass
    sentences = sentences_of(sample.test)
    without = evaluate_trees(sample.test, alone.predict_batch(sentences))
    found = evaluate_trees(sample.test, stacked.predict_batch(sentences))
    assert found.las > without.las + 0.05
    assert found.uas > without.uas


def test_a_better_base_tree_gives_better_trees(sample: Treebank, stacked: StackedParser) -> None:
    sentences = sentences_of(sample.test)
    gold = with_base_trees(sentences, [example.gold for example in sample.test])
    chains = with_base_trees(sentences, [Tree.of(range(len(sentence))) for sentence in sentences])
    scores = [evaluate_trees(sample.test, stacked.predict_batch(them)).uas for them in (chains, sentences, gold)]
    assert scores[0] < scores[1] - 0.05
    assert scores[1] < scores[2] - 0.02


def test_the_main_parser_alone_asks_for_its_base_tree(sample: Treebank, stacked: StackedParser) -> None:
    with pytest.raises(ModelError, match=r"^this model was trained with the trees of a base parser; "):
        stacked.main.predict_batch(sentences_of(sample.test))


def test_threads_and_a_file_change_nothing(sample: Treebank, stacked: StackedParser, tmp_path: Path) -> None:
    sentences = sentences_of(sample.test)
    expected = stacked.predict_batch(sentences)
    assert stacked.predict_batch(sentences, threads=2) == expected
    assert [stacked.predict(sentence) for sentence in sentences[:5]] == expected[:5]
    save(stacked, tmp_path / "stacked.treetune")
    again = load(tmp_path / "stacked.treetune")
    assert again.predict_batch(sentences) == expected
    assert again.k_best(sentences[0], 3) == stacked.k_best(sentences[0], 3)


def test_lists_scores_and_constraints_pass_through(sample: Treebank, stacked: StackedParser) -> None:
    sentence = max(sentences_of(sample.test), key=len)
    candidates = stacked.k_best(sentence, 5)
    assert candidates[0].output == stacked.predict(sentence)
    scores = [candidate.score for candidate in candidates]
    assert scores == sorted(scores, reverse=True)
    assert [stacked.score(sentence, candidate) for candidate in candidates] == pytest.approx(scores)
    features, outputs = stacked.features(sentence, candidates[0])
    assert len(features) == len(outputs) > 0
    root = next(word for word in range(1, len(sentence) + 1) if word not in candidates[0].output.roots)
    fixed = Tree.of([0 if word == root else -1 for word in range(1, len(sentence) + 1)])
    (attached,) = stacked.attach([sentence], constraints=[fixed])
    assert attached.base_tree is not None
    assert attached.base_tree.roots == stacked.predict(sentence, constraint=fixed).roots == (root,)
    best = stacked.k_best(sentence, 1, constraint=fixed)[0]
    assert stacked.score(attached, best) == pytest.approx(best.score)
