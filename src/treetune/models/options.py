"""Declared options: fields of frozen dataclasses with a help text, choices and bounds.

The metadata of a field has the keys ``help`` (a line for users), ``choices`` (the values it may have; of a tuple, its
parts), ``minimum``, ``maximum``, ``search`` (whether the option can change after training) and ``noun`` (what messages
call one of the choices). Command line, configuration files and documentation are generated from them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import Field, field, fields, replace
from numbers import Integral, Real
from typing import Any, TypeVar

from treetune.checked_state import Fields, expected, is_finite
from treetune.errors import ConfigError, unknown_name

Config = TypeVar("Config")

# The least working memory in GB that a model file may allow.
SMALLEST_MEMORY = 0.01

# What a value must be, in words and as a class, by the type of the default.
_TYPES: dict[type, tuple[str, type]] = {
    int: ("a whole number", Integral),
    float: ("a number", Real),
    str: ("a text", str),
}


def option(
    default: Any,
    help: str,  # noqa: A002 - the word of argparse and typer
    *,
    choices: Collection[Any] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    search: bool = False,
    **more: Any,
) -> Any:
    """Return a dataclass field that declares an option; `more` is metadata of its own kind."""
    given: dict[str, Any] = {"minimum": minimum, "maximum": maximum, "search": search or None}
    given["choices"] = None if choices is None else tuple(choices)
    metadata = {"help": help, **{key: value for key, value in given.items() if value is not None}, **more}
    return field(default=default, metadata=metadata)


def option_fields(config: Any) -> tuple[Field[Any], ...]:
    """Return the declared options of a configuration or of its class."""
    return tuple(own for own in fields(config) if own.init)


def search_options(config: Any) -> tuple[str, ...]:
    """Return the names of the options that can change after training."""
    return tuple(own.name for own in option_fields(config) if own.metadata.get("search"))


def check_values(config: Any) -> None:
    """Raise ConfigError for a value that is none of an option's choices or out of bounds; None is the default."""
    for own in option_fields(config):
        value = getattr(config, own.name)
        if value is None:
            continue
        minimum = own.metadata.get("minimum")
        if minimum is not None and not value >= minimum:
            raise ConfigError(f"{own.name} must be at least {minimum}, found {value}")
        maximum = own.metadata.get("maximum")
        if maximum is not None and not value <= maximum:
            raise ConfigError(f"{own.name} must be at most {maximum}, found {value}")
        if "choices" in own.metadata:
            for part in value if isinstance(value, tuple) else (value,):
                if part not in own.metadata["choices"]:
                    raise _not_a_choice(own, part)


def _not_a_choice(own: Field[Any], value: Any) -> ConfigError:
    choices = own.metadata["choices"]
    if all(isinstance(choice, str) for choice in choices):
        return unknown_name(own.metadata.get("noun", own.name), str(value), choices)
    return ConfigError(f"{own.name} must be {' or '.join(map(str, choices))}, found {value}")


def check_memory_limit(gigabytes: float) -> None:
    """Raise ConfigError unless `max_memory` is a finite number above 0."""
    if not 0 < gigabytes < float("inf"):
        raise ConfigError(f"max_memory must be a number of GB above 0, found {gigabytes:g}")


def check_stored_memory(gigabytes: float) -> None:
    """Raise ModelError if a model stores a `max_memory` that no sentence could be parsed with."""
    if gigabytes < SMALLEST_MEMORY:
        raise expected("options.max_memory", f"{SMALLEST_MEMORY} GB or more", gigabytes)


def with_values(config: Config, options: Mapping[str, Any]) -> Config:
    """Return a configuration with other options; a value of the wrong type is a `ConfigError`."""
    for own in fields(config):  # type: ignore[arg-type]
        title, expected = _TYPES.get(type(own.default), ("", object))
        if own.name in options and not isinstance(options[own.name], expected):
            raise ConfigError(f"{own.name} must be {title}, found {options[own.name]!r}")
    return replace(config, **options)  # type: ignore[type-var]


def options_from_state(kind: type[Config], options: Fields) -> Config:
    """Return the configuration that a model stores; an unknown option or a value of another type is a ModelError."""
    known = {own.name: own for own in option_fields(kind)}
    for name in options:
        if name not in known:
            raise expected("options", f"options of {', '.join(known)}", name)
    return kind(**{name: _stored(options, known[name]) for name in options})


def _stored(options: Fields, own: Field[Any]) -> Any:
    """Return the stored value of an option, which is of the type of the default."""
    name, default = own.name, own.default
    if isinstance(default, bool):
        return options.flag(name)
    if isinstance(default, int):
        return options.integer(name, 0, 2**31 - 1)
    if isinstance(default, tuple):
        return tuple(options.texts(name))
    value = options.value(name)
    if isinstance(default, float) and not is_finite(value):
        raise expected(options.path(name), "a number", value)
    if not isinstance(default, float) and value is not default and not isinstance(value, str):
        raise expected(options.path(name), "a text", value)
    return value
