"""Which kernel runs: the compiled one where numba is installed, its plain twin elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from types import ModuleType

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import bitset

SharedCounts = Callable[[bitset.Words, bitset.Words], npt.NDArray[np.int32]]
ListCounts = Callable[[bitset.Words, npt.NDArray[np.int64], npt.NDArray[np.int32], int], npt.NDArray[np.int32]]
ListSums = Callable[[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.int32]], npt.NDArray[np.float64]]


def shared_counts() -> SharedCounts:
    """How many columns two rows share."""
    kernel: SharedCounts = kernels().shared_counts
    return kernel


def list_counts() -> ListCounts:
    """How many rows of a list hold a one in each column."""
    kernel: ListCounts = kernels().list_counts
    return kernel


def list_sums() -> ListSums:
    """The sum of a list's rows in each column."""
    kernel: ListSums = kernels().list_sums
    return kernel


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
