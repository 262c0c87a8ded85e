"""A plane larger than memory: in a file that is mapped, so that the system keeps of it what there is room for.

A file of tiles holds the bits above the diagonal. Sums over rows want both halves, strip after strip; they are written
once, a strip at a time, and read through the system's memory of files, which gives pages up whenever memory is wanted.
Everything that works on a plane in memory works on this one, with the same integers. Needs POSIX.
"""

import mmap
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain.bitset import Words
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE, WORDS, Ints
from visibility_aware_edge_ldp.compute.tiles.layout import Places, TileSource
from visibility_aware_edge_ldp.errors import TooLarge

Item = TypeVar("Item")
Result = TypeVar("Result")
Step = Callable[[], None]
"""Hears that one more strip is written."""
# Rows that are held while nodes are put into another order, in octets: the file is read once for each such part.
HELD = 1 << 29
# Within each two neighbours of so many bits, the lower ones.
_LOWER = {
    32: 0x00000000FFFFFFFF,
    16: 0x0000FFFF0000FFFF,
    8: 0x00FF00FF00FF00FF,
    4: 0x0F0F0F0F0F0F0F0F,
    2: 0x3333333333333333,
    1: 0x5555555555555555,
}


def plane_octets(sides: int) -> int:
    """How large the file of so many sides is."""
    return sides * sides * SIDE * WORDS * 8


def mapped(source: TileSource, folder: Path, step: Step | None = None) -> Words:
    """Both halves of the tiles of a source, as a plane in strips."""
    strips = strip_by_strip(lambda side: _whole_strip(source, side), range(source.sides))
    return _written(folder, source.sides, strips, step)


def reordered(plane: Words, before: Places, after: Places, folder: Path, step: Step | None = None) -> Words:
    """The plane of the same nodes in other places."""
    came_from = np.full(after.sides * SIDE, -1)
    came_from[after.slots] = before.slots
    return _written(folder, after.sides, _moved_strips(plane, came_from), step)


def _moved_strips(plane: Words, came_from: Ints) -> Iterator[Words]:
    """A new strip is made of the rows of its 512 nodes: what these rows hold about each slot, in the new order."""
    at_once = max(1, HELD // (SIDE * plane.shape[1] // 8))
    sides = came_from.reshape(-1, SIDE)
    for first in range(0, len(sides), at_once):
        rows = _gathered(plane, sides[first : first + at_once])
        yield from strip_by_strip(lambda tiles: _picked(transposed(tiles).reshape(-1, WORDS), came_from), rows)


def _gathered(plane: Words, slots: Ints) -> Words:
    """The rows of some sides of slots, tile by tile; the file is read once, in order."""
    rows = np.empty((len(slots), len(plane), SIDE, WORDS), np.uint64)
    for side, strip in enumerate(plane):
        rows[:, side] = _picked(strip, slots)
    return rows


def row_ones(strip: Words) -> npt.NDArray[np.int32]:
    """How many ones each row has in a strip."""
    ones: npt.NDArray[np.int32] = np.bitwise_count(strip).sum(axis=1, dtype=np.int32)
    return ones


def _picked(strip: Words, slots: Ints) -> Words:
    """The rows of these slots; of no slot (−1), an empty one."""
    found: Words = strip[slots]
    found[slots < 0] = 0
    return found


def _whole_strip(source: TileSource, side: int) -> Words:
    """All that a file of tiles holds about a side: its tiles with earlier sides, and, turned over, with later ones."""
    strip = np.empty((source.sides, SIDE, WORDS), np.uint64)
    strip[: side + 1] = source.column(0, side + 1, side)
    for later in range(side, source.sides):
        tile = transposed(source.column(side, side + 1, later))[0]
        strip[later] = tile if later > side else strip[side] | tile
    return strip.reshape(-1, WORDS)


def transposed(tiles: Words) -> Words:
    """(tiles, 512, 8): each with its rows as columns. Halves change places, then quarters, … down to single bits."""
    words = np.ascontiguousarray(tiles.reshape(-1, WORDS, 64, WORDS).transpose(0, 3, 2, 1))
    for width, lower in _LOWER.items():
        pairs = words.reshape(len(tiles), WORDS, -1, 2, width, WORDS)
        above, below, shift = pairs[:, :, :, 0], pairs[:, :, :, 1], np.uint64(width)
        changed = ((above >> shift) ^ below) & np.uint64(lower)
        below ^= changed
        above ^= changed << shift
    return words.reshape(-1, SIDE, WORDS)


def strip_by_strip(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Results in order; a few are made beforehand and no more, since each is large."""
    cores, waiting = os.cpu_count() or 1, iter(items)
    with ThreadPoolExecutor(cores) as pool:
        made = [pool.submit(work, item) for item in islice(waiting, cores + 1)]
        while made:
            yield made.pop(0).result()
            made += [pool.submit(work, item) for item in islice(waiting, 1)]


def _written(folder: Path, sides: int, strips: Iterable[Words], step: Step | None) -> Words:
    """A plane that is put together strip by strip. Its file has no name: it goes with the process, whatever happens."""
    refuse_full_disk(folder, plane_octets(sides), f"A plane of {sides * SIDE:,} places")
    path = folder / f"{uuid4().hex}.plane"
    with path.open("xb+", buffering=0) as file:
        path.unlink()
        for strip in strips:
            _write_all(file.fileno(), np.ascontiguousarray(strip, "<u8").reshape(-1).view(np.uint8).data)
            if step is not None:
                step()
        # Nobody writes to it; a plane that may not be written to would be compiled for a second time.
        view = mmap.mmap(file.fileno(), plane_octets(sides), access=mmap.ACCESS_WRITE)
    return np.frombuffer(view, "<u8").astype(np.uint64, copy=False).reshape(sides, sides * SIDE, WORDS)


def _write_all(descriptor: int, content: memoryview) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def refuse_full_disk(folder: Path, octets: int, what: str) -> None:
    """Say beforehand that a file does not fit."""
    free = shutil.disk_usage(folder).free
    if octets > free:
        raise TooLarge(
            f"{what} needs {octets / 1e9:,.1f} GB in {folder}, and {free / 1e9:,.1f} GB are free there. "
            "Name a folder on a larger disk with TMPDIR."
        )
