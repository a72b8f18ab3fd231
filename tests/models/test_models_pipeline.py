"""Text to trees by one model, whose parts may be missing."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
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
from treetune.corpus.tags import Tagged, Tags
from treetune.corpus.wellformed import is_tree
from treetune.errors import ConfigError, DataError, ModelError
from treetune.evaluation.alignment import evaluate_text
from treetune.learning.pipeline_training import PipelineProgress, tagger_columns, train_pipeline
from treetune.models.pipeline import Pipeline
from treetune.models.sequence.tagger import Tagger
from treetune.models.tokenizer.tokenizer import Tokenizer
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate


def test_a_text_becomes_sentences_with_tags_and_trees() -> None:
    examples = small_pipeline()(TEXT)
    assert [example.sentence.forms[1] for example in examples] == ["The", "The", "A"]
    for example in examples:
        assert is_tree(example.tree.heads)
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
    assert all(is_tree(example.tree.heads) for example in examples)
    assert raw_text(example.sentence for example in examples) == (text if text.strip() else "")


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_batches_and_pieces_make_no_difference(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = raw_text(example.sentence for example in generate(60, seed=9))
    whole = small_pipeline()(text)
    assert small_pipeline()(text, threads=threads) == whole
    monkeypatch.setattr("treetune.corpus.batches.BATCH", 7)
    pieces = [text[start : start + 11] for start in range(0, len(text), 11)]
    assert list(small_pipeline().parse_text(pieces, threads=threads)) == list(whole)


def test_ranges_and_lines() -> None:
    (first, *_) = small_pipeline().parse_text(TEXT, ranges=True)
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
        assert first.tree == Tree.unknown(len(first.sentence))
        assert first.sentence == whole(TEXT)[0].sentence
    (bare, *_) = Pipeline(whole.tokenizer)(TEXT)
    assert set(bare.sentence.upos[1:]) == {"_"}
    given_tags = [example.sentence for example in whole(TEXT)]
    assert list(Pipeline(parser=whole.parser).parse(given_tags)) == list(whole(TEXT))


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
    with pytest.raises(DataError, match=r"^expected one text, found None$"):
        whole(None)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"^this model has no tokenizer; give it sentences of tokens"):
        Pipeline(parser=small_pipeline().parser)(TEXT)
    with pytest.raises(ModelError, match=r"^expected a trained model to save"):
        treetune.save(Pipeline(Tokenizer()), "never")
    config, tensors = small_pipeline().state()
    config["parts"]["parser"]["kind"] = "none"
    message = r"^the parser of this model is of the unknown kind 'none'; known: filter, graph, "
    with pytest.raises(ModelError, match=message):
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
        pipeline, treebank, dev=dev, folds=folds, tokenizer_epochs=1,
        tagger_options=options, parser_options=options,
    )  # fmt: skip


def test_faults_of_training_are_said() -> None:
    bare = [replace(example, sentence=example.sentence.without("upos", "xpos")) for example in generate(2, seed=1)]
    with pytest.raises(DataError, match=r"^expected tags to train on in UPOS or XPOS, found none in the treebank$"):
        tagger_columns(bare)
    assert tagger_columns(generate(2, seed=1))[0] == ("upos", "xpos")
    assert PipelineProgress("parser").training is None


def test_a_document_word_by_word() -> None:
    doc = small_pipeline()(TEXT)
    assert (doc.text, len(doc)) == (TEXT, 3)
    for sentence in doc:
        assert TEXT[sentence.start_char : sentence.end_char] == sentence.text
        for word in sentence:
            assert TEXT[word.start_char : word.end_char] == word.text
            assert word.upos == sentence.sentence.upos[word.id]
            assert word.head == sentence.tree.heads[word.id]
    first = doc.sentences[0].words[1]
    assert (first.text, first.id, first.start_char, first.end_char) == ("dog", 2, 4, 7)
    assert not hasattr(doc[0], "gold")


def test_pipe_gives_what_calls_give() -> None:
    nlp = small_pipeline()
    texts = [TEXT, "", "The dog sees a cat.", " \n ", *(f"A cat was {number} stories." for number in range(9))]
    expected = [nlp(text) for text in texts]
    assert list(nlp.pipe(iter(texts))) == expected
    for size, threads in ((1, 1), (5, 2)):
        assert list(nlp.pipe(iter(texts), batch_size=size, threads=threads)) == expected
    pairs = [(text, {"number": number}) for number, text in enumerate(texts)]
    assert list(nlp.pipe(pairs, as_tuples=True)) == list(zip(expected, (context for _, context in pairs), strict=True))
    assert expected[1].text == ""
    assert expected[2][0][1].start_char == 4


def test_pipe_reads_no_further_than_a_batch() -> None:
    read: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(10):
            read.append(number)
            yield "The dog sees a cat."

    found = small_pipeline().pipe(texts(), batch_size=3)
    assert not read
    next(found)
    assert len(read) == 3
    assert len(list(found)) == 9


def test_the_k_best_trees_of_a_text_and_of_a_sentence() -> None:
    nlp = small_pipeline()
    doc = nlp(TEXT)
    lists = nlp.k_best(TEXT, 3)
    assert [len(candidates) for candidates in lists] == [3, 3, 3]
    for candidates, sentence in zip(lists, doc, strict=True):
        assert candidates[0] == sentence
        scores = [candidate.score for candidate in candidates]
        assert scores == sorted(scores, key=lambda score: -(score or 0))
        assert sentence.score == scores[0]
        assert len({candidate.tree for candidate in candidates}) == 3
    tokens = Sentence.of(["The", "dog", "sees", "a", "cat", "."])
    (best, second) = nlp.k_best(tokens, 2)
    assert (best.tree, best.score) == (nlp(tokens)[0].tree, nlp(tokens)[0].score)
    assert second.words[0].upos == best.words[0].upos
    assert (nlp(tokens).text, nlp(tokens)[0][1].start_char) == ("The dog sees a cat .", 4)
    with pytest.raises(ModelError, match=r"^this model has no parser, and so no k-best trees; load a pipeline with a"):
        Pipeline(nlp.tokenizer).k_best(TEXT, 2)


def test_constraints_are_in_the_trees() -> None:
    nlp = small_pipeline()
    free = nlp(TEXT)
    assert free[0].heads[1] != 0
    rooted = nlp(TEXT, constraints={(0, 2): 0})
    assert rooted[0].root.text == "dog"
    assert rooted[1:] == free[1:]
    assert (rooted[0].score or 0) < (free[0].score or 0)
    both = nlp(TEXT, constraints={(0, 1): (5, "det"), (1, 2): "obj"})
    assert (both[0].heads[0], both[0].deprels[0], both[1].deprels[1]) == (5, "det", "obj")
    trees = [None, Tree.of([-1] * 7, ["", "obj", *[""] * 5]), None]
    assert nlp(TEXT, constraints=trees) == nlp(TEXT, constraints={(1, 2): "obj"})
    (one,) = nlp("The dog sees a cat.", constraints=Tree.of([-1, 0, -1, -1, -1, -1]))
    assert one.root.id == 2


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            {(3, 1): 0},
            "constraints: expected (sentence, word), a sentence from 0 to 2 and a word of it from 1, found (3, 1)",
        ),
        (
            {(0, 7): 0},
            "constraints: expected (sentence, word), a sentence from 0 to 2 and a word of it from 1, found (0, 7)",
        ),
        ({2: 0}, "constraints: expected (sentence, word), a sentence from 0 to 2 and a word of it from 1, found 2"),
        ([None], "constraints: expected 3 partial trees, one a sentence, found 1"),
        (
            {(0, 1): 0, (0, 2): 0},
            "sentence 1 (sent_id 1): words 1 and 2 are both fixed as the root, expected at most one",
        ),
        ({(0, 1): 9}, "sentence 1 (sent_id 1): word 1 has the fixed head 9, expected another word from 0 to 6"),
    ],
)
def test_constraints_that_cannot_be_are_refused(constraints: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        small_pipeline()(TEXT, constraints=constraints)
    assert str(caught.value) == message


def test_what_is_not_one_text_is_refused() -> None:
    nlp = small_pipeline()
    wrong: list[tuple[Any, str]] = [
        (["I like cats", "Dogs bark"], "expected one text, found a list; parse several texts with nlp.pipe(texts)"),
        (iter(["a"]), "expected one text, found a list_iterator; parse several texts with nlp.pipe(texts)"),
        (3, "expected one text, found an int"),
        (b"Dogs bark.", "expected text, found bytes; decode them first, as by .decode('utf-8')"),
    ]
    for value, message in wrong:
        for attempt in (nlp, lambda text: list(nlp.pipe([text])), lambda text: nlp.k_best(text, 2)):
            with pytest.raises(DataError) as caught:
                attempt(value)
            assert str(caught.value) == message
    with pytest.raises(DataError, match=r"^expected several texts, found one; parse one text with nlp\(text\)$"):
        nlp.pipe("Dogs bark.")
    number: Any = 3
    with pytest.raises(DataError, match=r"^expected several texts, found an int$"):
        nlp.pipe(number)
    pairs: Any = ["Dogs bark."]
    with pytest.raises(DataError, match=r"^as_tuples: expected \(text, context\) pairs, found a str$"):
        list(nlp.pipe(pairs, as_tuples=True))
    with pytest.raises(ConfigError, match=r"^batch_size must be at least 1, found 0$"):
        nlp.pipe(["a"], batch_size=0)
    with pytest.raises(ConfigError, match=r"^threads must be at least 1, found 0$"):
        nlp.pipe(["a"], threads=0)
    with pytest.raises(ModelError, match=r"^this model has no parser, and no use for constraints; load a pipeline"):
        Pipeline(nlp.tokenizer)(TEXT, constraints={(0, 1): 0})


def test_a_pipeline_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(small_pipeline()))
    assert again(TEXT) == small_pipeline()(TEXT)
    assert again.state()[0] == small_pipeline().state()[0]
    assert pickle.loads(pickle.dumps(small_pipeline()(TEXT))) == small_pipeline()(TEXT)


def test_a_pipeline_can_be_called_from_several_threads_at_once() -> None:
    nlp = small_pipeline()
    texts = [raw_text(example.sentence for example in generate(20, seed=seed)) for seed in range(8)]
    expected = [nlp(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(nlp, texts)) == expected


def test_entities_of_an_entity_tagger() -> None:
    words = [["Ada", "sees", "Paris", "."], ["Paris", "sees", "Ada", "."]] * 3
    tags = [["B-PER", "O", "B-LOC", "O"], ["B-LOC", "O", "B-PER", "O"]] * 3
    gold = [Tagged(Sentence.of(own), Tags.of(names)) for own, names in zip(words, tags, strict=True)]
    tagger = Tagger(columns=("ner",), spans=True)
    for _ in treetune.train(tagger, gold, epochs=5):
        pass
    (sentence,) = Pipeline(taggers=[tagger])(Sentence.of(words[0]))
    assert [(entity.label, entity.text) for entity in sentence.entities] == [("PER", "Ada"), ("LOC", "Paris")]
    assert small_pipeline()(TEXT).entities == ()


def test_the_score_of_a_sentence_is_that_of_its_tree_also_after_a_pruned_search() -> None:
    pruned = small_pipeline().with_options(beam=4, margin=1e-9)
    parser = pruned.parser
    assert parser is not None
    found = list(pruned.parse(example.sentence for example in generate(60, seed=44)))
    assert any(one.tree != parser.k_best(one.sentence, 1)[0].output for one in found)
    for one in found:
        assert one.score == pytest.approx(parser.score(one.sentence, one.tree))
