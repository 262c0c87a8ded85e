"""Where nodes stand in tiles, and where tiles and planes come from: memory, a file, anywhere.

A file of tiles holds the bits above the diagonal. Sums over rows want both halves, strip after strip. For a plane
larger than memory they are written once, a strip at a time, to a file that is mapped: the system keeps of it what there
is room for, and gives pages up whenever memory is wanted. Everything that works on a plane in memory works on this one,
with the same integers. Needs POSIX.
"""

import mmap
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain.bitset import Words
from visibility_aware_edge_ldp.compute.plain.tiles import ABOVE, SIDE, WORDS, strip_start
from visibility_aware_edge_ldp.errors import TooLarge

Ints = npt.NDArray[np.int64]
Item = TypeVar("Item")
Result = TypeVar("Result")
Step = Callable[[], None]
"""Hears that one more strip is written."""
# Rows that are held while nodes are put into another order, in octets: the file is read once for each such part.
HELD = 1 << 29
_EVEN_OCTETS, _ADDED_UP = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0001000100010001)


class TileSource(Protocol):
    """Where tiles come from."""

    @property
    def sides(self) -> int:
        """How many sides of 512 slots there are."""

    def column(self, first: int, last: int, k: int) -> Words:
        """The tiles (first, k) … (last − 1, k), of 512 rows of eight words."""


@dataclass(frozen=True, eq=False)
class TilesInMemory:
    """All tiles of a plane, strip after strip."""

    tiles: Words
    sides: int

    def column(self, first: int, last: int, k: int) -> Words:
        start = strip_start(k)
        return self.tiles[start + first : start + last]


@dataclass(frozen=True, eq=False)
class TilesOfTable:
    """The upper tiles of a plane of which only tiles with ones are kept, as ``tile_table`` has them."""

    table: Ints
    tiles: Words

    @property
    def sides(self) -> int:
        return len(self.table)

    def column(self, first: int, last: int, k: int) -> Words:
        tiles = self.tiles[self.table[first:last, k]]
        if last > k:
            tiles[-1] &= ABOVE
        return tiles


@dataclass(frozen=True, eq=False)
class TilesOfPlane:
    """The upper tiles of a plane in strips, cut out when asked for."""

    plane: Words

    @property
    def sides(self) -> int:
        return len(self.plane)

    def column(self, first: int, last: int, k: int) -> Words:
        tiles = self.plane[k, first * SIDE : last * SIDE].reshape(-1, SIDE, WORDS)
        if last <= k:
            return tiles
        tiles = tiles.copy()
        tiles[-1] &= ABOVE
        return tiles


@dataclass(frozen=True, eq=False)
class Places:
    """Where nodes of some groups stand. ``groups`` are numbered 0, 1, … without gaps.

    Within a group, nodes stand in the order of their ``ranks``, or as they come.
    """

    groups: Ints = field(repr=False)
    ranks: npt.NDArray[np.uint64] | None = field(default=None, repr=False)

    @cached_property
    def sizes(self) -> Ints:
        """How many nodes each group has."""
        return np.bincount(self.groups).astype(np.int64)

    @cached_property
    def first_sides(self) -> Ints:
        """The first side of each group, and the number of all sides."""
        return np.concatenate([[0], np.cumsum(-(-self.sizes // SIDE))])

    @property
    def sides(self) -> int:
        return int(self.first_sides[-1])

    @cached_property
    def side_groups(self) -> Ints:
        """The group of each side."""
        return np.repeat(np.arange(self.sizes.size), np.diff(self.first_sides))

    @cached_property
    def side_sizes(self) -> Ints:
        """How many nodes stand in each side."""
        return np.bincount(self.slots // SIDE, minlength=self.sides).astype(np.int64)

    @cached_property
    def slots(self) -> Ints:
        """The slot of each node."""
        ranks = np.arange(self.groups.size) if self.ranks is None else self.ranks
        order, slots = np.lexsort((ranks, self.groups)), np.empty(self.groups.size, np.int64)
        before = np.concatenate([[0], np.cumsum(self.sizes)])[:-1]
        slots[order] = np.arange(order.size) + np.repeat(self.first_sides[:-1] * SIDE - before, self.sizes)
        return slots


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
    # The eight counts of a row are the octets of a word: neighbours are added up, and then the four sums.
    octets = np.ascontiguousarray(np.bitwise_count(strip)).view(np.uint64)[:, 0]
    sums = (octets & _EVEN_OCTETS) + (octets >> np.uint64(8) & _EVEN_OCTETS)
    return ((sums * _ADDED_UP) >> np.uint64(48)).astype(np.int32)


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
    for width in (32, 16, 8, 4, 2, 1):
        pairs = words.reshape(len(tiles), WORDS, -1, 2, width, WORDS)
        above, below, shift = pairs[:, :, :, 0], pairs[:, :, :, 1], np.uint64(width)
        lower = np.uint64(0xFFFFFFFFFFFFFFFF // ((1 << width) + 1))  # within each two neighbours, the lower one
        changed = ((above >> shift) ^ below) & lower
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
    advice = "Name a folder on a larger disk with TMPDIR."
    refuse_full_disk(folder, plane_octets(sides), f"A plane of {sides * SIDE:,} places needs", advice)
    path = folder / f"{uuid4().hex}.plane"
    with path.open("xb+") as file:
        path.unlink()
        for strip in strips:
            file.write(np.ascontiguousarray(strip, "<u8").data)
            if step is not None:
                step()
        file.flush()
        # Nobody writes to it; a plane that may not be written to would be compiled for a second time.
        view = mmap.mmap(file.fileno(), plane_octets(sides), access=mmap.ACCESS_WRITE)
    return np.frombuffer(view, "<u8").astype(np.uint64, copy=False).reshape(sides, sides * SIDE, WORDS)


def refuse_full_disk(folder: Path, octets: int, who_needs: str, advice: str) -> None:
    """Say beforehand that a file does not fit."""
    free = shutil.disk_usage(folder).free
    if octets > free:
        sizes = f"{octets / 1e9:,.1f} GB in {folder}, and {free / 1e9:,.1f} GB are free there"
        raise TooLarge(f"{who_needs} {sizes}. {advice}")
