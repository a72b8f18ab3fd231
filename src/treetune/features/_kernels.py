"""How kernels are compiled, and the one hash that turns feature values into feature numbers.

`entry` is for kernels that Python calls: kept on disk (`kernel_cache.py`), without the interpreter's lock. `inner` is
for those that only other kernels call: always inlined (passing the working memory would cost more than most of
them do), and without the wrappers for Python, which take much of the time to compile. `part` is for larger
ones that only other kernels call, compiled once. A `lean` kernel makes no arrays, so numba need not count
references to those it is given, which is a large part of its time. A `fast` one meets no NaN, so that a loop
over maxima becomes vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from treetune.features.kernel_cache import KernelCache
from treetune.features.linked_code import EntryCompiler, linked_options

_LEAN: dict[str, Any] = {"_nrt": False}
_ENTRY: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "pipeline_class": EntryCompiler}
_PART: dict[str, Any] = linked_options()


def _cached(**options: Any) -> Callable[[Any], Any]:
    def compiled(function: Any) -> Any:
        kernel = njit(**options)(function)
        # Without the compiler (NUMBA_DISABLE_JIT) a kernel is the function itself.
        if kernel is not function:
            kernel._cache = KernelCache(function)
        return kernel

    return compiled


entry: Any = _cached(**_ENTRY)
lean_entry: Any = _cached(**_ENTRY, **_LEAN)
part: Any = njit(**_PART)
lean_part: Any = njit(**_PART, **_LEAN)
fast_part: Any = njit(**_PART, fastmath={"nnan", "nsz"})
INNER: Any = {**_PART, **_LEAN, "forceinline": True}
inner: Any = njit(**INNER)


@inner
def mix(value):  # type: ignore[no-untyped-def]
    """Scramble 64 bits (the finaliser of SplitMix64)."""
    value = np.uint64(value)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
