"""Parsers under comparison behind one interface: read (not timed), parse (timed), return arcs; and their scores.

What the timed part holds: for treetune, from `Sentence` objects with strings to `Tree` objects; for UDPipe,
`Model.parse` on sentence objects it has read before; for spaCy, the parser's `pipe` with its embedding
network on ready-made `Doc` objects whose words are already in the vocabulary (`peer_systems.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import treetune
from benchmarks import conllu_columns
from benchmarks.conllu_columns import Arcs
from treetune import Tree, read_trees
from treetune.evaluation import evaluate_trees

# What the official scorer may be told about enhanced graphs; nothing of it concerns trees.
_ENHANCED_OPTIONS = (
    "no_gapping",
    "no_shared_parents_in_coordination",
    "no_shared_dependents_in_coordination",
    "no_control",
    "no_external_arguments_of_relative_clauses",
    "no_case_info",
    "no_empty_nodes",
)


class System(Protocol):
    """One loaded parser."""

    def prepare(self, path: Path) -> Callable[[], Any]:
        """Read a blinded file; return the call to be timed, which parses all of it once."""
        ...

    def arcs(self, outputs: Any) -> list[Arcs]:
        """Return heads and labels of what the timed call returned."""
        ...


class Treetune:
    """A treetune model, with the search it was trained for."""

    def __init__(self, model: Path) -> None:
        self._parser = treetune.load(model)

    def prepare(self, path: Path) -> Callable[[], Any]:
        """Read sentences; the timed call encodes and parses them on one thread."""
        sentences = [example.sentence for example in treetune.read_trees(path, trees=False)]
        return lambda: self._parser.predict_batch(sentences, threads=1)

    def arcs(self, outputs: Any) -> list[Arcs]:
        """Return heads and labels without the artificial root."""
        return [(list(tree.heads[1:]), list(tree.labels[1:])) for tree in outputs]


def command(model: Path) -> Callable[[Path, Path], list[str]]:
    """Return a function from a file and the one to write to the command line that parses the first."""
    parse = [sys.executable, "-m", "treetune", "parse", str(model)]
    return lambda source, target: [*parse, str(source), "-o", str(target), "--threads=1", "--quiet"]


def own_scores(gold: Path, predicted: Path) -> dict[str, float]:
    """Return UAS and LAS by `treetune.evaluate`, per cent."""
    # Not by treetune's reader, which refuses the several roots that spaCy may give a sentence.
    answers = map(conllu_columns.arcs, conllu_columns.sentences(predicted))
    trees = [Tree.of(heads, labels) for heads, labels in answers]
    scores = evaluate_trees(read_trees(gold), trees)
    without = evaluate_trees(read_trees(gold), trees, subtypes=False)
    return {"UAS": 100 * scores.uas, "LAS": 100 * scores.las, "LAS_without_subtypes": 100 * without.las}


def official_scores(gold: Path, predicted: Path, metrics: Sequence[str] = ("UAS", "LAS")) -> dict[str, float]:
    """Return F1 by the official scorer, to which ``nmod:poss`` and ``nmod`` are the same; tokens may differ."""
    from udtools import udeval

    options = {**dict.fromkeys(_ENHANCED_OPTIONS, 0), "multiple_roots_okay": 1}
    with gold.open(encoding="utf-8") as right, predicted.open(encoding="utf-8") as found:
        read = [udeval.load_conllu(file, file.name, options) for file in (right, found)]
    scores = udeval.evaluate(*read)
    return {name: 100 * scores[name].f1 for name in metrics}


def count_single_root_trees(predicted: Path) -> int:
    """Return how many sentences have a tree with exactly one root."""
    answers = map(conllu_columns.arcs, conllu_columns.sentences(predicted))
    return sum(conllu_columns.is_single_root_tree(heads) for heads, _ in answers)
