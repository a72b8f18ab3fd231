"""The records of the trainer to a moving bar, and to one line an epoch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from treetune.cli.console import Advance
from treetune.evaluate.metrics import percent

if TYPE_CHECKING:
    from treetune.learning.progress import Progress

SHOWN = ("LAS", "UAS", "root")


def epoch_ends(steps: Iterable[Progress], advance: Advance) -> Iterator[Progress]:
    """Train: take every step, move the bar on, and yield the last record of each epoch."""
    seen = words = 0
    for step in steps:
        advance(step.seen - seen, step.words - words)
        seen, words = step.seen, step.words
        if step.is_epoch_end:
            seen = words = 0
            yield step


def epoch_line(step: Progress) -> str:
    """Return what is shown of an epoch."""
    parts = [f"epoch {step.epoch:>{len(str(step.epochs))}}/{step.epochs}"]
    if step.dev is not None:
        parts += [f"{name} {percent(step.dev[name]):>6}" for name in SHOWN]
    parts.append(f"updated on {step.updated:,} of {step.total:,} sentences")
    parts.append(f"{step.cpu_seconds:,.1f} CPU-s")
    if step.dev is not None and step.best:
        parts.append("best so far")
    return "  ".join(parts)
