"""Measuring: CPU time, peak memory, intervals, child processes, and where a number comes from.

Everything is CPU time of one thread, never wall time: the machines are shared.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import importlib
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
# The files that parsers are trained on and scored on, below the data folder.
TRAIN = Path("ud", "en_ewt-train.conllu")
PARTS = {"dev": Path("ud", "en_ewt-dev.conllu"), "test": Path("ud", "en_ewt-test.conllu")}

# OpenBLAS, MKL, OpenMP and numba read these when they are imported, so a child gets them in its environment.
_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMBA")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in _LIBRARIES}

# Two-sided 95 % quantiles of Student's t by degrees of freedom; beyond the table the normal one will do.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145)
_NORMAL95 = 1.96

_START = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
wall = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
print(json.dumps({"wall_seconds": wall, "cpu_seconds": used.ru_utime + used.ru_stime, "peak_rss_mb": peak}))
"""


def say(message: str) -> None:
    """Write one progress line to standard error."""
    print(message, file=sys.stderr, flush=True)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds (user and system, all threads) that one call of `work` takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def cpu_seconds_of_children() -> float:
    """Return the CPU seconds used so far by child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_command(command: Sequence[str], *, text: str = "", threads: int | None = 1, **places: Any) -> dict[str, float]:
    """Run a command to its end; return wall seconds, CPU seconds and peak memory, those of its own children included.

    `places` are `cwd` and `env` of the process; libraries get one thread unless `threads` is None.
    """
    environment = {**os.environ, **(ONE_THREAD if threads == 1 else {}), **places.pop("env", {})}
    # A small process starts the command, because `ru_maxrss` of a fresh one starts at the size of its parent.
    done = subprocess.run(
        [sys.executable, "-S", "-c", _START, *command],
        env=environment,
        input=text,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        **places,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def peak_rss_mb() -> float:
    """Return the largest resident size this process has had, in MB of 10^6 bytes.

    On Linux from /proc, because `ru_maxrss` of a fresh process starts at the size of its parent.
    """
    return _from_proc("VmHWM") or _ru_maxrss_mb(resource.RUSAGE_SELF)


def peak_rss_mb_of_children() -> float:
    """Return the largest resident size of a child process that has ended, in MB."""
    return _ru_maxrss_mb(resource.RUSAGE_CHILDREN)


def rss_mb() -> float:
    """Return the resident size of this process now (where /proc is missing: its peak), in MB."""
    return _from_proc("VmRSS") or _ru_maxrss_mb(resource.RUSAGE_SELF)


def _from_proc(field: str) -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    line = next(line for line in status.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024 / 1e6


def _ru_maxrss_mb(who: int) -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * unit / 1e6


def size_mb(path: Path) -> float:
    """Return the size on disk of a file, or of all files below a folder, in MB."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6


def summary(values: Sequence[float]) -> dict[str, Any]:
    """Return the raw values with their mean and the half-width of its 95 % interval (Student's t)."""
    interval = 0.0
    if len(values) > 1:
        freedom = len(values) - 1
        quantile = _T95[freedom - 1] if freedom <= len(_T95) else _NORMAL95
        interval = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return {"mean": statistics.fmean(values), "interval95": interval, "raw": list(values)}


def rounds(names: Sequence[str], repeats: int) -> list[list[str]]:
    """Return the order of every round: each name once a round, and each round starts one name later.

    So that a slow spell of the machine, or what the system before left in the caches, meets all alike.
    """
    return [[names[(start + i) % len(names)] for i in range(len(names))] for start in range(repeats)]


def interleaved(tasks: Mapping[str, Callable[[], Callable[[], object]]], repeats: int) -> dict[str, list[float]]:
    """Time tasks in rotated order; return the CPU seconds of every repeat by name.

    A task prepares its input, which is not timed, and returns the call that is. Each runs once unmeasured
    first, so that caches are warm and everything compiled.
    """
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for name, prepare in tasks.items():
        say(f"  warm-up {name}: {cpu_seconds(prepare()):.2f} CPU-s")
    for number, order in enumerate(rounds(list(tasks), repeats), start=1):
        for name in order:
            work = tasks[name]()
            gc.collect()
            seconds[name].append(cpu_seconds(work))
        latest = ", ".join(f"{name} {seconds[name][-1]:.2f}" for name in tasks)
        say(f"  round {number} of {repeats}, CPU-s: {latest}")
    return seconds


def in_child(function: str, **arguments: Any) -> Any:
    """Call ``package.module:function`` in a fresh single-threaded process; arguments and result are plain data."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.measure", function, json.dumps(arguments, default=str)],
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": python_path(REPOSITORY)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def python_path(*folders: Path) -> str:
    """Return the folders to import from, before those of this process."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])


def answer(function: str, arguments: str) -> None:
    """Be the child of `in_child`: call the function and print what it returns as the last line."""
    module, _, name = function.partition(":")
    print(json.dumps(getattr(importlib.import_module(module), name)(**json.loads(arguments))))


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def provenance(packages: Sequence[str]) -> dict[str, Any]:
    """Return commit, versions and machine class: what a result file needs to be believed."""
    return {
        "commit": _git("rev-parse", "HEAD"),
        # Not the results: each script would find what the one before it wrote.
        "dirty": bool(_git("status", "--porcelain", "--", ".", ":(exclude)*/results/*")),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "versions": {"python": platform.python_version(), **versions(packages)},
        "machine": {"cpu": _cpu_model(), "cores": os.cpu_count(), "system": platform.system()},
    }


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the installed version of each package; one that is not installed is left out."""
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def require(packages: Sequence[str]) -> None:
    """End the script with one sentence when a package is not installed."""
    missing = [name for name in packages if name not in versions(packages)]
    if missing:
        raise SystemExit(f"needs {', '.join(missing)}; install with: pip install '.[bench,dev]'")


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    """Write a result under a temporary name and rename it, so that a half-written one never stands there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)


def data_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where the treebanks are."""
    data = Path(os.environ.get("TREETUNE_DATA", REPOSITORY.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=data, help="folder that holds ud/ (default: %(default)s)")


def cache_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where trained models are kept."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "treetune-benchmarks"
    parser.add_argument("--cache", type=Path, default=cache, help="trained models (default: %(default)s)")


if __name__ == "__main__":
    answer(*sys.argv[1:])
