"""What of a gold tree is told to a parser that is to be adapted, and the external program of the experiments."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from config_samples import EXPERIMENTS, lab
from treetune.corpus.sentence import Tree
from treetune.sample import generate

EXAMPLES = generate(20, seed=3)


def known(tree: Tree) -> set[int]:
    words = {word for word, head in enumerate(tree.heads) if word and head != -1}
    assert words == {word for word, label in enumerate(tree.labels) if word and label}
    return words


def test_of_main_verbs_nothing_but_the_root_is_kept() -> None:
    for kept, example in zip(lab.supervision.keep(EXAMPLES, "root"), EXAMPLES, strict=True):
        assert kept.sentence == example.sentence
        assert known(kept.gold) == set(example.gold.roots) == set(kept.gold.roots)


@pytest.mark.parametrize("arcs", [1, 2, 5, 99])
def test_of_some_arcs_the_root_is_one_and_the_others_are_always_the_same(arcs: int) -> None:
    first, second = (lab.supervision.keep(EXAMPLES, arcs) for _ in range(2))
    assert first == second
    for kept, example in zip(first, EXAMPLES, strict=True):
        words = known(kept.gold)
        assert len(words) == min(arcs, len(example.gold))
        assert words >= set(example.gold.roots)
        assert all(kept.gold.heads[word] == example.gold.heads[word] for word in words)
        assert all(kept.gold.labels[word] == example.gold.labels[word] for word in words)


def test_everything_is_everything() -> None:
    assert lab.supervision.keep(EXAMPLES, "everything") == EXAMPLES


@pytest.mark.parametrize(
    ("candidate", "cost"),
    [
        ([None, 2, 0, 2, 3], 0.0),
        ([None, 2, 0, 2, 2], 1 / 3),  # 1-4 is there, 3-4 is not: F1 of 1 against 2
        ([None, 0, 1, 2, 3], 1 - 2 * 2 / 5),  # 1-4, 2-4, 3-4 against 1-4, 3-4
    ],
)
def test_the_cost_of_stretches(candidate: list[int | None], cost: float) -> None:
    program = EXPERIMENTS / "programs" / "span_f1.py"
    line = json.dumps({"candidate": {"heads": candidate}, "reference": {"heads": [None, 2, 0, 2, 3]}})
    done = subprocess.run([sys.executable, program], input=line, capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(cost)


def test_the_program_needs_no_treetune() -> None:
    assert "treetune" not in "".join(
        line for line in Path(EXPERIMENTS / "programs" / "span_f1.py").read_text().splitlines() if "import" in line
    )
