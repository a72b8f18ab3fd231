"""What can be wrong with a configuration, in the words that a user reads; no data is there to be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stub_parser import StubParser, stub_model_fixture
from treetune import storage
from treetune.config import Config, TrainingRun
from treetune.config.tables import FLAGS
from treetune.errors import ConfigError, DataError

__all__ = ["stub_model_fixture"]

OBJECTIVE = '[[objective]]\nname = "q"\ndata = "q.conllu"\n'
TRAIN = '[train]\ntreebank = "t.conllu"\n'


def fault(tmp_path: Path, text: str) -> str:
    """Return what is said about a file, without its name."""
    path = tmp_path / "e.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        Config.read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[train\n", "expected a TOML file: "),
        (
            "[trian]\n",
            "unknown table 'trian'; known: learner, model, objective, pipeline, run, train (did you mean 'train'?)",
        ),
        ("train = 5\n", "expected a table [train], found a value"),
        ("epochs = 5\n", "unknown table 'epochs'; known: learner, model, objective, pipeline, run, train"),
        ("[objective]\n", "expected each objective as a table [[objective]], in double brackets"),
        ("objective = [1]\n", "expected each objective as a table [[objective]], in double brackets"),
        (
            "[train]\nepoch = 5\n",
            "[train]: unknown key 'epoch'; known: base, base_beam, choose_by, dev, dev_base, epochs, folds, "
            "lenient, licence, mixes, projectivize, seed, shards, tagger, treebank (did you mean 'epochs'?)",
        ),
        ('[train]\nepochs = "ten"\n', '[train] epochs: expected a whole number of at least 1, found "ten"'),
        ("[train]\nepochs = 0\n", "[train] epochs: expected a whole number of at least 1, found 0"),
        ("[train]\nepochs = true\n", "[train] epochs: expected a whole number of at least 1, found true"),
        ("[train]\nepochs = 2.5\n", "[train] epochs: expected a whole number of at least 1, found 2.5"),
        ("[train]\nseed = -1\n", "[train] seed: expected a whole number of at least 0, found -1"),
        ("[train]\nmixes = 0\nshards = 2\n", "[train] mixes: expected a whole number of at least 1, found 0"),
        (
            '[train]\ntreebank = "x"\nmixes = 4\n',
            "[train] mixes: the weights of shards are mixed; set their number ([train] shards)",
        ),
        ("[run]\nthreads = 0\n", "[run] threads: expected a whole number of at least 1, found 0"),
        ("[train]\nfolds = 1\n", "[train] folds: expected a whole number of at least 2, found 1"),
        ("[train]\nlicence = 2024\n", "[train] licence: expected a text, found 2024"),
        ("[train]\nprojectivize = 1\n", "[train] projectivize: expected true or false, found 1"),
        ('[model]\nbeam = "8"\n', '[model] beam: expected a whole number of at least 1, found "8"'),
        ("[run]\ncheckpoint = 3\n", "[run] checkpoint: expected a text or true or false, found 3"),
        ("[model]\ninputs = 5\n", "[model] inputs: expected a list of texts, found 5"),
        ("[model]\ninputs = ['upos', 1]\n", '[model] inputs: expected a list of texts, found ["upos", 1]'),
        ("[model]\ninputs = ['upso']\n", "[model]: unknown input column 'upso'; known: feats, upos, xpos (did you"),
        ("[model]\nbeam = 0\n", "[model] beam: expected a whole number of at least 1, found 0"),
        ("[model]\nparser = 5\n", "[model] parser: expected a text, found 5"),
        (
            "[model]\nparser = 'grpah'\n",
            "[model]: unknown parser 'grpah'; known: backward, graph, graph2, graph3, transition",
        ),
        (
            "[model]\nbeem = 4\n",
            "[model]: unknown key 'beem'; known: backward, beam, clusters, features, inputs, labels_by_tag, margin, "
            "min_count, min_lifted, parser, start_from, task (did you mean 'beam'?)",
        ),
        ("[model]\nparser = 'graph'\norder = 2\n", "[model] order is an option of taggers; the parser is graph"),
        (
            "[model]\nparser = 'graph'\nbeam = 2\n",
            "[model] beam is an option of transition parsers; the parser is graph",
        ),
        ("[model]\nmax_memory = 1\n", "[model] max_memory is an option of graph parsers and taggers; the parser "),
        ("[model]\nfeatures = 'hall2012'\n", "[model]: unknown feature set 'hall2012'; known: "),
        ("[learner]\nlearner = 'mirra'\n", "[learner]: unknown learner 'mirra'; known: crf, factored-mira, mira,"),
        (
            "[learner]\nrate = 1\n",
            "[learner]: unknown key 'rate'; known: clip, cost_augmented, k, learner, learning_rate, update",
        ),
        ("[learner]\nk = 0\n", "[learner] k: expected a whole number of at least 1, found 0"),
        ("[learner]\nclip = 'inf'\n", '[learner] clip: expected a number, found "inf"'),
        (
            "[learner]\ncost_augmented = true\n",
            "[learner]: cost_augmented is an option of graph parsers, not of transition parsers",
        ),
        (
            "",
            "expected a treebank to train on ([train] treebank), or a model to fine-tune ([model] start_from), ",
        ),
        ("[model]\ntask = 'pipeline'\n", "expected a treebank to train on ([train] treebank), found none"),
        (
            "[train]\ntreebank = '-'\n",
            "expected files to train on, whose hashes are stored in the model, found - (stdin)",
        ),
        (
            f"{TRAIN}choose_by = 'LSA'\n",
            "[train] choose_by: expected one of UAS, LAS, LA, CLAS, root, root_F1, UCM, LCM, UALS, LALS, UALS_mean, "
            "LALS_mean, found 'LSA'",
        ),
        (f"{TRAIN}choose_by = 'root'\n", "[train] choose_by: root is measured on development data; give [train] dev"),
        (f"{TRAIN}choose_by = 'q'\n{OBJECTIVE}", "[train] choose_by: expected one of UAS, LAS, "),
        (f"{TRAIN}folds = 3\n", "[train] folds is for a base parser that is trained; name one as [train] base"),
        (
            f"{TRAIN}dev_base = 'g'\n",
            "[train] dev_base belongs to a file of base trees as [train] base; leave it out",
        ),
        (
            f"{TRAIN}base = 'graph'\ndev_base = 'g'\n",
            "[train] dev_base belongs to a file of base trees as [train] base; leave it out",
        ),
        (
            f"{TRAIN}base = 'none'\n",
            "[train] base: expected a file or the name of a parser (transition, backward, graph, graph2, graph3), "
            "found 'none'",
        ),
        (
            f"{TRAIN}base = 'e.toml'\ndev = 'd'\n",
            "[train] base is a file; then [train] dev and [train] dev_base go together",
        ),
        (
            f"{TRAIN}base = 'e.toml'\nlenient = true\n",
            "[train] lenient skips sentences, and the base trees of [train] base would no longer fit; leave one ",
        ),
        (
            f"{TRAIN}base = 'graph'\n{OBJECTIVE}",
            "a base parser that is trained ([train] base graph) cannot be combined with other objectives or a model to "
            "start from; train the stacked parser first, then fine-tune it",
        ),
        (
            f"{TRAIN}base = 'e.toml'\n{OBJECTIVE}",
            "a file of base trees ([train] base) has no trees for the sentences of other objectives; train the stacked "
            "parser with its base parser first, then fine-tune it",
        ),
        (
            f"{TRAIN}base = 'graph'\ndev = 'd'\nchoose_by = 'UAS'\n",
            "[train] choose_by: with a base parser that is trained the best epoch is chosen by LAS; leave it out",
        ),
        (
            f"{TRAIN}[model]\ntask = 'tga'\n",
            "[model]: unknown task 'tga'; known: ner, parser, pipeline, tag, tokenizer",
        ),
        (
            f"{TRAIN}[model]\ntask = 'tag'\nparser = 'graph'\n",
            "[model]: the task tag is for a tagger and has no parser; leave one of them out",
        ),
        (f"{TRAIN}[model]\ntask = 'tokenizer'\nbeam = 4\n", "[model] beam is not for tokenizers; leave it out"),
        (
            f"{TRAIN}[model]\ntask = 'tokenizer'\n[learner]\nk = 4\n",
            "[learner] k is not for tokenizers; leave it out",
        ),
        (f"{TRAIN}base = 'graph'\n[model]\ntask = 'pipeline'\n", "[train] base is for parsers; the task is pipeline"),
        (
            f"{TRAIN}choose_by = 'UAS'\n[model]\ntask = 'pipeline'\n",
            "[train] choose_by is not for the task pipeline; leave it out",
        ),
        (
            f"{TRAIN}{OBJECTIVE}loss = 'root'\n[model]\ntask = 'pipeline'\n",
            "objectives with a loss ([[objective]]) are not for the task pipeline; leave them out",
        ),
        (
            f"{TRAIN}{OBJECTIVE}[model]\ntask = 'tokenizer'\n",
            "other objectives ([[objective]]) are not for the task tokenizer; leave them out",
        ),
        (
            f"{TRAIN}[model]\ntask = 'pipeline'\n[pipeline]\nconvert = true\n",
            "[pipeline] convert: expected trees to convert ([[objective]]), found none",
        ),
        (
            f"{TRAIN}[model]\ntask = 'tokenizer'\n[run]\nplot = 'p.svg'\n",
            "[run] plot is not for the task tokenizer; leave it out",
        ),
        (f"{TRAIN}[pipeline]\njackknife = 3\n", "[pipeline] jackknife is for pipelines; the task is parser"),
        (
            f"{TRAIN}[pipeline]\njackknife = 1\n[model]\ntask = 'pipeline'\n",
            "[pipeline] jackknife: expected 0 or at least 2 folds, found 1",
        ),
    ],
)
def test_tables(tmp_path: Path, text: str, message: str) -> None:
    assert fault(tmp_path, text).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[objective]]\n", "[objective.1] data: expected the path of a file, found nothing"),
        ("[[objective]]\nname = 'q'\n", "[objective.q] data: expected the path of a file, found nothing"),
        ("[[objective]]\ndata = 5\n", "[objective.1] data: expected a text, found 5"),
        (
            f"{OBJECTIVE}weights = 2\n",
            "[objective.q]: unknown key 'weights'; known: data, dev, k, loss, margin_updates, max_k, name, rate, "
            "search, start, step, weight, word_dropout",
        ),
        (f"{OBJECTIVE}weight = 0\n", "[objective.q]: q: weight must be a number above 0, found 0.0"),
        (
            f"{OBJECTIVE}weight = 2\nrate = 2\n",
            "[objective.q]: q: weight takes the place of rate; leave one of them out",
        ),
        (f"{OBJECTIVE}margin_updates = 1\n", "[objective.q] margin_updates: expected true or false, found 1"),
        (f"{OBJECTIVE}rate = 'often'\n", '[objective.q] rate: expected a number, found "often"'),
        (f"{OBJECTIVE}rate = nan\n", "[objective.q] rate: expected a number, found nan"),
        (f"{OBJECTIVE}rate = 0\n", "[objective.q]: q: rate must be a number above 0, found 0.0"),
        (f"{OBJECTIVE}k = 2.0\n", "[objective.q] k: expected a whole number of at least 1, found 2.0"),
        (f"{OBJECTIVE}k = 0\n", "[objective.q] k: expected a whole number of at least 1, found 0"),
        (f"{OBJECTIVE}k = 9\nmax_k = 8\n", "[objective.q]: q: max_k must be at least k (9), found 8"),
        (f"{OBJECTIVE}search = 'grow'\n", "[objective.q]: unknown search 'grow'; known: forced, growing, list"),
        (f"{OBJECTIVE}start = 0\n", "[objective.q] start: expected a whole number of at least 1, found 0"),
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
        (
            OBJECTIVE.replace("q.conllu", "-"),
            "expected files to train on, whose hashes are stored in the model, found -",
        ),
    ],
)
def test_objectives(tmp_path: Path, text: str, message: str) -> None:
    assert fault(tmp_path, TRAIN + text).startswith(message)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "parser = 'transition'\n",
            "[model] start_from fine-tunes the parser of old.treetune; leave [model] parser out",
        ),
        ("features = 'x'\n", "[model]: unknown search option of stubs 'features'; known: beam"),
    ],
)
def test_a_model_to_start_from(tmp_path: Path, stub_model: StubParser, model: str, message: str) -> None:
    storage.save(stub_model, tmp_path / "old.treetune")
    start = "[model]\nstart_from = 'old.treetune'\n"
    assert fault(tmp_path, start + model + TRAIN) == message
    assert fault(tmp_path, start) == (
        "expected a treebank ([train] treebank) or an objective ([[objective]]), found neither"
    )
    assert Config.read(tmp_path / "e.toml", changes=["train.treebank=t.conllu"]).model.start_from == "old.treetune"


def test_base_trees_for_a_model_trained_without(
    tmp_path: Path, stub_model: StubParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StubParser, "is_stacked", False)
    storage.save(stub_model, tmp_path / "old.treetune")
    (tmp_path / "e.toml").write_text(f"[model]\nstart_from = 'old.treetune'\n{TRAIN}base = 'e.toml'\n")
    with pytest.raises(ConfigError) as caught:
        Config.read(tmp_path / "e.toml")
    assert str(caught.value) == (
        f"{tmp_path / 'e.toml'}: [train] base: old.treetune was trained without base trees; leave it out"
    )


def test_messages_without_a_file() -> None:
    with pytest.raises(ConfigError, match=r"^\[train\] epochs: expected a whole number of at least 1, found 0$"):
        Config.of({"train": {"epochs": 0}})
    with pytest.raises(ConfigError, match=r"^--epochs: expected a whole number of at least 1, found 0$"):
        Config.of({"train": {"epochs": 0}}, source=FLAGS)
    with pytest.raises(ConfigError, match=r"^train\.epochs: expected a whole number of at least 1, found 0$"):
        Config.of({}, changes=["train.epochs=0"], source=FLAGS)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        Config.read(tmp_path / "none.toml")
    assert str(caught.value) == f"{tmp_path / 'none.toml'}: expected a file, found nothing under this name"


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_bytes(b"[train]\ndev = '\xe4'\n")
    with pytest.raises(DataError) as caught:
        Config.read(tmp_path / "e.toml")
    assert str(caught.value) == (
        f"{tmp_path / 'e.toml'}:2: expected UTF-8 text, found the byte 0xe4 as byte 8 of the line; convert it to UTF-8"
    )


def test_changes_come_before_checks(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(f"{TRAIN}epochs = 0\n{OBJECTIVE}loss = 'rot'\n")
    changes = ["train.epochs=3", "objective.q.loss=root"]
    config = Config.read(tmp_path / "e.toml", changes=changes)
    assert config.epochs == 3
    assert config.objectives[0].loss.name == "root"


def test_overrides_go_before_the_file_and_changes_before_both(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(f"{TRAIN}epochs = 2\nseed = 2\n{OBJECTIVE}loss = 'root'\n")
    overrides: dict[str, Any] = {"train": {"epochs": 3, "seed": 3}, "objective": [{"data": "more.conllu"}]}
    config = Config.read(tmp_path / "e.toml", overrides=overrides, changes=["train.seed=4", "objective.2.rate=5"])
    assert (config.epochs, config.train.seed, config.train.treebank) == (3, 4, "t.conllu")
    assert [(one.name, one.written.get("rate")) for one in config.objectives] == [("q", None), ("more", 5)]


@pytest.mark.parametrize(
    "loss",
    ["'bad.py:cost'", "{ name = 'weighted', parts = [{ weight = 1, name = 'python', function = 'bad.py:cost' }] }"],
)
def test_python_code_is_not_run_before_all_files_are_found(tmp_path: Path, loss: str) -> None:
    table = loss if loss.startswith("{") else f"{{ name = 'python', function = {loss} }}"
    (tmp_path / "bad.py").write_text("raise RuntimeError('imported')\n")
    (tmp_path / "e.toml").write_text(f"{TRAIN}{OBJECTIVE}loss = {table}\n")
    config = Config.read(tmp_path / "e.toml")
    with pytest.raises(DataError, match=r"t\.conllu: expected a file, found nothing under this name$"):
        TrainingRun.prepare(config)
    for name in ("t.conllu", "q.conllu"):
        (tmp_path / name).touch()
    with pytest.raises(ConfigError, match=r"\[objective\.q\]: cannot load .*bad\.py.*RuntimeError: imported$"):
        TrainingRun.prepare(config)


def test_defaults() -> None:
    tables: dict[str, Any] = {"train": {"treebank": "t"}, "objective": [{"data": "q.conllu", "loss": "root"}]}
    config = Config.of(tables)
    assert (config.model.task, config.model.name, config.model.options, config.model.learning) == (
        *("parser", "transition"),
        *({}, {}),
    )
    train = config.train
    assert (config.epochs, train.seed, config.run.threads, train.projectivize, train.lenient) == (10, 1, 1, True, False)
    assert (config.choose_by, config.run.model) == ("LAS", None)
    assert config.objectives[0].objective().name == "q"
    assert Config.of({"model": {"task": "tokenizer"}, "train": {"treebank": "t"}}).epochs == 8


def test_lists_may_be_written_with_commas() -> None:
    tables: dict[str, Any] = {"train": {"treebank": "t"}}
    for text, names in (("model.inputs=upos, feats", ("upos", "feats")), ("model.inputs=", ())):
        assert Config.of(tables, changes=[text]).model.inputs == names


def test_paths_start_at_the_file(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(
        "[train]\ntreebank = 'data/t.conllu'\n[run]\nmodel = 'out/m'\n"
        "[[objective]]\ndata = '/somewhere/q.conllu'\ndev = 'd.conllu'\nloss = 'root'\n"
    )
    config = Config.read(tmp_path / "e.toml")
    assert list(config.paths()) == ["data/t.conllu", "/somewhere/q.conllu", "d.conllu"]
    assert config.source.path("data/t.conllu") == str(tmp_path / "data" / "t.conllu")
    assert (config.objectives[0].data, config.objectives[0].dev) == (
        "/somewhere/q.conllu",
        str(tmp_path / "d.conllu"),
    )
