"""A local Ray cluster of two workers beside one process: time, the same bytes, lost workers, memory over the shards.

Other programs may share the machine, so CPU time stands beside wall time: what both workers use together, against what
one process uses, is what a cluster costs, and on free processors it decides on the speed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import treetune
from benchmarks import measure
from treetune.cluster.parsing import parse_files
from treetune.cluster.session import LOCAL, connected
from treetune.cluster.shards import make_shards
from treetune.cluster.work import RECORDS, Record, ShardJob
from treetune.corpus.files import read_lines
from treetune.corpus.formats import FORMATS
from treetune.models.file_parsing import FileParsing
from treetune.models.pipeline import Pipeline

PACKAGES = ("numpy", "numba", "ray")
WORKERS = 2
# The command line of Ray's worker processes begins with the name of their class.
_TITLE = b"ray::ShardWorker"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--words", type=int, default=20_000_000, help="words of AMALGUM, repeated as often as needed")
    parser.add_argument("--kills", type=int, default=10, help="jobs in which a worker is killed")
    parser.add_argument("--kill-words", type=int, default=200_000, help="words of such a job")
    parser.add_argument("--shard-size", type=float, default=16.0, help="MB of input of a task")
    parser.add_argument("--seed", type=int, default=1, help="draws the moments at which workers are killed")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure one process, then the cluster; then kill workers."""
    measure.require(["ray"])
    record: dict[str, Any] = {"benchmark": "cluster", **measure.provenance(PACKAGES), "workers": WORKERS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "in.conllu"
        record["words"] = _write(arguments.data, source, arguments.words)
        record["megabytes"] = round(source.stat().st_size / 1e6, 1)
        one, out = folder / "one.conllu", folder / "out"
        command = [sys.executable, "-m", "treetune", "parse", "en", str(source), "-q"]
        record["load_before"] = os.getloadavg()[0]
        record["one_process"] = measure.run_command([*command, "-o", str(one)])
        measure.say(f"one process: {record['one_process']}")
        cluster = [*command, "--cluster", LOCAL, "--workers", str(WORKERS), "-o", str(out)]
        cluster += ["--shard-size", str(arguments.shard_size)]
        record["cluster"] = {"wall_seconds": measure.run_command(cluster)["wall_seconds"]}
        records = [Record.read(path) for path in sorted((out / RECORDS).iterdir())]
        record["cluster"] |= {
            "shards": len(records),
            "shard_megabytes": arguments.shard_size,
            "shard_cpu_seconds": sum(done.cpu_seconds for done in records),
            "shard_wall_seconds": sum(done.seconds for done in records),
            "same_bytes": _joined(out) == one.read_bytes(),
            "memory_mb": _memory(records),
        }
        record["load_after"] = os.getloadavg()[0]
        record["speedup"] = record["one_process"]["wall_seconds"] / record["cluster"]["wall_seconds"]
        measure.say(f"cluster: {record['cluster']}")
        record["kills"] = _kills(arguments, folder)
    return record


def _write(data: Path, target: Path, words: int) -> int:
    """Write AMALGUM, again and again, until there are so many words; return their number."""
    count = 0
    with target.open("w", encoding="utf-8") as out:
        for line in _lines(data):
            out.write(line + "\n")
            count += line[:1].isdigit() and line.partition("\t")[0].isdigit()
            if not line and count >= words:
                break
    return count


def _lines(data: Path) -> Iterator[str]:
    while True:
        for path in sorted((data / "amalgum").glob("*.conllu.zst")):
            yield from read_lines(path)


def _joined(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("part-*")))


def _memory(records: list[Record]) -> dict[str, list[float]]:
    """Return what each worker had after each of its shards."""
    found: dict[str, list[float]] = {}
    names: dict[int, str] = {}
    for record in records:
        name = names.setdefault(record.process, f"worker {len(names) + 1}")
        found.setdefault(name, []).append(round(record.memory / 1e6, 1))
    return found


def _kills(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Kill a worker at a random moment of each of some jobs, and compare their bytes."""
    source, draw = folder / "kill.conllu", random.Random(arguments.seed)
    words = _write(arguments.data, source, arguments.kill_words)
    shards = make_shards([str(source)], lambda path: "conllu", int(source.stat().st_size / 20))
    job = ShardJob(FileParsing(Pipeline.of(treetune.load("en")), "en", FORMATS["conllu"]))
    results: list[dict[str, Any]] = []
    with connected(LOCAL, cpus=WORKERS):
        started = time.perf_counter()
        expected = _parsed(job, shards, folder / "whole", None)
        usual = time.perf_counter() - started
        for number in range(arguments.kills):
            delay = draw.uniform(0, usual)
            killed: list[int] = []
            started = time.perf_counter()
            found = _parsed(job, shards, folder / f"killed-{number}", (delay, killed))
            results.append(
                {
                    "after_seconds": round(delay, 2),
                    "killed": bool(killed),
                    "same_bytes": found == expected,
                    "wall_seconds": round(time.perf_counter() - started, 2),
                }
            )
            measure.say(f"killed: {results[-1]}")
    return {
        "words": words, "shards": len(shards), "wall_seconds_without": round(usual, 2), "jobs": results,
        "wall_seconds_median": statistics.median(one["wall_seconds"] for one in results) if results else None,
    }  # fmt: skip


def _parsed(job: ShardJob, shards: Any, out: Path, kill: tuple[float, list[int]] | None) -> bytes:
    timer = None if kill is None else threading.Timer(kill[0], _kill_one, [kill[1]])
    if timer is not None:
        timer.start()
    for _ in parse_files(job, shards, out, address=LOCAL, workers=WORKERS):
        pass
    if timer is not None:
        timer.cancel()
    return _joined(out)


def _kill_one(killed: list[int]) -> None:
    """Kill the first worker of this process's cluster, waiting until there is one."""
    for _ in range(600):
        for process in own_workers():
            os.kill(process, signal.SIGKILL)
            killed.append(process)
            return
        time.sleep(0.1)


def own_workers() -> list[int]:
    """Return the workers of a cluster that this process started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (process := int(entry.name)) and _title(entry).startswith(_TITLE):
            parent = process
            while parent > 1 and parent != os.getpid():
                parent = _parent(parent)
            if parent == os.getpid():
                found.append(process)
    return sorted(found)


def _title(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


def _parent(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
