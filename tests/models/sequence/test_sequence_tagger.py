"""The tagger as users meet it: options, columns, files, and its templates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sequence_samples import TEMPLATES, fitted, make_tagger, random_tagged

import treetune
from treetune.corpus.sentence import ROOT, Sentence
from treetune.corpus.spans import iob_tags, spans_of
from treetune.corpus.tags import Tags, tagged
from treetune.errors import ConfigError, DataError
from treetune.features.templates import known_sets
from treetune.models.sequence import grammar
from treetune.models.sequence.grammar import TaggerConfig
from treetune.models.sequence.tagger import as_iob2
from treetune.sample import generate


@pytest.fixture(scope="module")
def english() -> list[treetune.Example]:
    return generate(300, seed=5)


@pytest.fixture(scope="module")
def joint(english: list[treetune.Example]) -> treetune.Tagger:
    tagger = treetune.Tagger(columns=("upos", "xpos"))
    for _ in treetune.train(tagger, tagged(english, tagger.columns), epochs=3):
        pass
    return tagger


def test_a_tagger_learns_generated_english(joint: treetune.Tagger) -> None:
    test = tagged(generate(200, seed=6), joint.columns)
    scores = joint.scorer.score(test, joint.predict_batch([item.sentence for item in test]))
    assert scores["UPOS"] > 0.93
    assert scores["XPOS"] > 0.93
    assert scores["unknown"] < scores["known"]


def test_annotate_fills_the_columns_and_nothing_else(joint: treetune.Tagger, english: list[treetune.Example]) -> None:
    sentences = [example.sentence for example in english[:70]]
    bare = [sentence.without("upos", "xpos") for sentence in sentences]
    found = joint.annotate(bare, threads=2)
    for old, new, tags in zip(bare, found, joint.predict_batch(bare), strict=True):
        assert (new.upos, new.xpos) == (tags.column(0), tags.column(1))
        assert replace(new, upos=old.upos, xpos=old.xpos) == old
        assert new.upos[0] == ROOT
    assert joint.annotate(sentences) == joint.annotate(bare)  # what is there already is not looked at


def test_other_columns_go_to_misc() -> None:
    examples = random_tagged(1)
    tagger = fitted(examples, 1, columns=("ner",))
    sentence = replace(Sentence.of(["a", "b"]), misc=(ROOT, "SpaceAfter=No", "_"))
    (found,) = tagger.annotate([sentence])
    first, second = tagger.predict(sentence).values[1:]
    assert found.misc == (ROOT, f"SpaceAfter=No|ner={first}", f"ner={second}")


def test_a_model_file_gives_the_same_tagger(joint: treetune.Tagger, tmp_path: Path) -> None:
    path = tmp_path / "tagger.treetune"
    treetune.save(joint, path)
    again = treetune.load(path)
    assert isinstance(again, treetune.Tagger)
    sentences = [example.sentence for example in generate(50, seed=7)]
    assert again.config == joint.config
    assert again.k_best_batch(sentences, 3) == joint.k_best_batch(sentences, 3)
    treetune.save(again, tmp_path / "again")
    assert path.read_bytes() == (tmp_path / "again").read_bytes()


def test_pruning_makes_a_model_smaller(english: list[treetune.Example]) -> None:
    cells = []
    for prune in (0.0, 0.05, 0.3):
        tagger = treetune.Tagger(prune=prune)
        for _ in treetune.train(tagger, tagged(english, ("upos",)), epochs=2):
            pass
        cells.append(len(tagger.weights.tensors()["weights"]))
    assert cells[0] > cells[1] > cells[2]


def test_every_set_of_the_package_serves_both_orders_and_looks_at_inputs(english: list[treetune.Example]) -> None:
    assert known_sets("sequence") == ["default", "guided", "lemmas", "morphology", "ner", "suffixes"]
    for name in known_sets("sequence"):
        sizes = []
        for options in ({"order": 1}, {"order": 2}, {"order": 1, "inputs": ("upos",)}):
            tagger = treetune.Tagger(features=name, columns=("xpos",), **options)
            learner = tagger.learner(tagged(english[:5], ("xpos",)))
            learner.install(tagger, learner.snapshot())
            sizes.append(len(tagger.grammar.template_set))
        assert (sizes[1] > sizes[0]) == (name != "lemmas")
        assert (sizes[2] > sizes[0]) == (name not in ("default", "guided", "suffixes"))


def test_features_are_those_of_named_templates_whatever_the_model() -> None:
    examples = random_tagged(3)
    one, other = fitted(examples, 3), fitted(examples, 3, dictionary=0)
    for example in examples:
        features, outputs = one.features(example.sentence, example.gold)
        others, other_outputs = other.features(example.sentence, example.gold)
        assert np.array_equal(features, others)
        assert np.array_equal(outputs, other_outputs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 3}, r"order must be 1 or 2, found 3"),
        ({"columns": ()}, r"columns: expected names such as \('upos', 'xpos'\), found \(\)"),
        ({"columns": "upos"}, r"columns: expected names such as \('upos', 'xpos'\), found 'upos'"),
        ({"columns": ("a b",)}, r"columns: expected a name without spaces, '=' and '\|', found 'a b'"),
        ({"columns": ("upos", "upos")}, r"columns: 'upos' is named twice"),
        ({"inputs": ("upos",)}, r"the column upos cannot be both predicted and an input of the tagger"),
        ({"inputs": ("lemma",)}, r"unknown input column 'lemma'; known: feats, upos, xpos"),
        ({"min_count": 0}, r"min_count must be at least 1, found 0"),
        ({"dictionary": -1}, r"dictionary must be at least 0, found -1"),
        ({"unknown_dropout": -1}, r"unknown_dropout must be at least 0, found -1"),
        ({"prune": 1.0}, r"prune must be less than 1, found 1.0"),
        ({"max_memory": 0}, r"max_memory must be a number of GB above 0, found 0"),
        ({"features": "best"}, r"unknown feature set 'best'; known: default, guided, lemmas, morphology, ner"),
        ({"tag_beam": 2, "order": 2}, r"tag_beam is an option of order 1, found order 2; leave one of them out"),
        ({"width": 2}, r"unknown option of taggers 'width'; known: clusters, columns, dictionary"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        treetune.Tagger(**options)


def test_only_options_of_the_search_can_change_later() -> None:
    tagger = fitted(random_tagged(1), 1)
    assert tagger.with_options(max_memory=1.0).config == replace(tagger.config, max_memory=1.0)
    with pytest.raises(ConfigError, match=r"^unknown search option of taggers 'order'; known: max_memory$"):
        tagger.with_options(order=2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("W.nothing", r"unknown value in a feature template 'nothing'; known: .*suffix.*"),
        ("S0.w", r"feature template atom 'S0.w': expected a word such as W.w or W-1.lower, or T-1.tag or T-2.tag"),
        ("T-3.tag", r"feature template atom 'T-3.tag': expected a word such as W.w"),
        ("W1.w", r"feature template atom 'W1.w': expected a word such as W.w"),
    ],
)
def test_wrong_templates_are_refused_before_any_data_is_read(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(f"[word]\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=f"^{message}"):
        treetune.Tagger(features=str(path))


def test_templates_that_look_at_no_word_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("[chain]\nT-1.tag\nW.x T-1.tag\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"^no template of the feature set '.*' looks at a column"):
        treetune.train(treetune.Tagger(features=str(path)), random_tagged(1))


def test_templates_that_look_two_tags_back_are_for_second_order() -> None:
    for order, count in ((1, 7), (2, 10)):
        tagger = make_tagger(order=order)
        learner = tagger.learner(random_tagged(1))
        learner.install(tagger, learner.snapshot())
        assert len(tagger.grammar.template_set) == count
    assert TaggerConfig(features=TEMPLATES).order == 1


def test_more_tags_than_a_model_can_have_are_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "MOST_TAGS", 2)
    sentence = Sentence.of(["a", "b", "c"], upos=["A", "B", "C"])
    with pytest.raises(DataError) as caught:
        grammar.TaggerGrammar.learn([sentence], [Tags.of(["A", "B", "C"])], grammar.TaggerConfig())
    assert str(caught.value) == (
        "expected at most 2 different tags to train on, found 3; predict fewer columns at once"
    )


def test_spans_that_a_tagger_finds_begin_with_b() -> None:
    random = np.random.default_rng(3)
    for _ in range(200):
        sentences = [
            (ROOT, *random.choice(["O", "B-A", "I-A", "B-B", "I-B"], size=size)) for size in random.integers(0, 6, 3)
        ]
        expected = [tag for tags in sentences for tag in iob_tags(spans_of(tags), len(tags) - 1)]
        joined = np.array([tag for tags in sentences for tag in tags], np.object_)
        assert as_iob2(joined).tolist() == expected
