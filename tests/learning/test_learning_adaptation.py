"""Adaptation: what helps is learned, noise is found, and a model that would not get better stays as it was."""

from __future__ import annotations

import random
from functools import cache

import pytest

from treetune import train
from treetune.corpus.sentence import Example, Tree
from treetune.errors import ConfigError, DataError
from treetune.evaluation.sections import as_html, as_text
from treetune.learning import adaptation_outcome
from treetune.learning.adaptation import adapt
from treetune.learning.adaptation_outcome import SETTINGS, Adaptation, HeldOut, Setting
from treetune.learning.adaptation_report import decision, report_sections
from treetune.learning.answers import Answers
from treetune.learning.questions import ask
from treetune.models.pipeline import Pipeline
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

HOME = generate(80, seed=4, kinds=("declarative",))
QUESTIONS = generate(60, seed=5, kinds=("yes-no", "wh"))
TEST = generate(60, seed=6, kinds=("yes-no", "wh"))
FAST = (Setting("forced decoding", 3), Setting("inline ranker", 2), Setting("both", 2))


@cache
def start() -> Pipeline:
    parser = TransitionParser(beam=4)
    for _ in train(parser, HOME, epochs=4, seed=1, learner="mira", clip=0.05):
        pass
    return Pipeline(parser=parser)


def answers_of(examples: list[Example], *, everything: bool) -> list[Answers]:
    return [
        Answers(e.sentence, e.gold if everything else Tree.of([0 if head == 0 else -1 for head in e.gold.heads[1:]]))
        for e in examples
    ]


@cache
def adapted(threads: int = 1) -> Adaptation:
    return adapt(start(), answers_of(QUESTIONS, everything=True), home=HOME, settings=FAST, folds=3, threads=threads)


def right_roots(pipeline: Pipeline, examples: list[Example]) -> int:
    trees = [parsed.tree for parsed in pipeline.parse([e.sentence for e in examples], keep_tags=True)]
    return sum(tree.roots == e.gold.roots for tree, e in zip(trees, examples, strict=True))


def test_clear_answers_are_learned() -> None:
    found = adapted()
    assert found.is_adapted
    assert found.held_out.is_better
    assert right_roots(found.pipeline, TEST) > right_roots(start(), TEST)
    assert found.home is not None
    assert found.home.measure == "LAS"
    assert found.changed
    assert [count for count, _ in found.curve] == sorted(count for count, _ in found.curve)
    assert len(found.trials) == len(FAST)
    assert decision(found).startswith(f"adapted by {found.setting}: on held-out answers ")


def test_the_result_does_not_depend_on_threads() -> None:
    one, two = adapted(1), adapted(2)
    assert one.to_dict() == two.to_dict()
    sentences = [example.sentence for example in TEST]
    trees = [[parsed.tree for parsed in found.pipeline.parse(sentences)] for found in (one, two)]
    assert trees[0] == trees[1]


def test_a_harmed_home_domain_keeps_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptation_outcome, "MOST_LOST", -100.0)
    answers, said = answers_of(QUESTIONS, everything=True), list[str]()
    found = adapt(start(), answers, home=HOME, settings=FAST[:1], folds=2, say=said.append)
    assert found.held_out.is_better
    assert not found.is_adapted
    assert found.pipeline.parser is start().parser
    assert found.home is not None
    lost = f"{found.home.lost:.2f} points of LAS"
    assert decision(found).startswith(
        f"kept the model as it was, because the home domain would lose {lost}, more than "
    )
    assert said[-1] == f"the home domain loses {lost}; no nearer to the start is tried"
    assert said[-2].endswith("; again, nearer to the start")
    # Without trees the loss is one of agreement, which learning may cost.
    sentences = [example.sentence for example in HOME]
    assert adapt(start(), answers, home=sentences, settings=FAST[:1], folds=2).is_adapted


def test_answers_that_say_nothing_new_change_nothing() -> None:
    sentences = [example.sentence for example in HOME[:20]]
    own = [Answers(parsed.sentence, parsed.tree) for parsed in start().parse(sentences)]
    found = adapt(start(), own, settings=FAST[:1], folds=2)
    assert not found.is_adapted
    assert found.pipeline.parser is start().parser
    assert found.home is None
    assert decision(found).startswith("kept the model as it was, because nothing was significantly better (p < 0.01): ")


def test_few_sentences_must_show_more() -> None:
    better = (2,) * 7
    few, many = (HeldOut((1,) * count, (*better, *(1,) * (count - 7)), (2,) * count) for count in (29, 30))
    assert few.p_value == many.p_value == 2 / 2**7
    assert (few.is_better, many.is_better) == (False, True)


def test_contradicting_marks_are_found() -> None:
    answers = answers_of(generate(80, seed=8, kinds=("yes-no", "wh")), everything=False)
    draw = random.Random(1)
    wrong = set(draw.sample(range(len(answers)), 8))
    for index in wrong:
        words = [word for word in range(1, len(answers[index].sentence) + 1) if word != answers[index].main_verb]
        answers[index] = answers[index].with_main_verb(draw.choice(words))
    found = adapt(start(), answers, home=HOME, convention="ud", settings=FAST[:1])
    doubted = {doubt.number - 1 for doubt in found.doubts}
    assert len(doubted & wrong) >= 5
    assert len(doubted - wrong) <= 8
    assert found.counts["doubtful"] + found.counts["unreachable"] == len(doubted)


@pytest.mark.parametrize("sentences", [True, False])
def test_the_home_domain_may_have_no_trees(sentences: bool) -> None:
    home = [example.sentence for example in HOME] if sentences else []
    found = adapt(start(), answers_of(QUESTIONS, everything=True), home=home, settings=FAST[:1], folds=2)
    assert found.home is not None
    assert found.home.measure == "agreement"


def test_the_report_says_it_all() -> None:
    text = as_text("Adaptation", report_sections(adapted()))
    for part in ("== Decision", "Held-out answers", "Settings tried", "== More answers", "consistent", "unreachable"):
        assert part in text
    assert "<svg" in as_html("Adaptation", report_sections(adapted()))


def test_what_cannot_be_adapted_is_refused() -> None:
    one = answers_of(QUESTIONS[:1], everything=True)
    with pytest.raises(
        DataError, match="expected answers about 2 sentences or more, to learn from and test on, found 1"
    ):
        adapt(start(), one)
    with pytest.raises(ConfigError, match="unknown convention 'x'"):
        adapt(start(), one * 2, convention="x")  # type: ignore[arg-type]
    assert len(SETTINGS) == 4


def test_questions_are_about_what_is_uncertain_and_different() -> None:
    sentences = [example.sentence for example in QUESTIONS]
    asked = ask(start(), sentences + sentences, count=10)
    assert len({one.sentence.forms for one in asked}) == 10
    for one in asked:
        assert [question.kind for question in one.questions] == ["main-verb", "head", "head", "head"][
            : len(one.questions)
        ]
        assert all(one.tree.heads[question.word] == question.heads[0] for question in one.questions[1:])
        probabilities = [question.probability for question in one.questions[1:]]
        assert probabilities == sorted(probabilities)
    assert all(len(one.questions) == 1 for one in ask(start(), sentences, count=3, answers=1))
    for one in ask(start(), sentences, count=5, kind="trees"):
        assert all(len(set(question.heads)) == 2 for question in one.questions[1:])
    cells = ask(start(), sentences, count=1, kind="yes-no")[0].to_annotate().misc
    assert sum("Ask=yes-no:" in cell for cell in cells) == 3
    with pytest.raises(ConfigError, match="unknown kind of question 'x'"):
        ask(start(), sentences, kind="x")  # type: ignore[arg-type]
