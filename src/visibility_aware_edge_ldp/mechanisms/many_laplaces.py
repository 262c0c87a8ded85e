"""Discrete Laplace noise for many numbers at once, each with a sensitivity of its own.  [LAPLACES.1]"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.exact_sampling import Integers, all_coins

Floats = npt.NDArray[np.float64]

# Logarithms and quotients of doubles err by a few parts in 10^16; a thousand times that is left in doubt.
_RELATIVE = 1e-13
# Closer than this to an end of [0, 1), in units of 2^-64, a word says too little of its uniform number.
_TOO_NEAR = 2.0**20
_FARTHEST = (1 << 62) - 1


def sample_each(epsilon: Fraction, sensitivities: Integers, coins: Coins) -> Integers:
    """One draw for each sensitivity, independent, each exactly of its own law; a sensitivity of 0 needs no noise.

    Doubles invert the distribution function; what they cannot decide is placed with as many digits as it takes.
    """
    words = np.frombuffer(all_coins(coins, 8 * sensitivities.size), dtype=">u8").astype(np.uint64)
    noisy = np.flatnonzero(sensitivities > 0)
    drawn = np.zeros(sensitivities.size, dtype=np.int64)
    values, certain = _propose(float(epsilon) / sensitivities[noisy], words[noisy])
    drawn[noisy] = np.where(certain, values, 0).astype(np.int64)
    for index in noisy[~certain]:
        law = DiscreteLaplace(epsilon, int(sensitivities[index])).law
        drawn[index] = max(-_FARTHEST, min(law.place(int(words[index]), coins), _FARTHEST))
    return drawn


def variances(epsilon: Fraction, sensitivities: Integers) -> Floats:
    """2α/(1 − α)² for each sensitivity; 0 where there is no noise.  [DL.2]"""
    rate = float(epsilon) / np.maximum(sensitivities, 1)
    return np.where(sensitivities > 0, 2 * np.exp(-rate) / np.expm1(-rate) ** 2, 0.0)


def _propose(rate: Floats, words: npt.NDArray[np.uint64]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """For each word the integer whose step of the distribution function holds it, and whether that is certain."""
    right = words >> np.uint64(63) == 1
    # How far the uniform number lies from its own end of [0, 1), in units of 2^-64: it is in [units, units + 1).
    units = np.where(right, ~words, words).astype(np.float64)
    steps = -np.log((units + 0.5) / 2.0**64 * (1 + np.exp(-rate))) / rate
    error = _RELATIVE * (1 / rate + np.abs(steps)) + 1 / ((units + 0.5) * rate)
    whole = np.floor(steps)
    certain = (units > _TOO_NEAR) & (steps - whole > error) & (whole + 1 - steps > error) & (steps < _FARTHEST)
    return np.where(right, whole, -whole), certain
