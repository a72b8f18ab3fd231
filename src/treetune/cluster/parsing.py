"""Files to a folder of parsed shards on a cluster: `parse_files` yields how far it is."""

from __future__ import annotations

import pickle
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import treetune
from treetune.cluster.output import OutputFolder
from treetune.cluster.pool import Lost, Pool, Worker
from treetune.cluster.session import connected
from treetune.cluster.shards import Shard
from treetune.cluster.work import Record, ShardJob, parse_shard
from treetune.errors import DataError


class ShardWorker(Worker):
    """An actor: has the model, which it unpickles once, and parses one shard at a time into a folder."""

    def __init__(self, version: str, payload: bytes, folder: str) -> None:
        super().__init__(version)
        self._job: ShardJob = pickle.loads(payload)
        self._folder = folder

    def work(self, task: Shard) -> Record:
        """Parse a shard; see `parse_shard`."""
        return parse_shard(self._job, task, self._folder)


@dataclass
class ParseProgress:
    """How far a job is: shards and bytes of the input that are done, what is in them, and what went wrong.

    `before` counts the shards that were there when the job was begun; sentences, words and `set_aside` include them,
    `new_words` does not. `lost` says why a worker was lost just now, None if it is not what is reported.
    """

    shards: int
    size: int
    before: int = 0
    done: int = 0
    done_size: int = 0
    sentences: int = 0
    words: int = 0
    new_words: int = 0
    set_aside: int = 0
    workers: int = 0
    most_memory: int = 0
    lost: str | None = None

    def add(self, shard: Shard, record: Record) -> None:
        """Count a shard that is done."""
        self.done += 1
        self.done_size += shard.size
        self.sentences += record.sentences
        self.words += record.words
        self.set_aside += len(record.bad)
        self.most_memory = max(self.most_memory, record.memory)


def parse_files(
    job: ShardJob, shards: Sequence[Shard], folder: str | Path, *, address: str, workers: int | None = None
) -> Generator[ParseProgress, None, None]:
    """Parse shards into a folder on a cluster and yield progress, the same object each time.

    What is in the folder already is not parsed again. Raises DataError, at the end, if shards could not be parsed.
    """
    output = OutputFolder(Path(folder).absolute(), shards, job.suffix, fingerprint(job, shards))
    progress = ParseProgress(len(shards), sum(shard.size for shard in shards))
    with output.held():
        missing = output.missing()
        left = {shard.number for shard in missing}
        for shard in shards:
            if shard.number not in left:
                progress.add(shard, output.record(shard))
        progress.before = progress.done
        yield progress
        if missing:
            yield from _parse(job, missing, output, progress, address, workers)
        if not output.is_complete:
            output.finish()


def _parse(
    job: ShardJob,
    missing: Sequence[Shard],
    output: OutputFolder,
    progress: ParseProgress,
    address: str,
    workers: int | None,
) -> Generator[ParseProgress, None, None]:
    failed: list[str] = []
    cpus = None if workers is None else workers * job.parsing.threads
    with connected(address, cpus=cpus) as ray:
        arguments = [ray.put(pickle.dumps(job)), str(output.path)]
        pool = Pool(ray, ShardWorker, arguments, threads=job.parsing.threads, workers=workers)
        progress.workers = pool.workers
        with closing(pool), closing(pool.run(missing)) as events:
            for event in events:
                progress.lost = None
                if isinstance(event, Lost):
                    place = "starting" if event.task is None else f"at part {event.task.number:05d}"
                    progress.lost = f"{place}: {event.reason}"
                    if event.given_up:
                        failed.append(progress.lost)
                else:
                    progress.add(event.task, event.result)
                    progress.new_words += event.result.words
                yield progress
    if failed:
        raise DataError(
            f"{len(failed)} of {len(output.shards)} parts could not be parsed, each tried several times, first "
            f"{failed[0]}; all others are there, and the same command tries again"
        )


def fingerprint(job: ShardJob, shards: Sequence[Shard]) -> str:
    """Return a hash of all that the output depends on: model, options, and the files by name, size and time."""
    from treetune.learning.checkpoints import fingerprint as hashed

    parsing = job.parsing
    pieces = [[piece.path, piece.kind, piece.start, piece.end] for shard in shards for piece in shard.pieces]
    times = {piece[0]: Path(str(piece[0])).stat().st_mtime_ns for piece in pieces}
    options = {
        "version": treetune.__version__,
        "pieces": pieces,
        "shards": [shard.size for shard in shards],
        "times": times,
        "columns": [job.column, job.id_column],
        "output": [job.output, parsing.writes.name, job.ranges],
        "parsing": [parsing.k_best, parsing.constrained, parsing.keep_tags, parsing.calibration is not None],
    }
    return hashed(options, parsing.pipeline.state())


def rate(progress: ParseProgress, started: float) -> float:
    """Return the words a second since a moment of `time.perf_counter`."""
    seconds = time.perf_counter() - started
    return progress.new_words / seconds if seconds else 0.0
