"""Gold and predicted CoNLL-U files to accuracies, by treetune and by the official UD scorer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import conllu_columns
from treetune import Tree, read_trees
from treetune.evaluation import evaluate

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


def own_scores(gold: Path, predicted: Path) -> dict[str, float]:
    """Return UAS and LAS by `treetune.evaluate`, per cent."""
    # Not by treetune's reader, which refuses the several roots that spaCy may give a sentence.
    answers = map(conllu_columns.arcs, conllu_columns.sentences(predicted))
    trees = [Tree.of(heads, labels) for heads, labels in answers]
    scores = evaluate(read_trees(gold), trees)
    without = evaluate(read_trees(gold), trees, subtypes=False)
    return {"UAS": 100 * scores.uas, "LAS": 100 * scores.las, "LAS_without_subtypes": 100 * without.las}


def official_scores(gold: Path, predicted: Path) -> dict[str, float]:
    """Return UAS and LAS by the official scorer, to which ``nmod:poss`` and ``nmod`` are the same."""
    from udtools import udeval

    options = {**dict.fromkeys(_ENHANCED_OPTIONS, 0), "multiple_roots_okay": 1}
    scores = udeval.evaluate(*(udeval.load_conllu_file(str(path), options) for path in (gold, predicted)))
    return {name: 100 * scores[name].f1 for name in ("UAS", "LAS")}


def official_text_scores(gold: Path, predicted: Path, metrics: Sequence[str]) -> dict[str, float]:
    """Return F1 by the official scorer of a file whose tokens may be others than those of gold."""
    from udtools import udeval

    options = {**dict.fromkeys(_ENHANCED_OPTIONS, 0), "multiple_roots_okay": 1}
    scores = udeval.evaluate(*(udeval.load_conllu_file(str(path), options) for path in (gold, predicted)))
    return {name: 100 * scores[name].f1 for name in metrics}


def count_single_root_trees(predicted: Path) -> int:
    """Return how many sentences have a tree with exactly one root."""
    answers = map(conllu_columns.arcs, conllu_columns.sentences(predicted))
    return sum(conllu_columns.is_single_root_tree(heads) for heads, _ in answers)
