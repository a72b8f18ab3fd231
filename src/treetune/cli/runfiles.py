"""The files that a training writes besides its model: checkpoint, record of epochs, log and plot."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treetune.config.task import numbers
from treetune.corpus.files import STANDARD_STREAM, check_kept, open_output
from treetune.errors import ConfigError
from treetune.storage import check_target

if TYPE_CHECKING:
    from treetune.learning.progress import Progress

Record = dict[str, Any]


def epoch_record(end: Progress) -> Record:
    """Return the end of an epoch as a line of a log has it."""
    return {
        "epoch": end.epoch,
        "sentences": end.total,
        "updated": end.updated,
        "words": end.words,
        "cpu_seconds": end.cpu_seconds,
        "best": end.best,
        "dev": None if end.dev is None else numbers(end.dev),
        "objectives": [asdict(tally) for tally in end.objectives],
    }


@dataclass(slots=True)
class RunFiles:
    """Where a training writes, and what it has written: `records` has the end of each epoch, older ones too.

    `came_further` tells whether one of them is of this run.

    The records are kept beside the checkpoint, so that a training that is resumed can report on all its epochs.
    """

    model: str
    checkpoint: str | None
    resume: bool
    log: str | None
    records: list[Record] = field(default_factory=list)
    came_further: bool = False

    def check(self, *, start_from: str | None, plot: str | None, inputs: Iterable[str] = ()) -> None:
        """Refuse what cannot be written, or would replace what someone may want to keep, before any data is read.

        `inputs` are the files that are read besides the model to start from.
        """
        check_target(self.model)
        outputs = {"--model": self.model, "--checkpoint": self.checkpoint, "--log": self.log, "--plot": plot}
        places: dict[Path, str] = {}
        for flag, path in outputs.items():
            if path is None:
                continue
            place = Path(path).resolve()
            if place in places:
                raise ConfigError(f"{places[place]} and {flag} name the same file, {path}; give another name")
            places[place] = flag
            _check_target(path, flag)
        if start_from is not None and Path(start_from).resolve() == Path(self.model).resolve():
            raise ConfigError(f"--model would replace {start_from}, from which the training starts; give another name")
        check_kept(self.model, inputs, flag="--model")
        self._check_older_files()

    def _check_older_files(self) -> None:
        is_there = self.checkpoint is not None and Path(self.checkpoint).exists()
        if is_there and not self.resume:
            raise ConfigError(
                f"{self.checkpoint} is of a training that was interrupted; add --resume to go on with it, or remove it"
            )
        if self.log is not None and Path(self.log).exists() and not is_there:
            raise ConfigError(f"the log {self.log} exists already; remove it, or give another name")

    @property
    def is_resuming(self) -> bool:
        """Whether there is something to go on from."""
        return self.resume and self.checkpoint is not None and Path(self.checkpoint).exists()

    @property
    def _kept(self) -> Path:
        return Path(f"{self.checkpoint}.jsonl")

    def begin(self) -> None:
        """Start the records, or read those before the interruption."""
        if not self.is_resuming:
            if self.checkpoint is not None:
                self._kept.unlink(missing_ok=True)
            return
        self.records = _read(self._kept)
        _write(self._kept, self.records)
        if self.log is not None:
            logged = _read(Path(self.log))
            known = {record["epoch"] for record in logged}
            _write(Path(self.log), [*logged, *(record for record in self.records if record["epoch"] not in known)])

    def add(self, end: Progress) -> None:
        """Keep the end of an epoch."""
        record = epoch_record(end)
        self.records.append(record)
        self.came_further = True
        for path in (None if self.checkpoint is None else self._kept, self.log):
            if path is not None:
                with Path(path).open("a", encoding="utf-8") as out:
                    out.write(json.dumps(record, allow_nan=False) + "\n")

    def how_to_go_on(self, epochs: int) -> str | None:
        """Return what to tell the user after an interruption; None if there is nothing to go on from."""
        if self.checkpoint is None or not Path(self.checkpoint).exists():
            return None
        done = self.records[-1]["epoch"] if self.records else 1
        return f"{done} of {epochs} epochs are in {self.checkpoint}: the same command with --resume goes on from there"

    def end(self, *, done: bool) -> None:
        """Remove what is no longer needed: everything when the model is `done`, else records of nothing."""
        if self.checkpoint is None:
            return
        if done:
            Path(self.checkpoint).unlink(missing_ok=True)
        if not Path(self.checkpoint).exists():
            self._kept.unlink(missing_ok=True)


def _check_target(path: str, flag: str) -> None:
    target, what = Path(path), flag.removeprefix("--")
    if path == STANDARD_STREAM:
        raise ConfigError(f"the {what} is not written to stdout (-); give the name of a file")
    if target.is_dir():
        raise ConfigError(f"cannot write the {what} {path}: it is a directory; give the name of a file")
    if not target.parent.is_dir():
        raise ConfigError(f"cannot write the {what} {path}: there is no folder {target.parent}; create it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise ConfigError(f"cannot write the {what} {path}: the folder {target.parent} is not writable")


def _read(path: Path) -> list[Record]:
    """Return the records of a file; a last line that was cut off is left out."""
    if not path.exists():
        return []
    *lines, _ = path.read_bytes().split(b"\n")
    try:
        records = [json.loads(line) for line in lines]
        if all(isinstance(record, dict) and "epoch" in record for record in records):
            return records
    except ValueError:
        pass
    raise ConfigError(f"{path} is not a log of treetune; remove it, or give another name")


def _write(path: Path, records: Sequence[Record]) -> None:
    with open_output(path) as out:
        out.writelines(json.dumps(record, allow_nan=False) + "\n" for record in records)
