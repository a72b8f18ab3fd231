"""The loss over word orders: the score of the order that rules make of a tree, whatever parser made it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from losses_samples import plain

from strategies import trees
from treetune.corpus.orders import WordOrder
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, DataError
from treetune.evaluation.ordering import evaluate_orders
from treetune.losses import Reordering, Root, Weighted, make_loss
from treetune.reorder import Precedence, Reorderer, Rule, RuleSet, load_rules

SENTENCE = Sentence.of(["John", "hit", "the", "ball"], upos=["PROPN", "VERB", "DET", "NOUN"])
RIGHT = Tree.of([2, 0, 4, 2], ["nsubj", "root", "det", "obj"])
WRONG = Tree.of([2, 0, 4, 2], ["nsubj", "root", "det", "advcl"])
ORDER = WordOrder((1, 4, 2))


def test_the_better_tree_costs_less() -> None:
    loss = Reordering(rules="ja")
    assert loss.costs(SENTENCE, [RIGHT, WRONG], ORDER) == [0, 1]
    assert loss(SENTENCE, WRONG, ORDER) == 1


def test_every_score_gives_a_cost_of_its_own() -> None:
    order = WordOrder((2, 3, 4, 1))
    costs = {score: Reordering(score=score)(SENTENCE, RIGHT, order) for score in ("reorder", "fuzzy", "tau")}
    # John the ball hit: 1 3 4 2 against 2 3 4 1.
    assert costs == pytest.approx({"reorder": 1 - 1 / 3, "fuzzy": 1 - 1 / 5, "tau": 5 / 6})


@given(trees(max_size=8))
def test_a_cost_is_one_minus_the_score(tree: Tree) -> None:
    sentence = plain(len(tree))
    order = WordOrder(tuple(range(len(tree), 0, -1)))
    scores = evaluate_orders([order], [Reorderer(load_rules("sov")).order(sentence, tree)])
    cost = Reordering()(sentence, tree, order)
    assert cost == (0 if len(tree) < 2 else 1 - scores["reorder"])
    assert 0 <= Reordering(score="tau")(sentence, tree, order) <= 1


@pytest.mark.parametrize("words", [(), (3,)])
def test_a_sentence_without_two_aligned_words_costs_nothing(words: tuple[int, ...]) -> None:
    assert Reordering().costs(SENTENCE, [RIGHT, WRONG], WordOrder(words)) == [0, 0]


def test_rules_by_name_by_file_or_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[[rule]]\nheads = "VERB"\nprecedence = [["obj", 9]]\n')
    own = RuleSet("own", (Rule("verb", ("VERB",), (Precedence("obj", 9),)),))
    order = WordOrder((4, 1, 2))
    costs = [Reordering(rules=rules)(SENTENCE, RIGHT, order) for rules in ("sov", str(path), path, own)]
    assert costs == [1, 0, 0, 0]
    loss = make_loss("reordering", rules=str(path), score="tau")
    assert loss.settings() == {"name": "reordering", "rules": str(path), "score": "tau"}
    assert repr(make_loss(**loss.settings())) == f"Reordering(rules={str(path)!r}, score='tau')"
    assert Reordering(rules=own).settings()["rules"] == "own"


def test_references_are_checked() -> None:
    loss = Reordering()
    loss.check(SENTENCE, ORDER)
    with pytest.raises(DataError, match=r"^loss reordering expects a word order as reference, found Tree$"):
        loss.check(SENTENCE, RIGHT)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"^expected the order of words from 1 to 4, found word 5$"):
        loss.check(SENTENCE, WordOrder((5, 1)))
    assert loss.known(SENTENCE, ORDER) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": "jp"}, r"^unknown rule set 'jp'; known: FILE\.toml, ar, fr, hi, ja"),
        ({"rules": 3}, r"^rules must be the name of a rule set or a \.toml file, found 3$"),
        ({"score": "bleu"}, r"^unknown score 'bleu'; known: fuzzy, reorder, tau$"),
        ({"rule": "ja"}, r"^unknown option of loss reordering 'rule'; known: rules, score \(did you mean 'rules'\?\)$"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_loss("reordering", **options)


def test_a_loss_by_name_reads_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text("from treetune.losses import Reordering\n\nLOSS = Reordering(rules='ja')\n")
    loss = make_loss("python", function=f"{path}:LOSS")
    assert loss.reference == "order"
    assert loss.costs(SENTENCE, [RIGHT, WRONG], ORDER) == [0, 1]


def test_a_sum_reads_what_its_parts_read() -> None:
    both = Weighted([(1, Reordering()), (3, Reordering(rules="hi", score="tau"))])
    assert both.reference == "order"
    assert both(SENTENCE, RIGHT, ORDER) == 0
    assert Weighted([(1, Root())]).reference == Root().reference
    with pytest.raises(
        ConfigError, match=r"^the parts of loss weighted must be for the same references, found order and tree$"
    ):
        Weighted([(1, Reordering()), (1, Root())])
