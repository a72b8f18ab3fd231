"""The parsed sentences that a student is trained on: made block by block, so that an interruption loses little."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from treetune.cli.console import Interrupted, note, progress_bar
from treetune.cli.input import check_only, input_format
from treetune.corpus.batches import take_batch
from treetune.corpus.conllu import format_conllu
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, display_name, full_disk_said
from treetune.corpus.formats import format_of
from treetune.corpus.locks import InUse, exclusive
from treetune.corpus.selection import LONG, Selection
from treetune.corpus.sentence import Example
from treetune.errors import ConfigError, DataError, TreetuneError
from treetune.models.file_input import Input
from treetune.models.pipeline import Pipeline

if TYPE_CHECKING:
    from treetune.learning.uptraining import BaseParser

PART_SUFFIX, BASE_SUFFIX = ".part", ".base.conllu"


@dataclass
class ParsedData:
    """The file of parsed sentences; it grows as FILE.part, and JSON beside it says how far it came with which settings.

    Sentences of parsed files that are no trees, as of two roots, are left out.

    Attributes:
        sources: Text or sentences to parse; without `base` and `program`, parsed files.
        target: The file to write.
        selection: Which sentences to keep.
        limit: How many of them.
        read: The format of the sources; None: by their suffixes.
        constrained: Whether the trees keep the heads and labels of the sources.
        trees: Whether the student learns trees, and not tags alone.
        quiet: Whether to say nothing.
        settings: All that decides which trees are written, to be the same when it is resumed.
        base: The base parser.
        program: The base parser as a command.
        taken: Sentences that were read.
        kept: Sentences that were written.
        left_out: Those that were not, before an interruption, by reason.
    """

    sources: Sequence[str]
    target: str
    selection: Selection
    limit: int | None
    read: str | None
    constrained: bool
    trees: bool
    quiet: bool
    settings: list[Any] = field(default_factory=list)
    base: BaseParser | None = None
    program: list[str] | None = None
    report: SkipReport = field(default_factory=SkipReport)
    taken: int = 0
    kept: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def held(self) -> ExitStack:
        """Keep other trainings from the file."""
        with ExitStack() as stack:
            try:
                stack.enter_context(exclusive(self.target))
            except InUse as error:
                raise ConfigError(
                    f"{self.target} is being written by another training ({error.owner}); wait until it has ended, or "
                    "give another --model"
                ) from None
            return stack.pop_all()

    @property
    def _part(self) -> Path:
        return Path(f"{self.target}{PART_SUFFIX}")

    @property
    def _state(self) -> Path:
        return Path(f"{self.target}{PART_SUFFIX}.json")

    @property
    def _outputs(self) -> list[Path]:
        """The files for the output of a program, one a source."""
        return [Path(f"{self.target}.{number}{BASE_SUFFIX}") for number in range(1, len(self.sources) + 1)]

    def run(self, *, resume: bool) -> None:
        """Write the file, unless an earlier run has; go on with its part if `resume`."""
        for source in self.sources:
            self._check(source)
        size = self._resumed(resume=resume)
        if size is None:
            return
        note(f"resuming after {self.kept:,} sentences", quiet=self.quiet or not size)
        try:
            with full_disk_said(self.target), self._part.open("r+b" if size else "wb") as out:
                out.truncate(size)
                out.seek(size)
                self._save(size)
                self._write(out)
            if not self.kept:
                raise DataError(
                    "expected a sentence to train on, found none" + (self._left_out() + self._hint() or self._place)
                )
        except KeyboardInterrupt:
            raise Interrupted(
                f"the training has not begun; {self.kept:,} sentences are in {self._part}; the same command with "
                "--resume continues from there"
            ) from None
        except TreetuneError:
            if not self.kept:
                self._clear()
            raise
        self._part.replace(self.target)
        self._save(0, done=True)
        if self.report.skipped:
            note(self.report.summary(), quiet=self.quiet)
        note(f"took {self.kept:,} of {self.taken:,} sentences" + self._left_out(), quiet=self.quiet)

    def _check(self, source: str) -> None:
        """Refuse a source that has not what is needed of it."""
        if self.program is not None:
            return
        reads = input_format(source, self.read, self._pipeline)
        if self.base is not None:
            check_only({"--constrained": self.constrained}, "trees" in reads.holds, "treebanks", reads)
            return
        found = format_of(source) if self.read is None else reads
        if found is not None and "tags" not in found.holds:
            raise ConfigError(
                f"{display_name(source)} is {found.title}, without trees; give a base parser: --base MODEL"
            )

    @property
    def _pipeline(self) -> Pipeline | None:
        return None if self.base is None else self.base.pipeline

    def _left_out(self) -> str:
        counts = [f"{count:,} {reason}" for reason, count in self.selection.left_out.most_common()]
        if self.report.skipped and not self.kept:
            first = next(iter(self.report.reasons.values()))
            counts.append(f"{self.report.skipped:,} malformed, as {first.examples[0]}")
        return f"; left out: {', '.join(counts)}" if counts else ""

    @property
    def _place(self) -> str:
        where = ", ".join(map(display_name, self.sources))
        return f" in {where}" if self.program is None else f" in what {self.program[0]!r} wrote for {where}"

    def _hint(self) -> str:
        if LONG not in self.selection.left_out:
            return ""
        most = f"more than {self.selection.max_length} words"
        return f" ({most}); raise --max-length, or, if each line of the text is a sentence, add --read lines"

    @cached_property
    def _fingerprint(self) -> str:
        named = [Path(path) for path in self.sources if path != STANDARD_STREAM]
        files = [(path.name, path.stat().st_size) for path in named]
        content = repr((files, self.settings, self.selection.duplicates, sorted(self.selection.excluded)))
        return hashlib.sha256(content.encode()).hexdigest()

    def _resumed(self, *, resume: bool) -> int | None:
        """Return the size of the part to keep; None if the file is complete."""
        if not self._state.exists():
            self._clear()
            return 0
        if not resume:
            raise ConfigError(
                f"{self._state} is of an uptraining that was interrupted; add --resume to continue it, or remove it"
            )
        try:
            state = json.loads(self._state.read_text())
            if state["settings"] != self._fingerprint:
                raise ConfigError(f"{self._state} is of other options or files; use the same, or remove it")
            self.taken, self.kept = int(state["taken"]), int(state["kept"])
            size = None if state["done"] and Path(self.target).exists() else int(state["bytes"])
            self.left_out = Counter(state["left_out"])
        except (ValueError, KeyError, TypeError):
            raise ConfigError(f"{self._state} is damaged; remove it to start from the beginning") from None
        if size is not None and (state["done"] or not self._part.exists() or self._part.stat().st_size < size):
            self.taken = self.kept = size = 0
        return size

    def _save(self, size: int, *, done: bool = False) -> None:
        state = {
            "settings": self._fingerprint, "taken": self.taken, "kept": self.kept, "bytes": size, "done": done,
            "left_out": self.selection.left_out if self.taken else {},
        }  # fmt: skip
        new = Path(f"{self._state}.new")
        new.write_text(json.dumps(state))
        new.replace(self._state)

    def _write(self, out: BinaryIO) -> None:
        examples = self._examples()
        # Sentences before the interruption are met again, so that later copies of them are known.
        for example in islice(examples, self.taken):
            self.selection.keeps(example.sentence)
        if self.taken:
            self.selection.left_out = self.left_out
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
        for source, output in zip(self.sources, self._outputs, strict=True):
            path, name = source, self.read
            if self.program is not None:
                path, name = str(output), "conllu"
                if not output.exists():
                    self._run_program(source, output)
            wants_trees = self.constrained or (self.base is None and self.trees)
            taken = Input(
                path,
                input_format(path, name, self._pipeline),
                lenient=self.base is None,
                trees=wants_trees,
                partial=self.constrained,
            )
            yield from taken.examples(self._pipeline, self.report)

    def _run_program(self, source: str, output: Path) -> None:
        from treetune.learning.uptraining import run_program

        assert self.program is not None
        note(f"{display_name(source)}: parsing by {self.program[0]}", quiet=self.quiet)
        run_program(self.program, source, output)

    def _clear(self) -> None:
        for path in (self._state, self._part, *self._outputs):
            path.unlink(missing_ok=True)

    def remove(self, *, keep: bool) -> None:
        """Remove what is of no use after the training; `keep` the sentences themselves."""
        self._clear()
        if not keep:
            Path(self.target).unlink(missing_ok=True)
