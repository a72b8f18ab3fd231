"""The files that a training writes besides its model: checkpoint, record of epochs, log and plot."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from treetune.cli.plots import Record, check_plot
from treetune.config.config import Config
from treetune.config.run import Report, numbers
from treetune.corpus.files import STANDARD_STREAM, check_kept, open_output
from treetune.corpus.locks import InUse, exclusive
from treetune.errors import ConfigError
from treetune.storage import check_target

CHECKPOINT_SUFFIX = ".checkpoint"


def epoch_record(report: Report) -> Record:
    """Return the end of an epoch as a line of a log; of several stages, with the name of the stage."""
    stage = {"stage": report.stage.name} if report.stage.title else {}
    if report.tokenizer is not None:
        end = report.tokenizer
        return {**stage, "epoch": end.epoch, "dev": None if end.dev is None else {n: end.dev[n] for n in TOKENS}}
    step = report.training
    assert step is not None
    return {
        **stage,
        "epoch": step.epoch,
        "sentences": step.total,
        "updated": step.updated,
        "words": step.words,
        "cpu_seconds": step.cpu_seconds,
        "best": step.best,
        "dev": None if step.dev is None else numbers(step.dev),
        "objectives": [asdict(tally) for tally in step.objectives],
    }


# The scores of a tokenizer.
TOKENS = ("Tokens", "Words", "Sentences")


@dataclass(slots=True)
class RunFiles:
    """Where a training writes; `records` has the end of each epoch, also of those before an interruption.

    The records are kept beside the checkpoint. The checkpoint of a training of several stages is a folder.
    """

    model: str
    checkpoint: str | None
    resume: bool
    log: str | None
    plot: str | None
    records: list[Record] = field(default_factory=list)
    has_new_epochs: bool = False

    @classmethod
    def of(cls, config: Config, *, resume: bool) -> RunFiles:
        """Return the files of [run]; refuse what cannot be written, or would replace what is read."""
        source, run = config.source, config.run
        if run.model is None:
            if source.flags:
                raise ConfigError(
                    "Missing option '--model'; give the name of the file to write (see 'treetune train --help')"
                )
            raise source.whole('expected model = "OUT" in [run], or the option --model OUT, found neither')
        if run.checkpoint is False and resume:
            raise ConfigError(f"{source.key('run', 'checkpoint')} = false contradicts --resume; leave one of them out")
        model = source.path(run.model)
        given = source.path(run.checkpoint) if isinstance(run.checkpoint, str) else model + CHECKPOINT_SUFFIX
        log, plot = (None if path is None else source.path(path) for path in (run.log, run.plot))
        files = cls(model, given if run.checkpoint is not False else None, resume, log, plot)
        files._check(config)
        return files

    def _check(self, config: Config) -> None:
        check_target(self.model)
        source, start = config.source, config.model.start_from
        places: dict[Path, str] = {}
        for name in ("model", "checkpoint", "log", "plot"):
            path, key = getattr(self, name), source.short_key("run", name)
            if path is None:
                continue
            place = Path(path).resolve()
            if place in places:
                raise ConfigError(f"{places[place]} and {key} name the same file, {path}; give another name")
            places[place] = key
            check_writable(path, name, is_folder=name == "checkpoint" and config.has_stages)
        key = source.short_key("run", "model")
        if start is not None and Path(source.model_path(start)).resolve() == Path(self.model).resolve():
            raise ConfigError(f"{key} would replace {start}, from which the training starts; give another name")
        inputs = [source.path(path) for path in config.paths()]
        check_kept(self.model, [*inputs, *([source.name] if source.name else [])], flag=key)
        if self.plot is not None:
            check_plot(self.plot, source.short_key("run", "plot"))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other trainings from the model and the checkpoint; refuse to replace those of an earlier one."""
        with ExitStack() as stack:
            for path in (self.model, self.checkpoint):
                try:
                    if path is not None:
                        stack.enter_context(exclusive(path))
                except InUse as error:
                    raise ConfigError(
                        f"{path} is being written by another training ({error.owner}); wait until it has ended, or "
                        "give another --model"
                    ) from None
            if self._has_checkpoint and not self.resume:
                raise ConfigError(
                    f"{self.checkpoint} is of a training that was interrupted; add --resume to continue it, or "
                    "remove it"
                )
            if self.log is not None and Path(self.log).exists() and not self._has_checkpoint:
                raise ConfigError(f"the log {self.log} exists already; remove it, or give another name")
            yield

    @property
    def _has_checkpoint(self) -> bool:
        return self.checkpoint is not None and Path(self.checkpoint).exists()

    @property
    def is_resuming(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return self.resume and self._has_checkpoint

    @property
    def curves(self) -> list[Record]:
        """The records of the last stage."""
        return [record for record in self.records if record.get("stage") == self.records[-1].get("stage")]

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
            known = set(map(_epoch, logged))
            _write(Path(self.log), [*logged, *(record for record in self.records if _epoch(record) not in known)])

    def add(self, report: Report) -> None:
        """Keep the end of an epoch."""
        record = epoch_record(report)
        self.records.append(record)
        self.has_new_epochs = True
        for path in (None if self.checkpoint is None else self._kept, self.log):
            if path is not None:
                with Path(path).open("a", encoding="utf-8") as out:
                    out.write(json.dumps(record, allow_nan=False) + "\n")

    def how_to_resume(self, epochs: int) -> str | None:
        """Return what to tell the user after an interruption; None if there is nothing to resume from."""
        if self.checkpoint is None or not self._has_checkpoint:
            return None
        done = f"{self.records[-1]['epoch'] if self.records else 1} of {epochs} epochs are"
        if Path(self.checkpoint).is_dir():
            done = "what was trained so far is"
        return f"{done} in {self.checkpoint}; the same command with --resume continues from there"

    def end(self, *, done: bool) -> None:
        """Remove what is no longer needed: everything when the model is `done`, else records of nothing."""
        if self.checkpoint is None:
            return
        if done and Path(self.checkpoint).is_dir():
            shutil.rmtree(self.checkpoint)
        elif done:
            Path(self.checkpoint).unlink(missing_ok=True)
        if not self._has_checkpoint:
            self._kept.unlink(missing_ok=True)


def _epoch(record: Record) -> tuple[Any, Any]:
    return record.get("stage"), record["epoch"]


def check_writable(path: str, what: str, *, is_folder: bool = False) -> None:
    """Raise ConfigError for a path that cannot be written to; `what` it is says the message."""
    target = Path(path)
    if path == STANDARD_STREAM:
        raise ConfigError(f"the {what} is not written to stdout (-); give the name of a file")
    if target.is_dir() and not is_folder:
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
