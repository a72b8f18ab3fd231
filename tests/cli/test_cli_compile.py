"""Kernels compiled ahead, by several processes: nothing depends on these, and they compile what is needed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commandline import run

from pipeline_samples import TEXT, small_pipeline
from stub_parser import trained
from treetune import storage
from treetune.cli import compiling
from treetune.cli.compiling import HERE, VARIABLE, compile_for, compile_jobs
from treetune.features import kernel_cache
from treetune.models.kernel_jobs import Job, prediction_jobs
from treetune.models.pipeline import Pipeline
from treetune.models.tokenizer import _kernels


class Noted:
    """Jobs that note that they were run."""

    def __init__(self, **costs: float) -> None:
        self.ran: list[str] = []
        self.jobs = [Job(name, partial(self.ran.append, name), (), cost) for name, cost in costs.items()]


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(compiling, "_processors", lambda: 2)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Start no process, but note with which arguments."""
    found: list[Sequence[str]] = []
    monkeypatch.setattr(compiling, "_start", lambda arguments: found.append(arguments))
    return found


def test_the_longest_jobs_are_divided_first(started: list[Sequence[str]]) -> None:
    noted = Noted(sentences=1.2, tokens=3.5, tagger=4.5, parser=6.0)
    compile_jobs(noted.jobs, list)
    assert (noted.ran, started) == (["tagger", "tokens"], [["parser", "sentences"]])


def test_no_processes_if_the_environment_forbids_them(
    started: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, HERE)
    noted = Noted(one=5, two=5)
    compile_jobs(noted.jobs, list)
    assert (noted.ran, started) == (["one", "two"], [])


@pytest.mark.parametrize("fault", ["wrong usage", "no process", "no interpreter"])
def test_processes_that_fail_cost_nothing_but_time(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if fault == "no process":
        monkeypatch.setattr(subprocess, "Popen", refuse)
    if fault == "no interpreter":
        monkeypatch.setattr("sys.executable", "")
    noted = Noted(one=5, two=5)
    done: list[int] = []
    compile_jobs(noted.jobs, lambda names: ["compile", "--nonsense"], done.append)
    assert (noted.ran, sum(done)) == (["two"], 2)


def test_a_job_that_fails_here_leaves_the_error_to_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = Noted(two=1)
    monkeypatch.setenv(VARIABLE, HERE)
    compile_jobs([Job("one", lambda: 1 / 0, (), 1.1), *noted.jobs], list)
    assert noted.ran == ["two"]


def test_a_process_finds_the_same_package_and_nothing_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    process = compiling._start(["compile", "--help"])
    assert process is not None
    assert process.wait(60) == 0


def test_an_interrupt_ends_the_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    real = compiling._start
    found: list[Any] = []

    def start(arguments: Sequence[str]) -> Any:
        found.append(real(arguments))
        return found[-1]

    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(compiling, "_start", start)
    with pytest.raises(KeyboardInterrupt):
        compile_jobs([Job("one", interrupt, (), 9), Job("two", interrupt, (), 8)], lambda names: ["parse", "-"])
    assert [process.poll() is not None for process in found] == [True]


@pytest.fixture
def pipeline() -> Pipeline:
    """A trained one, before the cache is empty."""
    return small_pipeline()


@pytest.fixture
def empty_cache(pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def folders() -> Iterator[Path]:
        yield tmp_path / "kernels"

    monkeypatch.setattr(kernel_cache, "cache_folders", folders)


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize(("text", "expected"), [(True, {"tokens", "sentences"}), (False, set())])
def test_only_what_the_input_needs_is_compiled(pipeline: Pipeline, text: bool, expected: set[str]) -> None:
    jobs = list(prediction_jobs(pipeline, text=text))
    assert {job.name for job in jobs} == {"tagger", "parser"} | expected
    assert not any(job.is_done for job in jobs)


def test_nothing_is_started_when_all_is_on_disk(started: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "is_compiled", lambda kernel: True)
    compile_for(small_pipeline(), "unused", text=True, quiet=False)
    assert started == []


def test_parsers_without_kernels_have_no_jobs() -> None:
    assert list(prediction_jobs(Pipeline.of(trained()))) == []


def test_what_is_compiled_on_nothing_is_what_text_needs() -> None:
    pipeline = small_pipeline()
    for job in prediction_jobs(pipeline):
        job.run()
    kernels = [_kernels.find_chunks, _kernels.split_chunks, _kernels.describe_tokens, _kernels.split_sentences]
    before = [list(kernel.signatures) for kernel in kernels]
    assert len(pipeline(TEXT)) == 3
    assert [list(kernel.signatures) for kernel in kernels] == before


def test_the_command_compiles_a_model_and_says_where(tmp_path: Path) -> None:
    storage.save(small_pipeline(), tmp_path / "small.treetune")
    result = run("compile", tmp_path / "small.treetune")
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("compiled in ")
    assert result.err.endswith(f" s, kept in {next(kernel_cache.cache_folders())}\n")
    assert run("compile", tmp_path / "small.treetune", "--quiet").err == ""


def test_a_bar_for_terminals_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save(small_pipeline(), tmp_path / "small.treetune")
    monkeypatch.setattr(kernel_cache, "is_compiled", lambda kernel: False)
    monkeypatch.setenv(VARIABLE, HERE)
    arguments = ("parse", tmp_path / "small.treetune", "-")
    assert compiling.MESSAGE not in run(*arguments, stdin=TEXT).err
    assert compiling.MESSAGE in run(*arguments, stdin=TEXT, terminal=True).err
