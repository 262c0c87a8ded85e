"""The kernels compiled by numba, the extra ``fast``: the same names and the same numbers as in ``plain``.

Kernel files take ``njit`` from here: what it compiles is kept on disk where this user can write, and compiled at each
start where not. Numba looks for a folder in this order: ``NUMBA_CACHE_DIR``, ``__pycache__`` beside the kernel, the
user's cache.
"""

import sys
from collections.abc import Callable
from functools import cache as once
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

NOT_KEPT = (
    "Note: compiled kernels cannot be kept, because no folder for them can be written; they are compiled anew at each "
    "start, which takes some seconds. Set NUMBA_CACHE_DIR to a folder that you can write."
)


class Kept(FunctionCache):  # type: ignore[misc]
    """Numba's own files, opened without what only a compiler needs, and never a reason to fail."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # Numba looks at a kernel's own file alone; kernels are made of parts from other files here.
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel off the disk, or None, and then it is compiled.

        Numba would load its typing rules first, and SciPy with them, which takes longer than an estimate. Code that
        is already compiled needs only the allocator; a compilation loads the rules by itself.
        """
        rtsys.initialize(target_context)
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except OSError:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the kernel; a full disk costs the next start some seconds and nothing else."""
        try:
            super().save_overload(sig, data)
        except OSError:
            say_not_kept()


def njit(*, cache: bool = True, **options: Any) -> Any:
    """As ``numba.njit``, but a folder that cannot be written is no error."""

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = numba.njit(**options)(function)
        if cache:
            try:
                kernel._cache = Kept(function)
            except RuntimeError:  # numba's word for: none of the folders can be written
                say_not_kept()
        return kernel

    return decorate


@once
def _stamp() -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of every file of kernels: when one changes, all are compiled anew."""
    here = Path(__file__).parents[1]
    files = sorted(file for folder in ("compiled", "plain") for file in (here / folder).glob("*.py"))
    return tuple((f"{f.parent.name}/{f.name}", f.stat().st_mtime_ns, f.stat().st_size) for f in files)


@once
def say_not_kept() -> None:
    """One sentence in the life of a process, however many kernels there are."""
    print(NOT_KEPT, file=sys.stderr)
