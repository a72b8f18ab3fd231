"""Experiments with data: what is read, what is trained, and what the model says of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from config_data import write_folder

from stub_parser import StubParser, stub_model_fixture
from treetune import storage
from treetune.config import Experiment, Task
from treetune.config.source import FLAGS, Source
from treetune.config.stored import experiment_text
from treetune.corpus.treebank import read_trees
from treetune.errors import ConfigError, DataError, LossError
from treetune.learning.progress import Progress

__all__ = ["stub_model_fixture"]

LOSS = """
def cost(sentence, tree, reference):
    return float(tree.roots != reference.roots)
"""
# Answers 0 to everything.
PROGRAM = "import sys\nfor line in sys.stdin: print(0, flush=True)\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_folder(tmp_path_factory.mktemp("experiments"))
    (folder / "my_loss.py").write_text(LOSS)
    (folder / "metric.py").write_text(PROGRAM)
    return folder


def tables(**objective: Any) -> dict[str, Any]:
    return {
        "model": {"beam": 2},
        "train": {"treebank": "train.conllu", "dev": "dev.conllu", "epochs": 3},
        "objective": [{"name": "q", "data": "questions.conllu.gz", "loss": "root", **objective}],
    }


def run(task: Task) -> list[Progress]:
    return [progress for progress in task.train() if progress.is_epoch_end]


def best_of(ends: list[Progress]) -> Progress:
    return [end for end in ends if end.best][-1]


def prepared(data: Path, content: dict[str, Any]) -> Task:
    return Task.prepare(Experiment.of(content, source=Source("e.toml", data)))


def test_an_experiment_from_python(data: Path) -> None:
    task = prepared(data, tables(dev="qdev.conllu", rate=0.5, start=2))
    ends = run(task)
    info = task.info(best_of(ends))
    assert [len(items) for items in (task.treebank, task.dev, task.objectives[0].data)] == [60, 20, 20]
    assert [end.objectives[1].seen for end in ends] == [0, 30, 30]
    assert info["experiment"] == {
        "model": {
            **{"parser": "transition", "beam": 2, "features": "default", "inputs": ["upos", "xpos", "feats"]},
            **{"min_count": 2, "min_lifted": 20, "labels_by_tag": True, "backward": False},
        },
        "learner": {"learner": "mira", "clip": 0.01, "k": 5, "update": "max-violation"},
        "train": {
            **{"treebank": "train.conllu", "dev": "dev.conllu", "epochs": 3, "seed": 1, "choose_by": "LAS"},
            **{"projectivize": True, "lenient": False},
        },
        "objective": [
            {
                **{"name": "q", "data": "questions.conllu.gz", "dev": "qdev.conllu", "loss": {"name": "root"}},
                **{"rate": 0.5, "search": "growing", "k": 8, "max_k": 64, "step": "mira", "start": 2},
            }
        ],
    }
    noted = info["training"]["objectives"][0]
    assert (noted["data"]["name"], noted["data"]["sentences"]) == ("questions.conllu.gz", 20)
    assert (noted["dev"]["name"], noted["dev"]["sentences"]) == ("qdev.conllu", 10)
    assert info["scores"]["costs"] == {"q": best_of(ends).objectives[1].dev_cost}


def test_what_a_model_notes_trains_it_again(data: Path, tmp_path: Path) -> None:
    first = prepared(data, {**tables(search="forced"), "learner": {"learner": "mira", "clip": float("inf")}})
    info = first.info(best_of(run(first)))
    text = experiment_text(info)
    assert text is not None
    assert "clip = inf" in text
    (data / "again.toml").write_text(text)
    again = Task.prepare(Experiment.read(data / "again.toml"))
    best = best_of(run(again))
    storage.save(first.model, tmp_path / "first", info)
    storage.save(again.model, tmp_path / "again", again.info(best))
    assert (tmp_path / "first").read_bytes() == (tmp_path / "again").read_bytes()


def test_partial_trees_are_for_losses_alone(data: Path) -> None:
    content = tables()
    del content["objective"][0]["loss"]
    with pytest.raises(DataError, match=r"questions\.conllu\.gz:.*column HEAD"):
        prepared(data, content)
    content["objective"][0]["data"] = "trees.conllu"
    task = prepared(data, content)
    assert [tally.cost for tally in run(task)[-1].objectives] == [None, None]


def test_files_are_looked_for_before_any_is_read(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*args: object, **options: object) -> None:
        raise AssertionError("data was read")

    monkeypatch.setattr("treetune.config.reading.read_data", read)
    with pytest.raises(DataError) as caught:
        prepared(data, tables(dev="none.conllu"))
    assert str(caught.value) == f"{data / 'none.conllu'}: expected a file, found nothing under this name"


@pytest.mark.parametrize(
    "loss",
    [
        {"name": "python", "function": "my_loss.py:cost"},
        {"name": "program", "command": [sys.executable, "metric.py"]},
        {"name": "program", "command": f"'{sys.executable}' metric.py", "timeout": 5},
        {"name": "weighted", "parts": [{"weight": 2, "name": "python", "function": "my_loss.py:cost"}]},
    ],
)
def test_files_of_losses_are_beside_the_experiment(data: Path, loss: dict[str, Any]) -> None:
    task = prepared(data, tables(loss=loss))
    info = task.info(best_of(run(task)))
    noted = info["experiment"]["objective"][0]["loss"]
    # They are noted as they were written, so that the model does not depend on the place of the folder.
    assert {key: noted[key] for key in loss if key != "parts"} == {k: v for k, v in loss.items() if k != "parts"}
    assert str(data) not in str(info)
    assert info["training"]["objectives"][0]["loss"] == noted
    Experiment.of({**tables(), "objective": info["experiment"]["objective"]}, source=Source("e.toml", data))


def test_a_loss_that_fails(data: Path) -> None:
    (data / "bad_loss.py").write_text("def cost(sentence, tree, reference):\n    return -1\n")
    task = prepared(data, tables(loss={"name": "python", "function": "bad_loss.py:cost"}, start=1))
    with pytest.raises(LossError, match="expected a cost, a finite number of at least 0, found -1"):
        run(task)


def test_features_of_a_file_beside_the_experiment(data: Path) -> None:
    (data / "my.txt").write_text("[words]\nS0.w\nN0.w\nS0.w N0.w\n")
    task = prepared(data, {**tables(), "model": {"features": "my.txt"}})
    info = task.info(best_of(run(task)))
    assert info["experiment"]["model"]["features"] == "my.txt"


def test_going_on_from_a_model(data: Path, tmp_path: Path) -> None:
    base = prepared(data, {**tables(), "objective": []})
    info = base.info(best_of(run(base)))
    assert "objectives" not in info["training"]
    assert "objective" not in info["experiment"]
    storage.save(base.model, data / "old.treetune", info)
    content = {**tables(), "model": {"start_from": "old.treetune", "beam": 4}, "train": {"epochs": 2}}
    task = prepared(data, content)
    ends = run(task)
    info = task.info(ends[-1])
    # Without a treebank an epoch is a pass over the first objective, which starts at once.
    assert [(end.total, end.objectives[0].seen) for end in ends] == [(20, 20), (20, 20)]
    assert info["experiment"]["model"] == {"start_from": "old.treetune", "beam": 4}
    assert info["experiment"]["objective"][0]["start"] == 1
    assert set(info["training"]["start_from"]) == {"name", "sha256"}
    assert "train" not in info["training"]
    with pytest.raises(ConfigError) as caught:
        prepared(data, {**content, "learner": {"learner": "perceptron"}})
    assert str(caught.value).startswith("e.toml: [learner]: the model was trained by the learner mira, whose")


def test_without_projectivize_crossing_arcs_are_left_out(tmp_path: Path, stub_model: StubParser, data: Path) -> None:
    crossing = "".join(f"{word}\tw\t_\t_\t_\t_\t{head}\tdep\t_\t_\n" for word, head in ((1, 3), (2, 4), (3, 0), (4, 3)))
    (tmp_path / "t.conllu").write_text("1\tw\t_\t_\t_\t_\t0\troot\t_\t_\n\n" + crossing + "\n")
    said: list[str] = []
    content = {
        "model": {"parser": "stub"},
        "train": {"treebank": "t.conllu", "projectivize": False},
        "objective": [
            {"name": "gold", "data": "t.conllu"},
            {"name": "attachment", "data": "t.conllu", "loss": "attachment"},
        ],
    }
    task = Task.prepare(Experiment.of(content, source=Source("e.toml", tmp_path)), say=said.append)
    assert len(task.treebank) == 1
    assert [len(objective.data) for objective in task.objectives] == [1, 2]
    assert said == [f"{tmp_path / 't.conllu'}: left out 1 of 2 sentences for crossing arcs"] * 2
    (tmp_path / "t.conllu").write_text(crossing)
    with pytest.raises(DataError, match=r"every sentence has crossing arcs; train without projectivize = false$"):
        Task.prepare(Experiment.of(content, source=Source("e.toml", tmp_path)))


def test_lenient_is_for_all_files(tmp_path: Path, stub_model: StubParser) -> None:
    good, bad = "1\tw\t_\t_\t_\t_\t0\troot\t_\t_\n\n", "1\tbad\n\n"
    for name in ("t", "d", "q", "e"):
        (tmp_path / f"{name}.conllu").write_text(good + bad)
    content: dict[str, Any] = {
        "model": {"parser": "stub"},
        "train": {"treebank": "t.conllu", "dev": "d.conllu", "lenient": True},
        "objective": [{"data": "q.conllu", "dev": "e.conllu", "loss": "root"}],
    }
    said: list[str] = []
    task = Task.prepare(Experiment.of(content, source=Source("x", tmp_path)), say=said.append)
    assert [line.split(": ")[1].split("\n")[0] for line in said] == ["skipped 1 of 2 sentences"] * 4
    assert len(task.objectives[0].dev) == 1
    content["train"]["lenient"] = False
    with pytest.raises(DataError, match=r"t\.conllu:3: expected 10 columns"):
        Task.prepare(Experiment.of(content, source=Source("x", tmp_path)))


def test_an_experiment_with_a_base_tree_to_train(data: Path) -> None:
    content = {**tables(), "objective": []}
    content["train"] = {**content["train"], "base_tree": "transition", "folds": 2, "epochs": 1}
    task = prepared(data, content)
    with pytest.raises(ConfigError, match=r"^this experiment trains a base parser first; use train_stacked$"):
        task.train()
    reports = list(task.train_stacked())
    assert task.model is reports[-1].model
    best = [report.training for report in reports if report.training is not None][-1]
    noted = task.info(best)["experiment"]
    assert (noted["train"]["base_tree"], noted["train"]["folds"]) == ("transition", 2)
    assert noted["model"]["beam"] == 2


@pytest.mark.parametrize(
    ("paths", "stored"),
    [
        (("/a/b/t.conllu",), ("t.conllu",)),
        (("/a/b/t.conllu", "/a/b/d.conllu"), ("t.conllu", "d.conllu")),
        (("/a/b/t.conllu", "/a/c/t.conllu"), ("b/t.conllu", "c/t.conllu")),
        (("/a/t.conllu", "/a/c/../c/t.conllu"), ("t.conllu", "c/t.conllu")),
        (("t.conllu", "../t.conllu"), (f"{Path.cwd().name}/t.conllu", "t.conllu")),
        ((), ()),
    ],
)
def test_paths_of_a_command_line_are_noted_without_their_folder(
    paths: tuple[str, ...], stored: tuple[str, ...]
) -> None:
    assert FLAGS.stored(paths) == dict(zip(paths, stored, strict=True))
    assert Source("e.toml").stored(paths) == dict(zip(paths, paths, strict=True))


def test_objective_data_is_what_the_files_have(data: Path) -> None:
    task = prepared(data, tables())
    assert list(task.objectives[0].data) == list(read_trees(data / "questions.conllu.gz", partial=True))
