"""Configuration files and objectives through the entry point: what they train, what is shown and what is refused."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commandline import Result, run, sets

from stub_parser import StubParser, stub_model_fixture
from treetune import storage
from treetune.corpus.sentence import UNKNOWN_HEAD, Example, Tree
from treetune.corpus.treebank import write_trees
from treetune.sample import QUESTIONS, treebank

__all__ = ["stub_model_fixture"]

CONFIG = """\
[model]
beam = 4

[train]
treebank = "data/train.conllu"
dev = "data/dev.conllu"
epochs = 3

[run]
model = "from-file"

[[objective]]
name = "questions"
data = "data/questions.conllu.gz"
loss = "root"
rate = 0.5
dev = "data/qdev.conllu"
"""


def roots_only(examples: list[Example]) -> Iterator[Example]:
    for example in examples:
        heads = [0 if head == 0 else UNKNOWN_HEAD for head in example.gold.heads[1:]]
        yield Example(example.sentence, Tree.of(heads))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data and a configuration, left as they are by every test, and `old.treetune`, trained on the treebank alone."""
    folder = tmp_path_factory.mktemp("config")
    (folder / "data").mkdir()
    statements = treebank(train=200, dev=40, test=0, seed=1)
    questions = treebank(train=60, dev=30, test=0, seed=1, kinds=QUESTIONS)
    write_trees(statements.train, folder / "data/train.conllu")
    write_trees(statements.dev, folder / "data/dev.conllu")
    write_trees(roots_only(questions.train), folder / "data/questions.conllu.gz")
    write_trees(roots_only(questions.dev), folder / "data/qdev.conllu")
    write_trees(questions.train, folder / "data/trees.conllu")
    (folder / "e.toml").write_text(CONFIG)
    assert plain(folder, folder / "old.treetune").code == 0
    return folder


def plain(folder: Path, model: Path, *options: object) -> Result:
    base = ("--beam", 4, "--epochs", 3, "--dev", folder / "data/dev.conllu", "--model", model)
    return run("train", folder / "data/train.conllu", *base, *options)


def weights_of(model: Path) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in storage.load(model).state()[1].items()}


def info_of(model: Path) -> dict[str, Any]:
    return storage.inspect(model).info


def test_a_configuration_file(folder: Path, tmp_path: Path) -> None:
    result = run("train", folder / "e.toml")
    assert (result.code, result.out) == (0, "")
    lines = result.err.split("\n")
    assert [line.split("  ")[0] for line in lines if line.startswith("epoch")] == [f"epoch {n}/3" for n in (1, 2, 3)]
    # It starts in the third epoch, with a step for every other one on the treebank.
    (line,) = [line for line in lines if line.startswith("  questions  ")]
    parts = line.strip().split("  ")
    assert parts[:2] == ["questions", "100 seen"]
    counts = {part.partition(" ")[2]: int(part.partition(" ")[0]) for part in parts[2:5]}
    assert set(counts) == {"updated", "already best", "no better candidate"}
    assert sum(counts.values()) == 100
    assert parts[5].startswith("cost 0.")
    assert " -> 0." in parts[5]
    assert parts[6].startswith("dev cost 0.")
    assert lines[-2:] == [f"wrote {folder / 'from-file'}, {(folder / 'from-file').stat().st_size / 1e6:.1f} MB", ""]
    assert sorted(path.name for path in folder.iterdir()) == ["data", "e.toml", "from-file", "old.treetune"]
    # An option goes before the key.
    assert run("train", folder / "e.toml", "--model", tmp_path / "other", "-q") == Result(0, "", "")
    assert (tmp_path / "other").read_bytes() == (folder / "from-file").read_bytes()
    (folder / "from-file").unlink()


def test_plain_options_say_the_same(folder: Path, tmp_path: Path) -> None:
    run("train", folder / "e.toml", "--model", tmp_path / "file", "-q")
    questions = folder / "data/questions.conllu.gz"
    result = plain(
        folder,
        tmp_path / "flags",
        *("--also", f"root:{questions}@0.5", "--set", f"objective.1.dev={folder / 'data/qdev.conllu'}", "-q"),
    )
    assert result == Result(0, "", "")
    assert storage.load(tmp_path / "file").state()[0] == storage.load(tmp_path / "flags").state()[0]
    assert weights_of(tmp_path / "file") == weights_of(tmp_path / "flags")
    # What is noted differs in the folder that paths are relative to, and in nothing else.
    noted = json.dumps(info_of(tmp_path / "file")).replace("data/", "")
    assert json.loads(noted) == info_of(tmp_path / "flags")


def test_the_configuration_of_a_model_trains_it_again(folder: Path, tmp_path: Path) -> None:
    changes = sets("learner.learner=mira", "learner.clip=inf", "objective.questions.k=4")
    assert run("train", folder / "e.toml", "--model", tmp_path / "first", "-q", *changes).code == 0
    result = run("info", tmp_path / "first", "--config")
    assert (result.code, result.err) == (0, "")
    lines = result.out.split("\n")
    assert lines[:2] == [
        "# Trains first again: treetune train THIS.toml --model OUT (treetune 0.1.0).",
        "# Paths are relative to this file. The files were:",
    ]
    described = info_of(tmp_path / "first")["training"]["train"]
    assert f"# train.conllu: sha256 {described['sha256']}" in lines
    assert {"clip = inf", "k = 4", "max_k = 64", 'update = "max-violation"', "min_count = 2"} <= set(lines)
    again = folder / "again.toml"
    again.write_text(result.out)
    assert run("train", again, "--model", tmp_path / "again", "-q").code == 0
    again.unlink()
    assert (tmp_path / "first").read_bytes() == (tmp_path / "again").read_bytes()
    # `info --all` shows it too, indented.
    shown = run("info", tmp_path / "first", "--all").out
    assert '\n\nconfiguration\n  [model]\n  parser = "transition"\n  backward = false\n  beam = 4\n' in shown
    assert "training.objectives.questions.data.sentences" in shown


def test_every_key_changes_the_weights(folder: Path, tmp_path: Path) -> None:
    models = {}
    for number, change in enumerate(
        (
            None,
            "model.beam=2",
            "model.min_count=1",
            "learner.update=early",
            "train.seed=2",
            "train.epochs=4",
            "train.projectivize=false",
            "objective.1.rate=2",
            "objective.1.start=1",
            "objective.1.search=forced",
            "objective.1.k=64",
            "objective.1.max_k=8",
            "objective.1.data=data/qdev.conllu",
            "objective.1.step=perceptron",
            "objective.1.word_dropout=0.5",
            "objective.1.margin_updates=true",
            "run.threads=2",
        )
    ):
        out = tmp_path / str(number)
        options = () if change is None else ("--set", change)
        assert run("train", folder / "e.toml", "--model", out, "-q", *options).code == 0
        models[change] = weights_of(out)
    # Threads are about the run; the generated treebank has no crossing arcs to leave out.
    for change in ("run.threads=2", "train.projectivize=false"):
        assert models.pop(change) == models[None]
    for change, weights in models.items():
        assert sum(weights == others for others in models.values()) == 1, change


def test_every_loss_leads_to_other_weights(folder: Path, tmp_path: Path) -> None:
    """On whole trees: where only the root is known, most losses say the same."""
    models = []
    for loss in ("root", "zero-one", "attachment", "{name='attachment', labelled=false}", "arc-length"):
        trees = [f"objective.1.{key}=data/trees.conllu" for key in ("data", "dev")]
        changes = sets(*trees, f"objective.1.loss={loss}")
        assert run("train", folder / "e.toml", "--model", tmp_path / "m", "-q", *changes).code == 0
        assert weights_of(tmp_path / "m") not in models, loss
        models.append(weights_of(tmp_path / "m"))


def test_the_report_has_tallies(folder: Path, tmp_path: Path) -> None:
    result = run(
        "train", folder / "e.toml", "--model", tmp_path / "m", "--set", f"run.log={tmp_path / 'log.jsonl'}", "--json"
    )
    content = json.loads(result.out)
    logged = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert logged == content["epochs"]
    assert [entry["epoch"] for entry in logged] == [1, 2, 3]
    for entry in logged:
        first, questions = entry["objectives"]
        assert (first["name"], first["seen"], first["cost"], first["no_better"]) == ("treebank", 200, None, 0)
        assert first["updated"] == entry["updated"]
        assert questions["name"] == "questions"
        assert 0 <= questions["dev_cost"] <= 1
    assert [entry["objectives"][1]["seen"] for entry in logged] == [0, 0, 100]
    last = logged[-1]["objectives"][1]
    assert last["updated"] + last["already_best"] + last["no_better"] == 100
    assert 0 <= last["target_cost"] <= last["cost"] <= 1
    best = [entry for entry in logged if entry["best"]][-1]
    assert content["info"]["scores"]["costs"] == {"questions": best["objectives"][1]["dev_cost"]}
    assert content["info"]["scores"]["dev"] == best["dev"]


def test_the_best_epoch_by_an_objective(folder: Path, tmp_path: Path) -> None:
    options = (*sets("train.choose_by=questions", "train.epochs=6"), "--json", "-q")
    content = json.loads(run("train", folder / "e.toml", "--model", tmp_path / "m", *options).out)
    # Of the epochs in which the objective took part: from its start, the third.
    costs = [entry["objectives"][1]["dev_cost"] for entry in content["epochs"]][2:]
    assert content["info"]["training"]["best_epoch"] == 3 + costs.index(min(costs))
    assert content["info"]["config"]["train"]["choose_by"] == "questions"


def test_the_best_epoch_by_a_metric(folder: Path, tmp_path: Path) -> None:
    for metric in ("root", "UALS"):
        result = plain(folder, tmp_path / "m", "--set", f"train.choose_by={metric}", "--epochs", 6, "--json", "-q")
        content = json.loads(result.out)
        scores = [entry["dev"][metric] for entry in content["epochs"]]
        assert content["info"]["training"]["best_epoch"] == 1 + scores.index(max(scores))


def test_fine_tuning_a_model(folder: Path, tmp_path: Path) -> None:
    questions, old = folder / "data/questions.conllu.gz", folder / "old.treetune"
    # With its treebank, and without.
    with_old = run(
        *("train", folder / "data/train.conllu", "--start-from", old, "--also", f"root:{questions}"),
        *("--epochs", 1, "--model", tmp_path / "with"),
    )
    without = run("train", "--start-from", old, "--also", f"root:{questions}", "--epochs", 1, "--model", tmp_path / "m")
    assert (with_old.code, without.code) == (0, 0)
    assert "epoch 1/1  updated on " in with_old.err
    assert "of 200 sentences" in with_old.err
    assert "\n  questions  200 seen" in with_old.err
    assert "of 60 sentences" in without.err
    assert "\n  questions  60 seen" in without.err
    info = info_of(tmp_path / "m")
    assert info["training"]["start_from"]["name"] == "old.treetune"
    assert info["config"]["model"] == {"start_from": "old.treetune", "beam": 4, "margin": 0.0}
    assert info["config"]["train"].get("treebank") is None
    bytes_of = {path.name: path.read_bytes() for path in (tmp_path / "m", tmp_path / "with", old)}
    assert len(set(bytes_of.values())) == 3
    # Another beam for fine-tuning.
    assert (
        run("train", "--start-from", old, "--also", f"root:{questions}", "--beam", 2, "--model", tmp_path / "n").code
        == 0
    )
    assert info_of(tmp_path / "n")["config"]["model"]["beam"] == 2


def test_gold_trees_as_an_objective(folder: Path, tmp_path: Path) -> None:
    result = plain(folder, tmp_path / "m", "--also", f"trees:{folder / 'data/trees.conllu'}@2")
    assert result.code == 0
    (line,) = [line for line in result.err.split("\n") if line.startswith("  trees  ")]
    assert line.startswith("  trees  400 seen  ")
    assert "cost" not in line
    assert "no better candidate" not in line


def test_names_of_objectives_are_those_of_their_files(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "LAS.conllu").write_bytes((folder / "data/qdev.conllu").read_bytes())
    (tmp_path / "treebank.conllu").write_bytes((folder / "data/qdev.conllu").read_bytes())
    questions = folder / "data/questions.conllu.gz"
    files = (questions, questions, questions, tmp_path / "LAS.conllu", tmp_path / "treebank.conllu")
    also = [option for file in files for option in ("--also", f"root:{file}@.1")]
    assert plain(folder, tmp_path / "m", *also, "-q") == Result(0, "", "")
    names = [table["name"] for table in info_of(tmp_path / "m")["config"]["objective"]]
    assert names == ["questions", "questions-2", "questions-3", "LAS-2", "treebank-2"]


@pytest.mark.parametrize(
    ("also", "message"),
    [
        ("root", "--also: expected LOSS:FILE or LOSS:FILE@RATE, as in root:questions.conllu, found 'root'"),
        ("root:", "--also: expected LOSS:FILE or LOSS:FILE@RATE, as in root:questions.conllu, found 'root:'"),
        (":q", "--also: expected LOSS:FILE or LOSS:FILE@RATE, as in root:questions.conllu, found ':q'"),
        ("root:@2", "--also: expected LOSS:FILE or LOSS:FILE@RATE, as in root:questions.conllu, found 'root:@2'"),
        (
            "rot:q.conllu",
            "--also rot:q.conllu: unknown loss 'rot'; known: arc-length, attachment, entity-f1, entity-hamming, "
            "main-verb, nlf, partial-tree, program, python, reordering, root, tags, trees, weighted, "
            "zero-one (did you mean 'root'?)",
        ),
        ("root:q.conllu@0", "q: rate must be a number above 0, found 0.0"),
        ("program:q.conllu", "loss program needs the option 'command'"),
    ],
)
def test_wrong_objectives(tmp_path: Path, also: str, message: str) -> None:
    result = run("train", tmp_path / "none.conllu", "--also", also, "--model", tmp_path / "m")
    assert (result.code, result.out, result.err) == (2, "", f"error: {message}\n")


def test_options_replace_settings_of_the_file(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths of options start at the current folder, those of --set at that of the file."""
    monkeypatch.chdir(tmp_path)
    relative = os.path.relpath(folder, tmp_path)
    replaced = ("--epochs", 4, "--beam", 2, "--dev", f"{relative}/data/train.conllu", "--model", "by-options", "-q")
    also = ("--also", f"trees:{relative}/data/trees.conllu")
    assert run("train", f"{relative}/e.toml", *replaced, *also) == Result(0, "", "")
    changed = CONFIG.replace("beam = 4", "beam = 2").replace("epochs = 3", "epochs = 4")
    changed = changed.replace("data/dev.conllu", "data/train.conllu")
    (folder / "changed.toml").write_text(changed + '[[objective]]\nname = "trees"\ndata = "data/trees.conllu"\n')
    assert run("train", folder / "changed.toml", "-q", *sets(f"run.model={tmp_path / 'by-file'}")).code == 0
    (folder / "changed.toml").unlink()
    assert Path("by-options").read_bytes() == Path("by-file").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("train.epoch=3", "[train]: unknown key 'epoch'; known: "),
        ("train.epochs=3x", '[train] epochs: expected a whole number of at least 1, found "3x"'),
        ("objective.questions.rates=3", "[objective.questions]: unknown key 'rates'; known: "),
        (
            "objective.questions.loss.labelled=false",
            "[objective.questions]: loss root has no options, found 'labelled'",
        ),
    ],
)
def test_wrong_changes(folder: Path, change: str, message: str) -> None:
    result = run("train", folder / "e.toml", "--set", change)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {folder / 'e.toml'}: {message}")
    assert result.err.count("\n") == 1
    result = run("train", folder / "e.toml", "--set", "epochs=3")
    assert (result.code, result.err) == (2, "error: expected a change as table.key=value, found 'epochs=3'\n")


def test_a_model_must_be_named(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text('[train]\ntreebank = "t.conllu"\n')
    result = run("train", path)
    assert (result.code, result.err) == (
        2,
        f'error: {path}: expected model = "OUT" in [run], or the option --model OUT, found neither\n',
    )


def test_a_treebank_or_an_objective_is_needed(folder: Path, tmp_path: Path) -> None:
    result = run("train", "--model", tmp_path / "m")
    assert (result.code, result.err) == (
        2,
        "error: expected a treebank to train on (TRAIN), or a model to fine-tune (--start-from), found none\n",
    )
    result = run("train", "--model", tmp_path / "m", "--start-from", folder / "old.treetune")
    assert (result.code, result.err) == (
        2,
        "error: expected a treebank (TRAIN) or an objective (--also), found neither\n",
    )


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--parser", "graph"), 2, "--start-from fine-tunes the parser of {old}; leave --parser out"),
        (("--features", "hall2011"), 2, "unknown search option of transition parsers 'features'; known: beam, margin"),
        (("--set", "model.decoder=projective"), 2, "model.decoder is an option of graph parsers; the parser is"),
        (
            ("--set", "learner.learner=perceptron"),
            2,
            "the model was trained by the learner mira, whose weights are of another scale",
        ),
        (("--start-from", "{tmp}/none"), 1, "cannot read the model {tmp}/none: there is no such file"),
        (("--model", "{old}"), 2, "--model would replace {old}, from which the training starts; give another name"),
    ],
)
def test_what_cannot_be_fine_tuned(
    folder: Path, tmp_path: Path, options: tuple[str, ...], code: int, message: str
) -> None:
    old, none = folder / "old.treetune", folder / "none.conllu"
    filled = [option.format(tmp=tmp_path, old=old) for option in options]
    result = run("train", none, "--start-from", old, "--model", tmp_path / "m", *filled)
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(f"error: {message.format(tmp=tmp_path, old=old)}")


def test_choosing_by_what_is_not_there(folder: Path, tmp_path: Path) -> None:
    treebank = folder / "data/train.conllu"
    result = run("train", treebank, "--set", "train.choose_by=UAS", "--model", tmp_path / "m")
    assert (result.code, result.err) == (2, "error: train.choose_by: UAS is measured on development data; give --dev\n")
    result = plain(folder, tmp_path / "m", "--set", "train.choose_by=questions")
    assert result.code == 2
    assert result.err.startswith("error: train.choose_by: expected one of UAS, LAS, ")


def test_data_that_cannot_serve_names_the_sentence(folder: Path, tmp_path: Path) -> None:
    unknown = [Example(e.sentence, Tree.unknown(len(e.sentence))) for e in treebank(train=3, dev=0, test=0).train]
    write_trees(unknown, tmp_path / "unknown.conllu")
    result = plain(folder, tmp_path / "m", "--also", f"root:{tmp_path / 'unknown.conllu'}")
    assert result.code == 1
    assert result.err == (
        "error: unknown: sentence 1 (sent_id sample-0-1): loss root needs a reference with exactly one root "
        "(a word with head 0), found 0\n"
    )


def test_a_loss_in_python_and_a_program(folder: Path, tmp_path: Path) -> None:
    (folder / "my_losses.py").write_text("def missed(sentence, tree, gold):\n    return tree.roots != gold.roots\n")
    (folder / "metric.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    item = json.loads(line)\n"
        "    print(int(item['candidate']['heads'].index(0) != item['reference']['heads'].index(0)), flush=True)\n"
    )
    models = []
    for number, loss in enumerate(
        (
            '"root"',
            '{name = "python", function = "my_losses.py:missed"}',
            f'{{name = "program", command = [{json.dumps(sys.executable)}, "metric.py"]}}',
        )
    ):
        out = tmp_path / str(number)
        result = run("train", folder / "e.toml", "--model", out, "--set", f"objective.1.loss={loss}", "-q")
        assert result == Result(0, "", "")
        models.append(storage.load(out).state()[1])
    (folder / "my_losses.py").unlink()
    (folder / "metric.py").unlink()
    # Three ways to say the same.
    assert len({tuple(array.tobytes() for array in model.values()) for model in models}) == 1


def test_models_without_a_configuration(tmp_path: Path, stub_model: StubParser) -> None:
    storage.save(stub_model, tmp_path / "m", {"licence": "CC0"})
    result = run("info", tmp_path / "m", "--config")
    assert (result.code, result.err) == (
        1,
        f"error: {tmp_path / 'm'} stores no configuration: only models of 'treetune train' do\n",
    )
    assert "configuration" not in run("info", tmp_path / "m").out
    result = run("info", tmp_path / "m", "--config", "--json")
    assert (result.code, result.err) == (
        2,
        "error: --config writes TOML, and --json has the configuration in it; leave one of them out\n",
    )


@pytest.mark.slow
def test_graph_parsers_learn_from_objectives_too(folder: Path, tmp_path: Path) -> None:
    options = ("--set", "model.beam=8")
    path = tmp_path / "graph.toml"
    path.write_text(CONFIG.replace("beam = 4", 'parser = "graph"').replace('"data/', f'"{folder}/data/'))
    assert run("train", path, *options).code == 2
    result = run("train", path, "--json", "-q")
    assert result.code == 0
    content = json.loads(result.out)
    assert content["info"]["config"]["model"]["parser"] == "graph"
    assert content["info"]["config"]["learner"]["learner"] == "mira"
    assert content["epochs"][-1]["objectives"][1]["seen"] == 100
