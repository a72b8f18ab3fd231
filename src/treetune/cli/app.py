"""The list of commands, and the one place where an exception becomes a line on stderr and an exit code."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import treetune
from treetune.cli.console import EXIT_CODES, INTERRUPTED, OK, PROBLEM, WRONG_USAGE, Interrupted, note
from treetune.cli.plain_values import skip_conversion
from treetune.cli.signals import orderly_ending
from treetune.corpus.files import STDOUT, full_disk_said
from treetune.errors import ConfigError, TreetuneError

# Each is the function of this name, or the group of commands, in the module of this name.
COMMANDS = (
    "train",
    "uptrain",
    "ask",
    "annotate",
    "adapt",
    "parse",
    "tag",
    "evaluate",
    "analyse",
    "jackknife",
    "rerank",
    "calibrate",
    "clusters",
    "filter",
    "info",
    "models",
    "convert",
    "validate",
    "demo",
    "reorder",
    "nlf",
    "compile",
    "serve",
)
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}

skip_conversion()


class Commands(TyperGroup):
    """The commands, each imported when it is asked for, so that none waits for the others."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # The names alone, which messages about a wrong one suggest.
        self.commands: Any = dict.fromkeys(COMMANDS)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one command, None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        found = getattr(import_module(f"treetune.cli.{cmd_name}"), cmd_name)
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(add_completion=False, context_settings=HELP_OPTIONS)
            found.command(cmd_name, epilog=EXIT_CODES)(function)
        return typer.main.get_command(found)


app = typer.Typer(
    name="treetune",
    cls=Commands,
    help="Train dependency parsers and taggers, use them and score them.",
    epilog=EXIT_CODES,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"treetune {treetune.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(WRONG_USAGE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, by default that of `sys.argv`, and return its exit code.

    A mistake of the user is one line on stderr; only a fault of treetune itself shows a traceback.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a letter gets its number, not a traceback.
        sys.stdout.reconfigure(errors="backslashreplace")
    with orderly_ending() as ending:
        try:
            return _run(arguments)
        except (Interrupted, typer.Abort, KeyboardInterrupt) as error:
            # A terminal that was closed cannot be written to.
            with suppress(OSError):
                _fail(str(error), ending.code, title=ending.title)
            return ending.code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = app(args=arguments, prog_name="treetune", standalone_mode=False)
        with full_disk_said(STDOUT):
            sys.stdout.flush()
    except TreetuneError as error:
        return _fail(str(error), WRONG_USAGE if isinstance(error, ConfigError) else PROBLEM)
    except (BrokenPipeError, SystemExit):
        # Typer exits by itself for one reason only when it does not stand alone: a broken pipe.
        return _leave_pipe()
    except MemoryError as error:
        why = f" ({error})" if str(error) else ""
        return _fail(f"out of memory{why}; try a smaller beam, shorter k-best lists or fewer threads", PROBLEM)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _fail(f"{place}{error.strerror or error}", PROBLEM)
    except Exception as error:
        # Typer's own usage errors have no class that is public in all its versions, but this method.
        if not hasattr(error, "format_message"):
            raise
        if not error.format_message():
            return WRONG_USAGE  # a group without a command, whose help was shown
        from treetune.cli.options import setting_hint

        command = getattr(getattr(error, "ctx", None), "command_path", "treetune")
        more = f"{_found(error)}{setting_hint(error)}"
        return _fail(f"{error.format_message()}{more} (see '{command} --help')", WRONG_USAGE)
    if code == INTERRUPTED:
        # What typer makes of a KeyboardInterrupt.
        raise KeyboardInterrupt
    return code if isinstance(code, int) else OK


def _found(error: Exception) -> str:
    """Return the value that a usage error is about, where the message does not have it."""
    # Newer versions of typer leave the check of values to pydantic, which says only what it expected.
    details = getattr(error.__cause__, "errors", None)
    return "" if details is None else f", found {details()[0]['input']}"


def _show_warning(message: Warning | str, *place: Any, **named: Any) -> None:
    note(f"warning: {message}")


def _fail(message: str, code: int, *, title: str = "error") -> int:
    note(f"{title}: {' '.join(message.split())}" if message else title)
    return code


def _leave_pipe() -> int:
    """End quietly: whoever reads our output, `head` for one, has seen enough."""
    # Python flushes stdout once more at exit, which must not fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return OK
