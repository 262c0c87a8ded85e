"""Edges of files that are too large for memory, a block at a time: Parquet, NumPy, or plain pairs of integers.

Users are numbered from 0. A loop is left out and counted. Whether each edge is listed once is seen where the rows rise
(each with its smaller end first, rows in order), which `EdgeStream.is_rising` says; elsewhere a stream cannot tell.
"""

import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadGraph, MissingPart

Pairs = npt.NDArray[np.int32]
BLOCK = 1 << 21


class EdgeStream:
    """A file of edges between users numbered below ``nodes``; every walk through `blocks` reads it anew. Private.

    Parameters
    ----------
    path
        A Parquet file whose first two columns are the ends, or those that ``columns`` names; a NumPy file (.npy) with
        an (m, 2) array of integers; a file .bin of pairs of 32-bit integers, lowest byte first; or a folder of such
        files, which are read one after the other by name.
    nodes
        How many users there are.
    """

    def __init__(self, path: str | Path, nodes: int, columns: tuple[str, str] | None = None) -> None:
        self.path, self.nodes = Path(path).expanduser(), nodes
        opened = [_opened(each, columns) for each in _files(self.path)]
        self.rows, self._readers = sum(rows for rows, _ in opened), [read for _, read in opened]
        self.loops, self.edges, self.is_rising = 0, 0, True

    def blocks(self) -> Iterator[Pairs]:
        """Some (k, 2) edges at a time; afterwards ``edges``, ``loops`` and ``is_rising`` are those of all of them."""
        self.loops, self.edges, self.is_rising = 0, 0, True
        last = (-1, -1)
        for block in chain.from_iterable(read() for read in self._readers):
            if block.size and not (block.min() >= 0 and block.max() < self.nodes):
                raise BadGraph(f"{self.path.name} names users beyond 0..{self.nodes - 1:,}; say how many there are.")
            pairs = np.ascontiguousarray(block, np.int32)
            loops = pairs[:, 0] == pairs[:, 1]
            if loops.any():
                self.loops, pairs = self.loops + int(loops.sum()), pairs[~loops]
            if self.is_rising and len(pairs):
                self.is_rising = last < (int(pairs[0, 0]), int(pairs[0, 1])) and _rising(pairs)
                last = int(pairs[-1, 0]), int(pairs[-1, 1])
            self.edges += len(pairs)
            yield pairs


def _files(path: Path) -> list[Path]:
    """The file, or those in a folder by name; marks that writers leave beside them are passed over."""
    try:
        found = sorted(each for each in path.iterdir() if each.name[0] not in "._") if path.is_dir() else [path]
    except OSError as error:
        raise BadGraph(f"The folder of edges cannot be read ({error.strerror}): {path}.") from None
    if not found:
        raise BadGraph(f"There are no files of edges in the folder {path}.")
    return found


def _opened(path: Path, columns: tuple[str, str] | None) -> tuple[int, Callable[[], Iterator[npt.NDArray[Any]]]]:
    """How many rows a file has, and what reads them."""
    try:
        with path.open("rb") as file:
            mark, size = file.read(6), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise BadGraph(f"The file of edges cannot be read ({error.strerror}): {path}.") from None
    if mark[:4] == b"PAR1":
        return _parquet(path, columns)
    if mark == b"\x93NUMPY":
        return _numpy(path)
    if path.suffix == ".bin" and size % 8 == 0:
        return size // 8, lambda: _pairs(path, 0, np.dtype("<i4"))
    raise BadGraph(
        f"{path.name} is not a file that is read as a stream: Parquet, .npy with an (m, 2) array of integers, or .bin "
        "with pairs of 32-bit integers. Write it as one of these."
    )


def _rising(pairs: Pairs) -> bool:
    """Whether each row has its smaller end first, and is after the row before it."""
    if (pairs[:, 0] >= pairs[:, 1]).any():
        return False
    step = np.diff(pairs[:, 0])
    return bool(((step > 0) | ((step == 0) & (np.diff(pairs[:, 1]) > 0))).all())


def _parquet(path: Path, columns: tuple[str, str] | None) -> tuple[int, Any]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingPart("pyarrow", "graph", "Reading Parquet") from None
    with parquet.ParquetFile(path) as file:
        names, rows = file.schema_arrow.names, file.metadata.num_rows
        chosen = list(columns or names[:2])
        if len(chosen) != 2 or any(name not in names for name in chosen):
            raise BadGraph(f"{path.name} has the columns {', '.join(names)}; name the two that hold an edge.")
        if not all("int" in str(file.schema_arrow.field(name).type) for name in chosen):
            raise BadGraph(f"{path.name} must name users by whole numbers from 0 to be read as a stream.")

    def read() -> Iterator[npt.NDArray[Any]]:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(BLOCK, columns=chosen):
                yield np.stack([batch.column(name).to_numpy(zero_copy_only=False) for name in chosen], axis=1)

    return rows, read


def _numpy(path: Path) -> tuple[int, Any]:
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = head(file)
        begin = file.tell()
    if len(shape) != 2 or shape[1] != 2 or by_columns or dtype.kind not in "iu":
        raise BadGraph(f"{path.name} must hold an (m, 2) array of integers, row by row; save one.")
    return shape[0], lambda: _pairs(path, begin, dtype)


def _pairs(path: Path, begin: int, dtype: np.dtype[Any]) -> Iterator[npt.NDArray[Any]]:
    """Blocks of a file, read and let go: a file that is mapped would stay in memory while there is room."""
    with path.open("rb") as file:
        file.seek(begin)
        while len(block := np.fromfile(file, dtype, 2 * BLOCK)):
            yield block[: block.size // 2 * 2].reshape(-1, 2)
