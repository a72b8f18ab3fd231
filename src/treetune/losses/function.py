"""Any Python function as a loss, given as itself or by name: ``package.module:name`` or ``path/to/file.py:name``."""

from __future__ import annotations

import inspect
import sys
import traceback
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, TypeAlias

from treetune.corpus.sentence import Sentence
from treetune.errors import ConfigError, LossError, unknown_name
from treetune.losses.base import Loss, as_cost, quote

CostFunction: TypeAlias = Callable[[Sentence, Any, Any], float]


class Function(Loss[Any, Any]):
    """A Python function `cost(sentence, output, reference)` as a loss.

    Args:
        function: The function, or its name: ``package.module:name`` of what can be imported, or
            ``path/to/file.py:name``. The name may also be that of a `Loss`, or of a class of losses that needs no
            options, which then does everything itself.

    Raises:
        ConfigError: there is no such function, or it does not take three arguments.
    """

    name: ClassVar[str] = "python"

    def __init__(self, function: str | CostFunction) -> None:
        if not (isinstance(function, str) or callable(function)):
            raise _no_title(function)
        self._title = function if isinstance(function, str) else title_of(function)
        found: Any = find_function(function) if isinstance(function, str) else function
        if isinstance(found, type) and issubclass(found, Loss):
            found = _make(found, self._title)
        self._loss: Loss[Any, Any] | None = found if isinstance(found, Loss) else None
        if self._loss is not None:
            self.output, self.reference = self._loss.output, self._loss.reference
        _check_arguments(found, self._title)
        self._function: CostFunction = found

    def __repr__(self) -> str:
        return f"Function({self._title!r})"

    def __call__(self, sentence: Sentence, output: Any, reference: Any) -> float:
        """Return what the function gives; a LossError if it fails or gives what is not a cost."""
        try:
            answer = self._function(sentence, output, reference)
        except Exception as error:
            raise _failure(self._title, sentence, error) from error
        return as_cost(answer, of=self._title, sentence=sentence)

    def costs(self, sentence: Sentence, outputs: Sequence[Any], reference: Any) -> list[float]:
        """Return what the function gives for each output."""
        if self._loss is None:
            return super().costs(sentence, outputs, reference)
        try:
            answers = self._loss.costs(sentence, outputs, reference)
        except Exception as error:
            raise _failure(self._title, sentence, error) from error
        if len(answers) != len(outputs):
            raise LossError(
                f"loss {self._title}: expected {len(outputs)} costs, one an output, found {len(answers)} "
                f"for the sentence {quote(sentence)}"
            )
        return [as_cost(answer, of=self._title, sentence=sentence) for answer in answers]

    def known(self, sentence: Sentence, reference: Any) -> Any | None:
        """Return None: a function cannot say; a named `Loss` may."""
        return None if self._loss is None else self._loss.known(sentence, reference)

    def check(self, sentence: Sentence, reference: Any) -> None:
        """Let a named `Loss` check the reference; a function takes any."""
        if self._loss is not None:
            self._loss.check(sentence, reference)

    def settings(self) -> dict[str, Any]:
        """Return the name of the function, by which it can be found again if it stands in a module or a file."""
        return {"name": self.name, "function": self._title}

    def close(self) -> None:
        """Close a named `Loss`."""
        if self._loss is not None:
            self._loss.close()


def as_loss(cost: Loss[Any, Any] | CostFunction) -> Loss[Any, Any]:
    """Return a loss as it is, and a function as a `Function`."""
    if isinstance(cost, Loss):
        return cost
    given: Any = cost
    if isinstance(given, type) and issubclass(given, Loss):
        raise ConfigError(f"expected a loss, found the class {given.__name__}; make one of it: {given.__name__}()")
    if not callable(given):
        raise ConfigError(
            f"expected a loss or a function of (sentence, output, reference), found {given!r}; "
            "make_loss makes losses from names"
        )
    return Function(given)


def title_of(function: Any) -> str:
    """Return ``module:name`` of a function; of an object that can be called, those of its class."""
    named = function if hasattr(function, "__qualname__") else type(function)
    module = named.__module__
    # A script is found again by its file.
    script = getattr(sys.modules["__main__"], "__file__", None)
    return f"{script if module == '__main__' and script else module}:{named.__qualname__}"


def find_function(title: str) -> Any:
    """Return what ``package.module:name`` or ``path/to/file.py:name`` names.

    The folder of a file is searched for what it imports, as when Python runs it. A file is loaded once.

    Raises:
        ConfigError: there is no such module, file or name, or loading it fails.
    """
    place, colon, name = title.rpartition(":")
    if not (colon and place and name):
        raise _no_title(title)
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            known = [key for key, value in vars(found).items() if callable(value) and not key.startswith("_")]
            raise unknown_name(f"function of {place}", part, known)
        found = getattr(found, part)
    return found


def _no_title(given: object) -> ConfigError:
    return ConfigError(f"function must be 'package.module:name' or 'path/to/file.py:name', found {given!r}")


def _load_module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except Exception as error:
        raise ConfigError(
            f"cannot import the module {name!r} of a loss: {_in_words(error)}; install it, or name its file, "
            "as in 'path/to/file.py:name'"
        ) from error


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"expected the file {path} with the function of a loss, found none")
    # Two files of one name must not be taken for each other, nor for an installed module.
    name = f"treetune_loss_{path.stem}_{zlib.crc32(str(path.resolve()).encode()):08x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _search_folder(path.resolve().parent):
            spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ConfigError(f"cannot load {path}, which has the function of a loss: {_in_words(error)}") from error
    return module


@contextmanager
def _search_folder(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):  # the file may have taken it away itself
            sys.path.remove(str(folder))


def _make(kind: type[Loss[Any, Any]], title: str) -> Loss[Any, Any]:
    try:
        return kind()
    except TypeError as error:
        raise ConfigError(f"the loss {title} must be made without options: {error}") from error


def _check_arguments(function: Any, title: str) -> None:
    if not callable(function):
        raise ConfigError(f"expected a function as {title}, found {function!r}")
    try:
        signature = inspect.signature(function)
    except ValueError:  # built in: it will speak for itself
        return
    try:
        signature.bind(None, None, None)
    except TypeError:
        raise ConfigError(
            f"the function {title} must take three arguments, (sentence, output, reference), found {signature}"
        ) from None


def _failure(title: str, sentence: Sentence, error: Exception) -> LossError:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return LossError(
        f"loss {title} failed for the sentence {quote(sentence)}: {_in_words(error)} "
        f"({Path(place.filename).name}, line {place.lineno})"
    )


def _in_words(error: Exception) -> str:
    return traceback.format_exception_only(error)[-1].strip()
