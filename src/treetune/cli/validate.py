"""``treetune validate``: CoNLL-U files in; out, their faults by the rules of Universal Dependencies, a line each."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from treetune.cli.console import PROBLEM, note, write
from treetune.corpus.files import STANDARD_STREAM, display_name
from treetune.corpus.ud_checks import UDChecker
from treetune.errors import ConfigError, DataError

OFFICIAL = "udtools"
# The highest level of our own checks, and that of the official validator that needs no language.
OWN_LEVEL, OFFICIAL_LEVEL = 2, 3


def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Files in CoNLL-U; - is stdin.")],
    level: Annotated[
        int | None, typer.Option(min=1, max=OFFICIAL_LEVEL, help="1: format, 2: values, 3: universal rules (udtools).")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary.")] = False,
) -> None:
    """Check files by the rules of Universal Dependencies; each fault is a line, FILE:LINE, and the exit code is 1.

    The official validator does it if udtools is installed (pip install udtools); else treetune checks levels 1 and 2.
    """
    is_official = find_spec(OFFICIAL) is not None
    if level is not None and level > OWN_LEVEL and not is_official:
        raise ConfigError(f"level {level} needs the official validator; install it: pip install {OFFICIAL}")
    wanted = level or (OFFICIAL_LEVEL if is_official else OWN_LEVEL)
    count = 0
    for fault in _official_faults(files, wanted) if is_official else _own_faults(files, wanted):
        write(fault)
        count += 1
    by = f"level {wanted}, {OFFICIAL}" if is_official else f"level {wanted}, checks of treetune"
    note(f"{count:,} fault{'' if count == 1 else 's'} in {len(files)} file{'' if len(files) == 1 else 's'} ({by})",
         quiet=quiet)  # fmt: skip
    if count:
        raise typer.Exit(PROBLEM)


def _own_faults(files: Sequence[str], level: int) -> Iterator[str]:
    checker = UDChecker(level)
    for name in files:
        for fault in checker.check(name):
            yield str(fault)


def _official_faults(files: Sequence[str], level: int) -> Iterator[str]:
    from udtools.incident import IncidentType
    from udtools.state import State
    from udtools.validator import Validator

    validator, state, told = Validator(level=level, output=None), State(), 0
    for number, name in enumerate(files, start=1):
        state.current_file_name, state.current_line = name, 0
        try:
            with _opened(name) as stream:
                validator.validate_file_handle(stream, state)
        except UnicodeDecodeError:
            # Where, is what our own reader can tell.
            yield from _own_faults([name], 1)
        if number == len(files):
            validator.validate_end(state)
        found: list[Any] = list(state.error_tracker)
        for incident in found[told:]:
            if incident.get_type() == IncidentType.ERROR:
                place = f"{display_name(name)}:{incident.lineno}"
                yield f"{place}: level {incident.level}: {incident.testid}: {' '.join(incident.message.split())}"
        told = len(found)


def _opened(name: str) -> TextIO:
    if name == STANDARD_STREAM:
        return io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8")
    try:
        if name.endswith(".gz"):
            return gzip.open(name, "rt", encoding="utf-8")
        if name.endswith(".zst"):
            import zstandard

            found: TextIO = zstandard.open(name, "rt", encoding="utf-8")
            return found
        return Path(name).open(encoding="utf-8")
    except OSError as error:
        raise DataError(f"this file cannot be read: {(error.strerror or str(error)).lower()}", path=name) from error
