"""The data of an experiment: read whole, with what another parser made of them, and noted in the model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from treetune.corpus.base_trees import attach_base_trees
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import read_chunks
from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import Example, Sentence
from treetune.corpus.treebank import read_trees
from treetune.errors import DataError

Say: TypeAlias = Callable[[str], None]
"""Takes a line that a user may want to see; the library itself never prints."""


def silent(line: str) -> None:
    """Keep a line to oneself."""


def check_readable(path: str) -> None:
    """Raise DataError unless a file can be opened, so that no other is read for nothing."""
    next(read_chunks(path), None)


def read_data(
    path: str, *, base: str | None = None, partial: bool = False, lenient: bool = False, say: Say = silent
) -> list[Example]:
    """Read trees, complete unless `partial`; `base` is a file with another parser's trees of the same sentences."""
    report = SkipReport()
    examples = read_trees(path, strict=not lenient, partial=partial, report=report)
    read = list(examples if base is None else attach_base_trees(examples, base))
    if report.skipped:
        say(f"{path}: {report.summary()}")
    if not read:
        raise DataError("expected at least one sentence, found none", path=path)
    return read


def projective(examples: list[Example], *, path: str, flag: str, say: Say = silent) -> list[Example]:
    """Return the examples without crossing arcs, and say how many were left out; `flag` is what asked for it."""
    kept = [example for example in examples if is_projective(example.gold.heads)]
    if not kept:
        raise DataError(f"every sentence has crossing arcs; train without {flag}", path=path)
    if len(kept) < len(examples):
        say(f"{path}: left out {len(examples) - len(kept):,} of {len(examples):,} sentences for crossing arcs")
    return kept


def described(path: str, sentences: Sequence[Sentence]) -> dict[str, Any]:
    """Return what a model notes about a file; without its folder, so that moving it changes nothing."""
    return {**fingerprint(path), "sentences": len(sentences), "words": sum(map(len, sentences))}


def fingerprint(path: str) -> dict[str, Any]:
    """Return the name of a file and the hash of its bytes."""
    with Path(path).open("rb") as file:
        return {"name": Path(path).name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
