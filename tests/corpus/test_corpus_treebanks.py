"""Real treebanks, end to end."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from treetune.corpus import (
    deprojectivize,
    is_projective,
    is_tree,
    projectivize,
    read_conllu,
    read_trees,
    write_conllu,
    write_trees,
)


@pytest.mark.data
def test_every_treebank_round_trips_byte_for_byte(data_dir: Path) -> None:
    paths = sorted((data_dir / "ud").glob("*.conllu"))
    assert any(path.stem == "en_ewt-dev" for path in paths)
    changed = []
    for path in paths:
        stream = io.StringIO()
        write_conllu(read_conllu(path), stream)
        if stream.getvalue().encode() != path.read_bytes():
            changed.append(path.name)
    assert changed == []


@pytest.mark.data
@pytest.mark.parametrize("name", ["en_ewt-dev", "cs_cltt-dev", "fr_partut-dev"])
def test_json_lines_hold_all_that_a_treebank_holds(data_dir: Path, tmp_path: Path, name: str) -> None:
    path, copy = data_dir / "ud" / f"{name}.conllu", tmp_path / "copy.jsonl"
    examples = list(read_conllu(path))
    write_trees(examples, copy)
    assert (list(read_trees(copy)) == examples) is True


@pytest.mark.data
def test_round_trip_of_unlabelled_conllx(data_dir: Path, tmp_path: Path) -> None:
    path = data_dir / "ptb_sample" / "dependency-train.conll"
    copy = tmp_path / "copy.conll"
    assert write_trees(read_trees(path), copy) == 3253
    assert (copy.read_bytes() == path.read_bytes()) is True


@pytest.mark.data
def test_round_trip_of_root_only_annotation(data_dir: Path) -> None:
    path = data_dir / "questions" / "target-train-root.conllu"
    examples = list(read_conllu(path, partial=True))
    assert len(examples) == 477
    assert all(len(example.gold.roots) == 1 for example in examples)
    stream = io.StringIO()
    write_conllu(examples, stream)
    assert (stream.getvalue().encode() == path.read_bytes()) is True


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "crossing", "head", "path"),
    # Trees that are not projective, and how many of them come back whole from each scheme.
    [
        ("cs_cltt-dev", 49, 47, 48),
        ("cs_cltt-test", 44, 44, 44),
        ("cs_cltt-train", 45, 44, 45),
        ("cs_fictree-dev", 144, 142, 144),
        ("cs_fictree-test", 159, 155, 157),
        ("cs_pud-test", 102, 99, 101),
        ("en_ewt-train", 288, 271, 281),
    ],
)
def test_crossing_arcs_survive_the_transform(data_dir: Path, name: str, crossing: int, head: int, path: int) -> None:
    gold = [example.gold for example in read_conllu(data_dir / "ud" / f"{name}.conllu")]
    trees = [tree for tree in gold if not is_projective(tree.heads)]
    assert len(trees) == crossing
    for scheme, floor in (("head", head), ("head+path", path)):
        lifted = [projectivize(tree, scheme=scheme) for tree in trees]
        assert all(is_tree(tree.heads) and is_projective(tree.heads) for tree in lifted)
        assert sum(deprojectivize(up) == tree for up, tree in zip(lifted, trees, strict=True)) >= floor
