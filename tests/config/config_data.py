"""A folder with small data of all kinds, for experiments."""

from __future__ import annotations

from pathlib import Path

from treetune.corpus.sentence import UNKNOWN_HEAD, Example, Tree
from treetune.corpus.treebank import write_trees
from treetune.sample import QUESTIONS, treebank


def roots_only(example: Example) -> Example:
    """Return the example with nothing known but its root."""
    heads = [0 if head == 0 else UNKNOWN_HEAD for head in example.gold.heads[1:]]
    return Example(example.sentence, Tree.of(heads))


def write_folder(folder: Path, *, size: int = 60) -> Path:
    """Write train.conllu and dev.conllu, and questions.conllu.gz and qdev.conllu, of which only roots are known."""
    statements = treebank(train=size, dev=20, test=0, seed=1)
    questions = treebank(train=20, dev=10, test=0, seed=1, kinds=QUESTIONS)
    write_trees(statements.train, folder / "train.conllu")
    write_trees(statements.dev, folder / "dev.conllu")
    write_trees(map(roots_only, questions.train), folder / "questions.conllu.gz")
    write_trees(map(roots_only, questions.dev), folder / "qdev.conllu")
    write_trees(questions.train, folder / "trees.conllu")
    return folder
