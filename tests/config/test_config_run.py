"""Configurations with data: what is read, what is trained, and what the model stores about it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from config_data import write_folder

from stub_parser import StubParser, stub_model_fixture
from treetune import storage
from treetune.config import Config, TrainingRun
from treetune.config.tables import FLAGS, Source, stored_toml
from treetune.corpus.treebank import read_trees, write_trees
from treetune.errors import ConfigError, DataError, LossError, ModelError
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
    folder = write_folder(tmp_path_factory.mktemp("config"))
    (folder / "my_loss.py").write_text(LOSS)
    (folder / "metric.py").write_text(PROGRAM)
    return folder


def tables(**objective: Any) -> dict[str, Any]:
    return {
        "model": {"beam": 2},
        "train": {"treebank": "train.conllu", "dev": "dev.conllu", "epochs": 3},
        "objective": [{"name": "q", "data": "questions.conllu.gz", "loss": "root", **objective}],
    }


def train(run: TrainingRun) -> list[Progress]:
    return [report.training for report in run.train() if report.training is not None and report.is_epoch_end]


def prepared(data: Path, content: dict[str, Any]) -> TrainingRun:
    return TrainingRun.prepare(Config.of(content, source=Source("e.toml", data)))


def test_a_configuration_from_python(data: Path) -> None:
    run = prepared(data, tables(dev="qdev.conllu", rate=0.5, start=2))
    ends = train(run)
    info = run.info()
    assert [len(items) for items in (run.treebank, run.dev, run.objectives[0].data)] == [60, 20, 20]
    assert [end.objectives[1].seen for end in ends] == [0, 30, 30]
    assert info["config"] == {
        "model": {
            **{
                "parser": "transition",
                "beam": 2,
                "margin": 0.0,
                "features": "default",
                "inputs": ["upos", "xpos", "feats"],
            },
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
    assert info["scores"]["costs"] == {"q": [end for end in ends if end.best][-1].objectives[1].dev_cost}


def test_what_a_model_notes_trains_it_again(data: Path, tmp_path: Path) -> None:
    first = prepared(data, {**tables(search="forced"), "learner": {"learner": "mira", "clip": float("inf")}})
    train(first)
    info = first.info()
    text = stored_toml(info)
    assert text is not None
    assert "clip = inf" in text
    (data / "again.toml").write_text(text)
    again = TrainingRun.prepare(Config.read(data / "again.toml"))
    train(again)
    storage.save(first.model, tmp_path / "first", info)
    storage.save(again.model, tmp_path / "again", again.info())
    assert (tmp_path / "first").read_bytes() == (tmp_path / "again").read_bytes()


def test_partial_trees_are_for_losses_alone(data: Path) -> None:
    content = tables()
    del content["objective"][0]["loss"]
    with pytest.raises(DataError, match=r"questions\.conllu\.gz:.*column HEAD"):
        prepared(data, content)
    content["objective"][0]["data"] = "trees.conllu"
    run = prepared(data, content)
    assert [tally.cost for tally in train(run)[-1].objectives] == [None, None]


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
def test_files_of_losses_are_beside_the_configuration(data: Path, loss: dict[str, Any]) -> None:
    run = prepared(data, tables(loss=loss))
    train(run)
    info = run.info()
    noted = info["config"]["objective"][0]["loss"]
    # They are noted as they were written, so that the model does not depend on the place of the folder.
    assert {key: noted[key] for key in loss if key != "parts"} == {k: v for k, v in loss.items() if k != "parts"}
    assert str(data) not in str(info)
    assert info["training"]["objectives"][0]["loss"] == noted
    Config.of({**tables(), "objective": info["config"]["objective"]}, source=Source("e.toml", data))


def test_a_loss_that_fails(data: Path) -> None:
    (data / "bad_loss.py").write_text("def cost(sentence, tree, reference):\n    return -1\n")
    run = prepared(data, tables(loss={"name": "python", "function": "bad_loss.py:cost"}, start=1))
    with pytest.raises(LossError, match="expected a cost, a finite number of at least 0, found -1"):
        train(run)


def test_features_of_a_file_beside_the_configuration(data: Path) -> None:
    (data / "my.txt").write_text("[words]\nS0.w\nN0.w\nS0.w N0.w\n")
    run = prepared(data, {**tables(), "model": {"features": "my.txt"}})
    with pytest.raises(ModelError, match=r"^this run has not been trained; consume its train\(\) first$"):
        run.info()
    train(run)
    info = run.info()
    assert info["config"]["model"]["features"] == "my.txt"


def test_fine_tuning_a_model(data: Path, tmp_path: Path) -> None:
    base = prepared(data, {**tables(), "objective": []})
    train(base)
    info = base.info()
    assert "objectives" not in info["training"]
    assert "objective" not in info["config"]
    storage.save(base.model, data / "old.treetune", info)
    content = {**tables(), "model": {"start_from": "old.treetune", "beam": 4}, "train": {"epochs": 2}}
    run = prepared(data, content)
    ends = train(run)
    info = run.info()
    # Without a treebank an epoch is a pass over the first objective, which starts at once.
    assert [(end.total, end.objectives[0].seen) for end in ends] == [(20, 20), (20, 20)]
    assert info["config"]["model"] == {"start_from": "old.treetune", "beam": 4, "margin": 0.0}
    assert info["config"]["objective"][0]["start"] == 1
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
    run = TrainingRun.prepare(Config.of(content, source=Source("e.toml", tmp_path)), say=said.append)
    assert len(run.treebank) == 1
    assert [len(objective.data) for objective in run.objectives] == [1, 2]
    assert said == [f"{tmp_path / 't.conllu'}: left out 1 of 2 sentences for crossing arcs"] * 2
    (tmp_path / "t.conllu").write_text(crossing)
    with pytest.raises(DataError, match=r"every sentence has crossing arcs; train with \[train\] projectivize = true$"):
        TrainingRun.prepare(Config.of(content, source=Source("e.toml", tmp_path)))


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
    run = TrainingRun.prepare(Config.of(content, source=Source("x", tmp_path)), say=said.append)
    assert [line.split(": ")[1].split("\n")[0] for line in said] == ["skipped 1 of 2 sentences"] * 4
    assert len(run.objectives[0].dev) == 1
    content["train"]["lenient"] = False
    with pytest.raises(DataError, match=r"t\.conllu:3: expected 10 columns"):
        TrainingRun.prepare(Config.of(content, source=Source("x", tmp_path)))


def test_a_base_parser_is_trained_first(data: Path) -> None:
    content = {**tables(), "objective": []}
    content["train"] = {**content["train"], "base": "transition", "folds": 2, "epochs": 1}
    run = prepared(data, content)
    assert list(dict.fromkeys(report.stage.name for report in run.train())) == ["jackknife", "base", "main"]
    assert run.model.kind == "stacked"
    noted = run.info()["config"]
    assert (noted["train"]["base"], noted["train"]["folds"]) == ("transition", 2)
    assert noted["model"]["beam"] == 2


def test_a_pipeline_trains_again_from_what_it_stores(data: Path, tmp_path: Path) -> None:
    content: dict[str, Any] = {
        "model": {"task": "pipeline", "beam": 2},
        "train": {"treebank": "train.conllu", "dev": "dev.conllu", "epochs": 1},
        "pipeline": {"jackknife": 2, "tagger_epochs": 2, "tokenizer_epochs": 3},
    }
    first = prepared(data, content)
    stages = dict.fromkeys((report.stage.name, report.stage.total) for report in first.train())
    taggers = [("jackknife", 120), ("tagger", 120), ("jackknife2", 120), ("tagger2", 120)]
    assert list(stages) == [("tokenizer", 0), *taggers, ("lemmatizer", 0), ("parser", 60)]
    info = first.info()
    assert set(info["scores"]) == {"tagger", "tagger2", "lemmatizer", "parser", "text", "text_signature"}
    text = stored_toml(info)
    assert text is not None
    (data / "again.toml").write_text(text)
    again = TrainingRun.prepare(Config.read(data / "again.toml"))
    train(again)
    storage.save(first.stored, tmp_path / "first", info)
    storage.save(again.stored, tmp_path / "again", again.info())
    assert (tmp_path / "first").read_bytes() == (tmp_path / "again").read_bytes()


def test_every_setting_of_a_pipeline_changes_its_weights(data: Path) -> None:
    content: dict[str, Any] = {
        "model": {"task": "pipeline", "beam": 2},
        "train": {"treebank": "train.conllu", "epochs": 2},
        "pipeline": {"jackknife": 2, "tagger_epochs": 2, "tokenizer_epochs": 3},
    }
    weights: dict[str, dict[str, bytes]] = {}
    for change in (
        *("run.threads=2", "train.seed=2", "learner.k=1", "model.beam=1", "pipeline.tokenizer_epochs=1"),
        *("pipeline.tagger_epochs=1", "pipeline.tagger_learner=perceptron", "pipeline.jackknife=0"),
        *("pipeline.quantize=true", "pipeline.tokenizer=false", "pipeline.feats=false", "pipeline.lemmas=false"),
    ):
        run = TrainingRun.prepare(Config.of(content, changes=[change], source=Source("e.toml", data)))
        train(run)
        weights[change] = {name: array.tobytes() for name, array in run.stored.state()[1].items()}
    for change, found in weights.items():
        assert sum(found == other for other in weights.values()) == 1, change


def test_a_tokenizer_trains_without_trees(data: Path, tmp_path: Path) -> None:
    content = {"model": {"task": "tokenizer"}, "train": {"treebank": "questions.conllu.gz", "epochs": 2}}
    run = prepared(data, content)
    assert [report.tokenizer.epoch for report in run.train() if report.tokenizer is not None] == [1, 2]
    assert [sentence.forms[1:] for sentence in run.model.sentences("Does it bark?")]
    assert run.info()["config"] == {
        "model": {"task": "tokenizer"},
        "train": {"treebank": "questions.conllu.gz", "epochs": 2, "seed": 1, "lenient": False},
    }


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
    assert FLAGS.stored_paths(paths) == dict(zip(paths, stored, strict=True))
    assert Source("e.toml").stored_paths(paths) == dict(zip(paths, paths, strict=True))


def test_objective_data_is_what_the_files_have(data: Path) -> None:
    run = prepared(data, tables())
    assert list(run.objectives[0].data) == list(read_trees(data / "questions.conllu.gz", partial=True))


@pytest.mark.parametrize("bare", ["train.conllu", "other.conllu"])
def test_gold_files_with_and_without_tags(tmp_path: Path, bare: str) -> None:
    write_folder(tmp_path)
    examples = list(read_trees(tmp_path / "train.conllu"))
    write_trees(examples, tmp_path / "other.conllu")
    content = tables()
    content["objective"] = [{"name": "other", "data": "other.conllu"}]
    assert len(prepared(tmp_path, content).objectives) == 1  # and no warning
    left = [replace(one, sentence=one.sentence.without("upos", "xpos")) for one in examples]
    write_trees(left, tmp_path / bare)
    with pytest.warns(
        UserWarning, match=f"{bare} has no UPOS tags, .* has them, and results will be worse; tag it"
    ) as found:
        prepared(tmp_path, content)
    assert len(found) == 1
    write_trees(left, tmp_path / "train.conllu")
    write_trees(left, tmp_path / "other.conllu")
    prepared(tmp_path, content)
