"""Values of options that need no conversion, for which newer versions of Typer would import pydantic.

That takes a tenth of a second of every command. Texts, and options that are not given, are what they shall be already.
"""

from __future__ import annotations

from typing import Any

import typer.core


def skip_conversion() -> None:
    """Hand on texts and defaults as they are, where Typer has the method that would convert them."""
    parameter: Any = getattr(typer.core, "_TyperParameter", None)
    convert: Any = getattr(parameter, "process_value", None)
    if convert is None or getattr(convert, "is_ours", False):
        return

    def process_value(self: Any, ctx: Any, value: Any) -> Any:
        if not _is_plain(self, value):
            return convert(self, ctx, value)
        return value if self.callback is None else self.callback(ctx, self, value)

    process_value.is_ours = True  # type: ignore[attr-defined]
    parameter.process_value = process_value


def _is_plain(parameter: Any, value: Any) -> bool:
    if value is None:
        return not getattr(parameter, "required", True)
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    return annotation is type(value) and (annotation is str or value is getattr(parameter, "default", None))
