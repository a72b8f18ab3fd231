"""Brown clusters: the kernel against the definition, mutual information that only falls, and what users see."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from brown_twin import Twin

from treetune.errors import ConfigError, DataError
from treetune.features import brown
from treetune.features.brown import bit_strings, count_neighbours, learn_clusters, merge_classes


def random_text(seed: int, *, words: int, length: int) -> list[list[str]]:
    """Sentences in which a word's own habits decide what follows, so that hardly two pairs cost the same."""
    draw = np.random.default_rng(seed)
    habits = draw.dirichlet(np.full(words, 0.5), size=words)
    sentences, word = [], 0
    for _ in range(length // 10):
        sentence = []
        for _ in range(10):
            word = int(draw.choice(words, p=habits[word]))
            sentence.append(chr(ord("a") + word))
        sentences.append(sentence)
    return sentences


def twin_of(text: brown.Neighbours) -> Twin:
    starts, others, follows, _ = text.bigrams
    pairs: Counter[tuple[int, int]] = Counter()
    for word in range(len(text.words)):
        for place in range(starts[word], starts[word + 1]):
            pairs[word, int(others[place])] += int(follows[place])
    return Twin(pairs, len(text.words))


@pytest.mark.parametrize(("seed", "classes"), [(1, 2), (2, 3), (3, 5), (4, 8), (5, 12), (6, 4)])
def test_the_kernel_does_what_the_definition_says(seed: int, classes: int) -> None:
    text = count_neighbours(random_text(seed, words=12, length=600), min_count=1)
    slots, merges, costs = merge_classes(text, classes=classes)
    expected_slots, expected_merges, expected_costs = twin_of(text).run(classes, len(text.words))
    assert slots.tolist() == expected_slots
    assert [tuple(pair) for pair in merges.tolist()] == expected_merges
    assert costs == pytest.approx(expected_costs, abs=1e-7)


def test_mutual_information_only_falls_and_ends_at_nothing() -> None:
    text = count_neighbours(random_text(9, words=26, length=5000), min_count=1)
    slots, _, costs = merge_classes(text, classes=10)
    assert min(costs) > -1e-7
    members = [[word for word, slot in enumerate(slots) if slot == one] for one in sorted(set(slots.tolist()))]
    assert sum(costs) == pytest.approx(twin_of(text).information(members))


def test_n_log_n_beyond_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    text = count_neighbours(random_text(3, words=12, length=600), min_count=1)
    usual = merge_classes(text, classes=5)
    monkeypatch.setattr(brown, "LARGEST_LOG", 3)
    for mine, theirs in zip(merge_classes(text, classes=5), usual, strict=True):
        assert mine == pytest.approx(theirs)


def test_neighbours_are_counted_within_sentences_and_rare_words_part_them() -> None:
    text = count_neighbours([["a", "b", "a", "a"], ["b", "rare", "a", "b"]], min_count=2)
    assert (text.words, text.counts) == (["a", "b"], [4, 3])
    assert twin_of(text).pairs == {(0, 1): 2, (1, 0): 1, (0, 0): 1}
    assert text.total == 4
    starts, others, follows, precedes = (part.tolist() for part in text.bigrams)
    assert (starts, others, follows, precedes) == ([0, 2, 3], [0, 1, 0], [1, 2, 1], [1, 1, 2])


def test_words_that_are_only_ever_first_or_last() -> None:
    """The logarithm of nothing is not taken."""
    sentences = [["a", "z"], ["a", "y"], ["b", "z"], ["b", "y"], ["b", "x"], ["c", "x"]] * 2
    clusters = learn_clusters(sentences, classes=3)
    assert len(clusters) == 6
    assert clusters.classes == 3


def test_words_of_a_kind_come_together() -> None:
    draw = np.random.default_rng(0)
    nouns, verbs, places = ["dog", "cat", "cow", "pig"], ["sees", "hears", "likes"], ["here", "there", "outside"]
    kinds = (["the"], nouns, verbs, ["a"], nouns, places, ["."])
    clusters = learn_clusters([[str(draw.choice(kind)) for kind in kinds] for _ in range(400)], classes=13)
    for kind in (nouns, verbs, places):
        paths = [clusters.paths[word] for word in kind]
        assert any(
            {word for word, path in clusters.paths.items() if path.startswith(paths[0][:length])} == set(kind)
            for length in range(len(paths[0]))
        )
    assert clusters.counts["the"] == 400


def test_the_same_text_gives_the_same_clusters_and_digits_look_alike() -> None:
    sentences = [["in", "1984", "we"], ["in", "2001", "we"], ["we", "in", "7"]] * 3
    one, other = learn_clusters(sentences, classes=3), learn_clusters(iter(sentences), classes=3)
    assert one == other
    assert set(one.paths) == {"in", "we", "0000", "0"}


def test_more_classes_than_words_are_as_many_as_words() -> None:
    clusters = learn_clusters([["a", "b", "c"]] * 2, classes=100)
    assert clusters.classes == 3


def test_bit_strings_are_the_way_from_the_root() -> None:
    assert bit_strings(np.array([[1, 2], [0, 1]], np.int32), size=4) == ["0", "10", "11", ""]


def test_no_bit_string_is_the_start_of_another() -> None:
    clusters = learn_clusters(random_text(2, words=20, length=2000), classes=9)
    found = set(clusters.paths.values())
    assert len(found) == 9
    assert not any(one != other and other.startswith(one) for one in found for other in found)


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brown, "STEP", 4)
    seen: list[tuple[int, int]] = []
    learn_clusters(random_text(1, words=12, length=600), classes=3, report=lambda done, all_: seen.append((done, all_)))
    assert seen == [(3, 12), (7, 12), (11, 12), (12, 12)]


def test_options_change_the_result_and_wrong_ones_are_refused() -> None:
    sentences = random_text(4, words=20, length=1000)
    assert learn_clusters(sentences, classes=4) != learn_clusters(sentences, classes=5)
    assert len(learn_clusters(sentences, min_count=30)) < len(learn_clusters(sentences, min_count=1))
    with pytest.raises(ConfigError, match=r"^expected at least 2 classes, found 1$"):
        learn_clusters(sentences, classes=1)
    with pytest.raises(ConfigError, match=r"^min_count must be at least 1, found 0$"):
        learn_clusters(sentences, min_count=0)
    message = "expected a text with at least two different words in a row, each seen at least 2 times"
    for empty in ([], [["a"], ["b"]] * 5, [["a", "b"]]):
        with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
            learn_clusters(empty)
