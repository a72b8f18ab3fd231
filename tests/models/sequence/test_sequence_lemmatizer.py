"""Lemmas by edit scripts: the scripts themselves, and a lemmatizer alone and in a pipeline."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treetune
from treetune.corpus.sentence import Sentence
from treetune.errors import DataError
from treetune.learning.pipeline_training import (
    has_rich_morphology,
    lemmatizer_inputs,
    tagger_columns,
    train_pipeline,
)
from treetune.models.pipeline import Pipeline
from treetune.models.quantize import quantize
from treetune.models.sequence.edit_scripts import apply_script, is_script, is_turkic, lower, make_script
from treetune.models.sequence.lemmatizer import Lemmatizer
from treetune.models.sequence.tagger import Tagger
from treetune.sample import generate


@pytest.mark.parametrize(
    ("form", "lemma", "script"),
    [
        ("dogs", "dog", "l|0,|1,"),
        ("Parties", "party", "l|0,|3,y"),
        ("was", "be", "=be"),
        ("London", "London", "k|0,|0,"),
        ("LONDON", "London", "t|0,|0,"),
        ("nasa", "NASA", "u|0,|0,"),
        ("gemacht", "machen", "l|2,|1,en"),
        ("Αθήνας", "Αθήνα", "k|0,|1,"),
        ("ΚΑΙ", "και", "l|0,|0,"),
        ("parce", "parce que", "l|0,|0,␣que"),
        ("ab", "a|c", "=a|c"),
        ("5,000,000", "5000000", "c|0,|0,"),
        ("1.200ER", "1200er", "p|0,|0,"),
        ("3,5", "3,5", "l|0,|0,"),
    ],
)
def test_scripts_of_words(form: str, lemma: str, script: str) -> None:
    assert make_script(form, lemma) == script
    assert apply_script(form, script) == lemma


@given(st.text("aAbBiIıİσΣς-1,. |", min_size=1), st.text("aAbBiIıİσΣς-1,. |", min_size=1), st.booleans())
def test_a_script_makes_the_lemma_that_it_was_made_for(form: str, lemma: str, turkic: bool) -> None:
    script = make_script(form, lemma, turkic=turkic)
    assert is_script(script)
    assert " " not in script
    assert apply_script(form, script, turkic=turkic) == lemma


def test_a_script_that_does_not_fit_leaves_the_form() -> None:
    assert apply_script("Is", "l|0,|3,y") == "is"
    assert not any(map(is_script, ("", "=", "l", "x|0,|0,", "l|0|0", "l|1000,|0,")))


def test_dotted_and_dotless_i() -> None:
    assert lower("İKI") == "iki"
    assert lower("IŞIK", turkic=True) == "ışık"
    assert is_turkic([("IŞIK", "ışık"), ("İki", "iki")])
    assert not is_turkic([("It", "it"), ("be", "be")])
    assert make_script("ISI", "ısı", turkic=True) == "l|0,|0,"


def test_digits_of_one_number_are_not_written_into_another() -> None:
    pairs = [
        ("1,200", "1200"),
        ("1,000", "1000"),
        ("20,000", "20000"),
        ("60s", "1960s"),
        ("1,5", "1.5"),
        ("cats", "cat"),
    ]
    known = Sentence.of([form for form, _ in pairs], upos=["NUM"] * 5 + ["NOUN"], lemmas=[lemma for _, lemma in pairs])
    lemmatizer = Lemmatizer(("upos",))
    for _ in treetune.train(lemmatizer.tagger, lemmatizer.examples([known] * 3), epochs=5):
        pass
    new = Sentence.of(["5,000", "38,500", "70s", "dogs"], upos=["NUM"] * 3 + ["NOUN"])
    (found,) = lemmatizer.annotate([new])
    assert found.lemmas[1:3] == ("5000", "38500")
    assert found.lemmas[3] in ("70s", "70")
    assert found.lemmas[4] == "dog"
    # Of development data nothing is left out.
    assert len(lemmatizer.examples([known], repeated=True)) == len(pairs)
    only = Sentence.of(["60s"], upos=["NUM"], lemmas=["1960s"])
    assert len(lemmatizer.examples([only])) == 1


@cache
def trained() -> Pipeline:
    treebank = generate(200, seed=5)
    columns = tagger_columns(treebank)
    second = Tagger(columns=columns[1], inputs=columns[0], features="morphology", given=True, shared=True)
    pipeline = Pipeline(None, [Tagger(columns=columns[0]), second], None, Lemmatizer(lemmatizer_inputs(columns)))
    stages = [
        report.stage
        for report in train_pipeline(
            pipeline, treebank, dev=generate(20, seed=6), tagger_options={"epochs": 3}, lemmatizer_options={"epochs": 3}
        )
    ]
    assert list(dict.fromkeys(stages)) == ["tagger", "tagger2", "lemmatizer"]
    return pipeline


def test_feats_and_lemmas_of_new_sentences() -> None:
    gold = [example.sentence for example in generate(60, seed=7)]
    bare = [sentence.without("upos", "xpos", "feats", "lemmas") for sentence in gold]
    found = trained().tag(bare, threads=2)
    for column in ("feats", "lemmas"):
        ours, theirs = ([value for one in every for value in getattr(one, column)] for every in (found, gold))
        assert sum(map(str.__eq__, ours, theirs)) > 0.85 * len(theirs)
    lemmatizer = trained().lemmatizer
    assert isinstance(lemmatizer, Lemmatizer)
    again = pickle.loads(pickle.dumps(lemmatizer))
    assert again._memo == {} != lemmatizer._memo
    assert again.annotate(found) == found


def test_known_lemmas_come_before_unknown_ones_that_are_hardly_better(monkeypatch: pytest.MonkeyPatch) -> None:
    trained_one = trained().lemmatizer
    assert isinstance(trained_one, Lemmatizer)
    word = Sentence.of(["blickets"], upos=["NOUN"], xpos=["NNS"], feats=["Number=Plur"])
    best, second, *_ = trained_one.tagger.k_best(word, 4)
    lemmas = [apply_script("blickets", candidate.output.values[1]) for candidate in (best, second)]
    assert lemmas[0] != lemmas[1]
    for almost, known, expected in (
        (best.score - second.score, ("NOUN", lemmas[1]), lemmas[1]),
        (best.score - second.score, ("VERB", lemmas[1]), lemmas[0]),
        ((best.score - second.score) / 2, ("NOUN", lemmas[1]), lemmas[0]),
    ):
        monkeypatch.setattr("treetune.models.sequence.lemmatizer._ALMOST", almost)
        lemmatizer = Lemmatizer(lemmas=[known]).with_tagger(trained_one.tagger)
        assert lemmatizer.annotate([word])[0].lemmas[1] == expected
        assert Lemmatizer.from_state(*lemmatizer.state()).annotate([word])[0].lemmas[1] == expected


def test_given_tags_and_lemmas_stay() -> None:
    whole = Sentence.of(["dogs", "ran", "fast"], upos=["NOUN", "VERB", "ADV"], lemmas=["hound", "_", "_"])
    (kept,) = trained().tag([whole], keep_tags=True)
    assert (kept.upos, kept.lemmas[1]) == (whole.upos, "hound")
    assert "_" not in kept.lemmas
    (new,) = trained().tag([whole])
    assert new.lemmas[1] == "dog"


def test_a_stored_lemmatizer_is_the_same(tmp_path: Path) -> None:
    sentences = [example.sentence for example in generate(20, seed=8)]
    expected = trained().tag(sentences)
    for model in (trained(), quantize(trained(), prune=0.0)):
        treetune.save(model, tmp_path / "m.treetune")
        loaded = treetune.load(tmp_path / "m.treetune")
        assert list(loaded.parts) == ["tagger1", "tagger2", "lemmatizer"]
        assert loaded.tag(sentences) == model.tag(sentences)
    assert treetune.load(tmp_path / "m.treetune").tag(sentences)[0].forms == expected[0].forms
    lemmatizer = trained().lemmatizer
    assert lemmatizer is not None
    treetune.save(lemmatizer, tmp_path / "l.treetune")
    alone = Pipeline.of(treetune.load(tmp_path / "l.treetune"))
    assert list(alone.parts) == ["lemmatizer"]
    tagged = [replace(sentence, lemmas=old.lemmas) for sentence, old in zip(expected, sentences, strict=True)]
    assert alone.tag(tagged) == expected


def test_a_treebank_without_lemmas_is_refused() -> None:
    bare = [example.sentence.without("lemmas") for example in generate(2, seed=1)]
    with pytest.raises(DataError, match=r"^expected lemmas to train on in LEMMA, found none in the treebank$"):
        Lemmatizer().examples(bare)


def test_which_tagger_predicts_what() -> None:
    treebank = generate(5, seed=1)
    assert tagger_columns(treebank) == [("upos", "xpos"), ("feats",)]
    fine = [
        replace(example, sentence=replace(example.sentence, xpos=("_", *map(str, range(number, number + words)))))
        for number, example in zip(range(0, 5000, 50), generate(40, seed=2), strict=False)
        if (words := len(example.sentence))
    ]
    assert tagger_columns(fine) == [("upos",), ("xpos", "feats")]
    assert has_rich_morphology(fine, tagger_columns(fine))
    assert not has_rich_morphology(treebank, tagger_columns(treebank))
    assert not has_rich_morphology(treebank, [("upos",)])
    assert lemmatizer_inputs(tagger_columns(fine)) == ("upos", "feats")
    assert lemmatizer_inputs(tagger_columns(treebank)) == ("upos", "xpos", "feats")
