"""Losses by name, made from options as configuration files have them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from treetune.errors import ConfigError, unknown_name
from treetune.losses.arclength import ArcLength
from treetune.losses.attachment import Attachment, ZeroOne
from treetune.losses.base import Loss
from treetune.losses.function import Function
from treetune.losses.meaning import NaturalLogicalForm
from treetune.losses.partial import PartialTree
from treetune.losses.program import Program
from treetune.losses.reordering import Reordering
from treetune.losses.root import Root
from treetune.losses.tags import EntityF1, EntityHamming, MainVerb
from treetune.losses.weighted import Weighted

LOSSES: dict[str, type[Loss[Any, Any]]] = {
    kind.name: kind
    for kind in (
        Attachment,
        Root,
        PartialTree,
        ArcLength,
        ZeroOne,
        Reordering,
        NaturalLogicalForm,
        MainVerb,
        EntityHamming,
        EntityF1,
        Weighted,
        Function,
        Program,
    )
}


def make_loss(name: str, **options: Any) -> Loss[Any, Any]:
    """Make a loss from its name and options; `make_loss(**loss.settings())` makes it again.

    Raises:
        ConfigError: an unknown name or option, an option that is missing or has a wrong value.
    """
    if not isinstance(name, str):
        raise ConfigError(f"a loss must be a name ({', '.join(sorted(LOSSES))}), found {name!r}")
    if name not in LOSSES:
        raise unknown_name("loss", name, LOSSES)
    kind = LOSSES[name]
    parameters = inspect.signature(kind).parameters
    for option in options:
        if option not in parameters:
            if not parameters:
                raise ConfigError(f"loss {name} has no options, found {option!r}")
            raise unknown_name(f"option of loss {name}", option, parameters)
    for parameter in parameters.values():
        if parameter.default is parameter.empty and parameter.name not in options:
            raise ConfigError(f"loss {name} needs the option {parameter.name!r}")
    if kind is Weighted:
        options = {"parts": _parts(options["parts"])}
    return kind(**options)


def _parts(tables: Any) -> list[tuple[Any, Loss[Any, Any]]]:
    """Return the (weight, loss) pairs of the tables in a configuration file."""
    if not isinstance(tables, list | tuple):
        raise ConfigError(
            f"parts must be a list of tables, each with a weight and the name of a loss, found {tables!r}"
        )
    parts = []
    for table in tables:
        if not isinstance(table, Mapping) or not {"weight", "name"} <= set(table):
            raise ConfigError(f"expected a part as a table with a weight and the name of a loss, found {table!r}")
        parts.append((table["weight"], make_loss(**{key: table[key] for key in table if key != "weight"})))
    return parts
