"""Models made of other models: the state of all parts as one, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treetune.checked_state import Fields, expected
from treetune.errors import ModelError
from treetune.evaluation.scorers import TREES
from treetune.models.base import Storable
from treetune.models.registry import MODELS, stored_class

if TYPE_CHECKING:
    from numpy.typing import NDArray


def state_of_parts(parts: Mapping[str, Storable]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return (configuration, arrays) of all parts, each array's name with its part's before it.

    The configuration also has the `labels` of the last part that has any, where `inspect` looks for them.
    """
    own: dict[str, Any] = {}
    tensors: dict[str, NDArray[Any]] = {}
    labels: list[str] = []
    for name, part in parts.items():
        config, arrays = part.state()
        own[name] = {"kind": part.kind, "config": config}
        tensors |= {f"{name}.{key}": values for key, values in arrays.items()}
        labels = config.get("labels", labels)
    return {"order": list(parts), "parts": own, "labels": labels}, tensors


def parts_from_state(config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the parts of the model that gave this state, by name and in order."""
    fields, parts = Fields(config), dict[str, Any]()
    names = fields.texts("order")
    if sorted(names) != sorted(fields.table("parts")):
        raise expected("order", "the names of all parts", names)
    for name in names:
        own = fields.table("parts").table(name)
        kind = own.text("kind")
        if kind not in MODELS:
            known = ", ".join(sorted(MODELS))
            raise ModelError(f"the {name} of this model is of the unknown kind {kind!r}; known: {known}")
        prefix = f"{name}."
        arrays = {key.removeprefix(prefix): values for key, values in tensors.items() if key.startswith(prefix)}
        parts[name] = stored_class(kind).from_state(own.plain("config"), arrays)
    return parts


def parsers_from_state(
    config: dict[str, Any], tensors: dict[str, NDArray[Any]], names: tuple[str, ...]
) -> dict[str, Any]:
    """Return the parts of a model that is made of these parsers."""
    parts = parts_from_state(config, tensors)
    if sorted(parts) != sorted(names):
        raise expected("order", " and ".join(names), list(parts))
    for name, part in parts.items():
        if not hasattr(part, "k_best_batch") or part.scorer is not TREES:
            raise expected(f"parts.{name}.kind", "a parser", part.kind)
    return parts
