"""Word dropout: which words are dropped, how many, and that the reference keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from treetune import Objective, TransitionParser, train
from treetune.corpus.sentence import Sentence, Tree
from treetune.learning.word_dropout import COPIES, DROPPED, word_dropout
from treetune.losses import Root
from treetune.models.transition.learner import TransitionLearner
from treetune.sample import generate

STATEMENTS = generate(40, seed=1, kinds=("declarative",))
QUESTIONS = generate(20, seed=2, kinds=("wh", "yes-no"))
SENTENCES = [example.sentence for example in QUESTIONS]


def test_sentences_come_as_they_are_and_with_words_dropped() -> None:
    plain, *others = word_dropout(SENTENCES, 0.3, [1, 2])
    assert plain == SENTENCES
    assert len(others) == COPIES
    dropped = total = 0
    for form in others:
        for sentence, original in zip(form, SENTENCES, strict=True):
            assert sentence.forms[0] == original.forms[0]
            assert (sentence.upos, sentence.xpos, sentence.feats) == (original.upos, original.xpos, original.feats)
            changed = [word for word, kept in zip(sentence.forms, original.forms, strict=True) if word != kept]
            assert set(changed) <= {DROPPED}
            dropped += len(changed)
            total += len(sentence)
    assert 0.25 < dropped / total < 0.35


def test_lemmas_are_dropped_with_their_words() -> None:
    sentence = Sentence.of(["Dogs", "bark"], lemmas=["dog", "bark"])
    for (one,) in word_dropout([sentence], 0.99, [0])[1:]:
        assert one.forms[1:] == (DROPPED, DROPPED)
        assert one.lemmas[1:] == ("_", "_")


def test_the_seed_decides_which() -> None:
    assert word_dropout(SENTENCES, 0.5, [1, 2]) == word_dropout(SENTENCES, 0.5, [1, 2])
    assert word_dropout(SENTENCES, 0.5, [1, 2]) != word_dropout(SENTENCES, 0.5, [1, 3])
    assert word_dropout([], 0.5, [1])[0] == []


def learned(**options: Any) -> list[float]:
    parser = TransitionParser(beam=2)
    objective = Objective(QUESTIONS, Root(), **options)
    for _ in train(parser, STATEMENTS, objectives=[objective], epochs=4, seed=7):
        pass
    return [parser.score(example.sentence, parser.predict(example.sentence)) for example in QUESTIONS]


def test_it_changes_what_is_learned_and_the_same_seed_learns_the_same() -> None:
    assert learned(word_dropout=0.5) == learned(word_dropout=0.5)
    assert learned(word_dropout=0.5) != learned()
    assert learned(word_dropout=0.5) != learned(word_dropout=0.2)


def test_the_loss_sees_all_words() -> None:
    seen = set()

    def cost(sentence: Sentence, tree: Tree, reference: Tree) -> float:
        seen.add(sentence)
        return float(tree.roots != reference.roots)

    for _ in train(
        TransitionParser(beam=2), STATEMENTS, objectives=[Objective(QUESTIONS, cost, word_dropout=0.9)], epochs=4
    ):
        pass
    assert seen == set(SENTENCES)


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_the_model_meets_dropped_words_only_if_asked(rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[Sentence] = []
    online_decoder = TransitionLearner.online_decoder

    def watched(learner: TransitionLearner, sentences: list[Sentence]) -> Any:
        met.extend(sentences)
        return online_decoder(learner, sentences)

    monkeypatch.setattr(TransitionLearner, "online_decoder", watched)
    for _ in train(
        TransitionParser(beam=1), STATEMENTS, objectives=[Objective(QUESTIONS, Root(), word_dropout=rate)], epochs=3
    ):
        pass
    assert len(met) == len(QUESTIONS) * (1 + COPIES if rate else 1)
    assert any(DROPPED in sentence.forms for sentence in met) == bool(rate)
