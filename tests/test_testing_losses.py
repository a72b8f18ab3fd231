"""All losses of the package keep the contract, and `check_loss` says what is wrong with one that does not."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from treetune.corpus.orders import WordOrder
from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.tags import Tags
from treetune.errors import DataError
from treetune.losses import (
    LOSSES,
    ArcLength,
    Attachment,
    EntityF1,
    EntityHamming,
    Function,
    Loss,
    MainVerb,
    PartialTree,
    Program,
    Reordering,
    Root,
    Weighted,
    ZeroOne,
)
from treetune.losses.meaning import MEASURES, Measure, NaturalLogicalForm
from treetune.losses.trees import TreeLoss
from treetune.sample import generate
from treetune.semantics.encoding import encode
from treetune.semantics.from_ud import from_ud
from treetune.testing import check_loss

EXAMPLES = generate(30, seed=3, kinds=("declarative", "wh"))
# No tree of these sentences, for no loss over trees.
NO_TREES = [
    (EXAMPLES[0].sentence, Tree.of([0])),
    (EXAMPLES[0].sentence, Tags.of(["X"])),
    (Sentence.of(["a", "b"]), Tree.of([2, 1])),
    (Sentence.of(["a", "b"]), Tree.of([0, 0])),
]
TWO = Sentence.of(["Ada", "sleeps"], upos=["PROPN", "VERB"])


def others(tree: Tree) -> list[Tree]:
    """The tree, a chain, and a tree with other labels."""
    size = len(tree)
    return [tree, Tree.of(range(size), tree.labels[1:]), Tree.of(tree.heads[1:], ["dep"] * size)]


TREE_LOSSES: list[Loss[Any, Any]] = [
    Attachment(),
    Attachment(labelled=False),
    Root(),
    PartialTree(),
    PartialTree(labelled=False),
    ArcLength(),
    ArcLength(labelled=False),
    ZeroOne(),
    ZeroOne(labelled=False),
]


@pytest.mark.parametrize("loss", TREE_LOSSES, ids=lambda loss: str(loss.settings()))
def test_losses_over_trees(loss: Loss[Any, Any]) -> None:
    check_loss(loss, EXAMPLES, [others(example.gold) for example in EXAMPLES], refused=NO_TREES)
    check_loss(loss, EXAMPLES)


def test_weighted_sums_and_functions() -> None:
    weighted = Weighted({Root(): 0.5, Attachment(): 2.0})
    check_loss(weighted, EXAMPLES, largest=2.5, refused=NO_TREES)
    with pytest.raises(AssertionError, match=r"a cost must be a float from 0 to 0\.1, found "):
        check_loss(weighted, EXAMPLES, [others(example.gold) for example in EXAMPLES], largest=0.1)
    check_loss(Function(count_wrong), EXAMPLES, largest=100.0)
    check_loss(count_wrong, EXAMPLES, largest=100.0)


def count_wrong(sentence: Sentence, output: Tree, reference: Tree) -> float:
    return sum(one != other for one, other in zip(output.heads, reference.heads, strict=True))


def test_an_external_program(tmp_path: Path) -> None:
    (tmp_path / "metric.py").write_text("import sys\nfor line in sys.stdin:\n    print(0.25, flush=True)\n")
    check_loss(Program([sys.executable, str(tmp_path / "metric.py")]), EXAMPLES[:3], perfect=[None] * 3)


@pytest.mark.parametrize("score", ["reorder", "fuzzy", "tau"])
def test_word_orders(score: Any) -> None:
    loss = Reordering(rules="sov", score=score)
    items = [(one.sentence, WordOrder(tuple(range(1, len(one.sentence) + 1)))) for one in EXAMPLES]
    outputs = [others(example.gold) for example in EXAMPLES]
    perfect = [None] * len(items)
    check_loss(loss, items, outputs, perfect=perfect, refused=[(TWO, WordOrder((1, 3))), (TWO, Tree.of([0, 1]))])


class Names:
    """Takes proper nouns for persons."""

    def predict_batch(self, sentences: Sequence[Sentence]) -> list[Tags]:
        return [Tags.of("B-PER" if tag == "PROPN" else "O" for tag in one.upos[1:]) for one in sentences]


TAGS = [Tags.of(values) for values in (("PROPN", "VERB"), ("NOUN", "VERB"), ("VERB", "VERB"), ("PROPN", "PROPN"))]
PERSON = Tags.of(["B-PER", "O"])


def test_tags() -> None:
    not_tags = [(TWO, Tags.of(["O"])), (TWO, Tree.of([0, 1]))]
    for loss in (EntityHamming(), EntityHamming(outside=False), EntityF1(model=Names())):
        check_loss(loss, [(TWO, PERSON)], [TAGS], perfect=[TAGS[0]], refused=not_tags)
    annotated = (TWO, Tree.of([-1, 0]))
    for verb in (MainVerb(), MainVerb(first=False)):
        check_loss(verb, [annotated], [TAGS], perfect=[TAGS[0]], refused=[(TWO, Tree.of([2, -1])), (TWO, PERSON)])


@pytest.mark.parametrize("measure", MEASURES)
def test_meanings(measure: Measure) -> None:
    golds = [encode(from_ud(one.sentence, one.gold), one.sentence.forms) for one in EXAMPLES]
    items = [(one.sentence, gold) for one, gold in zip(EXAMPLES, golds, strict=True)]
    outputs = [[gold, Tree.of(range(len(gold)), gold.labels[1:])] for gold in golds]
    partial_tree = Tree.of([-1, 0], ["", golds[0].labels[golds[0].roots[0]]])
    check_loss(NaturalLogicalForm(measure=measure), items, outputs, perfect=golds, refused=[(TWO, partial_tree)])


def test_every_loss_of_the_table_is_checked_here() -> None:
    here = {*TREE_LOSSES, EntityHamming(), MainVerb(), NaturalLogicalForm()}
    by_hand = (Weighted, Function, Program, Reordering, EntityF1)
    assert {type(loss) for loss in here} | set(by_hand) == set(LOSSES.values())


class Wrong(TreeLoss):
    """Costs nothing; subclasses are wrong in one way each."""

    name: ClassVar[str] = "wrong"

    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        return [0.0] * len(outputs)


class Negative(Wrong):
    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        return [-0.5] * len(outputs)


class Never(Wrong):
    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        return [1.0] * len(outputs)


class Ranked(Wrong):
    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        return [number / len(outputs) for number in range(len(outputs))]


class Short(Wrong):
    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        return [0.0] * (len(outputs) - 1)


@dataclass
class Moody(Wrong):
    asked: int = 0

    def tree_costs(self, outputs: Sequence[Tree], reference: Tree) -> list[float]:
        self.asked += bool(outputs)
        return [float(self.asked > 5)] * len(outputs)


class KnowsTooMuch(Wrong):
    def known(self, sentence: Sentence, reference: Tree) -> Tree:
        return reference


class Unspeakable(Wrong):
    def settings(self) -> dict[str, Any]:
        return {"name": self.name, "parts": (1, 2)}


class Nameless(Wrong):
    def settings(self) -> dict[str, Any]:
        return {}


class Lenient(Wrong):
    def check(self, sentence: Sentence, reference: Tree) -> None:
        return


class Strict(Wrong):
    def check(self, sentence: Sentence, reference: Tree) -> None:
        raise DataError("never")


@pytest.mark.parametrize(
    ("loss", "problem"),
    [
        (Negative(), "a cost must be a float from 0 to 1.0, found -0.5"),
        (Never(), "the cost of a perfect output must be 0, found 1.0"),
        (Ranked(), "costs() of a list must be those of its outputs one by one"),
        (Short(), "costs() of 4 outputs must be as many, found 3"),
        (Moody(), "a cost must be the same whenever it is asked for"),
        (KnowsTooMuch(), "known() must be part of every output of cost 0"),
        (Unspeakable(), "settings() must be what JSON can hold"),
        (Nameless(), "settings() must have the name 'wrong', found {}"),
        (Lenient(), "the reference Tree(heads=(-1, 0), labels=('', '')) must be a DataError, found no error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Loss) else "",
)
def test_what_is_wrong_is_said(loss: Loss[Any, Any], problem: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_loss(loss, EXAMPLES[:1], [others(EXAMPLES[0].gold)], refused=NO_TREES)
    assert problem in str(caught.value)


def test_a_good_reference_that_is_refused() -> None:
    with pytest.raises(DataError, match="never"):
        check_loss(Strict(), EXAMPLES[:1])
