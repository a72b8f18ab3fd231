"""Rules put words where the paper says, and never lose, double or tear apart anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reorder_samples import BAT, BUT, JOHN, LIVING, UD_BUT, UD_LIVING, UD_MAN, UD_TOKYO, WAY, parsed, words

from strategies import LABELS, UPOS, projective_trees, trees
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.reorder import Precedence, Reorderer, Rule, RuleSet, inverse, load_rules, permuted, rule_sets

XU = Reorderer(load_rules("xu2009"))
SOV = Reorderer(load_rules("sov"))


def test_the_rule_of_section_3() -> None:
    rule = Rule("verb", ("VB",), (Precedence("nsubj", 2), Precedence("dobj", 1), Precedence("self", 0)))
    order = Reorderer(RuleSet("simple", (rule,), tags="xpos")).order(*JOHN)
    assert words(JOHN[0], order) == "John the ball can hit ."


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (JOHN, "John the ball hit can ."),
        (BAT, "John a bat with the ball hit can ."),
        (LIVING, "because we the future what has know n't do Living exciting is ."),
        (BUT, "John the ball hit but Sam the ball threw"),
        (WAY, "happiness to the way"),
    ],
    ids=["Figure 2", "Figure 3", "Figure 4", "coordination", "noun"],
)
def test_the_worked_examples_of_the_paper_by_its_table_1(example: tuple[Sentence, Tree], expected: str) -> None:
    assert words(example[0], XU.order(*example)) == expected


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (UD_BUT, "John the ball hit but Sam the ball threw ."),
        (UD_LIVING, "we the future what has know n't do because Living exciting is ."),
        (UD_TOKYO, "She Tokyo and Osaka in lives ."),
        (UD_MAN, "who he came not that said the man"),
    ],
)
@pytest.mark.parametrize("name", ["sov", "ja", "ko", "tr"])
def test_universal_dependencies_come_out_as_they_should(
    example: tuple[Sentence, Tree], expected: str, name: str
) -> None:
    assert words(example[0], Reorderer(load_rules(name)).order(*example)) == expected


@pytest.mark.parametrize("name", ["hi", "ur"])
def test_hindi_and_urdu_keep_clauses_behind_and_subordinators_in_front(name: str) -> None:
    reorderer = Reorderer(load_rules(name))
    assert words(UD_MAN[0], reorderer.order(*UD_MAN)) == "the man who said that he not came"
    assert words(UD_LIVING[0], reorderer.order(*UD_LIVING)) == (
        "because we n't know do the future what has Living exciting is ."
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fr", "a house big of stone"),
        ("ru", "a big house of stone"),
        ("ar", "a house big of stone"),
        ("zh", "of stone a big house"),
    ],
)
def test_other_languages_put_modifiers_elsewhere(name: str, expected: str) -> None:
    sentence, tree = parsed("""
a     DET  3 det
big   ADJ  3 amod
house NOUN 0 root
of    ADP  5 case
stone NOUN 3 nmod
""")
    assert words(sentence, Reorderer(load_rules(name)).order(sentence, tree)) == expected


def test_walls_are_what_keeps_the_period_at_the_end() -> None:
    open_rules = [Rule(rule.name, rule.heads, rule.precedence) for rule in load_rules("xu2009").rules]
    order = Reorderer(RuleSet("open", tuple(open_rules), tags="xpos")).order(*BUT)
    assert words(BUT[0], order) == "John but Sam the ball threw the ball hit"


def test_weights_go_from_high_to_low_and_groups_can_be_turned() -> None:
    sentence, tree = Sentence.of(list("abhcd"), upos=["X"] * 5), Tree.of([3, 3, 0, 3, 3], list("xyrxy"))

    def order(*tuples: Precedence) -> str:
        return words(sentence, Reorderer(RuleSet("s", (Rule("r", ("X",), tuples),))).order(sentence, tree))

    assert order() == "a b h c d"
    assert order(Precedence("y", 1)) == "b d a h c"
    assert order(Precedence("y", 1, "REVERSE")) == "d b a h c"
    assert order(Precedence("y", -0.5), Precedence("self", -1)) == "a c b d h"
    assert order(*(Precedence(label, 1, "REVERSE") for label in ("x", "y", "self"))) == "d c h b a"


def test_of_two_rules_the_first_holds_and_other_heads_stay() -> None:
    sentence, tree = JOHN
    turn, stay = Rule("turn", ("V*",), (Precedence("self", -5),)), Rule("stay", ("*",), ())
    assert Reorderer(RuleSet("a", (turn, stay), "xpos")).order(sentence, tree) == (1, 2, 4, 5, 6, 3)
    assert Reorderer(RuleSet("a", (stay, turn), "xpos")).order(sentence, tree) == (1, 2, 3, 4, 5, 6)
    adjectives = Rule("adjectives", ("J*",), (Precedence("self", -5),))
    assert Reorderer(RuleSet("a", (adjectives,), "xpos")).order(sentence, tree) == (1, 2, 3, 4, 5, 6)


def test_the_more_special_name_holds() -> None:
    sentence, tree = (
        Sentence.of(list("abch"), upos=["P", "Q", "P", "X"]),
        Tree.of([4, 4, 4, 0], ["l:s", "l:s", "l", "r"]),
    )

    def order(**weights: float) -> str:
        tuples = tuple(Precedence(name.replace("_", ":").replace("8", "/"), weight) for name, weight in weights.items())
        return words(sentence, Reorderer(RuleSet("s", (Rule("r", ("X",), tuples),))).order(sentence, tree))

    assert order(l=-1) == "h a b c"
    assert order(l=-1, l_s=1) == "a b h c"
    assert order(l=-1, l_s=1, l_s8Q=-2) == "a h c b"
    assert order(l8P=-1) == "b h a c"


def sorted_by_hand(rules: RuleSet, sentence: Sentence, tree: Tree, word: int) -> list[int]:
    """Say the definition again, slowly: the words below one, in their new order."""
    tags = sentence.upos if rules.tags == "upos" else sentence.xpos
    members = sorted([word, *(child for child in range(1, len(tree) + 1) if tree.heads[child] == word)])
    rule = rules.rule_for(tags[word])
    parts: list[list[int]] = [[]]
    for member in members:
        if rule is not None and member != word and tree.labels[member].split(":")[0] in rule.walls:
            parts += [[member], []]
        else:
            parts[-1].append(member)
    result = []
    for part in parts:
        by_weight: dict[float, list[int]] = {}
        turned = set()
        for member in part:
            label = "self" if member == word else tree.labels[member]
            found = {one.label: one for one in rule.precedence} if rule is not None else {}
            names = (f"{label}/{tags[member]}", label, f"{label.split(':')[0]}/{tags[member]}", label.split(":")[0])
            one = next((found[name] for name in names if name in found), Precedence(label, 0))
            by_weight.setdefault(one.weight, []).append(member)
            if one.order == "REVERSE":
                turned.add(one.weight)
        for weight in sorted(by_weight, reverse=True):
            group = by_weight[weight]
            result += group[::-1] if weight in turned else group
    return [
        inner
        for member in result
        for inner in ([word] if member == word else sorted_by_hand(rules, sentence, tree, member))
    ]


@st.composite
def rule_sets_with_trees(draw: st.DrawFn) -> tuple[RuleSet, Sentence, Tree]:
    tree = draw(projective_trees(max_size=9))
    size = len(tree)
    sentence = Sentence.of(["w"] * size, upos=draw(st.lists(st.sampled_from(UPOS), min_size=size, max_size=size)))
    names = ("self", *LABELS, "nmod", "obj/NOUN")
    rules = []
    for number, tag in enumerate(draw(st.lists(st.sampled_from((*UPOS, "*", "V*")), max_size=3))):
        weights = draw(st.dictionaries(st.sampled_from(names), st.sampled_from((-2, -1, 0, 1.5)), max_size=6))
        turned = draw(st.sets(st.sampled_from((-2, -1, 1.5))))
        walls = draw(st.sets(st.sampled_from(("punct", "conj"))))
        tuples = tuple(
            Precedence(name, weight, "REVERSE" if weight in turned else "NORMAL")
            for name, weight in weights.items()
            if name not in walls
        )
        rules.append(Rule(str(number), (tag,), tuples, tuple(sorted(walls))))
    return RuleSet("drawn", tuple(rules)), sentence, tree


@given(rule_sets_with_trees())
def test_the_fast_way_is_the_definition(drawn: tuple[RuleSet, Sentence, Tree]) -> None:
    rules, sentence, tree = drawn
    reorderer = Reorderer(rules)
    expected = tuple(sorted_by_hand(rules, sentence, tree, tree.roots[0]))
    assert reorderer.order(sentence, tree) == expected
    # Now from memory.
    assert reorderer.order(sentence, tree) == expected


@given(trees())
def test_without_rules_nothing_moves_whatever_arcs_cross(tree: Tree) -> None:
    sentence = Sentence.of(["w"] * len(tree), upos=["VERB"] * len(tree))
    assert Reorderer(RuleSet("none", ())).order(sentence, tree) == tuple(range(1, len(tree) + 1))


@given(trees(), st.sampled_from(rule_sets()))
def test_every_set_gives_a_permutation_of_any_tree(tree: Tree, name: str) -> None:
    sentence = Sentence.of(["w"] * len(tree), upos=["VERB"] * len(tree), xpos=["VB"] * len(tree))
    assert sorted(Reorderer(load_rules(name)).order(sentence, tree)) == list(range(1, len(tree) + 1))


@given(trees(max_size=7).flatmap(lambda tree: st.tuples(st.just(tree), st.permutations(range(1, len(tree) + 1)))))
def test_a_permuted_sentence_comes_back(drawn: tuple[Tree, list[int]]) -> None:
    tree, order = drawn
    sentence = Sentence.of([f"w{i}" for i in range(1, len(tree) + 1)])
    moved, moved_tree = permuted(sentence, tree, order)
    assert moved.forms[1:] == tuple(sentence.forms[word] for word in order)
    for place, word in enumerate(order, start=1):
        head = tree.heads[word]
        assert moved.forms[moved_tree.heads[place]] == sentence.forms[head]
    assert permuted(moved, moved_tree, inverse(order)) == (sentence, tree)


def test_a_long_chain_is_no_problem() -> None:
    size = 3000
    sentence = Sentence.of(["w"] * size, upos=["NOUN"] * size)
    chain = Tree.of(range(size), ["nmod"] * size)
    assert SOV.order(sentence, chain) == tuple(range(size, 0, -1))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (Tree.of([0]), "expected a tree of 2 words, found one of 1"),
        (Tree.of([0, -1]), "expected a complete tree to reorder by, found no head of word 2"),
        (Tree.of([2, 1]), "column HEAD: expected a tree to reorder by, found words in a cycle"),
        (Tree.of([0, 3]), "column HEAD: expected heads up to 2, found 3"),
    ],
)
def test_what_is_no_tree_is_refused(tree: Tree, message: str) -> None:
    with pytest.raises(DataError) as caught:
        SOV.order(Sentence.of(["a", "b"]), tree)
    assert str(caught.value) == message


def test_orders_that_are_none_are_refused() -> None:
    with pytest.raises(DataError, match=r"^expected every word from 1 to 6 once in the order, found \[1, 1\]$"):
        permuted(*JOHN, [1, 1])


def test_many_sentences_at_once() -> None:
    found = SOV.orders([UD_BUT[0], UD_TOKYO[0]], [UD_BUT[1], UD_TOKYO[1]])
    assert found == [SOV.order(*UD_BUT), SOV.order(*UD_TOKYO)]
