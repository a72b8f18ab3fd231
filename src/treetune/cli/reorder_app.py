"""The command ``treetune reorder`` with its own commands, of which the first needs no name."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from treetune.cli.orders import align, evaluate, learn, rules
from treetune.cli.reorder import reorder

APPLY = "apply"


class FirstByDefault(TyperGroup):
    """Commands of which the first is meant where none is named: ``treetune reorder MODEL IN --to ja``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the first command before arguments that begin with no command."""
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = [APPLY, *args]
        return super().parse_args(ctx, args)


def reorder_app(epilog: str) -> typer.Typer:
    """Return the group of commands."""
    app = typer.Typer(
        name="reorder",
        cls=FirstByDefault,
        help="Put words into the order of another language; learn, score and list rules. "
        "'treetune reorder [MODEL] IN --to ja' is 'treetune reorder apply'.",
        epilog=epilog,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command(APPLY, epilog=epilog)(reorder)
    for command in (learn, evaluate, align, rules):
        app.command(epilog=epilog)(command)
    return app
