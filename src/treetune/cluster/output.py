"""The folder of a job: its parts, what it is a job of, which shards are missing, and the end, ``_SUCCESS``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from treetune.cluster.shards import Shard
from treetune.cluster.work import RECORDS, Record, part_name
from treetune.corpus.files import open_atomic
from treetune.corpus.locks import InUse, exclusive
from treetune.errors import ConfigError, DataError

JOB, SUCCESS, BAD = "_job.json", "_SUCCESS", "_bad.jsonl"


@dataclass(frozen=True)
class OutputFolder:
    """A folder that is complete when it has ``_SUCCESS``; until then, what has a part is not parsed again.

    `fingerprint` identifies model, options and input: a folder of another job is refused.
    """

    path: Path
    shards: Sequence[Shard]
    suffix: str
    fingerprint: str

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder if there is none, and keep other jobs from it meanwhile."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise ConfigError(f"--output {self.path}: expected a folder for shards, found a file") from None
        try:
            with exclusive(self.path / "job"):
                self._claim()
                yield
        except InUse as error:
            raise ConfigError(
                f"{self.path} is being written by another job ({error.owner}); wait until it has ended, "
                "or give another folder"
            ) from None

    def _claim(self) -> None:
        job = self.path / JOB
        if job.exists():
            try:
                known = json.loads(job.read_text(encoding="utf-8")).get("fingerprint")
            except (ValueError, AttributeError):
                raise DataError("expected the description of a job, found a damaged file", path=str(job)) from None
            if known != self.fingerprint:
                raise ConfigError(
                    f"{self.path} has parts of a job with another model, other options or other input; "
                    "repeat it as it was to continue it, or give another folder"
                )
            return
        if any(entry.name[0] != "." for entry in self.path.iterdir()):
            raise ConfigError(f"{self.path} has files of something else; give a new folder, or an empty one")
        (self.path / RECORDS).mkdir(exist_ok=True)
        with open_atomic(job) as out:
            out.write(json.dumps({"fingerprint": self.fingerprint, "shards": len(self.shards)}, indent=2).encode())

    @property
    def is_complete(self) -> bool:
        """Whether the job has been done."""
        return (self.path / SUCCESS).exists()

    def missing(self) -> list[Shard]:
        """Return the shards without a part."""
        there = {entry.name for entry in self.path.iterdir()}
        return [shard for shard in self.shards if part_name(shard.number, self.suffix) not in there]

    def record(self, shard: Shard) -> Record:
        """Return the record of a shard that is done."""
        return Record.read(self.path / RECORDS / part_name(shard.number, ".json"))

    def finish(self) -> None:
        """List what was set aside, with lines counted from the start of each file, and say that all is done."""
        before: dict[str, int] = {}
        lines: list[str] = []
        for shard in self.shards:
            record = self.record(shard)
            for number, (piece, count) in enumerate(zip(shard.pieces, record.lines, strict=True)):
                first = before.get(piece.path, 0)
                for one in record.bad:
                    if one.piece == number:
                        line = None if one.line is None else one.line + first
                        lines.append(json.dumps({"file": one.file, "line": line, "reason": one.reason}) + "\n")
                before[piece.path] = first + count
        if lines:
            with open_atomic(self.path / BAD) as out:
                out.write("".join(lines).encode())
        with open_atomic(self.path / SUCCESS):
            pass
