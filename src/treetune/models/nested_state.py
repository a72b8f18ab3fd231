"""Models made of other models: the state of all parts as one, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treetune.errors import ModelError
from treetune.models.base import Parser
from treetune.models.registry import MODELS, model_class

if TYPE_CHECKING:
    from numpy.typing import NDArray


def state_of_parts(parts: Mapping[str, Parser]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return (configuration, arrays) of all parts, each array's name with its part's before it."""
    config: dict[str, Any] = {}
    tensors: dict[str, NDArray[Any]] = {}
    for name, part in parts.items():
        part_config, part_tensors = part.state()
        config[name] = {"kind": part.kind, "config": part_config}
        tensors.update({f"{name}.{key}": values for key, values in part_tensors.items()})
    return config, tensors


def part_from_state(name: str, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Parser:
    """Return the part called `name` of the model that gave this state."""
    kind = config[name]["kind"]
    if kind not in MODELS:
        raise ModelError(
            f"the {name} parser of this model is of the unknown kind {kind!r}; known: {', '.join(sorted(MODELS))}"
        )
    prefix = f"{name}."
    own = {key.removeprefix(prefix): values for key, values in tensors.items() if key.startswith(prefix)}
    return model_class(kind).from_state(config[name]["config"], own)
