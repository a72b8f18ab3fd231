"""The attachment scores must be those of the official scorer of Universal Dependencies."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from evaluation_samples import corrupt, random_tree
from udtools import udeval

from treetune.corpus.conllu import format_conllu, read_conllu
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.evaluation import Scores, evaluate_trees
from treetune.evaluation.counts import CONTENT_LABELS


def _official(gold: str, predicted: str) -> dict[str, str]:
    loaded = [udeval.load_conllu(io.StringIO(text), "text", {}) for text in (gold, predicted)]
    result = udeval.evaluate(*loaded)
    return {name: f"{100 * result[name].f1:.2f}" for name in ("UAS", "LAS", "CLAS")}


def _ours(scores: Scores) -> dict[str, str]:
    return {name: f"{100 * scores[name]:.2f}" for name in ("UAS", "LAS", "CLAS")}


def _written(examples: Iterable[Example], trees: Iterable[Tree]) -> str:
    pairs = zip(examples, trees, strict=True)
    return "".join(format_conllu(example.sentence, tree) for example, tree in pairs)


def _generated(sentences: int, rng: random.Random) -> list[Example]:
    """Make sentences in which some neighbours are the parts of one multiword token."""
    made = []
    for _ in range(sentences):
        size = rng.randint(1, 15)
        words = [rng.choice(["na", "ni", "de", "el", "Hund", "."]) for _ in range(size)]
        starts = [i for i in range(1, size) if i % 3 == 1 and rng.random() < 0.5]
        lines = tuple((i, "\t".join((f"{i}-{i + 1}", words[i - 1] + "X", *"________"))) for i in starts)
        sentence = replace(Sentence.of(words, upos=["X"] * size), multiword=lines)
        made.append(Example(sentence, random_tree(size, rng)))
    return made


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.3, 0.9])
def test_generated_sentences_agree_with_the_official_scorer(rate: float) -> None:
    rng = random.Random(11)
    gold = _generated(300, rng)
    assert sum(len(example.sentence.multiword) for example in gold) > 100
    answers = [corrupt(example.gold, rng, rate=rate) for example in gold]
    official = _official(_written(gold, [e.gold for e in gold]), _written(gold, answers))
    assert _ours(evaluate_trees(gold, answers, subtypes=False)) == official
    assert (official["LAS"] == "100.00") is (rate == 0.0)


def test_the_official_scorer_ignores_subtypes_and_ours_need_not() -> None:
    rng = random.Random(2)
    gold = _generated(100, rng)
    answers = [corrupt(example.gold, rng) for example in gold]
    official = _official(_written(gold, [e.gold for e in gold]), _written(gold, answers))
    assert _ours(evaluate_trees(gold, answers, subtypes=True))["LAS"] < official["LAS"]


def test_content_labels_are_the_official_ones() -> None:
    assert CONTENT_LABELS == udeval.CONTENT_DEPRELS


@pytest.mark.data
@pytest.mark.parametrize("name", ["en_ewt-dev", "cs_cltt-dev", "en_gum-dev"])
def test_real_files_agree_with_the_official_scorer(data_dir: Path, name: str) -> None:
    path = data_dir / "ud" / f"{name}.conllu"
    text = path.read_text(encoding="utf-8")
    gold = list(read_conllu(path))
    labels = sorted({label for example in gold for label in example.gold.labels[1:]})
    rng = random.Random(5)
    answers = [corrupt(example.gold, rng, rate=0.15, labels=labels) for example in gold]
    predicted = _replaced(text, answers)
    official = _official(text, predicted)
    assert _ours(evaluate_trees(gold, read_conllu(predicted.split("\n")), subtypes=False)) == official
    assert 60 < float(official["LAS"]) < 90


def _replaced(text: str, trees: Iterable[Tree]) -> str:
    """Return the file with other heads and labels; multiword tokens and empty nodes stay where they are."""
    lines = []
    left = iter(trees)
    tree = next(left)
    for line in text.split("\n"):
        columns = line.split("\t")
        if columns[0].isdigit():
            word = int(columns[0])
            columns[6:8] = [str(tree.heads[word]), tree.labels[word]]
            line = "\t".join(columns)
        elif not line:
            tree = next(left, tree)
        lines.append(line)
    return "\n".join(lines)
