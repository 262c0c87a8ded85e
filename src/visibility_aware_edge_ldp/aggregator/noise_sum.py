"""How far a sum of independent noises of one shape and different scales may lie from 0.  [HUBSUM.3]"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothNoise

Floats = npt.NDArray[np.float64]

# A bound so large that rounding to whole numbers does not show.
_LARGE = 10**6
_POINTS, _FARTHEST = 1500, 1e4
_GRID = 1 << 15
# The window is this many standard deviations to each side.
_WINDOW = 60.0


def reach(noise: SmoothNoise, bounds: Floats, level: float) -> float:
    """The q such that the sum of the noises on these bounds lies in [−q, q] with probability ``level``."""
    return float(np.interp(level, *_inside(noise, tuple(bounds[bounds > 0].tolist())))) if (bounds > 0).any() else 0.0


@lru_cache(maxsize=8)
def _inside(noise: SmoothNoise, bounds: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Chances that the sum lies within some distances, and these: an interval asks for many levels."""
    total = noise.standard_deviation(1) * float(np.linalg.norm(bounds))
    grid = (np.arange(_GRID) - _GRID // 2) * (2 * _WINDOW * total / _GRID)
    edges = np.append(grid, grid[-1] + grid[1] - grid[0]) - (grid[1] - grid[0]) / 2
    spectrum = np.ones(_GRID // 2 + 1, np.complex128)
    for bound in bounds:
        mass = np.diff(_distribution(noise, edges / bound))
        spectrum *= np.fft.rfft(np.fft.ifftshift(mass))
    law = np.fft.fftshift(np.fft.irfft(spectrum, _GRID))
    inside = np.cumsum(law[_GRID // 2 :]) + np.cumsum(law[_GRID // 2 :: -1])[: _GRID // 2] - law[_GRID // 2]
    return np.maximum.accumulate(inside), np.asarray(grid[_GRID // 2 :], np.float64)


def _distribution(noise: SmoothNoise, z: Floats) -> Floats:
    """The probability that the noise on a bound of 1 is at most z."""
    points, logs = _tail(noise)
    beyond = np.exp(np.interp(np.log(np.maximum(np.abs(z), 1e-12)), points, logs))
    return np.where(z < 0, beyond, 1 - beyond)


@lru_cache(maxsize=64)
def _tail(noise: SmoothNoise) -> tuple[Floats, Floats]:
    """Logarithms of distances from 0, and of the probability to lie beyond them on one side."""
    law, scale = noise.law(_LARGE), float(noise.scale(1))
    distances = scale * np.concatenate([[1e-5], np.geomspace(1e-3, _FARTHEST, _POINTS)])
    beyond = [float(law.cdf(-round(x * _LARGE), 30)) for x in distances]
    return np.log(distances), np.log(np.maximum(beyond, 1e-300))
