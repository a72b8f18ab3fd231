"""Kernels compiled by several processes at once, before a command needs them.

Compiling is bound to one processor a process, and takes most of the time of the first command after an installation.
The jobs are divided among this process and others that are started for it; what these compile is on disk, where this
one finds it. Where that fails nothing is lost but time: a kernel that is missing is compiled when it is called.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from treetune.models.kernel_jobs import Job, prediction_jobs
from treetune.models.pipeline import Pipeline

# TREETUNE_COMPILE=here starts no other processes.
VARIABLE, HERE = "TREETUNE_COMPILE", "here"
MESSAGE = "compiling kernels for this machine, once"
# A process that has not ended this long after all else is done is given up.
_PATIENCE = 120.0

Advance = Callable[[int], None]
# Gives the arguments of `treetune` that run some jobs, by their names.
Command = Callable[[Sequence[str]], Sequence[str]]


def compile_for(pipeline: Pipeline, model: str, *, text: bool, quiet: bool) -> None:
    """Compile what a pipeline needs and the disk does not have; `text` says whether it has to find the tokens."""
    missing = [job for job in prediction_jobs(pipeline, text=text) if not job.is_done]
    if missing:
        with compiling_bar(len(missing), quiet=quiet) as advance:
            compile_jobs(missing, lambda names: command_line([model], names), advance)


def command_line(arguments: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the arguments of `treetune` that run these jobs."""
    return ["compile", *arguments, *(f"--job={name}" for name in names)]


def compile_jobs(jobs: Sequence[Job], command: Command, advance: Advance = lambda count: None) -> None:
    """Run jobs in this process and others; a job that fails here or there is left to whoever needs its kernels."""
    own, *others = _groups(jobs, 1 if os.environ.get(VARIABLE) == HERE else _processors())
    started = [(_start(command([job.name for job in group])), len(group)) for group in others]
    try:
        for job in own:
            with suppress(Exception):
                job.run()
            advance(1)
        for process, count in started:
            if process is not None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_PATIENCE)
            advance(count)
    finally:
        for process, _ in started:
            if process is not None:
                process.kill()
                process.wait()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _groups(jobs: Sequence[Job], count: int) -> list[list[Job]]:
    """Divide jobs, the longest first, each to the group that has least to do; the first group is for this process.

    Of equals the last group is taken: another process has the longest job, and this one, which is ready, starts with
    the next and does more.
    """
    groups: list[list[Job]] = [[] for _ in range(max(1, min(count, len(jobs))))]
    for job in sorted(jobs, key=lambda job: -job.cost):
        min(reversed(groups), key=lambda group: sum(other.cost for other in group)).append(job)
    return groups


def _start(arguments: Sequence[str]) -> subprocess.Popen[bytes] | None:
    """Start ``treetune`` with these arguments, None if that is not possible here."""
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    # The same modules as here, and nothing from the working directory that is not on the path here.
    code = f"import sys; sys.path[:] = {sys.path!r}; from treetune.cli import main; sys.exit(main({list(arguments)!r}))"
    nowhere = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
            env={**os.environ, VARIABLE: HERE},
        )
    except OSError:
        return None


@contextmanager
def compiling_bar(total: int, *, quiet: bool) -> Iterator[Advance]:
    """Show that kernels are compiled, and how many jobs are done, if stderr is a terminal and not `quiet`."""
    if quiet or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(MESSAGE, total=total)
        yield lambda count: progress.advance(task, count)
