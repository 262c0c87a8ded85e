"""Which kernel runs: the compiled one where numba is installed, its plain twin elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import bitset

SharedCounts = Callable[[bitset.Words, bitset.Words], npt.NDArray[np.int32]]


@cache
def shared_counts() -> SharedCounts:
    """The fastest kernel this machine has. ``VA_EDGE_LDP_KERNEL=plain`` asks for the plain one."""
    if os.environ.get("VA_EDGE_LDP_KERNEL") != "plain":
        try:
            from visibility_aware_edge_ldp.kernels import compiled
        except ImportError:
            return bitset.shared_counts
        compiled_counts: SharedCounts = compiled.shared_counts
        return compiled_counts
    return bitset.shared_counts
