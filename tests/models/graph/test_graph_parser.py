"""Graph parsers as they are used: long sentences, base_trees, files, seeds, treebanks that lack something."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph_samples import TEMPLATES, random_sentence, random_treebank, refusal, trained

from treetune.corpus.base_trees import with_base_trees
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.wellformed import is_tree
from treetune.errors import ConfigError, DataError, ModelError
from treetune.learning.trainer import train
from treetune.models.graph.charts import make_arcs, make_projective, projective_bytes
from treetune.models.graph.parser import GraphParser
from treetune.models.graph.search import bytes_needed, make_workspace, sibling_groups
from treetune.storage import load, save


def stacked(examples: Sequence[Example]) -> list[Example]:
    sentences = with_base_trees([example.sentence for example in examples], [example.gold for example in examples])
    return [replace(example, sentence=sentence) for example, sentence in zip(examples, sentences, strict=True)]


@pytest.fixture(scope="module")
def parser() -> GraphParser:
    return trained(random_treebank(1, count=15))


@pytest.fixture(scope="module")
def second() -> GraphParser:
    return trained(random_treebank(1, count=15), order=2)


def long_sentence(length: int) -> Sentence:
    return random_sentence(random.Random(length), length)


def test_a_long_sentence_parses_or_is_refused(parser: GraphParser, second: GraphParser) -> None:
    sentence = long_sentence(2000)
    assert is_tree(parser.predict(sentence).heads)
    narrow = second.with_options(max_memory=0.1)
    message = refusal(DataError, lambda: narrow.predict_batch([Sentence.of(["a"]), sentence]))
    assert message == (
        "sentence 2: it has 2,000 words, for which a second-order graph parser needs 0.3 GB of working memory, "
        "and 0.1 GB are allowed; allow more with max_memory (--max-memory), split the sentence, or use a transition "
        "parser"
    )
    assert refusal(DataError, lambda: narrow.k_best(sentence, 2)).startswith("sentence 1: it has 2,000 words")
    assert refusal(DataError, lambda: parser.with_options(max_memory=0.1).predict(sentence)).startswith(
        "sentence 1: it has 2,000 words, for which a first-order graph parser needs 0.3 GB of working memory, "
        "and 0.1 GB are allowed; "
    )


def test_a_long_sentence_in_third_order() -> None:
    third = trained(random_treebank(1, count=15), order=3, filter="joint")
    assert is_tree(third.predict(long_sentence(150)).heads)
    assert refusal(DataError, lambda: third.predict(long_sentence(500))).startswith(
        "sentence 1: it has 500 words, for which a third-order graph parser needs 3.1 GB of working memory, "
        "and 2 GB are allowed; "
    )
    wide = third.with_options(max_memory=1e6)
    assert refusal(DataError, lambda: wide.predict(long_sentence(801))) == (
        "sentence 1: it has 801 words, and a third-order graph parser takes up to 800; split the sentence, or use "
        "another parser"
    )


def test_more_memory_lets_a_sentence_through(second: GraphParser) -> None:
    sentence = long_sentence(300)
    narrow = second.with_options(max_memory=0.02)
    assert refusal(DataError, lambda: narrow.predict(sentence)).startswith(
        "sentence 1: it has 300 words, for which a second-order graph parser needs 0.0 GB of working memory, "
        "and 0.02 GB are allowed; "
    )
    assert is_tree(second.with_options(max_memory=0.1).predict(sentence).heads)


def test_the_working_memory_of_siblings_is_quadratic(second: GraphParser) -> None:
    setup = second.grammar.setup(second._setup().weights, second.options)
    for length in (300, 1000):
        work = make_workspace(setup, length, k=1)
        arrays = [part for part in work if isinstance(part, np.ndarray)]
        taken = sum(array.nbytes for array in (*arrays, *work.filtering))
        need = bytes_needed(length, len(setup.templates.starts), setup.options, groups=sibling_groups(setup))
        assert taken < need < 2 * taken + 40 * length**2
    assert need < 2e8


def test_the_memory_of_the_third_order_is_what_is_said() -> None:
    options = GraphParser(order=3).options
    for k in (1, 5):
        chart, lists = make_projective(60, k=k, third_order=True)
        taken = sum(array.nbytes for array in (*chart, *lists, *make_arcs(60)))
        assert taken <= projective_bytes(60, k=k, third_order=True) < 1.1 * taken
    assert bytes_needed(400, 150, options, groups=4, grand=3) < 2e9


def test_training_is_refused_too() -> None:
    sentence = long_sentence(120)
    example = Example(sentence, Tree.of(range(120), ["root"] + ["d"] * 119))
    message = refusal(DataError, lambda: GraphParser(order=2, max_memory=0.01).learner([example]))
    assert message.startswith(
        "sentence 1: it has 120 words, for which a second-order graph parser with lists of 5 trees "
    )
    assert message.endswith(
        " GB of working memory, and 0.01 GB are allowed; allow more with max_memory (--max-memory), split the "
        "sentence, or use a transition parser"
    )


def test_memory_grows_with_order_length_and_lists() -> None:
    first, second = GraphParser().options, GraphParser(order=2).options
    crossing = GraphParser(decoder="non-projective").options
    assert bytes_needed(50, 100, first) < bytes_needed(50, 100, first, k=5)
    assert bytes_needed(50, 100, first, k=5) < bytes_needed(50, 100, second, groups=3, k=5)
    assert bytes_needed(50, 100, first) < bytes_needed(51, 100, first) < bytes_needed(51, 101, first)
    assert bytes_needed(2000, 150, first) < 1e9
    assert bytes_needed(2000, 150, crossing) < 1e9
    assert bytes_needed(50, 100, crossing) < bytes_needed(50, 100, crossing, k=5)


def test_base_trees_missing_and_present(parser: GraphParser) -> None:
    examples = stacked(random_treebank(1, count=12))
    with_base_tree = trained(examples, epochs=3)
    assert with_base_tree.grammar.is_stacked
    bare = examples[0].sentence.without("base_tree")
    for attempt in (
        lambda: with_base_tree.predict(bare),
        lambda: with_base_tree.k_best(bare, 2),
        lambda: with_base_tree.score(bare, examples[0].gold),
    ):
        assert refusal(ModelError, attempt) == (
            "this model was trained with the trees of a base parser; "
            "give them with --base FILE, in Python with treetune.corpus.with_base_trees"
        )
    # The base_trees were gold: it learned to copy them.
    for example in examples:
        assert with_base_tree.predict(example.sentence).heads == example.gold.heads
    # A model without base_trees does not look at them.
    sentence = examples[0].sentence
    assert parser.predict(sentence) == parser.predict(sentence.without("base_tree"))


def test_base_trees_for_some_or_for_templates_that_do_not_look() -> None:
    treebank = random_treebank(1, count=3)
    assert refusal(DataError, lambda: GraphParser().learner([*stacked(treebank[:2]), treebank[2]])) == (
        "sentence 3 of the treebank has no base tree, but others have one; give base trees to all sentences or to none"
    )
    assert refusal(ConfigError, lambda: GraphParser(features="hall2011").learner(stacked(treebank))) == (
        "the treebank has base trees, but no template of the feature set 'hall2011' looks at them; "
        "leave out --base or take another set"
    )
    wrong = replace(treebank[0], sentence=replace(treebank[0].sentence, base_tree=Tree.of([0] + [1] * 9)))
    assert refusal(DataError, lambda: GraphParser().learner([wrong])).startswith("expected a base tree of ")


@pytest.mark.parametrize(
    "options",
    [{"order": 2, "decoder": "non-projective"}, {"labels": "joint", "features": TEMPLATES}, {"base_trees": True}],
)
def test_a_file_keeps_everything(options: dict[str, Any], tmp_path: Path) -> None:
    treebank = random_treebank(3, count=15, longest=6, projective=False)
    if options.pop("base_trees", False):
        treebank = stacked(treebank)
    decoder = options.pop("decoder", "projective")
    before = trained(treebank, **options).with_options(decoder=decoder)
    save(before, tmp_path / "model")
    after = load(tmp_path / "model")
    assert isinstance(after, GraphParser)
    assert after.config == before.config
    assert after.labels == before.labels
    for example in treebank:
        assert after.predict(example.sentence) == before.predict(example.sentence)
        assert after.k_best(example.sentence, 4) == before.k_best(example.sentence, 4)
        assert after.score(example.sentence, before.predict(example.sentence)) == pytest.approx(
            before.k_best(example.sentence, 1)[0].score
        )
    again = load(tmp_path / "model")
    assert again.state()[0] == before.state()[0]
    for name, values in before.state()[1].items():
        assert again.state()[1][name].tobytes() == np.asarray(values).tobytes()


def test_the_same_seed_gives_the_same_file_for_any_number_of_threads(tmp_path: Path) -> None:
    treebank = random_treebank(4, count=40, longest=6)
    files = []
    for seed, threads in ((1, 1), (1, 2), (2, 1)):
        parser = GraphParser(min_count=1)
        for _ in train(parser, treebank, dev=treebank, epochs=2, seed=seed, threads=threads):
            pass
        save(parser, tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
    assert files[0] == files[1] != files[2]


@pytest.mark.parametrize("columns", [("upos",), ("xpos",), ("upos", "xpos")])
@pytest.mark.parametrize("features", ["default", "mcdonald2005", "hall2011"])
def test_a_treebank_may_lack_tags(columns: tuple[str, ...], features: str) -> None:
    treebank = [replace(e, sentence=e.sentence.without(*columns)) for e in random_treebank(5, count=15)]
    parser = trained(treebank, order=2, features=features)
    assert not {"u", "x"} & set(parser.grammar.encoder.columns) - {name for name in "ux" if f"{name}pos" not in columns}
    for example in treebank:
        assert is_tree(parser.predict(example.sentence).heads)


def test_lifted_arcs_are_lowered_again() -> None:
    sentence = Sentence.of(list("abcd"), upos=["A", "B", "C", "D"])
    crossing = Tree.of([3, 0, 2, 1], ["nsubj", "root", "xcomp", "odd"])
    parser = trained([Example(sentence, crossing)] * 6, min_lifted=3, epochs=4)
    assert [label for label in parser.labels if "↑" in label]
    assert parser.config.decoder == "projective"
    assert parser.predict(sentence) == crossing
    candidate = parser.k_best(sentence, 1)[0]
    assert candidate.output == crossing
    # Its score is that of the tree that was searched.
    assert parser.score(sentence, candidate) == pytest.approx(candidate.score)
    assert not [label for label in trained([Example(sentence, crossing)] * 6, min_lifted=7).labels if "↑" in label]
    fixed = Tree.of([-1, -1, -1, 3], [""] * 4)
    assert parser.predict(sentence, constraint=fixed).heads[4] == 3


@pytest.mark.parametrize("labels", ["joint", "second-stage"])
def test_a_treebank_may_have_no_labels(labels: str) -> None:
    treebank = [replace(example, gold=Tree.of(example.gold.heads[1:])) for example in random_treebank(2, count=10)]
    parser = trained(treebank, labels=labels)
    assert parser.labels == ("",)
    for example in treebank:
        tree = parser.predict(example.sentence)
        assert tree.labels == example.gold.labels
        assert parser.score(example.sentence, tree) == pytest.approx(parser.k_best(example.sentence, 1)[0].score)
        fixed = parser.predict(example.sentence, constraint=example.gold)
        assert fixed == example.gold
