"""Where the trees come from that guide a parser: files, or a parser that is trained for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from treetune.build import PARSERS
from treetune.cli.options import Recipe
from treetune.errors import ConfigError

FOLDS = 10

GuideName = Annotated[
    str | None,
    typer.Option(
        "--guide",
        metavar="FILE|PARSER",
        help="Trees to look at: a file with another parser's trees of TRAIN, or the name of a parser to train for it.",
    ),
]
DevGuide = Annotated[
    str | None, typer.Option("--dev-guide", metavar="FILE", help="The trees of DEV that belong to a --guide file.")
]
Folds = Annotated[
    int | None,
    typer.Option("--folds", min=2, help=f"Parts of TRAIN, each parsed by what learned from the others, {FOLDS}."),
]


@dataclass(frozen=True, slots=True)
class Guide:
    """Files with the trees of TRAIN and DEV, or a recipe for a parser; without either there is no guide."""

    train: str | None = None
    dev: str | None = None
    recipe: Recipe | None = None
    folds: int = FOLDS


def choose_guide(
    recipe: Recipe,
    guide: str | None,
    *,
    dev_guide: str | None,
    folds: int | None,
    has_dev: bool,
    lenient: bool,
) -> Guide:
    """Return the guide that these options ask for; a wrong combination is a `ConfigError`.

    The name of a parser goes before a file of the same name. A parser that is trained as a guide has its
    own defaults, except that it looks at the same `inputs` as the parser of the recipe.
    """
    is_parser = guide in PARSERS
    if folds is not None and not is_parser:
        raise ConfigError("--folds is for a guide that is trained here; name its parser, as in --guide transition")
    if guide is None:
        if dev_guide is not None:
            raise ConfigError("--dev-guide belongs to a --guide file; give both or none")
        return Guide()
    if is_parser:
        if dev_guide is not None:
            raise ConfigError(f"--dev-guide belongs to a --guide file; the {guide} parser parses DEV itself")
        return Guide(
            recipe=Recipe.checked(guide, inputs=recipe.options.get("inputs")), folds=FOLDS if folds is None else folds
        )
    if not Path(guide).is_file():
        raise ConfigError(
            f"expected a file or the name of a parser as --guide, found {guide!r}; parsers: {', '.join(PARSERS)}"
        )
    if has_dev != (dev_guide is not None):
        raise ConfigError("with a --guide file, --dev and --dev-guide go together; give both or none")
    check_strict(lenient=lenient)
    return Guide(train=guide, dev=dev_guide)


def check_strict(*, lenient: bool) -> None:
    """Refuse to skip sentences when another file is read beside them."""
    if lenient:
        raise ConfigError("--lenient skips sentences, and the trees of --guide would no longer fit; leave one of them")
