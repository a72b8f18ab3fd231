"""How kernels are compiled: those that only other kernels call are optimised, and made machine code, as part of these.

numba optimises every function by itself and makes machine code of it, also of those that are inlined into others and
never run on their own, and Python's garbage collector looks again and again at what the compiler holds.
"""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Any

from treetune.features.kernel_locks import release_all

# Untyped, and in part private: where a later version of numba lacks something, its own compiler is used.
_codegen: Any = import_module("numba.core.codegen")
_compiler: Any = import_module("numba.core.compiler")
_USED = (
    "_optimize_final_module",
    "_finalize_final_module",
    "_finalize_dynamic_globals",
    "_verify_declare_only_symbols",
    "_ensure_finalized",
)


class _Unset:
    """The code generator of a library, which has no machine code that could be given an environment."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, env_name: str, env: object) -> None:
        """Do nothing: the environment is set where the code is linked to."""


class _LinkedLibrary(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of one kernel, to be linked into that of others."""

    @property
    def codegen(self) -> Any:
        return _Unset(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        """Link the code, and return that there is no machine code."""
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        """Do nothing: what the code is linked into is optimised."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class EntryCompiler(_compiler.Compiler):  # type: ignore[misc]
    """numba's compiler, undisturbed by the garbage collector."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function, and the kernels that it calls."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        except BaseException:
            release_all()
            raise
        finally:
            if was_enabled:
                gc.enable()


class _LinkedCompiler(_compiler.Compiler):  # type: ignore[misc]
    def define_pipelines(self) -> Any:
        """Compile as numba does, into a library of our own."""
        self.state.library = _LinkedLibrary(self.state.targetctx.codegen(), "kernel")
        return super().define_pipelines()


def linked_options() -> dict[str, Any]:
    """Return the options of `njit` for kernels that only other kernels call."""
    options: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    if all(hasattr(_codegen.JITCodeLibrary, name) for name in _USED):
        options["pipeline_class"] = _LinkedCompiler
    return options


def set_environments(compiled: Any) -> None:
    """Give compiled code the environments of the kernels that were linked into it, as numba does for code from disk."""
    for environment in compiled._find_referenced_environments():
        compiled.codegen.set_env(environment.env_name, environment)
