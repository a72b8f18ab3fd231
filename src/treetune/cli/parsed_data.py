"""The parsed sentences that a student is trained on: made block by block, so that an interruption loses little."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from treetune.cli.console import Interrupted, note, progress_bar
from treetune.cli.input import Input, input_format
from treetune.corpus.batches import take_batch
from treetune.corpus.conllu import format_conllu
from treetune.corpus.faults import SkipReport
from treetune.corpus.locks import InUse, exclusive
from treetune.corpus.selection import Selection
from treetune.corpus.sentence import Example
from treetune.errors import ConfigError, DataError
from treetune.learning.uptraining import BaseParser, run_program
from treetune.models.pipeline import Pipeline

PART_SUFFIX, BASE_SUFFIX = ".part", ".base.conllu"


@dataclass
class ParsedData:
    """The file of parsed sentences; it grows as FILE.part, and JSON beside it says how far it came with which settings.

    Attributes:
        sources: Text or sentences to parse; without `base` and `program`, parsed files.
        target: The file to write.
        selection: Which sentences to keep.
        limit: How many of them.
        read: The format of the sources; None: by their suffixes.
        constrained: Whether the trees keep the heads and labels of the sources.
        settings: All that decides which trees are written, to be the same when it is resumed.
        quiet: Whether to say nothing.
        base: The base parser.
        program: The base parser as a command.
        taken: Sentences that were read.
        kept: Sentences that were written.
    """

    sources: Sequence[str]
    target: str
    selection: Selection
    limit: int | None
    read: str | None
    constrained: bool
    settings: list[Any]
    quiet: bool
    base: BaseParser | None = None
    program: list[str] | None = None
    report: SkipReport = field(default_factory=SkipReport)
    taken: int = 0
    kept: int = 0

    def held(self) -> ExitStack:
        """Keep other trainings from the file."""
        with ExitStack() as stack:
            try:
                stack.enter_context(exclusive(self.target))
            except InUse as error:
                raise ConfigError(f"{self.target} is being written by another training ({error.owner})") from None
            return stack.pop_all()

    @property
    def _part(self) -> Path:
        return Path(f"{self.target}{PART_SUFFIX}")

    @property
    def _state(self) -> Path:
        return Path(f"{self.target}{PART_SUFFIX}.json")

    def run(self, *, resume: bool) -> None:
        """Write the file, unless an earlier run has; go on with its part if `resume`."""
        size = self._resumed(resume=resume)
        if size is None:
            return
        note(f"resuming after {self.kept:,} sentences", quiet=self.quiet or not size)
        try:
            with self._part.open("r+b" if size else "wb") as out:
                out.truncate(size)
                out.seek(size)
                self._write(out)
        except KeyboardInterrupt:
            raise Interrupted(f"parsed {self.kept:,} sentences so far; continue with --resume") from None
        if not self.kept:
            raise DataError("expected a sentence to train on, found none" + self._left_out())
        self._part.replace(self.target)
        self._save(0, done=True)
        note(f"took {self.kept:,} of {self.taken:,} sentences" + self._left_out(), quiet=self.quiet)

    def _left_out(self) -> str:
        counts = ", ".join(f"{count:,} {reason}" for reason, count in self.selection.left_out.most_common())
        return f"; left out: {counts}" if counts else ""

    def _fingerprint(self) -> str:
        files = [(Path(path).name, Path(path).stat().st_size) for path in self.sources]
        content = repr((files, self.settings, self.selection.duplicates, sorted(self.selection.excluded)))
        return hashlib.sha256(content.encode()).hexdigest()

    def _resumed(self, *, resume: bool) -> int | None:
        """Return the size of the part to keep; None if the file is complete."""
        if not self._state.exists():
            return 0
        if not resume:
            raise ConfigError(
                f"{self._part} is of an uptraining that was interrupted; add --resume to continue it, or remove "
                f"{self._state}"
            )
        try:
            state = json.loads(self._state.read_text())
            if state["settings"] != self._fingerprint():
                raise ConfigError(f"{self._part} is of other options or files; use the same, or remove {self._state}")
            self.taken, self.kept = int(state["taken"]), int(state["kept"])
            size = None if state["done"] and Path(self.target).exists() else int(state["bytes"])
        except (ValueError, KeyError, TypeError):
            raise ConfigError(f"{self._state} is damaged; remove it to start from the beginning") from None
        if size is not None and (state["done"] or not self._part.exists() or self._part.stat().st_size < size):
            self.taken = self.kept = size = 0
        return size

    def _save(self, size: int, *, done: bool = False) -> None:
        state = {"settings": self._fingerprint(), "taken": self.taken, "kept": self.kept, "bytes": size, "done": done}
        new = Path(f"{self._state}.new")
        new.write_text(json.dumps(state))
        new.replace(self._state)

    def _write(self, out: BinaryIO) -> None:
        examples = self._examples()
        # Sentences before the interruption are met again, so that later copies of them are known.
        for example in islice(examples, self.taken):
            self.selection.keeps(example.sentence)
        with progress_bar("parsing" if self.base else "reading", total=self.limit, quiet=self.quiet) as advance:
            while (self.limit is None or self.kept < self.limit) and (batch := take_batch(examples)):
                self.taken += len(batch)
                found = self._parsed([example for example in batch if self.selection.keeps(example.sentence)])
                if self.limit is not None:
                    found = found[: self.limit - self.kept]
                self.kept += len(found)
                out.write("".join(format_conllu(one.sentence, one.gold) for one in found).encode())
                out.flush()
                os.fsync(out.fileno())
                self._save(out.tell())
                advance(len(found), sum(len(one.sentence) for one in batch))

    def _parsed(self, examples: list[Example]) -> list[Example]:
        if self.base is None:
            return examples
        kept = []
        for one in self.base.parse(examples, constrained=self.constrained):
            if isinstance(one, str):
                self.selection.left_out[one] += 1
            else:
                kept.append(one)
        return kept

    def _examples(self) -> Iterator[Example]:
        pipeline: Pipeline | None = None if self.base is None else self.base.pipeline
        for number, source in enumerate(self.sources, start=1):
            path, name = source, self.read
            if self.program is not None:
                path, name = f"{self.target}.{number}{BASE_SUFFIX}", "conllu"
                if not Path(path).exists():
                    note(f"{source}: parsing by {self.program[0]}", quiet=self.quiet)
                    run_program(self.program, source, path)
            reads = input_format(path, name, pipeline)
            wants_trees = self.base is None or self.constrained
            taken = Input(path, reads, trees=wants_trees, partial=self.constrained)
            yield from taken.examples(pipeline, self.report)
            if self.program is not None:
                Path(path).unlink(missing_ok=True)

    def remove(self, *, keep: bool) -> None:
        """Remove what is of no use after the training; `keep` the sentences themselves."""
        self._state.unlink(missing_ok=True)
        if not keep:
            Path(self.target).unlink(missing_ok=True)
