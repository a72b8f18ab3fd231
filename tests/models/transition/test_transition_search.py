"""The search kernels against their plain twin: equal to the last bit, ties and derivations included."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from transition_samples import (
    FEW_LABELS,
    MANY_LABELS,
    SCALE,
    TAGGED_LABELS,
    TEMPLATES,
    Twin,
    all_trees,
    random_parser,
    random_sentence,
)
from transition_twin import beam_search

from treetune.corpus.base_trees import with_base_trees
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, ModelError
from treetune.models.base import Candidate
from treetune.models.labels import LabelTable
from treetune.models.transition import search

LABELS = {"few": FEW_LABELS, "many": MANY_LABELS, "by tag": TAGGED_LABELS}


def random_sentences(seed: int, *, count: int = 8, longest: int = 7) -> list[Sentence]:
    draw = random.Random(seed)
    return [random_sentence(draw, draw.randint(1, longest)) for _ in range(count)]


def make(seed: int, labels: LabelTable, *, features: str = TEMPLATES) -> tuple[Twin, list[Sentence]]:
    sentences = random_sentences(seed)
    return Twin(random_parser(sentences, labels=labels, seed=seed, features=features)), sentences


def twin_candidates(twin: Twin, sentence: Sentence, beam: int) -> list[Candidate[Tree]]:
    items = beam_search(twin.rules_of(sentence), twin.scorer(sentence), beam)
    return [Candidate(twin.tree(item.state), item.score / SCALE, item.actions) for item in items]


def distinct(candidates: Sequence[Candidate[Tree]]) -> list[Candidate[Tree]]:
    first: dict[Tree, Candidate[Tree]] = {}
    for candidate in candidates:
        first.setdefault(candidate.output, candidate)
    return list(first.values())


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("memo_from", [1, 1000])
def test_every_beam_finds_what_the_twin_finds(labels: str, memo_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MEMO_FROM_BEAM", memo_from)
    twin, sentences = make(11, LABELS[labels])
    for beam in (1, 2, 3, 4, 5, 7, 8, 12, 16):
        parser = twin.parser.with_options(beam=beam)
        # Asking for as few candidates as are sure to be found keeps the search at this very beam.
        for sentence, predicted in zip(sentences, parser.predict_batch(sentences), strict=True):
            expected = twin_candidates(twin, sentence, beam)
            assert predicted == expected[0].output
            assert parser.k_best(sentence, 1) == expected[:1]
            k = min(len(distinct(expected)), int(beam / 1.25))
            if k > 1:
                assert parser.k_best(sentence, k) == distinct(expected)[:k]


def test_states_far_behind_are_dropped_as_by_the_twin() -> None:
    twin, sentences = make(13, MANY_LABELS)
    trees = {}
    for margin in (0.0, 1e-6, 0.3, 1.0, 1e6):
        parser = twin.parser.with_options(beam=6, margin=margin)
        trees[margin] = parser.predict_batch(sentences)
        for sentence, predicted in zip(sentences, trees[margin], strict=True):
            items = beam_search(twin.rules_of(sentence), twin.scorer(sentence), 6, margin * SCALE or math.inf)
            assert predicted == twin.tree(items[0].state)
        # Lists are those of the whole beam.
        assert parser.k_best(sentences[0], 3) == twin.parser.with_options(beam=6).k_best(sentences[0], 3)
    assert trees[0.0] == trees[1e6] != trees[1e-6]
    with pytest.raises(ConfigError, match=r"^margin must be at least 0.0, found -1$"):
        twin.parser.with_options(margin=-1)


@pytest.mark.parametrize("features", ["default", "zhang-nivre", "hall2011"])
def test_the_sets_of_the_package_have_the_features_of_the_twin(features: str) -> None:
    twin, sentences = make(12, FEW_LABELS, features=features)
    for sentence in sentences[:4]:
        best = twin.parser.k_best(sentence, 3)
        assert best == distinct(twin_candidates(twin, sentence, 8))[:3]


def test_a_base_tree_is_seen_as_the_twin_sees_it() -> None:
    draw = random.Random(5)
    plain = random_sentences(14)
    base_trees = [
        Tree.of(
            [draw.choice([*range(word), *range(word + 1, len(sentence) + 1)]) for word in range(1, len(sentence) + 1)],
            [draw.choice(["nsubj", "obj", "root"]) for _ in sentence.forms[1:]],
        )
        for sentence in plain
    ]
    sentences = with_base_trees(plain, base_trees)
    twin = Twin(random_parser(sentences, labels=FEW_LABELS, seed=14, features="default"))
    assert twin.parser.grammar.is_stacked
    changed = 0
    for sentence in sentences:
        best = twin.parser.k_best(sentence, 3)
        assert best == distinct(twin_candidates(twin, sentence, 8))[:3]
        backwards = replace(sentence, base_tree=Tree.of([0, *range(1, len(sentence))], ["root"] * len(sentence)))
        changed += len(sentence) > 0 and twin.parser.k_best(backwards, 1)[0].score != best[0].score
    assert changed
    with pytest.raises(ModelError, match=r"^this model was trained with the trees of a base parser; "):
        twin.parser.predict(plain[0])


@pytest.mark.parametrize("seed", range(3))
def test_features_are_those_of_the_twin_and_their_weights_sum_to_the_score(seed: int) -> None:
    twin, sentences = make(20 + seed, MANY_LABELS)
    for sentence in sentences:
        rules = twin.rules(len(sentence))
        for candidate in twin.parser.k_best(sentence, 4):
            features, outputs = twin.parser.features(sentence, candidate)
            state, expected, total = rules.start(), [], 0
            for action in candidate.derivation:
                numbers = twin.features(sentence, state)
                expected += [(number, action) for number in numbers]
                total += sum(twin.weights.get(number >> 28, {}).get(action, 0) for number in numbers)
                state = state.after(action)
            assert list(zip(features.tolist(), outputs.tolist(), strict=True)) == expected
            assert twin.tree(state) == candidate.output
            assert candidate.score == total / SCALE == twin.parser.score(sentence, candidate)


@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_finds_all_trees_in_the_order_of_their_best_derivations(seed: int) -> None:
    twin, _ = make(30 + seed, FEW_LABELS)
    draw = random.Random(seed)
    for n, labelled in ((1, 2), (2, 8), (3, 7 * 2 * 2**2), (4, 30 * 2 * 2**3)):
        sentence = random_sentence(draw, n)
        scores: dict[Tree, float] = {}
        rules, scorer = twin.rules(n), twin.scorer(sentence)
        for actions in rules.derivations():
            state, total = rules.start(), 0.0
            for action in actions:
                total += scorer(state).get(action, 0)
                state = state.after(action)
            tree = twin.tree(state)
            scores[tree] = max(total / SCALE, scores.get(tree, float("-inf")))
        assert len(scores) == labelled == len(list(all_trees(n))) * 2**n
        found = twin.parser.with_options(beam=4096).k_best(sentence, 10**6)
        assert {candidate.output: candidate.score for candidate in found} == scores
        assert [candidate.score for candidate in found] == sorted(scores.values(), reverse=True)


@pytest.mark.parametrize("k", [1, 2, 5, 20, 200])
def test_k_best_is_distinct_sorted_and_short_only_when_there_is_no_more(k: int) -> None:
    twin, sentences = make(40, FEW_LABELS)
    parser = twin.parser.with_options(beam=2)
    numbers = {1: 2, 2: 8, 3: 56, 4: 480}
    for sentence, candidates in zip(sentences, parser.k_best_batch(sentences, k), strict=True):
        assert len(candidates) == min(k, numbers.get(len(sentence), k))
        assert len({candidate.output for candidate in candidates}) == len(candidates)
        assert candidates == sorted(candidates, key=lambda candidate: -candidate.score)
        for candidate in candidates:
            assert len(candidate.derivation) == 2 * len(sentence)
            assert parser.score(sentence, candidate) == candidate.score
        assert candidates == parser.k_best(sentence, k)


def test_first_of_k_best_is_what_predict_returns_at_the_same_beam() -> None:
    twin, sentences = make(50, MANY_LABELS)
    for sentence in sentences:
        for k in (1, 3, 6):
            assert twin.parser.k_best(sentence, k)[0].output == twin.parser.predict(sentence)


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_gives_the_same_trees(threads: int) -> None:
    twin, some = make(60, MANY_LABELS)
    sentences = [*some, *random_sentences(61, count=100, longest=12), Sentence.of([])]
    constraints = [Tree.unknown(len(sentence)) for sentence in sentences]
    assert twin.parser.predict_batch(sentences, threads=threads) == twin.parser.predict_batch(sentences)
    assert twin.parser.k_best_batch(sentences, 5, threads=threads) == twin.parser.k_best_batch(sentences, 5)
    assert twin.parser.predict_batch(sentences, threads=threads, constraints=constraints) == twin.parser.predict_batch(
        sentences
    )


def test_the_order_and_company_of_sentences_do_not_matter() -> None:
    twin, some = make(70, MANY_LABELS)
    sentences = [*some, *random_sentences(71, count=100, longest=20)]
    together = twin.parser.predict_batch(sentences)
    assert together == [twin.parser.predict(sentence) for sentence in sentences]
    assert twin.parser.predict_batch(sentences[::-1]) == together[::-1]


def test_a_full_memo_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    twin, _ = make(80, MANY_LABELS)
    sentences = random_sentences(81, count=5, longest=30)
    expected = twin.parser.k_best_batch(sentences, 6)
    monkeypatch.setattr(search, "LARGEST_MEMO", 5)
    assert twin.parser.k_best_batch(sentences, 6) == expected
