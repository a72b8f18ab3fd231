"""What can be wrong with an experiment, in the words that a user reads; no data is there to be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stub_parser import StubParser, stub_model_fixture
from treetune import storage
from treetune.config import Experiment
from treetune.config.source import FLAGS
from treetune.errors import ConfigError, DataError

__all__ = ["stub_model_fixture"]

OBJECTIVE = '[[objective]]\nname = "q"\ndata = "q.conllu"\n'
TRAIN = '[train]\ntreebank = "t.conllu"\n'


def fault(tmp_path: Path, text: str) -> str:
    """Return what is said about a file, without its name."""
    path = tmp_path / "e.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        Experiment.read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[train\n", "expected a TOML file: "),
        ("[trian]\n", "unknown table 'trian'; known: learner, model, objective, train (did you mean 'train'?)"),
        ("train = 5\n", "expected a table [train], found a value"),
        ("epochs = 5\n", "unknown table 'epochs'; known: learner, model, objective, train"),
        ("[objective]\n", "expected each objective as a table [[objective]], in double brackets"),
        ("objective = [1]\n", "expected each objective as a table [[objective]], in double brackets"),
        (
            "[train]\nepoch = 5\n",
            "[train]: unknown key 'epoch'; known: choose_by, dev, dev_base, epochs, folds, base, lenient, licence, "
            "model, projectivize, seed, tagger, threads, treebank (did you mean 'epochs'?)",
        ),
        ('[train]\nepochs = "ten"\n', '[train] epochs: expected a whole number of at least 1, found "ten"'),
        ("[train]\nepochs = 0\n", "[train] epochs: expected a whole number of at least 1, found 0"),
        ("[train]\nepochs = true\n", "[train] epochs: expected a whole number of at least 1, found true"),
        ("[train]\nepochs = 2.5\n", "[train] epochs: expected a whole number of at least 1, found 2.5"),
        ("[train]\nseed = -1\n", "[train] seed: expected a whole number of at least 0, found -1"),
        ("[train]\nthreads = 0\n", "[train] threads: expected a whole number of at least 1, found 0"),
        ("[train]\nfolds = 1\n", "[train] folds: expected a whole number of at least 2, found 1"),
        ("[train]\nlicence = 2024\n", "[train] licence: expected a text, found 2024"),
        ("[train]\nprojectivize = 1\n", "[train] projectivize: expected true or false, found 1"),
        ('[model]\nbeam = "8"\n', '[model] beam: expected a whole number, found "8"'),
        ("[model]\ninputs = 'upos'\n", '[model] inputs: expected a list of texts, found "upos"'),
        ("[model]\ninputs = ['upos', 1]\n", '[model] inputs: expected a list of texts, found ["upos", 1]'),
        ("[model]\ninputs = ['upso']\n", "[model]: unknown input column 'upso'; known: feats, upos, xpos (did you"),
        ("[model]\nbeam = 0\n", "[model]: beam must be at least 1, found 0"),
        ("[model]\nparser = 5\n", "[model] parser: expected a text, found 5"),
        ("[model]\nparser = 'grpah'\n", "[model]: unknown parser 'grpah'; known: backward, graph, graph2, transition"),
        (
            "[model]\nbeem = 4\n",
            "[model]: unknown key 'beem'; known: backward, beam, clusters, features, inputs, labels_by_tag, min_count, "
            "min_lifted, parser, start_from, task (did you mean 'beam'?)",
        ),
        (
            "[model]\nparser = 'graph'\norder = 2\n",
            "[model]: unknown key 'order'; known: clusters, decoder, features, inputs, labels, labels_by_tag, "
            "max_memory, min_count, min_lifted, parser, start_from, task (did you mean 'decoder'?)",
        ),
        (
            "[model]\nparser = 'graph'\nbeam = 2\n",
            "[model] beam is an option of transition parsers; the parser is graph",
        ),
        ("[model]\nmax_memory = 1\n", "[model] max_memory is an option of graph parsers; the parser is transition"),
        ("[model]\nfeatures = 'hall2012'\n", "[model]: unknown feature set 'hall2012'; known: "),
        ("[learner]\nlearner = 'mirra'\n", "[learner]: unknown learner 'mirra'; known: factored-mira, mira,"),
        (
            "[learner]\nrate = 1\n",
            "[learner]: unknown key 'rate'; known: clip, cost_augmented, k, learner, update",
        ),
        ("[learner]\nk = 0\n", "[learner]: k must be at least 1, found 0"),
        ("[learner]\nclip = 'inf'\n", '[learner] clip: expected a number, found "inf"'),
        (
            "[learner]\ncost_augmented = true\n",
            "[learner] cost_augmented is an option of graph parsers; the parser is transition",
        ),
        ("", "expected a treebank to learn from (treebank in [train]), or a trained model to go on from "),
        ("[train]\ntreebank = '-'\n", "expected files to train on, whose hashes the model notes, found - (stdin)"),
        (
            f"{TRAIN}choose_by = 'LSA'\n",
            "[train] choose_by: expected one of UAS, LAS, LA, CLAS, root, root_F1, UCM, LCM, UALS, LALS, UALS_mean, "
            "LALS_mean, found 'LSA'",
        ),
        (f"{TRAIN}choose_by = 'root'\n", "[train] choose_by: root needs trees to measure it on; give [train] dev"),
        (f"{TRAIN}choose_by = 'q'\n{OBJECTIVE}", "[train] choose_by: expected one of UAS, LAS, "),
        (
            f"{TRAIN}folds = 3\n",
            '[train] folds is for a base parser that is trained here; name its parser, as in base = "transition"',
        ),
        (f"{TRAIN}dev_base = 'g'\n", "[train] dev_base belongs to a file of base trees; give both or none"),
        (
            f"{TRAIN}base = 'graph'\ndev_base = 'g'\n",
            "[train] dev_base belongs to a file of base trees; the graph parser parses DEV itself",
        ),
        (
            f"{TRAIN}base = 'e.toml'\ndev = 'd'\n",
            "[train] base file, dev and dev_base go together; give both or none",
        ),
        (
            f"{TRAIN}base = 'e.toml'\nlenient = true\n",
            "[train] lenient skips sentences, and the trees of base would no longer fit; leave one of them",
        ),
        (
            f"{TRAIN}base = 'graph'\n{OBJECTIVE}",
            "a base parser that is trained here ([train] base graph) cannot be combined with other objectives or a model "
            "to start from; train the stacked model first, then go on from it",
        ),
        (
            f"{TRAIN}base = 'e.toml'\n{OBJECTIVE}",
            "a file of base trees ([train] base) has no trees for the sentences of other objectives; train a base with the "
            "parser first, then go on from that model",
        ),
        (
            f"{TRAIN}base = 'graph'\ndev = 'd'\nchoose_by = 'UAS'\n",
            "with a base parser that is trained here the best epoch is chosen by LAS; leave [train] choose_by out",
        ),
    ],
)
def test_tables(tmp_path: Path, text: str, message: str) -> None:
    found = fault(tmp_path, text) if "go together" not in message else fault_inside(tmp_path, text)
    assert found.startswith(message)


def fault_inside(tmp_path: Path, text: str) -> str:
    """Return what is said where the name of the file is in the middle."""
    path = tmp_path / "e.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        Experiment.read(path)
    return str(caught.value).removeprefix("with a ").replace(f"{path}: ", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[objective]]\n", "[objective.1] data: expected the path of a file, found nothing"),
        ("[[objective]]\nname = 'q'\n", "[objective.q] data: expected the path of a file, found nothing"),
        ("[[objective]]\ndata = 5\n", "[objective.1] data: expected a text, found 5"),
        (
            f"{OBJECTIVE}weight = 2\n",
            "[objective.q]: unknown key 'weight'; known: data, dev, word_dropout, k, loss, max_k, name, margin_updates, "
            "rate, search, start, step",
        ),
        (f"{OBJECTIVE}margin_updates = 1\n", "[objective.q] margin_updates: expected true or false, found 1"),
        (f"{OBJECTIVE}rate = 'often'\n", '[objective.q] rate: expected a number, found "often"'),
        (f"{OBJECTIVE}rate = nan\n", "[objective.q] rate: expected a number, found nan"),
        (f"{OBJECTIVE}rate = 0\n", "[objective.q]: q: rate must be a number above 0, found 0.0"),
        (f"{OBJECTIVE}k = 2.0\n", "[objective.q] k: expected a whole number, found 2.0"),
        (f"{OBJECTIVE}k = 0\n", "[objective.q]: q: k must be at least 1, found 0"),
        (f"{OBJECTIVE}k = 9\nmax_k = 8\n", "[objective.q]: q: max_k must be at least k (9), found 8"),
        (f"{OBJECTIVE}search = 'grow'\n", "[objective.q]: unknown search 'grow'; known: forced, growing, list"),
        (f"{OBJECTIVE}start = 0\n", "[objective.q]: q: start must be at least 1, the first epoch, found 0"),
        (f"{OBJECTIVE}start = 11\n", "[objective.q] start: expected an epoch up to the last, 10, found 11"),
        (f"{OBJECTIVE}loss = 5\n", "[objective.q] loss: expected a text or a table, found 5"),
        (f"{OBJECTIVE}loss = 'rot'\n", "[objective.q]: unknown loss 'rot'; known: arc-length, attachment, "),
        (
            f"{OBJECTIVE}loss = {{ labelled = false }}\n",
            "[objective.q]: expected a loss with a name (arc-length, attachment, ",
        ),
        (
            f"{OBJECTIVE}loss = {{ name = 'attachment', labeled = false }}\n",
            "[objective.q]: unknown option of loss attachment 'labeled'; known: labelled (did you mean 'labelled'?)",
        ),
        (f"{OBJECTIVE}loss = 'main-verb'\n", "q: the loss main-verb is for taggers, and the model is a parser"),
        (
            f"{OBJECTIVE}loss = 'attachment'\n[model]\ntask = 'tag'\n",
            "q: the loss attachment is for parsers, and the model is a tagger",
        ),
        (
            f"{OBJECTIVE}loss = 'reordering'\n[model]\ntask = 'ner'\n",
            "q: the loss reordering is for parsers, and the model is a tagger",
        ),
        (
            f"{OBJECTIVE}loss = {{ name = 'program', command = 'no-such-program -x' }}\n",
            "[objective.q]: loss program: expected a program that can be run, found 'no-such-program', which cannot",
        ),
        (f"{OBJECTIVE}loss = 'program'\n", "[objective.q]: loss program needs the option 'command'"),
        (
            f"{OBJECTIVE}dev = 'd.conllu'\n",
            "[objective.q]: gold trees have no cost to measure on dev; give them as dev of [train], or give a loss",
        ),
        (OBJECTIVE + OBJECTIVE, "two objectives are called 'q'; give them names of their own"),
        (OBJECTIVE.replace("'q'", "'LAS'").replace('"q"', '"LAS"'), "an objective cannot be called LAS: that is a"),
        (OBJECTIVE.replace('"q"', '"treebank"'), "two objectives are called 'treebank'; give them names of their own"),
        (OBJECTIVE.replace("q.conllu", "-"), "expected files to train on, whose hashes the model notes, found -"),
    ],
)
def test_objectives(tmp_path: Path, text: str, message: str) -> None:
    assert fault(tmp_path, TRAIN + text).startswith(message)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "parser = 'transition'\n",
            "[model] start_from goes on with the parser of that model; leave parser out",
        ),
        ("features = 'x'\n", "[model]: unknown search option of stubs 'features'; known: beam"),
    ],
)
def test_a_model_to_start_from(tmp_path: Path, stub_model: StubParser, model: str, message: str) -> None:
    storage.save(stub_model, tmp_path / "old")
    start = "[model]\nstart_from = 'old'\n"
    assert fault(tmp_path, start + model + TRAIN) == message
    assert fault(tmp_path, start) == (
        "expected a treebank (treebank in [train]) or an objective ([[objective]]) to learn from, found neither"
    )
    assert Experiment.read(tmp_path / "e.toml", changes=["train.treebank=t.conllu"]).recipe.start_from == "old"


def test_a_base_tree_for_a_model_that_has_none(
    tmp_path: Path, stub_model: StubParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StubParser, "is_stacked", False)
    storage.save(stub_model, tmp_path / "old")
    (tmp_path / "e.toml").write_text(f"[model]\nstart_from = 'old'\n{TRAIN}base = 'e.toml'\n")
    with pytest.raises(ConfigError) as caught:
        Experiment.read(tmp_path / "e.toml")
    assert str(caught.value) == (
        f"old was trained without base trees and would not look at {tmp_path / 'e.toml'}: [train] base; leave it out"
    )


def test_messages_without_a_file() -> None:
    with pytest.raises(ConfigError, match=r"^\[train\] epochs: expected a whole number of at least 1, found 0$"):
        Experiment.of({"train": {"epochs": 0}})
    with pytest.raises(ConfigError, match=r"^--epochs: expected a whole number of at least 1, found 0$"):
        Experiment.of({"train": {"epochs": 0}}, source=FLAGS)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        Experiment.read(tmp_path / "none.toml")
    assert str(caught.value) == f"{tmp_path / 'none.toml'}: expected a file, found nothing under this name"


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_bytes(b"[train]\ndev = '\xe4'\n")
    with pytest.raises(DataError) as caught:
        Experiment.read(tmp_path / "e.toml")
    assert str(caught.value) == (
        f"{tmp_path / 'e.toml'}:2: expected UTF-8 text, found the byte 0xe4 as byte 8 of the line; convert it to UTF-8"
    )


def test_changes_come_before_checks(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(f"{TRAIN}epochs = 0\n{OBJECTIVE}loss = 'rot'\n")
    changes = ["train.epochs=3", "objective.q.loss=root"]
    experiment = Experiment.read(tmp_path / "e.toml", changes=changes)
    assert experiment.train.epochs == 3
    assert experiment.objectives[0].loss.name == "root"


def test_defaults() -> None:
    tables: dict[str, Any] = {"train": {"treebank": "t"}, "objective": [{"data": "q.conllu", "loss": "root"}]}
    experiment = Experiment.of(tables)
    assert (experiment.recipe.parser, experiment.recipe.options, experiment.recipe.learning) == ("transition", {}, {})
    train = experiment.train
    assert (train.epochs, train.seed, train.threads, train.projectivize, train.lenient) == (10, 1, 1, True, False)
    assert (experiment.choose_by, experiment.model_path) == ("LAS", None)
    assert experiment.objectives[0].objective().name == "q"


def test_paths_start_at_the_file(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(
        "[train]\ntreebank = 'data/t.conllu'\nmodel = 'out/m'\n"
        "[[objective]]\ndata = '/somewhere/q.conllu'\ndev = 'd.conllu'\nloss = 'root'\n"
    )
    experiment = Experiment.read(tmp_path / "e.toml")
    assert list(experiment.paths()) == ["data/t.conllu", "/somewhere/q.conllu", "d.conllu"]
    assert experiment.source.placed("data/t.conllu") == str(tmp_path / "data" / "t.conllu")
    assert experiment.model_path == str(tmp_path / "out" / "m")
    assert (experiment.objectives[0].data, experiment.objectives[0].dev) == (
        "/somewhere/q.conllu",
        str(tmp_path / "d.conllu"),
    )
