"""Products of matrices and vectors, exponentials, logarithms and cosines that are the same numbers on every machine.

A library of matrix products adds in an order that follows the processor and its threads, and rounds accordingly. Here
either nothing is rounded, or always in the same order. Large matrices are cut into slices of whole numbers, so few bits
each that every product of two slices is exact, in whatever order it is added up; what is left out is below 2⁻⁴⁰ of the
largest entry of a row times that of a column. Small ones are added up term after term.

NumPy's functions take another series for each make of processor, and their last digits differ. Those here are sums,
products and quotients of doubles alone, which every machine rounds alike; they err by a few units of the last place.
"""

import math
from typing import cast

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
# Whole numbers up to 2⁵³ are exact.
_BITS = 53
# Products of so few rows are done by one core: the others would take longer to begin than it takes to end.
_FEW_ROWS = 32
# The logarithm of 2 in two parts: products of the first with whole numbers below 2^20 are exact.
LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
INVERSE_LN2 = float.fromhex("0x1.71547652b82fep+0")
_PI = float.fromhex("0x1.921fb54442d18p+1")
LOWEST, HIGHEST = -746.0, 710.0
EXP = [1 / math.factorial(i) for i in range(14, 0, -1)]
LOG = [1 / i for i in range(23, 1, -2)]
_SIN = [(-1) ** (i // 2) / math.factorial(i) for i in range(23, 1, -2)]


def product(left: Floats, right: Floats) -> Floats:
    """left @ right of two matrices."""
    bits = _bits_of(right.shape[0])
    (high, low), scale = _slices(left, bits, 1)
    (above, below), other = _slices(right, bits, 0)
    found: Floats = high @ below if below.any() else np.zeros((left.shape[0], right.shape[1]))
    if low.any():
        found += low @ above
    found *= 2.0**-bits
    found += high @ above
    found *= scale
    found *= other
    return found


class Rows:
    """A matrix of many rows that is multiplied by several others of a few columns, each time by one core.

    Fits magnify what a product leaves out, so three slices are taken here: nothing that a double can show is left out.
    """

    def __init__(self, matrix: Floats) -> None:
        self.bits, self.size = _bits_of(matrix.shape[1]), len(matrix)
        (first, second, third), scale = _slices(matrix, self.bits, 1, 3)
        self.slices = (first, second, third, scale)
        """The three slices, and the scale of each row."""
        self._first, self._second, self._third = (_in_chunks(each) for each in (first, second, third))

    def times(self, right: Floats) -> Floats:
        """The matrix @ right."""
        (first, second, third), scale = _slices(right, self.bits, 0, 3)
        found = self._first @ third
        found += self._second @ second
        found += self._third @ first
        found *= 2.0**-self.bits
        # Each of these two is exact; their sum may not be, and is taken in this order.
        found += self._first @ second
        found += self._second @ first
        found *= 2.0**-self.bits
        found += self._first @ first
        return np.asarray(found.reshape(-1, right.shape[1])[: self.size] * self.slices[3] * scale)


def inner(rows: Floats, weights: Floats) -> Floats:
    """rowsᵀ diag(weights) rows, a symmetric matrix, by one core."""
    bits = _bits_of(len(rows))
    (high, low), scale = _slices(rows * np.sqrt(weights)[:, None], bits, 0)
    high, low = _in_chunks(high), _in_chunks(low)
    turned = high.transpose(0, 2, 1)
    mixed = (turned @ low).sum(axis=0)
    found = (mixed + mixed.T) * 2.0**-bits + (turned @ high).sum(axis=0)
    return np.asarray(found * scale * scale.T)


def weighted(weights: npt.NDArray[np.number], rows: npt.NDArray[np.number]) -> Floats:
    """weights @ rows for a vector of weights and a matrix: row after row is added."""
    return np.asarray(np.multiply(weights[:, None], rows, dtype=np.float64, order="C").sum(axis=0))


def dot(left: npt.NDArray[np.number], right: npt.NDArray[np.number]) -> float:
    """Σ left · right of two vectors."""
    return float(np.multiply(left, right, dtype=np.float64).sum())


def norm(vector: npt.ArrayLike) -> float:
    """The length of a vector."""
    return math.sqrt(math.fsum(np.square(np.asarray(vector, np.float64)).tolist()))


def on_grid(vector: Floats, terms: int) -> Floats:
    """The vector, each number rounded so that sums of so many of them are exact in whatever order they are added."""
    exponent = int(np.frexp(np.abs(vector).max(initial=0.0))[1]) - (_BITS - 1 - max(terms, 1).bit_length())
    return np.asarray(np.ldexp(np.rint(np.ldexp(vector, -exponent)), exponent))


def _in_chunks(rows: Floats) -> Floats:
    """The same rows, few at a time, filled up with zeros."""
    chunks = -(-len(rows) // _FEW_ROWS)
    filled = np.zeros((chunks * _FEW_ROWS, rows.shape[1]))
    filled[: len(rows)] = rows
    return filled.reshape(chunks, _FEW_ROWS, rows.shape[1])


def _bits_of(terms: int) -> int:
    """Of how many bits two whole numbers may be so that sums of so many products are exact, twice over."""
    return (_BITS - 1 - max(terms, 1).bit_length()) // 2


def _slices(matrix: Floats, bits: int, axis: int, slices: int = 2) -> tuple[list[Floats], Floats]:
    """Matrices of whole numbers of so many bits, and a scale: matrix ≈ (first + second · 2^-bits + …) · scale."""
    largest = np.abs(matrix).max(axis=axis, keepdims=True, initial=0.0)
    exponents = np.frexp(largest)[1] - bits
    rest = np.ldexp(matrix, -exponents)
    found = []
    for _ in range(slices):
        found.append(np.rint(rest))
        rest -= found[-1]
        rest *= 2.0**bits
    return found, np.ldexp(np.ones(exponents.shape), exponents)


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
        found = LN2_HIGH * power + (2.0 * s * (1.0 + _series(LOG, s * s) * (s * s)) + LN2_LOW * power)
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
    inside = np.clip(x, LOWEST, HIGHEST)
    k = np.rint(inside * INVERSE_LN2)
    r = (inside - k * LN2_HIGH) - k * LN2_LOW
    with np.errstate(invalid="ignore"):
        return k.astype(np.int32), _series(EXP, r) * r


def _series(coefficients: list[float], x: Floats) -> Floats:
    """The polynomial with these coefficients, the highest power first."""
    found = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        found = found * x + coefficient
    return found
