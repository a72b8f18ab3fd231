"""``--also LOSS:FILE@RATE`` to the table of an objective."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from treetune.config.changes import name_of
from treetune.config.objectives import TREEBANK
from treetune.errors import ConfigError, unknown_name
from treetune.evaluation.metrics import METRICS

# Gold trees, or gold tags for a tagger, which are learned as the treebank is and have no loss.
GOLD = ("trees", "tags")

_RATE = re.compile(r"@([0-9]*\.?[0-9]+)$")


def objective_tables(given: Sequence[str]) -> list[dict[str, Any]]:
    """Return the tables of all objectives that were asked for; each has a name of its own, after its file."""
    tables: list[dict[str, Any]] = []
    taken = {TREEBANK, *METRICS}
    for text in given:
        table = _table(text)
        name = wanted = name_of(table, 1)
        number = 1
        while name in taken:
            number += 1
            name = f"{wanted}-{number}"
        taken.add(name)
        tables.append({"name": name, **table})
    return tables


def _table(text: str) -> dict[str, Any]:
    from treetune.losses import LOSSES

    loss, colon, rest = text.partition(":")
    rate = _RATE.search(rest)
    path = rest[: rate.start()] if rate else rest
    if not (loss and colon and path):
        raise ConfigError(f"--also: expected LOSS:FILE or LOSS:FILE@RATE, as in root:questions.conllu, found {text!r}")
    if loss not in (*LOSSES, *GOLD):
        raise ConfigError(f"--also {text}: {unknown_name('loss', loss, (*LOSSES, *GOLD))}")
    table: dict[str, Any] = {"data": path}
    if loss not in GOLD:
        table["loss"] = loss
    if rate:
        table["rate"] = float(rate[1])
    return table
