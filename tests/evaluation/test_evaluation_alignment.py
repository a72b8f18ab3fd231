"""Scores of systems with tokens of their own must be those of the official scorer of Universal Dependencies."""

from __future__ import annotations

import io
import random
from dataclasses import replace
from pathlib import Path

import pytest
from evaluation_samples import random_tree
from udtools import udeval

from treetune.corpus.conllu import format_conllu, read_conllu
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, DataError
from treetune.evaluation.alignment import TEXT_METRICS, TextScores, evaluate_text

TAGS = ("NOUN", "VERB", "PUNCT")
FEATS = ("_", "_", "Case=Nom", "Case=Nom|Clitic=Yes", "Case=Nom|Number=Sing")
LEMMAS = ("_", "a", "b")
LABELS = ("nsubj", "nmod:poss", "nmod", "punct", "case", "obl")


def official(gold: str, predicted: str) -> dict[str, str]:
    result = udeval.evaluate(*(udeval.load_conllu(io.StringIO(text), "text", {}) for text in (gold, predicted)))
    return {name: f"{100 * result[name].f1:.4f}" for name in TEXT_METRICS}


def ours(scores: TextScores) -> dict[str, str]:
    return {name: f"{100 * scores[name]:.4f}" for name in TEXT_METRICS}


def written(examples: list[Example]) -> str:
    return "".join(format_conllu(example.sentence, example.gold) for example in examples)


def analysis(text: str, draw: random.Random) -> list[Example]:
    """Cut a text at random into sentences, tokens, and words of multiword tokens; give random tags and trees."""
    examples = []
    left = text
    while left:
        forms: list[str] = []
        multiword: list[tuple[int, str]] = []
        for _ in range(draw.randint(1, 9)):
            token, left = left[: (size := draw.randint(1, 3))], left[size:]
            if not token:
                break
            words = [token]
            if draw.random() < 0.3:
                # As written, or not as written, or one word under a range of its own.
                words = draw.choice([[token[:1], token[1:] or "x"], ["q", *token], [token.upper(), "b"]])
                first = len(forms) + 1
                columns = (f"{first}-{first + len(words) - 1}", token, *"________")
                multiword.append((first, "\t".join(columns)))
            forms += words
        size = len(forms)
        tree = random_tree(size, draw)
        labels = tuple(draw.choice(LABELS) if head else "root" for head in tree.heads[1:])
        tags = [[draw.choice(TAGS) for _ in range(size)] for _ in range(2)]
        feats, lemmas = ([draw.choice(values) for _ in range(size)] for values in (FEATS, LEMMAS))
        bare = Sentence.of(forms, upos=tags[0], xpos=tags[1], feats=feats, lemmas=lemmas)
        sentence = replace(bare, multiword=tuple(multiword))
        examples.append(Example(sentence, Tree(tree.heads, ("", *labels))))
    return examples


@pytest.mark.parametrize("seed", range(40))
def test_random_analyses_score_as_in_the_official_scorer(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(draw.choice("ab") for _ in range(draw.choice([5, 40, 400])))
    gold, predicted = analysis(text, draw), analysis(text, draw)
    expected = official(written(gold), written(predicted))
    assert ours(evaluate_text(gold, predicted, subtypes=False)) == expected
    assert ours(evaluate_text(gold, gold, subtypes=False)) == official(written(gold), written(gold))


@pytest.mark.data
def test_real_text_scores_as_in_the_official_scorer(data_dir: Path) -> None:
    gold = list(read_conllu(data_dir / "ud" / "en_ewt-dev.conllu"))
    text = written(gold)
    draw = random.Random(1)
    # Every tenth sentence joins with the next, without its multiword tokens.
    predicted = list(merged(gold, draw))
    scores = evaluate_text(gold, predicted, subtypes=False)
    assert ours(scores) == official(text, written(predicted))
    assert 0.9 < scores["LAS"] <= scores["UAS"] < scores["Words"] <= 1
    assert scores["Sentences"] < 0.9


def merged(gold: list[Example], draw: random.Random) -> list[Example]:
    """Join some sentences with the next, and take their multiword tokens apart."""
    made: list[Example] = []
    held: Example | None = None
    for example in gold:
        if held is not None:
            shift = len(held.sentence)
            sentence = replace(
                Sentence.of(
                    held.sentence.forms[1:] + example.sentence.forms[1:],
                    upos=held.sentence.upos[1:] + example.sentence.upos[1:],
                ),
                xpos=held.sentence.xpos + example.sentence.xpos[1:],
            )
            root = example.gold.roots[0]
            heads = [1 if word == root else head + shift for word, head in enumerate(example.gold.heads)][1:]
            labels = ["parataxis" if word == root else label for word, label in enumerate(example.gold.labels)][1:]
            if held.gold.heads[1] != 0:
                heads[root - 1] = held.gold.roots[0]
            tree = Tree((*held.gold.heads, *heads), (*held.gold.labels, *labels))
            made.append(Example(sentence, tree))
            held = None
        elif draw.random() < 0.1:
            held = example
        else:
            made.append(Example(example.sentence, example.gold))
    return made if held is None else [*made, held]


def test_the_parts_of_a_score() -> None:
    gold = [
        Example(
            Sentence.of(["ab", "c", "."], upos=["X", "Y", "PUNCT"]), Tree.of([2, 0, 2], ["nmod:poss", "root", "punct"])
        )
    ]
    other = [
        Example(
            Sentence.of(["a", "b", "c", "."], upos=["X", "X", "Y", "PUNCT"]),
            Tree.of([3, 1, 0, 3], ["nmod", "dep", "root", "punct"]),
        )
    ]
    scores = evaluate_text(gold, other)
    words = scores.tallies["Words"]
    assert (words.gold, words.predicted, words.right) == (3, 4, 2)
    assert scores["UAS"] == pytest.approx(4 / 7)
    without = evaluate_text(gold, other, punct=False).tallies["Words"]
    assert (without.gold, without.predicted, without.right) == (2, 3, 1)
    assert scores.signature() == scores.signature("LAS")
    assert scores.signed("Words").startswith("Words|tokens:own|punct:yes|subtypes:yes|sents:1|v:")
    assert scores.signed("Words").endswith(" = 57.14")


def test_subtypes_count_unless_they_should_not() -> None:
    sentence = Sentence.of(["a", "b"])
    gold, other = (Example(sentence, Tree.of([2, 0], [label, "root"])) for label in ("nmod:poss", "nmod"))
    assert evaluate_text([gold], [other])["LAS"] == 0.5
    assert evaluate_text([gold], [other], subtypes=False)["LAS"] == 1.0


def test_an_unknown_head_is_wrong_and_a_space_in_a_form_is_no_character() -> None:
    gold = Example(Sentence.of(["1 000", "b"]), Tree.of([2, 0], ["dep", "root"]))
    other = Example(Sentence.of(["1\u00a0000", "b"]), Tree.unknown(2))
    scores = evaluate_text([gold], [other])
    assert (scores["Words"], scores["UAS"]) == (1.0, 0.0)


def test_another_text_is_refused() -> None:
    gold = [Example(Sentence.of(words), Tree.unknown(len(words))) for words in (["ab", "c"], ["d"])]
    other = [Example(Sentence.of(["abc", "e"]), Tree.unknown(2))]
    with pytest.raises(DataError, match=r"^the texts differ in sentence 2 of gold: expected 'd', found 'e'; score an"):
        evaluate_text(gold, other)
    with pytest.raises(DataError, match=r"expected 'd', found ''"):
        evaluate_text(gold, [Example(Sentence.of(["abc"]), Tree.unknown(1))])


def test_an_unknown_metric_is_refused() -> None:
    scores = evaluate_text([], [])
    with pytest.raises(ConfigError, match=r"unknown metric 'Sentence'; known: .*\(did you mean 'Sentences'\?\)"):
        scores["Sentence"]
