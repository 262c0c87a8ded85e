"""Where nodes stand in tiles, and where tiles come from: memory, a file, anywhere."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain.bitset import Words
from visibility_aware_edge_ldp.compute.plain.tiles import ABOVE, SIDE, WORDS, strip_start

Ints = npt.NDArray[np.int64]


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
