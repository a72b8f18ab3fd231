"""A parser that reads backward does to a sentence what one that reads forward does to its mirror image."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from transition_learner_twin import random_treebank

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.learning.trainer import train
from treetune.models.base import Candidate
from treetune.models.transition.parser import TransitionParser
from treetune.models.transition.search import Mirror


def turned_tree(tree: Tree) -> Tree:
    heads = [head if head <= 0 else len(tree) + 1 - head for head in reversed(tree.heads[1:])]
    return Tree.of(heads, list(reversed(tree.labels[1:])))


def turned_sentence(sentence: Sentence) -> Sentence:
    columns = {name: list(reversed(getattr(sentence, name)[1:])) for name in ("upos", "xpos", "feats")}
    turned = Sentence.of(list(reversed(sentence.forms[1:])), **columns)
    return turned if sentence.base_tree is None else replace(turned, base_tree=turned_tree(sentence.base_tree))


def turned(example: Example) -> Example:
    return Example(turned_sentence(example.sentence), turned_tree(example.gold))


def treebank(*, stacked: bool) -> list[Example]:
    examples = random_treebank(3, count=30, longest=8)
    if not stacked:
        return examples
    # Any trees will do as base_trees.
    others = {len(example.gold): example.gold for example in examples}
    return [
        replace(example, sentence=replace(example.sentence, base_tree=others[len(example.gold)]))
        for example in examples
    ]


@cache
def pair(*, beam: int = 3, stacked: bool = False) -> tuple[TransitionParser, TransitionParser, list[Example]]:
    """A parser that learned forward, one that learned backward from mirror images, and the treebank of the first."""
    examples = treebank(stacked=stacked)
    parsers = []
    for backward in (False, True):
        parser = TransitionParser(beam=beam, min_count=1, min_lifted=1, backward=backward)
        learned_from = [turned(example) for example in examples] if backward else examples
        for _ in train(parser, learned_from, epochs=2, learner="perceptron"):
            pass
        parsers.append(parser)
    return parsers[0], parsers[1], examples


def test_a_mirror_turns_sentences_one_by_one() -> None:
    mirror = Mirror.of(np.array([0, 4, 5, 7]))
    assert mirror.values(np.arange(14, dtype=np.int32).reshape(2, 7)).tolist() == [
        [0, 3, 2, 1, 4, 5, 6],
        [7, 10, 9, 8, 11, 12, 13],
    ]
    heads = np.array([-1, 2, 0, -1, -1, -1, 0], np.int32)
    assert mirror.heads(heads).tolist() == [-1, -1, 0, 2, -1, -1, 0]
    assert mirror.heads(mirror.heads(heads)).tolist() == heads.tolist()


@pytest.mark.parametrize(("beam", "stacked"), [(1, False), (3, False), (3, True)])
def test_the_same_weights_are_learned(beam: int, stacked: bool) -> None:
    forward, backward, _ = pair(beam=beam, stacked=stacked)
    one, other = forward.state(), backward.state()
    assert {name: array.tobytes() for name, array in one[1].items()} == {
        name: array.tobytes() for name, array in other[1].items()
    }
    assert (one[0]["options"].pop("backward"), other[0]["options"].pop("backward")) == (False, True)
    assert one[0] == other[0]


@pytest.mark.parametrize(("beam", "stacked"), [(1, False), (3, False), (3, True)])
def test_trees_lists_features_and_scores_are_mirror_images(beam: int, stacked: bool) -> None:
    forward, backward, examples = pair(beam=beam, stacked=stacked)
    sentences = [example.sentence for example in examples]
    images = list(map(turned_sentence, sentences))
    trees = forward.predict_batch(sentences)
    assert [turned_tree(tree) for tree in backward.predict_batch(images)] == trees
    assert trees != [turned_tree(tree) for tree in forward.predict_batch(images)]
    lists = forward.k_best_batch(sentences, 4)
    for sentence, image, one, other in zip(sentences, images, lists, backward.k_best_batch(images, 4), strict=True):
        assert [turned_candidate(candidate) for candidate in other] == one
        assert [backward.score(image, candidate) for candidate in other] == [candidate.score for candidate in one]
        assert same(backward.features(image, other[0]), forward.features(sentence, one[0]))
    gold = examples[0].gold
    assert backward.score(images[0], turned_tree(gold)) == forward.score(sentences[0], gold)


def turned_candidate(candidate: Candidate[Tree]) -> Candidate[Tree]:
    return replace(candidate, output=turned_tree(candidate.output))


def same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return all((mine == yours).all() for mine, yours in zip(one, other, strict=True))


def test_what_is_fixed_is_respected() -> None:
    forward, backward, examples = pair()
    sentences = [example.sentence for example in examples]
    fixed = [Tree.of([example.gold.heads[1], *[-1] * (len(example.gold) - 1)]) for example in examples]
    trees = forward.predict_batch(sentences, constraints=fixed)
    found = backward.predict_batch(list(map(turned_sentence, sentences)), constraints=list(map(turned_tree, fixed)))
    assert [turned_tree(tree) for tree in found] == trees
    assert [tree.heads[1] for tree in trees] == [example.gold.heads[1] for example in examples]


def test_candidates_of_a_learner_are_mirror_images() -> None:
    forward, backward, examples = pair()
    images = [turned(example) for example in examples]
    lists = []
    for parser, learned_from in ((forward, examples), (backward, images)):
        online_decoder = parser.learner(learned_from, warm_start=True).online_decoder(
            [example.sentence for example in learned_from]
        )
        fixed = learned_from[0].gold
        lists.append(
            [*(online_decoder.k_best(place, 3) for place in range(5)), online_decoder.k_best(0, 1, constraint=fixed)]
        )
    assert [[turned_candidate(candidate) for candidate in found] for found in lists[1]] == lists[0]


def test_a_stored_parser_still_reads_backward() -> None:
    _, backward, examples = pair()
    again = TransitionParser.from_state(*backward.state())
    images = [turned_sentence(example.sentence) for example in examples]
    assert again.predict_batch(images) == backward.predict_batch(images)
    config, tensors = backward.state()
    # Models from before there was a choice read forward.
    del config["options"]["backward"]
    assert TransitionParser.from_state(config, tensors).predict_batch(images) != backward.predict_batch(images)
