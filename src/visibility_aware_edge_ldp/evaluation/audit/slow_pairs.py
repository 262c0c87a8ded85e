"""Whether the same side is the slow one wherever two sides differ most: exact chances of fair signs.  [PACE.5]"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]

# So many pairs are looked at, the most different first: a quarter of them, and never fewer than can ring.
SHARE, FEWEST = 4, 16
_FAIR = np.array([0.5, 0.5])
_ROUNDING = 1 + 1e-9


def slowest_chance(first: Floats, second: Floats) -> float:
    """How often fair signs lead as far as those of the pairs that differ most, at any depth."""
    apart = second - first
    order = np.argsort(-np.abs(apart), kind="stable")[: max(FEWEST, apart.size // SHARE)]
    return lead_chance(apart[order][apart[order] != 0] > 0)


def lead_chance(signs: Bits) -> float:
    """The chance that as many fair signs have, after any number of them, a lead that is as unlikely as these have."""
    tails = list(_tails(signs.size))
    least = min((float(tail[ones]) for tail, ones in zip(tails, signs.cumsum(), strict=True)), default=1.0)
    chance, left = 0.0, np.ones(1)
    for tail in tails:
        left = np.convolve(left, _FAIR)
        far = tail <= least * _ROUNDING
        chance += float(left[far].sum())
        left[far] = 0
    return min(1.0, chance) if tails else 1.0


def one_sided_chance(first: int, second: int) -> float:
    """The chance that fair signs are divided between two sides as unequally as this."""
    *_, tail = (np.ones(1), *_tails(first + second))
    return float(tail[second])


def _tails(most: int) -> Iterator[Floats]:
    """For 1, 2, … signs: how likely a lead as large as that of 0, 1, 2, … ones is, on either side."""
    law = np.ones(1)
    for _ in range(most):
        law = np.convolve(law, _FAIR)
        above = law[::-1].cumsum()[::-1]
        yield np.minimum(1, 2 * np.minimum(above, above[::-1]))
