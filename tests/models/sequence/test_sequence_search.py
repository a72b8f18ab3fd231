"""Search of linear chains: against plain Python and against every path there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sequence_samples import JOINT, MORPHOLOGY, TAGS, fitted, random_tagged
from sequence_twin import ChainTwin

from treetune.corpus.sentence import ROOT, Sentence
from treetune.corpus.tags import Tags
from treetune.errors import ConfigError, DataError, ModelError
from treetune.models.sequence.tagger import Tagger
from treetune.weights._kernels import weight_of

ORDERS = pytest.mark.parametrize("order", [1, 2])


def weight_in(tagger: Tagger) -> Any:
    store = tagger.weights.store

    def weight(feature: int, tag: int) -> float:
        return float(weight_of(store, np.uint64(feature), tag))

    return weight


def twin(tagger: Tagger, sentence: Sentence, fixed: Tags | None = None) -> ChainTwin:
    return ChainTwin(tagger.grammar, sentence, order=tagger.config.order, fixed=fixed)


def numbers(tagger: Tagger, tags: Tags) -> tuple[int, ...]:
    return tuple(tagger.tags.index(value) for value in tags.values[1:])


@ORDERS
@pytest.mark.parametrize("dictionary", [0, 4])
@pytest.mark.parametrize("seed", range(4))
def test_k_best_lists_are_those_of_all_paths(order: int, dictionary: int, seed: int) -> None:
    examples = random_tagged(seed)
    tagger = fitted(examples, seed, order=order, dictionary=dictionary)
    sentences = [example.sentence for example in examples]
    scale, weight = tagger.weights.scale, weight_in(tagger)
    lists = tagger.k_best_batch(sentences, 300)
    for sentence, found in zip(sentences, lists, strict=True):
        chain = twin(tagger, sentence)
        paths = list(chain.paths())
        assert {numbers(tagger, candidate.output) for candidate in found} == set(paths[:300]) or len(paths) > 300
        assert len(found) == len({candidate.output for candidate in found}) == min(300, len(paths))
        scores = sorted((chain.score(weight, path) / scale for path in paths), reverse=True)
        assert [candidate.score for candidate in found] == scores[:300]
        for candidate in found:
            path = numbers(tagger, candidate.output)
            assert candidate.score == chain.score(weight, path) / scale == tagger.score(sentence, candidate.output)


@ORDERS
@pytest.mark.parametrize("k", [1, 3])
def test_lists_are_those_of_the_twin_also_where_scores_are_equal(order: int, k: int) -> None:
    examples = random_tagged(7, count=20)
    tagger = fitted(examples, 7, order=order, dictionary=4)
    for example in examples:
        expected = twin(tagger, example.sentence).k_best(weight_in(tagger), k)
        found = tagger.k_best(example.sentence, k)
        assert [(c.score * tagger.weights.scale, numbers(tagger, c.output)) for c in found] == expected


@pytest.mark.parametrize("beam", [1, 2])
def test_a_beam_continues_the_best_tags_of_each_word(beam: int) -> None:
    examples = random_tagged(7, count=20, tags=JOINT)
    tagger = fitted(examples, 7, dictionary=0, tag_beam=beam)
    for example in examples:
        expected = twin(tagger, example.sentence).k_best(weight_in(tagger), 3, beam=beam)
        found = tagger.k_best(example.sentence, 3)
        assert [(c.score * tagger.weights.scale, numbers(tagger, c.output)) for c in found] == expected
        assert tagger.predict(example.sentence) == found[0].output


@ORDERS
def test_parts_of_tags_count_as_in_the_twin(order: int) -> None:
    examples = random_tagged(9, tags=JOINT)
    tagger = fitted(examples, 9, order=order, **MORPHOLOGY)
    weight, scale = weight_in(tagger), tagger.weights.scale
    for example in examples:
        chain = twin(tagger, example.sentence)
        expected = sorted((chain.score(weight, path) / scale for path in chain.paths()), reverse=True)
        found = tagger.k_best(example.sentence, 5)
        assert [candidate.score for candidate in found] == expected[:5]
        assert tagger.predict(example.sentence) == found[0].output
        for candidate in found:
            features, outputs = tagger.features(example.sentence, candidate)
            pairs = list(zip(features.tolist(), outputs.tolist(), strict=True))
            assert pairs == chain.pairs(numbers(tagger, candidate.output))
            assert sum(weight(feature, output) for feature, output in pairs) / scale == candidate.score


@ORDERS
def test_the_best_output_is_the_first_of_a_list_for_any_number_of_threads(order: int) -> None:
    examples = random_tagged(3, count=200)
    tagger = fitted(examples, 3, order=order)
    sentences = [example.sentence for example in examples]
    best = tagger.predict_batch(sentences)
    assert best == [found[0].output for found in tagger.k_best_batch(sentences, 2, threads=3)]
    assert best == tagger.predict_batch(sentences, threads=3)
    assert best[:5] == [tagger.predict(sentence) for sentence in sentences[:5]]
    assert all(tags.values[0] == ROOT and len(tags) == len(s) for tags, s in zip(best, sentences, strict=True))


@ORDERS
def test_features_are_those_of_the_twin_and_sum_to_the_score(order: int) -> None:
    examples = random_tagged(5)
    tagger = fitted(examples, 5, order=order)
    weight = weight_in(tagger)
    for example in examples:
        for candidate in tagger.k_best(example.sentence, 2):
            features, outputs = tagger.features(example.sentence, candidate)
            pairs = list(zip(features.tolist(), outputs.tolist(), strict=True))
            assert sorted(pairs) == sorted(twin(tagger, example.sentence).pairs(numbers(tagger, candidate.output)))
            total = sum(weight(feature, tag) for feature, tag in pairs)
            assert candidate.score == total / tagger.weights.scale


@settings(max_examples=60)
@given(data=st.data(), order=st.sampled_from([1, 2]))
def test_known_tags_stay_and_the_rest_is_the_best_there_is(data: st.DataObject, order: int) -> None:
    examples = random_tagged(11)
    tagger = fitted(examples, 11, order=order, dictionary=3)
    sentence = data.draw(st.sampled_from(examples)).sentence
    values = data.draw(st.lists(st.sampled_from(["", *TAGS]), min_size=len(sentence), max_size=len(sentence)))
    fixed = Tags.of(values)
    found = tagger.k_best(sentence, 4, constraint=fixed)
    chain = twin(tagger, sentence, fixed)
    expected = sorted((chain.score(weight_in(tagger), path) for path in chain.paths()), reverse=True)[:4]
    assert [candidate.score * tagger.weights.scale for candidate in found] == expected
    for candidate in found:
        pairs = zip(values, candidate.output.values[1:], strict=True)
        assert all(value in ("", tag) for value, tag in pairs)
    assert tagger.predict(sentence, constraint=fixed) == found[0].output


def test_a_part_of_a_joint_tag_can_be_known() -> None:
    examples = random_tagged(2, tags=("N n", "N m", "V v"))
    tagger = fitted(examples, 2, columns=("upos", "xpos"), dictionary=0)
    sentence = Sentence.of(["a", "b", "x"])
    for part, allowed in (("N ", {"N n", "N m"}), (" v", {"V v"}), ("V ", {"V v"})):
        found = tagger.k_best(sentence, 99, constraint=Tags.of(["", part, ""]))
        assert {candidate.output.values[2] for candidate in found} == allowed


def test_words_that_were_seen_often_have_only_the_tags_they_were_seen_with() -> None:
    examples = random_tagged(9, count=300)
    seen = {(w, t) for e in examples for w, t in zip(e.sentence.forms[1:], e.gold.values[1:], strict=True)}
    strict = fitted(examples, 9, dictionary=1)
    free = fitted(examples, 9, dictionary=0)
    sentences = [example.sentence for example in examples]
    found = {(w, t) for s in sentences for w, t in zip(s.forms[1:], strict.predict(s).values[1:], strict=True)}
    assert found <= seen
    assert strict.predict_batch(sentences) != free.predict_batch(sentences)
    # What is fixed is respected all the same.
    (other,) = set(TAGS) - {tag for word, tag in seen if word == "b"}
    assert strict.predict(Sentence.of(["b"]), constraint=Tags.of([other])).values == (ROOT, other)


def test_an_empty_sentence_has_one_output() -> None:
    examples = random_tagged(1)
    tagger = fitted(examples, 1)
    empty = Sentence.of([])
    assert tagger.predict(empty) == Tags((ROOT,))
    assert [candidate.output for candidate in tagger.k_best(empty, 5)] == [Tags((ROOT,))]
    assert tagger.predict_batch([]) == []


def test_what_is_wrong_is_said() -> None:
    tagger = fitted(random_tagged(1), 1)
    sentence = Sentence.of(["a", "b"])
    with pytest.raises(
        DataError, match=r"^sentence 1: the fixed tag 'Q' of word 2 is none of the model's; known: D, N"
    ):
        tagger.predict(sentence, constraint=Tags.of(["", "Q"]))
    with pytest.raises(DataError, match=r"^sentence 1: expected fixed tags of 2 words, found 1$"):
        tagger.predict(sentence, constraint=Tags.of(["N"]))
    with pytest.raises(DataError, match=r"^expected 1 constraints, one a sentence, found 0$"):
        tagger.predict_batch([sentence], constraints=[])
    with pytest.raises(ConfigError, match=r"^k must be at least 1, found 0$"):
        tagger.k_best(sentence, 0)
    with pytest.raises(ModelError, match=r"^expected tags of 2 words, found 1$"):
        tagger.score(sentence, Tags.of(["N"]))
    with pytest.raises(ModelError, match=r"^the tag '' is none of the model's; known: D, N, V$"):
        tagger.features(sentence, Tags.of(["N", ""]))
    with pytest.raises(ModelError, match=r"^this tagger is not trained yet; fit it to a treebank or load"):
        Tagger().predict(sentence)
    with pytest.raises(DataError, match=r"^sentence 2 needs 0\.0 GB of working memory, and max_memory allows 1e-08;"):
        tagger.with_options(max_memory=1e-8).k_best_batch([Sentence.of([]), sentence], 5)
