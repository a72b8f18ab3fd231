"""Real Czech with crossing arcs, from end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from treetune.corpus.conllu import read_conllu
from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import Example
from treetune.corpus.wellformed import is_tree
from treetune.evaluation.scores import evaluate_trees
from treetune.learning.trainer import train
from treetune.models.graph.parser import GraphParser


@pytest.fixture(scope="module")
def czech(data_dir: Path) -> list[Example]:
    """A hundred short sentences, as many with crossing arcs as there are."""
    examples = list(read_conllu(data_dir / "ud" / "cs_cltt-train.conllu"))
    short = [example for example in examples if 3 <= len(example.sentence) <= 30]
    crossing = [example for example in short if not is_projective(example.gold.heads)]
    plain = [example for example in short if is_projective(example.gold.heads)]
    assert len(crossing) >= 10
    return (crossing + plain)[:100]


def trained(examples: list[Example], **options: Any) -> GraphParser:
    parser = GraphParser(**options)
    for _ in train(parser, examples, epochs=5):
        pass
    return parser


@pytest.mark.data
@pytest.mark.parametrize("order", [1, 2])
def test_crossing_arcs_are_learned_and_found(czech: list[Example], order: int) -> None:
    parser = trained(czech, order=order, decoder="non-projective")
    trees = parser.predict_batch([example.sentence for example in czech])
    assert all(is_tree(tree.heads) for tree in trees)
    assert evaluate_trees(czech, trees).las > 0.9
    crossing = [i for i, example in enumerate(czech) if not is_projective(example.gold.heads)]
    found = [i for i in crossing if not is_projective(trees[i].heads)]
    assert len(found) > len(crossing) / 2
    assert any(trees[i].heads == czech[i].gold.heads for i in found)
    assert not [label for label in parser.labels if "↑" in label]
    # The same weights without crossing arcs.
    flat = parser.with_options(decoder="projective").predict_batch([example.sentence for example in czech])
    assert all(is_projective(tree.heads) for tree in flat)
    assert evaluate_trees(czech, flat).uas < evaluate_trees(czech, trees).uas


@pytest.mark.data
def test_a_projective_parser_makes_crossing_arcs_by_lifted_labels(czech: list[Example]) -> None:
    parser = trained(czech, min_lifted=2)
    assert [label for label in parser.labels if "↑" in label]
    trees = parser.predict_batch([example.sentence for example in czech])
    assert all(is_tree(tree.heads) for tree in trees)
    assert not [label for tree in trees for label in tree.labels if "↑" in label]
    assert any(not is_projective(tree.heads) for tree in trees)
    without = trained(czech, min_lifted=10**6)
    flat = without.predict_batch([example.sentence for example in czech])
    assert all(is_projective(tree.heads) for tree in flat)
    assert evaluate_trees(czech, flat).las < evaluate_trees(czech, trees).las
