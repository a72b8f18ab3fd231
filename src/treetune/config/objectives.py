"""The tables [[objective]] to objectives: names, losses, and then the data."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treetune.config.changes import name_of
from treetune.config.keys import checked, hints_of
from treetune.config.source import Source
from treetune.errors import ConfigError
from treetune.storage import load

if TYPE_CHECKING:
    from treetune.learning.objectives import Objective

# What the treebank is called among the objectives.
TREEBANK = "treebank"


@dataclass(frozen=True, slots=True)
class Plan:
    """One objective whose data has not been read yet.

    `written` is its table; `data`, `dev` and `loss` are what it says there, as this process needs them.
    """

    name: str
    written: Mapping[str, Any]
    data: str
    dev: str | None
    loss: Any

    @property
    def is_intrinsic(self) -> bool:
        """Whether its data are gold trees, to be learned as the treebank is."""
        return self.loss is None

    @property
    def reads_orders(self) -> bool:
        """Whether its data are word orders, not trees."""
        return self.loss is not None and self.loss.reference == "order"

    @property
    def start(self) -> int | None:
        """The first epoch in which it is used, if the table says so."""
        return self.written.get("start")

    def objective(self, data: Sequence[Any] = (), dev: Sequence[Any] = ()) -> Objective:
        """Return the objective, with its data."""
        from treetune.learning.objectives import Objective

        options = {key: value for key, value in self.written.items() if key not in _PLACED}
        return Objective(data=data, dev=dev, loss=self.loss, **{**options, "name": self.name})

    def resolved(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the table with every default filled in, given what the trainer says of the objective."""
        found: dict[str, Any] = {"name": self.name, "data": self.written["data"]}
        if not self.is_intrinsic:
            found["loss"] = _as_written(self.loss.settings(), self.written["loss"])
        found |= {key: value for key, value in settings.items() if key in _hints() and key not in found}
        return {**found, **({} if self.dev is None else {"dev": self.written["dev"]})}


# What is not handed on as it was written.
_PLACED = {"data": str, "dev": str, "loss": str | dict}


def _hints() -> dict[str, Any]:
    from treetune.learning.objectives import Objective

    return {**hints_of(Objective), **_PLACED}


def plan_objectives(tables: Sequence[dict[str, Any]], source: Source, *, metrics: Sequence[str]) -> list[Plan]:
    """Return what the tables ask for; everything that can be wrong without data is a `ConfigError`.

    `metrics` are the scores of the model, after which no objective can be called.
    """
    plans = [_plan(table, number, source) for number, table in enumerate(tables, start=1)]
    names = [plan.name for plan in plans]
    for name in names:
        if names.count(name) > 1 or name == TREEBANK:
            raise source.whole(f"two objectives are called {name!r}; give them names of their own")
        if name in metrics:
            raise source.whole(f"an objective cannot be called {name}: that is a metric")
    return plans


def _plan(content: dict[str, Any], number: int, source: Source) -> Plan:
    name = name_of(content, number)
    place = f"objective.{name}"
    written = checked(content, _hints(), table=place, source=source)
    if "data" not in written:
        raise source.error(place, "data", "expected the path of a file, found nothing")
    dev = written.get("dev")
    with source.within(place):
        plan = Plan(
            name,
            written,
            data=source.placed(written["data"]),
            dev=None if dev is None else source.placed(dev),
            loss=_make_loss(written.get("loss"), source),
        )
        if plan.is_intrinsic and plan.dev is not None:
            raise ConfigError("gold trees have no cost to measure on dev; give them as dev of [train], or give a loss")
        # Its numbers and names are checked by the objective itself.
        plan.objective()
    return plan


def _make_loss(loss: str | dict[str, Any] | None, source: Source) -> Any:
    from treetune.losses import LOSSES, make_loss

    if loss is None:
        return None
    table = {"name": loss} if isinstance(loss, str) else loss
    if "name" not in table:
        raise ConfigError(f"expected a loss with a name ({', '.join(sorted(LOSSES))}), found a table without one")
    return make_loss(**_placed(table, source))


def _placed(loss: Mapping[str, Any], source: Source) -> dict[str, Any]:
    """Return the table of a loss with the paths in it as this process must call them.

    These are the file of a function or of rules, and words of a command that name a file beside the experiment; the
    file of a model is loaded.
    """
    placed = dict(loss)
    if loss.get("name") == "entity-f1" and isinstance(loss.get("model"), str):
        # The loss itself knows nothing of model files.
        placed["model"] = load(source.placed(loss["model"]))
    function, command, parts, rules = (placed.get(key) for key in ("function", "command", "parts", "rules"))
    if isinstance(rules, str) and rules.endswith(".toml"):
        placed["rules"] = source.placed(rules)
    if isinstance(function, str):
        path, colon, name = function.rpartition(":")
        if path.endswith(".py"):
            placed["function"] = f"{source.placed(path)}{colon}{name}"
    if isinstance(command, str):
        with suppress(ValueError):  # the loss has a word for what cannot be split
            command = shlex.split(command)
    if isinstance(command, list):
        placed["command"] = [_placed_word(word, source) for word in command]
        _check_program(placed["command"])
    if isinstance(parts, list):
        placed["parts"] = [_placed(part, source) if isinstance(part, Mapping) else part for part in parts]
    return placed


def _check_program(command: Sequence[Any]) -> None:
    """Raise ConfigError for a program that is not there: the loss would notice only after an epoch without it."""
    if command and isinstance(command[0], str) and shutil.which(command[0]) is None:
        raise ConfigError(f"loss program: expected a program that can be run, found {command[0]!r}, which cannot")


def _placed_word(word: Any, source: Source) -> Any:
    with suppress(OSError):  # too long for a path
        if isinstance(word, str) and Path(source.placed(word)).is_file():
            return source.placed(word)
    return word


def _as_written(settings: Mapping[str, Any], loss: Any) -> dict[str, Any]:
    """Return what a loss says of itself, with the paths as they were written."""
    written = loss if isinstance(loss, Mapping) else {}
    as_files = ("function", "command", "rules", "model")
    found = {**settings, **{key: written[key] for key in as_files if key in written}}
    if "parts" in settings:
        found["parts"] = [_as_written(*pair) for pair in zip(settings["parts"], written["parts"], strict=True)]
    return found
