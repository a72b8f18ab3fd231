"""Training that is interrupted or killed, and then resumed: the model is the same, byte for byte."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from commandline import Result, run, sets, stop_after

from stub_parser import StubParser, stub_model_fixture
from treetune.cli import training_progress
from treetune.corpus.sentence import UNKNOWN_HEAD, Example, Tree
from treetune.corpus.treebank import write_trees
from treetune.errors import LossError
from treetune.sample import QUESTIONS, treebank

__all__ = ["stub_model_fixture"]

PYTHON = (sys.executable, "-m", "treetune")
EPOCHS = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, and `whole`, the model of a training that nobody interrupted."""
    folder = tmp_path_factory.mktemp("resume")
    statements = treebank(train=250, dev=40, test=0, seed=1)
    write_trees(statements.train, folder / "train.conllu")
    write_trees(statements.dev, folder / "dev.conllu")
    questions = treebank(train=100, dev=0, test=0, seed=1, kinds=QUESTIONS).train
    heads = [[0 if head == 0 else UNKNOWN_HEAD for head in example.gold.heads[1:]] for example in questions]
    pairs = zip(questions, heads, strict=True)
    write_trees((Example(example.sentence, Tree.of(known)) for example, known in pairs), folder / "questions.conllu")
    assert run(
        "train", *arguments(folder, folder / "perceptron"), "--set", f"run.log={folder / 'whole.jsonl'}", "-q"
    ) == Result(0, "", "")
    return folder


def arguments(folder: Path, model: Path, *options: object) -> list[object]:
    return [
        *(folder / "train.conllu", "--dev", folder / "dev.conllu", "--also", f"root:{folder / 'questions.conllu'}"),
        *("--beam", 4, "--epochs", EPOCHS, "--model", model, *options),
    ]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def logged(path: Path) -> list[dict[str, Any]]:
    """Return the records of a log, without what differs from run to run."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in record.items() if key != "cpu_seconds"} for record in records]


@pytest.mark.parametrize("epochs", [1, 4, EPOCHS - 1])
def test_ctrl_c_and_resume(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epochs: int) -> None:
    model, log = tmp_path / "m", tmp_path / "log.jsonl"
    with monkeypatch.context() as patch:
        stop_after(patch, epochs, KeyboardInterrupt())
        result = run("train", *arguments(folder, model, "--set", f"run.log={log}", "-q"))
    assert (result.code, result.out, result.err) == (
        130,
        "",
        f"interrupted: {model} was not written; {epochs} of {EPOCHS} epochs are in {model}.checkpoint; "
        "the same command with --resume continues from there\n",
    )
    assert names(tmp_path) == ["log.jsonl", "m.checkpoint", "m.checkpoint.jsonl"]
    assert len(logged(log)) == epochs
    # Nothing is lost by forgetting to resume.
    result = run("train", *arguments(folder, model, "-q"))
    assert (result.code, result.err) == (
        2,
        f"error: {model}.checkpoint is of a training that was interrupted; add --resume to continue it, or remove it\n",
    )
    result = run("train", *arguments(folder, model, "--resume", "--set", f"run.log={log}", "--json"))
    assert result.code == 0
    # Before the objective has started no epoch can be the best.
    assert result.err.startswith("resumed\n" if epochs == 1 else "resumed; best so far: epoch ")
    assert model.read_bytes() == (folder / "perceptron").read_bytes()
    assert names(tmp_path) == ["log.jsonl", "m"]
    assert logged(log) == logged(folder / "whole.jsonl")
    # The report has the epochs before the interruption too.
    assert [record["epoch"] for record in json.loads(result.out)["epochs"]] == list(range(1, EPOCHS + 1))


@pytest.mark.skipif(os.name == "nt", reason="no signals")
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_killed(folder: Path, tmp_path: Path, sign: signal.Signals) -> None:
    model = tmp_path / "m"
    command = [*PYTHON, "train", *map(str, arguments(folder, model))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "m.checkpoint").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(sign)
        _, errors = process.communicate()
    if sign == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 128 + sign
        title = "interrupted" if sign == signal.SIGINT else f"ended by {sign.name}"
        assert errors.splitlines()[-1].startswith(f"{title}: {model} was not written; ")
        assert errors.endswith("the same command with --resume continues from there\n")
        assert [name for name in names(tmp_path) if name.startswith(".")] == []
    assert not model.exists()
    assert run("train", *arguments(folder, model, "--resume", "-q")) == Result(0, "", "")
    assert model.read_bytes() == (folder / "perceptron").read_bytes()
    # Nor what the killed process had no time to remove.
    assert names(tmp_path) == ["m"]


@pytest.mark.skipif(os.name == "nt", reason="no signals and no locks")
def test_a_second_training_to_one_model_or_checkpoint_is_refused(folder: Path, tmp_path: Path) -> None:
    model, checkpoint = tmp_path / "m", tmp_path / "m.checkpoint"
    command = [*PYTHON, "train", *map(str, arguments(folder, model)), "-q"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not checkpoint.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        try:
            before = names(tmp_path)
            owner = rf"\(process {process.pid} on [-.\w]+\)"
            advice = "wait until it has ended, or give another --model"
            for target, options in [
                (model, ()),
                (model, ("--resume",)),
                (model, ("--set", "run.checkpoint=false")),
                (tmp_path / "other", ("--resume", "--set", f"run.checkpoint={checkpoint}")),
            ]:
                result = run("train", *arguments(folder, target, *options))
                held = model if target == model else checkpoint
                assert result.code == 2
                assert re.fullmatch(
                    rf"error: {held} is being written by another training {owner}; {advice}\n", result.err
                )
                assert names(tmp_path) == before
        finally:
            process.send_signal(signal.SIGCONT)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert model.read_bytes() == (folder / "perceptron").read_bytes()
    assert names(tmp_path) == ["m"]


def test_killed_when_all_was_done_but_the_model(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "m"
    with monkeypatch.context() as patch:
        patch.setattr("treetune.cli.train.save", interrupt)
        result = run("train", *arguments(folder, model, "-q"))
    assert (result.code, result.err) == (
        130,
        f"interrupted: {model} was not written; {EPOCHS} of {EPOCHS} epochs are in {model}.checkpoint; "
        "the same command with --resume continues from there\n",
    )
    assert "m.checkpoint" in names(tmp_path)
    assert run("train", *arguments(folder, model, "--resume", "-q")) == Result(0, "", "")
    assert model.read_bytes() == (folder / "perceptron").read_bytes()


def interrupt(*args: object, **options: object) -> None:
    raise KeyboardInterrupt


def test_without_dev_the_last_epoch_is_kept_also_after_resuming(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = ("train", folder / "train.conllu", "--beam", 2, "--epochs", 3, "-q")
    assert run(*base, "--model", tmp_path / "perceptron") == Result(0, "", "")
    for epochs in (1, 3):
        model = tmp_path / f"m{epochs}"
        with monkeypatch.context() as patch:
            if epochs == 3:
                patch.setattr("treetune.cli.train.save", interrupt)
            else:
                stop_after(patch, epochs, KeyboardInterrupt())
            assert run(*base, "--model", model).code == 130
        assert run(*base, "--model", model, "--resume") == Result(0, "", "")
        assert model.read_bytes() == (tmp_path / "perceptron").read_bytes()


def test_records_that_were_lost_do_not_change_the_model(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, kept = tmp_path / "m", tmp_path / "m.checkpoint.jsonl"
    with monkeypatch.context() as patch:
        stop_after(patch, 3, KeyboardInterrupt())
        run("train", *arguments(folder, model, "-q"))
    # Killed between the checkpoint and its record, in the middle of a line.
    kept.write_bytes(kept.read_bytes()[:-20])
    result = run("train", *arguments(folder, model, "--resume", "--json", "--set", f"run.log={tmp_path / 'l'}", "-q"))
    assert result.code == 0
    assert [record["epoch"] for record in json.loads(result.out)["epochs"]] == [1, 2, *range(4, EPOCHS + 1)]
    assert len(logged(tmp_path / "l")) == EPOCHS - 1
    assert model.read_bytes() == (folder / "perceptron").read_bytes()


def test_a_loss_that_fails_leaves_a_checkpoint(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "m"
    with monkeypatch.context() as patch:
        stop_after(patch, 2, LossError("the loss is tired"))
        result = run("train", *arguments(folder, model, "-q"))
    assert (result.code, result.err) == (
        1,
        f"2 of {EPOCHS} epochs are in {model}.checkpoint; the same command with --resume continues from there\n"
        "error: the loss is tired\n",
    )


def test_a_damaged_checkpoint_is_not_recommended(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, checkpoint = tmp_path / "m", tmp_path / "m.checkpoint"
    with monkeypatch.context() as patch:
        stop_after(patch, 2, KeyboardInterrupt())
        run("train", *arguments(folder, model, "-q"))
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    result = run("train", *arguments(folder, model, "--resume", "-q"))
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"error: cannot read the checkpoint {checkpoint}: ")
    assert result.err.endswith("; remove it to start from the beginning\n")
    assert result.err.count("\n") == 1


def test_other_options_are_not_resumed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "m"
    with monkeypatch.context() as patch:
        stop_after(patch, 2, KeyboardInterrupt())
        run("train", *arguments(folder, model, "-q"))
    for options in (("--seed", 2), ("--beam", 2), ("--epochs", 7)):
        result = run("train", *arguments(folder, model, *options, "--resume", "-q"))
        assert (result.code, result.err) == (
            2,
            f"error: the checkpoint {model}.checkpoint is of a training with other data or options; "
            "resume with the same ones, or remove it to start from the beginning\n",
        )
    assert "m.checkpoint" in names(tmp_path)


def test_nothing_to_resume_from(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m"
    result = run("train", *arguments(folder, model, "--resume"))
    assert result.code == 0
    assert result.err.startswith("there is no checkpoint to resume from; starting from the beginning\nepoch 1/6  ")
    assert model.read_bytes() == (folder / "perceptron").read_bytes()


def test_a_checkpoint_elsewhere_or_none(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    seen: list[str] = []

    def follow(*args: Any, **options: Any) -> None:
        original(*args, **options)
        seen.extend(name for name in (*names(tmp_path), *names(elsewhere)) if not name.endswith(".lock"))

    original = training_progress.follow
    monkeypatch.setattr("treetune.cli.train.follow", follow)
    options = ("--epochs", 2, "-q")
    run("train", *arguments(folder, tmp_path / "m", "--set", f"run.checkpoint={elsewhere / 'c'}", *options))
    assert seen == ["other", "c", "c.jsonl"]
    assert (names(tmp_path), names(elsewhere)) == (["m", "other"], [])
    seen.clear()
    run("train", *arguments(folder, tmp_path / "m", "--set", "run.checkpoint=false", *options))
    assert seen == ["m", "other"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((*sets("run.checkpoint=false"), "--resume"), "run.checkpoint = false contradicts --resume; leave one of them"),
        (sets("run.log={tmp}/m"), "--model and run.log name the same file, {tmp}/m; give another name"),
        (
            sets("run.plot={tmp}/l.svg", "run.log={tmp}/l.svg"),
            "run.log and run.plot name the same file, {tmp}/l.svg; give",
        ),
        (sets("run.checkpoint={tmp}"), "cannot write the checkpoint {tmp}: it is a directory; give the name of a file"),
        (sets("run.log=-"), "the log is not written to stdout (-); give the name of a file"),
        (sets("run.log={tmp}"), "cannot write the log {tmp}: it is a directory; give the name of a file"),
        (sets("run.log={tmp}/no/l"), "cannot write the log {tmp}/no/l: there is no folder {tmp}/no; create it first"),
        (sets("run.plot={tmp}/no/p.svg"), "cannot write the plot {tmp}/no/p.svg: there is no folder {tmp}/no; create"),
        (sets("run.log={tmp}/old"), "the log {tmp}/old exists already; remove it, or give another name"),
        ((*sets("run.log={tmp}/old"), "--resume"), "the log {tmp}/old exists already; remove it, or give another name"),
    ],
)
def test_files_are_checked_before_any_data_is_read(
    tmp_path: Path, stub_model: StubParser, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "old").write_text("")
    filled = [option.format(tmp=tmp_path) for option in options]
    result = run("train", tmp_path / "none.conllu", "--parser", "stub", "--model", tmp_path / "m", *filled)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {message.format(tmp=tmp_path)}")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable(tmp_path: Path, stub_model: StubParser) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    result = run("train", "x", "--parser", "stub", "--model", tmp_path / "m", "--set", f"run.log={closed / 'l'}")
    assert (result.code, result.err) == (
        2,
        f"error: cannot write the log {closed / 'l'}: the folder {closed} is not writable\n",
    )


@pytest.mark.parametrize("content", ["not JSON\n", "[]\n", '{"a": 1}\n'])
def test_a_log_of_something_else_is_left_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    model, log = tmp_path / "m", tmp_path / "log"
    with monkeypatch.context() as patch:
        stop_after(patch, 1, KeyboardInterrupt())
        run("train", *arguments(folder, model, "-q"))
    log.write_text(content)
    result = run("train", *arguments(folder, model, "--resume", "--set", f"run.log={log}", "-q"))
    assert (result.code, result.err) == (2, f"error: {log} is not a log of treetune; remove it, or give another name\n")
    assert log.read_text() == content
    assert "m.checkpoint" in names(tmp_path)


Pipeline = tuple[list[object], bytes, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def pipeline(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """The arguments of a training of a pipeline, its model, and its log."""
    small = sets("pipeline.jackknife=2", "pipeline.tagger_epochs=2", "pipeline.tokenizer_epochs=4")
    data = (folder / "train.conllu", "--dev", folder / "dev.conllu")
    command = [*data, "--task", "pipeline", "--beam", 2, "--epochs", 3, "-q", *small]
    place = tmp_path_factory.mktemp("pipeline")
    log = sets(f"run.log={place / 'log.jsonl'}")
    assert run("train", *command, "--model", place / "m", *log) == Result(0, "", "")
    return command, (place / "m").read_bytes(), logged(place / "log.jsonl")


@pytest.mark.parametrize(("stage", "done"), [("jackknife", 1), ("parser", 2)])
def test_a_pipeline_is_resumed(
    pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, done: int
) -> None:
    command, whole, records = pipeline
    model, log = tmp_path / "m", tmp_path / "log.jsonl"
    options = ("--model", model, *sets(f"run.log={log}"))
    with monkeypatch.context() as patch:
        stop_after(patch, done, KeyboardInterrupt(), stage=stage)
        assert run("train", *command, *options).err == (
            f"interrupted: {model} was not written; what was trained so far is in {model}.checkpoint; "
            "the same command with --resume continues from there\n"
        )
    assert run("train", *command, *options, "--resume") == Result(0, "", "")
    assert model.read_bytes() == whole
    assert logged(log) == records
    assert names(tmp_path) == ["log.jsonl", "m"]


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_a_pipeline_that_is_killed(pipeline: Pipeline, tmp_path: Path) -> None:
    command, whole, _ = pipeline
    model = tmp_path / "m"
    with subprocess.Popen([*PYTHON, "train", *map(str, command), "--model", str(model)]) as process:
        while not list(tmp_path.glob("m.checkpoint/*")):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert not model.exists()
    assert run("train", *command, "--model", model, "--resume") == Result(0, "", "")
    assert model.read_bytes() == whole


def test_a_tokenizer_is_resumed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("train", folder / "train.conllu", "--task", "tokenizer", "--epochs", 4, "-q", "--model")
    assert run(*command, tmp_path / "whole") == Result(0, "", "")
    with monkeypatch.context() as patch:
        stop_after(patch, 2, KeyboardInterrupt(), stage="tokenizer")
        assert "2 of 4 epochs are in " in run(*command, tmp_path / "m").err
    assert run(*command, tmp_path / "m", "--resume") == Result(0, "", "")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()
