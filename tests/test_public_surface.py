"""What a user sees: the public names."""

from __future__ import annotations

import re

import pytest

import treetune


def test_the_public_names_are_exactly_these() -> None:
    assert treetune.__all__ == [
        "ArcFilter",
        "Candidate",
        "Document",
        "Entity",
        "Example",
        "GraphParser",
        "Objective",
        "ParsedSentence",
        "Pipeline",
        "Reranker",
        "Scores",
        "Sentence",
        "StackedParser",
        "Tagged",
        "Tagger",
        "Tags",
        "Token",
        "Tokenizer",
        "TransitionParser",
        "Tree",
        "TreetuneError",
        "Word",
        "evaluate",
        "load",
        "losses",
        "read_trees",
        "save",
        "tagged",
        "train",
        "write_trees",
    ]


@pytest.mark.parametrize("name", treetune.__all__)
def test_every_public_name_is_there_with_a_docstring(name: str) -> None:
    assert getattr(treetune, name).__doc__
    assert name in dir(treetune)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match=r"^module 'treetune' has no attribute 'parse'$"):
        treetune.parse  # noqa: B018


def test_the_version_is_a_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", treetune.__version__)
