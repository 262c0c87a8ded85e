"""Which kernels run: compiled ones where that is worth it and numba is installed, plain ones elsewhere.

``compute.plain`` and ``compute.compiled`` have modules of the same names with functions of the same names, which give
the same numbers: nobody can tell from a result which of them ran. To compile takes some twenty seconds, once on a
machine; to load what was compiled and kept takes some tenths. So a call runs plain as long as

- its arrays are small, ``SMALL`` octets at most, and
- plain calls took less time so far, in this process, than waiting is worth: ``PATIENCE`` seconds where the subject's
  compiled kernels are still to be made, ``LOADING`` seconds where they are kept.

``VA_EDGE_LDP_KERNEL=plain`` or ``=compiled`` asks for one of the two at every call. A program whose time others can
see, such as a participant's, calls :func:`settle` first: the size of an array and the time of a call may follow from
private bits, and so would the choice.  [PACE.1]
"""

import os
import sys
import time
from collections.abc import Callable
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain import (
    bitset,
    common_neighbours,
    fits,
    group_sums,
    pair_sums,
    response,
    rows,
    symbols,
    tile_table,
    tiles,
)
from visibility_aware_edge_ldp.compute.plain.bitset import Sums, Words

Kernels = Literal[
    "bitset",
    "common_neighbours",
    "fits",
    "group_sums",
    "pair_sums",
    "response",
    "rows",
    "symbols",
    "tile_table",
    "tiles",
]
PLAIN: dict[Kernels, ModuleType] = {
    "bitset": bitset,
    "common_neighbours": common_neighbours,
    "fits": fits,
    "group_sums": group_sums,
    "pair_sums": pair_sums,
    "response": response,
    "rows": rows,
    "symbols": symbols,
    "tile_table": tile_table,
    "tiles": tiles,
}
SMALL, PATIENCE, LOADING = 1 << 20, 2.0, 0.25
COMPILING = "Compiling kernels, once: about 20 s"
Offsets = npt.NDArray[np.int64]
Members = npt.NDArray[np.int32]


@cache
def name() -> Literal["plain", "compiled", "either"]:
    """Which kernels run: those that were asked for, or at each call those that are ready sooner."""
    asked = os.environ.get("VA_EDGE_LDP_KERNEL")
    if asked == "compiled":
        return "plain" if _compiled() is PLAIN else "compiled"
    return "plain" if asked == "plain" else "either"


def settle() -> None:
    """Let one kind of kernels run at every call from now on, whatever the arrays: compiled where there is numba."""
    os.environ.setdefault("VA_EDGE_LDP_KERNEL", "compiled")
    name.cache_clear()


def kernels(subject: Kernels) -> Any:
    """The module of kernels on this subject, or what chooses between the two at each call."""
    if name() == "either" and subject not in _CHOSEN:
        return _Either(subject)
    return PLAIN[subject] if name() == "plain" else _compiled()[subject]


def kernels_for(subject: Kernels, octets: int) -> ModuleType:
    """The kernels for work on arrays of so many octets: one module, for those whose results belong together."""
    if name() == "either" and subject not in _CHOSEN:
        if octets <= SMALL and _PLAIN.seconds < (LOADING if is_kept(subject) else PATIENCE):
            return PLAIN[subject]
        _CHOSEN.add(subject)
        if _compiled() is not PLAIN and not is_kept(subject):
            _say_compiling()
    found: ModuleType = PLAIN[subject] if name() == "plain" else _compiled()[subject]
    return found


class _Spent:
    """How long plain kernels have run in this process while compiled ones might have."""

    seconds = 0.0


_PLAIN, _CHOSEN = _Spent(), set[Kernels]()


class _Either:
    """Kernels on one subject, plain or compiled at each call."""

    def __init__(self, subject: Kernels) -> None:
        self._subject = subject

    def __getattr__(self, kernel: str) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            octets = sum(each.nbytes for each in given if isinstance(each, np.ndarray))
            module, begin = kernels_for(self._subject, octets), time.perf_counter()
            found = getattr(module, kernel)(*given)
            if self._subject not in _CHOSEN:
                _PLAIN.seconds += time.perf_counter() - begin
            return found

        return call


@cache
def _compiled() -> dict[Kernels, ModuleType]:
    """Loaded when they are wanted: that takes as long as some estimates. The plain ones where numba is missing."""
    try:
        from visibility_aware_edge_ldp.compute.compiled import (
            bitset,
            common_neighbours,
            fits,
            group_sums,
            pair_sums,
            response,
            rows,
            symbols,
            tile_table,
            tiles,
        )
    except ImportError:
        return PLAIN
    found = (bitset, common_neighbours, fits, group_sums, pair_sums, response, rows, symbols, tile_table, tiles)
    return dict(zip(PLAIN, found, strict=True))


@cache
def is_kept(subject: Kernels) -> bool:
    """Whether numba has files of this subject's kernels that are younger than the kernels' sources.

    It is asked before numba is loaded, so by the names that numba gives to files and folders.
    """
    here, version = Path(__file__).parent, f"py{sys.version_info[0]}{sys.version_info[1]}"
    sources = [file for folder in ("compiled", "plain") for file in (here / folder).glob("*.py")]
    if asked := os.environ.get("NUMBA_CACHE_DIR"):
        folders = list(Path(asked).glob("compiled_*"))
    else:
        homes = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"), Path.home() / "Library" / "Caches"
        folders = [here / "compiled" / "__pycache__", *(each for h in homes for each in h.glob("numba/compiled_*"))]
    kept = (file.stat().st_mtime for folder in folders for file in folder.glob(f"{subject}.*{version}.nbi"))
    return max(kept, default=0.0) > max(file.stat().st_mtime for file in sources)


@cache
def _say_compiling() -> None:
    """Once for a program: its other processes are silent."""
    if parent_process() is None:
        print(COMPILING, file=sys.stderr)


def plane_of(flat: npt.NDArray[np.uint8], n: int) -> Words:
    """A plane from the flat bits of all positions."""
    plane: Words = kernels("bitset").plane_of(flat, n)
    return plane


def shared_counts(left: Words, right: Words) -> npt.NDArray[np.int32]:
    """For each row of ``left`` and each of ``right``: how many columns hold a one in both."""
    counts: npt.NDArray[np.int32] = kernels("bitset").shared_counts(left, right)
    return counts


def plane_times(plane: Words, vector: Sums) -> Sums:
    """A plane times a vector."""
    sums: Sums = kernels("bitset").plane_times(plane, vector)
    return sums


def list_sums(matrix: npt.NDArray[np.float32], offsets: Offsets, members: Members) -> Sums:
    """For each list of rows and each column: the sum of the list's rows there."""
    sums: Sums = kernels("bitset").list_sums(matrix, offsets, members)
    return sums
