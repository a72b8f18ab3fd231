"""What is wrong with a sentence of a file, and the account of the sentences skipped for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from treetune.errors import DataError

EXAMPLES_KEPT = 3


class SentenceError(DataError):
    """A fault of one sentence, which a lenient reader may skip; `kind` groups faults in a report."""

    def __init__(
        self,
        problem: str,
        *,
        kind: str,
        path: str | None = None,
        line: int | None = None,
        column: str | None = None,
    ) -> None:
        self.kind = kind
        super().__init__(problem, path=path, line=line, column=column)


@dataclass(slots=True)
class Reason:
    """How often one kind of fault made a reader skip a sentence, with the first few messages."""

    count: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SkipReport:
    """What a lenient reader did: sentences read, sentences skipped, and why.

    Hand one to a reader with ``strict=False``, or to several in turn to add them up.
    """

    read: int = 0
    skipped: int = 0
    reasons: dict[str, Reason] = field(default_factory=dict)
    converted: dict[str, int] = field(default_factory=dict)
    """Sentences that were read in another scheme than IOB2, by that scheme; see `corpus.iob`."""

    def add(self, fault: SentenceError) -> None:
        """Count a sentence that was skipped for this fault."""
        self.skipped += 1
        reason = self.reasons.setdefault(fault.kind, Reason())
        reason.count += 1
        if len(reason.examples) < EXAMPLES_KEPT:
            reason.examples.append(str(fault))

    def conversions(self) -> str:
        """Return what was converted, as a clause; empty if nothing was."""
        parts = [f"{count} in {scheme.upper()}" for scheme, count in sorted(self.converted.items())]
        return f"read {', '.join(parts)} of {self.read} sentences as IOB2" if parts else ""

    def summary(self) -> str:
        """Return one line for the total and one for each reason, the most frequent first."""
        lines = [f"skipped {self.skipped} of {self.read + self.skipped} sentences"]
        for kind, reason in sorted(self.reasons.items(), key=lambda item: (-item[1].count, item[0])):
            lines.append(f"  {reason.count} for {kind}, first at {reason.examples[0]}")
        return "\n".join(lines)
