from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, DataError
from treetune.evaluation.scorers import Scorer
from treetune.evaluation.scores import evaluate_trees
from treetune.learning import epochs as epochs_of_learner
from treetune.learning.progress import Progress
from treetune.learning.trainer import train
from treetune.models.learning_options import DEFAULT_SEED, DYNAMIC, EARLY, MAX_VIOLATION
from treetune.models.transition.parser import TransitionParser
from treetune.sample import Treebank, treebank


@cache
def sample() -> Treebank:
    return treebank(train=60, dev=30, test=30, seed=2, kinds=("declarative", "yes-no"))


def checksum(parser: TransitionParser) -> str:
    digest = hashlib.sha256()
    for name, values in sorted(parser.state()[1].items()):
        digest.update(name.encode() + values.tobytes())
    return digest.hexdigest()


def las(parser: TransitionParser, examples: Sequence[Example]) -> float:
    return evaluate_trees(examples, parser.predict_batch([example.sentence for example in examples])).las


def run(examples: Sequence[Example], *, beam: int = 2, **options: Any) -> tuple[TransitionParser, list[Progress]]:
    parser = TransitionParser(beam=beam)
    return parser, list(train(parser, examples, **options))


def test_ten_sentences_are_learned_by_heart_and_twice_the_same() -> None:
    examples = sample().train[:10]
    first, _ = run(examples, beam=8, epochs=50, seed=1)
    second, _ = run(examples, beam=8, epochs=50, seed=1)
    assert las(first, examples) == 1.0
    assert [first.predict(example.sentence) for example in examples] == [example.gold for example in examples]
    assert checksum(first) == checksum(second)


@pytest.mark.parametrize("update", [EARLY, MAX_VIOLATION, DYNAMIC])
def test_every_update_learns(update: str) -> None:
    beam = 1 if update == "dynamic" else 4
    parser, reports = run(sample().train, beam=beam, dev=sample().dev, update=update, epochs=12)
    ends = [report for report in reports if report.is_epoch_end]
    scores = [report.dev["LAS"] for report in ends if report.dev is not None]
    assert len(scores) == 12
    assert max(scores) > scores[0] + 0.1
    assert las(parser, sample().train) > 0.9
    assert las(parser, sample().test) > 0.7
    assert ends[-1].updated < ends[0].updated


def test_updates_and_seeds_and_beams_differ() -> None:
    examples = sample().train[:20]
    plain = checksum(run(examples, epochs=2)[0])
    assert checksum(run(examples, epochs=2, update="max-violation", seed=DEFAULT_SEED)[0]) == plain
    changes: list[dict[str, Any]] = [
        {"update": "early"}, {"update": "dynamic"}, {"seed": 2}, {"beam": 4}, {"epochs": 3},
    ]  # fmt: skip
    for options in changes:
        assert checksum(run(examples, **{"epochs": 2, **options})[0]) != plain, options
    dynamic = checksum(run(examples, beam=1, epochs=2)[0])
    assert checksum(run(examples, beam=1, epochs=2, update="dynamic")[0]) == dynamic
    assert checksum(run(examples, beam=1, epochs=2, seed=3)[0]) != dynamic


def test_threads_change_nothing() -> None:
    examples = sample().train[:20]
    one, two = (run(examples, epochs=2, dev=sample().dev * 3, threads=threads)[0] for threads in (1, 2))
    assert checksum(one) == checksum(two)


def test_a_large_seed_is_a_seed() -> None:
    for beam in (1, 2):
        large, larger = (run(sample().train[:6], beam=beam, epochs=2, seed=seed)[0] for seed in (2**70, 2**70 + 1))
        assert checksum(large) != checksum(larger)


def test_reports_count_sentences_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs_of_learner, "REPORT_EVERY", 25)
    examples = sample().train
    _, reports = run(examples, epochs=2)
    assert [report.seen for report in reports] == [25, 50, 60, 60] * 2
    assert [report.epoch for report in reports] == [1] * 4 + [2] * 4
    assert [report.is_epoch_end for report in reports] == [False, False, False, True] * 2
    assert {(report.epochs, report.total) for report in reports} == {(2, 60)}
    assert reports[3].words == reports[7].words == sum(len(example.sentence) for example in examples)
    assert all(0 <= report.updated <= report.seen for report in reports)
    assert all(report.cpu_seconds >= 0 and report.dev is None and not report.best for report in reports)


def test_the_best_epoch_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    dev = sample().dev
    values = iter([0.5, 0.9, 0.7, 0.9])
    scorer: Any = Scorer(("LAS",), "LAS", lambda *_: cast(Any, {"LAS": next(values)}))
    monkeypatch.setattr(TransitionParser, "scorer", scorer)
    parser, reports = run(sample().train, dev=dev, epochs=4)
    ends = [report for report in reports if report.is_epoch_end]
    assert [report.best for report in ends] == [True, True, False, False]
    second, _ = run(sample().train, epochs=2)
    assert checksum(parser) == checksum(second)
    assert checksum(parser) != checksum(run(sample().train, epochs=4)[0])


def test_dev_scores_are_those_of_the_averaged_weights() -> None:
    parser, reports = run(sample().train, dev=sample().dev, epochs=3)
    best = [report.dev for report in reports if report.best]
    assert best[-1] is not None
    assert best[-1]["LAS"] == las(parser, sample().dev)
    assert best[-1]["LAS"] == max(report.dev["LAS"] for report in reports if report.dev is not None)


def test_a_parser_stays_as_it_was_until_training_ends() -> None:
    parser = TransitionParser(beam=2)
    reports = train(parser, sample().train[:10], epochs=2)
    for report in reports:
        if report.is_epoch_end:
            break
    assert not parser.is_trained
    for _ in reports:
        pass
    before = checksum(parser)
    next(train(parser, sample().train[10:20], epochs=1))
    assert checksum(parser) == before
    for _ in train(parser, sample().train[10:20], epochs=1):
        pass
    assert checksum(parser) != before


def test_crossing_arcs_come_back() -> None:
    words = ["who", "did", "you", "want", "to", "see", "?"]
    gold = Tree.of((6, 4, 4, 0, 6, 4, 4), ("obj", "aux", "nsubj", "root", "mark", "xcomp", "punct"))
    assert not is_projective(gold.heads)
    crossing = [
        Example(Sentence.of([*words[:3], verb, *words[4:]]), gold)
        for verb in ("want", "hope", "like", "plan", "wish", "need")
    ]
    parser = TransitionParser(beam=4, min_lifted=5)
    for _ in train(parser, [*crossing, *sample().train[:20]], epochs=6):
        pass
    new = Sentence.of([*words[:3], "expect", *words[4:]])
    assert parser.predict(new) == gold
    assert gold in [candidate.output for candidate in parser.k_best(new, 3)]
    assert "obj↑xcomp" in parser.labels
    plain = TransitionParser(beam=4, min_lifted=7)
    for _ in train(plain, [*crossing, *sample().train[:20]], epochs=6):
        pass
    assert is_projective(plain.predict(new).heads)


def test_sentences_without_words_are_passed_over() -> None:
    empty = Example(Sentence.of([]), Tree.unknown(0))
    parser, reports = run([empty, *sample().train[:5], empty], epochs=2, dev=[empty, *sample().dev[:2]])
    assert reports[-1].seen == 7
    assert parser.predict(empty.sentence) == empty.gold
    greedy, _ = run([empty, *sample().train[:5]], beam=1, epochs=1)
    assert greedy.is_trained


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"epochs": 0}, "epochs must be at least 1, found 0"),
        ({"seed": -1}, "seed must be at least 0, found -1"),
        (
            {"update": "earl"},
            "unknown update 'earl'; known: dynamic, early, max-violation (did you mean 'early'?)",
        ),
        ({"threads": 0}, "threads must be at least 1, found 0"),
    ],
)
def test_wrong_options_are_refused_at_once(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        train(TransitionParser(), sample().train[:2], **options)
    assert str(caught.value) == problem


def test_what_is_no_treebank_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match=r"^expected a treebank or an objective to train on, found neither$"):
        train(TransitionParser(), [])
    for options in ({"treebank": "train.conllu"}, {"treebank": sample().train, "dev": Path("train.conllu")}):
        with pytest.raises(ConfigError) as caught:
            train(TransitionParser(), **options)
        assert str(caught.value) == (
            f"{list(options)[-1]}: expected examples, found the path 'train.conllu'; read them first: "
            "list(treetune.read_trees('train.conllu'))"
        )
    with pytest.raises(DataError, match=r"^the treebank has no words; expected at least one sentence with a tree$"):
        train(TransitionParser(), [Example(Sentence.of([]), Tree.unknown(0))])
    partial = replace(sample().train[0], gold=Tree.unknown(len(sample().train[0].sentence)))
    with pytest.raises(DataError, match=r"^sentence 2 of the treebank has no complete tree with one root$"):
        train(TransitionParser(), [sample().train[0], partial])
