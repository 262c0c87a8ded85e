"""What runs of an estimator say against it: bias, coverage, calibration, odd shapes.

Each with a chance: that a right estimator looks so wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from support.estimator_runs import Run

LEAST, MOST = 0.93, 0.97
"""Between these lies the coverage of a 95 % interval that is called right."""
TIGHT, LOOSE = 0.9, 1.1
"""Between these lies what estimates err, over the standard error that they state."""
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, in a few words, and the chance that a right estimator would look so."""

    what: str
    chance: float

    def __str__(self) -> str:
        return self.what if not self.chance else f"{self.what} (by chance {self.chance:.1g})"


def findings(runs: Sequence[Run], chance: float) -> list[Finding]:
    """All that is wrong and would come by chance more rarely than this."""
    if not runs:
        return []
    found = [*odd_shapes(runs), bias(runs), *coverage(runs), *calibration(runs)]
    return [each for each in found if each.chance < chance]


def odd_shapes(runs: Sequence[Run]) -> list[Finding]:
    """Values outside their own interval, and infinite standard errors: one is too many."""
    outside, infinite = sum(not run.is_inside for run in runs), sum(math.isinf(run.variance) for run in runs)
    return [Finding(f"{outside} of {len(runs)} values outside their own interval", 0.0 if outside else 1.0),
            Finding(f"{infinite} of {len(runs)} standard errors infinite", 0.0 if infinite else 1.0)]  # fmt: skip


def bias(runs: Sequence[Run]) -> Finding:
    """How far the mean error is from 0, where the estimates say that it is 0."""
    z = z_of_mean([run.error for run in runs])
    return Finding(f"biased by {z:+.1f} z", 2 * _NORMAL.cdf(-abs(z)) if all(run.unbiased for run in runs) else 1.0)


def coverage(runs: Sequence[Run]) -> list[Finding]:
    """Whether intervals hold the truth too rarely, or too often without saying so."""
    held, count = math.fsum(run.held for run in runs), len(runs)
    words = f"{held / count:.1%} of {count} held it"
    often = 1.0 if all(run.conservative for run in runs) else at_most(math.ceil(count - held), count, 1 - MOST)
    return [Finding(f"{words}: too few", at_most(math.ceil(held), count, LEAST)), Finding(f"{words}: too many", often)]


def calibration(runs: Sequence[Run]) -> list[Finding]:
    """Whether errors are larger than stated, or smaller; nothing where a standard error is left out."""
    stated = [run for run in runs if math.isfinite(run.variance)]
    if len(stated) < 2:
        return []
    square, variance = (np.array([getattr(run, name) for run in stated]) for name in ("square", "variance"))
    words = f"errors are {ratio(stated):.2f} standard errors"
    large, small = (z_of_mean(square - limit**2 * variance) for limit in (LOOSE, TIGHT))
    cautious = all(run.conservative for run in runs)
    return [Finding(words, _NORMAL.cdf(-large)), Finding(words, 1.0 if cautious else _NORMAL.cdf(small))]


def ratio(runs: Sequence[Run]) -> float:
    """Root mean square of the errors over that of the standard errors; 1 where both are 0."""
    square, variance = (math.fsum(getattr(run, name) for run in runs) for name in ("square", "variance"))
    return math.sqrt(square / variance) if variance else math.inf if square else 1.0


def z_of_mean(values: Sequence[float] | np.ndarray) -> float:
    """How far the mean is from 0, as a normal deviate: Student's t by Wallace's (1959) approximation."""
    array, freedom = np.asarray(values, np.float64), len(values) - 1
    mean, spread = float(array.mean()), float(array.std(ddof=1)) if freedom else 0.0
    if spread <= 1e-12 * abs(mean) or not mean:
        return math.copysign(math.inf, mean) if abs(mean) > 1e-9 else 0.0
    t = mean / (spread / math.sqrt(array.size))
    z = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(t * t / freedom))
    return math.copysign(z, t)


def at_most(count: int, of: int, chance: float) -> float:
    """The chance that at most so many of these happen, each with this chance; sums of shares vary less."""
    if count >= of:
        return 1.0
    logs = (
        math.lgamma(of + 1) - math.lgamma(k + 1) - math.lgamma(of - k + 1)
        + k * math.log(chance) + (of - k) * math.log1p(-chance)
        for k in range(count + 1)
    )  # fmt: skip
    return min(1.0, math.fsum(map(math.exp, logs)))
