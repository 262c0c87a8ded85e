"""Small symmetric systems of equations: every number is rounded in the same order on every machine."""

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def solved(root: Floats, right: Floats) -> Floats:
    """x with L Lᵀ x = right, for the root L of ``cholesky`` and a vector, or the columns of a matrix."""
    if right.ndim == 1:
        return _solved_vector(root.tolist(), right.tolist())
    found = right.copy()
    for i in range(len(root)):
        found[i] /= root[i, i]
        found[i + 1 :] -= np.multiply.outer(root[i + 1 :, i], found[i])
    for i in reversed(range(len(root))):
        found[i] /= root[i, i]
        found[:i] -= np.multiply.outer(root[i, :i], found[i])
    return found


def _solved_vector(root: list[list[float]], found: list[float]) -> Floats:
    """The same steps on Python's own numbers: for one column, calls of NumPy would take longer than the work."""
    for i, row in enumerate(root):
        total = found[i]
        for factor, known in zip(row[:i], found[:i], strict=True):
            total -= factor * known
        found[i] = total / row[i]
    for i in reversed(range(len(root))):
        found[i] /= root[i][i]
        known = found[i]
        found[:i] = [total - factor * known for total, factor in zip(found[:i], root[i][:i], strict=True)]
    return np.array(found)


def cholesky(matrix: Floats) -> Floats:
    """The lower triangular L with L Lᵀ = matrix, for a symmetric positive definite one."""
    rest, turned = matrix.copy(), np.zeros_like(matrix)
    for i in range(len(rest)):
        row = turned[i, i:]
        np.divide(rest[i, i:], math.sqrt(rest[i, i]), out=row)
        part = rest[i + 1 :, i + 1 :]
        part -= row[1:, None] * row[1:]
    return np.ascontiguousarray(turned.T)
