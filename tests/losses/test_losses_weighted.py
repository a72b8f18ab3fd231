"""Weighted sums of losses, and losses made from names."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest
from hypothesis import given
from losses_samples import GOLD, SENTENCE, WRONG, plain, references_with_answers

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, DataError, LossError
from treetune.losses import LOSSES, Attachment, Loss, PartialTree, Root, Weighted, ZeroOne, make_loss


class Says(Loss[Any, Any]):
    """Knows what it is told to know."""

    name: ClassVar[str] = "says"

    def __init__(self, known: Any) -> None:
        self._known = known
        self.closed = False

    def __call__(self, sentence: Sentence, output: Any, reference: Any) -> float:
        return 0.0

    def known(self, sentence: Sentence, reference: Any) -> Any:
        return self._known

    def close(self) -> None:
        self.closed = True


def merged(*known: Any) -> Any:
    return Weighted([(1, Says(each)) for each in known]).known(SENTENCE, GOLD)


def test_the_sum_is_weighted() -> None:
    loss = Weighted({Root(): 2, Attachment(labelled=False): 0.5})
    assert loss(SENTENCE, WRONG, GOLD) == 2 * 1.0 + 0.5 * (3 / 5)
    assert loss.costs(SENTENCE, [GOLD, WRONG], GOLD) == [0.0, 2.3]
    assert Weighted([(2, Root()), (0.5, Attachment(labelled=False))]).costs(SENTENCE, [WRONG], GOLD) == [2.3]
    assert repr(loss) == "Weighted([(2.0, Root()), (0.5, Attachment(labelled=False))])"


@given(references_with_answers())
def test_it_is_the_sum_of_its_parts_whatever_they_are(drawn: tuple[Tree, list[Tree]]) -> None:
    reference, answers = drawn
    sentence = plain(len(reference))
    one, other = PartialTree(), ZeroOne(labelled=False)
    pairs = zip(one.costs(sentence, answers, reference), other.costs(sentence, answers, reference), strict=True)
    assert Weighted([(0.75, one), (0.25, other)]).costs(sentence, answers, reference) == [
        0.75 * a + 0.25 * b for a, b in pairs
    ]


def test_functions_and_sums_may_be_parts() -> None:
    inner = Weighted([(1, lambda sentence, tree, reference: 3)])
    assert Weighted([(2, inner), (1, Root())])(SENTENCE, WRONG, GOLD) == 7.0


def test_every_part_checks_the_reference_and_is_closed() -> None:
    parts = [Says(None), Says(None)]
    loss = Weighted([(1, parts[0]), (1, Root()), (1, parts[1])])
    with pytest.raises(DataError, match=r"^loss root needs a reference with exactly one root"):
        loss.check(SENTENCE, Tree.unknown(5))
    loss.check(SENTENCE, GOLD)
    loss.close()
    assert [part.closed for part in parts] == [True, True]


def test_what_the_parts_know_is_put_together() -> None:
    root = Tree.of([-1, -1, -1, 0, -1])
    subject = Tree.of([-1, -1, 4, -1, -1], ["", "", "nsubj", "", ""])
    both = Tree.of([-1, -1, 4, 0, -1], ["", "", "nsubj", "", ""])
    assert merged(root, subject) == merged(subject, root) == merged(None, root, None, subject, both) == both
    assert merged(root, None) == root
    assert merged(None, None) is None


@pytest.mark.parametrize(
    "other",
    [
        Tree.of([-1, -1, 2, -1, -1]),  # another head
        Tree.of([-1] * 5, ["", "", "obj", "", ""]),  # another label
        Tree.of([0, -1, -1, -1, -1]),  # a second root
        Tree.of([-1, -1, -1, 3, -1]),  # a cycle
    ],
)
def test_parts_that_contradict_each_other_know_nothing(other: Tree) -> None:
    one = Tree.of([-1, -1, 4, -1, 0], ["", "", "nsubj", "", ""])
    assert merged(one, other) is None
    assert merged(one, other, one) is None


def test_what_is_no_tree_must_be_equal() -> None:
    assert merged(["VERB"], ["VERB"]) == ["VERB"]
    assert merged(["VERB"], ["NOUN"]) is None
    assert merged(["VERB"], Tree.unknown(5)) is None


def test_a_cost_that_is_too_large_for_a_number() -> None:
    loss = Weighted([(1e308, lambda sentence, tree, reference: 1e308)])
    with pytest.raises(LossError, match=r"^loss weighted: expected a cost, .*, found inf for the sentence 'What"):
        loss(SENTENCE, WRONG, GOLD)


@pytest.mark.parametrize("weight", [0, -1, True, "1", None, float("nan"), float("inf")])
def test_weights_are_numbers_above_0(weight: Any) -> None:
    with pytest.raises(ConfigError, match=r"^a weight must be a number above 0, found "):
        Weighted([(weight, Root())])


@pytest.mark.parametrize("parts", [[], {}])
def test_there_must_be_a_part(parts: Any) -> None:
    with pytest.raises(ConfigError, match=r"^loss weighted needs at least one part, found none$"):
        Weighted(parts)


def test_a_sum_from_the_tables_of_an_experiment_file_and_back() -> None:
    tables = [
        {"weight": 2, "name": "root"},
        {"weight": 0.5, "name": "attachment", "labelled": False},
        {"weight": 1.0, "name": "weighted", "parts": [{"weight": 1.0, "name": "zero-one"}]},
    ]
    loss = make_loss("weighted", parts=tables)
    assert loss(SENTENCE, WRONG, GOLD) == 2 * 1.0 + 0.5 * 0.6 + 1.0
    settings = loss.settings()
    assert settings == {
        "name": "weighted",
        "parts": [
            {"weight": 2.0, "name": "root"},
            {"weight": 0.5, "name": "attachment", "labelled": False},
            {"weight": 1.0, "name": "weighted", "parts": [{"weight": 1.0, "name": "zero-one", "labelled": True}]},
        ],
    }
    assert make_loss(**json.loads(json.dumps(settings))).settings() == settings


def test_the_table_has_every_loss_under_its_name() -> None:
    assert sorted(LOSSES) == [
        "arc-length", "attachment", "entity-f1", "entity-hamming", "main-verb", "nlf", "partial-tree", "program",
        "python", "reordering", "root", "weighted", "zero-one",
    ]  # fmt: skip
    assert all(kind.name == name for name, kind in LOSSES.items())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "rot",
            {},
            r"unknown loss 'rot'; known: arc-length, attachment, entity-f1, entity-hamming, main-verb, nlf, "
            r"partial-tree, program, python, reordering, root, weighted, "
            r"zero-one \(did you mean 'root'\?\)",
        ),
        (
            "attachment",
            {"labeled": True},
            r"unknown option of loss attachment 'labeled'; known: labelled \(did you mean 'labelled'\?\)",
        ),
        ("program", {"command": "x", "time": 3}, r"unknown option of loss program 'time'; known: command, timeout .*"),
        ("root", {"labelled": True}, r"loss root has no options, found 'labelled'"),
        ("program", {}, r"loss program needs the option 'command'"),
        ("python", {}, r"loss python needs the option 'function'"),
        ("weighted", {}, r"loss weighted needs the option 'parts'"),
        ("zero-one", {"labelled": "no"}, r"labelled must be true or false, found 'no'"),
        (
            "weighted",
            {"parts": "root"},
            r"parts must be a list of tables, each with a weight and the name of a loss, found 'root'",
        ),
        ("weighted", {"parts": {"root": 1}}, r"parts must be a list of tables, .*, found \{'root': 1\}"),
        (
            "weighted",
            {"parts": ["root"]},
            r"expected a part as a table with a weight and the name of a loss, found 'root'",
        ),
        (
            "weighted",
            {"parts": [{"name": "root"}]},
            r"expected a part as a table with a weight and the name of a loss, found \{'name': 'root'\}",
        ),
        ("weighted", {"parts": [{"weight": 1, "name": "rot"}]}, r"unknown loss 'rot'; .*"),
        ("weighted", {"parts": [{"weight": 1, "name": "root", "k": 8}]}, r"loss root has no options, found 'k'"),
        ("python", {"function": 3}, r"function must be 'package\.module:name' or 'path/to/file\.py:name', found 3"),
        (["root"], {}, r"a loss must be a name \(arc-length, attachment, .*, zero-one\), found \['root'\]"),
    ],
)
def test_names_and_options_that_are_wrong(name: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}$"):
        make_loss(name, **options)
