"""The compiled twins of ``fits``. Need numba, the extra ``fast``.

For a hundred numbers NumPy's calls take longer than the work. Products are of slices of whole numbers, so that sums are
exact in any order; everything else is rounded operation by operation, in the order of ``reproducible_math``.
"""

import math
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.compute import reproducible_math as known
from visibility_aware_edge_ldp.compute.compiled import njit
from visibility_aware_edge_ldp.compute.reproducible_math import Rows

_LOWEST, _HIGHEST = known.LOWEST, known.HIGHEST
_LN2_HIGH, _LN2_LOW, _INVERSE_LN2 = known.LN2_HIGH, known.LN2_LOW, known.INVERSE_LN2
_EXP, _LOG = np.array(known.EXP), np.array(known.LOG)
_SMALL = math.sqrt(0.5)
# Exact sums may be added in any order, which is what lets several be added at once.
_ANY_ORDER = {"reassoc", "nsz"}


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _slices(vector: Any, bits: Any) -> Any:
    """Three vectors of whole numbers, and the exponent of their scale."""
    largest = 0.0
    for number in vector:
        largest = max(largest, abs(number))
    exponent = math.frexp(largest)[1] - bits
    found, finer = np.empty((3, vector.size)), 2.0**bits
    for i in range(vector.size):
        rest = math.ldexp(vector[i], -exponent)
        for level in range(3):
            found[level, i] = np.rint(rest)
            rest -= found[level, i]
            rest *= finer
    return found, exponent


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)  # type: ignore[untyped-decorator]
def _sums(first: Any, second: Any, third: Any, parts: Any) -> Any:
    """The four sums that are exact: of the smallest products, of two kinds that are larger, and of the largest."""
    lowest, low, other, high = 0.0, 0.0, 0.0, 0.0
    for i in range(first.size):
        lowest += first[i] * parts[2, i] + second[i] * parts[1, i] + third[i] * parts[0, i]
        low += first[i] * parts[1, i]
        other += second[i] * parts[0, i]
        high += first[i] * parts[0, i]
    return lowest, low, other, high


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _times(first: Any, second: Any, third: Any, scale: Any, bits: Any, vector: Any, found: Any) -> None:
    """As ``Rows.times`` of one column."""
    parts, exponent = _slices(vector, bits)
    coarser, own = 2.0**-bits, math.ldexp(1.0, exponent)
    for row in range(found.size):
        lowest, low, other, high = _sums(first[row], second[row], third[row], parts)
        total = ((lowest * coarser + low) + other) * coarser + high
        found[row] = total * scale[row, 0] * own


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _exp(values: Any) -> None:
    """As ``reproducible_math.exp``, in place, of numbers up to 0."""
    whole = np.empty(values.size)
    for i in range(values.size):
        inside = min(max(values[i], _LOWEST), _HIGHEST)
        k = np.rint(inside * _INVERSE_LN2)
        r = (inside - k * _LN2_HIGH) - k * _LN2_LOW
        series = _EXP[0]
        for coefficient in _EXP[1:]:
            series = series * r + coefficient
        values[i], whole[i] = series * r + 1.0, k
    for i in range(values.size):
        values[i] = math.ldexp(values[i], int(whole[i]))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _log(values: Any, found: Any) -> None:
    """As ``reproducible_math.log``, of numbers that are finite."""
    for i in range(values.size):
        part, power = math.frexp(values[i])
        if part < _SMALL:
            part, power = 2.0 * part, power - 1
        s = (part - 1.0) / (part + 1.0)
        square = s * s
        series = _LOG[0]
        for coefficient in _LOG[1:]:
            series = series * square + coefficient
        rest = 2.0 * s * (1.0 + series * square) + _LN2_LOW * power
        if values[i] > 0.0:
            found[i] = _LN2_HIGH * power + rest
        else:
            found[i] = -np.inf if values[i] == 0.0 else np.nan


def exponentials(rows: Rows, vector: Any, offsets: Any) -> Any:
    """As ``fits.exponentials``."""
    logs = np.empty(offsets.size)
    _times(*rows.slices, rows.bits, vector, logs)
    logs += offsets
    logs -= logs.max()
    _exp(logs)
    return logs


def logarithms(rows: Rows, vector: Any) -> Any:
    """As ``fits.logarithms``."""
    found = np.empty((2, rows.size))
    _times(*rows.slices, rows.bits, vector, found[0])
    _log(*found)
    return found[0], found[1]
