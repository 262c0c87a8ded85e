"""The compiled twins of ``linear``: the same steps, number by number. Need numba, the extra ``fast``."""

import math

import numpy as np

from visibility_aware_edge_ldp.compute.jit_cache import njit
from visibility_aware_edge_ldp.compute.plain.linear import Floats


def solved(root: Floats, right: Floats) -> Floats:
    """x with L Lᵀ x = right, for the root L of ``cholesky`` and a vector, or the columns of a matrix."""
    found = np.array(right, np.float64, order="C")
    _solve(np.ascontiguousarray(root), found.reshape(len(root), -1))
    return found


def cholesky(matrix: Floats) -> Floats:
    """The lower triangular L with L Lᵀ = matrix, for a symmetric positive definite one."""
    found = np.array(matrix, np.float64, order="C")
    _root(found)
    return found


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _solve(root: Floats, found: Floats) -> None:
    """L, then Lᵀ: each unknown takes away what is known of it, in the order of the unknowns."""
    n, columns = found.shape
    for i in range(n):
        for column in range(columns):
            found[i, column] /= root[i, i]
        for j in range(i + 1, n):
            for column in range(columns):
                found[j, column] -= root[j, i] * found[i, column]
    for i in range(n - 1, -1, -1):
        for column in range(columns):
            found[i, column] /= root[i, i]
        for j in range(i):
            for column in range(columns):
                found[j, column] -= root[i, j] * found[i, column]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _root(rest: Floats) -> None:
    """The root takes the matrix's place; above the diagonal it is 0."""
    n = len(rest)
    for i in range(n):
        pivot = math.sqrt(rest[i, i])
        for j in range(i, n):
            rest[j, i] /= pivot
        for j in range(i + 1, n):
            rest[i, j] = 0.0
            for k in range(i + 1, j + 1):
                rest[j, k] -= rest[j, i] * rest[k, i]
