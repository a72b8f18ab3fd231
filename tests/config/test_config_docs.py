"""The page on experiment files: its files train, its snippet runs, and it knows every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from config_data import roots_only

import treetune
from treetune import storage
from treetune.config import Experiment, Task
from treetune.config.keys import LEARNER_HINTS, TrainTable, hints_of
from treetune.corpus.treebank import write_trees
from treetune.learning.objectives import Objective
from treetune.models.registry import PARSERS, make_parser
from treetune.sample import QUESTIONS, treebank

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "experiment-files.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"\n### {title}\n")[2].partition("\n#")[0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    statements = treebank(train=40, dev=10, test=0)
    questions = treebank(train=10, dev=5, test=0, kinds=QUESTIONS)
    write_trees(statements.train, "train.conllu")
    write_trees(statements.dev, "dev.conllu")
    write_trees(map(roots_only, questions.train), "questions.conllu")
    write_trees(map(roots_only, questions.dev), "questions-dev.conllu")
    parser = treetune.TransitionParser(beam=2)
    for _ in treetune.train(parser, statements.train, epochs=1):
        pass
    treetune.save(parser, "en.treetune")
    return tmp_path


def test_the_files_and_the_snippet_run(folder: Path) -> None:
    first, adapting = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    Path("questions.toml").write_text(first)
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(snippet, "experiment-files.md", "exec"), {})
    noted = storage.inspect("questions.treetune").info["experiment"]
    assert (noted["train"]["epochs"], noted["objective"][0]["rate"]) == (3, 0.5)
    Path("adapting.toml").write_text(adapting)
    task = Task.prepare(Experiment.read("adapting.toml"))
    assert [progress.epoch for progress in task.train() if progress.is_epoch_end] == [1, 2]


@pytest.mark.parametrize(
    ("title", "keys"),
    [
        ("[train]", set(hints_of(TrainTable))),
        ("[learner]", set(LEARNER_HINTS)),
        ("[[objective]]", set(hints_of(Objective))),
    ],
)
def test_every_key_is_documented_and_no_others(title: str, keys: set[str]) -> None:
    first_cells = re.findall(r"^\| (`.*?) \|", section(title), flags=re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(first_cells))) == keys


def test_the_options_of_parsers_are_documented() -> None:
    rows = dict(re.findall(r"^\| (`.*?) \| options of (\w+) parsers \|", section("[model]"), flags=re.MULTILINE))
    documented = {kind: set(re.findall(r"`(\w+)`", cell)) for cell, kind in rows.items()}
    open_to_users: dict[str, set[str]] = {}
    for name, (kind, _, fixed, _) in PARSERS.items():
        config = make_parser(name).config  # type: ignore[attr-defined]
        open_to_users.setdefault(kind, set()).update(set(hints_of(type(config))) - set(fixed))
    assert documented == open_to_users
