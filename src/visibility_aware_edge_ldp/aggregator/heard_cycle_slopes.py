"""How the number of 4-cycles changes with each score: dense products of what closes a cycle.  [HOLDERS.8]"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.heard_rows import HeardRows
from visibility_aware_edge_ldp.kernels.bitset import Words, unpack_rows
from visibility_aware_edge_ldp.subgraphs.scores import Floats, score

# Rows at a time, so that what is made of them is little beside the matrices.
ROWS = 256


class Closings(NamedTuple):
    """(n, n) each, for x < y: what closes a cycle, weighed; 0 elsewhere, but ``closing`` is both ways.

    ``first`` and ``second`` are forks from users before x, for cycles with one and with two holders besides;
    ``closing`` is all that closes a fork to x and y which is not public, and ``chain`` all that closes x-m-y with
    x < m < y.
    """

    first: Floats
    second: Floats
    closing: Floats
    chain: Floats

    @staticmethod
    def empty(n: int) -> Closings:
        """About to be filled, block by block."""
        return Closings(*(np.zeros((n, n)) for _ in range(4)))

    def put(self, start: int, inside: npt.NDArray[np.bool_], *parts: Floats) -> None:
        """The pairs of a block of rows, with the columns from its first row on."""
        rows = slice(start, start + len(inside))
        for whole, part in zip(self, parts, strict=True):
            whole[rows, start:] = part * inside

    def both_ways(self) -> None:
        """Closings are found for x < y; forks take them in either order."""
        for start in range(0, len(self.closing), ROWS):
            self.closing[start:, start : start + ROWS] += np.triu(self.closing[start : start + ROWS, start:], 1).T


class Slopes(NamedTuple):
    """Z₁ of the estimate, the pulls, and Z₁ of all pulls at positions that the user is an end of."""

    noise: float
    pulls: Floats
    pull_noise: float


def slopes_of(rows: HeardRows, closings: Closings) -> Slopes:
    """All of them, a few rows at a time: with the closings 48·n² octets, and a part more.  [HOLDERS.8]"""
    n, known = rows.scores.n, rows.is_public
    hidden, public = (_matrix(rows.later, weights, n) for weights in (rows.scores.weights(score) - known, known))
    closings.both_ways()
    squares = np.array([float(row @ row) for row in hidden])
    parts = [_rows(rows, closings, hidden, public, squares, start) for start in range(0, n, ROWS)]
    noise, again = (float(sum(part[i] for part in parts)) for i in (0, 1))
    return Slopes(noise, np.concatenate([part[2] for part in parts]) if parts else np.zeros(0), noise + again)


def _rows(
    rows: HeardRows, closings: Closings, hidden: Floats, public: Floats, squares: Floats, start: int
) -> tuple[float, float, Floats]:
    """Of a tile of rows: both parts of Z₁, and the pulls. Users before the first of them are left out of products."""
    _, _, two, three = rows.weights(3).tolist()
    stop = start + ROWS
    here, below = slice(start, stop), slice(start, None)
    s, p = hidden[here, below], public[here, below]
    y = s + p
    forked = y @ closings.closing[below, below]
    sides = _sides(hidden, closings.second, start)
    if rows.public:
        sides += _sides(public, closings.first, start)
    every = (y**2).sum(axis=1)
    slope = forked - two * s * (every[:, None] - s**2) + sides
    again = closings.chain[here, below] @ hidden[below, below].T - three * s * squares[below]
    pulls = (y * forked).sum(axis=1) / 2 + (s * sides).sum(axis=1) - two * (every**2 - (y**4).sum(axis=1)) / 2
    if rows.public:
        edges = p.sum(axis=1)
        pulls -= (p * (p @ closings.closing[below, below])).sum(axis=1) / 2 - two * (edges**2 - edges) / 2
    noise = s**2 - s
    return float((noise * slope**2).sum()), float((noise * again**2).sum()), pulls


def _sides(bits: Floats, forks: Floats, start: int) -> Floats:
    """Cycles in which a position of these rows is no side of the lowest user, the other free side being of ``bits``."""
    stop, below = start + ROWS, slice(start, None)
    mine, later = forks[start:stop, below], bits[below, below]
    found = mine @ later + mine @ later.T
    found += bits[:stop, start:stop].T @ forks[:stop, below]
    found += forks[:stop, start:stop].T @ bits[:stop, below]
    return found


def _matrix(planes: Words, weights: Floats, n: int) -> Floats:
    found = np.zeros((n, n))
    for plane, weight in zip(planes, weights.tolist(), strict=True):
        if weight:
            for start in range(0, n, ROWS):
                found[start : start + ROWS] += weight * unpack_rows(plane[start : start + ROWS], n)
    return found
