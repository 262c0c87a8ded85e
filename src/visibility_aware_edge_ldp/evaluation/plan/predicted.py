"""The error of one statistic in one trust model at one ε, before anybody is asked.  [PLAN.1-9]"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from visibility_aware_edge_ldp.evaluation.bounds import least_here, least_on_the_hardest
from visibility_aware_edge_ldp.evaluation.plan import by_others, by_position, by_user
from visibility_aware_edge_ldp.evaluation.plan.by_position import NORMAL
from visibility_aware_edge_ldp.evaluation.plan.left_out import ALL, LeftOut
from visibility_aware_edge_ldp.evaluation.plan.moments import Moments
from visibility_aware_edge_ldp.public.degree_survey import degree_survey
from visibility_aware_edge_ldp.public.hub_plan import hubs_see_everybody
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.by_user import needs_degrees, plan_for
from visibility_aware_edge_ldp.subgraphs.lower_bounds import LowerBound
from visibility_aware_edge_ldp.subgraphs.statistic import star_size

TRUST = ("position", "user", "neighbourhood", "curator")
# Beyond this part of the value an estimate is mostly noise, and its error is no longer a percentage of anything.
TOO_LARGE = 1 / 3
FEWEST_FLIPS = 30
MOSTLY_NOISE, FEW_FLIPS, BY_LUCK = "mostly noise", "only about", "the centre's pilot is noisy"
MOSTLY_EXACT = "mostly exact"
# Below this standard error a centre's whole-numbered noise is 0 more often than not.
HALF = 0.5
# Where a centre's split varies so that standard errors are this much larger than typical ones, no law is normal.
UNEVEN = 1.05
_BY_RANGE = "a maximum or a fitted distribution: no closed form; simulate with compare"
_LOCAL = ("position", "user")
_CURATOR = ("edges", "max_degree", "triangles")


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

    @property
    def holds(self) -> bool:
        """Whether the mean relative error can be believed."""
        return not math.isnan(self.mean_relative_error)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON and CSV; None where nothing can be said."""
        plain = asdict(self)
        return {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in plain.items()}


@dataclass(frozen=True)
class Found:
    """A standard error, and the mean of the error's size if it is not that of a normal law.

    ``uneven`` is how many times larger the standard error is than in a typical run.
    """

    deviation: float
    mean: float | None = None
    bias: float = 0.0
    uneven: float = 1.0


def predictions(
    moments: Moments,
    trust: str,
    epsilon: Fraction,
    statistics: Sequence[str],
    delta: Fraction = Fraction(0),
    shown: Sequence[str] | None = None,
    bounds: bool = True,
    without: LeftOut = ALL,
) -> list[Prediction]:
    """All statistics that one trust model answers together for one ε, or those of them that are to be shown.

    ``without`` says what the position model leaves out.
    """
    asked = [name for name in statistics if offers(trust, name)]
    answer: dict[str, Callable[[str], Found | str]] = {
        "position": lambda name: _position(moments, name, epsilon, without),
        "user": lambda name: _user(moments, name, epsilon, statistics),
        "neighbourhood": lambda _: _neighbourhood(moments, epsilon, delta),
        "curator": lambda name: _curator(moments, name, epsilon, delta, asked),
    }
    if not moments.world.public.present - {Visibility.PUBLIC}:
        answer[trust] = lambda _: Found(0.0)
    rows = [_row(moments, trust, name, epsilon, answer[trust](name)) for name in shown or asked]
    return [_with_bounds(moments, row) for row in rows] if bounds and trust in _LOCAL else rows


def offers(trust: str, statistic: str) -> bool:
    """Whether a trust model answers this statistic at all."""
    if trust == "neighbourhood":
        return statistic == "triangles"
    if trust == "curator":
        return statistic in _CURATOR or star_size(statistic) is not None
    return True


def _row(moments: Moments, trust: str, statistic: str, epsilon: Fraction, found: Found | str) -> Prediction:
    value = moments.value(statistic)
    if isinstance(found, str):
        return Prediction(trust, statistic, float(epsilon), value, math.nan, math.nan, note=found)
    note = _doubt(moments, trust, statistic, epsilon, value, found)
    size = _mean_size(found) / value if value else math.inf
    relative = math.nan if note else size
    return Prediction(trust, statistic, float(epsilon), value, found.deviation, relative, found.bias, note=note)


def _with_bounds(moments: Moments, row: Prediction) -> Prediction:
    """The same beside what no local protocol can beat.  [LIMIT.2, LIMIT.4]"""
    found = (bound(moments.world, row.statistic, row.epsilon) for bound in (least_here, least_on_the_hardest))
    here, hardest = (_root(bound) for bound in found)
    return replace(row, least=here, least_on_the_hardest=hardest)


def _root(bound: LowerBound | None) -> float:
    return math.nan if bound is None else bound.standard_error_at_least


def _mean_size(found: Found) -> float:
    """E|noise − bias|: given, or that of a normal law about its bias."""
    if found.mean is not None:
        return found.mean
    if not found.bias or not found.deviation:
        return NORMAL * found.deviation + abs(found.bias)
    z = found.bias / found.deviation
    return found.deviation * NORMAL * math.exp(-z * z / 2) + found.bias * math.erf(z / math.sqrt(2))


def _doubt(moments: Moments, trust: str, statistic: str, epsilon: Fraction, value: float, found: Found) -> str:
    """Why the normal approximation does not hold; empty where it does.  [PLAN.9]"""
    if not value:
        return "the assumed graph has none, so there is no relative error"
    if statistic != "degrees" and found.deviation > TOO_LARGE * abs(value):
        return f"{MOSTLY_NOISE}: the standard error is {found.deviation / abs(value):.0%} of the value"
    if trust == "curator" and 0 < found.deviation < HALF:
        return f"{MOSTLY_EXACT}: the noise is a whole number and mostly 0"
    if found.uneven > UNEVEN:
        return f"{BY_LUCK} and decides the split of ε: a standard error {found.uneven:.2g} times that of a typical run"
    if trust == "position" and found.deviation:
        flips = by_position.expected_flips(moments, float(epsilon))
        if flips < FEWEST_FLIPS:
            return f"{FEW_FLIPS} {flips:.1f} answers will be wrong: the error is 0 or comes in steps"
    return ""


def _position(moments: Moments, statistic: str, epsilon: Fraction, without: LeftOut) -> Found | str:
    spread, k = by_position.spreads(moments, float(epsilon), float(without.positions)), star_size(statistic)
    coin = without.coin
    if statistic == "degrees":
        errors = by_position.degree_errors(moments, spread, coin)
        mean = float(moments.weights @ errors / moments.weights.sum())
        return Found(mean, NORMAL * mean)
    if k is not None:
        return Found(by_position.stars(moments, spread, k, coin) ** 0.5)
    if statistic == "transitivity" and not moments.two_stars:
        return "the assumed graph has no 2-stars"

    def triangles() -> float:
        return by_position.triangles(moments, spread, coin) + without.added_to_triangles(moments, spread)

    def transitivity() -> float:
        added = triangles() - by_position.triangles(moments, spread, coin)
        return by_position.transitivity(moments, spread, coin) + 9 * added / moments.two_stars**2

    def four_cycles() -> float:
        parts = by_position.cycle_parts(moments, spread, coin)
        return sum(parts) + without.added_to_cycles(moments, parts)

    variances: dict[str, Callable[[], float]] = {
        "edges": lambda: by_position.edges(moments, spread, coin),
        "triangles": triangles,
        "transitivity": transitivity,
        "four_cycles": four_cycles,
    }
    return Found(variances[statistic]() ** 0.5) if statistic in variances else _BY_RANGE


def _user(moments: Moments, statistic: str, epsilon: Fraction, statistics: Sequence[str]) -> Found | str:
    plan, k = plan_for(statistics, epsilon, moments.n), star_size(statistic)
    if statistic == "degrees":
        survey = degree_survey(moments.world.public, plan.degree_epsilon)
        misses, deviations = by_user.degree_misses(moments, survey)
        return Found(deviations / moments.n, misses / moments.n)
    if statistic == "edges" or k is not None:
        return Found(by_user.from_degrees(moments, plan, k or 1) ** 0.5)
    if statistic == "transitivity" and moments.two_stars:
        ratio = moments.triangles / moments.two_stars
        stars = by_user.from_degrees(moments, plan, 2)
        variance = 9 * (by_user.triangles(moments, plan) + ratio**2 * stars) / moments.two_stars**2
        return Found(variance**0.5)
    if needs_degrees(statistic):
        return _BY_RANGE
    variance = by_user.triangles(moments, plan) if statistic == "triangles" else by_user.four_cycles(moments, plan)
    return Found(variance**0.5)


def _neighbourhood(moments: Moments, epsilon: Fraction, delta: Fraction) -> Found:
    if hubs_see_everybody(moments.world.public):
        deviation, mean, missed = by_others.hubs(moments, epsilon)
        return Found(deviation, bias=missed) if missed else Found(deviation, mean)
    variance, lost = by_others.owned(moments, epsilon, delta)
    return Found(variance**0.5, bias=lost)


def _curator(moments: Moments, statistic: str, epsilon: Fraction, delta: Fraction, asked: Sequence[str]) -> Found:
    deviation, mean, uneven = by_others.central(moments, statistic, epsilon, delta, asked)
    return Found(deviation, mean, uneven=uneven)
