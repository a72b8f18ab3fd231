"""The entry point: help, version, exit codes, and which exceptions become one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from cli_samples import PLAIN
from commandline import run

import treetune
from stub_parser import trained
from treetune import storage
from treetune.cli import evaluate as evaluate_module
from treetune.cli.console import EXIT_CODES
from treetune.cli.signals import Ending
from treetune.errors import ConfigError, DataError, ModelError, TreetuneError

COMMANDS = (
    "train",
    "parse",
    "tag",
    "evaluate",
    "reorder",
    "jackknife",
    "rerank",
    "clusters",
    "info",
    "demo",
    "compile",
)
PYTHON = (sys.executable, "-m", "treetune")


@pytest.mark.parametrize("arguments", [(), *((command,) for command in COMMANDS)])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_has_the_exit_codes(arguments: tuple[str, ...], flag: str) -> None:
    result = run(*arguments, flag)
    assert (result.code, result.err) == (0, "")
    text = " ".join(result.out.split())
    assert EXIT_CODES in text


def test_without_a_command_help_is_shown_as_wrong_usage() -> None:
    result = run()
    assert result.code == 2
    assert all(f" {command} " in result.out for command in COMMANDS)


def test_a_group_without_a_command_shows_its_help_alone() -> None:
    for group in ("filter", "nlf"):
        result = run(group)
        assert (result.code, result.err) == (2, "")
        assert f"Usage: treetune {group} " in result.out


def test_version() -> None:
    result = run("--version")
    assert (result.code, result.out, result.err) == (0, f"treetune {treetune.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("prase",), "No such command 'prase'. Did you mean 'parse'?"),
        (("info",), "Missing argument"),
        (("info", "a", "b"), "Got unexpected extra argument"),
        (("info", "a", "--jsn"), "No such option"),
    ],
)
def test_wrong_usage_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {message}")
    assert result.err.endswith("--help')\n")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (DataError("bad", path="f", line=3), 1, "error: f:3: bad"),
        (ModelError("worse"), 1, "error: worse"),
        (ConfigError("no such thing"), 2, "error: no such thing"),
        (TreetuneError("two\n  lines"), 1, "error: two lines"),
        (PermissionError(13, "Permission denied", "f"), 1, "error: f: Permission denied"),
        (OSError(28, "No space left on device"), 1, "error: No space left on device"),
        (
            MemoryError("Unable to allocate 9 TB"),
            1,
            "error: out of memory (Unable to allocate 9 TB); try a smaller beam, shorter k-best lists or fewer threads",
        ),
        (MemoryError(), 1, "error: out of memory; try a smaller beam, shorter k-best lists or fewer threads"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_become_one_line(error: BaseException, code: int, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(evaluate_module, "read_trees", fail)
    result = run("evaluate", "a", "b")
    assert (result.code, result.out, result.err) == (code, "", line + "\n")


@pytest.mark.filterwarnings("default")
def test_warnings_become_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*args: object, **options: object) -> None:
        warnings.warn("kernels are kept elsewhere", RuntimeWarning, stacklevel=2)
        raise DataError("and then")

    monkeypatch.setattr(evaluate_module, "read_trees", warn)
    assert run("evaluate", "a", "b").err == "warning: kernels are kept elsewhere\nerror: and then\n"


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(evaluate_module, "read_trees", fail)
    with pytest.raises(ZeroDivisionError):
        run("evaluate", "a", "b")


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (("parse", "en", "{kept}", "-o", "{kept}"), "--output"),
        (("parse", "--text", "{kept}", "-o", "{kept}"), "--output"),
        (("parse", "{kept}", "other", "-o", "{kept}"), "--output"),
        (("parse", "other", "other", "--base", "{kept}", "-o", "{kept}"), "--output"),
        (("tag", "other", "{kept}", "-o", "{kept}"), "--output"),
        (("tag", "{kept}", "other", "-o", "{kept}"), "--output"),
        (("tag", "other", "other", "--tagger", "{kept}", "-o", "{kept}"), "--output"),
        (("reorder", "{kept}", "--to", "ja", "-o", "{kept}"), "--output"),
        (("reorder", "other", "--to", "{kept}", "-o", "{kept}"), "--output"),
        (("reorder", "--restore", "{kept}", "-o", "{kept}"), "--output"),
        (("reorder", "{kept}", "--to", "ja", "--draw", "{kept}"), "--draw"),
        (("reorder", "learn", "{kept}", "-o", "{kept}"), "--output"),
        (("reorder", "learn", "other", "--model", "{kept}", "-o", "{kept}"), "--output"),
        (("reorder", "learn", "other", "--prior", "{kept}", "-o", "{kept}"), "--output"),
        (("reorder", "parallel", "other", "{kept}", "--to", "ja", "-o", "{kept}"), "--output"),
        (("reorder", "align", "{kept}", "other", "-o", "{kept}"), "--output"),
        (("reorder", "align", "other", "other", "--links", "{kept}", "-o", "{kept}"), "--output"),
        (("jackknife", "{kept}", "-o", "{kept}"), "--output"),
        (("clusters", "other", "{kept}", "-o", "{kept}"), "--output"),
        (("rerank", "{kept}", "other", "--model", "{kept}"), "--model"),
        (("rerank", "other", "{kept}", "--model", "{kept}"), "--model"),
        (("rerank", "other", "other", "--dev", "{kept}", "--model", "{kept}"), "--model"),
        (("train", "{kept}", "--model", "{kept}"), "--model"),
        (("train", "other", "--dev", "{kept}", "--model", "{kept}"), "--model"),
        (("train", "other", "--also", "root:{kept}", "--model", "{kept}"), "--model"),
        (("train", "{kept}", "--task", "tag", "--model", "{kept}"), "--model"),
        (("train", "{kept}", "--task", "tokenizer", "--model", "{kept}"), "--model"),
        (("train", "other", "--dev", "{kept}", "--task", "pipeline", "--model", "{kept}"), "--model"),
    ],
)
def test_no_command_replaces_what_it_reads(arguments: tuple[str, ...], flag: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.conllu"
    kept.write_text(PLAIN)
    result = run(*(argument.format(kept=kept) for argument in arguments))
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: {flag} would replace {kept}, which is read; give another name\n"
    assert kept.read_text() == PLAIN


@pytest.mark.parametrize("name", ["e.toml", "mine.txt"])
def test_training_replaces_neither_its_configuration_nor_its_templates(name: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("[top]\nS0.w\n")
    experiment = tmp_path / "e.toml"
    experiment.write_text('[train]\ntreebank = "none.conllu"\n[model]\nfeatures = "mine.txt"\n')
    before = (tmp_path / name).read_text()
    result = run("train", experiment, "--model", tmp_path / name)
    assert result.err == f"error: [run] model would replace {tmp_path / name}, which is read; give another name\n"
    assert (result.code, (tmp_path / name).read_text()) == (2, before)


def test_light_commands_load_no_kernels(tmp_path: Path) -> None:
    gold = str(tmp_path / "gold.conllu")
    Path(gold).write_text(PLAIN)
    storage.save(trained(), tmp_path / "model")
    code = "\n".join(
        [
            "import sys",
            "from treetune.cli import main",
            "for arguments in sys.argv[1:]:",
            "    assert main(arguments.split('|')) == 0",
            "sys.exit('numba' in sys.modules or 'numpy' in sys.modules)",
        ]
    )
    commands = [
        "--help",
        "train|--help",
        "parse|--help",
        "jackknife|--help",
        "rerank|--help",
        "uptrain|--help",
        f"evaluate|{gold}|{gold}",
        f"info|{tmp_path / 'model'}",
    ]
    subprocess.run([sys.executable, "-c", code, *commands], check=True, capture_output=True)


def test_as_a_process(tmp_path: Path) -> None:
    done = subprocess.run([*PYTHON, "info", str(tmp_path / "none")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: cannot read the model {tmp_path / 'none'}: there is no such file\n"
    done = subprocess.run([*PYTHON, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"treetune {treetune.__version__}\n")


def test_a_terminal_that_knows_no_umlauts(tmp_path: Path) -> None:
    storage.save(trained(labels=("größe",)), tmp_path / "model")
    for options, text in ((["--json"], "gr\\u00f6\\u00dfe"), ([], "gr\\xf6\\xdfe")):
        done = subprocess.run(
            [*PYTHON, "info", str(tmp_path / "model"), *options],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
        assert text in done.stdout.decode("ascii")


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    # Enough labels to fill any pipe.
    words = [f"1\tw\t_\t_\t_\t_\t0\tl{number}\t_\t_\n\n" for number in range(3000)]
    gold = tmp_path / "gold.conllu"
    gold.write_text("".join(words))
    process = subprocess.Popen(
        [*PYTHON, "evaluate", str(gold), str(gold), "--by-label"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), errors) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_said(tmp_path: Path) -> None:
    # More and less than a buffer holds.
    for labels in (3000, 1):
        storage.save(trained(labels=tuple(f"label-{number}" for number in range(labels))), tmp_path / "model")
        command = [*PYTHON, "info", str(tmp_path / "model")]
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        message = "error: stdout: this file cannot be written: no space left on device\n"
        assert (done.returncode, done.stderr) == (1, message)


@pytest.mark.skipif(os.name == "nt", reason="no signals and no named pipes")
def test_ctrl_c_while_waiting_for_input(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen([*PYTHON, "evaluate", str(pipe), "none"], stderr=subprocess.PIPE, text=True)
    # Opening waits until the other end is opened for reading.
    with process, pipe.open("wb"):
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (130, "interrupted\n")


@pytest.mark.skipif(os.name == "nt", reason="no signals and no named pipes")
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_waiting_for_input(sign: signal.Signals, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen([*PYTHON, "evaluate", str(pipe), "none"], stderr=subprocess.PIPE, text=True)
    with process, pipe.open("wb"):
        process.send_signal(sign)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (128 + sign, f"ended by {sign.name}\n")


@pytest.mark.skipif(os.name == "nt", reason="no signals")
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_half_written_file(sign: signal.Signals, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    command = [*PYTHON, "parse", "-", "-o", str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"Time flies.")
        process.stdin.flush()
        while not list(tmp_path.glob(".*.part")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(sign)
        process.wait()
        assert process.stderr is not None
        errors = process.stderr.read().decode()
    assert (process.returncode, errors) == (128 + sign, f"ended by {sign.name}: {out} was not written\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="no signals and no named pipes")
def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = ["nohup", *PYTHON, "evaluate", str(pipe), "none"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with process, pipe.open("wb"):
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate()
    assert process.returncode == 143
    assert errors.endswith(b"ended by SIGTERM\n")


def test_a_second_signal_does_not_interrupt_the_cleaning_up() -> None:
    ending = Ending()
    with pytest.raises(KeyboardInterrupt):
        ending.handle(signal.SIGTERM, None)
    ending.handle(signal.SIGINT, None)
    assert (ending.code, ending.title) == (143, "ended by SIGTERM")


def test_signals_are_as_before_when_a_command_has_ended() -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert run("--version").code == 0
    assert signal.getsignal(signal.SIGTERM) is before


def test_plain_values_do_not_import_pydantic(tmp_path: Path) -> None:
    code = (
        "import sys; from treetune.cli import main; "
        "code = main(sys.argv[1:]); sys.exit('pydantic' in sys.modules or code != 1)"
    )
    names = [str(tmp_path / name) for name in ("a.conllu", "b.conllu")]
    arguments = [sys.executable, "-c", code, "evaluate", *names]
    done = subprocess.run(arguments, check=False, capture_output=True, text=True)
    assert done.stderr == f"error: {names[0]}: expected a file, found nothing under this name\n"
    assert done.returncode == 0
