"""Checked reading of the state of a model: the tables of its header and its arrays.

Whatever a `from_state` takes over goes through here, so that a model file from a stranger is either sound or refused
by a `ModelError` of one sentence. Kernels rely on it: they do not check indices.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treetune.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Texts that a model may write into its output must not break lines or columns, nor reach a terminal as commands.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LONGEST_SHOWN = 40


def expected(what: str, wanted: str, found: object) -> ModelError:
    """Return the error of a state in which `what` is not as wanted."""
    return ModelError(f"{what}: expected {wanted}, found {describe(found)}")


def describe(value: object) -> str:
    """Return a value as messages show it: short, and of tables and lists only their sizes."""
    if isinstance(value, Mapping):
        return f"a table of {len(value):,} keys"
    if isinstance(value, list | tuple):
        return f"a list of {len(value):,} entries"
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


class Fields:
    """A table of a header, each key checked when it is read; `path` is where messages say that it is."""

    def __init__(self, content: object, path: str = "") -> None:
        if not isinstance(content, Mapping):
            raise expected(path or "config", "a table", content)
        self._content = content
        self._path = path

    def __contains__(self, name: str) -> bool:
        """Whether the table has a key."""
        return name in self._content

    def __iter__(self) -> Iterator[str]:
        """Yield the keys."""
        return iter(self._content)

    def path(self, name: str) -> str:
        """Return what messages call a key."""
        shown = name if name.isprintable() and len(name) <= _LONGEST_SHOWN else describe(name)
        return f"{self._path}.{shown}" if self._path else shown

    def value(self, name: str) -> Any:
        """Return the value of a key, which must be there."""
        if name not in self._content:
            raise ModelError(f"{self.path(name)}: expected a value, found none")
        return self._content[name]

    def table(self, name: str) -> Fields:
        """Return a table."""
        return Fields(self.value(name), self.path(name))

    def plain(self, name: str) -> dict[str, Any]:
        """Return a table that is checked elsewhere."""
        return dict(self.table(name)._content)

    def plain_table(self, name: str) -> dict[str, Any]:
        """Return a table of texts, numbers and the like."""
        found = self.table(name)._content
        if any(isinstance(value, Mapping | list) for value in found.values()):
            raise expected(self.path(name), "a table of single values", found)
        return dict(found)

    def entries(self, name: str) -> list[Any]:
        """Return a list, whatever is in it."""
        found = self.value(name)
        if not isinstance(found, list | tuple):
            raise expected(self.path(name), "a list", found)
        return list(found)

    def text(self, name: str, choices: Collection[str] | None = None) -> str:
        """Return a text, one of `choices` if there are any."""
        found = self.value(name)
        if not isinstance(found, str):
            raise expected(self.path(name), "a text", found)
        if choices is not None and found not in choices:
            raise expected(self.path(name), f"one of {', '.join(sorted(choices))}", found)
        return found

    def texts(self, name: str, choices: Collection[str] | None = None) -> list[str]:
        """Return a list of texts, each one of `choices` if there are any."""
        found = texts(self.value(name), self.path(name))
        for text in found if choices is not None else ():
            if text not in choices:  # type: ignore[operator]
                raise expected(self.path(name), f"texts of {', '.join(sorted(choices))}", text)  # type: ignore[arg-type]
        return found

    def names(self, name: str, most: int) -> list[str]:
        """Return a list of names that are given to words: different, not empty, no control characters."""
        found, path = texts(self.value(name), self.path(name)), self.path(name)
        if not 1 <= len(found) <= most:
            raise expected(path, f"1 to {most:,} names", found)
        if len(set(found)) < len(found):
            raise expected(path, "different names", found)
        check_printable(found, path)
        if "" in found:
            raise expected(path, "names", "")
        return found

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        found = self.value(name)
        if not isinstance(found, bool):
            raise expected(self.path(name), "true or false", found)
        return found

    def flags(self, name: str, size: int) -> list[bool]:
        """Return a list of `size` truth values, one of them true at least."""
        found = self.entries(name)
        if len(found) != size or set(map(type, found)) - {bool} or not any(found):
            raise expected(self.path(name), f"{size:,} values true or false, not all of them false", found)
        return found

    def integer(self, name: str, minimum: int, maximum: int) -> int:
        """Return a whole number within bounds."""
        found = self.value(name)
        if isinstance(found, bool) or not isinstance(found, int) or not minimum <= found <= maximum:
            raise expected(self.path(name), f"a whole number from {minimum:,} to {maximum:,}", found)
        return found

    def positive(self, name: str) -> float:
        """Return a number above 0 whose reciprocal is one too."""
        found = self.value(name)
        check_positive(found, self.path(name))
        return found  # type: ignore[no-any-return]


def check_positive(value: object, path: str) -> None:
    """Raise ModelError unless a value is a number above 0 that is neither huge nor tiny."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-30 < value < 1e30:
        raise expected(path, "a number above 0", value)


def texts(value: object, path: str) -> list[str]:
    """Return a list of texts."""
    if not isinstance(value, list | tuple):
        raise expected(path, "a list of texts", value)
    if not {str}.issuperset(map(type, value)):
        raise expected(path, "texts only", next(part for part in value if type(part) is not str))
    return list(value)


def integers(value: object, path: str, below: int) -> list[int]:
    """Return a list, not empty, of whole numbers from 0 that are less than `below`."""
    if not isinstance(value, list | tuple) or not value:
        raise expected(path, "a list of whole numbers", value)
    if set(map(type, value)) - {int} or not 0 <= min(value) <= max(value) < below:
        strange = (part for part in value if type(part) is not int or not 0 <= part < below)
        raise expected(path, f"whole numbers below {below:,}", next(strange))
    return list(value)


def check_printable(found: Sequence[str], path: str) -> None:
    """Raise ModelError if one of some texts has a control character, which output must not have."""
    if _CONTROL.search("".join(found)):
        strange = next(text for text in found if _CONTROL.search(text))
        raise expected(path, "texts without control characters", strange)


class Arrays:
    """The arrays of a state, each checked when it is read; `prefix` begins their names."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], prefix: str = "") -> None:
        self._tensors = tensors
        self._prefix = prefix

    def __contains__(self, name: str) -> bool:
        """Whether there is an array of this name."""
        return self._prefix + name in self._tensors

    def part(self, name: str) -> Arrays:
        """Return the arrays whose names begin with ``name.``."""
        return Arrays(self._tensors, f"{self._prefix}{name}.")

    def integers(self, name: str, dtype: Any, size: int | None = None) -> NDArray[Any]:
        """Return a row of integers of this type, or of one that fits into it; `size` is how many there must be."""
        import numpy as np

        path, wanted = self._prefix + name, np.dtype(dtype)
        found = self._tensors.get(path)
        if found is None:
            raise ModelError(f"{path}: expected an array, found none")
        if found.ndim != 1 or found.dtype.kind not in "iu" or not np.can_cast(found.dtype, wanted):
            raise ModelError(f"{path}: expected a row of {wanted}, found {found.ndim} dimensions of {found.dtype}")
        if size is not None and len(found) != size:
            raise ModelError(f"{path}: expected {size:,} numbers, found {len(found):,}")
        return found.astype(wanted, copy=False)

    def bounded(self, name: str, dtype: Any, size: int, minimum: int, maximum: int) -> NDArray[Any]:
        """Return such a row whose numbers are within bounds."""
        found = self.integers(name, dtype, size)
        if len(found):
            least, most = int(found.min()), int(found.max())
            if least < minimum or most > maximum:
                strange = least if least < minimum else most
                wanted = f"numbers from {minimum:,} to {maximum:,}"
                raise ModelError(f"{self._prefix}{name}: expected {wanted}, found {strange:,}")
        return found

    def exact(self, name: str, dtype: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """Return a copy of an array of this type and shape (None: any number), all of whose numbers are finite."""
        import numpy as np

        path, wanted = self._prefix + name, np.dtype(dtype)
        found = self._tensors.get(path)
        if found is None:
            raise ModelError(f"{path}: expected an array, found none")
        fits = len(shape) == found.ndim
        fits = fits and all(size in (None, own) for size, own in zip(shape, found.shape, strict=True))
        if found.dtype != wanted or not fits:
            sizes = " × ".join("any" if size is None else f"{size:,}" for size in shape)
            own = " × ".join(f"{size:,}" for size in found.shape)
            raise ModelError(f"{path}: expected {sizes} numbers of {wanted}, found {own} of {found.dtype}")
        if wanted.kind == "f" and not np.isfinite(found).all():
            raise ModelError(f"{path}: expected finite numbers, found others")
        # Arrays of a file may be read-only, and cannot grow in place.
        return found.copy()

    def path(self, name: str) -> str:
        """Return the whole name of an array."""
        return self._prefix + name


def is_finite(value: object) -> bool:
    """Whether a value is a number, and a finite one."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
