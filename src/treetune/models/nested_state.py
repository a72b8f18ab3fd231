"""Models made of other models: the state of all parts as one, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treetune.errors import ModelError
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
    parts: dict[str, Any] = {}
    for name in config["order"]:
        kind = config["parts"][name]["kind"]
        if kind not in MODELS:
            known = ", ".join(sorted(MODELS))
            raise ModelError(f"the {name} of this model is of the unknown kind {kind!r}; known: {known}")
        prefix = f"{name}."
        arrays = {key.removeprefix(prefix): values for key, values in tensors.items() if key.startswith(prefix)}
        parts[name] = stored_class(kind).from_state(config["parts"][name]["config"], arrays)
    return parts
