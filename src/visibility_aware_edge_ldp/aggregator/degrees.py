"""USER degrees: a collection of reports, and every statistic of degrees from it.  [DEGREESUM.1-6]"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import (
    Bits,
    Estimators,
    UserCollection,
    public_graph,
    public_positions,
)
from visibility_aware_edge_ldp.aggregator.estimate import (
    LARGE_SHARE,
    Estimate,
    Interval,
    estimate_of,
    largest_seen,
    with_large_absent,
)
from visibility_aware_edge_ldp.aggregator.node_statistics import simultaneous_degrees
from visibility_aware_edge_ldp.aggregator.report_screening import degree_bands
from visibility_aware_edge_ldp.counts.degrees import degree_functions
from visibility_aware_edge_ldp.counts.degrees.degree_distribution import LAPLACE
from visibility_aware_edge_ldp.counts.degrees.degree_functions import Floats, Ints, NoisyDegrees
from visibility_aware_edge_ldp.counts.degrees.degree_histogram import degree_quantile, fitted_histogram
from visibility_aware_edge_ldp.counts.degrees.max_degree import max_degree
from visibility_aware_edge_ldp.counts.nonresponse import Spread
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.statistic import AT_ONCE, Statistic, statistic
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeReport, DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.view import PublicView

# What people's degrees tell of people and places.
PEOPLE_ALONE = ("edges", "people_degrees")
PLAIN = ("edges", "degrees", "simultaneous_degrees", "max_degree", "degree_histogram")

# A chance that rounding alone may have left.
_CRUMB = 1e-9
# What a class adds to a degree is cut off here, so that no sum of classes wraps around; honest numbers are far below.
_FARTHEST = 1 << 60
# With fewer answers, users of a group are taken together with others of whom few answered.  [DEGREESUM.8]
FEW_ALIKE = 10
# With fewer answers of users of whom the public does not know it, a tail count has no law of who is absent.
FEW_UNKNOWN = 8
# The level whose whole numbers the largest degree is taken from.
_LEVEL = 0.95


class DegreeCollection(UserCollection[DegreeSurvey, DegreeReport]):
    """Reports of degrees: for each user whether it answered, and a number for each class of positions."""

    protocol = "degrees"
    _all_alike = False
    estimators: ClassVar[Estimators] = {
        "edges": lambda given, asked: given.combined(asked.name, {asked.name: 1.0}),
        "degrees": lambda given, asked: _degrees(given.collection, given.degrees),
        **dict.fromkeys(AT_ONCE, lambda given, asked: _at_once(given.collection, given.degrees, asked)),
        "max_degree": lambda given, asked: _max_degree(given.plausible),
        "degree_histogram": lambda given, asked: _histogram(given.plausible),
        "stars": lambda given, asked: given.combined(asked.name, {asked.name: 1.0}),
        "tail": lambda given, asked: _tail(given.degrees, asked.parameter or 0),
        "degree_quantile": lambda given, asked: _quantile(asked.name, given.degrees, asked.parameter or 0),
    }

    def __init__(self, survey: DegreeSurvey, view: PublicView) -> None:
        super().__init__(survey, view, len(survey.classes))
        if survey != degree_survey(view, survey.epsilon):
            raise ProtocolViolation("The survey is about another roster or another policy than this public view.")

    def _lacks(self, name: str) -> bool:
        return self.view.people is not None and name not in PEOPLE_ALONE

    def validate(self, users: slice, answered: Bits, numbers: Ints) -> None:
        """Refuse numbers of places, which hold no list."""
        if (answered & ~self._holders[users]).any():
            raise ProtocolViolation("A report is of places, which hold no list and report nothing.")

    @cached_property
    def _holders(self) -> Bits:
        people = self.view.n if self.view.people is None else self.view.people
        return np.arange(self.view.n) < people

    def is_for_this_survey(self, report: DegreeReport) -> bool:
        """Whether the report answers the survey of this collection, with a number for each of its classes."""
        return super().is_for_this_survey(report) and report.classes == len(self.survey.classes)

    def cannot_estimate(self, name: str) -> str:
        """The sentence that refuses a statistic which takes more than degrees."""
        families = "largest_degrees:K, stars:K, tail:T or degree_quantile:Q"
        return f"{name!r} takes more than degrees; ask for {', '.join(PLAIN)}, {families}."

    def prepared(self, wanted: tuple[str, ...], budget: Any, made: Any) -> Any:
        """What is known of everybody's degree, worked out once for all statistics."""
        return _Known(self, self.noisy_degrees())

    @property
    def response_rate(self) -> float:
        """The share of those who hide something that answered; 1 where nobody hides anything."""
        hiding = self.hiding.any(axis=0)
        return float(self.took_part[hiding].mean()) if hiding.any() else 1.0

    @cached_property
    def hiding(self) -> degree_functions.Bits:
        """(classes, n): which users have positions of each class.  [DEGREESUM.4]"""
        return self.view.users_with(self.survey.classes) & self._holders

    @cached_property
    def public_degrees(self) -> Ints:
        """Everybody's public degree."""
        return public_graph(self.view).degrees

    @property
    def hidden_positions(self) -> Ints:
        """How many non-public positions everybody has."""
        return self.view.n - 1 - public_positions(self.view)

    @property
    def answered(self) -> degree_functions.Bits:
        """Who hides something and has answered."""
        return self.took_part & self.hiding.any(axis=0)

    def noisy_degrees(self) -> NoisyDegrees:
        """All that is known of everybody's degree.  [DEGREESUM.4]"""
        hides, answered, public = self.hiding.any(axis=0), self.answered, self.public_degrees
        # Nobody has more friends than there are others; a person visits no more places than there are.
        nodes = self.view.n - (self.view.people or 1) + 1
        constants, kinds = self.noise_constants[:, answered], self.kinds
        return NoisyDegrees(
            nodes,
            certain=public[~hides & self._holders],
            noisy=self.reported[answered],
            public=public[answered],
            first=constants.sum(axis=0),
            second=constants.prod(axis=0) if len(constants) == 2 else np.zeros(constants.shape[1]),
            absent=public[hides & ~answered],
            kinds=kinds[answered],
            absent_kinds=kinds[hides & ~answered],
        )

    def as_if_alike(self) -> DegreeCollection:
        """The same reports, with one weight for all users, as triangles have it.  [DEGREESUM.8]"""
        found = copy(self)
        found._all_alike = True
        return found

    @property
    def kinds(self) -> Ints:
        """Who answers alike, where groups are known: users of one group who hide the same classes.  [DEGREESUM.8]

        Kinds of which few answered are taken together, and with the largest where these are few still.
        """
        groups, hides, found = self.view.groups, self.hiding.any(axis=0), np.zeros(self.view.n, np.int64)
        if groups is None or self._all_alike or (self.answered == hides).all():
            return found
        patterns = 2 ** np.arange(len(self.hiding)) @ self.hiding
        found[hides] = (1 + groups.members * 2 ** len(self.hiding) + patterns)[hides]
        kinds, sizes = np.unique(found[self.answered], return_counts=True)
        few = hides & ~np.isin(found, kinds[sizes >= FEW_ALIKE])
        if kinds.size:
            found[few] = 0 if (few & self.answered).sum() >= FEW_ALIKE else kinds[sizes.argmax()]
        return found

    @property
    def reported(self) -> Ints:
        """Everybody's public degree plus what it reported of classes that it can have."""
        said = np.clip(self.numbers, -_FARTHEST, _FARTHEST)
        found: Ints = self.public_degrees + np.where(self.hiding, said, 0).sum(axis=0)
        return found

    def plausible(self, degrees: NoisyDegrees) -> NoisyDegrees:
        """The same degrees, with each moved to the nearest that an honest user reports; for fits, not for sums.

        An honest degree is moved with less than a chance of 10⁻⁹; a lie of 2⁶² would leave a fit no room for the rest.
        """
        bands = degree_bands(self.survey)
        low, high = (sum(ends) for ends in zip(*bands, strict=True)) if bands else (0, 0)
        low, high = max(low, -_FARTHEST), min(high, _FARTHEST)  # at a tiny ε a band leaves 64 bits
        return replace(degrees, noisy=np.clip(degrees.noisy, degrees.public + low, degrees.public + high))

    @property
    def noise_constants(self) -> Floats:
        """(classes, n): c of the noise in each reported number, 0 where it is not used."""
        each = [self.survey.mechanism(kind).second_difference_constant for kind in self.survey.classes]
        return np.array(each).reshape(-1, 1) * self.hiding


class _Known(NamedTuple):
    """What the estimators of degrees share."""

    collection: DegreeCollection
    degrees: NoisyDegrees

    @property
    def plausible(self) -> NoisyDegrees:
        """The degrees with each moved to the nearest that an honest user reports."""
        return self.collection.plausible(self.degrees)

    def combined(self, name: str, weights: Mapping[str, float]) -> Estimate:
        """A weighted sum of edges and k-stars: a sum over degrees of the weighted function.  [DERIVED.2]"""
        orders = {statistic(each).sides: weight for each, weight in weights.items()}
        function = sum_of_stars(orders, self.collection.survey.lists)
        return _sum(name, self.degrees, function, max(orders) if len(orders) > 1 else 0)


def sum_of_stars(orders: Mapping[int, float], lists: int) -> degree_functions.DegreeFunction:
    """A weighted sum of a node's k-stars as a function of its degree; an edge, k = 1, stands in so many lists."""

    def function(degrees: Ints) -> Floats:
        each = (
            weight * degree_functions.binomial(degrees, k) / (lists if k == 1 else 1) for k, weight in orders.items()
        )
        return np.asarray(sum(each, np.zeros(degrees.shape)))

    return function


def _sum(statistic: str, degrees: NoisyDegrees, function: degree_functions.DegreeFunction, order: int = 0) -> Estimate:
    """Σ g(d) over all users; one of the absent may be larger than all who answered.  [DEGREESUM.2], [ABSENT.3]

    Where g is a weighted sum, how large is said of the stars of its highest ``order``: parts of it may cancel.
    """
    found = estimate_of(statistic, *degree_functions.total(degrees, function))
    if not degrees.absent.size:
        return found
    each, noise = degree_functions.per_answer(degrees, function)
    seen = largest_seen(each - function(degrees.public), noise)
    # Nobody has more friends than there are others; nor, it is taken, twice as many as the largest who is known.
    twice = min(2 * max(_largest_known(degrees), 1), degrees.nodes - 1)
    most = float(function(np.array([twice]))[0])
    if order:
        # Where g falls before it rises, somebody large is so much more than the mean user who stands for the absent.
        lower = max(-float((each - function(degrees.public)).mean()), 0.0)
        degree = np.array([min(_degree_of_large(degrees, order), twice)])
        seen, most = max(seen, float(function(degree)[0])) + lower, most + lower
    return with_large_absent(found, degrees.most_absent, seen, most)


def _largest_known(degrees: NoisyDegrees) -> int:
    """The largest degree that was told, is public, or that an absent user's public friends foretell.  [ABSENT.3]"""
    public = float(degrees.public.sum())
    hidden = max(float(degrees.noisy.sum()) - public, 0.0) / max(public, 1.0)
    sure = np.maximum(degrees.absent - 2 * np.sqrt(degrees.absent), 0.0)
    foretold = float((degrees.absent + hidden * sure).max())
    return int(max(foretold, *(float(each.max(initial=0)) for each in (degrees.noisy, degrees.certain))))


def _degree_of_large(degrees: NoisyDegrees, order: int) -> int:
    """The degree of a user who has as large a part of all stars of this order as an absent user may.  [ABSENT.3]"""
    total = max(degree_functions.stars(degrees, order)[0], 0.0)
    own = degree_functions.binomial(np.arange(degrees.nodes), order)
    return int(np.searchsorted(own, LARGE_SHARE / (1 - LARGE_SHARE) * total, side="right")) - 1


def _tail(degrees: NoisyDegrees, threshold: int) -> Estimate:
    """How many users have at least this degree; few answers that agree do not make the absent agree.  [DEGREESUM.2]

    That is for the interval alone: the standard error stays what the answers say, and is none where all agree.
    """
    value, spread = degree_functions.tail(degrees, threshold)
    found = estimate_of(f"tail:{threshold}", value, spread)
    if degrees.absent.size and int((degrees.public < threshold).sum()) < FEW_UNKNOWN:
        return _tail_of_few(found, degrees, threshold)
    least = degree_functions.least_tail_noise(degrees, threshold)
    if degrees.absent.size:
        least = max(least, _least_variance(degrees, threshold))
    if spread.variance >= least or least < _CRUMB:
        return found
    wider = estimate_of(found.statistic, value, spread._replace(variance=least))
    return replace(found, variance=spread.variance or math.nan, limits=wider.interval, conservative=True)


def _tail_of_few(found: Estimate, degrees: NoisyDegrees, threshold: int) -> Estimate:
    """Where next to nobody answered whose public degree leaves it open: the absent may all count, or none of them.

    [DEGREESUM.2]
    """
    each, noise = degree_functions.per_answer(degrees, lambda degree: degree >= threshold, clamped=True)
    seen = float(each.sum()) + int((degrees.certain >= threshold).sum())
    sure = Spread(max(float(noise.sum()), 0.0))

    def limits(level: float) -> Interval:
        low, high = estimate_of(found.statistic, seen, sure).interval(level)
        known = int((degrees.absent >= threshold).sum())
        inner, outer = found.interval(level) if math.isfinite(float(found.variance)) else (found.value, found.value)
        return min(float(low) + known, float(inner)), max(float(high) + degrees.absent.size, float(outer))

    return replace(found, variance=math.nan, limits=limits, conservative=True)


def _quantile(name: str, degrees: NoisyDegrees, percent: int) -> Estimate:
    """The least degree that so many percent of all users do not exceed.  [QUANTILE.1]"""
    found = degree_quantile(degrees, percent)
    return Estimate(name, found.value, math.nan, unbiased=False, limits=found.interval, conservative=True)


def _least_variance(degrees: NoisyDegrees, threshold: int) -> float:
    """What a count varies at least by who answered: as a share does that has two more on either side."""
    answers = degrees.noisy.size
    each, noise = degree_functions.per_answer(degrees, lambda degree: degree >= threshold, clamped=True)
    known, others = (int((public >= threshold).sum()) for public in (degrees.public, degrees.absent))
    hidden = 1 - (known + others) / degrees.asked  # the share of those of whom the public does not know it
    counted = float(np.clip(each.sum() - known, 0.0, answers * hidden))
    share = (counted + 2 * hidden) / (answers + 4)
    noisy = max(degrees.spread_out(noise), 0.0)
    odds = sum(each.asked * (each.asked - each.size) / each.size for each in degrees.strata)
    return noisy + odds * share * (1 - share)


def _degrees(collection: DegreeCollection, degrees: NoisyDegrees) -> Estimate:
    """Everybody's degree; of the absent what is public plus the mean of what others hide.  [DEGREESUM.2]"""
    hidden = degrees.noisy - degrees.public
    answered, hides = collection.answered, collection.hiding.any(axis=0)
    value = collection.reported.astype(np.float64)
    variance = np.zeros(value.size)
    variance[answered] = degrees.noise
    absent = hides & ~answered
    if absent.any():
        spread = _spread_of_hidden(hidden, float(degrees.noise.mean()))
        value[absent] = degrees.absent + hidden.mean()
        # Two answers that agree by chance do not make the mean certain: its noise is known.
        variance[absent] = spread + max(float(hidden.var()), float(degrees.noise.mean())) / hidden.size
    names = collection.view.names
    return Estimate("degrees", value, variance, labels=names, unbiased=not absent.any())


def _spread_of_hidden(hidden: npt.NDArray[Any], noise: float) -> float:
    """The variance of what users hide, without the noise's, and a standard error above what is measured.

    Where the noise is the larger part, what is left of a measured variance is as often far too small as far too large.
    """
    if hidden.size < 2:
        return np.inf
    squares = np.square(hidden - hidden.mean())
    return max(float(hidden.var(ddof=1)) - noise + float(squares.std()) / math.sqrt(hidden.size), 0.0)


def _at_once(collection: DegreeCollection, degrees: NoisyDegrees, asked: Statistic) -> Estimate:
    """Degrees with intervals that hold at once, or the K largest.  [ATONCE.1, ATONCE.3-4]"""
    return simultaneous_degrees.from_degrees(collection, _degrees(collection, degrees), asked)


def _histogram(degrees: NoisyDegrees) -> Estimate:
    found = fitted_histogram(degrees)
    told = Estimate("degree_histogram", found.counts, found.variances, labels=found.bins, limits=found.interval)
    return replace(told, unbiased=False, conservative=True)


def _max_degree(degrees: NoisyDegrees) -> Estimate:
    """The largest degree. Somebody absent may have it: then only public bounds are left.  [DEGREESUM.5]"""
    known, ceiling = degrees.certain.astype(np.float64), float(degrees.nodes - 1)
    noisy, low = (np.concatenate([each, known]) for each in (degrees.noisy, degrees.public))
    high = np.concatenate([np.full(degrees.noisy.size, ceiling), known])
    found = max_degree(noisy, np.concatenate([degrees.noise, np.zeros(known.size)]), low, high, skew=0.0, law=LAPLACE)
    floor = float(degrees.absent.max(initial=0))
    missing = degrees.absent.size / max(degrees.asked, 1)

    def whole(level: float) -> tuple[float, float]:
        error = 1 - level - 2 * missing
        below, above = found.interval(1 - error if error > _CRUMB else level)
        # Noise and truth are whole numbers: their law is that of rounded ones, half a number wider on either side. The
        # tolerance keeps what is exact exact.
        below, above = np.ceil(below - 0.5 - 1e-9), np.floor(above + 0.5 + 1e-9)
        return max(float(below) + 0.0, floor), max(float(above), floor) if error > _CRUMB else ceiling

    least, most = whole(_LEVEL)
    value = min(max(found.value, floor, least), most)

    def limits(level: float) -> Interval:
        least, most = whole(level)
        return min(least, value), max(most, value)

    variance = 0.0 if found.is_exact and not degrees.absent.size else math.nan
    return Estimate("max_degree", value, variance, unbiased=False, limits=limits, conservative=True)
