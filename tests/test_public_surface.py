"""What a user sees: the public names, and the snippets of the README and the docs, which all run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import treetune
from treetune.corpus import write_conllu
from treetune.sample import generate

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
# These are run, with more to check, beside the code they explain.
RUN_ELSEWHERE = {"experiment-files.md", "file-formats.md", "scores.md", "writing-losses.md"}


def snippets(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_public_names_are_exactly_these() -> None:
    assert treetune.__all__ == [
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


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if snippets(page) and page.name not in RUN_ELSEWHERE],
    ids=lambda page: page.name,
)
def test_the_snippets_of_a_page_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page finds treebanks of generated English and a trained parser, named as the pages name them."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("train", "dev", "test", "questions", "input")):
        write_conllu(generate(60, seed=seed), f"{name}.conllu")
    names: dict[str, Any] = {"parser": _small_parser()}
    for snippet in snippets(page):
        exec(compile(snippet, str(page), "exec"), names)


def _small_parser() -> treetune.TransitionParser:
    parser = treetune.TransitionParser(beam=2)
    for _ in treetune.train(parser, generate(20, seed=7), epochs=1):
        pass
    return parser
