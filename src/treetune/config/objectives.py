"""The tables [[objective]] to objectives: names and losses first, the data later."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treetune.config.schema import checked, objective_settings
from treetune.config.tables import Source, objective_name
from treetune.errors import ConfigError
from treetune.storage import load

if TYPE_CHECKING:
    from treetune.learning.objectives import Objective

# The name of the treebank among the objectives.
TREEBANK = "treebank"
# Keys whose values are not those of the objective itself.
_FILES = ("data", "dev", "loss")


@dataclass(frozen=True)
class ObjectiveConfig:
    """One objective whose data has not been read yet; `written` is its table.

    A loss of Python code is imported when it is first asked for: after all data files were found, and not when a
    configuration is merely read.
    """

    name: str
    written: Mapping[str, Any]
    source: Source

    @property
    def data(self) -> str:
        """The path of the data."""
        return self.source.path(self.written["data"])

    @property
    def dev(self) -> str | None:
        """The path of the development data."""
        return None if "dev" not in self.written else self.source.path(self.written["dev"])

    @cached_property
    def loss(self) -> Any:
        """The loss; None for gold trees or tags, which are learned as the treebank is."""
        from treetune.losses import LOSSES, make_loss

        if self.is_gold:
            return None
        table = self._loss_table
        with self.source.within(f"objective.{self.name}"):
            if "name" not in table:
                known = ", ".join(sorted(LOSSES))
                raise ConfigError(f"expected a loss with a name ({known}), found a table without one")
            return make_loss(**_with_paths(table, self.source))

    @property
    def is_gold(self) -> bool:
        """Whether its data are gold trees or tags."""
        return "loss" not in self.written

    @property
    def is_python(self) -> bool:
        """Whether the loss, or a part of it, is Python code of the user."""
        return _has_python(self._loss_table)

    @property
    def _loss_table(self) -> Mapping[str, Any]:
        loss = self.written.get("loss", {})
        return {"name": loss} if isinstance(loss, str) else loss

    def check_loss(self, output: str) -> None:
        """Raise ConfigError for a loss that cannot be made, or of other outputs than the model's ("tree", "tags")."""
        if not self.is_gold and self.loss.output not in (output, "any"):
            model, others = ("tagger", "parsers") if output == "tags" else ("parser", "taggers")
            raise self.source.whole(
                f"{self.name}: the loss {self.loss.name} is for {others}, and the model is a {model}"
            )

    def objective(self, data: Sequence[Any] = (), dev: Sequence[Any] = (), *, loss: Any = None) -> Objective:
        """Return the objective with its data; its numbers and names are checked."""
        from treetune.learning.objectives import Objective

        options = {key: value for key, value in self.written.items() if key not in _FILES}
        with self.source.within(f"objective.{self.name}"):
            return Objective(data=data, dev=dev, loss=loss or self.loss, **{**options, "name": self.name})

    def table(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the table with every default filled in, given the settings that the trainer reports of it."""
        found: dict[str, Any] = {"name": self.name, "data": self.written["data"]}
        if not self.is_gold:
            found["loss"] = _as_written(self.loss.settings(), self.written["loss"])
        known = objective_settings()
        found |= {key: value for key, value in settings.items() if key in known and key not in found}
        return {**found, **({} if self.dev is None else {"dev": self.written["dev"]})}


def check_objectives(
    tables: Sequence[dict[str, Any]], source: Source, *, metrics: Sequence[str], output: str
) -> tuple[ObjectiveConfig, ...]:
    """Return the objectives of the tables; everything that can be wrong without data is a `ConfigError`.

    `metrics` are the scores of the model, whose names no objective can have; `output` is what it predicts.
    """
    found = [_checked(table, number, source) for number, table in enumerate(tables, start=1)]
    names = [one.name for one in found]
    for one in found:
        if names.count(one.name) > 1 or one.name == TREEBANK:
            raise source.whole(f"two objectives are called {one.name!r}; give them names of their own")
        if one.name in metrics:
            raise source.whole(f"an objective cannot be called {one.name}: that is a metric")
        if not one.is_python:
            one.check_loss(output)
        # Any loss will do to check the other options.
        one.objective(loss=(lambda *_: 0.0) if one.is_python else None)
    return tuple(found)


def _checked(content: dict[str, Any], number: int, source: Source) -> ObjectiveConfig:
    name = objective_name(content, number)
    table = f"objective.{name}"
    written = checked(content, objective_settings(), table=table, source=source)
    if "data" not in written:
        raise source.error(table, "data", "expected the path of a file, found nothing")
    if "dev" in written and "loss" not in written:
        with source.within(table):
            raise ConfigError("gold trees have no cost to measure on dev; give them as dev of [train], or give a loss")
    return ObjectiveConfig(name, written, source)


def _has_python(loss: Any) -> bool:
    if not isinstance(loss, Mapping):
        return False
    parts = loss.get("parts")
    return loss.get("name") == "python" or any(map(_has_python, parts if isinstance(parts, list) else ()))


def _with_paths(loss: Mapping[str, Any], source: Source) -> dict[str, Any]:
    """Return the table of a loss with the paths in it as this process must call them.

    These are the file of a function or of rules, and words of a command that name a file beside the configuration; the
    file of a model is loaded.
    """
    found = dict(loss)
    if loss.get("name") == "entity-f1" and isinstance(loss.get("model"), str):
        # The loss itself knows nothing of model files.
        found["model"] = load(source.path(loss["model"]))
    function, command, parts, rules = (found.get(key) for key in ("function", "command", "parts", "rules"))
    if isinstance(rules, str) and rules.endswith(".toml"):
        found["rules"] = source.path(rules)
    if isinstance(function, str):
        path, colon, name = function.rpartition(":")
        if path.endswith(".py"):
            found["function"] = f"{source.path(path)}{colon}{name}"
    if isinstance(command, str):
        with suppress(ValueError):  # the loss has a word for what cannot be split
            command = shlex.split(command)
    if isinstance(command, list):
        found["command"] = command = [_word(word, source) for word in command]
        # The loss would notice only after an epoch without it.
        if command and isinstance(command[0], str) and shutil.which(command[0]) is None:
            raise ConfigError(f"loss program: expected a program that can be run, found {command[0]!r}, which cannot")
    if isinstance(parts, list):
        found["parts"] = [_with_paths(part, source) if isinstance(part, Mapping) else part for part in parts]
    return found


def _word(word: Any, source: Source) -> Any:
    with suppress(OSError):  # too long for a path
        if isinstance(word, str) and Path(source.path(word)).is_file():
            return source.path(word)
    return word


def _as_written(settings: Mapping[str, Any], loss: Any) -> dict[str, Any]:
    """Return the settings of a loss, with the paths as they were written."""
    written = loss if isinstance(loss, Mapping) else {}
    found = {**settings, **{key: written[key] for key in ("function", "command", "rules", "model") if key in written}}
    if "parts" in settings:
        found["parts"] = [_as_written(*pair) for pair in zip(settings["parts"], written["parts"], strict=True)]
    return found
