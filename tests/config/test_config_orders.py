"""Word orders as an objective: read from their files, learned by every parser, stored in the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline_samples import small_pipeline
from treetune import storage
from treetune.cli import main
from treetune.config import Config, TrainingRun
from treetune.config.tables import Source
from treetune.corpus.orders import Ordered, WordOrder, write_orders
from treetune.corpus.sentence import Tree
from treetune.corpus.treebank import write_trees
from treetune.errors import ConfigError, DataError
from treetune.learning.objectives import sentence_and_reference
from treetune.models.pipeline import Pipeline
from treetune.reorder import Reorderer, format_rules, load_rules
from treetune.sample import QUESTIONS, treebank


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Statements with trees, and questions in Hindi order of which no tree is told."""
    folder = tmp_path_factory.mktemp("orders")
    statements, questions = (
        treebank(train=60, dev=0, test=0, seed=1),
        treebank(train=30, dev=10, test=0, seed=1, kinds=QUESTIONS),
    )
    write_trees(statements.train, folder / "train.conllu")
    reorderer = Reorderer(load_rules("hi"))
    for name, examples in (("en-hi", questions.train), ("en-hi-dev", questions.dev)):
        items = [
            Ordered(one.sentence, WordOrder(reorderer.order(one.sentence, one.gold)), one.gold) for one in examples
        ]
        write_orders(items, folder / f"{name}.conllu")
    (folder / "mine.toml").write_text(format_rules(load_rules("hi")))
    return folder


def tables(parser: str = "transition", **loss: Any) -> dict[str, Any]:
    return {
        "model": {"parser": parser},
        "train": {"treebank": "train.conllu", "epochs": 2},
        "objective": [
            {
                "name": "order",
                "data": "en-hi.conllu",
                "dev": "en-hi-dev.conllu",
                "loss": {"name": "reordering", **loss},
                "start": 1,
            }
        ],
    }


def prepared(data: Path, content: dict[str, Any]) -> TrainingRun:
    return TrainingRun.prepare(Config.of(content, source=Source("e.toml", data)))


@pytest.mark.parametrize("parser", ["transition", "graph"])
def test_every_parser_learns_from_orders(parser: str, data: Path) -> None:
    run = prepared(data, tables(parser, rules="mine.toml"))
    ends = [report.training for report in run.train() if report.training is not None and report.is_epoch_end]
    (_, tally) = ends[-1].objectives
    assert tally.seen == 60
    assert tally.updated > 0
    assert tally.target_cost is not None
    assert tally.cost is not None
    assert tally.target_cost < tally.cost
    assert tally.dev_cost is not None
    info = run.info()
    # The path of the rules as it was written, so that the configuration trains the model again.
    (noted,) = info["config"]["objective"]
    assert noted["loss"] == {"name": "reordering", "rules": "mine.toml", "score": "reorder"}
    (files,) = info["training"]["objectives"]
    assert (files["data"]["name"], files["data"]["sentences"], files["dev"]["sentences"]) == ("en-hi.conllu", 30, 10)


def test_the_options_of_the_loss_reach_it(data: Path) -> None:
    found = []
    for loss in ({}, {"rules": "hi"}, {"rules": "hi", "score": "tau"}):
        objective = prepared(data, tables(**loss)).objectives[0]
        assert objective.cost is not None
        pairs = map(sentence_and_reference, objective.data)
        chains = [(one, Tree.of(range(len(one)), ["aux"] * len(one)), order) for one, order in pairs]
        found.append([objective.cost(*chain) for chain in chains])
    assert found[0] != found[1] != found[2]


def test_words_with_orders_get_the_tags_of_a_tagger_too(data: Path, tmp_path: Path) -> None:
    storage.save(Pipeline(taggers=small_pipeline().taggers), tmp_path / "tags")
    content = tables()
    content["train"]["tagger"] = str(tmp_path / "tags")
    found, given = (prepared(data, one).objectives[0].data for one in (content, tables()))
    sentences = [sentence_and_reference(item)[0] for item in given]
    assert [sentence_and_reference(item)[0] for item in found] == small_pipeline().tag(sentences) != sentences


def test_what_is_wrong_is_said_before_training(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^e\.toml: \[objective\.order\]: unknown rule set 'jp'; known: "):
        Config.of(tables(rules="jp"), source=Source("e.toml", data))
    content = tables()
    content["objective"][0]["data"] = "train.conllu"
    with pytest.raises(DataError, match=r"train\.conllu: sentence 1.*: expected a comment '# order = 2 1 …'"):
        prepared(data, content)
    (data / "empty.jsonl").write_text("")
    content["objective"][0]["data"] = "empty.jsonl"
    with pytest.raises(DataError, match=r"empty\.jsonl: expected at least one sentence, found none$"):
        prepared(data, content)


def test_from_the_command_line(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "m.treetune"
    arguments = ["train", data / "train.conllu", "--also", f"reordering:{data / 'en-hi.conllu'}@0.5", "--epochs", "1"]
    code = main([*map(str, arguments), "--model", str(model), "--set", "objective.en-hi.loss.rules=hi", "--json"])
    assert code == 0
    (_, report) = json.loads(capsys.readouterr().out)["epochs"][0]["objectives"]
    assert report["seen"] == 30
    config = storage.inspect(model).info["config"]
    assert config["objective"][0]["loss"]["rules"] == "hi"
