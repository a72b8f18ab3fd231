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

# The key of the part whose clusters a part has too.
_SAME_CLUSTERS = "clusters_of"


def state_of_parts(parts: Mapping[str, Storable]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return (configuration, arrays) of all parts, each array's name with its part's before it.

    The configuration also has the `labels` of the last part that has any, where `inspect` looks for them. Word clusters
    that several parts have in common are kept once.
    """
    own: dict[str, Any] = {}
    tensors: dict[str, NDArray[Any]] = {}
    labels: list[str] = []
    for name, part in parts.items():
        config, arrays = part.state()
        own[name] = {"kind": part.kind, "config": _with_clusters_once(config, own)}
        tensors |= {f"{name}.{key}": values for key, values in arrays.items()}
        labels = config.get("labels", labels)
    return {"order": list(parts), "parts": own, "labels": labels}, tensors


def _with_clusters_once(config: dict[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of a part; the name of an earlier part stands for clusters that this one has too."""
    encoder = config.get("encoder", {})
    for name, other in others.items():
        if "clusters" in encoder and other["config"].get("encoder", {}).get("clusters") == encoder["clusters"]:
            rest = {key: value for key, value in encoder.items() if key != "clusters"}
            return {**config, "encoder": {**rest, _SAME_CLUSTERS: name}}
    return config


def _with_own_clusters(config: dict[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of a part with the clusters of the earlier part that it names."""
    encoder = config.get("encoder")
    if not isinstance(encoder, dict) or _SAME_CLUSTERS not in encoder:
        return config
    name = encoder[_SAME_CLUSTERS]
    grammar = getattr(parts.get(name), "grammar", None) if isinstance(name, str) else None
    clusters = None if grammar is None else grammar.encoder.clusters
    if clusters is None:
        raise expected(_SAME_CLUSTERS, "the name of an earlier part with clusters", name)
    return {**config, "encoder": {**encoder, "clusters": clusters}}


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
        own_config = _with_own_clusters(own.plain("config"), parts)
        parts[name] = stored_class(kind).from_state(own_config, arrays)
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
