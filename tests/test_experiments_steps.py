"""What an annotator is asked for, main verbs, targeted self-training, and the external program of the experiments."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from experiments.data import keep
from experiments.tagging import main_verb, main_verbs
from experiments.training import HERE, ManyOrders, best_of_lists, build_loss, merged_orders, portable
from treetune import Objective, TransitionParser, train
from treetune.corpus import read_conllu
from treetune.corpus.orders import WordOrder
from treetune.corpus.sentence import Tree
from treetune.losses import Reordering
from treetune.reorder import Reorderer, load_rules
from treetune.sample import generate

EXAMPLES = generate(20, seed=3)
PROGRAM = HERE / "programs" / "span_f1.py"


def known(tree: Tree) -> set[int]:
    words = {word for word, head in enumerate(tree.heads) if word and head != -1}
    assert words == {word for word, label in enumerate(tree.labels) if word and label}
    return words


def test_of_main_verbs_nothing_but_the_root_is_kept() -> None:
    for kept, example in zip(keep(EXAMPLES, "root"), EXAMPLES, strict=True):
        assert kept.sentence == example.sentence
        assert known(kept.gold) == set(example.gold.roots) == set(kept.gold.roots)


@pytest.mark.parametrize("arcs", [1, 2, 5, 99])
def test_of_some_arcs_the_root_is_one_and_the_others_are_always_the_same(arcs: int) -> None:
    first, second = (keep(EXAMPLES, arcs) for _ in range(2))
    assert first == second
    for kept, example in zip(first, EXAMPLES, strict=True):
        words = known(kept.gold)
        assert len(words) == min(arcs, len(example.gold))
        assert words >= set(example.gold.roots)
        assert all(kept.gold.heads[word] == example.gold.heads[word] for word in words)
        assert all(kept.gold.labels[word] == example.gold.labels[word] for word in words)


def test_everything_is_everything() -> None:
    assert keep(EXAMPLES, "everything") == EXAMPLES


def test_the_main_verb_is_the_root_or_its_copula() -> None:
    lines = [
        "1\tWhat\t_\tPRON\t_\t_\t0\troot\t_\t_",
        "2\tis\t_\tAUX\t_\t_\t1\tcop\t_\t_",
        "3\tthat\t_\tPRON\t_\t_\t1\tnsubj\t_\t_",
    ]
    (example,) = read_conllu(lines)
    assert main_verb(example) == 2
    ((sentence, tree),) = main_verbs([example])
    assert tree == Tree.of([-1, 0, -1])
    assert set(sentence.upos[1:]) == {"_"}
    verb = [line.replace("PRON\t_\t_\t0", "VERB\t_\t_\t0") for line in lines]
    assert main_verb(next(iter(read_conllu(verb)))) == 1
    bare = [line.replace("\tcop\t", "\tdet\t") for line in lines]
    assert main_verbs(list(read_conllu(bare))) == []


def test_targeted_self_training_takes_the_cheapest_of_each_list() -> None:
    parser = TransitionParser(beam=8)
    for _ in train(parser, generate(30, seed=1), epochs=1):
        pass
    reorderer = Reorderer(load_rules("sov"))
    examples = generate(12, seed=3)
    items = [(one.sentence, WordOrder(reorderer.order(one.sentence, one.gold))) for one in examples]
    loss = Reordering()
    chosen = best_of_lists(parser, Objective(items, loss, k=8))
    differs = False
    for example, (sentence, order) in zip(chosen, items, strict=True):
        trees = [candidate.output for candidate in parser.k_best(sentence, 8)]
        costs = loss.costs(sentence, trees, order)
        assert loss(sentence, example.gold, order) == min(costs)
        differs = differs or example.gold != trees[0]
    assert differs


def test_orders_of_several_languages_cost_their_mean() -> None:
    one, other = EXAMPLES[:2]
    orders = [WordOrder(tuple(range(len(example.sentence), 0, -1))) for example in (one, other)]
    plain = WordOrder(tuple(range(1, len(one.sentence) + 1)))
    items = merged_orders({"a": [(one, orders[0]), (other, orders[1])], "b": [(one, plain)]})
    assert [list(found) for _, found in items] == [["a", "b"], ["a"]]
    loss = ManyOrders({"a": "sov", "b": "ja"}, weight=3.0)
    alone = [
        Reordering(rules=rules)(one.sentence, one.gold, order) for rules, order in (("sov", orders[0]), ("ja", plain))
    ]
    assert loss(one.sentence, one.gold, items[0][1]) == pytest.approx(3 * sum(alone) / 2)
    assert build_loss(loss.settings()).settings() == loss.settings()


def test_settings_of_commands_are_the_same_on_all_machines() -> None:
    written = {"name": "program", "command": ["{python}", "{here}/programs/span_f1.py"]}
    loss = build_loss({"name": "weighted", "parts": [{"weight": 2.0, **written}]})
    used = loss.settings()
    assert str(HERE) in json.dumps(used)
    assert portable(used)["parts"][0]["command"] == written["command"]
    loss.close()


@pytest.mark.parametrize(
    ("candidate", "cost"),
    [
        ([None, 2, 0, 2, 3], 0.0),
        ([None, 2, 0, 2, 2], 1 / 3),  # 1-4 is there, 3-4 is not: F1 of 1 against 2
        ([None, 0, 1, 2, 3], 1 - 2 * 2 / 5),  # 1-4, 2-4, 3-4 against 1-4, 3-4
    ],
)
def test_the_cost_of_spans(candidate: list[int | None], cost: float) -> None:
    line = json.dumps({"candidate": {"heads": candidate}, "reference": {"heads": [None, 2, 0, 2, 3]}})
    done = subprocess.run([sys.executable, PROGRAM], input=line, capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(cost)


def test_the_program_does_not_import_treetune() -> None:
    imports = [line for line in PROGRAM.read_text().splitlines() if line.startswith(("import ", "from "))]
    assert imports
    assert not any("treetune" in line for line in imports)
