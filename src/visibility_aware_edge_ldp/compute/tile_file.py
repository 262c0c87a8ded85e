"""Tiles in a file: a plane larger than memory, for threads and for workers on other machines.

A file is a page of head (JSON), the tiles strip after strip, and for every node its ones with each group of nodes. It
is written one row of tiles at a time under another name, and gets its own name when it is whole. Reading asks the
operating system for exactly the tiles that are needed, so that memory stays as small as a column. Needs POSIX.
"""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import Words
from visibility_aware_edge_ldp.compute.plain.tiles import OCTETS, SIDE, WORDS, Ints, row_ones, strip_start
from visibility_aware_edge_ldp.compute.tile_layout import Places, TileSource, refuse_full_disk
from visibility_aware_edge_ldp.errors import BadInput

FORMAT = "va-edge-ldp tiles 1"
PAGE = 4096
Octets = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int32]


@dataclass(frozen=True)
class TileFile:
    """A whole file of tiles. It is sent to workers as its name, which must mean the same file there."""

    path: Path
    sizes: tuple[int, ...]
    identity: str

    @cached_property
    def places(self) -> Places:
        """Where the nodes stand: in their own order, group after group."""
        return in_order(self.sizes)

    @property
    def sides(self) -> int:
        return self.places.sides

    def column(self, first: int, last: int, k: int) -> Words:
        """The tiles (first, k) … (last − 1, k)."""
        tiles = np.empty((last - first, SIDE, WORDS), "<u8")
        self._read(tiles, PAGE + (strip_start(k) + first) * OCTETS)
        return tiles

    @cached_property
    def degrees(self) -> Ints:
        """(n, groups): how many ones each node has with nodes of each group; known without reading a tile."""
        found = np.empty((sum(self.sizes), len(self.sizes)), "<i4")
        self._read(found, PAGE + strip_start(self.sides) * OCTETS)
        return found.astype(np.int64)

    def _read(self, array: npt.NDArray[Any], place: int) -> None:
        wanted = array.reshape(-1).view(np.uint8).data
        while wanted:
            got = os.preadv(self._descriptor, [wanted], place)
            if not got:
                raise BadInput(f"{self.path} became shorter while it was read. Write it again.")
            wanted, place = wanted[got:], place + got

    @cached_property
    def _descriptor(self) -> int:
        """The open file, one a process; closed with the last use of this object."""
        if open_tiles(self.path, self.identity) != self:
            raise BadInput(f"{self.path} has been written anew, with other nodes. Begin again.")
        opened = os.open(self.path, os.O_RDONLY)
        weakref.finalize(self, os.close, opened)
        return opened

    def __reduce__(self) -> tuple[Any, ...]:
        """An open file does not travel: whoever needs it opens it, and looks whether it is the same one."""
        return TileFile, (self.path, self.sizes, self.identity)


def open_tiles(path: str | Path, identity: str | None = None) -> TileFile:
    """The tiles in a file; refuses what is not whole, not tiles, or of another survey than ``identity``."""
    path = Path(path).absolute()
    try:
        with path.open("rb") as file:
            head, size = _read_head(path, file.read(PAGE)), os.fstat(file.fileno()).st_size
    except OSError as error:
        part = " It is still being written, or its writing was interrupted." if _part_of(path).exists() else ""
        raise BadInput(f"The tiles in {path} cannot be read ({error.strerror}).{part}") from error
    if size != file_octets(head.sizes):
        raise BadInput(f"{path} has {size:,} bytes, and its tiles need {file_octets(head.sizes):,}. Write it again.")
    if identity is not None and head.identity != identity:
        raise BadInput(f"{path} holds the answers to another survey. Write the tiles of this one to another file.")
    return head


def _read_head(path: Path, page: bytes) -> TileFile:
    try:
        content = json.loads(page)
        sizes, known = tuple(content["kinds"]), content["format"] == FORMAT
    except (ValueError, KeyError, TypeError):
        known = False
    if not known or not sizes or not all(type(size) is int and size > 0 for size in sizes):
        raise BadInput(f"{path} is not a file of tiles that this version has written. Name another file.")
    return TileFile(path, sizes, str(content.get("identity")))


def in_order(sizes: Sequence[int]) -> Places:
    """Nodes whose groups follow one another: so many of the first, so many of the second, …"""
    return Places(np.repeat(np.arange(len(sizes)), sizes))


def file_octets(sizes: Sequence[int]) -> int:
    """How large a file of tiles is, for so many nodes of each group."""
    return PAGE + strip_start(sum(-(-size // SIDE) for size in sizes)) * OCTETS + sum(sizes) * len(sizes) * 4


def _part_of(path: Path) -> Path:
    return path.with_name(path.name + ".part")


class TileWriter:
    """Writes a file of tiles, one side's rows at a time; ``with`` it, or nothing is kept.

    The nodes stand in order of their groups. ``identity`` says whose answers these are, so that two surveys are never
    mixed. Memory: one row of tiles.
    """

    def __init__(self, path: str | Path, places: Places, identity: str) -> None:
        if not places.groups.size or (np.diff(places.groups) < 0).any():
            raise BadInput("Tiles are written of nodes in the order of their kinds. Sort the roster by kind.")
        self.path, self.places, self.identity = Path(path).absolute(), places, identity
        self.side, self._part = 0, _part_of(self.path)
        self._degrees = np.zeros((places.sides * SIDE, places.sizes.size), np.int32)

    @cached_property
    def _runs(self) -> Ints:
        """For each group: its first node, the node after its last, its first slot."""
        ends = np.cumsum(self.places.sizes)
        return np.stack([ends - self.places.sizes, ends, self.places.first_sides[:-1] * SIDE], axis=1)

    def nodes(self) -> tuple[int, int]:
        """The first node of the next side, and the one after its last."""
        first, last, slot = self._runs[self.places.side_groups[self.side]].tolist()
        begin = first + self.side * SIDE - slot
        return begin, min(begin + SIDE, last)

    @property
    def whole(self) -> bool:
        """Whether all sides have been put."""
        return self.side == self.places.sides

    def __enter__(self) -> TileWriter:
        head = {"format": FORMAT, "identity": self.identity, "kinds": self.places.sizes.tolist()}
        page = json.dumps(head).encode().ljust(PAGE)
        if len(page) > PAGE:
            raise BadInput(f"{self.places.sizes.size} kinds of nodes are too many for a file of tiles.")
        try:
            needed, who = (
                file_octets(self.places.sizes.tolist()),
                f"The tiles of {self.places.groups.size:,} nodes need",
            )
            refuse_full_disk(self.path.parent, needed, who, "Name a folder on a larger disk.")
            self._file = self._part.open("xb", buffering=0)
        except FileExistsError:
            raise BadInput(
                f"{self._part} is there already: another run is writing it, or was interrupted. "
                "Delete it if no other run is at work."
            ) from None
        except OSError as error:
            raise BadInput(f"Tiles cannot be written to {self.path} ({error.strerror}).") from error
        self._file.truncate(needed)
        self._file.write(page)
        return self

    def put(self, flat: Octets, place: int = 0) -> None:
        """The rows of the next side: packed bits of positions, of which number ``place`` is this side's first."""
        n, nodes = self.places.groups.size, self.nodes()
        here = flat[place >> 3 : (place + positions_of(n, *nodes) + 7) >> 3]
        self.put_rows(backend.kernels("tiles").tile_row(here, place & 7, nodes, n, self._runs, self.places.sides))

    def put_rows(self, rows: Words) -> None:
        """The rows of the next side, which hold ones above the diagonal only."""
        for k in range(self.side, self.places.sides):
            tile = np.ascontiguousarray(rows[:, k * WORDS : (k + 1) * WORDS], "<u8")
            self._write(tile.tobytes(), PAGE + (strip_start(k) + self.side) * OCTETS)
        self._count(rows, backend.kernels("tiles").column_ones(rows))
        self.side += 1

    def _count(self, rows: Words, columns: Counts) -> None:
        self._degrees[:, self.places.side_groups[self.side]] += columns
        of_rows = np.add.reduceat(row_ones(rows), self.places.first_sides[:-1], axis=1)
        self._degrees[self.side * SIDE : (self.side + 1) * SIDE] += of_rows

    def _write(self, content: bytes, place: int) -> None:
        left = memoryview(content)
        while left:
            written = os.pwrite(self._file.fileno(), left, place)
            left, place = left[written:], place + written

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Give the file its name once it is whole and on the disk; else remove it."""
        try:
            if kind is None:
                self._finish()
        finally:
            self._file.close()
            self._part.unlink(missing_ok=True)

    def _finish(self) -> None:
        if not self.whole:
            raise BadInput(f"{self.path} was not written: {self.side} of {self.places.sides} rows of tiles arrived.")
        degrees = np.ascontiguousarray(self._degrees[self.places.slots], "<i4")
        self._write(degrees.tobytes(), PAGE + strip_start(self.places.sides) * OCTETS)
        os.fsync(self._file.fileno())
        self._part.replace(self.path)


def positions_of(n: int, first: int, last: int) -> int:
    """How many positions the rows of the nodes ``first`` … ``last`` − 1 have."""
    return (last - first) * (2 * n - 1 - first - last) // 2


def write_tiles(path: str | Path, flat: Octets, places: Places, identity: str) -> TileFile:
    """A file of tiles from the packed bits of all positions, in canonical order."""
    with TileWriter(path, places, identity) as writer:
        while not writer.whole:
            writer.put(flat, positions_of(places.groups.size, 0, writer.nodes()[0]))
    return open_tiles(path, identity)


def copy_tiles(path: str | Path, source: TileSource, places: Places, identity: str) -> TileFile:
    """A file of the tiles that stand elsewhere, such as in memory."""
    with TileWriter(path, places, identity) as writer:
        for side in range(source.sides):
            rows = np.zeros((SIDE, source.sides * WORDS), np.uint64)
            for k in range(side, source.sides):
                rows[:, k * WORDS : (k + 1) * WORDS] = source.column(side, side + 1, k)[0]
            writer.put_rows(rows)
    return open_tiles(path, identity)
