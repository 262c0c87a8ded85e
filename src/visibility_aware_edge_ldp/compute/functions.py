"""Exponentials, logarithms and cosines of arrays that are the same numbers on every machine.

NumPy takes another series for each make of processor, and its last digits differ. These are sums, products and
quotients of doubles alone, which every machine rounds alike; they err by a few units of the last place.
"""

import math
from typing import cast

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
# The logarithm of 2 in two parts: products of the first with whole numbers below 2^20 are exact.
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
_INVERSE_LN2 = float.fromhex("0x1.71547652b82fep+0")
_PI = float.fromhex("0x1.921fb54442d18p+1")
_LOWEST, _HIGHEST = -746.0, 710.0
_EXP = [1 / math.factorial(i) for i in range(14, 0, -1)]
_LOG = [1 / i for i in range(23, 1, -2)]
_SIN = [(-1) ** (i // 2) / math.factorial(i) for i in range(23, 1, -2)]


def exp(values: npt.ArrayLike) -> Floats:
    """e to the power of each value."""
    whole, more = _split(np.asarray(values, np.float64))
    with np.errstate(over="ignore", under="ignore"):
        return cast(Floats, np.ldexp(more + 1.0, whole))


def expm1(values: npt.ArrayLike) -> Floats:
    """e to the power of each value, less 1, precise for small values too."""
    x = np.asarray(values, np.float64)
    whole, more = _split(x)
    with np.errstate(over="ignore", under="ignore"):
        return np.where(whole == 0, more, np.ldexp(more + 1.0, whole) - 1.0)


def log(values: npt.ArrayLike) -> Floats:
    """The natural logarithm of each value; minus infinity of 0."""
    x = np.asarray(values, np.float64)
    part, power = np.frexp(x)
    small = part < math.sqrt(0.5)
    part, power = np.where(small, 2 * part, part), power - small
    with np.errstate(invalid="ignore", divide="ignore"):
        s = (part - 1.0) / (part + 1.0)
        found = _LN2_HIGH * power + (2.0 * s * (1.0 + _series(_LOG, s * s) * (s * s)) + _LN2_LOW * power)
        found = np.where(x > 0, found, np.where(x == 0, -np.inf, np.nan))
    return np.where(x == np.inf, np.inf, found)


def cos_pi(values: npt.ArrayLike) -> Floats:
    """The cosine of π times each value."""
    x = np.asarray(values, np.float64)
    angle = _PI * (0.5 - np.abs(x - 2.0 * np.rint(x / 2.0)))
    square = angle * angle
    return angle * (1.0 + _series(_SIN, square) * square)


def sinh(values: npt.ArrayLike) -> Floats:
    """The hyperbolic sine of each value, 0 or more; precision is lost below."""
    less = expm1(values)
    return (less + less / (less + 1.0)) / 2.0


def arcsinh(values: npt.ArrayLike) -> Floats:
    """What each value, 0 or more, is the hyperbolic sine of."""
    x = np.asarray(values, np.float64)
    return log(x + np.sqrt(x * x + 1.0))


def powers(values: Floats, most: int) -> list[Floats]:
    """Each value to the powers of 0, 1, … most."""
    found = [np.ones_like(values)]
    for _ in range(most):
        found.append(found[-1] * values)
    return found


def _split(x: Floats) -> tuple[npt.NDArray[np.int32], Floats]:
    """Whole k, and e^r − 1, for x = k·ln 2 + r."""
    inside = np.clip(x, _LOWEST, _HIGHEST)
    k = np.rint(inside * _INVERSE_LN2)
    r = (inside - k * _LN2_HIGH) - k * _LN2_LOW
    with np.errstate(invalid="ignore"):
        return k.astype(np.int32), _series(_EXP, r) * r


def _series(coefficients: list[float], x: Floats) -> Floats:
    """The polynomial with these coefficients, the highest power first."""
    found = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        found = found * x + coefficient
    return found
