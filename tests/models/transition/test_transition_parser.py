"""The parser's promises: one root, no cycle, same bytes, options that matter, errors that say so."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transition_samples import (
    FEW_LABELS,
    MANY_LABELS,
    TEMPLATES,
    all_trees,
    is_tree,
    random_parser,
    random_sentence,
)
from transition_twin import State

from strategies import projective_trees, trees
from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, DataError, ModelError
from treetune.features.encoding import INPUTS
from treetune.learning.trainer import train
from treetune.models.base import Candidate
from treetune.models.labels import LabelTable
from treetune.models.transition.grammar import TransitionConfig
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate


def trained(examples: list[Example], *, epochs: int = 2, **options: Any) -> TransitionParser:
    parser = TransitionParser(**{"beam": 2, "features": TEMPLATES, **options})
    for _ in train(parser, examples, epochs=epochs):
        pass
    return parser


@cache
def sample() -> list[Example]:
    return generate(40, seed=3, kinds=("declarative", "wh"))


@cache
def sample_parser() -> TransitionParser:
    return trained(sample())


@cache
def label_parser() -> TransitionParser:
    """A parser that knows the labels of the strategies."""
    names = ("acl:relcl", "conj", "nmod:poss", "nsubj", "obj", "obl", "punct", "root")
    labels = LabelTable(names, tuple(name == "root" for name in names), (True,) * 7 + (False,))
    return random_parser([random_sentence(random.Random(1), 5)], labels=labels, seed=1)


def assert_good(tree: Tree, n: int) -> None:
    assert len(tree) == n
    assert tree.heads[0] == -1
    assert len(tree.roots) == min(n, 1)
    assert is_tree(tree.heads[1:])


@given(projective_trees(max_size=20))
def test_the_oracle_rebuilds_every_projective_tree(tree: Tree) -> None:
    parser = label_parser()
    actions = parser.derivation(tree)
    assert len(actions) == 2 * len(tree)
    state = State(len(tree), 8).after_all(actions)
    assert state.is_final
    heads, labels = state.tree()
    assert Tree.of(heads, [parser.labels[label] for label in labels]) == tree


@given(trees(max_size=10))
def test_the_oracle_has_no_sequence_for_a_non_projective_tree(tree: Tree) -> None:
    assert bool(label_parser().derivation(tree)) == is_projective(tree.heads)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_oracle_takes_legal_transitions_only(n: int) -> None:
    parser = random_parser([random_sentence(random.Random(n), n)], labels=FEW_LABELS, seed=n, beam=1)
    for heads in all_trees(n):
        tree = Tree.of(heads, ["root" if head == 0 else "dep" for head in heads])
        actions = parser.derivation(tree)
        found = parser.k_best(random_sentence(random.Random(n), n), 10**4, constraint=tree)
        assert [candidate.output for candidate in found] == [tree]
        assert len(actions) == 2 * n


@pytest.mark.parametrize(
    "tree",
    [
        Tree.of((0, 3, 2), ("root", "obj", "obj")),
        Tree.of((2, 1, 2), ("obj", "obj", "obj")),
        Tree.of((0, 0), ("root", "root")),
        Tree.of((0, -1), ("root", "obj")),
        Tree.of((0, 7), ("root", "obj")),
        Tree.of((0, 1), ("root", "never-seen")),
        Tree.of((0, 1)),
    ],
)
def test_what_is_no_projective_tree_has_no_derivation_and_no_score(tree: Tree) -> None:
    assert label_parser().derivation(tree) == ()
    sentence = random_sentence(random.Random(0), len(tree))
    for ask in (label_parser().score, label_parser().features):
        with pytest.raises(ModelError) as caught:
            ask(sentence, tree)
        assert str(caught.value) == (
            "this tree has no arc-eager derivation: expected a projective tree with one root and known labels"
        )


def test_a_tree_of_other_length_has_no_score() -> None:
    sentence = random_sentence(random.Random(0), 3)
    tree = Tree.of((0, 1), ("root", "obj"))
    for output in (tree, Candidate(tree, 0.0, label_parser().derivation(tree))):
        with pytest.raises(ModelError, match=r"^expected a tree of 3 words, found 2$"):
            label_parser().score(sentence, output)


@given(st.integers(0, 40), st.sampled_from([1, 2, 5, 8]), st.integers(0, 10**6))
@settings(max_examples=40)
def test_every_output_is_a_tree_with_one_root(length: int, beam: int, seed: int) -> None:
    parser = [label_parser(), sample_parser()][seed % 2].with_options(beam=beam)
    sentence = random_sentence(random.Random(seed), length)
    assert_good(parser.predict(sentence), length)


def test_random_weights_of_many_kinds_give_trees_with_one_root() -> None:
    draw = random.Random(5)
    for seed in range(6):
        sentences = [random_sentence(draw, draw.randint(1, 6)) for _ in range(4)]
        parser = random_parser(sentences, labels=(FEW_LABELS, MANY_LABELS)[seed % 2], seed=seed)
        new = [*sentences, *(random_sentence(draw, n) for n in range(30))]
        for beam in (1, 4):
            for sentence, tree in zip(new, parser.with_options(beam=beam).predict_batch(new), strict=True):
                assert_good(tree, len(sentence))
                assert is_projective(tree.heads)


@pytest.mark.parametrize("beam", [1, 8])
def test_a_thousand_words(beam: int) -> None:
    sentence = random_sentence(random.Random(2), 1000)
    parser = sample_parser().with_options(beam=beam)
    assert_good(parser.predict(sentence), 1000)
    candidates = parser.k_best(sentence, 2)
    assert len(candidates) == 2
    assert parser.score(sentence, candidates[1]) == candidates[1].score


def test_no_words_and_no_sentences() -> None:
    empty = Sentence.of([])
    parser = sample_parser()
    assert parser.predict(empty) == Tree.unknown(0)
    assert parser.predict(empty, constraint=Tree.unknown(0)) == Tree.unknown(0)
    assert parser.k_best(empty, 3) == [Candidate(Tree.unknown(0), 0.0)]
    assert parser.score(empty, Tree.unknown(0)) == 0.0
    assert parser.features(empty, Tree.unknown(0))[0].shape == (0,)
    assert parser.predict_batch([]) == []
    assert parser.k_best_batch([], 3) == []


def test_one_word_has_the_root_label() -> None:
    assert sample_parser().predict(Sentence.of(["Go"])) == Tree.of((0,), ("root",))


def test_one_word_sentences_teach_enough_to_parse_longer_ones() -> None:
    parser = trained([Example(Sentence.of(["Go"]), Tree.of((0,), ("root",)))] * 3)
    assert_good(parser.predict(Sentence.of(["Go", "on", "!"])), 3)


def test_state_restores_the_parser(tmp_path: Path) -> None:
    config, tensors = sample_parser().state()
    again = TransitionParser.from_state(json.loads(json.dumps(config)), tensors)
    sentences = [example.sentence for example in sample()]
    assert again.config == sample_parser().config
    assert again.predict_batch(sentences) == sample_parser().predict_batch(sentences)
    assert again.k_best_batch(sentences, 3) == sample_parser().k_best_batch(sentences, 3)
    for name, values in again.state()[1].items():
        assert values.tobytes() == tensors[name].tobytes()


def test_a_restored_parser_does_not_need_its_file_of_templates(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("[a]\nS0.t N0.t\nS0.w\nN0.w\n", encoding="utf-8")
    parser = trained(sample(), features=str(path))
    state = parser.state()
    path.unlink()
    again = TransitionParser.from_state(*state)
    assert again.config.features == str(path)
    sentence = sample()[0].sentence
    assert again.predict(sentence) == parser.predict(sentence)
    assert again.with_options(beam=5).predict(sentence) == parser.with_options(beam=5).predict(sentence)


def test_with_beam_shares_weights_and_leaves_the_parser_alone() -> None:
    parser = sample_parser()
    wide = parser.with_options(beam=32)
    assert (parser.beam, wide.beam) == (2, 32)
    assert wide.weights is parser.weights
    assert wide.grammar is parser.grammar
    sentences = [example.sentence for example in generate(30, seed=9, kinds=("yes-no",))]

    def total(one: TransitionParser) -> float:
        return sum(lists[0].score for lists in one.k_best_batch(sentences, 1))

    assert total(wide) > total(parser) > total(parser.with_options(beam=1))


def test_every_option_changes_the_parser() -> None:
    def weights(**options: Any) -> bytes:
        tensors = trained(sample(), **options).state()[1]
        return b"".join(values.tobytes() for values in tensors.values())

    plain = weights()
    assert weights() == plain
    crossing = Tree.of((0, 4, 1, 1), ("root", "odd", "obl", "xcomp"))
    lifted = [*sample(), *[Example(Sentence.of(list("abcd")), crossing)] * 5]
    for options in (
        {"beam": 4},
        {"features": "hall2011"},
        {"inputs": ("upos",)},
        {"inputs": ()},
        {"min_count": 5},
    ):
        assert weights(**options) != plain, options
    assert "odd↑xcomp" in trained(lifted, min_lifted=5).labels
    assert "odd↑xcomp" not in trained(lifted, min_lifted=6).labels


@pytest.mark.parametrize("absent", [(), ("upos",), ("xpos",), ("feats",), ("upos", "xpos"), ("upos", "xpos", "feats")])
def test_any_tag_column_may_be_absent(absent: tuple[str, ...]) -> None:
    examples = [Example(example.sentence.without(*absent), example.gold) for example in sample()]
    parser = trained(examples, features="default", epochs=20, min_count=1)
    assert parser.grammar.encoder.inputs == tuple(name for name in INPUTS if name not in absent)
    golds = [example.gold for example in examples]
    predicted = parser.predict_batch([example.sentence for example in examples])
    right = sum(p.heads[1:] == g.heads[1:] for p, g in zip(predicted, golds, strict=True))
    assert right >= 0.8 * len(golds)
    # What the model was not trained with does not matter.
    assert parser.predict_batch([example.sentence for example in sample()]) == predicted


def test_a_set_of_which_nothing_is_left_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tags.txt"
    path.write_text("[a]\nS0.t N0.t\nN0.u\n", encoding="utf-8")
    examples = [Example(example.sentence.without(*INPUTS), example.gold) for example in sample()]
    with pytest.raises(ConfigError) as caught:
        trained(examples, features=str(path))
    assert str(caught.value) == (
        f"no template of the feature set {str(path)!r} fits the treebank, "
        "which has only the columns w, suffix, prefix, shape"
    )


def test_a_treebank_without_labels() -> None:
    examples = [Example(example.sentence, Tree.of(example.gold.heads[1:])) for example in sample()]
    parser = trained(examples)
    assert parser.labels == ("",)
    sentence, gold = examples[0].sentence, examples[0].gold
    assert_good(parser.predict(sentence), len(sentence))
    candidate = Candidate(gold, parser.score(sentence, gold), parser.derivation(gold))
    assert parser.score(sentence, candidate) == candidate.score
    assert parser.predict(sentence, constraint=gold) == gold
    state = State(len(gold), 1).after_all(candidate.derivation)
    assert state.tree()[0] == gold.heads[1:]


def test_fixed_heads_stay_even_where_a_label_marks_a_lifted_arc() -> None:
    crossing = Tree.of((0, 4, 1, 1), ("root", "obj", "obl", "xcomp"))
    sentence = Sentence.of(list("abcd"))
    parser = trained([Example(sentence, crossing)] * 4, min_lifted=1, epochs=4, min_count=1)
    assert parser.predict(sentence) == crossing
    for heads in ((-1, 1, -1, -1), (0, 1, 1, 1)):
        constraint = Tree.of(heads)
        for tree in (
            parser.predict(sentence, constraint=constraint),
            *(candidate.output for candidate in parser.k_best(sentence, 5, constraint=constraint)),
        ):
            assert tree.heads[2] == 1
            assert not any("↑" in label for label in tree.labels)


@pytest.mark.parametrize("name", ["beam", "min_count", "min_lifted"])
def test_numbers_must_be_positive(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name} must be at least 1, found 0$"):
        TransitionParser(None, **{name: 0})
    assert getattr(TransitionConfig(), name) > 1


def test_errors_by_text(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=r"^unknown option of transition parsers 'beem'; known: backward, beam, clusters, features, inputs, ",
    ):
        TransitionParser(beem=3)
    with pytest.raises(
        ConfigError,
        match=r"^unknown feature set 'rich'; known: clusters, clusters-only, default, ",
    ):
        TransitionParser(features="rich")
    for text, problem in (
        ("S0.q", "unknown value in a feature template 'q'"),
        ("S7.w", "unknown address in a"),
    ):
        path = tmp_path / "mine.txt"
        path.write_text(f"[a]\nS0.w {text}\n", encoding="utf-8")
        with pytest.raises(ConfigError, match=f"^{problem}"):
            TransitionParser(features=str(path))
    with pytest.raises(ConfigError, match=r"^unknown input column 'lemma'; known: feats, upos, xpos$"):
        TransitionParser(inputs=("upos", "lemma"))
    for options, problem in (({"beam": "8"}, "a whole number, found '8'"), ({"features": 1}, "a text, found 1")):
        with pytest.raises(ConfigError, match=f"^{next(iter(options))} must be {problem}$"):
            TransitionParser(**options)
    with pytest.raises(ConfigError, match=r"^beam must be a whole number, found 2.5$"):
        sample_parser().with_options(beam=2.5)
    for found, name in (("Dogs bark.", "str"), (["Dogs", "bark"], "list")):
        with pytest.raises(DataError, match=f"^expected a sentence, found a {name}; make one of tokens by treetune"):
            sample_parser().predict(found)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^beam must be at least 1, found 0$"):
        sample_parser().with_options(beam=0)
    with pytest.raises(ConfigError, match=r"^threads must be at least 1, found 0$"):
        sample_parser().predict_batch([], threads=0)
    with pytest.raises(ConfigError, match=r"^k must be at least 1, found 0$"):
        sample_parser().k_best(sample()[0].sentence, 0)


def test_an_untrained_parser_says_so() -> None:
    parser = TransitionParser()
    assert not parser.is_trained
    assert sample_parser().is_trained
    sentence = sample()[0].sentence
    message = "^this parser is not trained yet; fit it to a treebank or load a trained one$"
    for ask in (
        lambda: parser.predict(sentence),
        lambda: parser.k_best(sentence, 2),
        lambda: parser.state(),
        lambda: parser.weights,
        lambda: parser.labels,
        lambda: parser.score(sentence, sample()[0].gold),
        lambda: parser.with_options(beam=3).predict(sentence),
    ):
        with pytest.raises(ModelError, match=message):
            ask()


def test_features_of_the_gold_tree_sum_to_its_score() -> None:
    parser = sample_parser()
    tensors = parser.weights.tensors()
    keys = np.repeat(tensors["keys"], tensors["counts"].astype(np.int64)).tolist()
    cells = dict(zip(zip(keys, tensors["outputs"].tolist(), strict=True), tensors["weights"].tolist(), strict=True))
    for example in sample()[:10]:
        features, outputs = parser.features(example.sentence, example.gold)
        pairs = zip(features.tolist(), outputs.tolist(), strict=True)
        total = sum(cells.get((feature >> 28, output), 0) for feature, output in pairs)
        assert total / parser.weights.scale == parser.score(example.sentence, example.gold)
