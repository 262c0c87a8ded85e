"""The expected error of a statistic, from the standard errors of a few collections rather than from their errors.

Σ over T collections of |error| is known to 75 %/√T. An estimate's own variance is unbiased and far steadier, so a few
collections tell the mean |error| = √(2/π)·√variance of a normal law to some percent.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.estimate import FEWEST, Estimate, student
from visibility_aware_edge_ldp.public.statistic import MAX_DEGREE, is_built_in
from visibility_aware_edge_ldp.public.trust import CURATOR

Floats = npt.NDArray[np.float64]
STANDARD_ERROR, EXACT_LAW, TRIALS, TRIALS_AND_LAW = "standard_error", "exact_law", "trials", "trials_and_law"
# The mean size of a standard normal deviate.
MEAN_SIZE = math.sqrt(2 / math.pi)
# So many collections tell how the variance goes with the value; fewer would follow their own noise.
ENOUGH = 5
# What rounding may leave of squares that are 0.
ROUNDING = 1e-20
# Normal deviates: errors this much larger than their standard errors are not of these standard errors.
TOO_LARGE = 3.5
# A mean error below this part of the truth is none.
NEVER = 1e-6
# Where the series for Student's t is not good enough: his 97.5 % points for 1, 2 and 3 degrees of freedom.
FEW = (12.706, 4.303, 3.182)


@dataclass(frozen=True)
class Measured:
    """One statistic in one trial: what was estimated, how far off it was, and whether its interval held the truth.

    ``low`` and ``high`` are the interval cut at what is possible, the others the uncut one. ``normal`` is 1 where the
    law of the estimate is nearly normal around the truth, and ``unbiased`` 1 where its mean is the truth. The
    excesses are how far numbers that the error goes with were above their known means: how far off the largest noisy
    degree was, as part of the truth, and on which side.
    """

    value: float
    error: float
    covered: float
    variance: float = math.nan
    low: float = math.nan
    high: float = math.nan
    uncut_low: float = math.nan
    uncut_high: float = math.nan
    normal: float = 0.0
    unbiased: float = 0.0
    size_excess: float = math.nan
    side_excess: float = math.nan


@dataclass(frozen=True)
class Expected:
    """The mean |estimate − truth| / truth of one collection, its standard error, and what it was worked out from."""

    error: float
    uncertainty: float
    basis: str


def measured(trust: str, answers: Mapping[str, Estimate], truths: Mapping[str, Any]) -> dict[str, Measured]:
    """Each estimate beside its truth, which has the same shape."""
    return {name: _measured(trust, answers[name], truth) for name, truth in truths.items()}


def _measured(trust: str, estimate: Estimate, truth: Any) -> Measured:
    error, covered = relative_error(estimate.value, truth), covers(estimate, truth)
    if np.ndim(truth):
        return Measured(float("nan"), error, covered)
    # Sums of many noises are nearly normal. One answer of a centre is not, and the largest of many numbers is not.
    normal = trust != CURATOR.name and is_built_in(estimate.statistic) and estimate.statistic != MAX_DEGREE.name
    low, high, *uncut = (float(end) for end in (*estimate.shown_interval(), *estimate.interval()))
    return Measured(
        float(estimate.value),
        error,
        covered,
        float(estimate.variance),
        low,
        high,
        uncut[0],
        uncut[1],
        float(normal),
        float(estimate.unbiased),
    )


def relative_error(value: Any, truth: Any) -> float:
    """|value − truth| / truth; for arrays the sums of both; infinite where the truth is 0 and missed."""
    miss, size = float(np.abs(np.subtract(value, truth)).sum()), float(np.abs(truth).sum())
    return miss / size if size else (0.0 if not miss else float("inf"))


def covers(estimate: Estimate, truth: float | Floats) -> float:
    """Whether the 95 % interval holds the truth; for arrays the share of entries."""
    low, high = estimate.interval(0.95)
    if np.isnan(np.max(low)) or np.isnan(np.max(high)):
        return float("nan")
    return float(np.mean((np.asarray(low) <= truth) & (truth <= np.asarray(high))))


def expected_error(found: Sequence[Measured], truth: float, beside: Floats | None = None) -> Expected:
    """From the standard errors where they decide it, else the mean of the errors themselves.

    ``beside`` are errors, of mean 0, that the variances go with; without them, those of the statistic itself.
    """
    plain = _by_trials(found)
    if not (truth and math.isfinite(truth)) or not all(one.normal and math.isfinite(one.variance) for one in found):
        return plain
    if not any(one.variance or one.error for one in found):
        return Expected(0.0, 0.0, STANDARD_ERROR)
    if not all(one.unbiased for one in found) and deviate(chi_square(found, truth), len(found)) > TOO_LARGE:
        return plain  # what is left out of the standard errors, a bias, is not small
    own = np.array([one.value - truth for one in found])
    variance, doubt = steadied_mean(np.array([one.variance for one in found]), own if beside is None else beside)
    if variance <= 0:
        return plain
    size = MEAN_SIZE * math.sqrt(variance) / abs(truth)
    return Expected(size, size * doubt / (2 * variance), STANDARD_ERROR)


def steadied_mean(values: Floats, beside: Floats) -> tuple[float, float]:
    """The mean of what the values are drawn from, and its standard error; what stands ``beside`` has the known mean 0.

    Variances of counts grow with the count, so most of their scatter is that of the errors, whose mean is known to be
    0: it is the regression's value there that is wanted. Of several columns those are used that are known well enough.
    """
    trials, mean = values.size, float(values.mean())
    columns = beside.reshape(trials, -1)[:, : trials // ENOUGH]
    moved = columns - columns.mean(axis=0)
    # Gram and Schmidt: one column after the other, without what the columns before it tell.
    used, doubt, centre, rest = 0, 1 / trials, columns.mean(axis=0), values - mean
    for place in range(columns.shape[1]):
        column, squares = moved[:, place], float((moved[:, place] ** 2).sum())
        if squares <= ROUNDING * float((columns[:, place] ** 2).sum()):
            continue  # all alike, or told by the columns before it
        parts = (moved[:, place + 1 :] * column[:, None]).sum(axis=0) / squares
        moved[:, place + 1 :] -= parts * column[:, None]
        slope = float((rest * column).sum()) / squares
        mean -= slope * centre[place]
        doubt += centre[place] ** 2 / squares
        centre[place + 1 :] -= parts * centre[place]
        rest = rest - slope * column
        used += 1
    freedom = trials - 1 - used
    return mean, math.sqrt(float((rest**2).sum()) / freedom * doubt) if freedom > 0 else math.nan


def chi_square(found: Sequence[Measured], truth: float) -> float:
    """Σ (error/standard error)², about as large as the number of trials; NaN where there is no standard error."""
    known = [one for one in found if math.isfinite(one.variance) and one.variance > 0]
    if len(known) < len(found) or not math.isfinite(truth):
        return math.nan
    return sum((one.value - truth) ** 2 / one.variance for one in known)


def deviate(square: float, freedom: int) -> float:
    """χ² as a standard normal deviate (Wilson and Hilferty); NaN of NaN."""
    width = 2 / (9 * freedom)
    return (math.cbrt(square / freedom) - 1 + width) / math.sqrt(width)


def _by_trials(found: Sequence[Measured]) -> Expected:
    errors = np.array([one.error for one in found])
    excess = np.array([(one.size_excess, one.side_excess) for one in found])
    if not np.isfinite(errors).all():  # a truth of 0 that is missed has an infinite relative error, without a spread
        return Expected(float(errors.mean()), math.nan, TRIALS)
    if not errors.any() and np.isfinite(excess).all():
        # None of these trials erred. Others would, by about as much as the largest noisy degree is off on average.
        most = -float(excess[:, 0].min())
        return Expected(most, most, TRIALS_AND_LAW) if most > NEVER else Expected(0.0, 0.0, TRIALS_AND_LAW)
    if len(found) >= ENOUGH and np.isfinite(excess).all():
        error, doubt = steadied_mean(errors, excess)
        if error > 0:
            return Expected(error, doubt, TRIALS_AND_LAW)
    return Expected(*steadied_mean(errors, np.zeros(errors.size)), TRIALS)


def clear(freedom: int) -> float:
    """How many standard errors are clear: Student's 97.5 % point."""
    return student(0.975, freedom) if freedom >= FEWEST else FEW[freedom - 1]
