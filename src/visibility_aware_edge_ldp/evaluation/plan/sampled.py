"""Points that fill a cube evenly: averages over positions without looking at all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

POINTS = 1 << 18


def even_points(dimensions: int, points: int = POINTS) -> Floats:
    """(dimensions, points): multiples of powers of the root of x^(d + 1) = x + 1, without their whole parts."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return np.asarray((0.5 + np.outer(steps, np.arange(1, points + 1))) % 1)


def spread_evenly(n: int, corners: int) -> Ints:
    """(corners, points): nodes for the corners of a shape."""
    return np.minimum(even_points(corners) * n, n - 1).astype(np.int64)


def heavy_pairs(weights: Floats) -> tuple[Ints, Ints, float]:
    """Pairs of different nodes in proportion to the product of their weights, and the sum over all ordered pairs."""
    mass = np.cumsum(weights)
    if not (weights.size > 1 and mass[-1] > 0):
        return np.empty(0, np.int64), np.empty(0, np.int64), 0.0
    drawn = np.searchsorted(mass, even_points(2) * mass[-1]).clip(max=weights.size - 1)
    apart = drawn[0] != drawn[1]
    return drawn[0][apart], drawn[1][apart], float(mass[-1] ** 2 - (weights**2).sum())
