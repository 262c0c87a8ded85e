"""Hadamard response on one of several bins: forward, likelihood, unbiased inverse and variance.  [HADAMARD.1-3]"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, all_random_bytes

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LARGEST_SIZE = (1 << 32) - 1


@dataclass(frozen=True)
class HadamardResponse:
    """Answer with a column of a Hadamard matrix, more likely one where the bin's row has +1.

    After Acharya, Sun and Zhang (2019). The K × K matrix has the entries (−1)^popcount(row & column). Bin i has row
    i + 1; row 0, which is +1 everywhere, belongs to nobody.

    Parameters
    ----------
    epsilon : Fraction
        The loss for any change of the bin.
    size : int
        How many bins there are.
    """

    epsilon: Fraction
    size: int

    def __post_init__(self) -> None:
        if not 1 <= self.size <= LARGEST_SIZE:
            raise BadPrivacyParameter(f"Hadamard response needs 1 to {LARGEST_SIZE:,} bins; got {self.size:,}.")
        _ = self.sign

    @property
    def columns(self) -> int:
        """K: the smallest power of two above the number of bins; answers are 0 … K − 1."""
        return 1 << self.size.bit_length()

    @cached_property
    def sign(self) -> RandomizedResponse:
        """Which keeps the sign of the answer's entry at +1; its threshold is rounded towards privacy.  [HADAMARD.1]"""
        return RandomizedResponse(self.epsilon)

    def randomize(self, bins: Ints, random_bytes: RandomBytes) -> Ints:
        """One answer per bin; the random bytes drawn do not depend on the bins.  [HADAMARD.2]"""
        if bins.size and not 0 <= bins.min() <= bins.max() < self.size:
            raise BadPrivacyParameter(f"Bins are numbered 0 to {self.size - 1}; others have no row of their own.")
        rows = bins.astype(np.int64) + 1
        drawn = np.frombuffer(all_random_bytes(random_bytes, 4 * bins.size), dtype="<u4").astype(np.int64)
        answers = drawn & (self.columns - 1)
        wanted = self.sign.flips(bins.size, random_bytes)
        wrong = _is_minus(rows, answers) != wanted
        # Turning over one bit of the row's in the column turns the sign over, one column for one column.
        return answers ^ np.where(wrong, rows & -rows, 0)

    def likelihood(self, answer: int, bin_number: int) -> Fraction:
        """The probability of this answer given this bin."""
        minus = bool((answer & (bin_number + 1)).bit_count() & 1)
        return (self.sign.flip if minus else self.sign.keep) * Fraction(2, self.columns)

    @cached_property
    def scale(self) -> float:
        """a = 1/(keep − flip): what one answer weighs."""
        return float(1 / (self.sign.keep - self.sign.flip))

    def counts(self, answers: Ints) -> Floats:
        """How many users are in each bin, without bias.  [HADAMARD.3]"""
        found = np.bincount(answers, minlength=self.columns).astype(np.float64)
        return self.scale * walsh_hadamard(found)[1 : self.size + 1]

    def variances(self, counts: Floats, answers: int) -> Floats:
        """The variance of those counts from so many answers, without bias if the counts are.  [HADAMARD.3]"""
        return answers * self.scale**2 - counts


def walsh_hadamard(values: Floats) -> Floats:
    """Σ over columns of (−1)^popcount(row & column) · value, for every row, in K log₂ K steps."""
    result, half = values.copy(), 1
    while half < values.size:
        pairs = result.reshape(-1, 2, half)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        half *= 2
    return result


def _is_minus(rows: Ints, columns: Ints) -> npt.NDArray[np.bool_]:
    odd: npt.NDArray[np.bool_] = np.bitwise_count(rows & columns) % 2 == 1
    return odd
