"""Text to trees by one model, whose parts may be missing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies  # noqa: F401 - tests are not timed
import treetune
from pipeline_samples import COLUMNS, TEXT, small_pipeline
from treetune.corpus.rawtext import misc_value, raw_text
from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.wellformed import is_tree
from treetune.errors import ConfigError, DataError, ModelError
from treetune.evaluation.alignment import evaluate_text
from treetune.learning.pipeline_training import PipelineProgress, tag_columns, train_pipeline
from treetune.models import pipeline as pipeline_module
from treetune.models.pipeline import Pipeline
from treetune.models.sequence.tagger import Tagger
from treetune.models.tokenizer.tokenizer import Tokenizer
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate


def test_a_text_becomes_sentences_with_tags_and_trees() -> None:
    examples = small_pipeline()(TEXT)
    assert [example.sentence.forms[1] for example in examples] == ["The", "The", "A"]
    for example in examples:
        assert is_tree(example.gold.heads)
        assert "_" not in (*example.sentence.upos, *example.sentence.xpos)
    assert raw_text(example.sentence for example in examples) == TEXT


def test_it_is_mostly_right_about_new_text() -> None:
    gold = generate(100, seed=77)
    text = raw_text(example.sentence for example in gold)
    scores = evaluate_text(gold, small_pipeline().parse_text(text))
    assert scores["Words"] > 0.98
    assert scores["UPOS"] > 0.85
    assert scores["LAS"] > 0.6


@settings(max_examples=50)
@given(st.text("ab .'\n\x00é🙂", max_size=40))
def test_any_text_gets_trees(text: str) -> None:
    examples = small_pipeline()(text)
    assert all(is_tree(example.gold.heads) for example in examples)
    assert raw_text(example.sentence for example in examples) == (text if text.strip() else "")


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_batches_and_pieces_make_no_difference(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = raw_text(example.sentence for example in generate(60, seed=9))
    whole = small_pipeline()(text)
    assert small_pipeline()(text, threads=threads) == whole
    monkeypatch.setattr(pipeline_module, "BATCH", 7)
    pieces = [text[start : start + 11] for start in range(0, len(text), 11)]
    assert list(small_pipeline().parse_text(pieces, threads=threads)) == whole


def test_ranges_and_lines() -> None:
    (first, *_) = small_pipeline()(TEXT, ranges=True)
    assert misc_value(first.sentence.misc[2], "TokenRange") == "4:7"
    lines = list(small_pipeline().parse_text("The dog sees\na cat. It sees", line_sentences=True))
    assert [len(example.sentence) for example in lines] == [3, 5]


def test_a_saved_pipeline_gives_the_same_trees(tmp_path: Path) -> None:
    path = tmp_path / "p.treetune"
    treetune.save(small_pipeline(), path)
    again = treetune.load(path)
    assert isinstance(again, Pipeline)
    assert list(again.parts) == ["tokenizer", "tagger", "parser"]
    assert again(TEXT) == small_pipeline()(TEXT)
    treetune.save(again, tmp_path / "q.treetune")
    assert (tmp_path / "q.treetune").read_bytes() == path.read_bytes()


def test_parts_may_be_missing(tmp_path: Path) -> None:
    whole = small_pipeline()
    tags_only = Pipeline(whole.tokenizer, whole.taggers)
    treetune.save(tags_only, tmp_path / "p")
    for pipeline in (tags_only, treetune.load(tmp_path / "p")):
        (first, *_) = pipeline(TEXT)
        assert first.gold == Tree.unknown(len(first.sentence))
        assert first.sentence == whole(TEXT)[0].sentence
    (bare, *_) = Pipeline(whole.tokenizer)(TEXT)
    assert set(bare.sentence.upos[1:]) == {"_"}
    given_tags = [example.sentence for example in whole(TEXT)]
    assert list(Pipeline(parser=whole.parser).parse(given_tags)) == whole(TEXT)


def test_what_is_no_pipeline_becomes_one() -> None:
    whole = small_pipeline()
    assert Pipeline.of(whole) is whole
    for part in (whole.tokenizer, whole.taggers[0], whole.parser):
        assert list(Pipeline.of(part).parts.values()) == [part]


def test_several_taggers_work_one_after_the_other(tmp_path: Path) -> None:
    whole = small_pipeline()
    upos = Tagger(columns=("upos",))
    for _ in treetune.train(upos, treetune.tagged(generate(40, seed=5), ("upos",)), epochs=1):
        pass
    both = Pipeline(whole.tokenizer, [upos, *whole.taggers], whole.parser)
    assert list(both.parts) == ["tokenizer", "tagger1", "tagger2", "parser"]
    treetune.save(both, tmp_path / "p")
    assert treetune.load(tmp_path / "p")(TEXT) == whole(TEXT)


def test_tags_of_the_input_are_kept_if_wanted() -> None:
    whole = small_pipeline()
    words = ["The", "dog", "sees", "a", "cat", "."]
    plain = Sentence.of(words)
    (found,) = whole.parse([plain])
    wrong = replace(found.sentence, upos=("<root>", *["X"] * 6), xpos=("<root>", *["FW"] * 6))
    (kept,) = whole.parse([wrong], keep_tags=True)
    assert kept.sentence.upos[1:] == ("X",) * 6
    (replaced,) = whole.parse([wrong])
    assert replaced.sentence == found.sentence
    # A column that is not given, or a word without a tag, is filled in.
    half = replace(found.sentence, xpos=plain.xpos)
    (filled,) = whole.parse([half], keep_tags=True)
    assert filled.sentence.upos == found.sentence.upos
    assert "_" not in filled.sentence.xpos[1:]
    assert list(whole.parse([plain], keep_tags=True)) == [found]


def test_options_go_to_the_parser() -> None:
    wide = small_pipeline().with_options(beam=7)
    assert wide.parser is not None
    assert wide.parser.beam == 7  # type: ignore[attr-defined]
    assert wide.tokenizer is small_pipeline().tokenizer
    with pytest.raises(ConfigError, match=r"^this model has no parser, and no use for beam$"):
        Pipeline(small_pipeline().tokenizer).with_options(beam=7)


def test_faults_are_said() -> None:
    with pytest.raises(ConfigError, match=r"^expected a tokenizer, a tagger or a parser to make a pipeline of"):
        Pipeline()
    whole = small_pipeline()
    for parts, wanted, found in (
        ({"parser": whole.taggers[0]}, "parser", "tagger"),
        ({"tokenizer": whole.parser}, "tokenizer", "parser"),
        ({"taggers": [whole.taggers[0], whole]}, "tagger", "pipeline"),
        ({"parser": "en.treetune"}, "parser", "str"),
    ):
        with pytest.raises(ConfigError, match=f"^expected a {wanted} as {wanted} of a pipeline, found a {found}$"):
            Pipeline(**parts)
    with pytest.raises(DataError, match=r"^expected text, found None$"):
        whole(None)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"^this model has no tokenizer; give it sentences of tokens"):
        Pipeline(parser=small_pipeline().parser)(TEXT)
    with pytest.raises(ModelError, match=r"^expected a trained model to save"):
        treetune.save(Pipeline(Tokenizer()), "never")
    config, tensors = small_pipeline().state()
    config["parts"]["parser"]["kind"] = "none"
    with pytest.raises(ModelError, match=r"^the parser of this model is of the unknown kind 'none'; known: graph, "):
        Pipeline.from_state(config, tensors)


def test_training_reports_every_stage() -> None:
    reports = list(_train(generate(60, seed=1), folds=2, dev=generate(10, seed=2)))
    stages = list(dict.fromkeys(report.stage for report in reports))
    assert stages == ["tokenizer", "jackknife", "tagger", "parser"]
    ends = [report.training for report in reports if report.training is not None and report.training.is_epoch_end]
    assert all(end.dev is not None for end in ends)


def test_the_parser_learns_from_tags_that_were_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what a tagger that has not seen them says, and of no other tags."""
    seen: list[Sentence] = []
    original = TransitionParser.learner

    def spy(self: TransitionParser, treebank: Any, **options: Any) -> Any:
        seen.extend(example.sentence for example in treebank)
        return original(self, treebank, **options)

    monkeypatch.setattr(TransitionParser, "learner", spy)
    treebank = generate(60, seed=1)
    for _ in _train(treebank, folds=3):
        pass
    gold = [example.sentence for example in treebank]
    assert all(set(sentence.feats[1:]) == {"_"} for sentence in seen)
    assert [sentence.upos for sentence in seen] != [sentence.upos for sentence in gold]
    seen.clear()
    for _ in _train(treebank, folds=0):
        pass
    assert [sentence.upos for sentence in seen] == [sentence.upos for sentence in gold]


def _train(treebank: Any, *, folds: int, dev: Any = ()) -> Any:
    pipeline = Pipeline(Tokenizer(), [Tagger(columns=COLUMNS)], TransitionParser(beam=2))
    options: Any = {"epochs": 1}
    return train_pipeline(
        pipeline, treebank, dev=dev, make_tagger=partial(Tagger, columns=COLUMNS), folds=folds, tokenizer_epochs=1,
        tagger_options=options, parser_options=options,
    )  # fmt: skip


def test_faults_of_training_are_said() -> None:
    tagger, parser = Tagger(columns=("upos",)), TransitionParser()
    with pytest.raises(ConfigError, match=r"^expected one tagger to jackknife with, found 2; give folds=0$"):
        train_pipeline(Pipeline(taggers=[tagger, tagger], parser=parser), [])
    with pytest.raises(ConfigError, match=r"^expected make_tagger, which makes the taggers of the folds, found None$"):
        train_pipeline(Pipeline(taggers=[tagger], parser=parser), [])
    bare = [replace(example, sentence=example.sentence.without("upos", "xpos")) for example in generate(2, seed=1)]
    with pytest.raises(DataError, match=r"^expected tags to learn from in UPOS or XPOS, found none in the treebank$"):
        tag_columns(bare)
    assert tag_columns(generate(2, seed=1)) == ("upos", "xpos")
    assert PipelineProgress("parser").training is None
