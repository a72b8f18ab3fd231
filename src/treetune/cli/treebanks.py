"""Treebanks for training: read whole, with what another parser made of them, and noted in the model."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from treetune.cli.console import note
from treetune.corpus.faults import SkipReport
from treetune.corpus.guides import attach_guides
from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import Example
from treetune.corpus.treebank import read_trees
from treetune.errors import DataError


def read_treebank(path: str, *, guide: str | None = None, lenient: bool, quiet: bool) -> list[Example]:
    """Read complete trees; `guide` is a file with another parser's trees of the same sentences."""
    report = SkipReport()
    examples = read_trees(path, strict=not lenient, report=report)
    read = list(examples if guide is None else attach_guides(examples, guide))
    if report.skipped:
        note(f"{path}: {report.summary()}", quiet=quiet)
    if not read:
        raise DataError("expected at least one sentence, found none", path=path)
    return read


def projective(examples: list[Example], *, path: str, quiet: bool) -> list[Example]:
    """Return the examples without crossing arcs, and say how many were left out."""
    kept = [example for example in examples if is_projective(example.gold.heads)]
    if not kept:
        raise DataError("every sentence has crossing arcs; train without --no-projectivize", path=path)
    if len(kept) < len(examples):
        left_out = len(examples) - len(kept)
        note(f"{path}: left out {left_out:,} of {len(examples):,} sentences for crossing arcs", quiet=quiet)
    return kept


def described(path: str, examples: list[Example]) -> dict[str, Any]:
    """Return what a model notes about a file; without its folder, so that moving it changes nothing."""
    with Path(path).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    words = sum(len(example.sentence) for example in examples)
    return {"name": Path(path).name, "sha256": digest, "sentences": len(examples), "words": words}
