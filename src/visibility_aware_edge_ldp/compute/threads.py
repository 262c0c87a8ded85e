"""Work on all cores of this machine: threads, because compiled kernels and NumPy let go of the interpreter's lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Piece = TypeVar("Piece")
Result = TypeVar("Result")
_HERE = threading.local()


def number_of_cores() -> int:
    """How many threads can work at a time."""
    return os.cpu_count() or 1


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_cores(work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterable[Result]:
    """What each piece gives, in the order of the pieces, whichever is done first.

    All cores are busy already with the pieces of larger work, so a piece's own pieces are done one after the other.
    """
    if len(pieces) < 2 or number_of_cores() < 2 or getattr(_HERE, "is_piece", False):
        return map(work, pieces)
    return _threads(os.getpid()).map(work, pieces)


def beside(work: Callable[[], Result]) -> Callable[[], Result]:
    """Begin some work while the caller goes on to other work; what is returned waits for it and gives what it gave."""
    if number_of_cores() < 2 or getattr(_HERE, "is_piece", False):
        return work
    return _threads(os.getpid()).submit(work).result


@lru_cache(maxsize=1)
def _threads(process: int) -> ThreadPoolExecutor:
    """As many threads as cores, started once: small work would take longer to start them. A fork has its own."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(number_of_cores(), "core", initializer=setattr, initargs=(_HERE, "is_piece", True))


def pieces_of(first: int, last: int, unit: int = 1, each_core: int = 1) -> list[tuple[int, int]]:
    """A run cut into about so many pieces for each core, each but the last a whole number of units."""
    units = -(-(last - first) // unit)
    each = max(1, -(-units // (number_of_cores() * each_core))) * unit
    return [(start, min(start + each, last)) for start in range(first, last, each)]
