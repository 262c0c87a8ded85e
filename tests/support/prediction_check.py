"""A prediction beside runs: is it within 15 %, as far as so few runs can tell?  [PLAN.11]"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.evaluation.plan.predictions import Prediction

Floats = npt.NDArray[np.float64]

MARGIN = 0.15
# A ratio may leave the margin by so many of its own sampling errors before it is called outside. Of hundreds of rows
# some runs miss by two: a coarse measure beside a sharp one counts only beyond four.
SAMPLING_ERRORS, COARSE = 2.0, 4.0


class Verdict(StrEnum):
    """What runs say of a prediction."""

    WITHIN = "within 15 %"
    PERHAPS = "within sampling error of 15 %"
    NOT_NORMAL = "the planner says that it cannot tell"
    OUTSIDE = "outside"


@dataclass(frozen=True)
class Ratio:
    """Predicted over simulated, and the sampling error of its logarithm."""

    value: float
    uncertainty: float

    def verdict(self, sampling_errors: float = SAMPLING_ERRORS) -> Verdict:
        """Whether it is within the margin; only a ratio that is surely beyond it is outside.

        A mean of ν squares is χ²/ν, whose cube root is nearly normal (Wilson and Hilferty).
        """
        if abs(self.value - 1) <= MARGIN:
            return Verdict.WITHIN
        nearest = 1 + math.copysign(MARGIN, self.value - 1)
        width = (2 / 3) * self.uncertainty  # √(2/(9ν)), 1/√(2ν) being the sampling error of a root
        z = ((nearest / max(self.value, 1e-9)) ** (2 / 3) - (1 - width**2)) / max(width, 1e-9)
        return Verdict.PERHAPS if abs(z) <= sampling_errors else Verdict.OUTSIDE

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.value * self.uncertainty:.2f}"


@dataclass(frozen=True, eq=False)
class Checked:
    """One row of a plan, and what so many runs of the same survey found: their errors, and the variances they claim.

    ``measured`` is false where runs claim a variance that is partly guessed.
    """

    row: Prediction
    errors: Floats
    variances: Floats
    measured: bool = True

    @property
    def simulated(self) -> float:
        """The root mean square error of the runs."""
        return float(np.sqrt(np.mean(self.errors**2)))

    @property
    def claimed(self) -> float:
        """The root of the mean variance that runs estimate of themselves; NaN where they estimate none."""
        return float(np.sqrt(max(self.variances.mean(), 0.0)))

    @property
    def predicted(self) -> float:
        """The root of the predicted mean square: noise and bias together."""
        return math.hypot(self.row.standard_error, self.row.bias)

    @property
    def by_errors(self) -> Ratio:
        """Predicted root mean square error over that of the runs; 1/√(2T) is the sampling error of a normal law."""
        squares, runs = self.errors**2, self.errors.size
        spread = float(squares.std(ddof=1) / squares.mean()) if runs > 1 and squares.mean() else 0.0
        return _ratio(self.predicted, self.simulated, max(spread, math.sqrt(2)) / math.sqrt(runs) / 2)

    @property
    def by_claims(self) -> Ratio | None:
        """Predicted standard error over the claimed one, where all runs measure one: far sharper than their errors."""
        mean, runs = float(self.variances.mean()), self.variances.size
        if not (self.measured and math.isfinite(mean) and mean > 0 and runs > 1):
            return None
        spread = float(self.variances.std(ddof=1)) / mean
        return _ratio(self.row.standard_error, self.claimed, spread / math.sqrt(runs) / 2)

    @property
    def verdict(self) -> Verdict:
        """By the sharper of both ratios, and the other must not be far outside."""
        if not self.row.holds:
            return Verdict.NOT_NORMAL
        if not self.predicted and not self.simulated:
            return Verdict.WITHIN
        errors, claims = self.by_errors, self.by_claims
        if claims is None:
            return errors.verdict()
        sharp, coarse = (claims, errors) if claims.uncertainty < errors.uncertainty else (errors, claims)
        return Verdict.OUTSIDE if coarse.verdict(COARSE) is Verdict.OUTSIDE else sharp.verdict()


def _ratio(predicted: float, simulated: float, relative: float) -> Ratio:
    return Ratio(predicted / simulated if simulated else math.inf, relative if simulated else math.inf)
