"""The error of one statistic in one trust model at one ε, before anybody is asked, and beside runs.  [PLAN.1-9, 11]"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.evaluation.lower_bounds import LowerBound, least_here, least_on_the_hardest
from visibility_aware_edge_ldp.evaluation.plan import curator, neighbourhood, position, user
from visibility_aware_edge_ldp.evaluation.plan.base import (
    ALL,
    BY_LUCK,
    MOSTLY_NOISE,
    NORMAL,
    Model,
    PredictedError,
    Question,
    Subsample,
)
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import Moments
from visibility_aware_edge_ldp.public.statistic import DEGREES, EDGES, statistic
from visibility_aware_edge_ldp.public.trust import CURATOR
from visibility_aware_edge_ldp.public.visibility import Visibility

Floats = npt.NDArray[np.float64]
# Beyond this part of the value an estimate is mostly noise, and its error is no longer a percentage of anything.
TOO_LARGE = 1 / 3
# Where a centre's split varies so that standard errors are this much larger than typical ones, no law is normal.
UNEVEN = 1.05
# A prediction is held to this beside runs.  [PLAN.11]
MARGIN = 0.15
# A ratio may leave the margin by so many of its own sampling errors before it is called outside. Of hundreds of rows
# some runs miss by two: a coarse measure beside a sharp one counts only beyond four.
SAMPLING_ERRORS, COARSE = 2.0, 4.0
PREDICTIONS: dict[str, Model] = {
    each.trust.name: each for each in (position.MODEL, user.MODEL, neighbourhood.MODEL, curator.MODEL)
}
"""How each trust model is predicted, by its name."""


@dataclass(frozen=True)
class Prediction:
    """One row of a plan.

    Parameters
    ----------
    value
        What the assumed graph has.
    standard_error
        Of the estimate; for degrees the mean over users. NaN where nothing can be said, and ``note`` says why.
    bias
        What the estimate is low by, where it is not unbiased.
    mean_relative_error
        The mean of |estimate − value|/value; NaN where the normal approximation does not hold.
    least
        No unbiased estimate of a local protocol has a smaller standard error on the assumed graph; NaN if not known.
    least_on_the_hardest
        The same for some graph with as many nodes and as high a degree, for every estimate.
    from_few_numbers
        Whether it rests on degrees or triangles of a graph that was made up from a few numbers.
    """

    trust: str
    statistic: str
    epsilon: float
    value: float
    standard_error: float
    mean_relative_error: float
    bias: float = 0.0
    least: float = math.nan
    least_on_the_hardest: float = math.nan
    note: str = ""
    from_few_numbers: bool = False

    @property
    def holds(self) -> bool:
        """Whether the mean relative error can be believed."""
        return not math.isnan(self.mean_relative_error)

    @property
    def relative_standard_error(self) -> float:
        """The standard error beside the value; NaN where there is no such number."""
        return self.standard_error / abs(self.value) if self.value else math.nan

    @property
    def likely_relative_error(self) -> float:
        """The mean relative error; where it is not known, the relative standard error, which is larger."""
        return self.mean_relative_error if self.holds else self.relative_standard_error

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON and CSV; None where nothing can be said."""
        plain = asdict(self)
        return {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in plain.items()}


def predictions(
    moments: Moments,
    trust: str,
    epsilon: Fraction,
    statistics: Sequence[str],
    delta: Fraction = Fraction(0),
    shown: Sequence[str] | None = None,
    bounds: bool = True,
    without: Subsample = ALL,
) -> list[Prediction]:
    """All statistics that one trust model answers together for one ε, or those of them that are to be shown.

    ``without`` says what the position model leaves out.
    """
    model, asked = PREDICTIONS[trust], offered(trust, statistics)
    question = Question(moments, epsilon, asked, delta, without)
    secret = moments.world.public.present - {Visibility.PUBLIC}
    rows = [
        _row(model, question, name, model.predicted(question, name) if secret else PredictedError(0.0))
        for name in shown or asked
    ]
    return [_with_bounds(moments, row) for row in rows] if bounds and model.bounded else rows


def offered(trust: str, statistics: Sequence[str]) -> list[str]:
    """Those of the statistics that a plan has rows for in this trust model."""
    return [name for name in statistics if PREDICTIONS[trust].offers(name)]


def marked(rows: Sequence[Prediction], degrees_known: bool) -> list[Prediction]:
    """Rows of a made-up graph, those marked that rest on degrees or triangles which nobody told.

    Edges and degrees need only the numbers of nodes and edges. A centre's pilot sets all answers by all values.
    """
    guessed = {row.statistic for row in rows if not _known_from_numbers(row.statistic, degrees_known)}
    split = {row.statistic for row in rows if row.trust == CURATOR.name} & guessed

    def rests(row: Prediction) -> bool:
        by_values = row.statistic in guessed or (row.trust == CURATOR.name and bool(split))
        return by_values and not math.isnan(row.standard_error)

    return [replace(row, from_few_numbers=rests(row)) for row in rows]


def _known_from_numbers(name: str, degrees_known: bool) -> bool:
    return name in (EDGES.name, DEGREES.name) or (degrees_known and statistic(name).from_degrees)


def _row(model: Model, question: Question, name: str, found: PredictedError | str) -> Prediction:
    trust, epsilon, value = model.trust.name, float(question.epsilon), question.moments.value(name)
    if isinstance(found, str):
        return Prediction(trust, name, epsilon, value, math.nan, math.nan, note=found)
    note = _doubt(model, question, name, value, found)
    size = _mean_size(found) / value if value else math.inf
    return Prediction(trust, name, epsilon, value, found.deviation, math.nan if note else size, found.bias, note=note)


def _with_bounds(moments: Moments, row: Prediction) -> Prediction:
    """The same beside what no local protocol can beat.  [LIMIT.2, LIMIT.4]"""
    found = (bound(moments.world, row.statistic, row.epsilon) for bound in (least_here, least_on_the_hardest))
    here, hardest = (_root(bound) for bound in found)
    return replace(row, least=here, least_on_the_hardest=hardest)


def _root(bound: LowerBound | None) -> float:
    return math.nan if bound is None else bound.standard_error_at_least


def _mean_size(found: PredictedError) -> float:
    """E|noise − bias|: given, or that of a normal law about its bias."""
    if found.mean is not None:
        return found.mean
    if not found.bias or not found.deviation:
        return NORMAL * found.deviation + abs(found.bias)
    z = found.bias / found.deviation
    return found.deviation * NORMAL * math.exp(-z * z / 2) + found.bias * math.erf(z / math.sqrt(2))


def _doubt(model: Model, question: Question, name: str, value: float, found: PredictedError) -> str:
    """Why the normal approximation does not hold; empty where it does.  [PLAN.9]"""
    if not value:
        return "the assumed graph has none, so there is no relative error"
    if not statistic(name).per_person and found.deviation > TOO_LARGE * abs(value):
        return f"{MOSTLY_NOISE}: the standard error is {found.deviation / abs(value):.0%} of the value"
    if own := model.doubt(question, found):
        return own
    if found.uneven > UNEVEN:
        return f"{BY_LUCK} and decides the split of ε: a standard error {found.uneven:.2g} times that of a typical run"
    return ""


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
