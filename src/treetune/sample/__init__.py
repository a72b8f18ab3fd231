"""Generated English with gold trees: declaratives, questions and commands, for the demo and for tests."""

from treetune.sample.sentences import KINDS, QUESTIONS, Treebank, generate, treebank

__all__ = ["KINDS", "QUESTIONS", "Treebank", "generate", "treebank"]
