"""Which kernel runs: the compiled one where numba is installed, its plain twin elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from types import ModuleType

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import bitset, owned_triangles, pair_sums, rows, tiles

PlaneOf = Callable[[npt.NDArray[np.uint8], int], bitset.Words]
SharedCounts = Callable[[bitset.Words, bitset.Words], npt.NDArray[np.int32]]
QuadraticForm = Callable[[bitset.Words, bitset.Sums], float]
AddListCounts = Callable[[bitset.Words, float, npt.NDArray[np.int64], npt.NDArray[np.int32], bitset.Sums], None]
ListTotal = Callable[[bitset.Words, npt.NDArray[np.int64], npt.NDArray[np.int32]], int]
ListSums = Callable[[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.int32]], npt.NDArray[np.float64]]

OwnedSums = Callable[
    [owned_triangles.RisingEdges, npt.NDArray[np.bool_], npt.NDArray[np.int64], int], npt.NDArray[np.int64]
]


def plane_of() -> PlaneOf:
    """A plane from the flat bits of all positions."""
    kernel: PlaneOf = kernels().plane_of
    return kernel


def shared_counts() -> SharedCounts:
    """How many columns two rows share."""
    kernel: SharedCounts = kernels().shared_counts
    return kernel


def quadratic_form() -> QuadraticForm:
    """A sum over the ones of a plane."""
    kernel: QuadraticForm = kernels().quadratic_form
    return kernel


def add_list_counts() -> AddListCounts:
    """How many rows of a list hold a one in each column, weighted and added up."""
    kernel: AddListCounts = kernels().add_list_counts
    return kernel


def list_total() -> ListTotal:
    """How many ones lists hold among their own members."""
    kernel: ListTotal = kernels().list_total
    return kernel


def list_sums() -> ListSums:
    """The sum of a list's rows in each column."""
    kernel: ListSums = kernels().list_sums
    return kernel


def owned_sums() -> OwnedSums:
    """What each node owns of the triangles."""
    kernel: OwnedSums = (compiled_lists() or owned_triangles).owned_sums
    return kernel


def compiled_lists() -> ModuleType | None:
    """The compiled kernels on lists of neighbours, where numba is installed."""
    if kernels() is bitset:
        return None
    from visibility_aware_edge_ldp.kernels import common_neighbours_compiled

    return common_neighbours_compiled


def response_kernels() -> ModuleType:
    """Randomized response on packed bits: ``compare``, ``settle``, ``deposit`` and ``ones_in``."""
    if kernels() is bitset:
        from visibility_aware_edge_ldp.kernels import response

        return response
    from visibility_aware_edge_ldp.kernels import response_compiled

    return response_compiled


def pair_kernels() -> ModuleType:
    """Sums over pairs of nodes, of which there are two sorts too."""
    if kernels() is bitset:
        return pair_sums
    from visibility_aware_edge_ldp.kernels import pair_sums_compiled

    return pair_sums_compiled


def tile_kernels() -> ModuleType:
    """Triangles in tiles of bits, and what else works on tiles."""
    if kernels() is bitset:
        return tiles
    from visibility_aware_edge_ldp.kernels import tiles_compiled

    return tiles_compiled


def row_kernels() -> ModuleType:
    """Rows of packed bits added up: ``list_pulls`` and ``earlier_sums``."""
    if kernels() is bitset:
        return rows
    from visibility_aware_edge_ldp.kernels import rows_compiled

    return rows_compiled


def shared_kernels() -> ModuleType:
    """What rows of a plane in strips share, and a plane times numbers."""
    if kernels() is bitset:
        from visibility_aware_edge_ldp.kernels import shared

        return shared
    from visibility_aware_edge_ldp.kernels import shared_compiled

    return shared_compiled


@cache
def kernels() -> ModuleType:
    """The fastest kernels this machine has. ``VA_EDGE_LDP_KERNEL=plain`` asks for the plain ones."""
    if os.environ.get("VA_EDGE_LDP_KERNEL") != "plain":
        try:
            from visibility_aware_edge_ldp.kernels import compiled
        except ImportError:
            return bitset
        return compiled
    return bitset
